"""Moments: what the variance and the scatter within clusters are functions of, exactly."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels import Pairs
from pairgossip.kernels.builtin.spread import SCATTER_SQUARED, VARIANCE
from pairgossip.kernels.data import column_count
from pairgossip.sketches.sketch import check_kernel
from pairgossip.summaries.features.sketch import Sketch, formulas
from pairgossip.summaries.features.spread import Scatter, Variance

_LOST = 16 * np.finfo(np.float64).eps
"""Which part of a mean of powers rounding may take."""
_MOST_LOST = {2: 1e-6, 4: 1e-3}
"""Largest relative rounding error of the variance, and of the error of the variance."""


@dataclass(frozen=True)
class Moments:
    """Means and mean squares, per cluster for the scatter: exact once averaged.

    Parameters
    ----------
    center
        Subtracted from every number first. Numbers far from zero that differ little lose digits
        without it.
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
            _LOST * np.mean(far**power) > _MOST_LOST[power] * np.mean(apart**power)
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
