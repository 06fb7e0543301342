"""Two sums that differ by some rows tell their numbers: one answer means one, unless all agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

import pairgossip as pg
from pairgossip.peer.protocol.membership import Membership
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    Growth,
    Notice,
    encode,
    generation_name,
    generations_before,
)
from pairgossip.peer.protocol.program import Ask, Kind
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import SumsAction
from tests.peer.contexts import name_of, sealed_growth, sealed_notice
from tests.peer.sums import WORDS, Powers, SumsAuditor, SumsDisk, SumsWorld, make_world
from tests.peer.world import Faults

ATTACKER, VICTIM = name_of(0), name_of(3)
HONEST = (name_of(1), name_of(2))
ROWS = 2
"""How many each member begins with."""


class Careless(Rounds):
    """Contributes to any sum, and begins any generation."""

    def missing_consent(self) -> str | None:
        return None

    def _follow(self, notice: Notice) -> list[SumsAction]:
        return Membership._follow(self, notice)


def make_careless_world(n: int) -> SumsWorld:
    """Members that contribute to anything, of which the audit says nothing."""
    return make_world(n, liars={name_of(k): Careless for k in range(n)})


def run_twice(world: SumsWorld) -> tuple[int, ...] | None:
    """Let a member evict another after a complete run; return what it learns by difference."""
    world.finish()
    first = found_sum(world)
    assert first is not None
    world.evict(ATTACKER, [VICTIM])
    world.run(world.now + 60.0)
    second = found_sum(world)
    if second is None:
        return None
    return tuple((a - b) % 2**64 for a, b in zip(first, second, strict=True))


def found_sum(world: SumsWorld) -> tuple[int, ...] | None:
    program = world.rounds(ATTACKER).program
    assert isinstance(program, Powers)
    return program.sums[0] if program.sums else None


def numbers_of(world: SumsWorld, name: str) -> tuple[int, ...]:
    numbers = Powers(world.own[name]).contribute(Ask(Kind.SUM, b"1", WORDS))
    return tuple(np.asarray(numbers).tolist())


def announce(world: SumsWorld, count: int, evicted: tuple[str, ...], *grown: Growth) -> None:
    """Let the attacker tell everybody of a generation, and everybody make of it what it does."""
    frame = encode(sealed_notice(generation_name(count, evicted, grown), evicted, ATTACKER, grown))
    for name in world.names:
        if name != ATTACKER:
            world._deliver(ATTACKER, name, frame)
    world.run(world.now + 10.0)


def said_by(world: SumsWorld, name: str) -> str:
    """What keeps a member from a further sum."""
    rounds = world.rounds(name)
    said = rounds.describe_next() or rounds.refusal()
    assert said is not None
    return said


def count_sums(world: SumsWorld, name: str = HONEST[0]) -> int:
    """In how many generations a member has contributed to a sum."""
    assert isinstance(world.auditor, SumsAuditor)
    return world.auditor.summed(name)


def test_whoever_evicts_a_member_learns_nothing() -> None:
    world = make_world(4)
    assert run_twice(world) is None
    for name in HONEST:
        assert said_by(world, name) == (
            f"Since this peer contributed to a sum, '{VICTIM}' was evicted: a further sum would "
            "tell everybody the numbers of those rows, by the difference. If that may be known, "
            "run: pairgossip peer agree."
        )
        assert world.rounds(name).ask is None, "it stays where it has all signatures"
        assert world.rounds(name).asks_consent == generation_name(1, (VICTIM,))


def test_without_the_guard_it_learns_everything() -> None:
    world = make_careless_world(4)
    assert run_twice(world) == numbers_of(world, VICTIM)


def test_one_honest_member_is_enough() -> None:
    world = make_world(4, liars={ATTACKER: Careless, name_of(1): Careless})
    assert run_twice(world) is None


def test_before_the_first_sum_too_nobody_is_left_out_without_consent() -> None:
    """Or two members could evict all others but one, and read that one's numbers."""
    world = make_world(5, liars={ATTACKER: Careless})
    world.lose_for_ever(VICTIM)
    world.run(10.0)
    world.evict(ATTACKER, [VICTIM])
    world.run(world.now + 30.0)
    honest = [name for name in world.names if name not in (ATTACKER, VICTIM)]
    for name in honest:
        assert count_sums(world, name) == 0
        assert said_by(world, name) == (
            f"'{VICTIM}' was evicted, and this peer's operator has not agreed: among fewer members "
            "its numbers are easier to read. If that is right, run: pairgossip peer agree."
        )
        world.agree(name)
    world.finish()
    world.check_sums()
    assert [count_sums(world, name) for name in honest] == [1, 1, 1]


def deliver_after(world: SumsWorld, moment: float, evicted: str, to: Sequence[str]) -> list[str]:
    """Let a notice come so long after the first contribution; return who had made one by then.

    Whoever is evicted ends its process as soon as it knows.
    """
    while not world.state(HONEST[0]).summed_in:
        world.run(world.now + 0.005)
    world.run(world.now + moment)
    frame = encode(sealed_notice(generation_name(1, (evicted,)), (evicted,), ATTACKER))
    had = [name for name in world.names if world.state(name).summed_in]
    for name in to:
        world._deliver(ATTACKER, name, frame)
    for _ in range(600):
        world.run(world.now + 0.05)
        for name in world.names:
            if world.peers[name] is not None and world.rounds(name).evicted_by is not None:
                world.stop(name, power=False)
    return had


@pytest.mark.parametrize("evicted", [VICTIM, HONEST[0]])
@pytest.mark.parametrize("told", [1, 5])
def test_a_notice_takes_no_result_away(evicted: str, told: int) -> None:
    """An eviction at any moment after all have contributed: all of them still get the result."""
    tried = 0
    for moment in range(12):
        world = make_world(6)
        had = deliver_after(world, 0.02 * moment, evicted, world.names[1 : 1 + told])
        if len(had) < 6:
            continue  # who has not contributed yet may leave
        tried += 1
        for name in world.names:
            state = world.state(name)
            again = Rounds(world.contexts[name], state)
            assert state.generation == FIRST_GENERATION and again.ask is None, (name, moment)
    assert tried > 5


def test_a_peer_on_its_way_out_agrees_to_nothing() -> None:
    world = make_world(6)
    while not all(world.state(name).summed_in for name in world.names):
        world.run(world.now + 0.005)
    frame = encode(sealed_notice(generation_name(1, (VICTIM,)), (VICTIM,), ATTACKER))
    world._deliver(ATTACKER, VICTIM, frame)
    assert world.rounds(VICTIM).asks_consent is None
    said = world.rounds(VICTIM).describe_next()
    assert said is not None and "goes on with the present one until all members have" in said
    world.agree(VICTIM)
    assert world.state(VICTIM).generation == FIRST_GENERATION
    world.run(world.now + 20.0)
    assert all(world.rounds(name).ask is None for name in world.names)
    world.run(world.now + 120.0)
    assert world.rounds(VICTIM).evicted_by == ATTACKER


@pytest.mark.parametrize("seed", range(4))
def test_an_evicted_peer_leaves_when_its_neighbors_have_all(seed: int) -> None:
    """On a network in which one member hears of the others through it alone."""
    graph = pg.Graph(5, [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (3, 4)])
    rows = [[float(k), 1.0] for k in range(5)]
    slow = Faults(longest_delay=0.5, until=1e9)
    world = SumsWorld(graph, rows, seed, slow, disk_class=SumsDisk)
    while not all(world.state(name).summed_in for name in world.names):
        world.run(world.now + 0.01)
    frame = encode(sealed_notice(generation_name(1, (VICTIM,)), (VICTIM,), ATTACKER))
    world._deliver(ATTACKER, VICTIM, frame)
    for _ in range(1200):
        world.run(world.now + 0.05)
        if world.peers[VICTIM] is not None and world.rounds(VICTIM).evicted_by is not None:
            world.stop(VICTIM, power=False)
    for name in world.names:
        assert Rounds(world.contexts[name], world.state(name)).ask is None, name


def test_a_member_that_joins_after_a_sum_is_shown_by_no_agreement() -> None:
    world = make_world(4)
    world.finish()
    rounds = world.rounds(name_of(1))
    before = {one: ROWS for one in world.names if one != VICTIM}
    rounds.state = replace(rounds.state, summed=before)
    world.agree(name_of(1))
    said = said_by(world, name_of(1))
    assert f"'{VICTIM}' has joined after" in said
    assert "let all members begin again from new folders" in said


def test_rows_that_a_member_adds_lead_to_no_sum_before_all_agree() -> None:
    world = make_world(4, more={0: [7.0]})
    world.finish()
    world.grow(ATTACKER, 1)
    world.run(world.now + 60.0)
    assert count_sums(world) == 1 and found_sum(world) is None
    others = [name for name in world.names if name != ATTACKER]
    for name in others:
        said = said_by(world, name)
        assert f"'{ATTACKER}' has 3 rows instead of 2" in said
        assert said.endswith("If that may be known, run: pairgossip peer agree.")
        world.agree(name)
    assert world.rounds(ATTACKER).refusal() is None, "it has added them itself"
    world.finish()
    world.check_sums()
    assert count_sums(world) == 2


def test_a_generation_with_nothing_new_leads_to_no_further_sum() -> None:
    """A member that has added many rows could count up to as many generations with them."""
    world = make_world(4, more={0: [7.0] * 5}, liars={ATTACKER: Careless})
    world.finish()
    world.grow(ATTACKER, 5)
    world.run(world.now + 10.0)
    for name in (*HONEST, VICTIM):
        world.agree(name)
    world.finish()
    world.check_sums()
    for count in range(2, 6):
        announce(world, count, (), sealed_growth(ATTACKER, ROWS, ROWS + 5))
        waits = world.rounds(HONEST[0]).asks_consent
        assert waits is not None and generations_before(waits) == count
    assert count_sums(world) == 2
    assert "another generation with the same rows" in said_by(world, HONEST[0])
