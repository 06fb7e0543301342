"""Rows of two classes by their scores, from which every curve is read.

Counts in cells leave the place of a row in its cell open, and counts in blocks also its cell. So
every number of rows at or above a threshold has two ends, which hold for certain, and an estimate
between them. Rows of known scores are counted in cells of one value, and the three numbers agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from pairgossip.arrays import FloatArray, distinct
from pairgossip.counts.axes import Axis, Labels
from pairgossip.counts.bounds import Blocks
from pairgossip.counts.tree import Tree
from pairgossip.kernels import Pairs


class Ranges(NamedTuple):
    """Numbers that are known up to their ends."""

    low: FloatArray
    high: FloatArray
    value: FloatArray
    """An estimate between the ends."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The number of rows of the negative and the positive class with each score.

    All arrays begin with the two classes, the negative one first.
    """

    axis: Axis
    """The cells, from the lowest to the highest score."""
    cells: FloatArray
    """The number of rows per cell, estimated where blocks are larger, shape (2, cells)."""
    tree: Tree | None = None
    """The blocks that rows are counted in; None if they are single cells."""
    counts: FloatArray | None = None
    """The number of rows per block, shape (2, blocks)."""
    is_sample: bool = False
    """Whether the scores are those of a sample of rows: other scores may lie between them."""

    @classmethod
    def of_rows(cls, scores: FloatArray, is_positive: FloatArray, times: FloatArray) -> Self:
        """Count rows, each ``times`` times, in a cell for each different score."""
        values = distinct(scores)
        places = np.searchsorted(values, scores)
        weights = times * np.stack([~is_positive.astype(bool), is_positive.astype(bool)])
        cells = [np.bincount(places, one, len(values)) for one in weights]
        return cls(Labels(values), np.stack(cells), is_sample=True)

    @classmethod
    def of_pairs(cls, pairs: Pairs) -> Self:
        """Count the rows of a kernel of scores and their classes; the last class is positive."""
        rows = pairs.unweighted[1]
        is_higher = (rows[:, -1] == rows[:, -1].max()).astype(np.float64)
        return cls.of_rows(rows[:, 0], is_higher, pairs.row_weights)

    @classmethod
    def of_blocks(cls, blocks: Blocks) -> Self:
        """Take the counts of one column and two classes."""
        cells = blocks.spread().reshape(2, -1)
        if blocks.is_known:
            return cls(blocks.axes[0], cells)
        return cls(blocks.axes[0], cells, blocks.tree, blocks.by_class)

    @property
    def ties_known(self) -> bool:
        """Whether every cell is one score, so that rows in it are tied."""
        return self.axis.ties_known

    @property
    def is_known(self) -> bool:
        """Whether rows are counted in single cells of one score, so that nothing is open."""
        return self.ties_known and self.tree is None

    @cached_property
    def sizes(self) -> FloatArray:
        """The number of rows of each class."""
        return (self.cells if self.counts is None else self.counts).sum(axis=1)

    @cached_property
    def cuts(self) -> FloatArray:
        """The thresholds at the lower ends of all cells, and one beyond all rows."""
        return np.append(self.axis.ends[0], np.inf)

    @cached_property
    def above(self) -> Ranges:
        """The number of rows of each class at or above every cut, shape (2, cuts)."""
        first, last = (self.place(is_last=side) for side in (False, True))
        low, high = _add_from_above(first), _add_from_above(last)
        return Ranges(low, high, np.clip(_add_from_above(self.cells), low, high))

    def place(self, *, is_last: bool) -> FloatArray:
        """Put all rows in the first, or last, cell of their block, shape (2, cells)."""
        if self.tree is None or self.counts is None:
            return self.cells
        return self.tree.place(self.counts, is_last=is_last)

    def split(self, number: int) -> tuple[FloatArray, FloatArray]:
        """Return a class's rows of known cells, per cell, and all its other rows, per block."""
        if self.tree is None or self.counts is None:
            return self.cells[number], np.zeros(0)
        rows = self.counts[number]
        return rows[self.tree.cells], np.where(self.tree.is_cell, 0.0, rows)

    def count_from(self, threshold: float) -> Ranges:
        """Return the number of rows of each class at or above a threshold, shape (2,)."""
        at = int(np.searchsorted(self.cuts, threshold))
        if self.ties_known or self.cuts[at] == threshold or at == 0:
            return Ranges(*(part[:, at] for part in self.above))
        low, high = self.axis.ends
        width = max(high[at - 1] - threshold, 0.0) / (high[at - 1] - low[at - 1])
        above = self.above
        beyond, value = above.value[:, at], above.value[:, at - 1]
        most = above.high[:, at if threshold > high[at - 1] else at - 1]
        return Ranges(above.low[:, at], most, beyond + width * (value - beyond))

    @cached_property
    def upper(self) -> tuple[FloatArray, FloatArray]:
        """The path above all ROC curves that these counts allow, in numbers of rows."""
        low, high = self.above.low[0, ::-1], self.above.high[1, ::-1]
        return self._join(low, high, is_upper=True)

    @cached_property
    def lower(self) -> tuple[FloatArray, FloatArray]:
        """The path below all of these curves."""
        high, low = self.above.high[0, ::-1], self.above.low[1, ::-1]
        return self._join(high, low, is_upper=False)

    def _join(
        self, negatives: FloatArray, positives: FloatArray, *, is_upper: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the corners of a path, by falling threshold.

        Rows of one score are tied, which gives a straight line. In a wider cell all positives may
        come first, or last.
        """
        if self.ties_known:
            return negatives, positives
        x, y = np.repeat(negatives, 2), np.repeat(positives, 2)
        return (x[:-1], y[1:]) if is_upper else (x[1:], y[:-1])


def _add_from_above(cells: FloatArray) -> FloatArray:
    """Return the number of rows in every cell and those above it, and then a 0."""
    sums = np.cumsum(cells[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([sums, np.zeros((2, 1))], axis=1)
