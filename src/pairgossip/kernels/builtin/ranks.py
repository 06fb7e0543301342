"""Kernels of how two columns order pairs: rank correlations, and ranking by graded labels.

Order is decided by comparisons, never by the sign of a product, which can underflow to zero.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.kernels.kernel import Combination, Formula, Kernel, Ratio, register
from pairgossip.kernels.orders import (
    Order,
    count_ascending_pairs,
    order_both,
    order_column,
    weigh_beyond,
    weights_or_ones,
)

__all__ = ["goodman_kruskal_gamma", "kendall", "kendall_b", "ranking_risk", "somers_d"]

_TWO_COLUMNS: dict[str, Any] = {"columns": ("x", "y"), "label_sizes": True, "association": True}


def _agreement(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return +1 where both columns order the pair alike, -1 where unlike, 0 at any tie."""
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
    return np.asarray(alike - opposite)


def _discordance(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where score and label order the pair oppositely."""
    above, below = first > second, first < second
    opposite = (above[:, 0] & below[:, 1]) | (below[:, 0] & above[:, 1])
    return opposite.astype(np.float64)


def _discordance_total(data: FloatArray) -> float:
    """Sum 1 at pairs that the two columns order oppositely."""
    return 2.0 * _ordered_pairs(data)[1]


def _discordance_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count for every row the others that the two columns order oppositely."""
    return _ordered_rows(data, weights_or_ones(data, weights))[1]


def _ordered_pairs(data: FloatArray) -> tuple[int, int]:
    """Count the unordered pairs that the two columns order alike, and oppositely."""
    x, y = data[:, 0], data[:, 1]
    n = len(data)
    alike = count_ascending_pairs(x, y, np.ones(n, dtype=np.bool_))
    tied = order_column(x).tied_pairs + order_column(y).tied_pairs - order_both(x, y).tied_pairs
    return alike, n * (n - 1) // 2 - alike - tied


def _ordered_rows(data: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weigh for every row the others that the two columns order alike, and oppositely."""
    x, y = data[:, 0], data[:, 1]
    alike = np.add(*weigh_beyond(x, y, weights, weights))
    if np.any(weights != np.rint(weights)):
        return alike, np.add(*weigh_beyond(x, -y, weights, weights))
    # Of whole numbers differences are exact.
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
    """Count for every row the others that differ from it in a column."""
    return _differing(order_column(data[:, column]), weights_or_ones(data, weights))


def _differing(order: Order, weights: FloatArray) -> FloatArray:
    """Weigh for every row those at other places."""
    return np.asarray(weights.sum() - np.bincount(order.places, weights)[order.places])


def _both_apart_total(data: FloatArray) -> float:
    """Count the pairs that differ in both columns."""
    alike, opposite = _ordered_pairs(data)
    return 2.0 * (alike + opposite)


def _both_apart_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count for every row the others that differ from it in both columns."""
    weights = weights_or_ones(data, weights)
    x, y = data[:, 0], data[:, 1]
    # Those that differ in one column or the other are those that differ at all.
    in_one = _differing(order_column(x), weights) + _differing(order_column(y), weights)
    return np.asarray(in_one - _differing(order_both(x, y), weights))


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
    """Whether two columns order a pair alike (+1) or not (-1); the U-statistic is tau-a."""
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
def ranking_risk() -> Kernel:
    """Whether a score orders a pair against its graded labels; ties are not mistakes."""
    return RANKING_RISK.kernel(
        name="ranking-risk",
        label_sizes=True,
        association=True,
        columns=("score", "label"),
        expression="1{(s - s')(l - l') < 0}",
        description="graded ranking: share of pairs in the wrong order",
        interval_scale="logit",
    )


@register
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


def _over_root(averages: FloatArray) -> FloatArray:
    return np.asarray(averages[..., 0] / np.sqrt(averages[..., 1] * averages[..., 2]))


def _over_root_slopes(averages: FloatArray) -> FloatArray:
    first, second = averages[..., 1], averages[..., 2]
    root, value = np.sqrt(first * second), _over_root(averages)
    return np.stack([1 / root, -value / (2 * first), -value / (2 * second)], axis=-1)


@register
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


@register
def goodman_kruskal_gamma() -> Ratio:
    """Goodman and Kruskal's gamma: of the pairs that differ in both columns."""
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


def _apart_in(column: int) -> Kernel:
    formula = (FIRST_APART, SECOND_APART)[column]
    return formula.kernel(name=f"apart in column {column + 1}", **_TWO_COLUMNS)
