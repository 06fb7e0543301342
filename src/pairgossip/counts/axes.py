"""The bins of a column, and the features of a number in its bin."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray

_POINTS = {
    0: np.array([0.0]),
    1: np.array([-1.0, 1.0]) / math.sqrt(12),
    2: np.array([-0.5, 0.0, 0.5]),
}
"""Offsets of the points that stand for the numbers in a bin, by the highest power averaged.

One point stands for a bin of one number. Two points have the spread of numbers that are even over
the bin; the weights of three follow from the mean square.
"""

_PARTS = 4
"""The number of parts of a bin; within a part, rows count as spread evenly."""

_FEWEST_SCALED = 1 << 12
"""Up to this count of numbers, bins are searched for: a scale would take as long to lay."""
_BLOCK = 1 << 14
"""The count of numbers processed at once: it fits into a processor's cache."""

Range = tuple[float, float]
Axis: TypeAlias = "Grid | Labels"
"""The bins of a column, or the few values that it has."""


class _Scale(NamedTuple):
    """Even steps, on which a number's place gives its bin, but for rounding."""

    change: Callable[[FloatArray], FloatArray]
    """The function that makes the steps even, such as the logarithm."""
    first: float
    """The start of bin 0 on the scale."""
    rate: float
    """Bins per unit of the scale."""
    last: int
    """The last bin."""

    def guess(self, values: FloatArray) -> IntArray:
        """Return a guess of the bin of every number; any bin for a number that is not on the
        scale."""
        steps = (self.change(values) - self.first) * self.rate
        return np.fmin(np.fmax(steps, 0.0), self.last).astype(np.intp)


class _Bins(ABC):
    """The bins of an axis; powers 0, 1, ... of an offset are averaged for each."""

    powers = 0
    """The highest power of offsets in the bin that is averaged."""
    ties_known: ClassVar[bool]
    """Whether every bin is one number, so that rows in it are tied."""

    @property
    @abstractmethod
    def places(self) -> FloatArray:
        """The edges of the bins, or the number that each bin is."""

    @abstractmethod
    def search(self, values: FloatArray) -> IntArray:
        """Return the bin of every number, by a search among the places."""

    @abstractmethod
    def _holds(self, values: FloatArray, bins: IntArray) -> BoolArray:
        """Return whether each number is in its bin for certain."""

    def find_bins(self, values: FloatArray) -> IntArray:
        """Return the bin of every number.

        Most follow by arithmetic where the bins, or their logarithms, are even. A number that its
        bin does not hold is searched for, so that rounding moves no number.
        """
        scale = self._find_scale() if len(values) > _FEWEST_SCALED else None
        if scale is None:
            return self.search(values)
        found = np.empty(len(values), dtype=np.intp)
        with np.errstate(all="ignore"):
            for start in range(0, len(values), _BLOCK):
                part = values[start : start + _BLOCK]
                bins = scale.guess(part)
                others = np.flatnonzero(~self._holds(part, bins))
                bins[others] = self.search(part[others])
                found[start : start + _BLOCK] = bins
        return found

    def _find_scale(self) -> _Scale | None:
        """Return a scale that finds the middle of every bin in it; None if there is none."""
        last, middles = self.bins - 1, self.middles
        with np.errstate(all="ignore"):
            for change in (np.asarray, np.log2):
                first, end = change(self.places[[0, -1]]).tolist()
                rate = np.divide(len(self.places) - 1, end - first)
                # A number is in the bin of the nearest value.
                scale = _Scale(change, first - self.ties_known * 0.5 / rate, rate, last)
                if np.array_equal(scale.guess(middles), np.arange(self.bins)):
                    return scale
        return None

    @property
    def bins(self) -> int:
        """The number of bins."""
        return len(self.places) - (not self.ties_known)

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest number of every bin, the same array if each is one number."""
        return (self.places,) * 2 if self.ties_known else (self.places[:-1], self.places[1:])

    @property
    def middles(self) -> FloatArray:
        """The middle of each bin."""
        return self.places if self.ties_known else (self.places[:-1] + self.places[1:]) / 2

    @property
    def widths(self) -> FloatArray:
        """The width of each bin."""
        return np.subtract(*self.ends[::-1])

    @property
    def size(self) -> int:
        """The number of features."""
        return self.bins * (self.powers + 1)

    @property
    def counts(self) -> slice:
        """The places of counts among the features."""
        return slice(None, None, self.powers + 1)

    def features(self, values: FloatArray) -> FloatArray:
        """Return powers 0, 1, ... of each number's offset in its bin, shape (m, bins (powers + 1)).

        An offset runs from -1/2 to 1/2 over the number's own bin; the entries of other bins are 0.
        """
        bins, offsets = self.find_bins(values), np.zeros(len(values))
        if self.powers:
            offsets = (values - self.middles[bins]) / self.widths[bins]
        features = np.zeros((len(values), self.bins, self.powers + 1))
        features[np.arange(len(values)), bins] = offsets[:, None] ** np.arange(self.powers + 1)
        return features.reshape(len(values), -1)

    @property
    def whole(self) -> FloatArray:
        """The form that is 1 for all pairs."""
        counted = np.zeros(self.size)
        counted[self.counts] = 1.0
        return np.outer(counted, counted)

    @property
    def apart(self) -> FloatArray:
        """The form that is 1 where two numbers differ; in one bin of a grid, all count as
        different."""
        return np.abs(self.signs) if self.ties_known else self.whole

    @property
    def signs(self) -> FloatArray:
        """The form S with sign(x - y) close to phi(x)' S phi(y), where phi are the features.

        It is exact for numbers in different bins. For two numbers in one bin it is twice the
        difference of their offsets, which is right on average where both densities are linear in
        the bin: then the first number is larger with probability 1/2 plus the difference of the
        mean offsets.
        """
        form = np.zeros(2 * (self.bins, self.powers + 1))
        number = np.arange(self.bins)
        form[:, 0, :, 0] = np.sign(np.subtract.outer(number, number))
        if self.powers:
            form[number, 1, number, 0], form[number, 0, number, 1] = 2.0, -2.0
        return form.reshape(self.size, -1)

    @property
    def points(self) -> FloatArray:
        """A few numbers per bin that stand for all numbers in it."""
        places = self.middles[:, None] + _POINTS[self.powers] * self.widths[:, None]
        return places.ravel()

    @property
    def point_features(self) -> FloatArray:
        """The features of the points, a square matrix: it turns weights of points into means."""
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
        """The least and the largest number of every part of every bin."""
        if self.ties_known:
            return self.ends
        inside = np.arange(_PARTS) / _PARTS
        low = (self.places[:-1, None] + self.widths[:, None] * inside).ravel()
        return low, np.append(low[1:], self.places[-1])

    def part_shares(self, mean: FloatArray) -> FloatArray:
        """Return the share of rows in every part of every bin; rows of one part may be tied."""
        shares = np.maximum(mean[..., self.counts], 0.0)
        if self.ties_known:
            return shares
        offsets = mean[..., 1 :: self.powers + 1] / np.maximum(shares, 1e-300)
        return (shares[..., None] * _fill(offsets)).reshape(*shares.shape[:-1], -1)


@dataclass(frozen=True)
class Grid(_Bins):
    """Bins between edges, in which rows may have any numbers."""

    edges: FloatArray
    powers: int = 1

    ties_known: ClassVar[bool] = False

    @property
    def places(self) -> FloatArray:
        """The edges of the bins."""
        return self.edges

    def search(self, values: FloatArray) -> IntArray:
        """Return the bin of every number, by a search among the edges."""
        return np.searchsorted(self.edges[1:-1], values, side="right")

    def _holds(self, values: FloatArray, bins: IntArray) -> BoolArray:
        low, high = self.ends
        return (low[bins] <= values) & (values < high[bins])


@dataclass(frozen=True)
class Labels(_Bins):
    """An axis of few known values, such as classes: rows of equal value are tied."""

    values: FloatArray

    ties_known: ClassVar[bool] = True

    @property
    def places(self) -> FloatArray:
        """The values themselves."""
        return self.values

    def search(self, values: FloatArray) -> IntArray:
        """Return the place among the values of every number, each of which is one of them."""
        return np.searchsorted(self.values, values)

    def _holds(self, values: FloatArray, bins: IntArray) -> BoolArray:
        return self.values[bins] == values


def _fill(offsets: FloatArray) -> FloatArray:
    """Return the share of a bin's rows in each of its parts, shape (..., parts).

    The density in a bin is linear and has the rows' mean offset, which runs from -1/2 to 1/2. If
    that is larger than 1/6, the density falls to zero inside the bin.
    """
    at = np.linspace(-0.5, 0.5, _PARTS + 1)
    # Rows count as at the middle of their part, which moves the mean inward by this factor.
    mean = np.clip(offsets * _PARTS**2 / (_PARTS**2 - 1), -0.5, 0.5)[..., None]
    linear = at + 0.5 + 6 * mean * (at**2 - 0.25)
    side = np.where(mean > 0, 1.0, -1.0)
    length = np.maximum(3 * (0.5 - np.abs(mean)), 1e-12)
    wedge = np.clip((side * at - 0.5) / length + 1, 0.0, 1.0) ** 2
    steep = np.where(side > 0, wedge, 1 - wedge)
    return np.diff(np.where(np.abs(mean) > 1 / 6, steep, linear), axis=-1)
