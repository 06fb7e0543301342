"""What a liar can do to rounds of sums: prove itself one, or nothing."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.peer.protocol import masks
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    Contribution,
    Have,
    Hello,
    Want,
    encode,
    with_signature,
)
from pairgossip.peer.protocol.program import Kind
from pairgossip.peer.protocol.rounds import Rounds, first_sums
from pairgossip.peer.protocol.state import Send, SumsAction
from pairgossip.peer.protocol.summation import Halt
from tests.peer.audit import Violated
from tests.peer.contexts import SPEC, name_of, seal
from tests.peer.hostile_sums import fuzz_rounds
from tests.peer.sums import SumsContext, SumsDisk, SumsWorld, make_world
from tests.peer.test_rounds import AsksDifferently


class TwoFaced(Rounds):
    """Tells one neighbor something else than the others."""

    def _compare(self, sender: str, have: object) -> list[SumsAction]:
        actions = super()._compare(sender, have)  # type: ignore[arg-type]
        if sender != self.present[0] or self.ask is None or self.ask.kind is not Kind.SUM:
            return actions
        return [self._other(one) if isinstance(one, Send) else one for one in actions]

    def _handle_contribution(self, sender: str, given: Contribution) -> list[SumsAction]:
        # It knows what it has said.
        return (
            [] if given.member == self.context.me else super()._handle_contribution(sender, given)
        )

    def _handle_proof(self, sender: str, proof: object) -> list[SumsAction]:
        return []

    def _other(self, sent: Send) -> Send:
        told = sent.message
        if not isinstance(told, Contribution) or told.member != self.context.me:
            return sent
        words = masks.pack(np.frombuffer(told.words, dtype="<u8") + np.uint64(1))
        unsigned = Contribution(
            told.generation, told.round, told.member, told.transcript, told.public, words, b""
        )
        return Send(sent.to, with_signature(unsigned, SPEC, lambda said: seal(told.member, said)))


def test_two_contributions_to_one_round_are_proof_of_a_lie() -> None:
    liar = name_of(3)
    world = make_world(liars={liar: TwoFaced})
    with pytest.raises(Violated, match="stands in round"):
        world.finish(60.0)
        world.check_sums()
    for name in world.names[:3]:
        rounds = world.rounds(name)
        assert rounds.halt == Halt("lie", (liar,))
        proof = rounds.state.proof
        assert proof is not None
        assert proof.first.words != proof.second.words
        assert proof.first.member == proof.second.member == liar
    # Evicting it begins a generation without it, which comes to its end.
    world.evict(name_of(0), [liar])
    world.let_operators_agree()
    world.gone.add(liar)
    world.finish()
    world.check_sums()


class SecondAccepted(Rounds):
    def _handle_proof(self, sender: str, proof: object) -> list[SumsAction]:
        return []


def test_a_second_contribution_must_not_be_ignored() -> None:
    """Without proofs members would stand still, each with another sum, and nobody would know."""
    world = make_world(liars={name_of(3): TwoFaced}, rounds_class=SecondAccepted)
    world.finish(60.0)
    assert not world.is_finished()
    sums = {tuple(world.rounds(name).program.sums) for name in world.names[:3]}  # type: ignore[attr-defined]
    assert len(sums) > 1


def test_a_proof_outlives_a_restart() -> None:
    world = make_world(liars={name_of(3): TwoFaced})
    world.finish(60.0)
    world.stop(name_of(0))
    world.start(name_of(0))
    assert world.rounds(name_of(0)).halt == Halt("lie", (name_of(3),))


@pytest.mark.parametrize("liar", [0, 3])
def test_who_asks_differently_again_is_named_and_nobody_else(liar: int) -> None:
    world = make_world(4, liars={name_of(liar): AsksDifferently})
    world.finish(60.0)
    for name in world.names:
        if name != name_of(liar):
            assert world.rounds(name).halt == Halt("repeated", (name_of(liar),))


def sign(member: str, like: Contribution, **changes: object) -> Contribution:
    given = msgspec.structs.replace(like, **changes)
    return with_signature(given, SPEC, lambda said: seal(member, said))


def test_a_second_contribution_is_no_proof_if_nobody_else_could_be_sent_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would halt one peer, for which all others would then wait."""
    monkeypatch.setattr(SumsContext, "frame_limit", 1 << 20)
    world = make_world(4)
    world.finish()
    rounds, liar = world.rounds(name_of(0)), name_of(3)
    known = rounds.contribution(liar, 0)
    assert known is not None
    for changes in (
        {"public": bytes(1 << 19)},
        {"words": bytes(8 * 9)},
        {"transcript": bytes(99)},
        {"transcript": rounds.transcript},
    ):
        frame = encode(sign(liar, known, **changes))
        assert rounds.receive(liar, frame) == []
    assert rounds.state.proof is None
    assert rounds.contribution(liar, 0) == known
    assert rounds.counts[Event.MALFORMED] == 3


def test_nobody_keeps_a_peer_from_asking_the_others() -> None:
    """A neighbor that offers all, first of all, and sends nothing, does not stop a round."""
    graph = pg.Graph(4, [(0, 1), (0, 2), (2, 3), (1, 3)])
    world = SumsWorld(graph, [[1.0]] * 4, 0, disk_class=SumsDisk)
    rounds = Rounds(world.contexts[name_of(0)], first_sums(1))
    rounds.start()
    asked = set()
    for _ in range(2):
        rounds.contact()
        for who in (name_of(1), name_of(2)):
            rounds.receive(who, encode(Hello(SPEC, "", FIRST_GENERATION, False)))
            offer = Have(FIRST_GENERATION, 0, rounds.transcript, bytes([0b1000]), False)
            for action in rounds.receive(who, encode(offer)):
                if isinstance(action, Send) and isinstance(action.message, Want):
                    asked.add(action.to)
    assert asked == {name_of(1), name_of(2)}


def test_a_neighbor_that_asks_again_and_again_does_not_get_all_of_it_each_time() -> None:
    world = make_world(4)
    world.finish()
    rounds, greedy = world.rounds(name_of(0)), name_of(1)
    want = encode(Want(FIRST_GENERATION, 1, bytes([0b1111])))

    def count(times: int) -> int:
        return sum(len(rounds.receive(greedy, want)) for _ in range(times))

    rounds.contact()
    assert count(3) == 3 * 4, "frames may be lost"
    assert count(1000) == 5 * 4
    assert len(rounds.receive(name_of(2), want)) == 4, "others are not concerned"
    rounds.contact()
    assert count(1) == 4


@pytest.mark.parametrize("seed", range(4))
def test_mutated_frames_add_nothing_that_nobody_signed(seed: int) -> None:
    verdicts = fuzz_rounds(4_000, seed)
    assert verdicts[Event.MALFORMED] and verdicts[Event.OTHER_SET]
    assert verdicts[Event.CONTRIBUTION_NOT_GENUINE] and verdicts["believed"]
    assert verdicts[Event.EVICTION_OF_STRANGER]


def test_a_contribution_accepted_unsigned_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rounds, "_is_genuine", lambda *_: True)
    with pytest.raises(Violated, match=r"nobody made|a proof that is none|stopped by"):
        fuzz_rounds(4_000, 0)
