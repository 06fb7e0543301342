"""A peer that computes sums and is sent frames no honest neighbor sends."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from pairgossip.peer.protocol.membership import RestoredBackup
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    AnyMessage,
    Contribution,
    Have,
    Hello,
    Proof,
    Roster,
    Want,
    encode,
    generation_name,
)
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import Place, SaveSums, Send, SumsState
from tests.peer.audit import Violated
from tests.peer.contexts import SPEC, name_of, sealed_growth, sealed_notice
from tests.peer.hostile import STRANGER, mutate, twist
from tests.peer.sums import SUMS, SumsContext, make_world

ME, LOW, HIGH, LOST = (name_of(k) for k in (1, 0, 2, 3))
GROWTH = sealed_growth(HIGH, 2, 3)
NOTICES = (
    sealed_notice(generation_name(1, (LOST,)), (LOST,), HIGH),
    sealed_notice(generation_name(1, (), (GROWTH,)), (), HIGH, (GROWTH,)),
)
MOST_LISTED = 2 * 4 + 16


class Victim(NamedTuple):
    """A peer in some round, and the frames that its neighbors may send."""

    context: SumsContext
    state: SumsState
    frames: tuple[bytes, ...]

    def start(self) -> Rounds:
        rounds = Rounds(self.context, self.state)
        rounds.start()
        for neighbor in (LOW, HIGH, LOST):
            rounds.receive(neighbor, encode(Hello(SPEC, "", FIRST_GENERATION, False)))
        rounds.counts.clear()
        return rounds


@cache
def run_honestly() -> tuple[SumsContext, Mapping[Place, Contribution]]:
    """Return the context of the victim, and all contributions of a complete run of four."""
    world = make_world(4)
    world.finish()
    context = world.contexts[ME]
    assert isinstance(context, SumsContext)
    return context, world.state(ME).contributions


def make_victims() -> list[Victim]:
    """The same peer in each round, with half of the others' contributions to it."""
    context, given = run_honestly()
    victims = []
    for number in range(SUMS + 2):
        held = {
            place: one
            for place, one in given.items()
            if place[0] < number or (place[0] == number and place[1] in (LOW, ME))
        }
        done = FIRST_GENERATION if number else ""
        summed = {name_of(k): 2 for k in range(4)} if number else {}
        state = SumsState(
            FIRST_GENERATION, rows=2, contributions=held, summed_in=done, summed=summed
        )
        now = Rounds(context, state)
        messages: list[AnyMessage] = [
            Hello(SPEC, "", FIRST_GENERATION, True),
            Have(FIRST_GENERATION, now.round, now.transcript, b"\x0d", True),
            Have(FIRST_GENERATION, now.round, bytes(32), b"\x0f", True),
            Have(FIRST_GENERATION, now.round + 1, bytes(32), b"\x01", True),
            *(Want(FIRST_GENERATION, k, b"\x0f") for k in (0, now.round)),
            *(given[number, one] for one in (HIGH, LOST, ME)),
            Roster(FIRST_GENERATION, ((ME, 2), ("peer-99", 4))),
            Proof(FIRST_GENERATION, given[number, HIGH], given[number, HIGH]),
            *NOTICES,
            sealed_notice(generation_name(1, (STRANGER,)), (STRANGER,), HIGH),
        ]
        victims.append(Victim(context, state, tuple(map(encode, messages))))
    return victims


def check_rounds(rounds: Rounds, actions: list[object]) -> None:
    """Raise `Violated` if a peer holds what nobody signed, or remembers or tells too much."""
    _, given = run_honestly()
    state = rounds.state
    if state.generation not in (FIRST_GENERATION, *(one.generation for one in NOTICES)):
        raise Violated(f"a generation that nobody began: {state.generation}")
    for place, one in state.contributions.items():
        is_own = state.generation != FIRST_GENERATION and place[1] == ME
        if not is_own and one != given.get(place):
            raise Violated(f"a contribution that nobody made: {one}")
    if state.summed_in not in ("", FIRST_GENERATION):
        raise Violated("contributed to a further sum")
    if state.proof is not None:
        raise Violated(f"a proof that is none: {state.proof}")
    if any(len(rows) > MOST_LISTED for rows in rounds.other_lists.values()):
        raise Violated("a list without end")
    if any(len(have.held) != 1 for have in rounds._theirs.values()):
        raise Violated("a set without end")
    if sum(isinstance(one, Send) for one in actions) > 8:
        raise Violated(f"a frame that many follow: {actions}")


def fuzz_rounds(frames: int, seed: int) -> Counter[str]:
    """Send this many mutated frames to peers in all rounds; count what they made of them."""
    chance, victims, verdicts = random.Random(seed), make_victims(), Counter[str]()
    peers = [victim.start() for victim in victims]
    for k in range(frames):
        at = k % len(victims)
        victim, rounds = victims[at], peers[at]
        frame, kind = chance.choice(victim.frames), chance.random()
        frame = mutate(frame, chance) if kind < 0.4 else frame
        frame = twist(frame, chance) if 0.4 <= kind < 0.9 else frame
        sender = chance.choices((LOW, HIGH, STRANGER), (10, 10, 1))[0]
        before = rounds.state
        try:
            actions = rounds.receive(sender, frame)
        except RestoredBackup as problem:
            raise Violated(f"stopped by {frame!r}") from problem
        check_rounds(rounds, list(actions))
        if rounds.state is not before and not any(isinstance(one, SaveSums) for one in actions):
            raise Violated(f"changed by {frame!r}, and not written down")
        verdicts.update(rounds.counts or ["believed"])
        rounds.counts.clear()
        if rounds.state is not before or rounds.evicted_by or k % 97 < len(victims):
            peers[at] = victim.start()
    return verdicts
