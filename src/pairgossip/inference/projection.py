"""The contributions of rows to a statistic: Hoeffding's projection, and its sampling error.

With r_k the mean of h(x_k, x_l) + h(x_l, x_k) over all l and U the statistic, row k contributes
psi_k = r_k - 2U, and the variance of U over samples is the sum of psi^2 over n(n - 1). For a
function of several averages, psi is that of the averages times the function's derivatives. For the
AUC this is DeLong's estimate: there the rows of each class are a separate sample.

The fourth and third moments of psi show how well the error itself is known, and how the statistic
is skewed, as if it were a mean of psi; its bias comes from leaving out each row, or each cluster,
in turn. Contributions of pairs beyond their rows are left out, which makes intervals too wide.
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
from pairgossip.inference.answer import Law
from pairgossip.kernels import AnyKernel, Kernel, Pairs
from pairgossip.kernels.blocks import blocked_rows
from pairgossip.kernels.kernel import evaluate
from pairgossip.kernels.orders import sharing_orders

_DEGENERATE, ROUNDING = 1e-6, 1e-12
"""The share of the statistic, or of its terms, below which contributions of rows are rounding."""
_MOST_ROWS, _MOST_CLUSTERS = 100_000, 1_000
"""Largest numbers of rows and of clusters that are left out in turn; for more, the bias is a small
part of the error."""


class Projection(NamedTuple):
    """A statistic, and the contribution of each row."""

    pairs: Pairs
    clusters: IntArray | None
    """The cluster of every row, where rows of one cluster may be dependent; None without
    clusters."""
    value: float
    influence: FloatArray
    """psi, one number per row; its mean is 0."""
    size: float
    """The size of the averages that the statistic is a function of, in its units."""
    bias: float
    """The mean difference between the statistic of samples and that of the population."""

    @property
    def is_degenerate(self) -> bool:
        """Whether rows have no contributions of their own, so that the projection has no
        meaning."""
        added = root_mean_square(self.influence)
        return added <= max(_DEGENERATE * abs(self.value), ROUNDING * self.size)

    def error(self) -> float:
        """Return the standard error, that of drawing whole clusters if there are any."""
        if self.clusters is not None:  # sums over clusters vary, not rows
            sums = self._cluster_sums(self.clusters)
            count = len(sums)
            return (
                math.sqrt(count * count / (count - 1)) * root_mean_square(sums) / self.pairs.count
            )
        # Squares of very large or small numbers would overflow or vanish.
        largest = float(np.abs(self.influence).max()) or 1.0
        pairs, shares = self.pairs, self.pairs.row_weights * (self.influence / largest) ** 2
        classes = np.zeros(pairs.n, dtype=np.intp) if pairs.classes is None else pairs.classes
        sizes = np.bincount(classes, pairs.weights)
        spread = float(np.sqrt(np.bincount(classes, shares) @ (sizes / (sizes - 1.0))))
        return largest * (spread / pairs.count)

    def cluster_shares(self) -> FloatArray:
        """Return the contribution of each cluster: the squares add up to the statistic's
        variance."""
        assert self.clusters is not None
        sums = self._cluster_sums(self.clusters)
        return math.sqrt(len(sums) / (len(sums) - 1)) * sums / self.pairs.count

    def law(self) -> Law:
        """Return the law of the statistic over its error, if rows or whole clusters are drawn."""
        error = self.error()
        shift = self.bias / error if error > 0 else 0.0
        if self.clusters is None:
            return Law.of(self.influence, self.pairs.row_weights, self.pairs.freedom, shift)
        sums = self._cluster_sums(self.clusters)
        return Law.of(sums, np.ones(len(sums)), len(sums) - 1.0, shift)

    def _cluster_sums(self, clusters: IntArray) -> FloatArray:
        return np.bincount(clusters, self.pairs.row_weights * self.influence).astype(np.float64)


def project(pairs: Pairs, clusters: IntArray | None = None) -> Projection:
    """Compute a statistic of all pairs, and the contribution of each row."""
    kernel, data = pairs.unweighted
    weights = pairs.row_weights
    with sharing_orders():
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
    bias = _find_bias(pairs, weights, means, averages, clusters)
    return Projection(pairs, clusters, value, influence, size, bias)


def _find_bias(
    pairs: Pairs,
    weights: FloatArray,
    means: FloatArray,
    averages: FloatArray,
    clusters: IntArray | None,
) -> float:
    """Estimate the bias by leaving out rows or clusters; 0 if there are many."""
    kernel, own = pairs.unweighted[0], float(pairs.target == "u")
    if weights.sum() > _MOST_ROWS if clusters is None else clusters.max() >= _MOST_CLUSTERS:
        return 0.0
    if clusters is None:
        inner = np.stack([_own(part, pairs.unweighted[1]) for part in kernel.components], axis=1)
        inner = (1 - own) * inner
        return jackknife_bias(kernel, averages, means, inner, weights, np.ones(pairs.n), own)
    sizes = np.bincount(clusters, weights).astype(np.float64)
    sums = np.array([np.bincount(clusters, weights * part) for part in means.T], dtype=float).T
    inner = _sum_inside(pairs, weights, clusters)
    return jackknife_bias(kernel, averages, sums, inner, np.ones(len(sizes)), sizes, own)


def jackknife_bias(
    kernel: AnyKernel,
    averages: FloatArray,
    sums: FloatArray,
    inner: FloatArray | float,
    times: FloatArray,
    sizes: FloatArray,
    own: float,
) -> float:
    """Estimate the bias by Quenouille's jackknife; 0 if the remaining rows have no statistic.

    Units of ``sizes`` rows, each counting ``times`` times, are left out in turn, with the sums of
    their rows' means both ways and of the pairs inside. Each row has ``own`` pairs fewer than rows.
    """
    total, count = times @ sizes, times.sum()
    left = total - sizes
    with np.errstate(all="ignore"):
        without = (total - own) * (total * averages - sums) + inner
        # If all rows are tied, rounding could give any ratio.
        without[np.abs(without) <= ROUNDING * total * total * np.abs(averages)] = 0.0
        others = kernel.combine(without / (left * (left - own))[:, None])
        moved = np.where(times == 0, 0.0, others - kernel.combine(averages))
        bias = (count - 1) * (times @ moved / count)
    return float(bias) if math.isfinite(bias) else 0.0


def _sum_inside(pairs: Pairs, weights: FloatArray, clusters: IntArray) -> FloatArray:
    """Sum each component over the pairs within every cluster, own pairs as in the target."""
    kernel, data = pairs.unweighted
    sums = np.zeros((clusters.max() + 1, len(kernel.components)))
    order = np.argsort(clusters, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1):
        for k, part in enumerate(kernel.components):
            times = weights[rows]
            inside = times @ _weigh_rows(part, part.row_totals, data[rows], times)
            own = 0.0 if pairs.target == "v" else times @ _own(part, data[rows])
            sums[clusters[rows[0]], k] = inside - own
    return sums


def _own(kernel: Kernel, data: FloatArray) -> FloatArray:
    """Return h at every row's pair with itself."""
    return np.zeros(len(data)) if kernel.zero_diagonal else evaluate(kernel, data, data)


def _both_ways(kernel: Kernel, data: FloatArray, weights: FloatArray, target: str) -> FloatArray:
    """Return the means of h(k, l) + h(l, k) over l, own pairs as in the target."""
    rows = _weigh_rows(kernel, kernel.row_totals, data, weights)
    if kernel.symmetric:
        both = 2 * rows
    else:
        mirrored = replace(kernel, function=partial(_mirror, kernel.function))
        both = rows + _weigh_rows(mirrored, kernel.column_totals, data, weights)
    if target == "v":
        return both / weights.sum()
    return (both - 2 * _own(kernel, data)) / (weights.sum() - 1)


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
