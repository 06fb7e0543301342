"""What every row adds to a statistic: Hoeffding's projection, and the sampling error from it.

With r_k the mean of h(x_k, x_l) + h(x_l, x_k) over all l and U the statistic, row k adds
psi_k = r_k - 2U, and the variance of U over samples is the sum of psi^2 over n(n - 1). For a
function of several averages psi is that of the averages times the function's derivatives. For the
AUC this is DeLong's estimate: there the rows of each class are a sample of their own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels import Kernel, Pairs
from pairgossip.kernels.kernel import blocked_rows, evaluate

_DEGENERATE = 1e-12
"""Below this part of its mean square what rows add is rounding."""


class Projection(NamedTuple):
    """A statistic, and what each row adds to it."""

    value: float
    influence: FloatArray
    """psi, one number per row; its mean is 0."""
    classes: IntArray | None
    """Where rows of several classes are samples of their own, the class of every row."""

    @property
    def freedom(self) -> float:
        """How many degrees of freedom the error has: those of the smallest class."""
        return float(self._sizes().min() - 1)

    def error(self, clusters: IntArray | None = None) -> float:
        """Return the standard error; rows of one cluster may depend on each other."""
        if clusters is not None:
            return _cluster_error(self.influence, clusters)
        alike = np.zeros(len(self.influence), dtype=np.intp)
        classes: IntArray = alike if self.classes is None else self.classes
        sizes = self._sizes()
        squares = np.bincount(classes, self.influence**2)
        return float(np.sqrt(squares @ (sizes / (sizes - 1.0))) / len(self.influence))

    def _sizes(self) -> IntArray:
        if self.classes is None:
            return np.array([len(self.influence)])
        return np.bincount(self.classes)


def _cluster_error(influence: FloatArray, clusters: IntArray) -> float:
    """Return the error if whole clusters are drawn: sums over clusters vary, not rows."""
    _, numbers = np.unique(clusters, return_inverse=True)
    sums = np.bincount(numbers, influence)
    count = len(sums)
    if count < 2:
        raise InputError("All rows are of one cluster, which says nothing about others.")
    return float(np.sqrt(count / (count - 1) * sums @ sums) / len(influence))


def project(pairs: Pairs) -> Projection:
    """Compute a statistic of all pairs, and what each row adds to it."""
    kernel, n = pairs.kernel, pairs.n
    means = np.stack([_both_ways(pairs, part) for part in kernel.components], axis=1)
    averages = means.mean(axis=0) / 2
    value = float(kernel.combine(averages))
    if not math.isfinite(value):
        raise InputError(f"Kernel '{kernel.name}' has no value on these rows: {averages.tolist()}.")
    influence = (means - 2 * averages) @ kernel.slopes(averages)
    return Projection(value, influence, _classes(pairs) if n > 1 else None)


def _both_ways(pairs: Pairs, kernel: Kernel) -> FloatArray:
    """Return the means of h(k, l) + h(l, k) over l, own pairs as in the target."""
    data, n = pairs.data, pairs.n
    rows = blocked_rows(kernel, data) if kernel.row_totals is None else kernel.row_totals(data)
    if kernel.symmetric:
        both = 2 * rows
    elif kernel.column_totals is not None:
        both = rows + kernel.column_totals(data)
    else:
        mirrored = replace(kernel, function=partial(_mirror, kernel.function))
        both = rows + blocked_rows(mirrored, data)
    if pairs.target == "v":
        return np.asarray(both / n)
    own = 0.0 if kernel.zero_diagonal else 2 * evaluate(kernel, data, data)
    return np.asarray((both - own) / (n - 1))


def _mirror(function: PairFunction, first: FloatArray, second: FloatArray) -> FloatArray:
    return function(second, first)


def _classes(pairs: Pairs) -> IntArray | None:
    """Return the class of every row where a kernel compares two classes."""
    if not any(part.two_classes for part in pairs.kernel.components):
        return None
    return np.unique(pairs.data[:, -1], return_inverse=True)[1]


def is_degenerate(found: Projection) -> bool:
    """Tell whether rows add nothing of their own, so that the projection says nothing."""
    size = np.mean(found.influence**2)
    return bool(size <= _DEGENERATE * max(found.value**2, 1e-300))
