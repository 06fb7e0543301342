"""The built-in kernels, each made by a function and found by name in `CATALOG`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from pairgossip.arrays import PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels import closed_forms, functions
from pairgossip.kernels.kernel import CATALOG, Formula, Kernel, Ratio
from pairgossip.kernels.validation import check_events, check_ties, check_two_classes

Factory = TypeVar("Factory", bound=Callable[..., Kernel | Ratio])


def _named(name: str) -> Callable[[Factory], Factory]:
    def register(factory: Factory) -> Factory:
        CATALOG[name] = factory
        return factory

    return register


@_named("variance")
def variance() -> Kernel:
    """Half the squared difference; its U-statistic is the unbiased sample variance."""
    return Kernel(
        functions.half_squared_difference,
        name="variance",
        symmetric=True,
        zero_diagonal=True,
        columns=("value",),
        formula=Formula.VARIANCE,
        total=closed_forms.variance_total,
        row_totals=closed_forms.variance_rows,
        expression="(x - y)^2 / 2",
        description="spread: the sample variance",
    )


@_named("gini")
def gini() -> Kernel:
    """The absolute difference; its average is Gini's mean difference."""
    return Kernel(
        functions.absolute_difference,
        name="gini",
        symmetric=True,
        zero_diagonal=True,
        columns=("value",),
        formula=Formula.GINI,
        total=closed_forms.gini_total,
        row_totals=closed_forms.gini_rows,
        expression="|x - y|",
        description="spread: Gini's mean difference",
    )


@_named("distance")
def distance() -> Kernel:
    """The Euclidean distance between two observations of any number of columns."""
    return Kernel(
        functions.distance,
        name="distance",
        symmetric=True,
        zero_diagonal=True,
        label_sizes=True,
        formula=Formula.DISTANCE,
        expression="||x - y||",
        description="mean distance between two observations",
    )


@_named("kendall")
def kendall() -> Kernel:
    """Whether two columns order a pair alike (+1) or not (-1); the U-statistic is tau-a."""
    return Kernel(
        functions.agreement,
        name="kendall",
        symmetric=True,
        zero_diagonal=True,
        label_sizes=True,
        association=True,
        columns=("x", "y"),
        formula=Formula.KENDALL,
        total=closed_forms.agreement_total,
        expression="sign(x1 - y1) sign(x2 - y2)",
        description="rank correlation: Kendall's tau-a",
    )


@_named("concordance")
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
    part = partial(
        Kernel,
        symmetric=True,
        zero_diagonal=True,
        columns=("prediction", "outcome", "event?"),
        label_sizes=True,
        association=True,
        validate=check_events,
    )
    agreeing = part(
        partial(functions.concordant, ties=check_ties(ties)),
        name="concordance numerator",
        formula=Formula.CONCORDANT,
        parameter=float(ties),
        total=partial(closed_forms.concordant_total, ties=ties),
    )
    compared = part(
        functions.comparable,
        name="concordance denominator",
        formula=Formula.COMPARABLE,
        total=closed_forms.comparable_total,
    )
    return Ratio(
        agreeing,
        compared,
        name="concordance",
        expression="1{comparable} (1{concordant} + ties 1{p = q}) / 1{comparable}",
        description="survival and ranking: Harrell's concordance index",
    )


@_named("auc")
def auc(ties: float = 0.5) -> Ratio:
    """Area under the ROC curve of scores for two classes, the higher label being positive.

    Parameters
    ----------
    ties
        What a pair of classes with equal scores counts: 0.5 as usual; `auc(ties=0)` is the
        definition that counts strictly ordered pairs only.
    """
    part = partial(
        Kernel,
        zero_diagonal=True,
        columns=("score", "label"),
        label_sizes=False,
        validate=check_two_classes,
    )
    ordered = part(
        partial(functions.higher_label_and_score, ties=check_ties(ties)),
        name="auc numerator",
        formula=Formula.AUC_ORDERED,
        parameter=float(ties),
        total=partial(closed_forms.higher_label_and_score_total, ties=ties),
    )
    compared = part(
        functions.higher_label,
        name="auc denominator",
        formula=Formula.AUC_COMPARED,
        total=closed_forms.higher_label_total,
    )
    return Ratio(
        ordered,
        compared,
        name="auc",
        expression="1{l > l'} (1{s > s'} + ties 1{s = s'}) / 1{l > l'}",
        description="bipartite ranking: area under the ROC curve",
    )


@_named("ranking-risk")
def ranking_risk() -> Kernel:
    """Whether a score orders a pair against its graded labels; ties are no mistake."""
    return Kernel(
        functions.discordance,
        name="ranking-risk",
        symmetric=True,
        zero_diagonal=True,
        label_sizes=True,
        association=True,
        columns=("score", "label"),
        formula=Formula.RANKING_RISK,
        total=closed_forms.discordance_total,
        expression="1{(s - s')(l - l') < 0}",
        description="graded ranking: share of pairs in the wrong order",
    )


@_named("within-cluster-scatter")
def within_cluster_scatter(squared: bool = True) -> Kernel:
    """Squared (or plain) distance of two observations of one cluster, 0 between clusters.

    Parameters
    ----------
    squared
        Whether distances are squared, as k-means does.
    """
    return Kernel(
        functions.squared_scatter if squared else functions.plain_scatter,
        name="within-cluster-scatter",
        symmetric=True,
        zero_diagonal=True,
        label_sizes=False,
        columns=("features...", "cluster"),
        formula=Formula.SCATTER_SQUARED if squared else Formula.SCATTER_PLAIN,
        total=closed_forms.squared_scatter_total if squared else None,
        row_totals=closed_forms.squared_scatter_rows if squared else None,
        expression=f"||x - y||{'^2' if squared else ''} 1{{c = c'}}",
        description="clustering: within-cluster point scatter",
    )


@_named("metric-learning-risk")
def metric_learning_risk(threshold: float = 1.0) -> Kernel:
    """Hinge loss of the Euclidean distance as a test of "same label".

    Parameters
    ----------
    threshold
        The distance below which two observations are declared alike.
    """
    if not (math.isfinite(threshold) and threshold >= 0):
        raise InputError(f"The threshold is a distance, but got {threshold}: give a number >= 0.")
    return Kernel(
        partial(functions.metric_hinge, threshold=float(threshold)),
        name="metric-learning-risk",
        symmetric=True,
        zero_diagonal=threshold >= 1.0,
        label_sizes=False,
        columns=("features...", "label"),
        formula=Formula.METRIC_LEARNING_RISK,
        parameter=float(threshold),
        expression="max(0, 1 - (threshold - ||x - y||) (2 1{l = l'} - 1))",
        description="metric learning: hinge loss of same-or-different by distance",
    )


def formula_function(formula: Formula, parameter: float) -> PairFunction | None:
    """Return the function that compiled code evaluates for a formula, None for its own."""
    functions_of: dict[Formula, PairFunction] = {
        Formula.VARIANCE: functions.half_squared_difference,
        Formula.GINI: functions.absolute_difference,
        Formula.DISTANCE: functions.distance,
        Formula.KENDALL: functions.agreement,
        Formula.CONCORDANT: partial(functions.concordant, ties=parameter),
        Formula.COMPARABLE: functions.comparable,
        Formula.AUC_ORDERED: partial(functions.higher_label_and_score, ties=parameter),
        Formula.AUC_COMPARED: functions.higher_label,
        Formula.RANKING_RISK: functions.discordance,
        Formula.SCATTER_SQUARED: functions.squared_scatter,
        Formula.SCATTER_PLAIN: functions.plain_scatter,
        Formula.METRIC_LEARNING_RISK: partial(functions.metric_hinge, threshold=parameter),
    }
    return functions_of.get(formula)
