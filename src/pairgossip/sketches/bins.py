"""Bins of one column: Gini's mean difference, and AUCs with one set of bins per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import whole
from pairgossip.kernels import AnyKernel, Formula, Pairs
from pairgossip.kernels.builtin.classes import AUC_COMPARED, AUC_ORDERED, SECOND_AUC_ORDERED
from pairgossip.kernels.builtin.spread import GINI, MIDPOINT
from pairgossip.sketches.grids import Axis, Grid, Labels, check_range, flooded_rows, lay_bins
from pairgossip.sketches.sketch import (
    Points,
    Sketch,
    check_half_ties,
    combine_averages,
    formulas,
    kernels_of,
    stack_averages,
    wrong_kernel,
)
from pairgossip.sketches.tables import ROUNDING, Table

OF_ONE_COLUMN = frozenset({GINI, MIDPOINT})
OF_SCORES = frozenset({AUC_ORDERED, SECOND_AUC_ORDERED, AUC_COMPARED})

_TINY, _EPSILON = 1e-30, np.finfo(np.float64).eps


class AucTable(Table):
    """The AUC: of the pairs of different labels, how many are in order."""

    statistic = (AUC_ORDERED, AUC_COMPARED)

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        cells = self.cells(mean)
        compared = self._compared(cells)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(compared > 0, (1 + self.agreement(cells) / compared) / 2, np.nan)

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return an interval that holds the statistic."""
        cells = self.cells(mean)
        compared = self._compared(cells)
        known, unknown = self.known(cells) / compared, self.unknown(cells) / compared
        return (1 + known - unknown) / 2, (1 + known + unknown) / 2

    def points(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> Points:
        """Return the points of every bin and class, NaN where the classes may be separated."""
        found = super().points(mean, wanted)
        if self.x.ties_known:
            return found
        low, high = self.bracket(mean)
        is_known = (low > ROUNDING) & (high < 1 - ROUNDING)
        found = _center_in_bins(found, self.x.bins)
        return found._replace(weights=np.where(is_known[:, None], found.weights, np.nan))

    def _compared(self, cells: FloatArray) -> FloatArray:
        shares = cells[..., self.x.counts, :].sum(axis=-2)
        return 2 * shares[..., 0] * shares[..., 1]


@dataclass(frozen=True)
class AucPair:
    """Two scores of the same rows: a table of each, side by side."""

    first: AucTable
    second: AucTable
    joint: tuple[Axis, ...] | None = None
    """Bins of either score that are counted together, where it matters how they go together."""

    statistic: ClassVar[tuple[Formula, ...]] = ()

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of both tables, and of both scores together, shape (m, r)."""
        columns = ([0, 2], [1, 2])
        tables = [
            table.features(rows[:, held])
            for table, held in zip((self.first, self.second), columns, strict=True)
        ]
        if self.joint is not None:
            x, y = (axis.features(rows[:, at]) for at, axis in enumerate(self.joint))
            together = np.einsum("mi,mj,mk->mijk", x, y, self.first.y.features(rows[:, 2]))
            tables.append(together.reshape(len(rows), -1))
        return np.hstack(tables)

    def averages(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> FloatArray:
        """Return the averages of which the AUCs are quotients, shape (..., wanted)."""
        held = self.split(mean)
        return np.concatenate(
            [
                table.averages(held[at], (formula,))
                for at, table, formula in map(self._table, wanted)
            ],
            axis=-1,
        )

    def _table(self, formula: Formula) -> tuple[int, AucTable, Formula]:
        """Return which of the tables knows a kernel, and what the kernel is there."""
        if formula is SECOND_AUC_ORDERED:
            return 1, self.second, AUC_ORDERED
        return 0, self.first, formula

    def split(self, mean: FloatArray) -> list[FloatArray]:
        """Return the means of the features of either table, and those of both scores together."""
        sizes = [2 * len(table.x.signs) for table in (self.first, self.second)]
        return np.split(mean, np.cumsum(sizes), axis=-1)


class JointAucPair(AucPair):
    """The same where both scores are counted together, which tells how sure the difference is."""

    def points(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> Points:
        """Return the points of both scores and the class, and the row means of kernels there."""
        assert self.joint is not None
        held, classes = self.split(mean), self.first.y.point_features
        inverse = [axis.point_inverse for axis in self.joint]
        shape = (len(mean), len(inverse[0]), len(inverse[1]), len(classes))
        weights = np.einsum("nijk,ip,jq->npqk", held[2].reshape(shape), *inverse, optimize=True)
        means = np.empty((*shape, len(wanted)))
        for place, (at, table, formula) in enumerate(map(self._table, wanted)):
            scores = _features_at(table.x, self.joint[at].points)
            found = table.row_means(table.cells(held[at]), formula, scores, classes)
            means[..., place] = np.expand_dims(found, 2 - at)
        flat = (len(mean), -1)
        return Points(
            weights.reshape(flat),
            means.reshape(*flat, len(wanted)),
            classes=np.tile(np.arange(shape[3]), shape[1] * shape[2]),
        )


def _features_at(axis: Axis, points: FloatArray) -> FloatArray:
    """Return the features at any numbers; between two known values those of both, by distance."""
    if isinstance(axis, Grid):
        return axis.features(points)
    return np.array([np.interp(points, axis.values, one) for one in np.eye(axis.bins)]).T


def _center_in_bins(points: Points, bins: int) -> Points:
    """Return two points of equal weight per bin, about the mean of its rows.

    They spread as far as the fixed points do, but are never heavier than all: where rows pile up at
    the end of a bin, as tied ones do, fixed points would spread by less than nothing.
    """
    nodes, _, kernels = points.row_means.shape
    weights = points.weights.reshape(nodes, bins, 2, -1)
    total = weights.sum(axis=2, keepdims=True)
    lean = (weights[:, :, 1:] - weights[:, :, :1]) / np.maximum(total, 1e-300)
    spread = np.sqrt(np.maximum(1 - lean**2, 0.0))
    offsets = np.concatenate([lean - spread, lean + spread], axis=2)[..., None]
    below, above = np.split(points.row_means.reshape(*weights.shape, kernels), 2, axis=2)
    means = (above + below) / 2 + offsets * (above - below) / 2
    return points._replace(
        weights=np.repeat(total / 2, 2, axis=2).reshape(nodes, -1),
        row_means=means.reshape(nodes, -1, kernels),
    )


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


def sketch_column(kernel: AnyKernel, axis: Axis, n: float, scale: float) -> Sketch:
    """Return the sketch of Gini's mean difference or coefficient on these bins of its column."""
    if isinstance(axis, Labels):
        return combine_averages(GiniLabels(axis, scale), kernel)
    return combine_averages(GiniBins(axis, n, scale), kernel)


def sketch_scores(
    kernel: AnyKernel,
    axes: Sequence[Axis],
    classes: Labels,
    n: float,
    scale: float,
    joint: tuple[Axis, ...] | None = None,
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
        return stack_averages({GINI: self.readout(mean), MIDPOINT: middle}, wanted)

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
        return 2 * (sums * below - share * sums_below).sum(axis=-1)

    def _deviations(self, mean: FloatArray) -> FloatArray:
        """Return the standard deviations in the bins, as parts of their widths."""
        parts = self._parts(mean)
        share = np.maximum(parts[..., 0], _TINY)
        variance = parts[..., 2] / share - (parts[..., 1] / share) ** 2
        return np.sqrt(np.clip(variance, 0.0, 0.25))

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
        known = {GINI: self.readout(mean), MIDPOINT: mean @ self.labels.values}
        return stack_averages(known, wanted)

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
    return Points(weights, stack_averages(known, wanted), stack_averages(own, wanted))
