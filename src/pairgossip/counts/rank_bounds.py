"""Bounds of tests by ranks, and of their p, from numbers of rows per block."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.counts.bounds import (
    UNKNOWN,
    Blocks,
    Ends,
    bound_distribution,
    bound_squares,
    widen,
)
from pairgossip.counts.tree import Relation, Tree
from pairgossip.order_statistics.laws import beyond_kolmogorov, two_sided, two_sided_by_t

_ROUNDING_OF_P = 1e-9
"""Largest relative rounding error of p."""
_NEGLIGIBLE = 1e-3
"""A difference below this share of its terms counts as 0; p would magnify its rounding error."""
FEWEST_RANKS = 3
"""Least number of rows of a correlation of ranks."""
_PLACES: dict[Relation, Ends] = {
    1: (0.0, 0.0),
    2: (0.5, 0.5),
    3: (0.0, 0.5),
    4: (1.0, 1.0),
    6: (0.5, 1.0),
    7: (0.0, 1.0),
}
"""The ends of a row's contribution to the place of another, by the relation of the other to it: 1
if it is below, 1/2 if tied."""


class TestBounds(NamedTuple):
    """The ends of a test's statistic and of its p; NaN where no rows have one."""

    value: Ends
    p: Ends


TestBounds.__test__ = False  # type: ignore[attr-defined]  # not one of pytest's


class _Sample(NamedTuple):
    """The rows of one axis that are compared with others, or with one another."""

    tree: Tree
    ties_known: bool
    counts: FloatArray

    @property
    def n(self) -> float:
        return float(self.counts.sum())

    @property
    def certain_ties(self) -> FloatArray:
        """The number of rows in each block of one value, which are tied for certain."""
        return self.counts * (self.tree.is_cell & self.ties_known)

    @property
    def most_tied(self) -> FloatArray:
        """The largest number of rows tied with a row of every block, itself included."""
        first, last = (self.tree.place(self.counts, is_last=side) for side in (False, True))
        cover = np.cumsum(first) - np.cumsum(last) + last
        return self.tree.gather(cover, np.maximum)

    @property
    def ties(self) -> Ends:
        """The ends of the sum of t^3 - t over groups of t tied rows."""
        least = float((self.certain_ties**3 - self.certain_ties).sum())
        return least, float(self.counts @ (self.most_tied**2 - 1))

    def places(self, others: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the number of other rows below a row of every block, ties counting half."""
        low, high = np.zeros((2, *others.shape))
        for relation, rows in self.tree.relate(others, self.ties_known):
            least, most = _PLACES[relation]
            low, high = low + least * rows, high + most * rows
        return low, high


def bound_class_test(name: str, blocks: Blocks) -> TestBounds:
    """Bound a test of two classes.

    Parameters
    ----------
    name
        One of the tests in `comparisons.OF_CLASSES`.
    blocks
        The rows of both classes, the lower one first, of one column.
    """
    if not blocks.counts.sum(axis=1).min() > 0:
        return TestBounds(UNKNOWN, UNKNOWN)
    if name == "kolmogorov-smirnov":
        found = _kolmogorov_smirnov(blocks)
    else:
        ties_known = blocks.axes[0].ties_known
        lower, higher = (_Sample(blocks.tree, ties_known, one) for one in blocks.counts)
        found = _OF_CLASSES[name](lower, higher)
    most = math.inf if name == "wilcoxon-rank-sum" else 1.0
    return _allow_for_rounding(found, (0.0, most))


def _allow_for_rounding(found: TestBounds, possible: Ends) -> TestBounds:
    low, high = widen(*found.value)
    value, (least, most) = (max(low, possible[0]), min(high, possible[1])), found.p
    if math.isnan(least + most):
        return TestBounds(value, UNKNOWN)
    least, most = least * (1 - _ROUNDING_OF_P), min(most * (1 + _ROUNDING_OF_P), 1.0)
    return TestBounds(value, (float(least), float(most)))


def _mann_whitney(lower: _Sample, higher: _Sample, continuity: bool = False) -> TestBounds:
    """Bound the probability of superiority, and p by its null variance with ties.

    Rows attain the ends of the probability: one class at the first cells and the other at the last.
    """
    correction = 0.5 if continuity else 0.0
    sides = [_deviations(*both, correction) for both in ((lower, higher), (higher, lower))]
    least, most = (max(ends) for ends in zip(*sides, strict=True))
    return TestBounds(_superiority(lower, higher), (two_sided(most), two_sided(least)))


def _superiority(lower: _Sample, higher: _Sample) -> Ends:
    low, high = (float(higher.counts @ end) for end in higher.places(lower.counts))
    return low / (lower.n * higher.n), high / (lower.n * higher.n)


def _deviations(lower: _Sample, higher: _Sample, correction: float) -> Ends:
    """Bound z in favor of the higher class; 0 where the rows could favor the lower one.

    If l rows of the lower class and h of the higher are tied in groups, k = sum of l h pairs of
    both classes cost k / 2 of the most pairs in order, unless they are tied at best. They add
    3 l h (l + h) to the sum of t^3 - t that each class has by itself, so 3 k c at most where no
    more than c rows can be tied. So z^2 is at most a square of a linear function of all k over
    another one, which is convex, and largest at a corner: all pairs are tied in some blocks, those
    with the largest c first. z is smallest where the pairs in order are fewest and no more rows are
    tied than certainly are.
    """
    tree, pairs = lower.tree, lower.n * higher.n
    both = lower._replace(counts=lower.counts + higher.counts)
    free = _count_free_ties(lower, higher)
    # Pairs that could be tied, by the smaller of their two blocks.
    around = tree.add_containing(np.stack([lower.counts, higher.counts]))
    shared = lower.counts * around[1] + higher.counts * (around[0] - lower.counts) - free
    sizes = both.most_tied
    order = np.argsort(-sizes, kind="stable")
    cost = np.append(0.0, np.cumsum(shared[order])) / 2
    alone = lower.ties[1] + higher.ties[1] + 3 * float(free @ sizes)
    ties = alone + 3 * np.append(0.0, np.cumsum((shared * sizes)[order]))
    low, high = (pairs * end for end in _superiority(lower, higher))
    n = both.n
    spread = np.maximum(n + 1 - np.append(both.ties[0], ties) / (n * (n - 1)), 0.0) * pairs / 12
    away = np.append(low, high - cost) - pairs / 2 - correction
    positive = (away > 0) & (spread > 0)
    z = np.where(away > 0, math.inf, 0.0)  # rows that could all be tied show no spread
    np.divide(away, np.sqrt(spread), out=z, where=positive)
    return float(z[0]), float(z[1:].max())


def _count_free_ties(lower: _Sample, higher: _Sample) -> FloatArray:
    """Count pairs of both classes that are tied for certain or at best, by their smaller block.

    At best: one row has a single value, and the other's block ends there on the wrong side.
    """
    free = lower.certain_ties * higher.certain_ties
    if lower.ties_known:
        above, below = (dict(lower.tree.relate(one.counts, True)) for one in (lower, higher))
        free = free + higher.certain_ties * above[3] + lower.certain_ties * below[6]
    return free


def _rank_sum(lower: _Sample, higher: _Sample) -> TestBounds:
    """Bound the sum of the higher class's ranks: pairs in order, and ranks in its own class."""
    found, count = _mann_whitney(lower, higher), higher.n
    pairs, own = lower.n * count, count * (count + 1) / 2
    return found._replace(value=(own + pairs * found.value[0], own + pairs * found.value[1]))


def _brunner_munzel(lower: _Sample, higher: _Sample) -> TestBounds:
    """Bound the probability of superiority, and p by Student's t with the estimated error.

    The ends of p combine those of the probability, the error and the freedom, so they hold for
    certain but need not be attained. The lower end of p is 0 if the rows could be in an order that
    shows no spread.
    """
    value, sizes = _superiority(lower, higher), (lower.n, higher.n)
    if min(sizes) < 2:
        return TestBounds(value, UNKNOWN)
    shares = (_placed_spread(lower, higher), _placed_spread(higher, lower))
    least, most = (math.sqrt(sum(ends)) for ends in zip(*shares, strict=True))
    if not most > 0:  # the classes are separated in every order
        return TestBounds(value, UNKNOWN)
    far = max(value[1] - 0.5, 0.5 - value[0])
    near = max(value[0] - 0.5, 0.5 - value[1], 0.0)
    low, high = _freedom(shares, sizes)
    t_most = far / least if least > 0 else math.inf
    return TestBounds(value, (two_sided_by_t(t_most, high), two_sided_by_t(near / most, low)))


def _placed_spread(own: _Sample, others: _Sample) -> Ends:
    """Bound the variance's part from the spread of one class's places among the other."""
    low, high = own.places(others.counts)
    least, most = map(float, bound_squares(low, high, own.counts))
    # Places are multiples of 1/2, so a sum that is not 0 is far from it.
    least = least if least > _NEGLIGIBLE**2 * most else 0.0
    most = most if most > _NEGLIGIBLE else 0.0
    size = (own.n - 1) * own.n * others.n**2
    return least / size, most / size


def _freedom(shares: tuple[Ends, Ends], sizes: Ends) -> Ends:
    """Bound the degrees of freedom: their inverse is convex in the first class's share."""
    (low, high), (other_low, other_high) = shares
    first, second = sizes[0] - 1, sizes[1] - 1
    ends = (low / (low + other_high or 1.0), high / (high + other_low or 1.0))
    best = min(max(first / (first + second), ends[0]), ends[1])
    inverse = [part**2 / first + (1 - part) ** 2 / second for part in (*ends, best)]
    return 1 / max(inverse), 1 / min(inverse)


def _kolmogorov_smirnov(blocks: Blocks) -> TestBounds:
    """Bound the largest gap between two distributions, and p, which falls as the gap grows.

    Rows attain the largest gap with one class at the first cells and the other at the last. They
    attain the least where every block is a cell, if its rows are tied.
    """
    sizes = blocks.counts.sum(axis=1)
    fewest, most, _ = bound_distribution(blocks)
    one, other = (fewest / sizes[:, None]), (most / sizes[:, None])[::-1]
    low = float((one - other).max(initial=0.0))
    inside = slice(1 if blocks.axes[0].ties_known else 0, None, 2)  # a value has no inside
    high = float((other - one)[:, inside].max(initial=0.0))
    error = math.sqrt(sizes.sum() / sizes.prod())
    return TestBounds(
        (low, high), (beyond_kolmogorov(high / error), beyond_kolmogorov(low / error))
    )


_OF_CLASSES: dict[str, Callable[[_Sample, _Sample], TestBounds]] = {
    "mann-whitney": _mann_whitney,
    "mann-whitney-continuity": partial(_mann_whitney, continuity=True),
    "wilcoxon-rank-sum": _rank_sum,
    "brunner-munzel": _brunner_munzel,
}


def bound_spearman(blocks: Blocks) -> TestBounds:
    """Bound the correlation of ranks, and p by Student's t, which falls as it leaves 0.

    A rank is the middle of its ends plus a deviation. A deviation is the sum over the other rows of
    half of e, which is from -1 to 1 where the order is open, and opposite for the two rows of a
    pair. So the sum of products of ranks is that of middles; plus two sums of one column's middles
    m times the other's deviations, each a quarter of the sum of e (m - m') over pairs; plus one of
    products of deviations, at most as large as Cauchy and Schwarz allow. The ends combine those of
    all sums, and need not be attained.
    """
    n, table = blocks.n, blocks.tree.table(blocks.counts)
    x, y = (
        _Ranks.of(_Sample(blocks.tree.axes[at], blocks.axes[at].ties_known, table.sum(axis=1 - at)))
        for at in range(2)
    )
    product = float(x.middles @ table @ y.middles)
    opened = math.sqrt(x.deviations * y.deviations)
    opened += x.open_product(y, table) + y.open_product(x, table.T)
    least, most = (math.sqrt(one * other) for one, other in zip(x.squares, y.squares, strict=True))
    if n < FEWEST_RANKS or not most > 0:
        return TestBounds(UNKNOWN, UNKNOWN)
    low = -_largest_correlation(opened - product, least, most)
    high = _largest_correlation(opened + product, least, most)
    near, far = min(max(low, -high, 0.0), 1 - _NEGLIGIBLE), max(high, -low)
    p = (_p_of_correlation(far, n), _p_of_correlation(near, n))
    return _allow_for_rounding(TestBounds((low, high), p), (-1.0, 1.0))


class _Ranks(NamedTuple):
    """Bounds of the ranks of one column, about their mean."""

    sample: _Sample
    middles: FloatArray
    """The middle of the ends of a rank in every block."""
    squares: Ends
    """The ends of the sum of squares, which ties reduce."""
    deviations: float
    """The largest sum of squared deviations from the middles."""

    @classmethod
    def of(cls, sample: _Sample) -> _Ranks:
        n, (low, high) = sample.n, sample.places(sample.counts)
        middles = (low + high - n) / 2
        least, most = ((n**3 - n - ties) / 12 for ties in sample.ties[::-1])
        ranks = cls(sample, middles, (max(least, 0.0), most), 0.0)
        # The sum of squares is that of middles and deviations, plus twice their products.
        products = ranks.open_product(ranks, np.diag(sample.counts))
        left = most - float(sample.counts @ middles**2) + 2 * products
        open_rows = high - low - (sample.certain_ties < sample.counts)  # the row itself is not open
        reach = float(sample.counts @ open_rows**2) / 4
        return ranks._replace(deviations=max(min(left, reach), 0.0))

    def open_product(self, other: _Ranks, table: FloatArray) -> float:
        """Return the largest sum of these middles times the deviations of another column."""
        related = other.sample.tree.relate(table, other.sample.ties_known)
        widths = ((_PLACES[relation][1] - _PLACES[relation][0], rows) for relation, rows in related)
        open_rows = np.sum([width * rows for width, rows in widths if width > 0], axis=0)
        apart = np.abs(np.subtract.outer(self.middles, self.middles))
        return float((table * (apart @ open_rows)).sum()) / 4


def _largest_correlation(product: float, least: float, most: float) -> float:
    """Return the largest correlation of this product, between these sizes of the columns."""
    size = least if product > 0 else most
    return 1.0 if product >= size else product / size


def _p_of_correlation(value: float, n: float) -> float:
    is_perfect = value > 1 - _NEGLIGIBLE
    t = math.inf if is_perfect else value * math.sqrt((n - 2) / (1 - value**2))
    return two_sided_by_t(t, n - 2)
