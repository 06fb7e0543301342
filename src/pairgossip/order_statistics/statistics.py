"""Quantiles, trimmed and winsorized means and Hodges-Lehmann estimates, with intervals.

Every statistic is a function of a `Distribution`, so that rows and averaged bins share the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import real
from pairgossip.errors import InputError
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.order_statistics.laws import normal_quantile, t_quantile

_HALVINGS = 64
"""The number of halvings that find any floating point number exactly."""
_HALVINGS_OF_CELLS = 30
"""The number of halvings for bins, whose numbers are known to their width at best."""
_ALL_BUT_SIGN = np.iinfo(np.int64).max


class Sampling(NamedTuple):
    """The sampling error of a statistic, the ends of its interval, and p if it is of a test."""

    error: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray | None = None


class Statistic(Protocol):
    """A number computed from a distribution."""

    @property
    def name(self) -> str:
        """The name under which it is shown."""

    def check(self, sample: Distribution) -> None:
        """Raise `InputError` if the rows are too few, or too much alike, for its interval."""

    def value(self, sample: Distribution) -> FloatArray:
        """Return the statistic, shape (...,)."""

    def sampling(self, sample: Distribution, level: float) -> Sampling:
        """Return its sampling error and interval."""


class _OfOrder:
    """A statistic whose interval lies between two order statistics."""

    noun: ClassVar[str]

    def check(self, sample: Distribution) -> None:
        """Raise `InputError` if there are fewer than two rows."""
        rows = float(sample.size.sum())
        if rows < 2:
            raise InputError(
                f"The interval of {self.noun} needs at least 2 rows, not {rows:g}: add rows, or "
                "give interval=None."
            )


@dataclass(frozen=True)
class Quantile(_OfOrder):
    """The number below which this share of the rows lies, interpolated between two rows."""

    noun = "a quantile"
    share: float

    def __post_init__(self) -> None:
        share = real("The share of a quantile", self.share, 0.0, 1.0)
        if not 0 < share < 1:
            raise InputError(
                f"The share of a quantile is {share:g}, but must lie between 0 and 1: give 0.5 for "
                "the median."
            )
        object.__setattr__(self, "share", share)

    @property
    def name(self) -> str:
        """The name under which it is shown."""
        return "median" if self.share == 0.5 else f"quantile {self.share:g}"

    def value(self, sample: Distribution) -> FloatArray:
        """Return the quantile."""
        return sample.at((sample.size - 1) * self.share)

    def sampling(self, sample: Distribution, level: float) -> Sampling:
        """Return the interval between two order statistics, valid for any distribution.

        The number of rows below the true quantile is binomial. An end is infinite where there are
        too few rows beyond the quantile to bound it at this level.
        """
        n, wide = sample.size, normal_quantile(level)
        half = wide * np.sqrt(n * self.share * (1 - self.share))
        return _order_interval(sample.at, n * self.share - 0.5, half, n - 1, wide)


def _order_interval(at, middle, half, last, wide) -> Sampling:  # type: ignore[no-untyped-def]
    """Return the interval between the order statistics about a middle index."""
    first, second = middle - half, middle + half
    low, high = at(first), at(second)
    error = _gap(low, high, first, second, last) * half / wide
    return Sampling(error, np.where(first < 0, -np.inf, low), np.where(second > last, np.inf, high))


def _gap(
    low: FloatArray, high: FloatArray, first: FloatArray, second: FloatArray, last: FloatArray
) -> FloatArray:
    """Return the distance of neighboring numbers, 1 / (n density), from those at two indices."""
    # Where rows end before the second index, numbers are taken to continue at the same distance.
    reached = np.minimum(second, last) - np.maximum(first, 0.0)
    return np.where(reached > 0, (high - low) / np.where(reached > 0, reached, 1.0), np.inf)


@dataclass(frozen=True)
class _Cut:
    """A mean that cuts a share of the rows at either end."""

    share: float

    def __post_init__(self) -> None:
        share = real("The share to cut at either end", self.share, 0.0, 0.5)
        if share == 0.5:
            raise InputError(
                "Cutting half of the rows at either end leaves none: give a share below 0.5, or "
                "take the median."
            )
        object.__setattr__(self, "share", share)

    def check(self, sample: Distribution) -> None:
        """Raise `InputError` if fewer than two different rows are left."""
        rows, cut = float(sample.size), self._cut(sample)
        left = rows - 2 * float(cut)
        if left < 2:
            raise InputError(
                f"Cutting {self.share:g} of {rows:g} rows at either end leaves {left:g}, which is "
                "too few for an interval: cut less, or give interval=None."
            )
        lowest = float(sample.at(cut))
        if lowest == sample.at(rows - 1 - cut):
            raise InputError(
                f"All rows that are left after cutting {self.share:g} at either end are "
                f"{lowest:g}, which gives no spread for an interval: cut less, or give "
                "interval=None."
            )

    def _cut(self, sample: Distribution) -> FloatArray:
        return np.floor(self.share * sample.size)

    def _find_winsorized_mean(self, sample: Distribution) -> FloatArray:
        """Return the mean after the cut rows are moved to the nearest row that is left."""
        n, cut = sample.size, self._cut(sample)
        ends = sample.at(cut) + sample.at(n - 1 - cut)
        return (sample.between(cut, n - cut).total() + cut * ends) / n

    def _spread(
        self, sample: Distribution, below: FloatArray | float = 0.0, above: FloatArray | float = 0.0
    ) -> FloatArray:
        """Return the root of the sum of squares of moved rows about their mean.

        Rows cut at either end count as moved further out by ``below`` or ``above``, and the mean of
        all moves with them.
        """
        n, cut = sample.size, self._cut(sample)
        low, high = sample.at(cut) - below, sample.at(n - 1 - cut) + above
        mean = np.asarray(self._find_winsorized_mean(sample) + cut / n * (above - below))
        # Squares of very large or small numbers would overflow or underflow.
        unit = np.where(high > low, high - low, 1.0)
        ends = ((low - mean) / unit) ** 2 + ((high - mean) / unit) ** 2
        squares = sample.between(cut, n - cut).squares_about(mean, unit) + cut * ends
        return unit * np.sqrt(squares)

    def _interval(
        self, sample: Distribution, level: float, value: FloatArray, error: FloatArray
    ) -> Sampling:
        """Return the error, and the interval by Student's t."""
        left = float(np.min(sample.size - 2 * self._cut(sample)))
        half = (t_quantile(level, left - 1) if left > 1 else np.nan) * error
        return Sampling(error, value - half, value + half)


class TrimmedMean(_Cut):
    """The mean of the rows that are left after a share of them is cut off at either end."""

    @property
    def name(self) -> str:
        """The name under which it is shown."""
        return f"trimmed mean {self.share:g}"

    def value(self, sample: Distribution) -> FloatArray:
        """Return the mean."""
        n, cut = sample.size, self._cut(sample)
        return sample.between(cut, n - cut).total() / (n - 2 * cut)

    def sampling(self, sample: Distribution, level: float) -> Sampling:
        """Return its standard error and interval (Yuen 1974)."""
        left = sample.size - 2 * self._cut(sample)
        error = self._spread(sample) / np.sqrt(left * (left - 1))
        return self._interval(sample, level, self.value(sample), error)


class WinsorizedMean(_Cut):
    """The mean after a share of the rows at either end is moved to the next row that is left."""

    @property
    def name(self) -> str:
        """The name under which it is shown."""
        return f"winsorized mean {self.share:g}"

    def value(self, sample: Distribution) -> FloatArray:
        """Return the mean."""
        return self._find_winsorized_mean(sample)

    def sampling(self, sample: Distribution, level: float) -> Sampling:
        """Return its standard error by the influence function, and its interval.

        A row cut at one end moves the quantile there, and all rows that are cut with it, by
        1 / (n density). The density is measured between order statistics at the largest error of
        the quantile in 95 % of all samples.
        """
        n, cut = sample.size, self._cut(sample)
        share = (cut + 0.5) / n
        half = normal_quantile(0.95) * np.sqrt(n * share * (1 - share))
        moved = []
        for middle in (cut, n - 1 - cut):
            first, second = middle - half, middle + half
            gap = _gap(sample.at(first), sample.at(second), first, second, n - 1)
            moved.append(np.where(cut > 0, cut * gap, 0.0))
        error = self._spread(sample, *moved) / np.sqrt(n * (n - 1))
        return self._interval(sample, level, self.value(sample), error)


class _MedianOfPairs(_OfOrder):
    """The median of a number of each pair."""

    numbers: ClassVar[Any]
    """The class of these numbers, made of a sample."""

    def value(self, sample: Distribution) -> FloatArray:
        """Return the median."""
        median: FloatArray = self.numbers(sample).median()
        return median

    def sampling(self, sample: Distribution, level: float) -> Sampling:
        """Return the shifts that the test with its null spread does not reject."""
        numbers, wide = self.numbers(sample), normal_quantile(level)
        half, total = wide * numbers.spread, numbers.total
        return _order_interval(numbers.at, total / 2 - 0.5, half, total - 1, wide)


class _PairNumbers:
    """Numbers of all pairs, found by counting those up to a bound, without storing them.

    ``total`` is their number, and they lie between the ``limits``. ``spread`` is the standard
    deviation, without a shift, of the number of positive ones. Numbers are most exact near
    ``center``.
    """

    def __init__(
        self,
        rows: Distribution,
        total: FloatArray,
        spread: FloatArray,
        limits: tuple[float, float],
        center: float = 0.0,
    ) -> None:
        self._rows, self._ends = rows, rows.ends
        self.total, self.spread, self._center = total, spread, center
        # Cells are halved in the same way in any unit; rows are found to the last bit.
        largest = float(np.abs(np.array(limits) - center).max())
        self._unit = 1.0 if rows.is_exact else 2.0 ** (np.frexp(largest)[1] - 1.0)
        self._limits = _keys((np.array(limits) - center) / self._unit)

    def up_to(self, bound: FloatArray) -> FloatArray:
        """Return the count of numbers up to a bound, both of shape (...,)."""
        raise NotImplementedError

    def at(self, index: FloatArray) -> FloatArray:
        """Return order statistics, index 0 for the smallest; between two, the nearer."""
        exact = self._rows.is_exact
        least = np.minimum(0.5, self.total / 2)
        position = np.clip((np.rint(index) if exact else index) + 0.5, least, self.total - least)
        low = np.full(position.shape, self._limits[0] - 1)
        high = np.full(position.shape, self._limits[1])
        for _ in range(_HALVINGS if exact else _HALVINGS_OF_CELLS):
            middle = (low >> 1) + (high >> 1) + (low & high & 1)
            enough = self.up_to(self._number(middle)) >= position
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return self._number(high)

    def _number(self, key: IntArray) -> FloatArray:
        return self._center + self._unit * _numbers(key)

    def median(self) -> FloatArray:
        """Return the median."""
        if not self._rows.is_exact:
            return self.at((self.total - 1) / 2)
        middle = np.rint(self.total - 1) / 2  # averages are whole up to rounding
        below, above = np.floor(middle), np.ceil(middle)
        lower = self.at(below)
        return lower if (below == above).all() else np.asarray((lower + self.at(above)) / 2)

    def _rows_up_to(self, bounds: FloatArray) -> FloatArray:
        """Return the number of rows up to each bound, bounds of shape (..., m)."""
        low, high, weights, _ = self._rows
        after = np.searchsorted(low, bounds, side="right")
        cell = np.maximum(after - 1, 0)
        ends = _take_entries(self._ends, cell)
        if self._rows.is_exact:
            return np.where(after > 0, ends, 0.0)
        widths = np.maximum(high - low, np.finfo(np.float64).tiny)[cell]
        left = np.clip((high[cell] - bounds) / widths, 0.0, 1.0)
        return ends - left * _take_entries(weights, cell)


def _take_entries(table: FloatArray, places: IntArray) -> FloatArray:
    """Take entries along the last axis, with a shortcut for a single sample."""
    if table.ndim == places.ndim == 1:
        return table[places]
    return np.take_along_axis(table, places, axis=-1)


def _keys(numbers: FloatArray) -> IntArray:
    """Return whole numbers in the same order, one for each float: halving them finds any float."""
    bits = numbers.view(np.int64)
    return bits ^ (bits >> 63 & _ALL_BUT_SIGN)


def _numbers(keys: IntArray) -> FloatArray:
    """Return the floats of keys."""
    return np.asarray(keys ^ (keys >> 63 & _ALL_BUT_SIGN)).view(np.float64)


class _Means(_PairNumbers):
    """The means of all unordered pairs of one sample, own pairs included."""

    def __init__(self, sample: Distribution) -> None:
        n, narrowest = sample.size, np.argmin(sample.high - sample.low)
        limits = float(sample.low[0]), float(sample.high[-1])
        center = 0.0 if sample.is_exact else float(sample.middles[narrowest])
        spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        super().__init__(sample, n * (n + 1) / 2, spread, limits, center)

    def up_to(self, bound: FloatArray) -> FloatArray:
        """Return the count of numbers up to a bound."""
        others = self._rows_up_to(2 * bound[..., None] - self._rows.middles)
        own = self._rows_up_to(bound[..., None])[..., 0]
        return ((self._rows.weights * others).sum(axis=-1) + own) / 2


class _Differences(_PairNumbers):
    """The differences of all pairs of a row of the higher class and one of the lower."""

    def __init__(self, sample: Distribution) -> None:
        reach = float(sample.high[-1] - sample.low[0])
        total = np.asarray(sample.size.prod(axis=-1))
        spread = np.sqrt(total * (sample.size.sum(axis=-1) + 1) / 12)
        super().__init__(sample.of_class(1), total, spread, (-reach, reach))
        self._lower = sample.of_class(0).weights

    def up_to(self, bound: FloatArray) -> FloatArray:
        """Return the count of numbers up to a bound."""
        higher = self._rows_up_to(bound[..., None] + self._rows.middles)
        return (self._lower * higher).sum(axis=-1)


@dataclass(frozen=True)
class HodgesLehmann(_MedianOfPairs):
    """The median of the means of all pairs of rows, own pairs included.

    Its interval is the one that the signed-rank test of Wilcoxon does not reject.
    """

    name: str = "Hodges-Lehmann"
    noun = "the Hodges-Lehmann estimate"
    numbers = _Means


@dataclass(frozen=True)
class Shift(_MedianOfPairs):
    """The shift of the higher class against the lower one: the median of all differences.

    Its interval is the one that the test of Mann and Whitney does not reject.
    """

    name: str = "Hodges-Lehmann shift"
    noun = "a shift"
    numbers = _Differences
