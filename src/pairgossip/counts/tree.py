"""The public tree over the cells of a table, and the blocks in which a site reports its rows.

Counts of fine cells are the rows, rounded. So a site halves the table again and again, and stops
where a half would reveal few rows. Every row is counted once, in the block where the halving stops.
The tree follows from the number of cells alone, so the reports of sites add up. Their sums bound
and estimate every statistic of the cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray

_STEPS = 20
"""Number of steps of expectation-maximization; more gain nothing."""
_PASSING_FACTOR = 4
"""A block with a light half passes rows on if it holds this many times the least number. With fewer
rows, the density of other sites' rows would often show that the light half is not empty."""

Relation: TypeAlias = Literal[1, 2, 3, 4, 6, 7]
"""The possible orders of two rows: the sum of `BEFORE`, `TIED` and `AFTER`."""
BEFORE: Literal[1] = 1
TIED: Literal[2] = 2
AFTER: Literal[4] = 4


Counts = TypeVar("Counts", FloatArray, IntArray)


class Tree:
    """The blocks of a table: the whole, and the halves of every block down to single cells.

    A block is halved along its axis with most cells, the first of several. Blocks are numbered by
    levels, the whole table first, so a block comes before all blocks that it contains.

    Parameters
    ----------
    shape
        The number of cells along every axis.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        first: list[IntArray] = [np.zeros((1, len(shape)), dtype=np.intp)]
        last: list[IntArray] = [np.array([shape], dtype=np.intp) - 1]
        self._levels: list[tuple[IntArray, slice]] = []
        """Blocks that are split, and the places of their halves, each left, then right."""
        start = 0
        while len(split := np.flatnonzero((last[-1] > first[-1]).any(axis=1))):
            low, high = _halve(first[-1][split], last[-1][split])
            stop = start + len(first[-1])
            self._levels.append((split + start, slice(stop, stop + len(low))))
            first.append(low)
            last.append(high)
            start = stop
        self.boxes: tuple[IntArray, IntArray] = np.concatenate(first), np.concatenate(last)
        """The first and the last cell of every block along each axis, shape (size, axes)."""

    @property
    def size(self) -> int:
        """The number of blocks: twice the cells, less one."""
        return len(self.boxes[0])

    @cached_property
    def is_cell(self) -> BoolArray:
        """Whether each block is a single cell, shape (size,)."""
        return np.asarray((self.boxes[0] == self.boxes[1]).all(axis=1))

    @cached_property
    def cells(self) -> IntArray:
        """The blocks that are single cells, in the order of the flat table."""
        found = np.flatnonzero(self.is_cell)
        return found[np.argsort(np.ravel_multi_index(tuple(self.boxes[0][found].T), self.shape))]

    @cached_property
    def axes(self) -> tuple[Tree, ...]:
        """The tree of every axis by itself."""
        return (self,) if len(self.shape) == 1 else tuple(lay_tree((n,)) for n in self.shape)

    @cached_property
    def sides(self) -> tuple[IntArray, ...]:
        """For every axis, the block of its own tree that each block covers, shape (size,)."""
        ends = zip(self.axes, self.boxes[0].T, self.boxes[1].T, strict=True)
        return tuple(axis._find(first, last) for axis, first, last in ends)

    def _find(self, first: IntArray, last: IntArray) -> IntArray:
        """Return the blocks of one axis with these ends."""
        keys, asked = (low * self.shape[0] + high for low, high in (self._ends, (first, last)))
        order = np.argsort(keys)
        return np.asarray(order[np.searchsorted(keys[order], asked)])

    @property
    def _ends(self) -> tuple[IntArray, IntArray]:
        """The first and the last cell of every block of a tree of one axis."""
        return self.boxes[0][:, 0], self.boxes[1][:, 0]

    def gather(self, cells: Counts, by: np.ufunc = np.add) -> Counts:
        """Return the sum, or another reduction, of numbers per cell over every block.

        Cells have the shape (..., *shape), blocks (..., size).
        """
        leading: tuple[int, ...] = cells.shape[: cells.ndim - len(self.shape)]
        blocks = np.empty((*leading, self.size), dtype=cells.dtype)
        blocks[..., self.cells] = cells.reshape(*leading, -1)
        for split, halves in reversed(self._levels):
            pairs = blocks[..., halves].reshape(*leading, len(split), 2)
            blocks[..., split] = by.reduce(pairs, axis=-1)
        return blocks

    def add_containing(self, blocks: FloatArray | IntArray) -> FloatArray:
        """Return, for every block, the sum over it and all blocks that contain it."""
        total = blocks.astype(np.float64)
        for split, halves in self._levels:
            total[..., halves] += np.repeat(total[..., split], 2, axis=-1)
        return total

    def report(self, counts: IntArray, least: int) -> IntArray:
        """Return the number of rows of a site reported in every block, shape (..., size).

        A block is split if both halves hold ``least`` rows. If one holds fewer, even none, and the
        block at least four times ``least``, exactly ``least`` rows stay at the block: those of the
        light half, and the next ones in the order of the leaves. All others go on into the heavy
        half. In other blocks all rows stay. So every number is 0 or at least ``least``, and a
        report does not say whether a light half is empty. For every report there is a table whose
        cells each hold no row or at least ``least`` rows: no set of cells is ever known for certain
        to hold at least one row but fewer than ``least``. If the whole table has fewer rows than
        ``least``, none is reported; ``least`` 1 leaves cells as they are.

        Parameters
        ----------
        counts
            The number of rows in every cell, shape (..., *shape).
        least
            The least number of rows in a block.
        """
        if least <= 1:
            return np.where(self.is_cell, self.gather(counts), 0)
        ranked = counts.reshape(*counts.shape[: counts.ndim - len(self.shape)], -1)
        below = np.cumsum(ranked[..., np.argsort(self._starts[self.cells])], axis=-1)
        return np.subtract(*self.hold(below, least)[::-1])

    def hold(self, below: IntArray, least: int) -> tuple[IntArray, IntArray]:
        """Return the rows of a site reported in every block, as `report` describes.

        Rows are ranked by the order of the leaves, so that those that arrive at a block are
        consecutive, and so are those that stay.

        Parameters
        ----------
        below
            The number of rows up to every leaf, shape (..., cells).
        least
            The least number of rows in a block.

        Returns
        -------
        start, stop
            The rank of the first row reported there, and of the first one after those, shape
            (..., size).
        """
        first = np.zeros((*below.shape[:-1], self.size), dtype=below.dtype)
        end = first.copy()
        end[..., 0] = np.where(below[..., -1] >= least, below[..., -1], 0)
        start, stop = first.copy(), end.copy()
        for split, halves in self._levels:
            low, high = first[..., split], end[..., split]
            middle = below[..., self._starts[halves][1::2] - 1].clip(low, high)
            rows, fewest = high - low, np.minimum(middle - low, high - middle)
            stays = np.where(rows >= _PASSING_FACTOR * least, least, rows)
            stays = np.where(fewest >= least, 0, stays)
            is_left = (stays > 0) & (middle - low < least)
            start[..., split] = np.where(is_left, low, high - stays)
            stop[..., split] = start[..., split] + stays
            low, high = low + np.where(is_left, stays, 0), high - np.where(is_left, 0, stays)
            middle = middle.clip(low, high)
            first[..., halves] = np.stack([low, middle], axis=-1).reshape(*low.shape[:-1], -1)
            end[..., halves] = np.stack([middle, high], axis=-1).reshape(*low.shape[:-1], -1)
        return np.where(self.is_cell, first, start), np.where(self.is_cell, end, stop)

    @cached_property
    def depths(self) -> IntArray:
        """The number of blocks that contain each block, without itself, shape (size,)."""
        return self.add_containing(np.ones(self.size)).astype(np.intp) - 1

    @cached_property
    def _starts(self) -> IntArray:
        """The number of leaves before each block, left halves before right ones."""
        leaves = self.gather(np.ones(self.shape, dtype=np.intp))
        starts = np.zeros(self.size, dtype=np.intp)
        for split, halves in self._levels:
            left = starts[split]
            starts[halves] = np.stack([left, left + leaves[halves][::2]], axis=-1).ravel()
        return starts

    def spread(self, blocks: FloatArray | IntArray, first: FloatArray | None = None) -> FloatArray:
        """Estimate the number of rows in every cell, shape (..., *shape), whatever blocks are
        split.

        It uses expectation-maximization: the rows of a block are spread over its cells in
        proportion to the rows that all blocks together suggest, smoothed over neighbors (Silverman
        et al. 1990). The last step does not smooth, so that no row leaves its block. ``first`` is a
        guess at the rows of cells, by default even.
        """
        rows = np.ones((*blocks.shape[:-1], *self.shape)) if first is None else first
        for step in range(_STEPS):
            for axis in range(-len(self.shape), 0) if step else ():
                rows = _smooth(rows, axis)
            expected = self.gather(rows)
            ratio = np.divide(blocks, expected, out=np.zeros_like(expected), where=blocks > 0)
            rows = rows * self.add_containing(ratio)[..., self.cells].reshape(rows.shape)
        return rows

    def place(self, blocks: FloatArray, *, is_last: bool) -> FloatArray:
        """Put all rows in the first, or last, cell of their block of one axis, shape (..., cells).

        At every edge the distribution of the rows lies between those of the two.
        """
        order, starts = self._orders[is_last]
        return np.asarray(np.add.reduceat(blocks[..., order], starts, axis=-1))

    @cached_property
    def _orders(self) -> list[tuple[IntArray, IntArray]]:
        """Blocks by their first, and by their last cell, and the start of each cell's among
        them."""
        orders = [np.argsort(ends, kind="stable") for ends in self._ends]
        cells = np.arange(self.shape[0])
        both = zip(orders, self._ends, strict=True)
        return [(order, np.searchsorted(ends[order], cells)) for order, ends in both]

    def table(self, blocks: FloatArray) -> FloatArray:
        """Return the counts by the blocks of every axis' own tree, shape (..., *sizes)."""
        sizes = tuple(axis.size for axis in self.axes)
        table = np.zeros((*blocks.shape[:-1], *sizes))
        at: Any = (..., *self.sides)
        table[at] = blocks
        return table

    def relate(self, blocks: FloatArray, ties_known: bool) -> Iterator[tuple[Relation, FloatArray]]:
        """Count for every block of one axis the rows of blocks in each relation to it.

        Blocks contain one another or have no cell in common. So rows are in a known order, or any
        order is possible. Where a cell is a single value, its rows are tied, and are not beyond
        those of a block at whose end it is.

        Parameters
        ----------
        blocks
            The number of rows in every block, shape (..., size).
        ties_known
            Whether every cell is a single value.

        Yields
        ------
        relation, rows
            The possible orders of a row of the block and another, and the number of other rows in
            that relation, shape (..., size).
        """
        first, last = self._ends
        firsts, lasts = (self.place(blocks, is_last=side) for side in (False, True))
        total = blocks.sum(axis=-1, keepdims=True)
        before = total - np.cumsum(firsts, axis=-1)[..., last]
        after = (np.cumsum(lasts, axis=-1) - lasts)[..., first]
        known = before + after
        yield BEFORE, before
        yield AFTER, after
        if ties_known:
            tied = blocks * self.is_cell
            not_after, not_before = firsts[..., last] - tied, lasts[..., first] - tied
            known = known + tied + not_after + not_before
            yield TIED, tied
            yield 3, not_after
            yield 6, not_before
        yield 7, total - known


def _halve(first: IntArray, last: IntArray) -> tuple[IntArray, IntArray]:
    """Return the ends of the halves of blocks, each left, then right."""
    rows, axis = np.arange(len(first)), (last - first).argmax(axis=1)
    low, high = np.repeat(first, 2, axis=0), np.repeat(last, 2, axis=0)
    middle = (first[rows, axis] + last[rows, axis]) // 2  # the left half has one more if odd
    high[2 * rows, axis], low[2 * rows + 1, axis] = middle, middle + 1
    return low, high


def _smooth(rows: FloatArray, axis: int) -> FloatArray:
    """Return the means of neighbors along an axis; each cell itself counts twice."""
    rows = np.moveaxis(rows, axis, -1)
    around = np.concatenate([rows[..., :1], rows, rows[..., -1:]], axis=-1)
    return np.moveaxis((around[..., :-2] + 2 * rows + around[..., 2:]) / 4, -1, axis)


@lru_cache(maxsize=64)
def lay_tree(shape: tuple[int, ...]) -> Tree:
    """Return the tree over a table of this shape, the same object every time."""
    return Tree(shape)
