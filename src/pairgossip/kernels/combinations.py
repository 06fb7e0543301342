"""Built-in statistics that are functions of several averages, under the names people know."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import closed_forms
from pairgossip.kernels.builtin import auc, formula_kernel, gini, kendall
from pairgossip.kernels.kernel import CATALOG, Combination, Formula, Kernel, Ratio

_TWO_COLUMNS: dict[str, Any] = {"columns": ("x", "y"), "label_sizes": True, "association": True}


def _check_incomes(data: FloatArray) -> None:
    if data.min() < 0:
        raise InputError(
            f"Kernel 'gini-coefficient' is for amounts that are not negative, but the smallest is "
            f"{data.min():g}: use 'gini', the mean difference."
        )
    if not data.max() > 0:
        raise InputError("Kernel 'gini-coefficient' has no value where all amounts are 0.")


def gini_coefficient() -> Combination:
    """Gini's coefficient of inequality: the mean difference over twice the mean."""
    mean = formula_kernel(
        Formula.MIDPOINT,
        name="mean",
        zero_diagonal=False,
        columns=("value",),
        total=closed_forms.midpoint_total,
        row_totals=closed_forms.midpoint_rows,
        validate=_check_incomes,
    )
    return Combination(
        (gini(), mean),
        partial(_divide, 0.5),
        partial(_divide_slopes, 0.5),
        name="gini-coefficient",
        expression="mean |x - y| / (2 mean x)",
        description="inequality: Gini's coefficient, from 0 to 1",
        same_as="V: R ineq::Gini",
        interval_scale="logit",
    )


def kendall_b() -> Combination:
    """Kendall's tau-b, which allows for ties."""
    return Combination(
        (kendall(), _apart_in(0), _apart_in(1)),
        _over_root,
        _over_root_slopes,
        name="kendall-b",
        expression="mean sign(x1 - y1) sign(x2 - y2) / sqrt((share x1 != y1) (share x2 != y2))",
        description="rank correlation: Kendall's tau-b",
        same_as="scipy.stats.kendalltau",
        interval_scale="fisher",
        null=0.0,
    )


def somers_d() -> Ratio:
    """Somers' D of the second column given the first."""
    return Ratio(
        kendall(),
        _apart_in(0),
        name="somers-d",
        expression="mean sign(x1 - y1) sign(x2 - y2) / share x1 != y1",
        description="ordinal association: Somers' D of the second column given the first",
        same_as="scipy.stats.somersd",
        interval_scale="fisher",
        null=0.0,
    )


def goodman_kruskal_gamma() -> Ratio:
    """Goodman and Kruskal's gamma: of the pairs that differ in both columns."""
    apart = formula_kernel(
        Formula.BOTH_APART,
        name="apart in both columns",
        total=closed_forms.both_apart_total,
        row_totals=closed_forms.both_apart_rows,
        **_TWO_COLUMNS,
    )
    return Ratio(
        kendall(),
        apart,
        name="goodman-kruskal-gamma",
        expression="mean sign(x1 - y1) sign(x2 - y2) / share x1 != y1 and x2 != y2",
        description="ordinal association: Goodman and Kruskal's gamma",
        same_as="R DescTools::GoodmanKruskalGamma",
        interval_scale="fisher",
        null=0.0,
    )


def auc_difference() -> Combination:
    """The AUC of the first score less that of the second, on the same rows."""
    first, compared = auc().components
    columns = ("score", "other score", "label")
    forms: dict[str, Any] = {
        role: partial(form, ties=0.5, column=1)
        for role, form in (
            ("total", closed_forms.higher_label_and_score_total),
            ("row_totals", closed_forms.higher_label_and_score_rows),
            ("column_totals", closed_forms.lower_label_and_score_rows),
        )
    }
    second = formula_kernel(
        Formula.SECOND_AUC_ORDERED,
        0.5,
        name="auc numerator of the second score",
        symmetric=False,
        label_sizes=False,
        two_classes=True,
        columns=columns,
        **forms,
    )
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


def _apart_in(column: int) -> Kernel:
    return formula_kernel(
        (Formula.FIRST_APART, Formula.SECOND_APART)[column],
        name=f"apart in column {column + 1}",
        total=partial(closed_forms.apart_total, column=column),
        row_totals=partial(closed_forms.apart_rows, column=column),
        **_TWO_COLUMNS,
    )


# The functions of averages, and their derivatives.


def _divide(factor: float, averages: FloatArray) -> FloatArray:
    return factor * averages[..., 0] / averages[..., 1]


def _divide_slopes(factor: float, averages: FloatArray) -> FloatArray:
    top, bottom = averages[..., 0], averages[..., 1]
    return factor * np.stack([1 / bottom, -(top / bottom) / bottom], axis=-1)


def _over_root(averages: FloatArray) -> FloatArray:
    return np.asarray(averages[..., 0] / np.sqrt(averages[..., 1] * averages[..., 2]))


def _over_root_slopes(averages: FloatArray) -> FloatArray:
    first, second = averages[..., 1], averages[..., 2]
    root, value = np.sqrt(first * second), _over_root(averages)
    return np.stack([1 / root, -value / (2 * first), -value / (2 * second)], axis=-1)


def _difference_over(averages: FloatArray) -> FloatArray:
    return np.asarray((averages[..., 0] - averages[..., 1]) / averages[..., 2])


def _difference_over_slopes(averages: FloatArray) -> FloatArray:
    bottom = averages[..., 2]
    slopes = [1 / bottom, -1 / bottom, -_difference_over(averages) / bottom]
    return np.stack(slopes, axis=-1)


CATALOG.update(
    (factory.__name__.replace("_", "-"), factory)
    for factory in (
        gini_coefficient,
        kendall_b,
        somers_d,
        goodman_kruskal_gamma,
        auc_difference,
    )
)
