"""Faults and methods simulated as plainly as possible, with only the package's schedules.

Random numbers are drawn one at a time, from the streams that belong to each kind of fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence

import pairgossip as pg
from pairgossip.engine.schedule import Schedule

Pair = tuple[int, int]
TRIAL_FAULTS = (1 << 16) + 2
"""Number of the child of a trial's seed from which faults are drawn."""


class Ring(NamedTuple):
    """An exchange whose clock rings, and whether it takes place."""

    i: int
    j: int
    takes_place: bool


def stream(seed: int, trial: int, *numbers: int) -> Generator:
    """Return the generator of one kind of fault of one trial."""
    key = (trial, TRIAL_FAULTS, *numbers)
    return Generator(SFC64(SeedSequence(seed, spawn_key=key)))


def exchanges_of(
    graph: pg.Graph, seed: int, trial: int, count: int, law: str = "uniform-edges"
) -> list[Pair]:
    """Return the exchanges that ring in the schedule of a trial."""
    schedule = Schedule(graph, law, SeedSequence(seed, spawn_key=(trial,)))
    return [(int(i), int(j)) for i, j in schedule.draw(count)[0]]


def _losses(probability: float, draws: Generator) -> Iterator[bool]:
    """Yield for each exchange in order whether it is lost."""
    while probability:
        for _ in range(int(draws.geometric(probability)) - 1):
            yield False
        yield True
    while True:
        yield False


def ring(
    exchanges: list[Pair],
    faults: pg.Faults,
    n: int,
    seed: int,
    trial: int = 0,
    site_of: Callable[[int], int] = lambda node: node,
    walks: int = 1,
) -> list[Ring]:
    """Return which exchanges take place; with several walks the exchanges take turns."""
    losses = _losses(faults.loss, stream(seed, trial, 0))
    sites = 1 + max(site_of(node) for node in range(n))
    gone, until = [False] * sites, [math.inf] * sites
    coming = stream(seed, trial, 1)
    if faults.churn is not None:
        up, down, start = faults.churn.up, faults.churn.down, stream(seed, trial, 3)
        gone = [start.random() >= up / (up + down) for _ in range(sites)]
        mean = [down * n if away else up * n for away in gone]
        until = [mean[site] * start.standard_exponential() for site in range(sites)]
    crashes: Any = faults.crashed if isinstance(faults.crashed, dict) else {}
    if isinstance(faults.crashed, tuple):
        crashes = dict.fromkeys(faults.crashed, 0)
    busy = [0] * n
    rung = []
    for number, (i, j) in enumerate(exchanges):
        now, is_lost = 1 + number // walks, next(losses)
        here, there = site_of(i), site_of(j)
        is_dead = any(now > crashes.get(site, math.inf) * n for site in (here, there))
        if here == there:
            rung.append(Ring(i, j, not is_dead))
            continue
        if is_dead or is_lost:
            rung.append(Ring(i, j, False))
            continue
        for site in (here, there):
            while until[site] < now:
                assert faults.churn is not None
                gone[site] = not gone[site]
                mean_time = n * (faults.churn.down if gone[site] else faults.churn.up)
                until[site] += mean_time * coming.standard_exponential()
        is_free = busy[i] < now and busy[j] < now
        takes_place = not gone[here] and not gone[there] and is_free
        if takes_place:
            busy[i] = busy[j] = now + round(faults.delay * n) if faults.delay else 0
        rung.append(Ring(i, j, takes_place))
    return rung


def gosta_async(x: Any, rings: list[Ring], h: Callable[[Any, Any], float]) -> Any:
    """Run Algorithm 1 on Poisson clocks."""
    held, z, picks = list(range(len(x))), [0.0] * len(x), [0] * len(x)
    for i, j, takes_place in rings:
        if not takes_place:
            continue
        held[i], held[j] = held[j], held[i]
        mean = (z[i] + z[j]) / 2
        for k in (i, j):
            picks[k] += 1
            z[k] = mean + (h(x[k], x[held[k]]) - mean) / picks[k]
    return np.array(z)


def gosta_sync(x: Any, rings: list[Ring], h: Callable[[Any, Any], float]) -> Any:
    """Run Algorithm 1: all nodes update at every ring, two of them exchange if it takes place."""
    held, z = list(range(len(x))), [0.0] * len(x)
    for t, (i, j, takes_place) in enumerate(rings, 1):
        z = [z[k] + (h(x[k], x[held[k]]) - z[k]) / t for k in range(len(x))]
        if takes_place:
            held[i], held[j] = held[j], held[i]
            z[i] = z[j] = (z[i] + z[j]) / 2
    return np.array(z)


def u1_sync(x: Any, rings: list[Ring], h: Callable[[Any, Any], float]) -> Any:
    """Run U1-gossip: the exchange swaps, then all nodes update."""
    held, z = list(range(len(x))), [0.0] * len(x)
    for t, (i, j, takes_place) in enumerate(rings, 1):
        if takes_place:
            held[i], held[j] = held[j], held[i]
        z = [z[k] + (h(x[k], x[held[k]]) - z[k]) / t for k in range(len(x))]
    return np.array(z)


def u2(x: Any, rings: list[Ring], h: Callable[[Any, Any], float]) -> Any:
    """Run U2-gossip: all nodes update, then each of two rings swaps one of two observations."""
    first, second, z = list(range(len(x))), list(range(len(x))), [0.0] * len(x)
    for t in range(1, len(rings) // 2 + 1):
        z = [z[k] + (h(x[first[k]], x[second[k]]) - z[k]) / t for k in range(len(x))]
        for held, (i, j, takes_place) in zip(
            (first, second), rings[2 * t - 2 : 2 * t], strict=True
        ):
            if takes_place:
                held[i], held[j] = held[j], held[i]
    return np.array(z)


def tracking(x: Any, rings: list[Ring], h: Callable[[Any, Any], float]) -> Any:
    """Swap, then average along the changes of the nodes' own means."""
    held, z = list(range(len(x))), [0.0] * len(x)
    seen: list[list[float]] = [[] for _ in x]
    for i, j, takes_place in rings:
        if not takes_place:
            continue
        held[i], held[j] = held[j], held[i]
        for k in (i, j):
            before = float(np.mean(seen[k])) if seen[k] else 0.0
            seen[k].append(h(x[k], x[held[k]]))
            z[k] += float(np.mean(seen[k])) - before
        z[i] = z[j] = (z[i] + z[j]) / 2
    return np.array(z)


def averaging(x: Any, rings: list[Ring], h: Any = None) -> Any:
    """Run gossip averaging."""
    z = list(map(float, x))
    for i, j, takes_place in rings:
        if takes_place:
            z[i] = z[j] = (z[i] + z[j]) / 2
    return np.array(z)


# Exchanges that take place and go wrong on one side.

Node = dict[str, Any]
Lie = Callable[[list[Node], int, int], Any]


def half_losses(probability: float, seed: int, trial: int) -> Iterator[int | None]:
    """Yield for each exchange that takes place which side does not learn of it, if any."""
    places, sides = stream(seed, trial, 2, 0), stream(seed, trial, 2, 1)
    for is_lost in _losses(probability, places):
        yield (1 if sides.random() < 0.5 else 0) if is_lost else None


def spoil(
    rings: list[Ring],
    nodes: list[Node],
    meet: Callable[[Node, Node], None],
    sides: Iterator[int | None],
    liars: tuple[int, ...] = (),
    lie: Lie = lambda nodes, liar, partner: 0.0,
) -> int:
    """Let nodes meet, with lies and half-lost exchanges; return how many were half lost."""
    lost = 0
    for i, j, takes_place in rings:
        if not takes_place:
            continue
        before = deepcopy((nodes[i], nodes[j]))
        if (i in liars) != (j in liars):
            liar, partner = (i, j) if i in liars else (j, i)
            told = lie(nodes, liar, partner)
            meet(nodes[i], nodes[j])
            honest = nodes[liar]
            nodes[i], nodes[j] = deepcopy(before)
            nodes[liar]["z"] = told
            meet(nodes[i], nodes[j])
            nodes[liar] = honest
        else:
            meet(nodes[i], nodes[j])
        side = next(sides)
        if side is not None:
            nodes[(i, j)[side]] = before[side]
            lost += 1
    return lost


def lies(
    graph: pg.Graph, liars: tuple[int, ...], attack: str, number: float | Any, clip: Any = None
) -> Lie:
    """Return what liars send, as described for each attack."""

    def find(nodes: list[Node], liar: int, partner: int) -> Any:
        theirs = nodes[partner]["z"]
        around = [nodes[o]["z"] for o in graph.neighbors(partner).tolist() if o not in liars]
        if attack == "constant":
            return number
        if attack == "sign":
            return -nodes[liar]["z"]
        if attack == "dissensus":
            return theirs - 10 * sum(other - theirs for other in around)
        usual = 1.5 * np.sqrt(sum((other - theirs) ** 2 for other in around) / max(len(around), 1))
        return theirs + usual

    return find


def meet_gosta(x: Any, h: Callable[[Any, Any], float]) -> Callable[[Node, Node], None]:
    """Return GoSta on Poisson clocks, for nodes with own row, held row, estimate and picks."""

    def meet(one: Node, other: Node) -> None:
        mean = (one["z"] + other["z"]) / 2
        one["held"], other["held"] = other["held"], one["held"]
        for node in (one, other):
            node["picks"] += 1
            node["z"] = mean + (h(x[node["own"]], x[node["held"]]) - mean) / node["picks"]

    return meet


def meet_tracking(x: Any, h: Callable[[Any, Any], float]) -> Callable[[Node, Node], None]:
    """Return tracking, for the same nodes with their own mean."""

    def meet(one: Node, other: Node) -> None:
        one["held"], other["held"] = other["held"], one["held"]
        for node in (one, other):
            node["picks"] += 1
            change = (h(x[node["own"]], x[node["held"]]) - node["mean"]) / node["picks"]
            node["mean"] += change
            node["z"] += change
        one["z"] = other["z"] = (one["z"] + other["z"]) / 2

    return meet


def meet_averaging(one: Node, other: Node) -> None:
    """Average the numbers or rows of two nodes."""
    one["z"] = other["z"] = (one["z"] + other["z"]) / 2


def start_nodes(n: int) -> list[Node]:
    """Return nodes that hold their own row and have met nobody."""
    return [{"own": k, "held": k, "z": 0.0, "picks": 0, "mean": 0.0} for k in range(n)]
