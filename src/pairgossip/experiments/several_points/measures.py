"""Rows at the sites of networks, and the errors of a construction against what it sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import ROW_CONSTRUCTIONS
from pairgossip.experiments.framework.experiment import fit_power_law
from pairgossip.experiments.paper_setup import deal_rows, income_quantiles, network
from pairgossip.graphs import Graph, GroupedGraph
from pairgossip.results import Run


@dataclass(frozen=True)
class Curve:
    """Relative errors over checkpoints, from the first that sent anything."""

    run: Run
    value: float
    """The statistic, which errors are relative to."""

    @cached_property
    def _sent(self) -> IntArray:
        return np.flatnonzero(self.run.messages > 0)

    @property
    def messages(self) -> FloatArray:
        """Messages sent between sites."""
        return self.run.messages[self._sent].astype(np.float64)

    @property
    def bytes(self) -> FloatArray:
        """Bytes of payload sent between sites."""
        return self.run.bytes[self._sent]

    @cached_property
    def error(self) -> FloatArray:
        """Root mean square over nodes and trials, relative to the statistic."""
        return self.run.error[self._sent] / self.value

    @property
    def trial_error(self) -> FloatArray:
        """Root mean square over nodes, of every trial."""
        return self.run.trial_error[:, self._sent] / self.value

    @property
    def final(self) -> float:
        """The error at the end."""
        return float(self.error[-1])

    @property
    def site_error(self) -> float:
        """The error at the end of what sites know: the mean of their rows' estimates."""
        apart = self.run.site_estimates - self.value
        return float(np.sqrt(np.mean(apart**2)) / self.value)

    @property
    def noise(self) -> float:
        """Relative standard error of the final error, by the scatter over trials."""
        squares = self.trial_error[:, -1] ** 2
        return float(squares.std(ddof=1) / squares.mean() / np.sqrt(len(squares)) / 2)

    @property
    def slope(self) -> float:
        """The exponent with which the error falls in the last decade of messages."""
        late = self.messages >= self.messages[-1] / 10
        return fit_power_law(self.messages[late], self.error[late]).slope

    @property
    def bytes_per_message(self) -> float:
        """How long a message is on average."""
        return float(self.bytes[-1] / self.messages[-1])

    def error_at(self, amount: float, against: str) -> float:
        """Interpolate the error at an amount of messages, or bytes, on log scales."""
        x, y = np.log(getattr(self, against)), np.log(self.error)
        return float(np.exp(np.interp(np.log(amount), x, y)))

    def needed(self, level: float, against: str) -> float | None:
        """Return the messages, or bytes, after which the error stays below a level, if it does."""
        above = np.flatnonzero(self.error >= level)
        sent = getattr(self, against)
        if not len(above):
            return float(sent[0])
        last = above[-1]
        if last == len(sent) - 1:
            return None
        # np.interp wants rising abscissas, and the error falls here.
        errors, amounts = np.log(self.error[[last + 1, last]]), np.log(sent[[last + 1, last]])
        return float(np.exp(np.interp(np.log(level), errors, amounts)))


def ratio_at_end(one: Curve, other: Curve, against: str) -> float:
    """Divide the errors where both have sent as much as the one that sent less in all."""
    amount = min(getattr(one, against)[-1], getattr(other, against)[-1])
    return one.error_at(amount, against) / other.error_at(amount, against)


VIRTUAL = ROW_CONSTRUCTIONS
"""The constructions in which rows are nodes."""
SITES: Mapping[str, int] = {"cycle": 16, "torus": 16, "complete": 5}
"""Few sites in the complete graph: the more there are, the less its constructions differ."""
ROWS_PER_SITE = (1, 2, 5, 10)
QUICK_ROWS = (1, 2, 10)
UNEQUAL = "unequal"
UNEQUAL_SIZES: Mapping[int, tuple[int, ...]] = {
    16: (15, 11, 8, 6, 5, 4, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1),
    5: (25, 13, 7, 4, 1),
}
"""Rows per site, from the poorest site to the richest, by the number of sites."""


class Place:
    """Rows at the sites of a network."""

    def __init__(self, graph: str, rows: int | str, seed: int) -> None:
        self.graph, self.rows, self.seed = graph, rows, seed

    @property
    def name(self) -> str:
        """How cases call it, such as cycle-10 or torus-unequal."""
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
        return np.array(UNEQUAL_SIZES[self.network.n])

    @property
    def site_of(self) -> IntArray:
        """The site of every row."""
        return np.repeat(np.arange(self.network.n), self.sizes)

    @cached_property
    def incomes(self) -> FloatArray:
        """One income per row: dealt at random, but sorted over sites of unequal sizes.

        So small sites are rich ones, and whoever forgets the sizes gets another statistic.
        """
        quantiles = income_quantiles(int(self.sizes.sum()))
        if self.rows == UNEQUAL:
            return quantiles
        return deal_rows(quantiles, quantiles, len(quantiles), self.seed).X

    def virtual(self, construction: str) -> GroupedGraph:
        """The graph on the rows."""
        return GroupedGraph(self.network, self.site_of, construction)

    def pair_means(self) -> FloatArray:
        """The kernel's mean over the pairs of rows of every two sites, whatever their sizes."""
        x, starts = self.incomes, np.cumsum(self.sizes) - self.sizes
        sums = np.abs(x[:, None] - x[None, :])
        for axis in (0, 1):
            sums = np.add.reduceat(sums, starts, axis=axis)
        means: FloatArray = sums / np.outer(self.sizes, self.sizes)
        return means


@dataclass(frozen=True)
class SitesAlike:
    """The kernel of sites that swap whole sets and forget how many rows are in them."""

    means: FloatArray

    def __call__(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Look the pairs of sites up."""
        found: FloatArray = self.means[one.astype(int), other.astype(int)]
        return found
