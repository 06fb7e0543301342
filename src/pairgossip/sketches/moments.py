"""Moments, of which the variance and the scatter within clusters are exact functions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.layouts import formulas
from pairgossip.errors import InputError
from pairgossip.kernels import AnyKernel, Pairs
from pairgossip.kernels.builtin.spread import SCATTER_SQUARED, VARIANCE
from pairgossip.kernels.data import column_count
from pairgossip.sketches.sketch import KernelSketch, Points, PointSketch, Sketch, check_kernel

_ROUNDING = 16 * np.finfo(np.float64).eps
"""The rounding error of a mean of powers, relative to it."""
_LARGEST_ERRORS = {2: 1e-6, 4: 1e-3}
"""The largest relative rounding error of the variance, and of its sampling error."""


@dataclass(frozen=True)
class Scatter(KernelSketch):
    """The mean of ||x - y||^2 within clusters, up to a factor, from (share, mean, mean square).

    A cluster with share p, sum s and sum of squares q adds 2 (p q - ||s||^2) over all its pairs.
    """

    center: float | FloatArray
    """One number subtracted from all columns, or one for each column."""
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
        """Return three points with the moments of the averaged powers, and their row means."""
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


@dataclass(frozen=True)
class Moments:
    """Means and mean squares, per cluster for the scatter: exact once averaged.

    Parameters
    ----------
    center
        The number subtracted from every number first. Without it, numbers far from zero that
        differ little lose digits.
    errors
        Whether to average third and fourth powers too, which the sampling error of a variance
        needs.
    """

    center: float = 0.0
    errors: bool = field(default=False, repr=False)

    def fit(self, pairs: Pairs) -> Sketch:
        """Return the sketch of a variance, or of the squared scatter within clusters."""
        kernel = pairs.kernel
        check_kernel(self, kernel, {VARIANCE}, {SCATTER_SQUARED})
        if set(formulas(kernel)) == {VARIANCE}:
            kind = Variance if self.errors else Scatter
            sketch = kind(self.center, 1, None, pairs.scale, kernel)
        else:
            clusters, columns = np.unique(pairs.data[:, -1]), column_count(pairs.data) - 1
            sketch = Scatter(self.center, columns, clusters, 2 * pairs.scale, kernel)
        self._check_digits(sketch, pairs.data)
        return sketch

    def _check_digits(self, sketch: Scatter, data: FloatArray) -> None:
        """Raise `InputError` if the rows are so far from the center that their spread is lost."""
        numbers = data.reshape(len(data), -1)[:, : sketch.dimension]
        powers = (2, 4) if self.errors and sketch.clusters is None else (2,)
        far, apart = numbers - self.center, numbers - numbers.mean(axis=0)
        if any(
            _ROUNDING * np.mean(far**power) > _LARGEST_ERRORS[power] * np.mean(apart**power)
            for power in powers
        ):
            raise InputError(
                f"The rows are about {numbers.mean():.6g} and spread so little around it that "
                f"powers about {self.center:g} lose the digits that count: subtract that, "
                f"or in Python give sketch=pg.sketches.Moments(center={numbers.mean():.6g})."
            )

    def flooded(self, pairs: Pairs) -> IntArray:
        """Return the rows whose numbers all nodes must learn first: one of each cluster."""
        if pairs.data.ndim == 1:
            return np.arange(0)
        return np.unique(pairs.data[:, -1], return_index=True)[1]
