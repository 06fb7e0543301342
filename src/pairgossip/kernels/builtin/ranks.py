"""Kernels of the order of pairs in two columns: rank correlations, ranking, concordance.

Comparisons decide the order, never the sign of a product, which can underflow to zero.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels.builtin.classes import check_ties
from pairgossip.kernels.kernel import Combination, Formula, Kernel, Ratio, register
from pairgossip.kernels.orders import (
    Order,
    count_ascending_pairs,
    order_both,
    order_column,
    weigh_beyond,
    weights_or_ones,
)
from pairgossip.text import format_rows

__all__ = [
    "concordance",
    "goodman_kruskal_gamma",
    "kendall",
    "kendall_b",
    "ranking_risk",
    "somers_d",
]

_TWO_COLUMNS: dict[str, Any] = {"columns": ("x", "y"), "label_sizes": True, "association": True}


def _agreement(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return +1 where both columns order the pair alike, -1 where oppositely, 0 at any tie."""
    above, below = first > second, first < second
    signs = above.astype(np.float64) - below
    return signs[:, 0] * signs[:, 1]


def _agreement_total(data: FloatArray) -> float:
    """Sum +1 at pairs the two columns order alike and -1 at pairs they order oppositely."""
    alike, opposite = _ordered_pairs(data)
    return 2.0 * (alike - opposite)


def _agreement_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Sum +1 and -1 as `_agreement_total` does, over the pairs of every row."""
    alike, opposite = _ordered_rows(data, weights_or_ones(data, weights))
    return alike - opposite


def _discordance(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where score and label order the pair oppositely."""
    above, below = first > second, first < second
    opposite = (above[:, 0] & below[:, 1]) | (below[:, 0] & above[:, 1])
    return opposite.astype(np.float64)


def _discordance_total(data: FloatArray) -> float:
    """Sum 1 at pairs that the two columns order oppositely."""
    return 2.0 * _ordered_pairs(data)[1]


def _discordance_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count, for every row, the others that the two columns order oppositely."""
    return _ordered_rows(data, weights_or_ones(data, weights))[1]


def _ordered_pairs(data: FloatArray) -> tuple[int, int]:
    """Count the unordered pairs that the two columns order alike, and oppositely."""
    x, y = data[:, 0], data[:, 1]
    n = len(data)
    alike = count_ascending_pairs(x, y, np.ones(n, dtype=np.bool_))
    tied = order_column(x).tied_pairs + order_column(y).tied_pairs - order_both(x, y).tied_pairs
    return alike, n * (n - 1) // 2 - alike - tied


def _ordered_rows(data: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum, for every row, the weights of others ordered alike, and of others ordered oppositely."""
    x, y = data[:, 0], data[:, 1]
    alike = np.add(*weigh_beyond(x, y, weights, weights))
    if np.any(weights != np.rint(weights)):
        return alike, np.add(*weigh_beyond(x, -y, weights, weights))
    # Differences of whole numbers are exact.
    return alike, _both_apart_rows(data, weights) - alike


KENDALL = Formula("KENDALL", 3, _agreement, _agreement_total, _agreement_rows)
RANKING_RISK = Formula("RANKING_RISK", 8, _discordance, _discordance_total, _discordance_rows)


def _apart(first: FloatArray, second: FloatArray, column: int) -> FloatArray:
    """Return 1 where a column differs."""
    return (first[:, column] != second[:, column]).astype(np.float64)


def _both_apart(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where both columns differ."""
    return _apart(first, second, 0) * _apart(first, second, 1)


def _apart_total(data: FloatArray, column: int) -> float:
    """Count the pairs that differ in a column."""
    return float(_apart_rows(data, column=column).sum())


def _apart_rows(data: FloatArray, weights: FloatArray | None = None, *, column: int) -> FloatArray:
    """Count, for every row, the others that differ from it in a column."""
    return _weigh_differing(order_column(data[:, column]), weights_or_ones(data, weights))


def _weigh_differing(order: Order, weights: FloatArray) -> FloatArray:
    """Sum, for every row, the weights of rows at other places."""
    return weights.sum() - np.bincount(order.places, weights)[order.places]


def _both_apart_total(data: FloatArray) -> float:
    """Count the pairs that differ in both columns."""
    alike, opposite = _ordered_pairs(data)
    return 2.0 * (alike + opposite)


def _both_apart_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count, for every row, the others that differ from it in both columns."""
    weights = weights_or_ones(data, weights)
    x, y = data[:, 0], data[:, 1]
    # Rows that differ in one column or the other are the rows that differ at all.
    in_one = _weigh_differing(order_column(x), weights) + _weigh_differing(order_column(y), weights)
    return in_one - _weigh_differing(order_both(x, y), weights)


FIRST_APART = Formula(
    "FIRST_APART",
    13,
    partial(_apart, column=0),
    partial(_apart_total, column=0),
    partial(_apart_rows, column=0),
)
SECOND_APART = Formula(
    "SECOND_APART",
    14,
    partial(_apart, column=1),
    partial(_apart_total, column=1),
    partial(_apart_rows, column=1),
)
BOTH_APART = Formula("BOTH_APART", 15, _both_apart, _both_apart_total, _both_apart_rows)


@register
def kendall() -> Kernel:
    """Return +1 for pairs that two columns order alike, -1 for opposite ones: Kendall's tau-a."""
    return KENDALL.kernel(
        name="kendall",
        **_TWO_COLUMNS,
        expression="sign(x1 - y1) sign(x2 - y2)",
        description="rank correlation: Kendall's tau-a",
        same_as="U: scipy.stats.kendalltau without ties",
        interval_scale="fisher",
        null=0.0,
    )


@register
def kendall_b() -> Combination:
    """Return Kendall's tau-b, which allows for ties."""
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


def _over_root(averages: FloatArray) -> FloatArray:
    return averages[..., 0] / np.sqrt(averages[..., 1] * averages[..., 2])


def _over_root_slopes(averages: FloatArray) -> FloatArray:
    first, second = averages[..., 1], averages[..., 2]
    root, value = np.sqrt(first * second), _over_root(averages)
    return np.stack([1 / root, -value / (2 * first), -value / (2 * second)], axis=-1)


@register
def somers_d() -> Ratio:
    """Return Somers' D of the second column given the first."""
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


@register
def goodman_kruskal_gamma() -> Ratio:
    """Return Goodman and Kruskal's gamma, over pairs that differ in both columns."""
    apart = BOTH_APART.kernel(name="apart in both columns", **_TWO_COLUMNS)
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


@register
def ranking_risk() -> Kernel:
    """Return 1 for pairs that a score orders against their graded labels; ties are not mistakes."""
    return RANKING_RISK.kernel(
        name="ranking-risk",
        label_sizes=True,
        association=True,
        columns=("score", "label"),
        expression="1{(s - s')(l - l') < 0}",
        description="graded ranking: share of pairs in the wrong order",
        interval_scale="logit",
    )


def _apart_in(column: int) -> Kernel:
    formula = (FIRST_APART, SECOND_APART)[column]
    return formula.kernel(name=f"apart in column {column + 1}", **_TWO_COLUMNS)


# Harrell's concordance index, for outcomes that may be censored.


def comparable(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where one outcome is known to be smaller; with events, it must be an event."""
    smaller_first, smaller_second = _comparable_sides(first, second)
    return (smaller_first | smaller_second).astype(np.float64)


def concordant(first: FloatArray, second: FloatArray, ties: float) -> FloatArray:
    """Return 1 where a comparable pair's predictions agree with the outcomes, `ties` if tied."""
    smaller_first, smaller_second = _comparable_sides(first, second)
    p, q = first[:, 0], second[:, 0]
    agree = (smaller_first & (p < q)) | (smaller_second & (p > q))
    tied = (smaller_first | smaller_second) & (p == q)
    return agree + ties * tied


def _comparable_sides(first: FloatArray, second: FloatArray) -> tuple[BoolArray, BoolArray]:
    smaller_first = first[:, 1] < second[:, 1]
    smaller_second = first[:, 1] > second[:, 1]
    if first.shape[1] == 3:
        tied, events, others = first[:, 1] == second[:, 1], first[:, 2] != 0, second[:, 2] != 0
        # A censored outcome is known to exceed an event at the same time.
        smaller_first = (smaller_first | (tied & ~others)) & events
        smaller_second = (smaller_second | (tied & ~events)) & others
    return smaller_first, smaller_second


def comparable_total(data: FloatArray) -> float:
    """Sum 1 at pairs with one outcome that is known to be smaller and is an event."""
    return 2.0 * _pairs_above_at_ties(_outcomes(data), np.zeros(len(data)), _events(data))


def _comparable_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count, for every row, the others for which one of the two outcomes is known to be smaller."""
    weights = weights_or_ones(data, weights)
    return _comparable_where_tied(_outcomes(data), np.zeros(len(data)), _events(data), weights)


def concordant_total(data: FloatArray, ties: float) -> float:
    """Sum 1 at comparable pairs predicted in order, and `ties` at pairs predicted equal."""
    prediction, outcome, events = data[:, 0], _outcomes(data), _events(data)
    agree = count_ascending_pairs(outcome, prediction, events)
    return 2.0 * (agree + ties * _pairs_above_at_ties(outcome, prediction, events))


def _concordant_rows(
    data: FloatArray, weights: FloatArray | None = None, *, ties: float
) -> FloatArray:
    """Sum 1 and `ties` as `concordant_total` does, over the pairs of every row."""
    prediction, outcome, events = data[:, 0], _outcomes(data), _events(data)
    weights = weights_or_ones(data, weights)
    above, below = weigh_beyond(outcome, prediction, weights, events * weights)
    tied = _comparable_where_tied(outcome, prediction, events, weights)
    return events * above + below + ties * tied


def _comparable_where_tied(
    outcome: FloatArray, tied: FloatArray, events: BoolArray, weights: FloatArray
) -> FloatArray:
    """Sum, for every row, the weights of comparable rows with equal `tied`."""
    order = np.lexsort((outcome, tied))
    run, tie = _run_ends(tied[order]), _run_ends(tied[order], outcome[order])
    everyone, failed = (
        np.concatenate(([0.0], np.cumsum(part[order]))) for part in (weights, events * weights)
    )
    above = everyone[run] - everyone[tie]
    below = failed[_run_starts(tie)] - failed[_run_starts(run)]
    counts = np.empty(len(outcome))
    counts[order] = events[order] * above + below
    return counts


def _pairs_above_at_ties(values: FloatArray, tied: FloatArray, marked: BoolArray) -> int:
    """Count the pairs (i, j) with values[i] < values[j], tied[i] = tied[j] and i marked."""
    order = np.lexsort((values, tied))
    above = _run_ends(tied[order]) - _run_ends(tied[order], values[order])
    return int(above[marked[order]].sum())


def _run_ends(*columns: FloatArray) -> IntArray:
    """Return, for sorted columns, the end of the run of equal rows at every position."""
    differs = np.zeros(len(columns[0]) - 1, dtype=np.bool_)
    for column in columns:
        differs |= column[1:] != column[:-1]
    ends = np.append(np.flatnonzero(differs), len(columns[0]) - 1) + 1
    return np.repeat(ends, np.diff(ends, prepend=0))


def _run_starts(ends: IntArray) -> IntArray:
    """Return the start of the run of equal rows at every position, from the ends of the runs."""
    places = np.arange(len(ends))
    is_first = np.append(True, ends[1:] != ends[:-1])
    return np.maximum.accumulate(np.where(is_first, places, 0))


def _outcomes(data: FloatArray) -> FloatArray:
    """Return the outcomes, or with events their ranks: events before censoring at equal times."""
    if data.shape[1] == 2:
        return data[:, 1]
    order = np.lexsort((-data[:, 2], data[:, 1]))
    ranks = np.empty(len(data))
    ranks[order] = _run_ends(data[order, 1], data[order, 2])
    return ranks


def _events(data: FloatArray) -> BoolArray:
    return data[:, 2] != 0 if data.shape[1] == 3 else np.ones(len(data), dtype=np.bool_)


CONCORDANT = Formula("CONCORDANT", 4, concordant, concordant_total, _concordant_rows, takes="ties")
COMPARABLE = Formula("COMPARABLE", 5, comparable, comparable_total, _comparable_rows)


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


@register
def concordance(ties: float = 0.5) -> Ratio:
    """Return Harrell's C, the share of comparable pairs predicted in the order of outcomes.

    The columns are prediction, outcome and, for censored data, event (1 if the outcome was
    observed, 0 if it is only known to be larger). A pair is comparable if the smaller outcome is an
    event. At equal outcomes an event counts as smaller than a censored outcome, while two events,
    or two censored outcomes, are not compared. A higher prediction should go with a larger outcome.

    Parameters
    ----------
    ties
        The weight of a comparable pair with equal predictions.
    """
    ties = check_ties(ties)
    facts: dict[str, Any] = {
        "columns": ("prediction", "outcome", "event?"),
        "label_sizes": True,
        "association": True,
        "validate": _check_events,
    }
    return Ratio(
        CONCORDANT.kernel(ties, name="concordance numerator", **facts),
        COMPARABLE.kernel(name="concordance denominator", **facts),
        name="concordance",
        expression="1{comparable} (1{concordant} + ties 1{p = q}) / 1{comparable}",
        description="survival and ranking: Harrell's concordance index",
        same_as="lifelines.utils.concordance_index",
        interval_scale="logit",
        null=0.5,
    )
