"""Brackets of tests by ranks, and of their p, from numbers of rows per cell.

Rows in different cells are in a known order. Rows that share a cell may be in any order, or tied;
a bracket holds the test of all rows for certain, whichever it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.order_statistics.laws import beyond_kolmogorov, two_sided, two_sided_by_t

Ends = tuple[float, float]
UNKNOWN: Ends = (math.nan, math.nan)
_ROUNDING = 16 * np.finfo(np.float64).eps
"""Largest rounding error of a statistic, relative to its size or to 1."""
_ROUNDING_OF_P = 1e-9
"""Largest relative rounding error of p."""
_NEGLIGIBLE = 1e-3
"""A difference counts as 0 below this part of its terms, lest p magnify its rounding error."""
_FEWEST_RANKS = 3
"""The least number of rows of a correlation of ranks."""


class RankBracket(NamedTuple):
    """The ends of a test's statistic and of its p; NaN where rows can have neither."""

    value: Ends
    p: Ends


def bracket_class_test(name: str, counts: FloatArray) -> RankBracket:
    """Bracket a test of two classes.

    Parameters
    ----------
    name
        One of the tests in `comparisons.OF_CLASSES`.
    counts
        The number of rows of both classes in each cell, the lower class first, shape (2, cells).
    """
    lower, higher = counts
    if not counts.sum(axis=1).min() > 0:
        return RankBracket(UNKNOWN, UNKNOWN)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = _OF_CLASSES[name](lower, higher)
    most = math.inf if name == "wilcoxon-rank-sum" else 1.0
    return _allow_for_rounding(found, (0.0, most))


def _allow_for_rounding(found: RankBracket, possible: Ends) -> RankBracket:
    (low, high), (least, most) = found
    low, high = low - _ROUNDING * max(1.0, abs(low)), high + _ROUNDING * max(1.0, abs(high))
    value = (float(max(low, possible[0])), float(min(high, possible[1])))
    if math.isnan(least) or math.isnan(most):
        return RankBracket(value, UNKNOWN)
    least, most = least * (1 - _ROUNDING_OF_P), min(most * (1 + _ROUNDING_OF_P), 1.0)
    return RankBracket(value, (float(least), float(most)))


def _mann_whitney(lower: FloatArray, higher: FloatArray, continuity: bool = False) -> RankBracket:
    """Bracket the probability of superiority, and p by its null variance with ties.

    A pair in different cells is known, and any other counts from 0 to 1, so the ends are attained
    where one class is above the other in every cell. `_deviations` has the ends of z.
    """
    correction = 0.5 if continuity else 0.0
    sides = [_deviations(*both, correction) for both in ((lower, higher), (higher, lower))]
    least, most = (max(ends) for ends in zip(*sides, strict=True))
    return RankBracket(_superiority(lower, higher), (two_sided(most), two_sided(least)))


def _superiority(lower: FloatArray, higher: FloatArray) -> Ends:
    pairs, known = lower.sum() * higher.sum(), _pairs_in_order(lower, higher)
    return known / pairs, (known + float(lower @ higher)) / pairs


def _pairs_in_order(lower: FloatArray, higher: FloatArray) -> float:
    """Return the number of pairs in which the higher class is in a higher cell."""
    return float(higher @ _below(lower))


def _below(counts: FloatArray) -> FloatArray:
    return np.cumsum(counts) - counts


def _deviations(lower: FloatArray, higher: FloatArray, correction: float) -> Ends:
    """Bracket z in favor of the higher class; 0 where the rows could favor the lower one.

    If k pairs of both classes are tied in a cell of t rows, then the pairs in order are at least
    k / 2 below their maximum, and the sum of s^3 - s over groups of s tied rows is at most 3 t k
    above its value where each class is tied in itself; so z^2 is at most a square of a linear
    function of all k over another one, which is convex, and largest at a corner: all rows are tied
    in some cells, the fullest first, and in the others each class is. z is smallest where the pairs
    in order are fewest and no rows are tied.
    """
    shared, together = lower * higher, lower + higher
    pairs, known = lower.sum() * higher.sum(), _pairs_in_order(lower, higher)
    fullest = np.argsort(-together, kind="stable")
    tied = np.append(0.0, np.cumsum(shared[fullest]))
    apart = float((lower**3 - lower + higher**3 - higher).sum())
    ties = apart + np.append(0.0, np.cumsum(3 * (shared * together)[fullest]))
    most = known + shared.sum() - tied / 2
    n = together.sum()
    spread = pairs / 12 * np.maximum(n + 1 - np.append(0.0, ties) / (n * (n - 1)), 0.0)
    away = np.append(known, most) - pairs / 2 - correction
    z = np.where((away > 0) & (spread > 0), away / np.sqrt(spread), 0.0)
    return float(z[0]), float(z[1:].max())


def _rank_sum(lower: FloatArray, higher: FloatArray) -> RankBracket:
    """Bracket the sum of the higher class's ranks: pairs in order, and ranks in its own class."""
    found, count = _mann_whitney(lower, higher), float(higher.sum())
    pairs, own = float(lower.sum()) * count, count * (count + 1) / 2
    return found._replace(value=(own + pairs * found.value[0], own + pairs * found.value[1]))


def _brunner_munzel(lower: FloatArray, higher: FloatArray) -> RankBracket:
    """Bracket the probability of superiority, and p by Student's t with the estimated error.

    The error and the freedom have brackets of their own (`_placed_spread`, `_freedom`). The ends of
    p combine the ends of all three, so they hold for certain but need not be attained; p is 0 at
    the lower one if the rows could be in an order that shows no spread.
    """
    value, sizes = _superiority(lower, higher), (float(lower.sum()), float(higher.sum()))
    if min(sizes) < 2:
        return RankBracket(value, UNKNOWN)
    shares = (_placed_spread(lower, higher), _placed_spread(higher, lower))
    least, most = (math.sqrt(sum(ends)) for ends in zip(*shares, strict=True))
    far = max(value[1] - 0.5, 0.5 - value[0])
    near = max(value[0] - 0.5, 0.5 - value[1], 0.0)
    if not most > 0:  # separated throughout
        return RankBracket(value, UNKNOWN)
    low, high = _freedom(shares, sizes)
    t_most = far / least if least > 0 else math.inf
    return RankBracket(value, (two_sided_by_t(t_most, high), two_sided_by_t(near / most, low)))


def _placed_spread(own: FloatArray, others: FloatArray) -> Ends:
    """Bracket what the spread of one class among the other adds to the variance.

    A row is placed at most half of its cell's rows of the other class away from the middle, so the
    root of the sum of squares changes by at most the length of all these halves.
    """
    count, middle = own.sum(), _below(others) + others / 2
    length = math.sqrt(float(own @ (middle - own @ middle / count) ** 2))
    moved = math.sqrt(float(own @ others**2)) / 2
    least = length - moved if length - moved > _NEGLIGIBLE * length else 0.0
    size = float((count - 1) * count * others.sum() ** 2)
    return least**2 / size, (length + moved) ** 2 / size


def _freedom(shares: tuple[Ends, Ends], sizes: Ends) -> Ends:
    """Bracket the degrees of freedom: their inverse is convex in the first class's share."""
    (low, high), (other_low, other_high) = shares
    first, second = sizes[0] - 1, sizes[1] - 1
    ends = (low / (low + other_high or 1.0), high / (high + other_low or 1.0))
    best = min(max(first / (first + second), ends[0]), ends[1])
    inverse = [part**2 / first + (1 - part) ** 2 / second for part in (*ends, best)]
    return 1 / max(inverse), 1 / min(inverse)


def _kolmogorov_smirnov(lower: FloatArray, higher: FloatArray) -> RankBracket:
    """Bracket the largest gap between two distributions, and p, which falls as the gap grows.

    At the ends of cells the gap is known, and it is nowhere larger if the rows of every cell are
    tied; within a cell it is largest if one class comes first, so both ends are attained.
    """
    sizes = lower.sum(), higher.sum()
    ends = np.append(0.0, np.cumsum(lower) / sizes[0] - np.cumsum(higher) / sizes[1])
    first = np.maximum(ends[:-1] + lower / sizes[0], higher / sizes[1] - ends[:-1])
    low, high = float(np.abs(ends).max()), float(first.max())
    error = math.sqrt(sum(sizes) / (sizes[0] * sizes[1]))
    return RankBracket(
        (low, high), (beyond_kolmogorov(high / error), beyond_kolmogorov(low / error))
    )


_OF_CLASSES: dict[str, Callable[[FloatArray, FloatArray], RankBracket]] = {
    "mann-whitney": _mann_whitney,
    "mann-whitney-continuity": partial(_mann_whitney, continuity=True),
    "wilcoxon-rank-sum": _rank_sum,
    "brunner-munzel": _brunner_munzel,
    "kolmogorov-smirnov": _kolmogorov_smirnov,
}


def bracket_spearman(counts: FloatArray, are_tied: tuple[bool, bool]) -> RankBracket:
    """Bracket the correlation of ranks, and p by Student's t, which falls as it leaves 0.

    A rank is the middle of its cell's ranks and a deviation, and deviations add up to 0 over a
    cell: so the sum of products of ranks is that of middles, two sums of one column's middles and
    the other's deviations, at most as large as if the rows of each cell were in the order of these
    middles (rearrangement inequality), and one of deviations (at most as Cauchy and Schwarz say).
    Ties only lower the sums of squares, and by no more than all rows of a cell do; the ends combine
    those of all sums, and need not be attained.

    Parameters
    ----------
    counts
        The number of rows in each cell of both columns, two axes.
    are_tied
        Of which columns a cell holds one value, so that its rows are tied.
    """
    n = float(counts.sum())
    margins = counts.sum(axis=1), counts.sum(axis=0)
    x, y = (_below(one) + one / 2 - n / 2 for one in margins)
    within = [
        0.0 if tied else float((one**3 - one).sum()) / 12
        for one, tied in zip(margins, are_tied, strict=True)
    ]
    opened = math.sqrt(within[0] * within[1])
    for table, middles, tied in ((counts, x, are_tied[1]), (counts.T, y, are_tied[0])):
        opened += 0.0 if tied else _largest_product(table, middles)
    squares = float(margins[0] @ x**2), float(margins[1] @ y**2)
    product, least = float(x @ counts @ y), math.sqrt(squares[0] * squares[1])
    most = math.sqrt((squares[0] + within[0]) * (squares[1] + within[1]))
    if n < _FEWEST_RANKS or not most > 0:
        return RankBracket(UNKNOWN, UNKNOWN)
    low = -_largest_correlation(opened - product, least, most)
    high = _largest_correlation(opened + product, least, most)
    near, far = min(max(low, -high, 0.0), 1 - _NEGLIGIBLE), max(high, -low)
    p = (_p_of_correlation(far, n), _p_of_correlation(near, n))
    return _allow_for_rounding(RankBracket((low, high), p), (-1.0, 1.0))


def _largest_product(counts: FloatArray, middles: FloatArray) -> float:
    """Return the largest sum of the first column's middles times the second's deviations."""
    deviations = np.cumsum(counts, axis=0) - counts / 2 - counts.sum(axis=0) / 2
    return float(middles @ (counts * deviations).sum(axis=1))


def _largest_correlation(product: float, least: float, most: float) -> float:
    """Return the largest correlation of this product, between these sizes of the columns."""
    size = least if product > 0 else most
    return 1.0 if product >= size else product / size


def _p_of_correlation(value: float, n: float) -> float:
    is_perfect = value > 1 - _NEGLIGIBLE
    t = math.inf if is_perfect else value * math.sqrt((n - 2) / (1 - value**2))
    return two_sided_by_t(t, n - 2)
