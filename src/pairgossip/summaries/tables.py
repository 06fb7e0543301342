"""Counts of rows per cell: all that a member contributes for a statistic.

A contribution holds nothing else. A count tells in which cell rows lie and not where in it, so a
row that is alone in its cell is known no better than the cell is wide. Totals of a column would
tell more: with heavy tails they are mostly the largest row's.

Cells follow from the agreed text alone: neither numbers of rows nor earlier sums move an edge, for
a member could claim rows in order to narrow the cells of others.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.summaries.axes import Axis, Grid, Labels, Range
from pairgossip.summaries.bounds import Blocks
from pairgossip.summaries.cells import choose_cells
from pairgossip.summaries.readings import Estimate, Reading
from pairgossip.summaries.tree import lay_tree

MOST_CELLS = 1024
"""Largest number of cells of one column."""
_EVEN_POWERS = np.array([1.0, 0.0, 1 / 12])
"""Mean powers of the offset of numbers that are spread evenly over a cell."""
_MOST_POWERS = np.array([1.0, 1 / 6, 1 / 12])
"""The most they are if the density is straight."""


@dataclass(frozen=True)
class Columns:
    """The columns of a specification: their ranges, and the classes of the label."""

    ranges: tuple[Range, ...]
    """Ranges of all columns but a label whose values are known."""
    whole: tuple[bool, ...]
    """Which of them hold whole numbers only."""
    label: Labels | None
    bins: int
    """How many cells a column has."""
    target: str

    def scale(self, n: float) -> float:
        """Return the factor of the target's kind; NaN if there is no pair of different rows."""
        if self.target == "v":
            return 1.0
        return n / (n - 1) if n > 1 else math.nan

    def axes(
        self, powers: int, bins: int | None = None, most: int = MOST_CELLS
    ) -> tuple[Axis, ...]:
        """Return the cells of every column; up to ``most`` whole numbers have one each."""
        return tuple(
            Labels(np.arange(low, high + 1.0))
            if is_whole and high - low < most
            else lay_cells((low, high), bins or self.bins, powers)
            for (low, high), is_whole in zip(self.ranges, self.whole, strict=True)
        )


def lay_cells(declared: Range, count: int, powers: int) -> Grid:
    """Lay cells over a range, the same on every machine.

    They are equally wide, or of equal ratio where the range is positive and spans much.
    """
    grid = choose_cells(*declared, count).lay()
    assert isinstance(grid, Grid)
    return replace(grid, powers=powers)


class CountTable(NamedTuple):
    """A table of counts: rows by the cells of one or more columns."""

    axes: tuple[Axis, ...]
    columns: tuple[int, ...]
    """Where the axes' columns are in a row."""
    only: int | None = None
    """A column of zeros and ones; rows with a zero are not counted."""
    classes: int | None = None
    """Which of the axes is that of classes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(axis.bins for axis in self.axes)

    def tabulate(self, rows: FloatArray) -> IntArray:
        """Return the number of rows in each cell, shape (cells,)."""
        if self.only is not None:
            rows = rows[rows[:, self.only] > 0]
        columns = zip(self.axes, self.columns, strict=True)
        places = [axis.find_bins(rows[:, at]) for axis, at in columns]
        flat = np.ravel_multi_index(places, self.shape)
        return np.bincount(flat, minlength=math.prod(self.shape))

    def report(self, counts: FloatArray) -> Blocks:
        """Return counts in the shape of the axes as blocks, each of one cell."""
        axes, leading = list(self.axes), 0
        if self.classes is not None:
            axes.append(axes.pop(self.classes))
            counts, leading = np.moveaxis(counts, self.classes, 0), 1
        tree = lay_tree(counts.shape[leading:])
        blocks = np.zeros((*counts.shape[:leading], tree.size))
        blocks[..., tree.cells] = counts.reshape(*counts.shape[:leading], -1)
        return Blocks(tuple(axes), tree, blocks)


class Sums(NamedTuple):
    """A sum over all members: how many rows there are, and how many in each cell."""

    n: float
    tables: tuple[FloatArray, ...]
    """The counts of every table, in the shape of its axes."""

    @property
    def shares(self) -> FloatArray:
        """The share of rows in every cell of all tables."""
        return np.concatenate([one.ravel() for one in self.tables]) / self.n

    def clip(self, counts: FloatArray) -> FloatArray:
        """Return the counts of all rows without what noise has added: none is negative."""
        counts = np.maximum(counts, 0.0)
        return counts * (self.n / (counts.sum() or 1.0))


class Layout(ABC):
    """The tables of counts that members add up for one statistic."""

    powers = 1
    """The highest power of places in a cell that is read."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.axes = self.lay()
        self.tables = tuple(self.lay_tables())

    @property
    def column_axes(self) -> tuple[Axis, ...]:
        """The cells of the columns in their order; empty if cells are of something else."""
        return self.axes

    def lay(self) -> tuple[Axis, ...]:
        """Return the cells of the columns."""
        return self.columns.axes(self.powers)

    @abstractmethod
    def lay_tables(self) -> Sequence[CountTable]:
        """Return the tables of counts."""

    @abstractmethod
    def reading(self, n: float) -> Reading:
        """Return what means of features of n rows tell."""

    def prepare(self, rows: FloatArray) -> FloatArray:
        """Return the numbers of every row that the tables count."""
        return rows

    @property
    def counts(self) -> int:
        """How many counts there are."""
        return sum(math.prod(table.shape) for table in self.tables)

    @property
    def words(self) -> int:
        """How many numbers a member contributes: that of its rows, and the counts."""
        return 1 + self.counts

    def add_up(self, rows: FloatArray) -> IntArray:
        """Return what a member with these rows contributes; noise is not in it."""
        prepared = self.prepare(rows)
        parts = [np.array([len(rows)]), *(table.tabulate(prepared) for table in self.tables)]
        return np.concatenate(parts).astype(np.int64)

    def read_sums(self, total: IntArray | FloatArray) -> Sums:
        """Return the counts of a sum over all members."""
        numbers = total.astype(np.float64)
        parts = self._split(numbers[1:])
        return Sums(float(numbers[0]), tuple(part.reshape(table.shape) for table, part in parts))

    def find(self, sums: Sums, noise: float = 0.0) -> Estimate:
        """Return the statistic with its errors; noise moves it by this standard error."""
        return self.reading(sums.n).find(self.spread(sums.shares), noise, self.report(sums))

    def report(self, sums: Sums) -> tuple[Blocks, ...]:
        """Return the blocks of all tables, by which a statistic is bounded."""
        both = zip(self.tables, sums.tables, strict=True)
        return tuple(table.report(sums.clip(counts)) for table, counts in both)

    def spread(self, shares: FloatArray) -> FloatArray:
        """Return mean features given the share of rows in every cell, shape (..., counts).

        Rows are spread over their cell as the cells beside it suggest.
        """
        parts = self._split(shares)
        return np.concatenate([_spread(table, part) for table, part in parts], axis=-1)

    def _split(self, counts: FloatArray) -> Iterator[tuple[CountTable, FloatArray]]:
        """Return the numbers of each table, given those of all cells."""
        ends = np.cumsum([math.prod(table.shape) for table in self.tables])[:-1]
        return zip(self.tables, np.split(counts, ends, axis=-1), strict=True)


def _spread(table: CountTable, shares: FloatArray) -> FloatArray:
    """Return features of rows that are spread over their cells, no steeper than rows can be."""
    axes, tables = table.axes, shares.reshape(*shares.shape[:-1], *table.shape)
    even = _apply([_expand_alone(axis, _EVEN_POWERS) for axis in axes], tables)
    sloped = _apply([expand(axis) for axis in axes], tables)
    most = [_expand_alone(axis, _MOST_POWERS) for axis in axes]
    limits = _apply(most, np.maximum(tables, 0.0))
    spread = even + np.clip(sloped - even, -limits, limits)
    return spread.reshape(*shares.shape[:-1], -1)


def _apply(forms: Sequence[FloatArray], tables: FloatArray) -> FloatArray:
    """Turn the last axes of tables by a matrix each."""
    for at, form in enumerate(forms, tables.ndim - len(forms)):
        tables = np.moveaxis(np.tensordot(tables, form, axes=(at, 0)), -1, at)
    return tables


def expand(axis: Axis, *, is_sloped: bool = True) -> FloatArray:
    """Return the mean features of all cells, by the number of rows in each.

    The density of rows in a cell is straight, with the slope that the cells beside it suggest, or
    even.
    """
    form = _expand_alone(axis, _EVEN_POWERS)
    if is_sloped and isinstance(axis, Grid) and axis.bins > 1:
        slopes = np.gradient(np.diag(1 / axis.widths), axis.middles, axis=1)
        form[:, 1 :: axis.powers + 1] = slopes * axis.widths**2 / 12
    return form


def _expand_alone(axis: Axis, powers: FloatArray) -> FloatArray:
    """Return the features of all cells if each depends on its own rows only."""
    if isinstance(axis, Labels):
        return np.eye(axis.bins)
    return np.asarray(np.kron(np.eye(axis.bins), powers[: axis.powers + 1]))
