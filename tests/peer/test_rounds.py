"""Rounds of masked sums over random schedules: the plain sums, bit for bit, or nothing at all."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

import pairgossip as pg
from pairgossip.peer.protocol import masks
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    Have,
    Hello,
    Want,
    encode,
)
from pairgossip.peer.protocol.program import Ask, Kind
from pairgossip.peer.protocol.rounds import Rounds, first_sums
from pairgossip.peer.protocol.state import Send, SumsAction, SumsState
from pairgossip.peer.protocol.summation import Halt
from tests.peer.audit import Violated
from tests.peer.contexts import SPEC, name_of
from tests.peer.sums import (
    SUMS,
    Powers,
    SumsDisk,
    SumsWorld,
    make_world,
    plain,
    restore_first,
    run_sums_schedule,
    update_in_first_sum,
)
from tests.peer.world import Faults

BLOCKS, PER_BLOCK = 6, 15
"""With the thirty of the next test, 120: of the defects in `test_rounds_defects`, the one that is
caught least often breaks 17 of them. `benchmarks.peer_simulation` runs any number."""


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_schedule_gives_another_sum(block: int) -> None:
    for seed in range(block * PER_BLOCK, (block + 1) * PER_BLOCK):
        assert run_sums_schedule(seed).auditor.checks


def test_the_schedules_are_as_bad_as_they_claim() -> None:
    happened: Counter[str] = Counter()
    for seed in range(1000, 1030):
        happened += run_sums_schedule(seed).counts
    assert set(happened) >= {
        "power failures",
        "kills",
        "partitions",
        "freezes",
        "evictions",
        "growths",
        "agreements",
        "agreements to another generation",
        "generations begun",
        "contributions received again",
        "rounds repeated: members asked differently",
    }


def test_one_members_words_look_like_random_ones() -> None:
    """Chi-square over the bytes of one member's masked words, in many rounds and runs."""
    secrets = {name_of(k): hashlib.sha256(bytes([k])).digest() for k in range(1, 4)}
    rounds = [
        masks.mask(name_of(0), secrets, hashlib.sha256(str(t).encode()).digest(), 64)
        for t in range(400)
    ]
    shown = np.frombuffer(b"".join(masks.pack(one + np.uint64(7)) for one in rounds), np.uint8)
    counts = np.bincount(shown, minlength=256)
    assert chisquare(counts).pvalue > 1e-3
    assert len({one.tobytes() for one in rounds}) == len(rounds)


def test_masks_cancel() -> None:
    names = [name_of(k) for k in range(5)]

    def secret(one: str, other: str) -> bytes:
        return hashlib.sha256("/".join(sorted((one, other))).encode()).digest()

    total = np.zeros(9, dtype=np.uint64)
    for me in names:
        shared = {other: secret(me, other) for other in names if other != me}
        total += masks.mask(me, shared, b"transcript", 9)
    assert not total.any()


class AsksDifferently(Rounds):
    """Asks for something else than the others, a little, in every round."""

    def _contribute(self) -> list[SumsAction]:
        kept = self.ask
        if kept is not None and kept.kind is Kind.SUM:
            self.ask = kept._replace(public=str(int(kept.public) + 1).encode())
        actions = super()._contribute()
        self.ask = kept
        return actions


def test_another_question_has_another_mask() -> None:
    """Two vectors of one member for one transcript would tell their difference under one mask."""
    world = make_world(3)
    world.finish()
    state = world.rounds(name_of(0)).state
    cards = {place: one for place, one in state.contributions.items() if place[0] == 0}
    hidden = []
    for rounds_class in (Rounds, AsksDifferently):
        begun = SumsState(FIRST_GENERATION, rows=2, contributions=cards)
        rounds = rounds_class(world.contexts[name_of(0)], begun)
        rounds.start()
        given = rounds.contribution(name_of(0))
        assert given is not None and given.round == 1
        plain_words = Powers(world.own[name_of(0)]).contribute(Ask(Kind.SUM, given.public, 3))
        hidden.append((np.frombuffer(given.words, dtype="<u8") - plain_words).tobytes())
    assert hidden[0] != hidden[1]


def test_a_peer_keeps_to_what_it_has_asked_before_an_update() -> None:
    world = make_world(3)
    before = update_in_first_sum(world, name_of(1), shift=1)
    world.finish()
    world.check_sums()
    assert before.items() <= world.state(name_of(1)).contributions.items()
    assert world.counts["rounds repeated: members asked differently"] > 0, "in later rounds"


def test_a_peer_that_cannot_keep_to_it_stops_and_contributes_no_second_time() -> None:
    world = make_world(3, shifts=(7, 7, 7))
    before = update_in_first_sum(world, name_of(1), shift=0)
    world.run(world.now + 60.0)
    rounds = world.rounds(name_of(1))
    assert rounds.halt == Halt("version", detail="the factor is another one")
    assert {p: c for p, c in rounds.state.contributions.items() if p[1] == name_of(1)} == {
        p: c for p, c in before.items() if p[1] == name_of(1)
    }


def test_another_list_of_members_is_seen_before_any_mask_is_used() -> None:
    world = make_world(3)
    context = world.contexts[name_of(2)]
    object.__setattr__(context, "rows", {**context.rows, "peer-99": 4})
    world.stop(name_of(2), power=False)
    world.start(name_of(2))
    world.run(20.0)
    told = world.rounds(name_of(0))
    assert told.round == 0
    assert told.other_lists[name_of(2)]["peer-99"] == 4
    assert not any(one.words for one in told.state.contributions.values())


def set_lists(world: SumsWorld, rows: dict[str, int]) -> None:
    """Let all members begin again with this list; one that is not on it runs as a stranger."""
    for name in world.names:
        world.stop(name, power=False)
        object.__setattr__(world.contexts[name], "rows", {**rows, name: 2})
    for name in world.names:
        world.start(name)


def begin_with_fewer(listed: int) -> tuple[SumsWorld, dict[str, int]]:
    """Return a world of four whose members list the first few, and the list of all."""
    world = make_world(4)
    whole = dict(world.rows)
    for name in world.names:
        restore_first(world, name)
    set_lists(world, {name: whole[name] for name in world.names[:listed]})
    return world, whole


def test_a_member_may_be_listed_after_the_others_have_begun() -> None:
    """All have said who they are for a shorter list, and say it again: that is no lie."""
    world, whole = begin_with_fewer(2)
    world.run(world.now + 0.01)
    assert world.rounds(name_of(0)).contribution(name_of(0)) is not None
    set_lists(world, whole)
    world.finish()
    world.check_sums()


def test_nobody_is_listed_any_more_once_there_is_a_sum() -> None:
    """The two sums would tell what the new one contributes."""
    world, whole = begin_with_fewer(3)
    world.run(world.now + 20.0)
    assert world.rounds(name_of(0)).ask is None
    set_lists(world, whole)
    world.run(world.now + 20.0)
    for name in world.names[:3]:
        assert world.rounds(name).halt == Halt("list")
    assert world.rounds(name_of(3)).round == 0


def test_a_slow_network_carries_little_twice() -> None:
    """What was asked for is on its way, and news of something else is no reason to ask again."""
    n = 12
    graph = pg.graphs.watts_strogatz(n, k=4, p=0.3, seed=0)
    faults = Faults(longest_delay=0.1)
    world = SumsWorld(graph, [[float(k)] for k in range(n)], 0, disk_class=SumsDisk, faults=faults)
    world.finish()
    world.check_sums()
    once = n * (n - 1) * (SUMS + 2)
    assert world.counts["contributions received again"] < once / 2


def test_more_is_asked_for_as_soon_as_something_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request is for no more than one answer brings; the rest does not wait for a timeout."""
    monkeypatch.setattr("pairgossip.peer.protocol.rounds._MOST_SENT", 2)
    world = SumsWorld(pg.graphs.path(3), [[1.0]] * 3, 0, disk_class=SumsDisk)
    rounds, other = Rounds(world.contexts[name_of(1)], first_sums(1)), name_of(0)
    rounds.start()
    rounds.receive(other, encode(Hello(SPEC, "", FIRST_GENERATION, False)))
    rounds.contact()
    offer = encode(Have(FIRST_GENERATION, 0, rounds.transcript, bytes([0b111]), False))
    assert wants(rounds.receive(other, offer)) == [0b011]
    assert wants(rounds.receive(other, offer)) == [0b100]
    assert wants(rounds.contact(has_news=True)) == [], "all of it is on its way"
    assert wants(rounds.contact()) == [0b011], "it may be lost"
    assert wants(rounds.contact(has_news=True)) == [0b100]


def wants(actions: list[SumsAction]) -> list[int]:
    """The members whose contributions are asked for, a bit each, by request."""
    sent = [action.message for action in actions if isinstance(action, Send)]
    return [int.from_bytes(one.members, "little") for one in sent if isinstance(one, Want)]


def test_an_old_backup_contributes_the_same_bytes() -> None:
    world = make_world(3)
    world.finish()
    before = dict(world.rounds(name_of(1)).state.contributions)
    restore_first(world, name_of(1))
    world.start(name_of(1))
    world.run(world.now + 60.0)
    assert world.rounds(name_of(1)).state.contributions == before
    world.check_sums()


def test_a_backup_with_other_rows_is_found_out_before_it_contributes() -> None:
    world = make_world(3)
    world.finish()
    me = name_of(1)
    restore_first(world, me)
    world.own[me] = ((8.0,), (8.0,))
    object.__setattr__(world.contexts[me], "own", world.own[me])
    with pytest.raises(Violated, match="restored backup"):
        world.start(me)
        world.run(world.now + 60.0)


def test_the_test_program_is_right() -> None:
    assert plain([((1.0,),), ((2.0,), (5.0,))])[0] == (3, 8, 30)
    assert len(plain([((1.0,),)])) == SUMS + 1
