"""What every row adds to a statistic: Hoeffding's projection, and the sampling error from it.

With r_k the mean of h(x_k, x_l) + h(x_l, x_k) over all l and U the statistic, row k adds
psi_k = r_k - 2U, and the variance of U over samples is the sum of psi^2 over n(n - 1). For a
function of several averages psi is that of the averages times the function's derivatives. For the
AUC this is DeLong's estimate: there the rows of each class are a sample of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, PairFunction, root_mean_square
from pairgossip.errors import InputError
from pairgossip.kernels import Kernel, Pairs
from pairgossip.kernels.blocks import blocked_rows
from pairgossip.kernels.kernel import evaluate

_DEGENERATE, ROUNDING = 1e-6, 1e-12
"""Below this part of the statistic, or of the terms it is made of, what rows add is rounding."""


class Projection(NamedTuple):
    """A statistic, and what each row adds to it."""

    value: float
    influence: FloatArray
    """psi, one number per row; its mean is 0."""
    classes: IntArray | None = None
    """Where rows of several classes are samples of their own, the class of every row."""
    weights: FloatArray | None = None
    """How often each row counts; once if None."""
    size: float = 0.0
    """How large the averages are that the statistic is a function of, in its units."""

    @property
    def rows(self) -> float:
        """How many rows there are, each as often as it counts."""
        return float(self._weights.sum())

    @property
    def freedom(self) -> float:
        """How many degrees of freedom the error has: those of the smallest class."""
        return float(self._sizes.min() - 1)

    @property
    def is_degenerate(self) -> bool:
        """Whether rows add nothing of their own, so that the projection says nothing."""
        added = root_mean_square(self.influence)
        return added <= max(_DEGENERATE * abs(self.value), ROUNDING * self.size)

    def error(self, clusters: IntArray | None = None) -> float:
        """Return the standard error; rows of one cluster may depend on each other."""
        if clusters is not None:
            return self._cluster_error(clusters)
        # Squares of very large or small numbers would leave the floating range.
        largest = float(np.abs(self.influence).max()) or 1.0
        squares = np.bincount(self._classes, self._weights * (self.influence / largest) ** 2)
        spread = float(np.sqrt(squares @ (self._sizes / (self._sizes - 1.0))))
        return largest * (spread / self.rows)

    def _cluster_error(self, clusters: IntArray) -> float:
        """Return the error if whole clusters are drawn: sums over clusters vary, not rows."""
        sums = np.bincount(clusters, self._weights * self.influence).astype(np.float64)
        count = len(sums)
        return math.sqrt(count * count / (count - 1)) * root_mean_square(sums) / self.rows

    @property
    def _weights(self) -> FloatArray:
        return np.ones(len(self.influence)) if self.weights is None else self.weights

    @property
    def _classes(self) -> IntArray:
        alike = np.zeros(len(self.influence), dtype=np.intp)
        return alike if self.classes is None else self.classes

    @property
    def _sizes(self) -> FloatArray:
        return np.bincount(self._classes, self._weights).astype(np.float64)


def project(pairs: Pairs) -> Projection:
    """Compute a statistic of all pairs, and what each row adds to it."""
    kernel, data = pairs.unweighted
    weights = np.ones(pairs.n) if pairs.weights is None else pairs.weights
    means = np.stack(
        [_both_ways(part, data, weights, pairs.target) for part in kernel.components], axis=1
    )
    averages = weights @ means / (2 * weights.sum())
    value = float(kernel.combine(averages))
    if not math.isfinite(value):
        raise InputError(f"Kernel '{kernel.name}' has no value on these rows: no pair counts.")
    slopes = kernel.slopes(averages)
    influence = (means - 2 * averages) @ slopes
    size = float(np.abs(averages * slopes).sum())
    return Projection(value, influence, pairs.classes, pairs.weights, size)


def _both_ways(kernel: Kernel, data: FloatArray, weights: FloatArray, target: str) -> FloatArray:
    """Return the means of h(k, l) + h(l, k) over l, own pairs as in the target."""
    rows = _weigh_rows(kernel, kernel.row_totals, data, weights)
    if kernel.symmetric:
        both = 2 * rows
    else:
        mirrored = replace(kernel, function=partial(_mirror, kernel.function))
        both = rows + _weigh_rows(mirrored, kernel.column_totals, data, weights)
    if target == "v":
        return np.asarray(both / weights.sum())
    own = 0.0 if kernel.zero_diagonal else 2 * evaluate(kernel, data, data)
    return np.asarray((both - own) / (weights.sum() - 1))


def _weigh_rows(
    kernel: Kernel, form: Callable[..., FloatArray] | None, data: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return the sums of w_l h(k, l) over l, by the closed form if there is one."""
    if form is not None and kernel.weighs:
        return form(data, weights)
    if form is not None and (weights == 1).all():
        return form(data)
    return blocked_rows(kernel, data, weights)


def _mirror(function: PairFunction, first: FloatArray, second: FloatArray) -> FloatArray:
    return function(second, first)
