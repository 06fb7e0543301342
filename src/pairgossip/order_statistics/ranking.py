"""Ranks as averages over pairs, and trimmed means as averages of numbers counted by rank."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels import Kernel, Pairs
from pairgossip.kernels.blocks import Progress
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.order_statistics.statistics import TrimmedMean


def rank_kernel(n: int) -> Kernel:
    """Return the kernel whose mean over a row of n pairs is the mid-rank."""
    return Kernel(
        partial(_rank_value, n=n),
        name="rank",
        columns=("value",),
        total=partial(_all_ranks, n=n),
        row_totals=partial(_rank_totals, n=n),
        expression="n (1{x > y} + 1{x = y} / 2) + 1/2",
        description="mid-ranks: the mean of each row",
    )


def _rank_value(first: FloatArray, second: FloatArray, n: int) -> FloatArray:
    return n * ((first > second) + 0.5 * (first == second)) + 0.5


def _rank_totals(data: FloatArray, n: int) -> FloatArray:
    return n * (Distribution.of(data).middle_ranks(data) - 0.5) + len(data) / 2


def _all_ranks(data: FloatArray, n: int) -> float:
    return len(data) ** 2 * (n + 1) / 2


class Window(NamedTuple):
    """The ranks whose numbers count, and their weight."""

    values: FloatArray
    low: float
    """The lowest rank that counts."""
    high: float
    """The lowest rank above these that does not count."""
    weight: float

    @classmethod
    def of(cls, values: FloatArray, share: float) -> Window:
        """Return the window whose counted numbers have the trimmed mean as their average."""
        n, cut = len(values), math.floor(share * len(values))
        return cls(values, cut + 0.5, n - cut + 0.5, n / (n - 2 * cut))

    def counted(self, nodes: IntArray, ranks: FloatArray) -> FloatArray:
        """Return the weighted numbers of nodes with these ranks, shape (m, 1); 0 outside."""
        inside = (self.low <= ranks) & (ranks < self.high)
        return self.weight * self.values[nodes, None] * inside


class TrimmedPairs(Pairs):
    """Pairs from which nodes estimate ranks, by which numbers count in a trimmed mean."""

    def __init__(self, values: FloatArray, statistic: TrimmedMean) -> None:
        super().__init__(values, rank_kernel(len(values)))
        self.statistic = statistic
        self.title = statistic.name
        """The name of the estimated number, which is not the mean of the kernel."""
        self.window = Window.of(self.data, statistic.share)
        self.step_options = {"window": self.window}

    def check(self) -> None:
        """Raise `InputError` if tied rows are cut apart, which share one rank."""
        cut = math.floor(self.statistic.share * self.n)
        ordered = np.sort(self.data)
        for first in (cut - 1, self.n - cut - 1):
            if cut and ordered[first] == ordered[first + 1]:
                raise InputError(
                    f"A trimmed mean cuts some of the rows that are {ordered[first]:g}, but "
                    "GoTrim counts all rows of one rank or none: use {argument}.",
                    "method",
                    "sketch",
                )

    def exact(self, progress: Progress | None = None) -> float:
        """Return the trimmed mean, which is not an average over pairs."""
        return float(self.statistic.value(Distribution.of(self.data)))
