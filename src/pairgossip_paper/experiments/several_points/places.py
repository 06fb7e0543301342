"""The runs of "several-points": rows at the sites of networks, and three ways to exchange them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import CONSTRUCTIONS, ROW_CONSTRUCTIONS
from pairgossip.estimation import estimate
from pairgossip.graphs import LAWS, Graph, GroupedGraph
from pairgossip_paper.framework import (
    Case,
    Computation,
    Facts,
    Plan,
    fit_power_law,
    geometric_grid,
)
from pairgossip_paper.paper_setup import (
    ErrorCurve,
    dealt_quantiles,
    income_quantiles,
    network,
)

_KERNEL = "gini"
_NETWORK_EXCHANGES = (100_000, 20_000)
"""Approximate number of exchanges between sites, in a full and in a quick run."""
_REPEATS, _LEAST_TRIALS = 3, 50
"""Factor of the plan's trials and their least number: ratios of errors are noisy."""
_CHECKPOINTS = (30, 14)
"""Numbers of checkpoints in a full and in a quick run; they take longer than the exchanges."""
SITES: Mapping[str, int] = {"cycle": 16, "torus": 16, "complete": 5}
"""Numbers of sites; constructions differ more on a complete graph of few sites."""
_ROWS_PER_SITE = (1, 2, 5, 10)
_QUICK_ROWS = (1, 2, 10)
_UNEQUAL, UNWEIGHTED = "unequal", "unweighted"
"""Names of places with sites of unequal sizes, and of the construction that ignores sizes."""
_UNEQUAL_SIZES: Mapping[int, tuple[int, ...]] = {
    16: (15, 11, 8, 6, 5, 4, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1),
    5: (25, 13, 7, 4, 1),
}
"""Rows per site, from the poorest site to the richest, by the number of sites."""


@dataclass(frozen=True)
class _Place:
    """Rows at the sites of a network."""

    graph: str
    rows: int | str
    """Rows at every site, or `_UNEQUAL`."""
    seed: int

    @property
    def name(self) -> str:
        """The name of the place in cases, such as cycle-10 or torus-unequal."""
        return f"{self.graph}-{self.rows}"

    @cached_property
    def network(self) -> Graph:
        """The graph of the sites."""
        return network(self.graph, SITES[self.graph], self.seed)

    @cached_property
    def sizes(self) -> IntArray:
        """Rows per site."""
        if isinstance(self.rows, int):
            return np.full(self.network.n, self.rows)
        return np.array(_UNEQUAL_SIZES[self.network.n])

    @property
    def site_of(self) -> IntArray:
        """The site of every row."""
        return np.repeat(np.arange(self.network.n), self.sizes)

    @cached_property
    def incomes(self) -> FloatArray:
        """One income per row: dealt at random, but sorted over sites of unequal sizes.

        Small sites are then rich ones, and an estimate that ignores sizes has another target.
        """
        count = int(self.sizes.sum())
        is_sorted = self.rows == _UNEQUAL
        return income_quantiles(count) if is_sorted else dealt_quantiles(count, self.seed)

    @property
    def pair_values(self) -> FloatArray:
        """The kernel's values for all pairs of rows."""
        return np.abs(self.incomes[:, None] - self.incomes[None, :])

    @property
    def constructions(self) -> tuple[str, ...]:
        """The constructions compared here; with one row per site all are the same."""
        if self.rows == 1:
            return CONSTRUCTIONS[:1]
        return (*CONSTRUCTIONS, UNWEIGHTED) if self.rows == _UNEQUAL else CONSTRUCTIONS

    def virtual(self, construction: str) -> GroupedGraph:
        """Return the graph on the rows."""
        return GroupedGraph(self.network, self.site_of, construction)

    def pair_means(self) -> FloatArray:
        """Average the kernel over the pairs of rows of every two sites, whatever their sizes."""
        sums, starts = self.pair_values, np.cumsum(self.sizes) - self.sizes
        for axis in (0, 1):
            sums = np.add.reduceat(sums, starts, axis=axis)
        means: FloatArray = sums / np.outer(self.sizes, self.sizes)
        return means


@dataclass(frozen=True)
class _SitesAlike:
    """The kernel of sites that swap whole sets and ignore how many rows are in them."""

    means: FloatArray

    def __call__(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Return the values of pairs of sites."""
        values: FloatArray = self.means[one.astype(int), other.astype(int)]
        return values


def cases(plan: Plan) -> Sequence[Case]:
    """List the runs of all constructions, and the facts of the graphs."""
    trials, exchanges = plan.repeat(_REPEATS, _LEAST_TRIALS), plan.choose(*_NETWORK_EXCHANGES)
    listed: list[Case] = [Computation("facts", partial(_facts, plan))]
    for place in _places(plan):
        for construction in place.constructions:
            last = _iterations(place, construction, exchanges)
            grid = geometric_grid(1, last, plan.choose(*_CHECKPOINTS))
            name, problem = f"{place.name}-{construction}", partial(_problem, place, construction)
            how = {"checkpoints": grid, "record": "summary"}
            listed.append(plan.simulate(name, estimate, problem, last, trials, **how))
    return listed


def _places(plan: Plan) -> list[_Place]:
    numbers = _QUICK_ROWS if plan.quick else _ROWS_PER_SITE
    return [_Place(graph, rows, plan.seed) for graph in SITES for rows in (*numbers, _UNEQUAL)]


def _iterations(place: _Place, construction: str, exchanges: int) -> int:
    """Return the iterations that make this many exchanges between sites, on average."""
    if construction not in ROW_CONSTRUCTIONS:
        return exchanges
    return ceil(exchanges / place.virtual(construction).network_fraction())


def _problem(place: _Place, construction: str) -> dict[str, Any]:
    if construction == UNWEIGHTED:
        # The nodes are sites, which count all sets as equally large.
        return {
            "data": np.arange(float(place.network.n)),
            "kernel": _SitesAlike(place.pair_means()),
            "graph": place.network,
            "reference": float(place.pair_values.mean()),
        }
    return {
        "data": place.incomes,
        "kernel": _KERNEL,
        "graph": place.network,
        "groups": place.site_of,
        "construction": construction,
    }


def _facts(plan: Plan) -> Facts:
    """Compute statistics and gaps: from the sites alone, and from all virtual edges."""
    return {
        place.name: {
            "value": float(place.pair_values.mean()),
            "unweighted": float(place.pair_means().mean()),
            "sizes": place.sizes,
            "graphs": {name: _graph_facts(place, name) for name in ROW_CONSTRUCTIONS},
        }
        for place in _places(plan)
    }


def _graph_facts(place: _Place, construction: str) -> Facts:
    graph = place.virtual(construction)
    listed = graph.materialized()
    gaps = {
        law: (
            graph.normalized_gap(law),
            float(np.linalg.eigvalsh(listed.laplacian_dense(law))[1]),
        )
        for law in LAWS
    }
    return {
        "edges": graph.edge_count,
        "share": graph.network_fraction(),
        "gaps": gaps,
        "sites_gap": place.network.normalized_gap(),
    }


@dataclass(frozen=True)
class SiteCurve(ErrorCurve):
    """The errors of one construction at one place."""

    @property
    def site_error(self) -> float:
        """The final error of a site's estimate, which is the mean of its rows' estimates."""
        apart = self.run.site_estimates - self.value
        return float(np.sqrt(np.mean(apart**2)) / self.value)

    @property
    def slope(self) -> float:
        """The exponent of messages in the error, over their last decade."""
        late = self.messages >= self.messages[-1] / 10
        return fit_power_law(self.messages[late], self.error[late]).slope


def ratio_at_end(one: SiteCurve, other: SiteCurve, against: str) -> float:
    """Divide the errors at equal amounts sent: all that the one that sent less has sent."""
    amount = min(getattr(one, against)[-1], getattr(other, against)[-1])
    return float(one.error_at(amount, against) / other.error_at(amount, against))
