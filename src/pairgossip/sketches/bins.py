"""Bins of one column: Gini's mean difference, and AUCs with one set of bins per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import whole
from pairgossip.kernels import Combination, Formula, Kernel, Pairs
from pairgossip.kernels.builtin.classes import AUC_COMPARED, AUC_ORDERED, SECOND_AUC_ORDERED
from pairgossip.kernels.builtin.spread import GINI, MIDPOINT
from pairgossip.sketches.grids import Grid, Labels, check_range, flooded_rows, lay_bins
from pairgossip.sketches.sketch import (
    Points,
    Sketch,
    check_half_ties,
    combine_averages,
    formulas,
    kernels_of,
    wrong_kernel,
)
from pairgossip.sketches.tables import AucPair, AucTable, JointAucPair

OF_ONE_COLUMN = frozenset({GINI, MIDPOINT})
OF_SCORES = frozenset({AUC_ORDERED, SECOND_AUC_ORDERED, AUC_COMPARED})

_TINY, _EPSILON = 1e-30, np.finfo(np.float64).eps


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
        known, size = set(formulas(pairs.kernel)), (pairs.count, pairs.scale)
        if known <= OF_ONE_COLUMN:
            axis = lay_bins(pairs.data, self.bins, self.range, 3 * self.bins, powers=2)
            return sketch_column(pairs.kernel, axis, *size)
        if known <= OF_SCORES:
            classes, columns = Labels(np.unique(pairs.data[:, -1])), pairs.data[:, :-1].T
            axes = [lay_bins(column, self.bins, self.range, 2 * self.bins) for column in columns]
            joint = None
            if self.errors and len(axes) == 2:
                joint = tuple(map(self._coarser, axes, columns))
            return sketch_scores(pairs.kernel, axes, classes, *size, joint)
        raise wrong_kernel("Bins", pairs.kernel, kernels_of(OF_ONE_COLUMN, OF_SCORES))

    def _coarser(self, bins: Grid | Labels, column: FloatArray) -> Grid | Labels:
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


def sketch_column(
    kernel: Kernel | Combination, axis: Grid | Labels, n: float, scale: float
) -> Sketch:
    """Return the sketch of Gini's mean difference or coefficient on these bins of its column."""
    if isinstance(axis, Labels):
        return combine_averages(GiniLabels(axis, scale), kernel)
    return combine_averages(GiniBins(axis, n, scale), kernel)


def sketch_scores(
    kernel: Kernel | Combination,
    axes: Sequence[Grid | Labels],
    classes: Labels,
    n: float,
    scale: float,
    joint: tuple[Grid | Labels, ...] | None = None,
) -> Sketch:
    """Return the sketch of one or two AUCs on these bins of the scores."""
    check_half_ties(kernel)
    tables = [AucTable(axis, classes, n, scale) for axis in axes]
    if len(tables) == 1:
        return combine_averages(tables[0], kernel)
    first, second = tables
    pair = AucPair(first, second) if joint is None else JointAucPair(first, second, joint)
    return combine_averages(pair, kernel)


@dataclass(frozen=True)
class GiniBins:
    """The mean of |x - y| from counts, sums and squares per bin."""

    grid: Grid
    n: float
    scale: float

    statistic: ClassVar[tuple[Formula, ...]] = (GINI,)

    def features(self, rows: FloatArray) -> FloatArray:
        """Return counts, offsets and squared offsets per bin."""
        return self.grid.features(rows)

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        share, deviation = self._shares(mean), self._deviations(mean)
        # Of k numbers drawn evenly from a bin, the mean difference is on average about this part
        # of their standard deviation, own pairs counted; of two it is exactly this part.
        in_bin = 2 / np.sqrt(3) * deviation * np.sqrt(1 - 1 / (share * self.n + 2))
        in_bin *= self.grid.widths
        near = self.scale * (self._across(mean) + (share**2 * in_bin).sum(axis=-1))
        return np.clip(near, *self.bracket(mean))

    def averages(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> FloatArray:
        """Return mean differences and means of the column, as wanted, shape (..., wanted)."""
        parts, grid = self._parts(mean), self.grid
        middle = parts[..., 0] @ grid.middles + parts[..., 1] @ grid.widths
        return _mean_differences(self.readout(mean), middle, wanted)

    def points(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> Points:
        """Return three points per bin that have its mean and variance, and their row means."""
        weights = mean @ self.grid.point_inverse
        return _points_of_column(self.grid.points, weights, wanted)

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the interval that holds the mean difference, whatever the rows in each bin.

        In a bin of width w with mean offset d and variance v the mean difference is at least
        2 v / w, because |t| >= t^2 / w, and at most 2 sqrt(v / 3) (Glasser 1962), and at most that
        of numbers at the two ends.
        """
        share, deviation, widths = self._shares(mean), self._deviations(mean), self.grid.widths
        offset = self._parts(mean)[..., 1] / np.maximum(share, _TINY)
        ends = 2 * np.maximum(0.25 - offset**2, 0.0)
        least = (share**2 * 2 * deviation**2 * widths).sum(axis=-1)
        # A small variance may be lost when the features of n rows are added up one by one.
        lost = (64 + self.n) * _EPSILON
        rounded = np.sqrt(deviation**2 + lost)
        most = (share**2 * np.minimum(2 / np.sqrt(3) * rounded, ends + lost) * widths).sum(axis=-1)
        across, rounding = self._across(mean), lost * np.abs(self.grid.edges).max()
        return (
            self.scale * np.maximum(across + least - rounding, 0.0),
            self.scale * (across + most + rounding),
        )

    def _shares(self, mean: FloatArray) -> FloatArray:
        return np.maximum(self._parts(mean)[..., 0], 0.0)

    def _across(self, mean: FloatArray) -> FloatArray:
        """Return the part of pairs in different bins, which is exact."""
        parts = self._parts(mean)
        share = parts[..., 0]
        # From the lowest edge on: differences stay the same, and far from zero no digits are lost.
        middles = self.grid.middles - self.grid.edges[0]
        sums = middles * share + self.grid.widths * parts[..., 1]
        below, sums_below = np.cumsum(share, axis=-1) - share, np.cumsum(sums, axis=-1) - sums
        return np.asarray(2 * (sums * below - share * sums_below).sum(axis=-1))

    def _deviations(self, mean: FloatArray) -> FloatArray:
        """Return the standard deviations in the bins, as parts of their widths."""
        parts = self._parts(mean)
        share = np.maximum(parts[..., 0], _TINY)
        variance = parts[..., 2] / share - (parts[..., 1] / share) ** 2
        return np.asarray(np.sqrt(np.clip(variance, 0.0, 0.25)))

    def _parts(self, mean: FloatArray) -> FloatArray:
        return mean.reshape(*mean.shape[:-1], self.grid.bins, 3)


@dataclass(frozen=True)
class GiniLabels:
    """The mean of |x - y| of numbers of which few are different: exact."""

    labels: Labels
    scale: float

    statistic: ClassVar[tuple[Formula, ...]] = (GINI,)

    def features(self, rows: FloatArray) -> FloatArray:
        """Return a 1 in the place of each number."""
        return self.labels.features(rows)

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        values = self.labels.values
        differences = np.abs(np.subtract.outer(values, values))
        return self.scale * np.einsum("...i,ij,...j->...", mean, differences, mean)

    def averages(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> FloatArray:
        """Return mean differences and means of the column, as wanted, shape (..., wanted)."""
        return _mean_differences(self.readout(mean), mean @ self.labels.values, wanted)

    def points(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> Points:
        """Return the numbers themselves, and their row means."""
        return _points_of_column(self.labels.values, mean, wanted)


def _points_of_column(
    places: FloatArray, weights: FloatArray, wanted: tuple[Formula, ...]
) -> Points:
    middles = weights @ places
    known = {
        GINI: 2 * weights @ np.abs(np.subtract.outer(places, places)),
        MIDPOINT: places + middles[:, None],
    }
    own = {GINI: np.zeros(len(places)), MIDPOINT: 2 * places}
    return Points(
        weights,
        np.stack([known[formula] for formula in wanted], axis=-1),
        np.stack([own[formula] for formula in wanted], axis=-1),
    )


def _mean_differences(
    differences: FloatArray, middles: FloatArray, wanted: tuple[Formula, ...]
) -> FloatArray:
    known = {GINI: differences, MIDPOINT: middles}
    return np.stack([known[formula] for formula in wanted], axis=-1)
