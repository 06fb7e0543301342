"""Where the bins of a column are, and the features of a number in its bin."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, distinct
from pairgossip.errors import InputError
from pairgossip.text import format_rows

_SAMPLED_ROWS = 15
"""How many sampled values nodes pass on with the extremes, to place the bins where rows are."""
_NARROWEST = 1e-12
"""The smallest spread about the center that counts, as a part of the whole range."""

_POINTS = {
    0: np.array([0.0]),
    1: np.array([-1.0, 1.0]) / math.sqrt(12),
    2: np.array([-0.5, 0.0, 0.5]),
}
"""Offsets of points that stand for the numbers in a bin, by the highest power that is averaged.

One stands for a bin of one number. Two points spread as numbers do that are evenly in the bin;
three as the mean square says.
"""

_PARTS = 4
"""Into how many cells a bin is cut, within which rows count as spread evenly."""

Range = tuple[float, float]
Axis: TypeAlias = "Grid | Labels"
"""The bins of a column, or the few values that it has."""


class Extent(NamedTuple):
    """Where the numbers of a column lie."""

    low: float
    high: float
    center: float
    """Where about most of them are; any guess will do."""
    scale: float
    """How far about they spread; any guess will do."""

    @classmethod
    def of(cls, values: FloatArray) -> Extent:
        """Return the extremes of all values, and the center and scale of a sample.

        The sample is evenly spaced over the sequence of rows, which knows nothing of their values.
        It and the extremes spread by flooding, because learning a value twice changes nothing.
        """
        sample = values[_sample(len(values))]
        center = float(np.median(sample))
        scale = 1.5 * float(np.median(np.abs(sample - center))) or float(np.std(sample))
        low, high = float(values.min()), float(values.max())
        return cls(low, high, center, scale or high - low or 1.0)

    @classmethod
    def declared(cls, low: float, high: float) -> Extent:
        """Return the extent of a declared range, in which numbers may be anywhere."""
        return cls(low, high, (low + high) / 2, high - low)


class _Bins(ABC):
    """The bins of an axis, for each of which powers 0 and on of an offset are averaged."""

    powers = 0
    """The highest power of offsets in the bin that is averaged."""
    ties_known: ClassVar[bool]
    """Whether every bin is one number, so that rows in it are tied."""

    @property
    @abstractmethod
    def places(self) -> FloatArray:
        """The edges of the bins, or the number that each bin is."""

    @abstractmethod
    def find_bins(self, values: FloatArray) -> IntArray:
        """Return the bin of every number."""

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.places) - (not self.ties_known)

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest number of every bin, the same array if each is one number."""
        return (self.places,) * 2 if self.ties_known else (self.places[:-1], self.places[1:])

    @property
    def middles(self) -> FloatArray:
        """Where the middle of each bin is."""
        return self.places if self.ties_known else (self.places[:-1] + self.places[1:]) / 2

    @property
    def widths(self) -> FloatArray:
        """How wide each bin is."""
        return np.subtract(*self.ends[::-1])

    @property
    def size(self) -> int:
        """How many features there are."""
        return self.bins * (self.powers + 1)

    @property
    def counts(self) -> slice:
        """Which of the features are counts."""
        return slice(None, None, self.powers + 1)

    def features(self, values: FloatArray) -> FloatArray:
        """Return powers 0 and on of the offset in the number's bin, shape (m, bins (powers + 1)).

        An offset runs from -1/2 to 1/2 over the number's own bin; all other bins hold zeros.
        """
        bins, offsets = self.find_bins(values), np.zeros(len(values))
        if self.powers:
            offsets = (values - self.middles[bins]) / self.widths[bins]
        features = np.zeros((len(values), self.bins, self.powers + 1))
        features[np.arange(len(values)), bins] = offsets[:, None] ** np.arange(self.powers + 1)
        return features.reshape(len(values), -1)

    @property
    def whole(self) -> FloatArray:
        """The form that is 1 at all pairs."""
        counted = np.zeros(self.size)
        counted[self.counts] = 1.0
        return np.outer(counted, counted)

    @property
    def apart(self) -> FloatArray:
        """The form that is 1 where two numbers differ, as all in one bin of a grid are taken to."""
        return np.abs(self.signs) if self.ties_known else self.whole

    @property
    def signs(self) -> FloatArray:
        """The form S with sign(x - y) near phi(x)' S phi(y), phi the features.

        Exact for numbers in different bins. In one bin it is twice the difference of offsets,
        which is right on average where the two densities are linear in the bin: then the first
        number is the larger with probability 1/2 plus the difference of the mean offsets.
        """
        form = np.zeros(2 * (self.bins, self.powers + 1))
        number = np.arange(self.bins)
        form[:, 0, :, 0] = np.sign(np.subtract.outer(number, number))
        if self.powers:
            form[number, 1, number, 0], form[number, 0, number, 1] = 2.0, -2.0
        return form.reshape(self.size, -1)

    @property
    def points(self) -> FloatArray:
        """A few numbers per bin that stand for all in it."""
        places = self.middles[:, None] + _POINTS[self.powers] * self.widths[:, None]
        return places.ravel()

    @property
    def point_features(self) -> FloatArray:
        """The features of the points, a square matrix: means of features tell their weights."""
        return np.asarray(np.kron(np.eye(self.bins), self._powers), dtype=np.float64)

    @property
    def point_inverse(self) -> FloatArray:
        """The inverse of the features of the points, bin by bin."""
        return np.kron(np.eye(self.bins), np.linalg.inv(self._powers))

    @property
    def _powers(self) -> FloatArray:
        """The features of the points of one bin."""
        return _POINTS[self.powers][:, None] ** np.arange(self.powers + 1)

    @property
    def part_ends(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest number of every part of the bins."""
        if self.ties_known:
            return self.ends
        inside = np.arange(_PARTS) / _PARTS
        low = (self.places[:-1, None] + self.widths[:, None] * inside).ravel()
        return low, np.append(low[1:], self.places[-1])

    def part_shares(self, mean: FloatArray) -> FloatArray:
        """Return the share of rows in every part of the bins, within which rows may be tied."""
        shares = np.maximum(mean[..., self.counts], 0.0)
        if self.ties_known:
            return shares
        offsets = mean[..., 1 :: self.powers + 1] / np.maximum(shares, 1e-300)
        return (shares[..., None] * _fill(offsets)).reshape(*shares.shape[:-1], -1)


@dataclass(frozen=True)
class Grid(_Bins):
    """Bins that are narrow where most numbers are and wider in the tails.

    They are equally wide in asinh((x - center) / scale): linear near the center, logarithmic far
    from it.
    """

    edges: FloatArray
    powers: int = 1

    ties_known: ClassVar[bool] = False

    @classmethod
    def over(cls, extent: Extent, bins: int, powers: int = 1) -> Grid:
        """Lay this many bins over an extent; fewer if there are not as many numbers in it."""
        low, high, center, scale = extent
        if not low < high:  # constant numbers: one value in the middle of a bin
            low, high = low - abs(low) - 1.0, high + abs(high) + 1.0
            scale = high - low
        scale = max(scale, _NARROWEST * (high - low))
        first, last = np.arcsinh((np.array([low, high]) - center) / scale)
        edges = center + scale * np.sinh(np.linspace(first, last, bins + 1))
        edges[0], edges[-1] = low, high
        return cls(distinct(np.clip(edges, low, high)), powers)

    @property
    def places(self) -> FloatArray:
        """The edges of the bins."""
        return self.edges

    def find_bins(self, values: FloatArray) -> IntArray:
        """Return the bin of every number."""
        within = np.searchsorted(self.edges, values, side="right") - 1
        return np.clip(within, 0, self.bins - 1)

    def check(self, values: FloatArray, argument: str = "range") -> None:
        """Raise `InputError`, which names the argument, if numbers lie outside."""
        outside = np.flatnonzero((values < self.edges[0]) | (values > self.edges[-1]))
        if len(outside):
            raise InputError(
                f"The declared range [{self.edges[0]:g}, {self.edges[-1]:g}] leaves out "
                f"{format_rows(outside)} (counting from 0): widen {{argument}}, or leave it out.",
                argument,
            )


@dataclass(frozen=True)
class Labels(_Bins):
    """An axis of few known values, such as classes: rows of equal value are tied."""

    values: FloatArray

    ties_known: ClassVar[bool] = True

    @property
    def places(self) -> FloatArray:
        """The values themselves."""
        return self.values

    def find_bins(self, values: FloatArray) -> IntArray:
        """Return the place of every number, which is among the values."""
        return np.searchsorted(self.values, values)


def _fill(offsets: FloatArray) -> FloatArray:
    """Return the share of a bin's rows in each of its cells, shape (..., cells).

    The density in a bin is linear with the rows' mean offset, which runs from -1/2 to 1/2; beyond
    a sixth it falls to zero inside of the bin.
    """
    at = np.linspace(-0.5, 0.5, _PARTS + 1)
    # Rows count as at the middle of their cell, which draws the mean in by this much.
    mean = np.clip(offsets * _PARTS**2 / (_PARTS**2 - 1), -0.5, 0.5)[..., None]
    linear = at + 0.5 + 6 * mean * (at**2 - 0.25)
    side = np.where(mean > 0, 1.0, -1.0)
    length = np.maximum(3 * (0.5 - np.abs(mean)), 1e-12)
    wedge = np.clip((side * at - 0.5) / length + 1, 0.0, 1.0) ** 2
    steep = np.where(side > 0, wedge, 1 - wedge)
    return np.diff(np.where(np.abs(mean) > 1 / 6, steep, linear), axis=-1)


def lay_bins(
    values: FloatArray,
    bins: int,
    declared: Range | None,
    most: int,
    argument: str = "range",
    powers: int = 1,
) -> Axis:
    """Lay bins over a declared range, or over where the numbers are.

    If there are at most so many different numbers that telling them apart takes no more features
    than bins would, each gets a place of its own, and nothing is lost.
    """
    known = np.unique(values)
    if declared is None and len(known) <= most:
        return Labels(known)
    extent = Extent.of(values) if declared is None else Extent.declared(*declared)
    grid = Grid.over(extent, bins, powers)
    grid.check(values, argument)
    return grid


def flooded_rows(columns: Iterable[FloatArray], most: int = 0, declared: Any = None) -> IntArray:
    """Return the rows whose numbers all nodes must learn to lay the same bins, column by column.

    The extremes and the sampled ones; or one of each value, where at most so many are different.
    None where ranges are declared.
    """
    rows = [np.arange(0)]
    for values in columns if declared is None else ():
        known, first = np.unique(values, return_index=True)
        ends = values.argmin(), values.argmax()
        rows.append(first if len(known) <= most else np.r_[ends, _sample(len(values))])
    return np.concatenate(rows)


def _sample(n: int) -> IntArray:
    return np.arange(n)[:: max(1, n // _SAMPLED_ROWS)][:_SAMPLED_ROWS]


def check_range(declared: Any, argument: str = "range") -> Range:
    """Return a range; raise `InputError` unless it is two finite numbers, the smaller first."""
    try:
        low, high = map(float, declared)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (low < high and math.isfinite(high - low)):
        raise InputError(
            f"A range is two finite numbers, the smaller first, but got {declared!r}: correct "
            "{argument}.",
            argument,
        )
    return low, high
