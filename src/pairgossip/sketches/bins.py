"""Bins of one column, or of scores by class: Gini's mean difference and coefficient, and AUCs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import whole
from pairgossip.counts.axes import Axis, Labels
from pairgossip.counts.layouts import OF_ONE_COLUMN, OF_SCORES, formulas
from pairgossip.kernels import AnyKernel, Kernel, Pairs
from pairgossip.kernels.builtin.spread import GINI, MIDPOINT
from pairgossip.sketches.laying import check_range, flooded_rows, lay_bins
from pairgossip.sketches.scores import AucPair, AucTable, JointAucPair
from pairgossip.sketches.sketch import Points, PointSketch, Sketch, check_kernel

_LEAST_SHARE, _EPSILON = 1e-30, np.finfo(np.float64).eps
"""A share that replaces 0 in divisors, and the relative rounding error of a number."""


@dataclass(frozen=True)
class GiniBins(PointSketch):
    """The mean of |x - y| from counts, sums and squares per bin; exact where bins are numbers."""

    axis: Axis
    n: float
    scale: float
    kernel: AnyKernel

    def features(self, rows: FloatArray) -> FloatArray:
        """Return powers of each number's offset in its bin."""
        return self.axis.features(rows)

    def averages(self, mean: FloatArray) -> FloatArray:
        """Return the mean difference and the mean of the column, as the kernel needs them."""
        share, offset, _ = self._parts(mean)
        middle = share @ self.axis.middles + offset @ self.axis.widths
        return self.select({GINI: self.difference(mean), MIDPOINT: middle})

    def difference(self, mean: FloatArray) -> FloatArray:
        """Return the mean difference."""
        share, deviation = np.maximum(self._parts(mean)[0], 0.0), self._deviations(mean)
        # The mean difference of k numbers drawn evenly from a bin, own pairs included, is on
        # average about this part of their standard deviation; for two numbers it is exactly this
        # part.
        in_bin = 2 / np.sqrt(3) * deviation * np.sqrt(1 - 1 / (share * self.n + 2))
        in_bin *= self.axis.widths
        near = self.scale * (self._across(mean) + (share**2 * in_bin).sum(axis=-1))
        return np.clip(near, *self._ends(mean))

    def points(self, mean: FloatArray) -> Points:
        """Return the points of the axis: three per bin represent its mean and variance."""
        places, weights = self.axis.points, mean @ self.axis.point_inverse
        known = {
            GINI: 2 * weights @ np.abs(np.subtract.outer(places, places)),
            MIDPOINT: places + (weights @ places)[:, None],
        }
        own = {GINI: np.zeros(len(places)), MIDPOINT: 2 * places}
        return Points(weights, self.select(known), self.select(own))

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return an interval that holds the mean difference for any rows in each bin."""
        is_open = isinstance(self.kernel, Kernel) and not self.axis.ties_known
        return self._ends(mean) if is_open else None

    def _ends(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the mean difference.

        In a bin of width w with mean offset d and variance v the mean difference is at least
        2 v / w, because |t| >= t^2 / w. It is at most 2 sqrt(v / 3) (Glasser 1962), and at most
        the mean difference of numbers at the two ends.
        """
        share, offset, _ = self._parts(mean)
        share, deviation, widths = np.maximum(share, 0.0), self._deviations(mean), self.axis.widths
        offset = offset / np.maximum(share, _LEAST_SHARE)
        ends = 2 * np.maximum(0.25 - offset**2, 0.0)
        least = (share**2 * 2 * deviation**2 * widths).sum(axis=-1)
        # Rounding may lose a small variance when the features of n rows are added up one by one.
        lost = (64 + self.n) * _EPSILON
        rounded = np.sqrt(deviation**2 + lost)
        most = (share**2 * np.minimum(2 / np.sqrt(3) * rounded, ends + lost) * widths).sum(axis=-1)
        across, rounding = self._across(mean), lost * np.abs(self.axis.places).max()
        return (
            self.scale * np.maximum(across + least - rounding, 0.0),
            self.scale * (across + most + rounding),
        )

    def _across(self, mean: FloatArray) -> FloatArray:
        """Return the part of pairs in different bins, which is exact."""
        share, offset, _ = self._parts(mean)
        # Measured from the lowest edge, differences stay the same and keep their digits.
        middles = self.axis.middles - self.axis.places[0]
        sums = middles * share + self.axis.widths * offset
        below, sums_below = np.cumsum(share, axis=-1) - share, np.cumsum(sums, axis=-1) - sums
        return 2 * (sums * below - share * sums_below).sum(axis=-1)

    def _deviations(self, mean: FloatArray) -> FloatArray:
        """Return the standard deviations in the bins, relative to their widths."""
        share, offset, square = self._parts(mean)
        share = np.maximum(share, _LEAST_SHARE)
        variance = square / share - (offset / share) ** 2
        return np.sqrt(np.clip(variance, 0.0, 0.25))

    def _parts(self, mean: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the share, the sum of offsets and the sum of squared offsets of every bin."""
        if self.axis.ties_known:
            return mean, np.zeros_like(mean), np.zeros_like(mean)
        return mean[..., 0::3], mean[..., 1::3], mean[..., 2::3]


@dataclass(frozen=True)
class Bins:
    """Counts and sums per bin, for Gini's mean difference (with squares) and AUCs (per class).

    Pairs in different bins count exactly; pairs in one bin count by the spread of its numbers.

    Parameters
    ----------
    bins
        The number of bins.
    range
        The smallest and the largest possible number, if all nodes know them. Otherwise nodes
        first pass on the extremes and a few sampled numbers, from which all make the same bins.
    errors
        Whether to average also the joint counts of two scores, in half as many bins, which the
        sampling error of their difference needs.
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
        if bins.ties_known:
            return bins
        return lay_bins(column, max(self.bins // 2, 1), self.range, 0, powers=2)

    def flooded(self, pairs: Pairs) -> IntArray:
        """Return the rows whose numbers all nodes must learn first; the two classes are known."""
        columns, most = ([pairs.data], 3) if pairs.data.ndim == 1 else (pairs.data[:, :-1].T, 2)
        return flooded_rows(columns, most * self.bins, self.range)
