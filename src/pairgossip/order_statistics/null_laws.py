"""Laws of the AUC and of Kendall's S under the null: every order of rows is equally likely.

S is the number of pairs that two columns order alike, minus the number that they order oppositely.
Given the ties, Kendall's tau-a and tau-b, Somers' D, Goodman and Kruskal's gamma and, where one
column is a class, the AUC are increasing functions of S, so that one law serves all of them.

Everything here takes counts. The *tie sizes* of a column are the numbers of rows with each of its
values, from the lowest value to the highest, 1 for a value that occurs once; their sum is the
number of rows. The two-sided p is the share of orders whose S is as far from 0 or farther: with
ties the law need not be symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray

EXACT, NULL_VARIANCE = "exact", "null variance, ties counted"
"""The source of p: counted over all orders, or a normal law with the null's variance."""
_FEW_ROWS, _FEW_TIED_ROWS = 33, 10
"""The largest numbers of rows for which the law of S is counted: with ties in one column at most,
as in `scipy.stats.kendalltau` without ties; and with ties in both, where states are far more."""
_FEW_OF_CLASS, FEW_TIED = 8, 50
"""The largest size of the smaller class for which the law of the AUC is counted, as in
`mannwhitneyu` without ties; and the largest number of rows in all for which it is counted with
ties."""
_MOST_SCORES = 20_000_000
"""The largest number of values of S for which a law is counted; more would take too long."""


class NullTest(NamedTuple):
    """The distance of an order from chance."""

    error: float
    """The standard error under the null, ties counted, in units of the statistic."""
    z: float
    """The distance of the statistic from its null value, in these errors."""
    p: float
    """The probability that chance alone is as far off."""
    law: str
    """The source of p: `EXACT` or `NULL_VARIANCE`."""


_ALL_TIED = NullTest(0.0, 0.0, 1.0, EXACT)
"""The result where a column is constant: there is only one order."""


def judge_auc(value: float, sizes: Any, ties: Any, alternative: str = "two-sided") -> NullTest:
    """Test an AUC, in which ties count half, against 0.5.

    ``sizes`` are the sizes of the two classes, ``ties`` the tie sizes of the scores. If the smaller
    class has at most 8 rows, p is counted (with ties: if there are at most 50 rows in all), and
    also if the classes are fully separated. Otherwise p is from a normal law with a correction for
    continuity, as in `scipy.stats.mannwhitneyu`.
    """
    sizes, ties = _as_counts(sizes), _as_counts(ties)
    pairs, error, away = float(sizes.prod()), float(auc_error(sizes, ties)), value - 0.5
    if not error > 0:
        return _ALL_TIED
    if value in (0.0, 1.0):  # the rows of one class are the topmost: one choice of them
        share = math.exp(_log_orders(sizes) - _log_orders(sizes.sum()))
        # The other class is topmost in a second choice, unless a tie crosses its border.
        both = share * max(1, int(np.isin(sizes, np.cumsum(ties)).sum()))
        tails = _Tails(share, 1.0, both) if value == 1.0 else _Tails(1.0, share, both)
    elif _is_countable_auc(sizes, ties):
        tails = _sum_tails(2 * pairs * away, *order_law(ties, sizes))
    else:
        p = normal_p(away, error, alternative, 0.5 / pairs)
        return NullTest(error, away / error, p, NULL_VARIANCE)
    return NullTest(error, away / error, tails.choose(alternative), EXACT)


def judge_order(score: float, first: Any, second: Any, alternative: str = "two-sided") -> NullTest:
    """Test S, the pairs ordered alike minus the pairs ordered oppositely, against 0.

    ``first`` and ``second`` are the tie sizes of the two columns. With at most 33 rows p is
    counted (with ties in both columns: at most 10), and also for a perfect order without ties.
    Otherwise p is from a normal law, as in `scipy.stats.kendalltau`.
    """
    first, second = _as_counts(first), _as_counts(second)
    error = math.sqrt(max(0.0, float(order_variance(first, second))))
    if not error > 0:
        return _ALL_TIED
    most = float(first.sum() * (first.sum() - 1) / 2)
    if abs(score) == most:  # no ties, and one order of all
        share = math.exp(-_log_orders(first.sum()))
        tails = _Tails(share, 1.0, 2 * share) if score > 0 else _Tails(1.0, share, 2 * share)
    elif _is_countable_order(first, second):
        tails = _sum_tails(score, *order_law(first, second))
    else:
        return NullTest(error, score / error, normal_p(score, error, alternative), NULL_VARIANCE)
    return NullTest(error, score / error, tails.choose(alternative), EXACT)


def auc_error(sizes: FloatArray, ties: FloatArray) -> FloatArray:
    """Return the standard error of the AUC under the null, along the last axes.

    Sizes and ties may be shares that nodes estimate; less than one row has no ties.
    """
    n = sizes.sum(axis=-1)
    correction = np.maximum(ties**3 - ties, 0.0).sum(axis=-1) / (n * (n - 1))
    return np.sqrt((n + 1 - correction) / (12 * sizes.prod(axis=-1)))


def order_variance(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return Kendall's variance of S under the null; axes and ties are as in `auc_error`."""
    n = first.sum(axis=-1)
    pairs, triples, spread = zip(*(_count_ties(sizes) for sizes in (first, second)), strict=True)
    variance = (n * (n - 1) * (2 * n + 5) - spread[0] - spread[1]) / 18
    variance = variance + pairs[0] * pairs[1] / (2 * n * (n - 1))
    triples_of_all = 9 * n * (n - 1) * np.maximum(n - 2, 1.0)  # with two rows there are none
    return variance + triples[0] * triples[1] / triples_of_all


def _count_ties(sizes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the sums of t(t - 1), t(t - 1)(t - 2) and t(t - 1)(2t + 5) over tie sizes t."""
    pairs = np.maximum(sizes * (sizes - 1), 0.0)
    triples = pairs * np.maximum(sizes - 2, 0.0)
    return pairs.sum(axis=-1), triples.sum(axis=-1), (pairs * (2 * sizes + 5)).sum(axis=-1)


def normal_p(away: float, error: float, alternative: str, half_step: float = 0.0) -> float:
    """Return p of a normal law; ``half_step`` is the correction for continuity."""
    above, below = (
        math.erfc((side * away - half_step) / (error * math.sqrt(2))) / 2 for side in (1, -1)
    )
    return _Tails(above, below, 2 * min(above, below)).choose(alternative)


def order_law(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the possible values of S, from the lowest, and the share of orders of each."""
    if first.max() > 1 and second.max() > 1:
        # Every subset of the rows, by tie sizes, is a state.
        ways = _count_tables(*sorted((first, second), key=lambda sizes: float(np.prod(sizes + 1))))
        scores = np.arange(len(ways)) - len(ways) // 2
    else:
        ways = _count_inversions(second if first.max() == 1 else first)
        scores = 2 * np.arange(len(ways)) - (len(ways) - 1)
    return scores.astype(np.float64), ways / ways.sum()


def _count_inversions(sizes: FloatArray) -> FloatArray:
    """Return the numbers of orders of tied rows with 0, 1, 2, ... pairs in the wrong order.

    These are the coefficients of the q-multinomial coefficient of the tie sizes. They are
    symmetric, and from the lowest up to the middle rounding stays relative to each.
    """
    ordered = sorted(map(int, sizes), reverse=True)
    total = sum(ordered)
    most = (total**2 - sum(size**2 for size in ordered)) // 2
    ways = np.zeros(most // 2 + 1)
    ways[0], placed = 1.0, ordered[0]
    for size in ordered[1:]:
        for step in range(1, size + 1):
            ways = _divide(_multiply(ways, placed + step), step)
        placed += size
    return np.concatenate([ways, ways[: most + 1 - len(ways)][::-1]])


def _multiply(ways: FloatArray, step: int) -> FloatArray:
    """Return the coefficients of a polynomial times 1 - q^step."""
    found = ways.copy()
    found[step:] -= ways[:-step]
    return found


def _divide(ways: FloatArray, step: int) -> FloatArray:
    """Return the coefficients of a polynomial over 1 - q^step."""
    padded = np.concatenate([ways, np.zeros(-len(ways) % step)])
    return padded.reshape(-1, step).cumsum(axis=0).ravel()[: len(ways)]


def _count_tables(states: FloatArray, steps: FloatArray) -> FloatArray:
    """Return the numbers of orders with S = -N, ..., N, for ties in both columns and N pairs of
    rows.

    Value by value, the rows of one column take theirs from the rest of the other column.
    """
    left, n = tuple(map(int, states)), int(states.sum())
    most = n * (n - 1) // 2
    start = np.zeros(2 * most + 1)
    start[most] = 1.0
    reached = {left: start}
    for size in map(int, steps):
        following: dict[tuple[int, ...], FloatArray] = {}
        for rows, ways in reached.items():
            # Rows above the taken ones count +1, rows below -1; pairs of rows taken together count
            # 0.
            gains = [sum(rows[at + 1 :]) - sum(rows[:at]) for at in range(len(rows))]
            for taken in _choose(rows, size):
                rest = tuple(map(int.__sub__, rows, taken))
                orders = math.prod(map(math.comb, rows, taken))
                moved = orders * np.roll(ways, sum(map(int.__mul__, taken, gains)))
                following[rest] = following[rest] + moved if rest in following else moved
        reached = following
    return reached[tuple(0 for _ in left)]


def _choose(rows: tuple[int, ...], count: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to take a number of rows from groups of rows."""
    if len(rows) == 1:
        yield (count,)
        return
    others = sum(rows[1:])
    for part in range(max(0, count - others), min(rows[0], count) + 1):
        for rest in _choose(rows[1:], count - part):
            yield (part, *rest)


def _is_countable_auc(sizes: FloatArray, ties: FloatArray) -> bool:
    few = sizes.min() <= _FEW_OF_CLASS and sizes.prod() <= _MOST_SCORES
    return bool(few and (ties.max() == 1 or sizes.sum() <= FEW_TIED) and _are_whole(sizes, ties))


def _is_countable_order(first: FloatArray, second: FloatArray) -> bool:
    few = _FEW_ROWS if min(first.max(), second.max()) == 1 else _FEW_TIED_ROWS
    return bool(first.sum() <= few and _are_whole(first, second))


def _as_counts(sizes: Any) -> FloatArray:
    """Return the sizes as an array, without zeros."""
    counts = np.asarray(sizes, dtype=np.float64)
    return counts[counts > 0]


def _are_whole(*counts: FloatArray) -> bool:
    return all(bool((numbers == np.round(numbers)).all()) for numbers in counts)


def _log_orders(sizes: FloatArray | float) -> float:
    """Return the logarithm of the number of orders within groups of rows."""
    return math.fsum(math.lgamma(size + 1) for size in np.atleast_1d(sizes))


class _Tails(NamedTuple):
    """The probabilities that chance is at least as high, as low, and as far off."""

    above: float
    below: float
    both: float

    def choose(self, alternative: str) -> float:
        """Return p for an alternative."""
        if alternative == "two-sided":
            return min(1.0, self.both)
        return min(1.0, self.above if alternative == "greater" else self.below)


def _sum_tails(score: float, scores: FloatArray, shares: FloatArray) -> _Tails:
    """Return the tails of a law at a score; scores are whole numbers."""
    sides = (scores > score - 0.5, scores < score + 0.5, np.abs(scores) > abs(score) - 0.5)
    return _Tails(*(float(shares[side].sum()) for side in sides))
