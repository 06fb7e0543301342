"""The built-in kernels, each made by a function and found by name in `CATALOG`."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import closed_forms
from pairgossip.kernels.data import check_two_classes
from pairgossip.kernels.functions import formula_function
from pairgossip.kernels.kernel import CATALOG, Formula, Kernel, Ratio
from pairgossip.text import format_rows

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


def formula_kernel(formula: Formula, parameter: float = 0.0, **known: Any) -> Kernel:
    """Make a kernel of a formula: symmetric and 0 at own pairs, unless it is known otherwise."""
    function = formula_function(formula, parameter)
    assert function is not None
    known = {"symmetric": True, "zero_diagonal": True, "weighs": True} | known
    return Kernel(function, formula=formula, parameter=parameter, **known)


def variance() -> Kernel:
    """Half the squared difference; its U-statistic is the unbiased sample variance."""
    return formula_kernel(
        Formula.VARIANCE,
        name="variance",
        columns=("value",),
        total=closed_forms.variance_total,
        row_totals=closed_forms.variance_rows,
        expression="(x - y)^2 / 2",
        interval_scale="log",
        description="spread: the sample variance",
        same_as="U: numpy.var(x, ddof=1), V: numpy.var(x)",
    )


def gini() -> Kernel:
    """The absolute difference; its average is Gini's mean difference."""
    return formula_kernel(
        Formula.GINI,
        name="gini",
        columns=("value",),
        total=closed_forms.gini_total,
        row_totals=closed_forms.gini_rows,
        expression="|x - y|",
        interval_scale="log",
        description="spread: Gini's mean difference",
        same_as="U: R Hmisc::GiniMd",
    )


def distance() -> Kernel:
    """The Euclidean distance between two observations of any number of columns."""
    return formula_kernel(
        Formula.DISTANCE,
        name="distance",
        label_sizes=True,
        expression="||x - y||",
        interval_scale="log",
        description="mean distance between two observations",
        same_as="U: mean of scipy.spatial.distance.pdist",
    )


def kendall() -> Kernel:
    """Whether two columns order a pair alike (+1) or not (-1); the U-statistic is tau-a."""
    return formula_kernel(
        Formula.KENDALL,
        name="kendall",
        label_sizes=True,
        association=True,
        columns=("x", "y"),
        total=closed_forms.agreement_total,
        row_totals=closed_forms.agreement_rows,
        expression="sign(x1 - y1) sign(x2 - y2)",
        description="rank correlation: Kendall's tau-a",
        same_as="U: scipy.stats.kendalltau without ties",
        interval_scale="fisher",
        null=0.0,
    )


def concordance(ties: float = 0.5) -> Ratio:
    """Harrell's C: of the comparable pairs, how many are predicted in the order of outcomes.

    The columns are prediction, outcome and, for censored data, event (1 if the outcome was
    observed, 0 if it is only known to be larger). A pair is comparable if the smaller outcome is
    an event; at equal outcomes an event comes before a censored one, while two events, or two
    censored ones, are not compared. A higher prediction should go with a larger outcome.

    Parameters
    ----------
    ties
        What a comparable pair with equal predictions counts.
    """
    ties = _check_ties(ties)
    part = partial(
        formula_kernel,
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
        same_as="lifelines.utils.concordance_index",
        interval_scale="logit",
        null=0.5,
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
        formula_kernel,
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
        same_as="sklearn.metrics.roc_auc_score, Mann-Whitney U / (n0 n1)",
        interval_scale="logit",
        null=0.5,
    )


def ranking_risk() -> Kernel:
    """Whether a score orders a pair against its graded labels; ties are not mistakes."""
    return formula_kernel(
        Formula.RANKING_RISK,
        name="ranking-risk",
        label_sizes=True,
        association=True,
        columns=("score", "label"),
        total=closed_forms.discordance_total,
        row_totals=closed_forms.discordance_rows,
        expression="1{(s - s')(l - l') < 0}",
        description="graded ranking: share of pairs in the wrong order",
        interval_scale="logit",
    )


def within_cluster_scatter(squared: bool = True) -> Kernel:
    """Squared (or plain) distance of two observations of one cluster, 0 between clusters.

    Parameters
    ----------
    squared
        Whether distances are squared, as k-means does.
    """
    return formula_kernel(
        Formula.SCATTER_SQUARED if squared else Formula.SCATTER_PLAIN,
        name="within-cluster-scatter",
        label_sizes=False,
        columns=("features...", "cluster"),
        total=closed_forms.squared_scatter_total if squared else None,
        row_totals=closed_forms.squared_scatter_rows if squared else None,
        expression=f"||x - y||{'^2' if squared else ''} 1{{c = c'}}",
        interval_scale="log",
        description="clustering: within-cluster point scatter",
        same_as="V: 2 inertia_ of sklearn.cluster.KMeans / n with one cluster",
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
    return formula_kernel(
        Formula.METRIC_LEARNING_RISK,
        float(threshold),
        name="metric-learning-risk",
        zero_diagonal=threshold >= 1.0,
        label_sizes=False,
        columns=("features...", "label"),
        expression="max(0, 1 - (threshold - ||x - y||) (2 1{l = l'} - 1))",
        interval_scale="log",
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
