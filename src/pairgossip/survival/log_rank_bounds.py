"""Bounds of the log-rank statistic that hold wherever in their blocks the rows are.

In every cell, the least and the largest number of rows at risk is certain for each group, and so
are the bounds of its share of those at risk when a row fails there. Every event adds one share, and
a product of two, to the scores and their variance; an event may be in any cell of its block. The
sums of these bounds hold for scores and variance, and so for the statistic. They need not be
attained.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.counts.bounds import Blocks, Ends
from pairgossip.counts.tree import Tree

_ROUNDING = 1e-12
"""Relative rounding error of sums over all events."""


class ScoreEnds(NamedTuple):
    """The two ends of the scores of all groups, and of their covariances."""

    low: FloatArray
    high: FloatArray
    least: FloatArray
    most: FloatArray


def bound_scores(groups: Sequence[Blocks], *, is_gehan: bool) -> ScoreEnds:
    """Bound observed minus expected events of every group, and the covariances."""
    count, tree = len(groups), groups[0].tree
    risk = _AtRisk.of(groups)
    scores, variances = np.zeros((2, count)), np.zeros((2, count, count))
    for own, blocks in enumerate(groups):
        events = blocks.counts[1]
        shares = risk.share_ends(own, is_gehan=is_gehan)
        for at in range(count):
            low, high = shares.of_others[:, at] if at == own else -shares.of_group[::-1, at]
            scores[:, at] += _sum_ends(tree, events, low, high)
        for first, second, low, high in shares.list_products(risk.untied):
            variances[:, first, second] += _sum_ends(tree, events, low, high)
    upper = np.triu(np.ones((count, count)), 1) > 0
    variances[:, upper.T] = variances.swapaxes(1, 2)[:, upper.T]
    return ScoreEnds(*scores, *variances)


def _sum_ends(
    tree: Tree, events: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[float, float]:
    """Add up the least and the largest number of each event over the cells of its block."""
    return float(events @ tree.gather(low, np.minimum)), float(
        events @ tree.gather(high, np.maximum)
    )


class _AtRisk(NamedTuple):
    """The number of rows of every group at risk in every cell, shape (groups, cells)."""

    least: FloatArray
    most: FloatArray
    counts_itself: bool
    """Whether the least number includes a row in the cell: then all rows of the cell are at
    risk."""
    untied: FloatArray
    """The least remaining share of the variance if all events that may be in a cell are tied."""

    @classmethod
    def of(cls, groups: Sequence[Blocks]) -> _AtRisk:
        tree, ties_known = groups[0].tree, groups[0].axes[0].ties_known
        every = np.stack([one.counts.sum(axis=0) for one in groups])
        total = every.sum(axis=1, keepdims=True)
        first, last = (tree.place(every, is_last=side) for side in (False, True))
        later = total - np.cumsum(first, axis=1)
        events = sum(one.counts[1] for one in groups)
        tied = tree.add_containing(np.asarray(events))[tree.cells]
        after = later.sum(axis=0)
        untied = np.where(tied > 1, after / np.maximum(after + tied - 1, 1.0), 1.0)
        least, most = later + first if ties_known else later, total - np.cumsum(last, axis=1) + last
        return cls(least, most, ties_known, untied)

    def share_ends(self, own: int, *, is_gehan: bool) -> _Shares:
        """Return the ends of shares at an event of a group, whose row is itself at risk."""
        least, most = self.least.copy(), self.most.copy()
        least[own] = np.maximum(least[own] + (not self.counts_itself), 1.0)
        most[own] = np.maximum(most[own], least[own])
        others = [one.sum(axis=0) - one for one in (least, most)]
        if is_gehan:  # a share times the weight is the number of the group
            return _Shares(np.stack([least, most]), np.stack(others), is_share=False)
        low, high = least / np.maximum(least + others[1], 1.0), most / (most + others[0])
        of_group = np.stack([low, high])
        return _Shares(of_group, 1 - of_group[::-1], is_share=True)


class _Shares(NamedTuple):
    """The weighted share of every group among those at risk, and that of all others.

    Both have the shape (ends, groups, cells).
    """

    of_group: FloatArray
    of_others: FloatArray
    is_share: bool

    def list_products(
        self, untied: FloatArray
    ) -> Iterator[tuple[int, int, FloatArray, FloatArray]]:
        """Return the least and largest addition of an event to every variance and covariance."""
        (low, high), (left, right) = self.of_group, self.of_others
        least, most = low * left, high * right
        if self.is_share:  # p (1 - p) is largest at 1/2
            least = np.minimum(low * (1 - low), high * (1 - high))
            middle = np.clip(0.5, low, high)
            most = middle * (1 - middle)
        for first in range(len(low)):
            yield first, first, untied * least[first], most[first]
            for second in range(first + 1, len(low)):
                yield (
                    first,
                    second,
                    -high[first] * high[second],
                    -untied * low[first] * low[second],
                )


def bound_statistic(strata: Sequence[ScoreEnds]) -> Ends:
    """Bound the statistic, given bounds of the scores of all strata.

    On the scale of the middle V of the covariances, the true ones are the unit matrix plus one
    whose norm is at most e, that of the largest deviations. So the statistic is between the squared
    length of the scores on this scale over 1 + e, and over 1 - e.
    """
    low, high, least, most = (np.sum(part, axis=0) for part in zip(*strata, strict=True))
    keep = len(low) - 1  # the scores add up to 0
    middle, apart = ((most + side * least)[:keep, :keep] / 2 for side in (1, -1))
    score, reach = (high + low)[:keep] / 2, (high - low)[:keep] / 2
    sizes, directions = np.linalg.eigh(middle)
    if not sizes.min() > _ROUNDING * sizes.max():
        return 0.0, math.inf
    scale = (directions / np.sqrt(sizes)) @ directions.T
    size = np.abs(scale)
    far = float(np.linalg.norm(size @ apart @ size, 2)) + _ROUNDING
    length = float(np.linalg.norm(scale @ score))
    open_length = float(np.linalg.norm(size @ reach)) + _ROUNDING * length
    upper = (length + open_length) ** 2 / (1 - far) if far < 1 else math.inf
    return max(length - open_length, 0.0) ** 2 / (1 + far), upper
