"""Seeded schedules: a random network, a phase of faults, then one in which all must recover."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import pairgossip as pg
from pairgossip.kernels.kernel import as_kernel
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.nodes import picks_per_exchange
from pairgossip.peer.protocol.rules import Rule
from pairgossip.peer.service.runtime import ExchangeRuntime
from tests.peer.audit import Violated, check_grown, check_settled
from tests.peer.books import BookedMixing, QuickMixing
from tests.peer.contexts import name_of
from tests.peer.disk import Disk
from tests.peer.world import Faults, World

BAD, GOOD = 8.0, 4.0


class Report(NamedTuple):
    """The events of a schedule without violations."""

    events: int
    checks: int
    counts: Counter[Any]
    trace: str


class Growth(NamedTuple):
    """A peer, how many rows are added to it, and when."""

    when: float
    number: int
    by: int


@dataclass(frozen=True)
class Defect:
    """Classes that replace the real ones, to check that their defect is detected."""

    exchange: type[Exchange] = Exchange
    disk: type[Disk] = Disk
    runtime: type[ExchangeRuntime] = ExchangeRuntime
    settles_safely: bool = True


NONE = Defect()


def run_schedule(seed: int, defect: Defect = NONE) -> Report:
    """Run one schedule; raise `Violated` if an invariant breaks."""
    world = make_world(seed, defect)
    world.run(BAD + GOOD)
    world.heal()
    world.settle()
    check_settled(world)
    check_grown(world, world.asked)
    if world.counts["skipped: neighbor evicted"]:
        raise Violated("a clock rang for an evicted neighbor")
    return Report(world.events, world.auditor.checks, world.counts, world.trace.hexdigest())


def make_world(seed: int, defect: Defect = NONE) -> World:
    """Draw a network, its rows, its faults and its evictions."""
    chance = random.Random(f"schedule {seed}")
    graph = draw_graph(chance, chance.randint(2, 8))
    rows = [chance.choice([1, 1, 1, 2, 3, 4]) for _ in range(graph.n)]
    values = [[chance.uniform(-10, 10) for _ in range(k)] for k in rows]
    is_quick = seed % 10 != 0  # every tenth runs the default rule, in numpy

    def rule_of(number: int, rows: int) -> Rule:
        degree = int((graph.edges == number).sum())
        weight = rows / (degree * picks_per_exchange(rows))
        return QuickMixing(weight) if is_quick else BookedMixing(as_kernel("gini"), weight=weight)

    growing = random.Random(f"growth {seed}")
    growths = draw_growths(growing, graph.n)
    world = World(
        graph,
        values,
        seed,
        draw_faults(chance),
        make_rule=lambda number: rule_of(number, rows[number]),
        rule_of=rule_of,
        more=draw_rows(growing, growths),
        exchange_class=defect.exchange,
        disk_class=defect.disk,
        runtime_class=defect.runtime,
        settles_safely=defect.settles_safely,
        rate=chance.choice([0.5, 1.0, 3.0]),
    )
    plan_evictions(world, chance)
    for when, number, by in growths:
        world._at(when, lambda number=number, by=by: world.grow(name_of(number), by))  # type: ignore[misc]
    return world


def draw_growths(chance: random.Random, n: int) -> list[Growth]:
    """Let some peers add rows, some more than once, and some at the same moment."""
    growths: list[Growth] = []
    for _ in range(chance.choice([0, 0, 1, 2, 3])):
        is_at_once = bool(growths) and chance.random() < 0.5
        when = growths[-1].when if is_at_once else chance.uniform(0.2, BAD)
        growths.append(Growth(when, chance.randrange(n), chance.randint(1, 3)))
    return growths


def draw_rows(chance: random.Random, growths: list[Growth]) -> dict[int, list[float]]:
    added: dict[int, list[float]] = {}
    for growth in growths:
        values = [chance.uniform(-10, 10) for _ in range(growth.by)]
        added.setdefault(growth.number, []).extend(values)
    return added


def draw_faults(chance: random.Random) -> Faults:
    return Faults(
        loss=chance.choice([0.0, 0.1, 0.3, 0.5]),
        repetition=chance.choice([0.0, 0.1, 0.5]),
        longest_delay=chance.choice([0.02, 0.2, 1.0]),
        crashes=chance.choice([0.0, 0.1, 0.4]),
        kills=chance.choice([0.0, 0.003, 0.02]),
        partitions=chance.choice([0.0, 0.3]),
        freezes=chance.choice([0.0, 0.3]),
        until=BAD,
    )


def draw_graph(chance: random.Random, n: int) -> pg.Graph:
    """Draw a random tree, and some more edges."""
    edges = {(chance.randrange(k), k) for k in range(1, n)}
    for _ in range(chance.randint(0, n)):
        i, j = sorted(chance.sample(range(n), 2))
        edges.add((i, j))
    return pg.Graph(n, sorted(edges))


def plan_evictions(world: World, chance: random.Random) -> None:
    """Plan lost members and evictions of living ones, also of two at once by different peers."""
    victims: list[str] = []
    for _ in range(chance.choice([0, 0, 1, 2])):
        left = [name for name in world.names if name not in victims]
        victim = chance.choice(left)
        left.remove(victim)
        if len(left) >= 2 and _is_connected(world, left):
            victims.append(victim)
    when = chance.uniform(0.5, BAD - 1)
    for victim in victims:
        if chance.random() < 0.7:
            world._at(when, lambda victim=victim: world.lose_for_ever(victim))  # type: ignore[misc]
        others = [name for name in world.names if name not in victims]
        for by in chance.sample(others, chance.choice([1, 1, 2])):
            at = when + chance.uniform(0.0, 1.0)
            world._at(at, lambda by=by, victim=victim: world.evict(by, [victim]))  # type: ignore[misc]


def _is_connected(world: World, names: list[str]) -> bool:
    reached, todo = {names[0]}, [names[0]]
    while todo:
        for other in world.neighbors[todo.pop()]:
            if other in names and other not in reached:
                reached.add(other)
                todo.append(other)
    return len(reached) == len(names)
