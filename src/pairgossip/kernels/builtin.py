"""The built-in kernels, each made by a function and found by name in `CATALOG`."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels import closed_forms
from pairgossip.kernels.data import check_two_classes
from pairgossip.kernels.kernel import CATALOG, Formula, Kernel, Ratio
from pairgossip.text import format_rows

# The built-in pair functions in NumPy: two blocks of m observations in, m values out.
#
# Order is decided by comparisons, never by the sign of a product, which can underflow to zero.


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
    return np.asarray(np.einsum("ij,ij->i", difference, difference))


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
    """Return 1 where outcomes differ and the smaller one, if events are given, is an event."""
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
        smaller_first &= first[:, 2] != 0
        smaller_second &= second[:, 2] != 0
    return smaller_first, smaller_second


def _higher_label(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where the first label is the higher one."""
    return (first[:, 1] > second[:, 1]).astype(np.float64)


def _higher_label_and_score(first: FloatArray, second: FloatArray, ties: float) -> FloatArray:
    """Return 1 where the first label and the first score are higher, `ties` at equal scores."""
    compared = first[:, 1] > second[:, 1]
    s, r = first[:, 0], second[:, 0]
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


# What single built-in kernels ask of parameters and data beyond the number of columns.


def _check_ties(ties: float) -> float:
    """Return the weight of tied pairs, from 0 to 1, or raise `InputError`."""
    if not 0.0 <= ties <= 1.0:
        raise InputError(f"The weight of ties is {ties}: give a number from 0 to 1.")
    return float(ties)


def _check_events(data: FloatArray) -> None:
    """Raise `InputError` unless the third column, if any, holds 0 and 1 only."""
    if data.shape[1] != 3:
        return
    wrong = np.flatnonzero((data[:, 2] != 0) & (data[:, 2] != 1))
    if len(wrong):
        raise InputError(
            f"Kernel 'concordance' needs events of 0 (censored) or 1 (observed): "
            f"recode {format_rows(wrong)} (counting from 0)."
        )


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
    }
    return functions_of.get(formula)


def _kernel(formula: Formula, parameter: float = 0.0, **known: Any) -> Kernel:
    """Make a kernel of a formula: symmetric and 0 at own pairs, unless it is known otherwise."""
    function = formula_function(formula, parameter)
    assert function is not None
    known = {"symmetric": True, "zero_diagonal": True} | known
    return Kernel(function, formula=formula, parameter=parameter, **known)


def variance() -> Kernel:
    """Half the squared difference; its U-statistic is the unbiased sample variance."""
    return _kernel(
        Formula.VARIANCE,
        name="variance",
        columns=("value",),
        total=closed_forms.variance_total,
        row_totals=closed_forms.variance_rows,
        expression="(x - y)^2 / 2",
        description="spread: the sample variance",
    )


def gini() -> Kernel:
    """The absolute difference; its average is Gini's mean difference."""
    return _kernel(
        Formula.GINI,
        name="gini",
        columns=("value",),
        total=closed_forms.gini_total,
        row_totals=closed_forms.gini_rows,
        expression="|x - y|",
        description="spread: Gini's mean difference",
    )


def distance() -> Kernel:
    """The Euclidean distance between two observations of any number of columns."""
    return _kernel(
        Formula.DISTANCE,
        name="distance",
        label_sizes=True,
        expression="||x - y||",
        description="mean distance between two observations",
    )


def kendall() -> Kernel:
    """Whether two columns order a pair alike (+1) or not (-1); the U-statistic is tau-a."""
    return _kernel(
        Formula.KENDALL,
        name="kendall",
        label_sizes=True,
        association=True,
        columns=("x", "y"),
        total=closed_forms.agreement_total,
        row_totals=closed_forms.agreement_rows,
        expression="sign(x1 - y1) sign(x2 - y2)",
        description="rank correlation: Kendall's tau-a",
    )


def concordance(ties: float = 0.5) -> Ratio:
    """Harrell's C: of the comparable pairs, how many are predicted in the order of outcomes.

    The columns are prediction, outcome and, for censored data, event (1 if the outcome was
    observed, 0 if it is only known to be larger). A pair is comparable if the outcomes differ
    and the smaller one is an event. A higher prediction should go with a larger outcome.

    Parameters
    ----------
    ties
        What a comparable pair with equal predictions counts.
    """
    ties = _check_ties(ties)
    part = partial(
        _kernel,
        columns=("prediction", "outcome", "event?"),
        label_sizes=True,
        association=True,
        validate=_check_events,
    )
    agreeing = part(
        Formula.CONCORDANT,
        ties,
        name="concordance numerator",
        total=partial(closed_forms.concordant_total, ties=ties),
        row_totals=partial(closed_forms.concordant_rows, ties=ties),
    )
    compared = part(
        Formula.COMPARABLE,
        name="concordance denominator",
        total=closed_forms.comparable_total,
        row_totals=closed_forms.comparable_rows,
    )
    return Ratio(
        agreeing,
        compared,
        name="concordance",
        expression="1{comparable} (1{concordant} + ties 1{p = q}) / 1{comparable}",
        description="survival and ranking: Harrell's concordance index",
    )


def auc(ties: float = 0.5) -> Ratio:
    """Area under the ROC curve of scores for two classes, the higher label being positive.

    Parameters
    ----------
    ties
        What a pair of classes with equal scores counts: 0.5 as usual; `auc(ties=0)` is the
        definition that counts strictly ordered pairs only.
    """
    ties = _check_ties(ties)
    part = partial(
        _kernel,
        symmetric=False,
        columns=("score", "label"),
        label_sizes=False,
        two_classes=True,
        validate=partial(check_two_classes, "Kernel 'auc'", "'ranking-risk' or 'concordance'"),
    )
    ordered = part(
        Formula.AUC_ORDERED,
        ties,
        name="auc numerator",
        total=partial(closed_forms.higher_label_and_score_total, ties=ties),
        row_totals=partial(closed_forms.higher_label_and_score_rows, ties=ties),
        column_totals=partial(closed_forms.lower_label_and_score_rows, ties=ties),
    )
    compared = part(
        Formula.AUC_COMPARED,
        name="auc denominator",
        total=closed_forms.higher_label_total,
        row_totals=closed_forms.higher_label_rows,
        column_totals=closed_forms.lower_label_rows,
    )
    return Ratio(
        ordered,
        compared,
        name="auc",
        expression="1{l > l'} (1{s > s'} + ties 1{s = s'}) / 1{l > l'}",
        description="bipartite ranking: area under the ROC curve",
    )


def ranking_risk() -> Kernel:
    """Whether a score orders a pair against its graded labels; ties are not mistakes."""
    return _kernel(
        Formula.RANKING_RISK,
        name="ranking-risk",
        label_sizes=True,
        association=True,
        columns=("score", "label"),
        total=closed_forms.discordance_total,
        row_totals=closed_forms.discordance_rows,
        expression="1{(s - s')(l - l') < 0}",
        description="graded ranking: share of pairs in the wrong order",
    )


def within_cluster_scatter(squared: bool = True) -> Kernel:
    """Squared (or plain) distance of two observations of one cluster, 0 between clusters.

    Parameters
    ----------
    squared
        Whether distances are squared, as k-means does.
    """
    return _kernel(
        Formula.SCATTER_SQUARED if squared else Formula.SCATTER_PLAIN,
        name="within-cluster-scatter",
        label_sizes=False,
        columns=("features...", "cluster"),
        total=closed_forms.squared_scatter_total if squared else None,
        row_totals=closed_forms.squared_scatter_rows if squared else None,
        expression=f"||x - y||{'^2' if squared else ''} 1{{c = c'}}",
        description="clustering: within-cluster point scatter",
    )


def metric_learning_risk(threshold: float = 1.0) -> Kernel:
    """Hinge loss of the Euclidean distance as a test of "same label".

    Parameters
    ----------
    threshold
        The distance below which two observations are declared alike.
    """
    if not (math.isfinite(threshold) and threshold >= 0):
        raise InputError(f"The threshold is a distance, but got {threshold}: give a number >= 0.")
    return _kernel(
        Formula.METRIC_LEARNING_RISK,
        float(threshold),
        name="metric-learning-risk",
        zero_diagonal=threshold >= 1.0,
        label_sizes=False,
        columns=("features...", "label"),
        expression="max(0, 1 - (threshold - ||x - y||) (2 1{l = l'} - 1))",
        description="metric learning: hinge loss of same-or-different by distance",
    )


CATALOG.update(
    (factory.__name__.replace("_", "-"), factory)
    for factory in (
        variance,
        gini,
        distance,
        kendall,
        concordance,
        auc,
        ranking_risk,
        within_cluster_scatter,
        metric_learning_risk,
    )
)
