"""Kernels of the distance of rows: variance, Gini, distances, scatter within clusters.

Each built-in pair function has its closed forms here: sums over all ordered pairs (k, l), own pairs
included, in O(n log n) instead of O(n^2). Sums over the pairs of every row take weights of the
others: row l counts w_l times, or once without weights.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels.kernel import Combination, Formula, Kernel, quotient_slopes, register
from pairgossip.kernels.orders import weights_or_ones

__all__ = [
    "distance",
    "gini",
    "gini_coefficient",
    "metric_learning_risk",
    "variance",
    "within_cluster_scatter",
]


def _half_squared_difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return (x - y)^2 / 2."""
    difference = first - second
    return 0.5 * difference * difference


def _variance_total(data: FloatArray) -> float:
    """Sum (x - y)^2 / 2."""
    centered = data - data.mean()
    # The last term removes the rounding error of the mean.
    return float(len(data) * np.sum(centered**2) - np.sum(centered) ** 2)


def _variance_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Sum (x_k - y)^2 / 2 over y, for every k."""
    weights = weights_or_ones(data, weights)
    centered = data - data.mean()
    squares = weights.sum() * centered**2 + np.sum(weights * centered**2)
    return 0.5 * (squares - 2.0 * centered * np.sum(weights * centered))


VARIANCE = Formula(
    "VARIANCE", 0, _half_squared_difference, _variance_total, _variance_rows, is_bounded=False
)


def _absolute_difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return |x - y|."""
    return np.abs(first - second)


def _gini_total(data: FloatArray) -> float:
    """Sum |x - y|."""
    gaps = np.diff(np.sort(data))
    below = np.arange(1.0, len(data))
    # A gap is crossed by every pair with one end on each side; no term is negative.
    return float(2.0 * np.sum(gaps * below * (len(data) - below)))


def _gini_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Sum |x_k - y| over y, for every k."""
    order = np.argsort(data, kind="stable")
    gaps = np.diff(data[order])
    reached = np.cumsum(weights_or_ones(data, weights)[order])
    below, above = reached[:-1], reached[-1] - reached[:-1]
    from_below = np.concatenate(([0.0], np.cumsum(gaps * below)))
    from_above = np.concatenate((np.cumsum((gaps * above)[::-1])[::-1], [0.0]))
    rows = np.empty(len(data))
    rows[order] = from_below + from_above
    return rows


GINI = Formula("GINI", 1, _absolute_difference, _gini_total, _gini_rows, is_bounded=False)


def squared_distance(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return ||x - y||^2, for one column or several."""
    difference = first - second
    if difference.ndim == 1:
        return difference * difference
    return np.einsum("ij,ij->i", difference, difference)


def euclidean_distance(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return ||x - y||, for one column or several."""
    if first.ndim == 1:
        return np.abs(first - second)
    return np.sqrt(squared_distance(first, second))


DISTANCE = Formula("DISTANCE", 2, euclidean_distance, is_bounded=False)


def _midpoint(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return (x + y) / 2, whose average is the mean."""
    return (first + second) / 2


def _midpoint_total(data: FloatArray) -> float:
    """Sum (x + y) / 2."""
    return float(len(data) * data.sum())


def _midpoint_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Sum (x_k + y) / 2 over y, for every k."""
    weights = weights_or_ones(data, weights)
    return (weights.sum() * data + weights @ data) / 2


MIDPOINT = Formula("MIDPOINT", 12, _midpoint, _midpoint_total, _midpoint_rows, is_bounded=False)


@register
def variance() -> Kernel:
    """Return half the squared difference, whose U-statistic is the unbiased sample variance."""
    return VARIANCE.kernel(
        name="variance",
        columns=("value",),
        expression="(x - y)^2 / 2",
        interval_scale="log",
        description="spread: the sample variance",
        same_as="U: numpy.var(x, ddof=1), V: numpy.var(x)",
    )


@register
def gini() -> Kernel:
    """Return the absolute difference, whose average is Gini's mean difference."""
    return GINI.kernel(
        name="gini",
        columns=("value",),
        expression="|x - y|",
        interval_scale="log",
        description="spread: Gini's mean difference",
        same_as="U: R Hmisc::GiniMd",
    )


def _check_incomes(data: FloatArray) -> None:
    if data.min() < 0:
        raise InputError(
            f"Kernel 'gini-coefficient' takes amounts of 0 or more, but the smallest is "
            f"{data.min():g}: use 'gini', the mean difference."
        )
    if not data.max() > 0:
        raise InputError(
            "Kernel 'gini-coefficient' has no value where all amounts are 0: choose another column."
        )


@register
def gini_coefficient() -> Combination:
    """Return Gini's coefficient of inequality: the mean difference over twice the mean."""
    mean = MIDPOINT.kernel(
        name="mean",
        zero_diagonal=False,
        columns=("value",),
        validate=_check_incomes,
    )
    return Combination(
        (gini(), mean),
        _half_quotient,
        _half_slopes,
        name="gini-coefficient",
        expression="mean |x - y| / (2 mean x)",
        description="inequality: Gini's coefficient, from 0 to 1",
        same_as="V: R ineq::Gini",
        interval_scale="logit",
    )


def _half_quotient(averages: FloatArray) -> FloatArray:
    return 0.5 * averages[..., 0] / averages[..., 1]


def _half_slopes(averages: FloatArray) -> FloatArray:
    return 0.5 * quotient_slopes(averages)


@register
def distance() -> Kernel:
    """Return the Euclidean distance between two observations of any number of columns."""
    return DISTANCE.kernel(
        name="distance",
        label_sizes=True,
        expression="||x - y||",
        interval_scale="log",
        description="mean distance between two observations",
        same_as="U: mean of scipy.spatial.distance.pdist",
    )


def _scatter(first: FloatArray, second: FloatArray, distance: PairFunction) -> FloatArray:
    """Return the distance within a cluster (the last column), 0 between clusters."""
    together = first[:, -1] == second[:, -1]
    return np.where(together, distance(first[:, :-1], second[:, :-1]), 0.0)


def _squared_scatter_total(data: FloatArray) -> float:
    """Sum ||x - y||^2 within the clusters of the last column."""
    _, sizes, squares, sums, _ = _clusters(data, np.ones(len(data)))
    return float(2.0 * np.sum(sizes * squares - np.sum(sums**2, axis=1)))


def _squared_scatter_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Sum ||x_k - y||^2 over y in the cluster of x_k, for every k."""
    cluster, sizes, squares, sums, centered = _clusters(data, weights_or_ones(data, weights))
    own = sizes[cluster] * np.sum(centered**2, axis=1)
    return own + squares[cluster] - 2.0 * np.sum(centered * sums[cluster], axis=1)


def _clusters(
    data: FloatArray, weights: FloatArray
) -> tuple[NDArray[np.intp], FloatArray, FloatArray, FloatArray, FloatArray]:
    """Center each cluster: return rows' clusters, sizes, sums of squares, sums, centered rows."""
    cluster = np.unique(data[:, -1], return_inverse=True)[1]
    counts = np.bincount(cluster)

    def sums(features: FloatArray, weights: FloatArray) -> FloatArray:
        return np.stack([np.bincount(cluster, weights * column) for column in features.T], axis=1)

    means = sums(data[:, :-1], np.ones(len(data))) / counts[:, None]
    centered = data[:, :-1] - means[cluster]
    squares, sizes = (
        np.bincount(cluster, part).astype(np.float64)
        for part in (weights * np.sum(centered**2, axis=1), weights)
    )
    return cluster, sizes, squares, sums(centered, weights), centered


SCATTER_SQUARED = Formula(
    "SCATTER_SQUARED",
    9,
    partial(_scatter, distance=squared_distance),
    _squared_scatter_total,
    _squared_scatter_rows,
    is_bounded=False,
)
SCATTER_PLAIN = Formula(
    "SCATTER_PLAIN", 10, partial(_scatter, distance=euclidean_distance), is_bounded=False
)


@register
def within_cluster_scatter(squared: bool = True) -> Kernel:
    """Return the squared (or plain) distance within a cluster, 0 between clusters.

    Parameters
    ----------
    squared
        Whether distances are squared, as k-means does.
    """
    formula = SCATTER_SQUARED if squared else SCATTER_PLAIN
    return formula.kernel(
        name="within-cluster-scatter",
        label_sizes=False,
        columns=("features...", "cluster"),
        expression=f"||x - y||{'^2' if squared else ''} 1{{c = c'}}",
        interval_scale="log",
        description="clustering: within-cluster point scatter",
        same_as="V: 2 inertia_ of sklearn.cluster.KMeans / n with one cluster",
    )


def _metric_hinge(first: FloatArray, second: FloatArray, threshold: float) -> FloatArray:
    """Return max(0, 1 - (threshold - ||x - y||) s), s = 1 for equal labels and -1 otherwise."""
    margin = threshold - euclidean_distance(first[:, :-1], second[:, :-1])
    together = first[:, -1] == second[:, -1]
    return np.maximum(0.0, 1.0 - np.where(together, margin, -margin))


METRIC_LEARNING_RISK = Formula(
    "METRIC_LEARNING_RISK", 11, _metric_hinge, takes="threshold", is_bounded=False
)


@register
def metric_learning_risk(threshold: float = 1.0) -> Kernel:
    """Return the hinge loss of the Euclidean distance as a classifier of equal labels.

    Parameters
    ----------
    threshold
        The distance below which two observations count as having equal labels.
    """
    if not (math.isfinite(threshold) and threshold >= 0):
        raise InputError(f"The threshold is a distance, but got {threshold}: give a number >= 0.")
    return METRIC_LEARNING_RISK.kernel(
        float(threshold),
        name="metric-learning-risk",
        zero_diagonal=threshold >= 1.0,
        label_sizes=False,
        columns=("features...", "label"),
        expression="max(0, 1 - (threshold - ||x - y||) (2 1{l = l'} - 1))",
        interval_scale="log",
        description="metric learning: hinge loss of same-or-different by distance",
    )
