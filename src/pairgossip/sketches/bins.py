"""Recipes of bins: of one column or of scores by class, and of two columns at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import whole
from pairgossip.errors import InputError
from pairgossip.kernels import Pairs
from pairgossip.sketches.sketch import check_kernel
from pairgossip.summaries.axes import Axis, Labels, Range, check_range, flooded_rows, lay_bins
from pairgossip.summaries.features.order import (
    OF_ORDER,
    OF_SCORES,
    OF_SURVIVAL,
    AucPair,
    AucTable,
    ConcordanceTable,
    JointAucPair,
    OrderTable,
)
from pairgossip.summaries.features.sketch import Sketch, formulas
from pairgossip.summaries.features.spread import OF_ONE_COLUMN, Gini, GiniBins


@dataclass(frozen=True)
class Bins:
    """Counts and sums per bin, for Gini's mean difference (with squares) and AUCs (per class).

    Pairs in different bins count exactly; those in one bin by how numbers spread in it.

    Parameters
    ----------
    bins
        How many bins.
    range
        The smallest and the largest number there can be, if all nodes know it; otherwise nodes
        first pass on the extremes and a few sampled numbers, from which all lay the same bins.
    errors
        Whether to average also what the sampling error of two scores' difference needs: how
        often both scores are in which bins, of half as many.
    """

    bins: int = 16
    range: tuple[float, float] | None = None
    errors: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", whole("The number of bins", self.bins))
        if self.range is not None:
            object.__setattr__(self, "range", check_range(self.range))

    def fit(self, pairs: Pairs) -> Sketch:
        """Return the sketch of Gini's mean difference or coefficient, or of one or two AUCs."""
        kernel, n, scale = pairs.kernel, pairs.count, pairs.scale
        check_kernel(self, kernel, OF_ONE_COLUMN, OF_SCORES)
        if set(formulas(kernel)) <= OF_ONE_COLUMN:
            axis = lay_bins(pairs.data, self.bins, self.range, 3 * self.bins, powers=2)
            if isinstance(axis, Labels):
                return Gini(axis, n, scale, kernel)
            return GiniBins(axis, n, scale, kernel)
        classes, columns = Labels(np.unique(pairs.data[:, -1])), pairs.data[:, :-1].T
        axes = [lay_bins(column, self.bins, self.range, 2 * self.bins) for column in columns]
        tables = tuple(AucTable(axis, classes, n, scale, kernel) for axis in axes)
        if len(tables) == 1:
            return tables[0]
        if not self.errors:
            return AucPair(kernel, tables)
        return JointAucPair(kernel, tables, tuple(map(self._coarser, axes, columns)))

    def _coarser(self, bins: Axis, column: FloatArray) -> Axis:
        if isinstance(bins, Labels):
            return bins
        return lay_bins(column, max(self.bins // 2, 1), self.range, 0, powers=2)

    def flooded(self, pairs: Pairs) -> IntArray:
        """Return the rows whose numbers all nodes must learn first; two classes are known."""
        if self.range is not None:
            return np.arange(0)
        if pairs.data.ndim == 1:
            return flooded_rows(pairs.data, 3 * self.bins)
        columns = pairs.data[:, :-1].T
        return np.concatenate([flooded_rows(column, 2 * self.bins) for column in columns])


@dataclass(frozen=True)
class TwoWayBins:
    """Counts and sums per cell of two columns' bins, for kernels of how pairs are ordered.

    Parameters
    ----------
    bins
        How many bins each column has; 4 bins^2 numbers are averaged, or twice that with events.
    ranges
        The range of either column, if all nodes know them.
    errors
        Whether to average squares per cell too, which sampling errors need: 9 bins^2 numbers.
    """

    bins: int = 8
    ranges: tuple[Range, Range] | None = None
    errors: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", whole("The number of bins", self.bins))
        if self.ranges is not None:
            object.__setattr__(self, "ranges", _check_ranges(self.ranges))

    def fit(self, pairs: Pairs) -> Sketch:
        """Return the sketch of a statistic of how two columns order pairs."""
        check_kernel(self, pairs.kernel, OF_ORDER, OF_SURVIVAL)
        powers = 2 if self.errors else 1
        x, y = (
            lay_bins(pairs.data[:, column], self.bins, declared, self._most, "ranges", powers)
            for column, declared in enumerate(self.ranges or (None, None))
        )
        parts = (x, y, pairs.count, pairs.scale, pairs.kernel)
        if set(formulas(pairs.kernel)) <= OF_SURVIVAL:
            return ConcordanceTable(*parts, events=pairs.data.shape[1] == 3)
        return OrderTable(*parts)

    def flooded(self, pairs: Pairs) -> IntArray:
        """Return the rows whose numbers all nodes must learn first."""
        if self.ranges is not None:
            return np.arange(0)
        return np.concatenate(
            [flooded_rows(pairs.data[:, column], self._most) for column in range(2)]
        )

    @property
    def _most(self) -> int:
        """How many values of a column are told apart at no more cost than bins have."""
        return (3 if self.errors else 2) * self.bins


def _check_ranges(declared: Any) -> tuple[Range, Range]:
    try:
        first, second = declared
    except (TypeError, ValueError):
        raise InputError(
            f"There are two columns, but got {declared!r}: give the range of each, as in "
            "{argument}.",
            "ranges",
            ((0, 1), (0, 5)),
        ) from None
    return check_range(first, "ranges"), check_range(second, "ranges")
