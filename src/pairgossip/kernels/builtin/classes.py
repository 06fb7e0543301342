"""Statistics of two classes: AUCs, and distances between two samples.

Energy distance and MMD are functions of three averages of one kernel.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels.builtin.spread import euclidean_distance, squared_distance
from pairgossip.kernels.data import check_two_classes
from pairgossip.kernels.kernel import Combination, Formula, Kernel, Ratio, quotient_slopes, register
from pairgossip.kernels.orders import order_column, rows_follow, weights_or_ones

__all__ = ["auc", "auc_difference", "energy_distance", "mmd"]

_TWO_CLASSES: dict[str, Any] = {"symmetric": False, "label_sizes": False, "two_classes": True}
_SIDES = ("between classes", "within class 0", "within class 1")


def _higher_label(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where the first label is the higher one."""
    return (first[:, -1] > second[:, -1]).astype(np.float64)


def higher_label_total(data: FloatArray) -> float:
    """Sum 1 at pairs (k, l) of a higher and a lower label, of two labels."""
    positives = int(np.count_nonzero(_is_high(data)))
    return float(positives * (len(data) - positives))


def _higher_label_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count, for every row of the higher label, the rows of the lower one."""
    high = _is_high(data)
    return np.where(high, weights_or_ones(data, weights)[~high].sum(), 0.0)


def _lower_label_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count, for every row of the lower label, the rows of the higher one."""
    high = _is_high(data)
    return np.where(high, 0.0, weights_or_ones(data, weights)[high].sum())


def _higher_label_and_score(
    first: FloatArray, second: FloatArray, ties: float, column: int = 0
) -> FloatArray:
    """Return 1 where the first label and the first score are higher, `ties` at equal scores."""
    compared = first[:, -1] > second[:, -1]
    s, r = first[:, column], second[:, column]
    return (compared & (s > r)) + ties * (compared & (s == r))


def higher_label_and_score_total(data: FloatArray, ties: float, column: int = 0) -> float:
    """Sum 1 at pairs (k, l) of a higher and a lower label scored in order, `ties` if tied."""
    high, scores = _is_high(data), data[:, column]
    if rows_follow():
        places, counts = order_column(scores)
        ups = np.bincount(places, high).astype(np.int64)
        downs = counts - ups
        return int(ups @ (np.cumsum(downs) - downs)) + ties * int(ups @ downs)
    positives, negatives = np.sort(scores[high]), np.sort(scores[~high])
    below = int(np.searchsorted(negatives, positives, side="left").sum())
    up_to = int(np.searchsorted(negatives, positives, side="right").sum())
    return below + ties * (up_to - below)


def _higher_label_and_score_rows(
    data: FloatArray, weights: FloatArray | None = None, *, ties: float, column: int = 0
) -> FloatArray:
    """Count, for every row of the higher label, the rows of the lower one that it outscores."""
    places = order_column(data[:, column]).places
    return weigh_outscored(places, _is_high(data), weights_or_ones(data, weights), ties)


def _lower_label_and_score_rows(
    data: FloatArray, weights: FloatArray | None = None, *, ties: float, column: int = 0
) -> FloatArray:
    """Count, for every row of the lower label, the rows of the higher one that outscore it."""
    places, counts = order_column(data[:, column])
    from_above = len(counts) - 1 - places
    return weigh_outscored(from_above, ~_is_high(data), weights_or_ones(data, weights), ties)


def _is_high(data: FloatArray) -> BoolArray:
    """Return whether each row has the higher of two labels, in the last column."""
    return data[:, -1] == data[:, -1].max()


def weigh_outscored(
    places: IntArray, counted: BoolArray, weights: FloatArray, ties: float
) -> FloatArray:
    """Sum, for the marked rows, the weights of others at lower places, and `ties` of equal ones."""
    others = np.bincount(places, np.where(counted, 0.0, weights))
    reached = np.cumsum(others)
    below = np.concatenate(([0.0], reached[:-1]))
    return np.where(counted, (below + ties * (reached - below))[places], 0.0)


AUC_COMPARED = Formula(
    "AUC_COMPARED", 7, _higher_label, higher_label_total, _higher_label_rows, _lower_label_rows
)
AUC_ORDERED = Formula(
    "AUC_ORDERED",
    6,
    _higher_label_and_score,
    higher_label_and_score_total,
    _higher_label_and_score_rows,
    _lower_label_and_score_rows,
    takes="ties",
)
SECOND_AUC_ORDERED = Formula(
    "SECOND_AUC_ORDERED",
    16,
    partial(_higher_label_and_score, column=1),
    partial(higher_label_and_score_total, column=1),
    partial(_higher_label_and_score_rows, column=1),
    partial(_lower_label_and_score_rows, column=1),
    takes="ties",
)


def check_ties(ties: float) -> float:
    """Return the weight of tied pairs, from 0 to 1, or raise `InputError`."""
    if not 0.0 <= ties <= 1.0:
        raise InputError(f"The weight of ties is {ties}: give a number from 0 to 1.")
    return float(ties)


@register
def auc(ties: float = 0.5) -> Ratio:
    """Return the area under the ROC curve of scores; the higher of two labels is positive.

    Parameters
    ----------
    ties
        The weight of a pair with equal scores: 0.5 as usual; `auc(ties=0)` counts strictly ordered
        pairs only.
    """
    ties = check_ties(ties)
    facts = _TWO_CLASSES | {
        "columns": ("score", "label"),
        "validate": partial(check_two_classes, "Kernel 'auc'", "'ranking-risk' or 'concordance'"),
    }
    return Ratio(
        AUC_ORDERED.kernel(ties, name="auc numerator", **facts),
        AUC_COMPARED.kernel(name="auc denominator", **facts),
        name="auc",
        expression="1{l > l'} (1{s > s'} + ties 1{s = s'}) / 1{l > l'}",
        description="bipartite ranking: area under the ROC curve",
        same_as="sklearn.metrics.roc_auc_score, Mann-Whitney U / (n0 n1)",
        interval_scale="logit",
        null=0.5,
    )


@register
def auc_difference() -> Combination:
    """Return the AUC of the first score minus that of the second, on the same rows."""
    first, compared = auc().components
    columns = ("score", "other score", "label")
    name = "auc numerator of the second score"
    second = SECOND_AUC_ORDERED.kernel(0.5, name=name, columns=columns, **_TWO_CLASSES)
    return Combination(
        (replace(first, columns=columns), second, replace(compared, columns=columns)),
        _difference_over,
        _difference_over_slopes,
        name="auc-difference",
        expression="auc of the first score - auc of the second",
        description="comparing two scores on the same rows: the difference of their AUCs",
        same_as='R pROC::roc.test(method="delong")',
        null=0.0,
    )


def _difference_over(averages: FloatArray) -> FloatArray:
    return (averages[..., 0] - averages[..., 1]) / averages[..., 2]


def _difference_over_slopes(averages: FloatArray) -> FloatArray:
    bottom = averages[..., 2]
    slopes = [1 / bottom, -1 / bottom, -_difference_over(averages) / bottom]
    return np.stack(slopes, axis=-1)


@register
def energy_distance() -> Combination:
    """Return twice the mean distance between two classes, minus those within each."""
    return _compare(
        euclidean_distance,
        -1.0,
        name="energy-distance",
        expression="2 mean ||x - y|| - mean ||x - x'|| - mean ||y - y'||",
        description="difference of two samples: their energy distance",
        same_as="V: dcor.energy_distance",
    )


@register
def mmd(bandwidth: float = 1.0) -> Combination:
    """Return the squared maximum mean discrepancy of two classes, with a Gaussian kernel.

    Parameters
    ----------
    bandwidth
        The distance at which two rows count as about half alike:
        k = exp(-d^2 / (2 bandwidth^2)).
    """
    if not (math.isfinite(bandwidth) and bandwidth > 0):
        raise InputError(f"The bandwidth is a distance, but got {bandwidth}: give a number > 0.")
    return _compare(
        partial(_likeness, bandwidth=float(bandwidth)),
        1.0,
        name="mmd",
        expression="mean k(x, x') + mean k(y, y') - 2 mean k(x, y)",
        description="difference of two samples: their squared maximum mean discrepancy",
        same_as="V: hyppo.ksample.MMD with a Gaussian kernel",
    )


def _likeness(first: FloatArray, second: FloatArray, bandwidth: float) -> FloatArray:
    return np.exp(-squared_distance(first, second) / (2 * bandwidth**2))


def _compare(function: PairFunction, sign: float, *, name: str, **texts: Any) -> Combination:
    """Compare averages of a symmetric function within two classes and between them."""
    parts = [
        Kernel(
            partial(_value, function if sums else None, side),
            name=f"{name} {_SIDES[side]}{'' if sums else ', pairs'}",
            symmetric=True,
            zero_diagonal=side == 0,
            columns=("features...", "label"),
            label_sizes=False,
            two_classes=True,
            validate=partial(_check_labels, name),
        )
        for side in range(3)
        for sums in (True, False)
    ]
    contrast = Kernel(function, name=name, symmetric=True)
    return Combination(
        tuple(parts),
        partial(_contrast, sign),
        partial(_contrast_slopes, sign),
        name=name,
        null=0.0,
        contrast=contrast,
        **texts,
    )


def _value(
    function: PairFunction | None, side: int, first: FloatArray, second: FloatArray
) -> FloatArray:
    counted = _counted(side, first[:, -1], second[:, -1])
    if function is None:
        return counted.astype(np.float64)
    return np.where(counted, function(first[:, :-1], second[:, :-1]), 0.0)


def _counted(side: int, first: FloatArray, second: FloatArray) -> BoolArray:
    if side == 0:
        return first != second
    return (first == side - 1) & (second == side - 1)


def _contrast(sign: float, averages: FloatArray) -> FloatArray:
    between, low, high = (averages[..., 2 * k] / averages[..., 2 * k + 1] for k in range(3))
    return sign * (low + high - 2 * between)


def _contrast_slopes(sign: float, averages: FloatArray) -> FloatArray:
    sides = np.split(averages, 3, axis=-1)
    slopes = [
        sign * times * quotient_slopes(side)
        for times, side in zip((-2.0, 1.0, 1.0), sides, strict=True)
    ]
    return np.concatenate(slopes, axis=-1)


def _check_labels(name: str, data: FloatArray) -> None:
    check_two_classes(f"Kernel '{name}'", "two of them", data)
    found = np.unique(data[:, -1])
    if found.tolist() != [0.0, 1.0]:
        raise InputError(
            f"Kernel '{name}' needs labels 0 and 1, but they are {found[0]:g} and {found[1]:g}: "
            "recode them, or declare {argument}.",
            "classes",
            [float(label) for label in found],
        )
