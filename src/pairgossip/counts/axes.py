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
"""Offsets of points that stand for the numbers in a bin, by the highest power that is averaged.

One stands for a bin of one number. Two points spread as numbers do that are evenly in the bin;
three as the mean square says.
"""

_PARTS = 4
"""Into how many cells a bin is cut, within which rows count as spread evenly."""

_FEW = 1 << 12
"""Up to so many numbers are searched for, which takes no longer than laying a scale."""
_BLOCK = 1 << 14
"""Numbers that are worked on at once, as many as fit into a processor's memory."""

Range = tuple[float, float]
Axis: TypeAlias = "Grid | Labels"
"""The bins of a column, or the few values that it has."""


class _Scale(NamedTuple):
    """Even steps, on which a number tells its bin but for rounding."""

    change: Callable[[FloatArray], FloatArray]
    """What makes the steps even, such as the logarithm."""
    first: float
    """Where bin 0 begins on the scale."""
    rate: float
    """Bins per unit of the scale."""
    last: int
    """The last bin."""

    def guess(self, values: FloatArray) -> IntArray:
        """Return a bin for every number; any one for a number that is not on the scale."""
        steps = (self.change(values) - self.first) * self.rate
        return np.fmin(np.fmax(steps, 0.0), self.last).astype(np.intp)


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
    def search(self, values: FloatArray) -> IntArray:
        """Return the bin of every number, by a search among the places."""

    @abstractmethod
    def _holds(self, values: FloatArray, bins: IntArray) -> BoolArray:
        """Tell of every number whether it is in its bin for certain."""

    def find_bins(self, values: FloatArray) -> IntArray:
        """Return the bin of every number.

        Most are told by arithmetic where the bins, or their logarithms, are even. A bin that does
        not hold its number is searched for, so that rounding moves no number.
        """
        scale = self._find_scale() if len(values) > _FEW else None
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
        """Return the place of every number, which is among the values."""
        return np.searchsorted(self.values, values)

    def _holds(self, values: FloatArray, bins: IntArray) -> BoolArray:
        return self.values[bins] == values


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
