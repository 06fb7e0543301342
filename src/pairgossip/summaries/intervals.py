"""Between which values a statistic lies whatever rows are in each cell, and its intervals.

Pairs in different cells are known; those that share one may be in either order, or tied. In ratios
they would count in both parts, so that a statistic is farthest off if none of them are tied.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.inference.answer import Law, interval
from pairgossip.kernels import Combination, Kernel
from pairgossip.kernels.builtin.ranks import COMPARABLE, CONCORDANT, KENDALL, RANKING_RISK
from pairgossip.kernels.builtin.spread import GINI, MIDPOINT
from pairgossip.kernels.kernel import Scale
from pairgossip.order_statistics.comparisons import ClassTest
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.order_statistics.rank_brackets import (
    UNKNOWN,
    Ends,
    RankBracket,
    bracket_class_test,
    bracket_spearman,
)
from pairgossip.summaries.axes import Grid, Labels
from pairgossip.summaries.features import Combined, Sketch, formulas
from pairgossip.summaries.order_features import AucPair, AucTable, Table
from pairgossip.summaries.samples import RankTable, SampleReadout
from pairgossip.summaries.spread_features import GiniBins, GiniLabels

LEVEL = 0.95
"""Confidence level of all intervals."""
_OF_SURVIVAL = (CONCORDANT, COMPARABLE)
_HALVINGS = 60
"""Bisections, after which an end is as exact as a float."""
POSSIBLE: dict[Scale, Ends] = {
    "logit": (0.0, 1.0),
    "log": (0.0, math.inf),
    "fisher": (-1.0, 1.0),
    "plain": (-math.inf, math.inf),
}
"""Between which values statistics lie whose intervals are on these scales."""


def bracket_of(sketch: Sketch, kernel: Kernel | Combination, mean: FloatArray) -> Ends:
    """Return the ends between which the statistic lies, whatever rows are in each cell.

    NaN if they are not known.
    """
    part = sketch.part if isinstance(sketch, Combined) else sketch
    if isinstance(part, GiniLabels):
        value = float(sketch.readout(mean))
        return value, value  # every value is known
    if isinstance(part, GiniBins):
        return _of_one_column(part, kernel, mean)
    if isinstance(part, AucPair):
        tables = zip((part.first, part.second), part.split(mean)[:2], strict=True)
        one, other = (_as_ends(table.bracket(cells)) for table, cells in tables)
        return one[0] - other[1], one[1] - other[0]
    if isinstance(part, AucTable):
        return _as_ends(part.bracket(mean))
    return _of_order(part, kernel, mean) if isinstance(part, Table) else UNKNOWN


def _as_ends(ends: Iterable[Any]) -> Ends:
    low, high = map(float, ends)
    return low, high


def _of_one_column(part: GiniBins, kernel: Kernel | Combination, mean: FloatArray) -> Ends:
    asked = formulas(kernel)
    ends = np.repeat(part.averages(mean, asked)[None], 2, axis=0)
    ends[:, asked.index(GINI)] = _count_differences(part, mean)
    if MIDPOINT in asked:  # the lowest value has the highest mean
        shares = _shares(part, mean)
        ends[:, asked.index(MIDPOINT)] = [
            shares @ edges for edges in (part.grid.edges[1:], part.grid.edges[:-1])
        ]
    return _as_ends(kernel.combine(ends))


def _shares(part: GiniBins, mean: FloatArray) -> FloatArray:
    return np.maximum(mean[part.grid.counts], 0.0)


def _count_differences(part: GiniBins, mean: FloatArray) -> Ends:
    """Return the ends of the mean difference if only counts are known.

    All rows of a bin lie nearest to the others at its end toward the median, and farthest at the
    other end; within a bin rows differ by half its width on average at most.
    """
    share, widths = _shares(part, mean), part.grid.widths
    below = np.cumsum(share) - share
    lean = 2 * below + share - share.sum()  # rows below less those above
    across = 2 * float((share * lean) @ (part.grid.middles - part.grid.edges[0]))
    moved, inside = float((share * np.abs(lean)) @ widths), float(share**2 @ widths) / 2
    return part.scale * max(across - moved, 0.0), part.scale * (across + moved + inside)


def _of_order(part: Table, kernel: Kernel | Combination, mean: FloatArray) -> Ends:
    asked = formulas(kernel)
    if asked == _OF_SURVIVAL:
        return _of_survival(part, mean)
    if asked == (RANKING_RISK,):
        return _as_ends(part.bracket(mean))  # type: ignore[attr-defined]
    cells, ends = part.cells(mean), np.repeat(part.averages(mean, asked)[None], 2, axis=0)
    order, unknown = float(part.known(cells)), float(part.unknown(cells))
    agreement = np.clip([order - unknown, order + unknown], -1.0, 1.0)
    ends[:, asked.index(KENDALL)] = part.scale * agreement
    return _as_ends(kernel.combine(ends))


def _of_survival(part: Table, mean: FloatArray) -> Ends:
    """Return the ends of the concordance: a failed row is compared with all that outlive it.

    Any pair that shares a bin of the outcome could be compared, once if both have failed.
    """
    x, y = part.x, part.y
    halves = np.split(mean, 2) if len(mean) > len(x.signs) * len(y.signs) else [mean, mean]
    everyone, failed = (part.cells(half)[x.counts, y.counts] for half in halves)
    order, signs = x.signs[x.counts, x.counts], y.signs[y.counts, y.counts]
    later, whole = np.abs(signs) + signs, np.ones_like(order)
    tied = 2 * np.eye(y.bins) * y.ties_known

    def total(rows: FloatArray, first: FloatArray, second: FloatArray) -> float:
        return float((rows * (first @ failed @ second.T)).sum())

    def outliving(first: FloatArray) -> float:
        return total(everyone, first, later) + total(everyone - failed, first, tied)

    agreement, compared = outliving(order), outliving(whole)
    own = 0.0 if y.ties_known else float(failed.sum()) / part.n  # pairs of a row with itself
    more = total(2 * everyone - failed, whole, _share_bin(y)) - own
    unknown = outliving(_share_bin(x)) + more
    if not compared + more > 0:
        return UNKNOWN
    low, high = ((1 + (agreement + side * unknown) / (compared + more)) / 2 for side in (-1, 1))
    return low, high


def _share_bin(axis: Grid | Labels) -> FloatArray:
    """Return the form of pairs in one bin whose order is not known."""
    return np.eye(axis.bins) * (not axis.ties_known)


def bracket_test(
    part: SampleReadout | RankTable, mean: FloatArray, value: float, p: float
) -> RankBracket:
    """Return the ends of a test by ranks, and of its p, whatever rows are in each cell."""
    if all(isinstance(axis, Labels) for axis in axes_of(part)):
        return RankBracket((value, value), (p, p))  # every value is known
    counts = count_rows(part, mean)
    if isinstance(part, RankTable):
        return bracket_spearman(counts, (part.table.x.ties_known, part.table.y.ties_known))
    assert isinstance(part.statistic, ClassTest)
    return bracket_class_test(part.statistic.name, counts)


def axes_of(part: SampleReadout | RankTable) -> tuple[Grid | Labels, ...]:
    """Return the cells of every column."""
    return (part.table.x, part.table.y) if isinstance(part, RankTable) else (part.axis,)


def count_rows(part: SampleReadout | RankTable, mean: FloatArray) -> FloatArray:
    """Return the number of rows in each cell, by class or by the cells of two columns.

    Whole, so that members whose machines round otherwise judge them alike.
    """
    if isinstance(part, RankTable):
        table = part.table
        return np.rint(table.n * table.cells(mean)[table.x.counts, table.y.counts])
    return np.rint(part.size * mean.reshape(part.classes, part.axis.bins, -1)[..., 0])


def fullest_cells(part: SampleReadout | RankTable, mean: FloatArray) -> tuple[float, ...]:
    """Return the largest share of rows in one cell of each column; 0 if a cell is one value."""
    counts = count_rows(part, mean)
    margins = [counts.sum(axis=0)]
    if isinstance(part, RankTable):
        margins.insert(0, counts.sum(axis=1))
    n = part.table.n if isinstance(part, RankTable) else part.size
    return tuple(
        0.0 if isinstance(axis, Labels) else float(np.clip(margin.max() / n, 0.0, 1.0))
        for axis, margin in zip(axes_of(part), margins, strict=True)
    )


def at_edges(part: SampleReadout, mean: FloatArray, *, is_low: bool) -> Distribution:
    """Return the sample as if all rows were at those ends of their cells that are lower, or higher.

    The lower of two classes is moved the other way, so that the classes differ least, or most.
    """
    whole = part.distribution(mean)
    if isinstance(part.axis, Labels):
        return whole  # rows are where they are
    edges = part.axis.edges
    weights = whole.weights.reshape(*whole.weights.shape[:-1], part.axis.bins, -1).sum(axis=-1)
    moves = [is_low] if part.classes == 1 else [not is_low, is_low]
    placed = [
        np.append(own, 0.0) if low else np.append(0.0, own)
        for own, low in zip(weights.reshape(part.classes, -1), moves, strict=True)
    ]
    return Distribution(edges, edges, np.reshape(placed, (*weights.shape[:-1], -1)), whole.size)


def interval_about(bracket: Ends, value: float, error: float, scale: Scale, law: Law) -> Ends:
    """Return an interval for a statistic that is known up to a bracket.

    Where the bracket is wide, errors of one side only can lead astray (Imbens and Manski 2004).
    Noise may leave the value outside of the bracket, and of what its scale allows.
    """
    low, high = (value, value) if math.isnan(bracket[0]) else bracket
    if not (error > 0 and low <= high):
        return UNKNOWN
    low, high = min(low, value), max(high, value)
    at_most, slope = level_of_ends(LEVEL, (high - low) / error), _slope(scale, value)
    sizes = [error * _slope(scale, end) / slope if slope > 0 else error for end in (low, high)]
    return (
        interval(low, sizes[0], at_most, scale, law)[0],
        interval(high, sizes[1], at_most, scale, law)[1],
    )


def _slope(scale: Scale, value: float) -> float:
    """Return how fast numbers grow with those on the scale; 0 beyond its ends."""
    slopes = {"logit": value * (1 - value), "log": value, "fisher": 1 - value**2, "plain": 1.0}
    return max(slopes[scale], 0.0)


def level_of_ends(level: float, width: float) -> float:
    """Return the level of intervals about both ends of a bracket; its width is in errors."""
    law = NormalDist()
    low, high = law.inv_cdf(level), law.inv_cdf((1 + level) / 2)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if law.cdf(middle + width) - law.cdf(-middle) < level:
            low = middle
        else:
            high = middle
    return 2 * law.cdf(high) - 1
