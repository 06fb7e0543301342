"""What the mean difference, the distance, the variance and the scatter within clusters average."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, pi, sqrt

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.kernels import AnyKernel, Kernel
from pairgossip.kernels.builtin.spread import GINI, MIDPOINT
from pairgossip.summaries.axes import Axis, Grid
from pairgossip.summaries.features.sketch import KernelSketch, Points, PointSketch

OF_ONE_COLUMN = frozenset({GINI, MIDPOINT})

_TINY, _EPSILON = 1e-30, np.finfo(np.float64).eps


@dataclass(frozen=True)
class Gini(PointSketch):
    """The mean of |x - y| of numbers of which few are different: exact."""

    axis: Axis
    n: float
    scale: float
    kernel: AnyKernel

    def features(self, rows: FloatArray) -> FloatArray:
        """Return a 1 in the place of each number; of bins, powers of the offset in its bin."""
        return self.axis.features(rows)

    def averages(self, mean: FloatArray) -> FloatArray:
        """Return mean differences and means of the column, as the kernel has them."""
        return self.select({GINI: self.difference(mean), MIDPOINT: self.middle(mean)})

    def difference(self, mean: FloatArray) -> FloatArray:
        """Return the mean difference."""
        differences = np.abs(np.subtract.outer(self.axis.points, self.axis.points))
        return self.scale * np.einsum("...i,ij,...j->...", mean, differences, mean)

    def middle(self, mean: FloatArray) -> FloatArray:
        """Return the mean of the column."""
        return mean @ self.axis.points

    def points(self, mean: FloatArray) -> Points:
        """Return the points of the axis, three for the mean and variance of a bin."""
        places, weights = self.axis.points, mean @ self.axis.point_inverse
        known = {
            GINI: 2 * weights @ np.abs(np.subtract.outer(places, places)),
            MIDPOINT: places + (weights @ places)[:, None],
        }
        own = {GINI: np.zeros(len(places)), MIDPOINT: 2 * places}
        return Points(weights, self.select(known), self.select(own))


@dataclass(frozen=True)
class GiniBins(Gini):
    """The mean of |x - y| from counts, sums and squares per bin."""

    axis: Grid

    def difference(self, mean: FloatArray) -> FloatArray:
        """Return the mean difference."""
        share, deviation = self._shares(mean), self._deviations(mean)
        # Of k numbers drawn evenly from a bin, the mean difference is on average about this part
        # of their standard deviation, own pairs counted; of two it is exactly this part.
        in_bin = 2 / np.sqrt(3) * deviation * np.sqrt(1 - 1 / (share * self.n + 2))
        in_bin *= self.axis.widths
        near = self.scale * (self._across(mean) + (share**2 * in_bin).sum(axis=-1))
        return np.clip(near, *self._ends(mean))

    def middle(self, mean: FloatArray) -> FloatArray:
        """Return the mean of the column."""
        parts = self._parts(mean)
        return np.asarray(parts[..., 0] @ self.axis.middles + parts[..., 1] @ self.axis.widths)

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the interval that holds the mean difference, whatever the rows in each bin."""
        return self._ends(mean) if isinstance(self.kernel, Kernel) else None

    def _ends(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the mean difference.

        In a bin of width w with mean offset d and variance v the mean difference is at least
        2 v / w, because |t| >= t^2 / w, and at most 2 sqrt(v / 3) (Glasser 1962), and at most that
        of numbers at the two ends.
        """
        share, deviation, widths = self._shares(mean), self._deviations(mean), self.axis.widths
        offset = self._parts(mean)[..., 1] / np.maximum(share, _TINY)
        ends = 2 * np.maximum(0.25 - offset**2, 0.0)
        least = (share**2 * 2 * deviation**2 * widths).sum(axis=-1)
        # A small variance may be lost when the features of n rows are added up one by one.
        lost = (64 + self.n) * _EPSILON
        rounded = np.sqrt(deviation**2 + lost)
        most = (share**2 * np.minimum(2 / np.sqrt(3) * rounded, ends + lost) * widths).sum(axis=-1)
        across, rounding = self._across(mean), lost * np.abs(self.axis.edges).max()
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
        middles = self.axis.middles - self.axis.edges[0]
        sums = middles * share + self.axis.widths * parts[..., 1]
        below, sums_below = np.cumsum(share, axis=-1) - share, np.cumsum(sums, axis=-1) - sums
        return 2 * (sums * below - share * sums_below).sum(axis=-1)

    def _deviations(self, mean: FloatArray) -> FloatArray:
        """Return the standard deviations in the bins, as parts of their widths."""
        parts = self._parts(mean)
        share = np.maximum(parts[..., 0], _TINY)
        variance = parts[..., 2] / share - (parts[..., 1] / share) ** 2
        return np.sqrt(np.clip(variance, 0.0, 0.25))

    def _parts(self, mean: FloatArray) -> FloatArray:
        return mean.reshape(*mean.shape[:-1], self.axis.bins, 3)


def spread_directions(dimension: int, count: int) -> FloatArray:
    """Return unit vectors in orthogonal groups, the same for everybody, shape (count, d)."""
    if dimension == 1:
        return np.ones((1, 1))
    draws = np.random.Generator(np.random.Philox(0)).normal(
        size=(-(-count // dimension), dimension, dimension)
    )
    groups = [np.linalg.qr(square)[0] for square in draws]
    return np.vstack(groups)[:count]


@dataclass(frozen=True)
class Projections(KernelSketch):
    """The mean distance from the mean differences of projections."""

    axes: FloatArray
    parts: tuple[GiniBins, ...]
    kernel: AnyKernel

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of every projection, side by side."""
        projected = rows.reshape(len(rows), -1) @ self.axes.T
        pieces = zip(self.parts, projected.T, strict=True)
        return np.hstack([part.features(column) for part, column in pieces])

    def averages(self, mean: FloatArray) -> FloatArray:
        """Return the mean distance, for every component."""
        pieces = np.split(mean, np.cumsum([part.axis.size for part in self.parts])[:-1], axis=-1)
        found = [part.difference(piece) for part, piece in zip(self.parts, pieces, strict=True)]
        distance = distance_factor(self.axes.shape[1]) * np.mean(found, axis=0)
        return np.stack([distance] * len(self.kernel.components), axis=-1)


def distance_factor(columns: int) -> float:
    """Return how many times the mean difference of projections the mean distance is."""
    return sqrt(pi) * exp(lgamma((columns + 1) / 2) - lgamma(columns / 2))


@dataclass(frozen=True)
class Scatter(KernelSketch):
    """The mean of ||x - y||^2 within clusters, up to a factor, from (share, mean, mean square).

    Over all pairs of a cluster with share p, sum s and sum of squares q it is 2 (p q - ||s||^2).
    """

    center: float | FloatArray
    """Subtracted from all columns, or one number for each."""
    dimension: int
    clusters: FloatArray | None
    factor: float
    kernel: AnyKernel

    def features(self, rows: FloatArray) -> FloatArray:
        """Return distances from the center and their squared length, per cluster."""
        table = rows.reshape(len(rows), -1)
        shifted = table[:, : self.dimension] - self.center
        squares = np.einsum("ij,ij->i", shifted, shifted)[:, None]
        if self.clusters is None:  # the share of the only cluster is known
            return np.hstack([shifted, squares])
        moments = np.hstack([np.ones_like(squares), shifted, squares])
        belongs = table[:, -1:] == self.clusters
        return (belongs[:, :, None] * moments[:, None, :]).reshape(len(table), -1)

    def averages(self, mean: FloatArray) -> FloatArray:
        """Return the scatter, for every component."""
        if self.clusters is None:
            scatter = self.factor * (mean[..., 1] - mean[..., 0] ** 2)
        else:
            parts = mean.reshape(*mean.shape[:-1], len(self.clusters), self.dimension + 2)
            share, sums, squares = parts[..., 0], parts[..., 1:-1], parts[..., -1]
            within = share * squares - (sums**2).sum(axis=-1)
            scatter = self.factor * within.sum(axis=-1)
        return np.stack([scatter] * len(self.kernel.components), axis=-1)


class Variance(Scatter, PointSketch):
    """The variance with its sampling error, from third and fourth powers as well."""

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the first four powers of distances from the center."""
        shifted = rows.reshape(len(rows), -1) - self.center
        return shifted ** np.arange(1, 5)

    def points(self, mean: FloatArray) -> Points:
        """Return three points with the moments that the powers tell, and their row means."""
        m, second, third, fourth = mean.T
        m2 = second - m**2
        m3 = third - 3 * m * second + 2 * m**3
        m4 = fourth - 4 * m * third + 6 * m**2 * second - 3 * m**4
        # Points at a, 0 and -b off the mean, with a - b = m3 / m2 and a b = m4 / m2 - (a - b)^2.
        skewed = m3 / m2
        root = np.sqrt(4 * m4 / m2 - 3 * skewed**2)
        a, b = (root + skewed) / 2, (root - skewed) / 2
        above, below = m2 / (a * root), m2 / (b * root)
        offsets = np.stack([a, np.zeros_like(a), -b], axis=1)
        row_means = offsets**2 + m2[:, None]
        return Points(
            np.stack([above, 1 - above - below, below], axis=1),
            np.stack([row_means] * len(self.kernel.components), axis=-1),
        )
