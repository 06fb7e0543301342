"""Two sums over lists that differ by a member tell its numbers: peers keep from making both."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.peer.protocol.program import Ask, Kind
from pairgossip.peer.protocol.rounds import Rounds
from tests.peer.contexts import name_of
from tests.peer.sums import WORDS, Powers, SumsContext, SumsWorld, make_world

ATTACKER, VICTIM = name_of(0), name_of(3)


class Careless(Rounds):
    """Contributes to any sum."""

    def _refuse_difference(self) -> str | None:
        return None


def run_twice(world: SumsWorld) -> tuple[int, ...] | None:
    """Let a member evict another after a complete run; return what it learns by difference."""
    world.finish()
    first = found_sum(world)
    assert first is not None
    world.evict_alone(ATTACKER, [VICTIM])
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


def test_whoever_evicts_a_member_learns_nothing() -> None:
    world = make_world(4)
    assert run_twice(world) is None
    for name in (name_of(1), name_of(2)):
        said = world.rounds(name).refusal()
        assert said is not None and f"run pairgossip peer evict {VICTIM} here too" in said
        assert not any(one.member == name for one in world.state(name).contributions.values())


def test_without_the_guard_it_learns_everything() -> None:
    world = make_world(4, rounds_class=Careless)
    assert run_twice(world) == numbers_of(world, VICTIM)


def test_one_honest_member_is_enough() -> None:
    world = make_world(4, liars={ATTACKER: Careless, name_of(1): Careless})
    assert run_twice(world) is None


def test_a_peer_refuses_after_a_restart_too() -> None:
    world = make_world(4)
    assert run_twice(world) is None
    for name in (name_of(1), name_of(2)):
        world.stop(name, power=True)
        world.start(name)
    world.run(world.now + 60.0)
    assert found_sum(world) is None


def test_all_operators_may_agree() -> None:
    world = make_world(4)
    assert run_twice(world) is None
    world.evict_alone(name_of(1), [VICTIM])
    world.run(world.now + 30.0)
    assert found_sum(world) is None, "one of them has not agreed yet"
    world.evict_alone(name_of(2), [VICTIM])
    world.finish()
    world.check_sums()


def test_who_agrees_to_one_eviction_does_not_agree_to_another() -> None:
    world = make_world(5)
    world.finish()
    world.evict_alone(name_of(2), [name_of(4)])
    world.evict_alone(ATTACKER, [VICTIM])
    world.run(world.now + 60.0)
    said = world.rounds(name_of(2)).refusal()
    assert said is not None and f"'{VICTIM}' was evicted" in said


def test_a_member_that_never_ran_is_evicted_without_further_ado() -> None:
    """Nobody has contributed to a sum with it."""
    world = make_world(4)
    world.lose_for_ever(VICTIM)
    world.run(10.0)
    world.evict_alone(ATTACKER, [VICTIM])
    world.finish()
    world.check_sums()


def test_a_member_that_joins_after_a_sum_is_not_shown_by_a_new_generation() -> None:
    world = make_world(4)
    world.finish()
    rounds = world.rounds(name_of(1))
    rounds.state = replace(rounds.state, summed=(name_of(0), name_of(1), name_of(2)))
    said = rounds.refusal()
    assert said is not None and f"'{VICTIM}' has joined after" in said


def test_rows_that_a_member_adds_are_its_own_affair() -> None:
    world = make_world(4, more={1: [7.0]})
    world.finish()
    world.grow(name_of(1), 1)
    world.run(world.now + 1.0)
    world.finish()
    assert world.state(name_of(1)).rows == 3
    world.check_sums()


@pytest.mark.parametrize("agreed", [False, True])
def test_noise_that_is_drawn_anew_makes_no_refusal_necessary(
    agreed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SumsContext, "hides_differences", agreed)
    assert (run_twice(make_world(4)) is not None) is agreed
