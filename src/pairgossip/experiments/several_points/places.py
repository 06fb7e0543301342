"""The settings of several points per node: networks, rows per site, and the incomes there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.experiments.networks import income_quantiles, network
from pairgossip.experiments.setting import dealt
from pairgossip.graphs import Graph, GroupedGraph

CONSTRUCTIONS = ("lexicographic", "blow-up", "whole-sets")
VIRTUAL = CONSTRUCTIONS[:2]
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
        return dealt(quantiles, quantiles, len(quantiles), self.seed).X

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
