"""Seeded schedules: a random study, a phase of faults, then one in which every question ends."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

from tests.peer.audit import Violated
from tests.peer.contexts import name_of
from tests.peer.world import Faults
from tests.study.sites import Layout
from tests.study.world import World

BAD = 10
"""Seconds in which anything may fail."""
PATIENCE = 200
"""Seconds without faults, of half a contact each, within which every question must end."""
COLUMNS = ("risk", "age", "dose", "open", "open too", "closed")


class Report(NamedTuple):
    """The events of a schedule without violations."""

    events: int
    checks: int
    counts: Counter[str]
    trace: str


def run_schedule(seed: int, **classes: Any) -> Report:
    """Run one schedule; raise `Violated` if an invariant breaks."""
    world = draw_world(seed, **classes)
    with world.auditor.watching():
        world.run(BAD)
        world.settle(PATIENCE)
    check_ended(world)
    world.auditor.check_end()
    count_outcomes(world)
    return Report(world.events, world.auditor.checks, world.counts, world.trace.hexdigest())


def check_ended(world: World) -> None:
    """Check that without faults every question ends, at every remaining member."""
    left = [
        f"{who} is at {view.phase} {view.round} of {view.name.hex()[:6]}, awaits {view.awaited}"
        for who, view in world.open_questions()
    ]
    if left:
        raise Violated(f"questions that never end: {left}")


def count_outcomes(world: World) -> None:
    """Count questions by their outcomes at the running members."""
    outcomes: dict[bytes, set[str]] = {}
    for member in world.running():
        assert member.study is not None
        for view in member.study.questions:
            ending = view.ending
            kind = view.phase if ending is None else f"{view.phase}: {ending.kind}"
            outcomes.setdefault(view.name, set()).add(kind)
    for kinds in outcomes.values():
        world.counts["question " + " / ".join(sorted(kinds))] += 1


def draw_world(seed: int, **classes: Any) -> World:
    """Draw members, faults, and all that operators do."""
    chance = random.Random(f"study {seed}")
    size = chance.choice([3, 4, 4, 5, 5, 6, 7])
    shifted = frozenset(k for k in range(size) if chance.random() < 0.1)
    announces = chance.random() < 0.7
    faults = draw_faults(chance)
    careful = random.Random(f"careful {seed}").random() < 0.3
    facts = {"shifted": shifted, "announces": announces, "is_careful": careful, **classes}
    world = World(size, seed, faults, **facts)
    for _ in range(chance.randint(2, 5)):
        plan_question(world, chance)
    for _ in range(chance.choice([0, 1, 2])):
        plan_batch(world, chance)
    plan_members(world, chance)
    plan_backups(world, chance)
    return world


def draw_faults(chance: random.Random) -> Faults:
    return Faults(
        loss=chance.choice([0.0, 0.1, 0.3]),
        repetition=chance.choice([0.0, 0.1, 0.3]),
        longest_delay=chance.choice([0.02, 0.2, 1.0]),
        crashes=chance.choice([0.0, 0.1, 0.3]),
        kills=chance.choice([0.0, 0.003, 0.02]),
        partitions=chance.choice([0.0, 0.3]),
        until=BAD,
    )


def plan_question(world: World, chance: random.Random) -> None:
    """Plan a question that is asked, perhaps withdrawn, perhaps read again or repeated later."""
    asker = name_of(chance.randrange(world.size))
    layout = Layout(chance.choice(COLUMNS), chance.choice([1, 1, 3]), nonce=chance.randrange(3))
    patience = chance.choice([3, 1000, 1000, 1000])
    when = chance.choice([chance.uniform(0.5, 3.0), chance.uniform(0.5, BAD)])
    world._at(when, lambda: world.ask(asker, layout, patience))
    if chance.random() < 0.15:
        world._at(when + chance.expovariate(0.5), lambda: withdraw(world, asker))
    if chance.random() < 0.3:
        later = when + chance.uniform(1.0, 6.0)
        again = name_of(chance.randrange(world.size))
        what = chance.choice([repeat, read])
        world._at(later, lambda: what(world, again))


def withdraw(world: World, name: str) -> None:
    """Let an asker end its last question, if it is open."""

    def end(study: Any) -> Any:
        own = [view for view in study.questions if view.question.member == name]
        if not own or own[-1].phase in ("done", "ended"):
            return []
        return study.withdraw(own[-1].name, "It was a mistake.")

    world.request(name, end)


def repeat(world: World, name: str) -> None:
    """Let a member repeat a question that was not finished."""
    world.ask_like(name, "ended", lambda view: {"repeats": view.name})


def read(world: World, name: str) -> None:
    """Let a member ask a question that a released table answers."""
    world.ask_like(name, "done", lambda view: {"reads": (view.name,), "adds": False})


def plan_batch(world: World, chance: random.Random) -> None:
    names = [name for name in world.members if chance.random() < 0.7]
    for name in names:
        world._at(chance.uniform(0.5, BAD), lambda name=name: world.add_batch(name))  # type: ignore[misc]


def plan_members(world: World, chance: random.Random) -> None:
    """Plan members that join, leave, are evicted, or are lost."""
    if chance.random() < 0.3:
        world._at(chance.uniform(0.5, BAD - 2), world.join)
    kind = chance.choice(["", "", "", "leave", "evict", "lose"])
    victim, when = name_of(chance.randrange(world.size)), chance.uniform(1.0, BAD - 2)
    if world.size > 3 and kind == "leave":
        world._at(when, lambda: world.leave(victim))
    elif world.size > 3 and kind:
        world._at(when, lambda: world.evict(victim, is_lost=kind == "lose"))


def plan_backups(world: World, chance: random.Random) -> None:
    """Plan the restoration of a member's backup."""
    if chance.random() < 0.25:
        name = name_of(chance.randrange(world.size))
        when = chance.uniform(0.5, BAD - 1)
        world._at(when, lambda: world.back_up(name))
        world._at(chance.uniform(when, BAD), lambda: world.restore(name))
