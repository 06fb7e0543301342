"""The statistic that means of features tell, with its errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.errors import InputError
from pairgossip.inference.answer import Law
from pairgossip.kernels import Combination, Kernel
from pairgossip.order_statistics.comparisons import ClassTest
from pairgossip.order_statistics.statistics import Quantile
from pairgossip.summaries.axes import Axis
from pairgossip.summaries.bounds import UNKNOWN, Blocks, Ends, place_rows, widen
from pairgossip.summaries.features.samples import RankTable, SampleReadout
from pairgossip.summaries.features.sampling import find_points, sampling_errors, sampling_law
from pairgossip.summaries.features.sketch import Sketch
from pairgossip.summaries.intervals import LEVEL, POSSIBLE, interval_about
from pairgossip.summaries.rank_bounds import TestBounds, bound_class_test, bound_spearman

_FEWEST_RANKS = 3
"""A correlation of ranks takes as many rows."""
_MANY_ROWS = 100_000
"""Rows from which on the bias of a statistic is nothing beside its error, and mostly rounding, in
which members differ."""


class Estimate(NamedTuple):
    """A statistic as read from means of features; NaN where a number is unknown."""

    value: float
    error: float
    """Standard error that comes from sampling rows."""
    low: float = math.nan
    high: float = math.nan
    """An interval that allows for sampling, for noise, and for what cells leave open."""
    p: float = math.nan
    bracket: Ends = UNKNOWN
    """Holds the value over all rows, whatever rows are in each cell."""
    p_bracket: Ends = UNKNOWN
    """Holds the p of all rows."""
    fullest_cells: tuple[float, ...] = ()
    """For a test, the largest share of rows in one cell of each column."""


@dataclass(frozen=True)
class PairReading:
    """The statistic of a kernel, from its sketch."""

    sketch: Sketch
    kernel: Kernel | Combination
    target: str
    n: float
    bound: Callable[[Sequence[Blocks]], Ends]
    """Bounds the statistic, wherever in their blocks the rows are."""
    classes: BoolArray | None
    """Which features count the rows of each of two classes, shape (2, r)."""

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features, shape (..., r)."""
        return self.sketch.readout(mean)

    def find(
        self, mean: FloatArray, noise: float, blocks: Sequence[Blocks], level: float = LEVEL
    ) -> Estimate:
        """Return the statistic of rows in blocks, with its errors; noise has a standard error."""
        value, error = float(self.readout(mean)), self._error(mean)
        is_noisy, scale = noise != 0, self.kernel.interval_scale
        bracket = self._bracket(value, blocks)
        if not is_noisy:  # noise knows no limits
            bracket = _clip(bracket[0], POSSIBLE[scale]), _clip(bracket[1], POSSIBLE[scale])
            value = _clip(value, bracket)  # rows spread over cells may lie beyond
        # Cells of noisy counts do not tell to which side the statistic leans.
        is_plain = is_noisy or not error > 0
        law = Law(self._freedom(mean)) if is_plain else self._law(mean, error)
        ends = interval_about(bracket, value, math.hypot(error, noise), scale, law, level)
        # A bracket of noisy counts holds nothing for certain.
        return Estimate(value, error, *ends, bracket=UNKNOWN if is_noisy else bracket)

    def _bracket(self, value: float, blocks: Sequence[Blocks]) -> Ends:
        return (value, value) if _are_values_known(blocks) else self.bound(blocks)

    def _error(self, mean: FloatArray) -> float:
        try:
            find_points(self.sketch, self.kernel)
        except InputError:
            return math.nan
        errors = sampling_errors(self.sketch, self.kernel, self.target, mean[None], self.n)
        return float(errors[0])

    def _law(self, mean: FloatArray, error: float) -> Law:
        """Return the law of the statistic over its error."""
        freedom = self._freedom(mean)
        law = sampling_law(self.sketch, self.kernel, self.target, mean, self.n, freedom)
        return law if self.n < _MANY_ROWS else law._replace(shift=0.0)

    def _freedom(self, mean: FloatArray) -> float:
        """Return the degrees of freedom of the error: those of the smallest class."""
        if self.classes is None:
            return self.n - 1
        return max(float((self.classes @ mean).min() * self.n) - 1, 1.0)


@dataclass(frozen=True)
class SpreadReading(PairReading):
    """A variance, or the scatter within classes: moments of points that stand for the rows."""

    columns: tuple[tuple[Axis, float], ...] = ()
    """The cells of every column, and the number that moments are about."""
    of_classes: int | None = None
    """How many classes are apart; None for the variance of one column."""

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features, shape (..., r)."""
        return self.sketch.readout(self._moments(mean))

    def _moments(self, mean: FloatArray) -> FloatArray:
        """Return the mean powers that the sketch asks for."""
        classes, parts = self.of_classes or 1, []
        sizes = np.cumsum([classes * axis.size for axis, _ in self.columns])[:-1]
        for (axis, middle), part in zip(self.columns, np.split(mean, sizes, axis=-1), strict=True):
            tables = part.reshape(*mean.shape[:-1], classes, axis.size)
            powers = (axis.points - middle)[:, None] ** np.arange(5)
            parts.append(tables @ axis.point_inverse @ powers)
        if self.of_classes is None:
            return np.asarray(parts[0][..., 0, 1:])
        shares, sums = parts[0][..., :1], [one[..., 1:2] for one in parts]
        squares = np.sum([one[..., 2:3] for one in parts], axis=0)
        return np.concatenate([shares, *sums, squares], axis=-1).reshape(*mean.shape[:-1], -1)

    def _bracket(self, value: float, blocks: Sequence[Blocks]) -> Ends:
        return self.bound(blocks)  # of known values too: powers lose digits

    def _error(self, mean: FloatArray) -> float:
        return math.nan if self.of_classes else super()._error(self._moments(mean))

    def _law(self, mean: FloatArray, error: float) -> Law:
        ((axis, middle),) = self.columns
        shares = mean @ axis.point_inverse
        away = (axis.points - middle - shares @ (axis.points - middle)) ** 2
        variance = float(shares @ away)
        shift = -variance / (self.n * error) if self.target == "v" else 0.0
        return Law.of(away - variance, self.n * shares, self.n - 1, shift)


@dataclass(frozen=True)
class OrderReading:
    """A statistic of order, from the cells of a sample or of two columns."""

    part: SampleReadout | RankTable

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features, shape (..., r)."""
        return self.part.readout(mean)

    def find(
        self, mean: FloatArray, noise: float, blocks: Sequence[Blocks], level: float = LEVEL
    ) -> Estimate:
        """Return the statistic of rows in blocks, with its errors; noise has a standard error."""
        if isinstance(self.part, RankTable) and self.part.table.n < _FEWEST_RANKS:
            return Estimate(math.nan, math.nan)
        value, sampling = float(self.readout(mean)), self.part.sampling(mean[None], level)
        error = float(sampling.error[0])
        if isinstance(self.part, RankTable) or isinstance(self.part.statistic, ClassTest):
            assert sampling.p is not None
            p = min(float(sampling.p[0]), 1.0)  # NaN stays, and rounding goes
            return self._find_test(blocks[0], noise, Estimate(value, error, p=p))
        if math.isnan(sampling.low[0]):
            return Estimate(value, error)
        wider = math.hypot(error, noise) / error if error > 0 else math.nan
        (least, low), (most, high) = (self._end(blocks[0], wider, side, level) for side in (0, 1))
        if not isinstance(self.part.statistic, Quantile):  # which is one of the numbers
            least, most = _round_outward(blocks[0], least, most)
            low, high = min(low, least), max(high, most)
        if not noise:  # few rows have gaps between them, in which rows spread over cells have none
            value = _clip(value, (least, most))
        return Estimate(value, error, low, high, bracket=UNKNOWN if noise else (least, most))

    def _find_test(self, blocks: Blocks, noise: float, estimate: Estimate) -> Estimate:
        """Return a test with the ends of its value and p; of noisy counts neither is known."""
        estimate = estimate._replace(fullest_cells=_fullest_cells(blocks))
        if noise or math.isnan(estimate.value):
            return estimate._replace(p=math.nan)
        value, p = self._bound_test(blocks, estimate)
        return estimate._replace(
            value=_clip(estimate.value, value), p=_clip(estimate.p, p), bracket=value, p_bracket=p
        )

    def _bound_test(self, blocks: Blocks, estimate: Estimate) -> TestBounds:
        if _are_values_known([blocks]):
            return TestBounds((estimate.value, estimate.value), (estimate.p, estimate.p))
        if isinstance(self.part, RankTable):
            return bound_spearman(blocks)
        assert isinstance(self.part.statistic, ClassTest)
        return bound_class_test(self.part.statistic.name, blocks)

    def _end(self, blocks: Blocks, wider: float, side: int, level: float) -> tuple[float, float]:
        """Return the statistic if all rows were at ends of their blocks, and its interval's end."""
        assert isinstance(self.part, SampleReadout) and self.part.statistic is not None
        moved = place_rows(blocks, is_low=side == 0)
        value = float(self.part.statistic.value(moved))
        sampling = self.part.statistic.sampling(moved, level)
        return value, value + wider * (float((sampling.low, sampling.high)[side]) - value)


Reading = PairReading | OrderReading
"""Reads a statistic from means of features over a given number of rows."""


def _are_values_known(blocks: Sequence[Blocks]) -> bool:
    """Return whether every row is in a cell of one value, so that there is nothing to bound."""
    return all(
        all(axis.ties_known for axis in part.axes)
        and not part.counts[..., ~part.tree.is_cell].any()
        for part in blocks
    )


def _fullest_cells(blocks: Blocks) -> tuple[float, ...]:
    """Return the largest share of rows in one cell of each column; 0 if a cell is one value."""
    cells = blocks.spread().reshape(-1, *blocks.tree.shape).sum(axis=0)
    others = [tuple(k for k in range(cells.ndim) if k != at) for at in range(cells.ndim)]
    return tuple(
        0.0 if axis.ties_known else float(cells.sum(axis=along).max()) / blocks.n
        for axis, along in zip(blocks.axes, others, strict=False)
    )


def _clip(number: float, ends: Ends) -> float:
    """Return the number that is nearest between two ends; any if these are not known."""
    return number if math.isnan(ends[0]) else min(max(number, ends[0]), ends[1])


def _round_outward(blocks: Blocks, least: float, most: float) -> Ends:
    """Return a bracket that allows for rounding; a number that rows have on average is in range."""
    places = blocks.axes[0].places
    ends = widen(least, most, float(np.abs(places).max()))
    if len(blocks.axes) > 1:  # a shift between classes
        return ends
    return max(ends[0], float(places[0])), min(ends[1], float(places[-1]))
