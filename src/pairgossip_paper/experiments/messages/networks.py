"""The runs of "messages": networks of incomes, and all ways to learn their Gini mean difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import ORDERED, TREE
from pairgossip.estimation import estimate
from pairgossip.graphs import Graph, grid, random_geometric
from pairgossip.kernels import Pairs
from pairgossip.sketches import Bins
from pairgossip.sketches.problem import SketchedPairs
from pairgossip.theory import fewest_messages
from pairgossip.theory.averaging import averaging_error, sweep_error
from pairgossip_paper.framework import Arguments, Case, Computation, Facts, Plan, geometric_grid
from pairgossip_paper.paper_setup import (
    ErrorCurve,
    dealt_quantiles,
    network,
    paper_nodes,
    settle_sweeps,
)

_KERNEL = "gini"
RANGE = (0.0, 5000.0)
"""The declared range of incomes, in francs."""
_BINS = 16
_NEIGHBORS = 14
"""Mean number of neighbors of a node of the geometric graph, except near the border."""
_CHECKPOINTS = (60, 18)
"""Numbers of checkpoints in a full and in a quick run."""
_MOST_TRIALS = 20
_ROUNDING = 1e-6
"""Largest excess over a whole number of messages that is put down to rounding."""
PAPER, OTHERS = ("complete", "watts-strogatz", "torus"), ("cycle", "grid", "geometric", "star")
_SIZES = {
    **{name: (paper_nodes(name), 100) for name in PAPER},
    **{"cycle": (100, 50), "grid": (600, 96), "geometric": (400, 100), "star": (100, 32)},
}
"""Numbers of nodes in a full and in a quick run."""
_SIDES = {600: (20, 30), 96: (8, 12)}
DECLINING = ("complete", "star")
"""Networks where ordered exchanges give way to random ones."""
_FORCED_RELAXATIONS = {"star": 0.5}
"""Relaxations of the sweeps that a sketch is forced to follow on such a network."""


class _Way(NamedTuple):
    """A method on a schedule."""

    label: str
    how: Arguments
    exchanges: tuple[int, int]
    """Numbers of exchanges in a full and in a quick run; 0 for as many as a tree has."""
    trials: int = _MOST_TRIALS
    """Largest number of trials, whatever the plan asks for."""
    least_trials: int = 1
    """Least number of trials; errors that are compared with exact ones need more."""


_SKETCH = {"method": "sketch", "sketch": Bins(_BINS, range=RANGE)}
WAYS: Mapping[str, _Way] = {
    "gosta": _Way("GoSta", {"method": "gosta", "clock": "async"}, (2_000_000, 300_000)),
    "tracking": _Way("tracking", {"method": "tracking"}, (2_000_000, 300_000)),
    "tracking-ordered": _Way(
        "tracking, ordered", {"method": "tracking", "schedule": ORDERED}, (1_000_000, 150_000)
    ),
    "sketch": _Way("sketch", _SKETCH, (600_000, 60_000), least_trials=10),
    "sketch-continuized": _Way(
        "sketch, continuized", _SKETCH | {"schedule": "continuized"}, (200_000, 20_000)
    ),
    "sketch-ordered": _Way("sketch, ordered", _SKETCH | {"schedule": ORDERED}, (200_000, 20_000)),
    "sketch-flooded": _Way(
        "sketch, ordered, range unknown",
        {"method": "sketch", "sketch": Bins(_BINS), "schedule": ORDERED},
        (200_000, 20_000),
    ),
    "sketch-tree": _Way("sketch, tree", _SKETCH | {"schedule": TREE}, (0, 0), 1),
    "collect": _Way("collect all rows", {"method": "collect"}, (100_000, 20_000), 5),
}
"""All ways; exchanges along a tree are not random, and end with its last message."""


@dataclass(frozen=True)
class _IncomeNetwork:
    """A graph with an income on every node."""

    name: str
    nodes: int
    seed: int

    @cached_property
    def graph(self) -> Graph:
        """The graph."""
        if self.name == "grid":
            return grid(*_SIDES[self.nodes])
        if self.name == "geometric":
            radius = math.sqrt(_NEIGHBORS / (math.pi * self.nodes))
            return random_geometric(self.nodes, radius, seed=self.seed)
        return network(self.name, self.nodes, self.seed)

    @cached_property
    def incomes(self) -> FloatArray:
        """One income per node: quantiles of the same distribution, dealt at random."""
        return dealt_quantiles(self.nodes, self.seed)

    @cached_property
    def sketched(self) -> SketchedPairs:
        """The averaged features if the range is declared."""
        return SketchedPairs(Pairs(self.incomes, _KERNEL), _SKETCH["sketch"], None)

    @property
    def ways(self) -> list[str]:
        """The ways that run here; where sweeps are declined, only a forced one is left."""
        if self.name not in DECLINING:
            return list(WAYS)
        swept = [way for way, one in WAYS.items() if one.how.get("schedule") == ORDERED]
        forced = ["sketch-ordered"] if self.name in _FORCED_RELAXATIONS else []
        return [way for way in WAYS if way not in swept or way in forced]

    def grid_of(self, way: str, plan: Plan) -> IntArray:
        """Return the checkpoints of a way; those of a tree end with its last two messages."""
        last = plan.choose(*WAYS[way].exchanges) or fewest_messages(self.nodes)
        even = geometric_grid(self.nodes // 4, last, plan.choose(*_CHECKPOINTS))
        return even if WAYS[way].exchanges[0] else np.union1d(even, [last - 1])


@cache
def _build(name: str, plan: Plan) -> _IncomeNetwork:
    """Build a network once; later calls return it with all that was computed for it."""
    return _IncomeNetwork(name, plan.choose(*_SIZES[name]), plan.seed)


def _networks(plan: Plan) -> list[_IncomeNetwork]:
    return [_build(name, plan) for name in (*PAPER, *OTHERS)]


def cases(plan: Plan) -> Sequence[Case]:
    """List the runs of all ways on all networks, and the facts that need no run."""
    listed: list[Case] = [Computation("facts", partial(_facts, plan))]
    for place in _networks(plan):
        for way in place.ways:
            checkpoints = place.grid_of(way, plan)
            how = dict(WAYS[way].how)
            how |= {"checkpoints": checkpoints, "record": "summary"}
            problem, last = partial(_problem, place, way), int(checkpoints[-1])
            trials = max(WAYS[way].least_trials, min(plan.trials, WAYS[way].trials))
            listed.append(
                plan.simulate(f"{place.name}-{way}", estimate, problem, last, trials, **how)
            )
    return listed


def _problem(place: _IncomeNetwork, way: str) -> dict[str, Any]:
    arguments = {"data": place.incomes, "kernel": _KERNEL, "graph": place.graph}
    how = WAYS[way].how
    if how.get("schedule") == ORDERED:
        # The best relaxation, which is also the default, computed once for all batches of trials.
        sweeps = settle_sweeps(place.graph, how["method"])
        arguments["relaxation"] = _FORCED_RELAXATIONS.get(place.name) or sweeps.relaxation
    return arguments


def _facts(plan: Plan) -> Facts:
    return {place.name: _network_facts(place, plan) for place in _networks(plan)}


def _network_facts(place: _IncomeNetwork, plan: Plan) -> Facts:
    """Compute the statistic, and the errors of averaging the sketch by theory."""
    graph, value = place.graph, place.sketched.exact()
    features, floor = place.sketched.linearized()
    sweeps = settle_sweeps(graph, "sketch")
    at = place.grid_of("sketch", plan)
    facts: dict[str, Any] = {
        "nodes": graph.n,
        "edges": graph.edge_count,
        "value": value,
        "numbers": place.sketched.components,
        "sketch_error": floor / value,
        "is_ordered": sweeps.name == ORDERED,
        "random": np.hypot(averaging_error(features, graph, at), floor) / value,
    }
    if sweeps.sweep is not None and sweeps.relaxation is not None:
        at = place.grid_of("sketch-ordered", plan)
        swept = sweep_error(features, sweeps.sweep, at, sweeps.relaxation)
        facts |= {
            "ordered": np.hypot(swept, floor) / value,
            "colors": sweeps.sweep.colors,
            "relaxation": sweeps.relaxation,
        }
    return facts


@dataclass(frozen=True)
class WayCurve(ErrorCurve):
    """The errors of one way on one network, once all nodes of all trials have an estimate."""

    @cached_property
    def _sent(self) -> IntArray:
        is_complete = ~np.isnan(self.run.trial_error).any(axis=0)
        return np.flatnonzero(is_complete & (self.run.messages > 0))

    @cached_property
    def error(self) -> FloatArray:
        """Root mean square over nodes and trials, relative to the statistic; never quite 0."""
        relative = self.run.error[self._sent] / self.value
        return np.maximum(relative, np.finfo(np.float64).eps)  # it is interpolated on log scales

    def needed(self, level: float, against: str = "messages") -> float | None:
        """Return the messages, or bytes, after which the error stays below a level, if it does."""
        amount = super().needed(level, against)
        return None if amount is None else math.ceil(amount - _ROUNDING)
