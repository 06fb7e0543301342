"""The runs of "ranks": GoRank and GoTrim in the settings of their papers, and averaged bins."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import NODE_CLOCKS, ORDERED, TREE
from pairgossip.estimation import estimate
from pairgossip.graphs import Graph, complete, random_geometric, watts_strogatz
from pairgossip.kernels import Kernel, Pairs
from pairgossip.order_statistics.comparisons import TESTS
from pairgossip.order_statistics.ranking import rank_kernel
from pairgossip.rank_estimation import ranks, trimmed_mean
from pairgossip.results import Run
from pairgossip.sketches import Bins
from pairgossip.theory import row_mean_error
from pairgossip_paper.framework import Arguments, Case, Computation, Facts, Plan, geometric_grid
from pairgossip_paper.paper_setup import settle_sweeps

NETWORKS = ("complete", "watts-strogatz", "geometric")
TASKS = ("ranks", "rank-sum", "trimmed")
_NODES = (500, 200)
"""Numbers of nodes in a full and in a quick run."""
_EXCHANGES = (50_000, 20_000)
_CHECKPOINTS = (40, 16)
_BINS = 64
SHARE = 0.4
"""The share of rows that is cut at either end."""
_CONTAMINATED = 0.3
_SHIFT = 0.8
"""The shift of one of the two groups, in units of the Cauchy scale."""
_TIMES_TRIALS = 2
"""Factor of the plan's trials: 100 trials by default, as in the papers."""
_DEALING, _GROUPS = 101, 102
"""Children of the seed that deal rows to nodes, and draw the groups."""


class RankWay(NamedTuple):
    """A method and its schedule."""

    label: str
    how: Arguments
    in_order: bool = False
    """Whether rows lie in their order on the nodes, as in the published runs."""


_BY_BINS = {
    "bins": RankWay("averaged bins", {}),
    "bins-ordered": RankWay("averaged bins, ordered", {"schedule": ORDERED}),
    "bins-tree": RankWay("bins along a tree", {"schedule": TREE}),
}
_ASYNC = {"clock": "async", "law": NODE_CLOCKS}
WAYS: Mapping[str, Mapping[str, RankWay]] = {
    "ranks": {
        "sync": RankWay("GoRank, synchronous", {"method": "gorank", "clock": "sync"}),
        "async": RankWay("GoRank, asynchronous", {"method": "gorank", **_ASYNC}),
        **_BY_BINS,
    },
    "rank-sum": {
        "async": RankWay("tracked ranks (GoRank), asynchronous", {"method": "tracking", **_ASYNC}),
        **_BY_BINS,
    },
    "trimmed": {
        "sync": RankWay("GoTrim, synchronous", {"method": "gotrim", "clock": "sync"}),
        "async": RankWay("GoTrim, asynchronous", {"method": "gotrim", **_ASYNC}),
        "async-in-order": RankWay(
            "GoTrim, asynchronous, rows not shuffled",
            {"method": "gotrim", **_ASYNC},
            in_order=True,
        ),
        **_BY_BINS,
    },
}


@dataclass(frozen=True)
class RankNetwork:
    """A graph, two groups of numbers on its nodes, and contaminated ones."""

    name: str
    nodes: int
    seed: int

    @cached_property
    def graph(self) -> Graph:
        """The graph."""
        if self.name == "complete":
            return complete(self.nodes)
        if self.name == "watts-strogatz":
            return watts_strogatz(self.nodes, k=4, p=0.4, seed=self.seed)
        radius = math.sqrt((math.log(self.nodes) + 8) / (math.pi * self.nodes))
        return random_geometric(self.nodes, radius, seed=self.seed)

    @cached_property
    def groups(self) -> FloatArray:
        """Numbers of two Cauchy distributions, one of them shifted, and labels, dealt at random."""
        rng = np.random.default_rng([self.seed, _GROUPS])
        labels = np.repeat([0.0, 1.0], self.nodes // 2)
        numbers = rng.standard_cauchy(len(labels)) + _SHIFT * labels
        return rng.permutation(np.column_stack([numbers, labels]))

    def contaminated(self, in_order: bool = False) -> FloatArray:
        """Return 1, 2, ..., n, some of them ten times as large, in order or dealt at random."""
        rng = np.random.default_rng([self.seed, _DEALING])
        numbers = self._contaminate(rng)
        while _cuts_ties(numbers):  # GoTrim needs different numbers on either side of a cut
            numbers = self._contaminate(rng)
        return numbers if in_order else rng.permutation(numbers)

    def _contaminate(self, rng: np.random.Generator) -> FloatArray:
        numbers = np.arange(1.0, self.nodes + 1)
        numbers[rng.permutation(self.nodes)[: int(_CONTAMINATED * self.nodes)]] *= 10
        return numbers

    @cached_property
    def relaxation(self) -> float | None:
        """The relaxation of bins along ordered exchanges; None where random ones replace these."""
        sweeps = settle_sweeps(self.graph, "sketch")
        return sweeps.relaxation if sweeps.name == ORDERED else None

    def ways(self, task: str) -> Mapping[str, RankWay]:
        """Return the methods run here: no sweeps where random exchanges replace them."""
        swept = self.relaxation is not None
        return {name: way for name, way in WAYS[task].items() if swept or name != "bins-ordered"}


def _cuts_ties(numbers: FloatArray) -> bool:
    cut, ordered = math.floor(SHARE * len(numbers)), np.sort(numbers)
    return bool(ordered[cut - 1] == ordered[cut] or ordered[-cut - 1] == ordered[-cut])


@cache
def build(name: str, plan: Plan) -> RankNetwork:
    """Build a network once; later calls return it with all that was computed for it."""
    return RankNetwork(name, plan.choose(*_NODES), plan.seed)


def rank_sum_kernel(n: int) -> Kernel:
    """Return the kernel whose average over all pairs is the sum of the higher group's ranks.

    A node's mean is its estimated rank times n if it is of that group. The papers track these means
    for rank statistics.
    """
    return Kernel(partial(_rank_sum_value, n=n), name="rank sum", columns=("value", "label"))


def _rank_sum_value(first: FloatArray, second: FloatArray, n: int) -> FloatArray:
    x, y = first[:, 0], second[:, 0]
    return np.asarray(n * first[:, 1] * (n * ((x > y) + 0.5 * (x == y)) + 0.5))


def cases(plan: Plan) -> Sequence[Case]:
    """List the runs of all methods for all tasks on all networks, and facts that need no run."""
    listed: list[Case] = [Computation("facts", partial(_facts, plan))]
    for name in NETWORKS:
        place = build(name, plan)
        for task in TASKS:
            listed += [_case(plan, place, task, key, way) for key, way in place.ways(task).items()]
    return listed


def _case(plan: Plan, place: RankNetwork, task: str, key: str, way: RankWay) -> Case:
    last, how = plan.choose(*_EXCHANGES), dict(way.how)
    trials = plan.repeat(_TIMES_TRIALS)
    grid = _grid(place, plan)
    if key == "bins-tree":  # up and down once to know the range, and once more
        trials, last = 1, 2 * (2 * place.nodes - 2)
        grid = np.array([last - 1, last])
    functions: dict[str, Callable[..., Run]]
    functions = {"ranks": ranks, "rank-sum": estimate, "trimmed": trimmed_mean}
    how |= {"checkpoints": grid, "record": "summary"}
    problem = partial(_problem, place, task, key)
    return plan.simulate(
        f"{place.name}-{task}-{key}", functions[task], problem, last, trials, **how
    )


def _problem(place: RankNetwork, task: str, key: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {"graph": place.graph}
    by_bins = key.startswith("bins")
    if key == "bins-ordered":
        arguments["relaxation"] = place.relaxation
    if task == "ranks":
        arguments["x"] = place.groups[:, 0]
    elif task == "trimmed":
        arguments |= {"x": place.contaminated(WAYS[task][key].in_order), "share": SHARE}
    elif by_bins:
        sketch = Bins(_BINS)
        arguments |= {"data": place.groups, "kernel": "auc", "method": "sketch", "sketch": sketch}
    else:
        arguments |= {"data": place.groups, "kernel": rank_sum_kernel(place.nodes)}
    return arguments


def _facts(plan: Plan) -> Facts:
    """Compute the units of errors, and the tests of the groups."""
    place = build(NETWORKS[0], plan)
    rank_sum = TESTS["wilcoxon-rank-sum"](place.groups)
    numbers = place.contaminated()
    return {
        "nodes": place.nodes,
        "rank_sum": rank_sum.value,
        "spread": rank_sum.error,
        "z": rank_sum.z,
        "p": rank_sum.p,
        "pairs": (place.nodes // 2) ** 2,
        "trimmed": float(trimmed_mean(numbers, SHARE)),
        "mean": float(numbers.mean()),
        "theory": {name: _expected_errors(build(name, plan), plan) for name in NETWORKS},
    }


def _expected_errors(place: RankNetwork, plan: Plan) -> FloatArray:
    """Return the error of synchronous GoRank by theory at the checkpoints, in ranks."""
    pairs = Pairs(place.groups[:, 0], rank_kernel(place.nodes))
    return row_mean_error(pairs.matrix(), place.graph, _grid(place, plan))


def _grid(place: RankNetwork, plan: Plan) -> IntArray:
    return geometric_grid(place.nodes, plan.choose(*_EXCHANGES), plan.choose(*_CHECKPOINTS))
