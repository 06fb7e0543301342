"""The built-in pair functions in NumPy: two blocks of m observations in, m values out.

Order is decided by comparisons, never by the sign of a product, which can underflow to zero.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, PairFunction
from pairgossip.kernels.kernel import Formula


def _half_squared_difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return (x - y)^2 / 2."""
    difference = first - second
    return 0.5 * difference * difference


def _absolute_difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return |x - y|."""
    return np.abs(first - second)


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


def _agreement(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return +1 where both columns order the pair alike, -1 where unlike, 0 at any tie."""
    above, below = first > second, first < second
    signs = above.astype(np.float64) - below
    return signs[:, 0] * signs[:, 1]


def comparable(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where one outcome is known to be smaller: it is an event, if events are given."""
    smaller_first, smaller_second = _comparable_sides(first, second)
    return (smaller_first | smaller_second).astype(np.float64)


def concordant(first: FloatArray, second: FloatArray, ties: float) -> FloatArray:
    """Return 1 where a comparable pair's predictions agree with the outcomes, `ties` if tied."""
    smaller_first, smaller_second = _comparable_sides(first, second)
    p, q = first[:, 0], second[:, 0]
    agree = (smaller_first & (p < q)) | (smaller_second & (p > q))
    tied = (smaller_first | smaller_second) & (p == q)
    return np.asarray(agree + ties * tied)


def _comparable_sides(first: FloatArray, second: FloatArray) -> tuple[BoolArray, BoolArray]:
    smaller_first = first[:, 1] < second[:, 1]
    smaller_second = first[:, 1] > second[:, 1]
    if first.shape[1] == 3:
        tied, events, others = first[:, 1] == second[:, 1], first[:, 2] != 0, second[:, 2] != 0
        # A censored outcome is known to exceed an event at the same time.
        smaller_first = (smaller_first | (tied & ~others)) & events
        smaller_second = (smaller_second | (tied & ~events)) & others
    return smaller_first, smaller_second


def _higher_label(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where the first label is the higher one."""
    return (first[:, -1] > second[:, -1]).astype(np.float64)


def _higher_label_and_score(
    first: FloatArray, second: FloatArray, ties: float, column: int = 0
) -> FloatArray:
    """Return 1 where the first label and the first score are higher, `ties` at equal scores."""
    compared = first[:, -1] > second[:, -1]
    s, r = first[:, column], second[:, column]
    return np.asarray((compared & (s > r)) + ties * (compared & (s == r)))


def _discordance(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where score and label order the pair oppositely."""
    above, below = first > second, first < second
    opposite = (above[:, 0] & below[:, 1]) | (below[:, 0] & above[:, 1])
    return opposite.astype(np.float64)


def _squared_scatter(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return ||x - y||^2 within a cluster (the last column), 0 between clusters."""
    together = first[:, -1] == second[:, -1]
    return np.where(together, squared_distance(first[:, :-1], second[:, :-1]), 0.0)


def _plain_scatter(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return ||x - y|| within a cluster (the last column), 0 between clusters."""
    together = first[:, -1] == second[:, -1]
    return np.where(together, euclidean_distance(first[:, :-1], second[:, :-1]), 0.0)


def _metric_hinge(first: FloatArray, second: FloatArray, threshold: float) -> FloatArray:
    """Return max(0, 1 - (threshold - ||x - y||) s), s = 1 for equal labels and -1 otherwise."""
    margin = threshold - euclidean_distance(first[:, :-1], second[:, :-1])
    together = first[:, -1] == second[:, -1]
    return np.maximum(0.0, 1.0 - np.where(together, margin, -margin))


def _midpoint(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return (x + y) / 2, whose average is the mean."""
    return (first + second) / 2


def _apart(first: FloatArray, second: FloatArray, column: int) -> FloatArray:
    """Return 1 where a column differs."""
    return (first[:, column] != second[:, column]).astype(np.float64)


def _both_apart(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where both columns differ."""
    return _apart(first, second, 0) * _apart(first, second, 1)


def formula_function(formula: Formula, parameter: float) -> PairFunction | None:
    """Return the function that compiled code evaluates for a formula, None for its own."""
    functions_of: dict[Formula, PairFunction] = {
        Formula.VARIANCE: _half_squared_difference,
        Formula.GINI: _absolute_difference,
        Formula.DISTANCE: euclidean_distance,
        Formula.KENDALL: _agreement,
        Formula.CONCORDANT: partial(concordant, ties=parameter),
        Formula.COMPARABLE: comparable,
        Formula.AUC_ORDERED: partial(_higher_label_and_score, ties=parameter),
        Formula.AUC_COMPARED: _higher_label,
        Formula.RANKING_RISK: _discordance,
        Formula.SCATTER_SQUARED: _squared_scatter,
        Formula.SCATTER_PLAIN: _plain_scatter,
        Formula.METRIC_LEARNING_RISK: partial(_metric_hinge, threshold=parameter),
        Formula.MIDPOINT: _midpoint,
        Formula.FIRST_APART: partial(_apart, column=0),
        Formula.SECOND_APART: partial(_apart, column=1),
        Formula.BOTH_APART: _both_apart,
        Formula.SECOND_AUC_ORDERED: partial(_higher_label_and_score, ties=parameter, column=1),
    }
    return functions_of.get(formula)
