"""A statistic from counts with noise: a value without bias, and an interval.

Averages over pairs are quadratic forms of the counts, so the bias of noise is known and is taken
off, and its variance follows from the law of the noise. This needs counts as they are, negative
ones included: cutting them off would move rows to where there are no rows. Only their sum is
corrected, since the number of rows is known without noise.

Whether there is an interval depends on the agreed settings, and not on the counts: intervals that
are missing in unlucky samples would hold the true value less often than stated in all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.counts.axes import Axis, Grid
from pairgossip.counts.bounds import Blocks, Ends
from pairgossip.counts.intervals import LEVEL, POSSIBLE, level_of_ends
from pairgossip.counts.layouts import OrderLayout, PairLayout, bound_kernel
from pairgossip.counts.readings import Estimate, read_kernel
from pairgossip.counts.tables import CountTable, Layout, Sums
from pairgossip.errors import InputError
from pairgossip.kernels import Combination, Kernel
from pairgossip.kernels.kernel import evaluate
from pairgossip.order_statistics.laws import normal_quantile
from pairgossip.order_statistics.statistics import Quantile

MOST_NOISE, MOST_UNFOLLOWED = 0.125, 0.005
"""Largest standard deviation of the noise of all counts together, as a share of the rows, for which
there are intervals: where noise is followed through the statistic, and where it is not. Both come
from benchmarks/noisy_intervals.py."""
_EVEN_POWERS = np.array([1.0, 0.0, 1 / 12])
"""Mean powers of the offset of numbers that are even over a cell."""
_ANY_ROWS = 1000.0
"""Some number of rows; no result depends on it."""
_MOST_POINTS = 2048
"""Largest number of points that stand for the rows of cells: a form is a table of their pairs."""
_PAIRS_AT_ONCE = 1 << 18
"""Number of pairs of cells in memory at once; more are processed in turn."""
_SHIFT = 1e-6
"""Distance of two rows of one point, in widths of their cell: they are not tied, except for whole
numbers."""
_WORST_CASE_LEVEL = 0.935
"""Level of intervals that hold for any rows in each cell. Where cells leave little open, intervals
cover 95 % for rows as they usually lie, and not more than 97 % as they would for the worst rows."""
_RIDGE = 1e-12
"""Ridge that makes singular covariances regular, as a share of their trace."""
_MOST_RATIO = 2.0
"""Largest ratio of the widths of neighboring cells at which the density of rows may slope. A form
is linear and cuts off no slope, and one beside a narrow cell of many rows would be too steep."""
_LEAST_ERROR = 1e-6
"""Least sampling error that is reported, as a share of that of noise: less may be rounding."""
_MOST_KERNELS = 3
"""Largest number of averages in a statistic."""
_PLACES = 12
"""Decimal places of shares of rows that are compared with a level."""
_ANGLES = 720
"""Number of directions in which averages are moved to find the ends of a statistic."""


def rows_for_interval(layout: Layout, variance: float) -> int:
    """Return the least number of rows that gives an interval; 0 if no number does.

    ``variance`` is that of the noise of a count.
    """
    most = MOST_NOISE
    if not _is_followed(layout):
        most, even = MOST_UNFOLLOWED, np.full(layout.words, _ANY_ROWS / layout.counts)
        even[0] = _ANY_ROWS
        if math.isnan(layout.find(layout.read_sums(even)).low):
            return 0  # there is no interval without noise either
    return math.ceil(math.sqrt(_count_cells(layout) * variance) / most)


def check_noisy(layout: Layout) -> None:
    """Raise `InputError` if the effect of noise on a kernel's statistic is not known."""
    if isinstance(layout, PairLayout) and not _is_followed(layout):
        raise InputError(
            f"Noise is followed through tables of up to {_MOST_POINTS:,} cells, and averages of up "
            f"to {_MOST_KERNELS} kernels, but this one has {_count_cells(layout):,} cells: lower "
            "algorithm.bins, or remove [privacy]."
        )


def _count_cells(layout: Layout) -> int:
    """Return the number of cells of the largest table."""
    return max(math.prod(table.shape) for table in layout.tables)


def _is_followed(layout: Layout) -> bool:
    """Return whether the effect of noise in the counts on the statistic is known."""
    if isinstance(layout, PairLayout):
        are_few = all(len(kernel.components) <= _MOST_KERNELS for _, kernel in layout.parts())
        return are_few and _count_cells(layout) <= _MOST_POINTS
    return isinstance(layout, OrderLayout) and isinstance(layout.statistic, Quantile)


class Noisy(NamedTuple):
    """A statistic as read from noisy counts."""

    estimate: Estimate
    noise: float
    """The standard error of the value that comes from noise."""


def find_noisy(layout: Layout, sums: Sums, variance: float) -> Noisy:
    """Return the statistic of counts whose noise has this variance."""
    of_share = variance / sums.n**2
    if isinstance(layout, PairLayout):
        parts = zip(layout.parts(), layout.tables, sums.tables, strict=True)
        found = [
            _NoisyPairs(
                kernel, table, layout.columns.target, sums.n, _find_shares(one, sums.n), of_share
            ).find()
            for (_, kernel), table, one in parts
        ]
        return found[0] if len(found) == 1 else _join(layout, found)
    assert isinstance(layout, OrderLayout)
    if not isinstance(layout.statistic, Quantile):
        return _follow_slopes(layout, sums, variance)
    shares = _find_shares(sums.tables[0], sums.n)
    return _NoisyQuantile(layout.statistic.share, layout.axes[0], shares, sums.n, of_share).find()


def _find_shares(blocks: Blocks, n: float) -> FloatArray:
    """Return the share of rows in every cell of a table; the shares add up to 1."""
    shares = blocks.spread().ravel() / n
    return shares - (shares.sum() - 1) / len(shares)


def _join(layout: PairLayout, found: Sequence[Noisy]) -> Noisy:
    """Return a statistic of several tables, whose dependence is not known."""
    value, error, ends = layout.add_parts(np.array([one.estimate[:4] for one in found]))
    noises = [factor * one.noise for (factor, _), one in zip(layout.parts(), found, strict=True)]
    return Noisy(Estimate(value, error, *ends), math.hypot(*noises))


def _follow_slopes(layout: OrderLayout, sums: Sums, variance: float) -> Noisy:
    """Return the effect of noise by the delta method: from slopes along every count."""
    reading, step = layout.reading(sums.n), max(1.0, math.sqrt(variance)) / sums.n
    moved = step * np.eye(layout.counts)
    above, below = (reading.readout(layout.spread(sums.shares + one)) for one in (moved, -moved))
    slopes = (above - below) / (2 * step) / sums.n
    # A value at an end of its range has no slopes.
    error = math.sqrt(variance * float(slopes @ slopes)) or math.nan
    return Noisy(layout.find(sums, error), error)


class Forms(NamedTuple):
    """The averages of kernels over all pairs, as quadratic forms of the shares of cells."""

    pairs: FloatArray
    """Shape (kernels, cells, cells)."""
    own: FloatArray
    """The kernels' values of pairs of a row with itself, shape (kernels, cells)."""


def find_forms(table: CountTable, kernel: Kernel | Combination) -> Forms:
    """Return the forms of a kernel on a table; a few points stand for the rows of a cell.

    Rows are spread over their cell as neighboring cells suggest, or evenly if cells widen fast.
    """
    axes = [_axis_points(axis, table) for axis in (*table.factors, *table.axes)]
    spread: FloatArray = np.ones((1, 1))
    for one in axes:
        spread = np.asarray(np.kron(spread, one.spread))
    order, kinds = np.roll(np.arange(len(axes)), -len(table.factors)), kernel.components
    points, shifts = (
        np.stack([part.ravel() for part in np.meshgrid(*numbers, indexing="ij")], axis=1)[:, order]
        for numbers in ([one.places for one in axes], [one.shifts for one in axes])
    )
    signs = [(-1.0, 1.0) if part.any() else (0.0,) for part in shifts.T]
    moved = [points + shifts * side for side in product(*signs)]
    pairs = [
        spread @ np.mean([_evaluate(kind, points, others) for others in moved], axis=0) @ spread.T
        for kind in kinds
    ]
    flat = points[:, 0] if points.shape[1] == 1 else points
    own = [spread @ evaluate(kind, flat, flat) for kind in kinds]
    return Forms(np.array([(one + one.T) / 2 for one in pairs]), np.array(own))


class _AxisPoints(NamedTuple):
    places: FloatArray
    shifts: FloatArray
    """The distance to another row of the same point."""
    spread: FloatArray
    """The weights of points by the shares of cells, shape (cells, points)."""


def _axis_points(axis: Axis, table: CountTable) -> _AxisPoints:
    grids = sum(not one.ties_known for one in table.axes)
    powers = 1 if grids > 1 else 2
    if axis.ties_known or math.prod(table.shape) * (powers + 1) ** grids > _MOST_POINTS:
        return _AxisPoints(axis.middles, _SHIFT * axis.widths, np.eye(axis.bins))
    grid = Grid(axis.places, powers)
    shifts = _SHIFT * np.repeat(grid.widths, powers + 1)
    ratios = grid.widths[1:] / grid.widths[:-1]
    form = _expand(grid, is_sloped=bool((ratios <= _MOST_RATIO).all()))
    return _AxisPoints(grid.points, shifts, form @ grid.point_inverse)


def _evaluate(kernel: Kernel, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the values of a kernel at all pairs of two lists of rows."""
    count, columns = first.shape
    table = np.empty((count, count))
    step = max(1, _PAIRS_AT_ONCE // count)
    for at in range(0, count, step):
        rows = first[at : at + step]
        one, other = np.repeat(rows, count, axis=0), np.tile(second, (len(rows), 1))
        flat = (one[:, 0], other[:, 0]) if columns == 1 else (one, other)
        table[at : at + step] = evaluate(kernel, *flat).reshape(len(rows), count)
    return table


@dataclass(frozen=True)
class _NoisyPairs:
    """A statistic of pairs, from shares of rows that may be negative."""

    kernel: Kernel | Combination
    table: CountTable
    target: str
    n: float
    shares: FloatArray
    variance: float
    """Variance of the noise of a share."""

    def find(self) -> Noisy:
        """Return the value without the bias of noise, and an interval."""
        kernel, forms = self.kernel, find_forms(self.table, self.kernel)
        averages = self._average(forms, self.shares, self.variance)
        value, slopes = float(kernel.combine(averages)), kernel.slopes(averages)
        rates = 2 * forms.pairs @ self.shares  # of averages with shares, (kernels, cells)
        free = rates - rates.mean(axis=1, keepdims=True)  # noise adds up to 0 over all shares
        by_noise, by_rows = self.variance * free @ free.T, self._sampling(rates)
        squares = (float(slopes @ one @ slopes) for one in (by_noise, by_rows))
        noise, error = (math.sqrt(max(square, 0.0)) for square in squares)
        spread = math.hypot(noise, error)
        ends = self._interval(forms, averages, by_noise + by_rows, error, spread)
        is_hidden = error <= _LEAST_ERROR * noise
        return Noisy(Estimate(value, math.nan if is_hidden else error, *ends), noise or math.nan)

    def _average(self, forms: Forms, shares: FloatArray, variance: float) -> FloatArray:
        """Return the averages over pairs, without the bias from noise of this variance."""
        pairs, n = forms.pairs, self.n
        squares = np.trace(pairs, axis1=1, axis2=2) - pairs.mean(axis=2).sum(axis=1)
        averages = pairs @ shares @ shares - variance * squares
        if self.target == "v":
            return np.asarray(averages)
        return np.asarray((n * averages - forms.own @ shares) / (n - 1))

    def _sampling(self, rates: FloatArray) -> FloatArray:
        """Return the covariances of averages over samples; those that noise hides are 0."""
        about = rates - (rates @ self.shares)[:, None]
        sizes, turned = np.linalg.eigh((self.shares * about) @ about.T / self.n)
        return np.asarray((turned * np.maximum(sizes, 0.0)) @ turned.T)

    def _interval(
        self,
        forms: Forms,
        averages: FloatArray,
        covariance: FloatArray,
        error: float,
        spread: float,
    ) -> Ends:
        """Return the range of the statistic for averages within their errors, and rows in any cell.

        A ratio is not cut off where its errors are large (Fieller 1954).
        """
        kernel = self.kernel
        value, limits = float(kernel.combine(averages)), POSSIBLE[kernel.interval_scale]
        if not math.isfinite(value):
            return limits
        shares = nearest_shares(self.shares)
        blocks = self.table.as_blocks((self.n * shares).reshape(self.table.shape))
        bounds = bound_kernel(kernel, blocks, self.target)
        likely = read_kernel(kernel, blocks, self.target, bounds)
        middle, opened = float(kernel.combine(self._average(forms, shares, 0.0))), np.zeros(2)
        if not math.isnan(likely.bracket[0]) and math.isfinite(middle):
            opened = np.maximum(np.subtract(likely.bracket, middle) * (-1, 1), 0.0)
        skewed = (_skewness(likely) ** 2 - 1) * error**2

        def arms(level: float) -> FloatArray:
            wide = normal_quantile(level)
            moved = averages + wide * _directions(len(averages)) @ _factor(covariance).T
            values = kernel.combine(moved)
            ends = np.array([values.min(), values.max()]) - value
            if not np.isfinite(values).all():
                ends = np.array([-np.inf, np.inf])
            return np.sqrt(np.maximum(ends**2 + wide**2 * skewed, 0.0))

        at_worst = level_of_ends(_WORST_CASE_LEVEL, float(opened.sum()) / (spread or 1.0))
        below, above = np.maximum(arms(LEVEL), opened + arms(at_worst)).tolist()
        return max(value - below, min(limits[0], value)), min(value + above, max(limits[1], value))


def _skewness(estimate: Estimate) -> FloatArray:
    """Return the arms of an interval without noise, relative to those of a normal law."""
    low, high = estimate.bracket
    if math.isnan(low):
        low = high = estimate.value
    if math.isnan(estimate.low) or not estimate.error > 0:
        return np.ones(2)
    level = level_of_ends(LEVEL, (high - low) / estimate.error)
    arms = np.array([low - estimate.low, estimate.high - high])
    return arms / (normal_quantile(level) * estimate.error)


def nearest_shares(shares: FloatArray) -> FloatArray:
    """Return the nearest shares that are not negative and add up to 1."""
    falling = -np.sort(-shares)
    above = (np.cumsum(falling) - 1) / np.arange(1, len(shares) + 1)
    return np.maximum(shares - above[(falling > above).sum() - 1], 0.0)


def _directions(count: int) -> FloatArray:
    """Return unit vectors in all directions, dense enough to come near each direction."""
    if count == 1:
        return np.array([[-1.0], [1.0]])
    if count == 2:
        angles = np.linspace(0.0, 2 * math.pi, _ANGLES, endpoint=False)
        return np.column_stack([np.cos(angles), np.sin(angles)])
    assert count == _MOST_KERNELS
    height = np.linspace(-1.0, 1.0, _ANGLES)
    turns = np.arange(_ANGLES) * math.pi * (3 - math.sqrt(5))
    width = np.sqrt(1 - height**2)
    return np.column_stack([width * np.cos(turns), width * np.sin(turns), height])


def _factor(covariance: FloatArray) -> FloatArray:
    """Return a root of covariances, also singular ones, that is the same on every machine.

    Eigenvectors would have either sign.
    """
    tiny = _RIDGE * (np.trace(covariance) or 1.0)
    return np.asarray(np.linalg.cholesky(covariance + tiny * np.eye(len(covariance))))


@dataclass(frozen=True)
class _NoisyQuantile:
    """A quantile with errors: the place where the share of rows below crosses its level."""

    share: float
    axis: Axis
    shares: FloatArray
    n: float
    variance: float
    """Variance of the noise of a share."""

    def find(self) -> Noisy:
        """Return the quantile with its interval: the numbers that a test would not reject."""
        count, wide = len(self.shares), normal_quantile(LEVEL)
        cells = np.arange(count + 1)
        by_noise = self.variance * cells * (count - cells) / count
        by_rows = np.full(count + 1, self.share * (1 - self.share) / self.n)
        value = float(np.mean(self._ends(np.zeros(count + 1))))
        noise, error = (
            float(np.subtract(*self._ends(wide * np.sqrt(one))[::-1])) / (2 * wide)
            for one in (by_noise, by_rows)
        )
        # Rows may lie anywhere in the cells of the ends.
        first, last = self._cells(wide * np.sqrt(by_noise + by_rows))
        low, high = self.axis.ends
        ends = float(low[first]), float(high[last])
        return Noisy(Estimate(value, error or math.nan, *ends), noise or math.nan)

    @property
    def _below(self) -> FloatArray:
        """The share of rows below every edge, made to rise where noise lets it fall.

        It is rounded, so that it crosses a level in the same cell on every machine.
        """
        below = np.append(0.0, np.cumsum(self.shares))
        up, down = np.maximum.accumulate(below), np.minimum.accumulate(below[::-1])[::-1]
        return np.clip((up + down) / 2, 0.0, 1.0).round(_PLACES)

    def _cells(self, reach: FloatArray) -> tuple[int, int]:
        """Return the first and the last cell that may hold the quantile, for these errors."""
        least, most = self._below - reach, self._below + reach
        first = int(np.argmax(most[1:] >= self.share))
        return first, int(np.flatnonzero(least[:-1] <= self.share)[-1])

    def _ends(self, reach: FloatArray) -> Ends:
        """Return the same as numbers, for rows that are even over their cell."""
        (first, last), starts, ends = self._cells(reach), self.axis.ends[0], list[float]()
        for cell, below in ((first, self._below + reach), (last, self._below - reach)):
            low, high = below[cell], below[cell + 1]
            part = (self.share - low) / (high - low) if high > low else 0.5
            ends.append(float(starts[cell] + np.clip(part, 0.0, 1.0) * self.axis.widths[cell]))
        return ends[0], ends[1]


def _expand(axis: Grid, *, is_sloped: bool) -> FloatArray:
    """Return the mean features of all cells, by the number of rows in each.

    The density of rows in a cell is even, or linear with the slope that neighboring cells suggest.
    """
    form = np.kron(np.eye(axis.bins), _EVEN_POWERS[: axis.powers + 1])
    if is_sloped and axis.bins > 1:
        slopes = np.gradient(np.diag(1 / axis.widths), axis.middles, axis=1)
        form[:, 1 :: axis.powers + 1] = slopes * axis.widths**2 / 12
    return form
