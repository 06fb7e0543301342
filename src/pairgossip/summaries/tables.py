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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.summaries.axes import Axis, Grid, Labels, Range
from pairgossip.summaries.bounds import Blocks
from pairgossip.summaries.cells import choose_cells
from pairgossip.summaries.intervals import LEVEL
from pairgossip.summaries.readings import Estimate, Reading
from pairgossip.summaries.tree import Tree, lay_tree

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
    least: int = 1
    """The least number of rows that is counted: 1 for cells as they are, else blocks of them."""

    def scale(self, n: float) -> float:
        """Return the factor of the target's kind; NaN if there is no pair of different rows."""
        if self.target == "v":
            return 1.0
        return n / (n - 1) if n > 1 else math.nan

    def choose(self, at: int) -> Columns:
        """Return one of the columns."""
        return replace(self, ranges=self.ranges[at : at + 1], whole=self.whole[at : at + 1])

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


@dataclass(frozen=True)
class CountTable:
    """A table of counts: rows by the cells of one or more columns, and by class."""

    axes: tuple[Axis, ...]
    columns: tuple[int, ...]
    """Where the axes' columns are in a row."""
    classes: Labels | None = None
    """The values of the last column of a row, if they are counted apart."""

    @property
    def leading(self) -> tuple[int, ...]:
        """How many classes there are; empty without."""
        return () if self.classes is None else (self.classes.bins,)

    @property
    def tree(self) -> Tree:
        """The tree over the cells of a class."""
        return lay_tree(tuple(axis.bins for axis in self.axes))

    @property
    def shape(self) -> tuple[int, ...]:
        """How many classes there are, and how many cells each axis has."""
        return (*self.leading, *self.tree.shape)

    def shape_of(self, least: int) -> tuple[int, ...]:
        """Return the shape of a contribution: cells, or blocks of at least so many rows."""
        return self.shape if least == 1 else (*self.leading, self.tree.size)

    def count(self, rows: FloatArray, least: int) -> IntArray:
        """Return the number of rows by class and cell, or block."""
        columns = zip(self.axes, self.columns, strict=True)
        places = [axis.find_bins(rows[:, at]) for axis, at in columns]
        if self.classes is not None:
            places.insert(0, self.classes.find_bins(rows[:, -1]))
        flat = np.ravel_multi_index(tuple(places), self.shape)
        counts = np.bincount(flat, minlength=math.prod(self.shape)).reshape(self.shape)
        return counts if least == 1 else self.tree.report(counts, least)

    def as_blocks(self, counts: FloatArray) -> Blocks:
        """Return counts of cells, or of blocks, as blocks."""
        axes = self.axes if self.classes is None else (*self.axes, self.classes)
        if counts.shape != self.shape:
            return Blocks(axes, self.tree, counts)
        blocks = np.zeros((*self.leading, self.tree.size))
        blocks[..., self.tree.cells] = counts.reshape(*self.leading, -1)
        return Blocks(axes, self.tree, blocks)


class Sums(NamedTuple):
    """A sum over all members: how many rows there are, and how many in each block."""

    n: float
    tables: tuple[Blocks, ...]

    @property
    def shares(self) -> FloatArray:
        """The share of rows in every cell of all tables, by class; estimated for larger blocks."""
        return np.concatenate([one.spread().ravel() for one in self.tables]) / self.n

    def clip(self) -> tuple[Blocks, ...]:
        """Return the counts of all rows without what noise has added: none is negative."""
        return tuple(replace(one, counts=self._clip(one.counts)) for one in self.tables)

    def _clip(self, counts: FloatArray) -> FloatArray:
        counts = np.maximum(counts, 0.0)
        return counts * (self.n / (counts.sum() or 1.0))


class Layout(ABC):
    """The tables of counts that members add up for one statistic."""

    powers = 1
    """The highest power of places in a cell that is read."""
    classes_last = False
    """Whether features of classes come after those of columns."""

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
        return sum(math.prod(table.shape_of(self.columns.least)) for table in self.tables)

    @property
    def words(self) -> int:
        """How many numbers a member contributes: that of its rows, and the counts."""
        return 1 + self.counts

    def add_up(self, rows: FloatArray) -> IntArray:
        """Return what a member with these rows contributes; noise is not in it.

        Rows that do not fill every class are not counted at all.
        """
        least, prepared = self.columns.least, self.prepare(rows)
        tables = [table.count(prepared, least).ravel() for table in self.tables]
        parts = [tables[0].sum(keepdims=True), *tables]
        return np.concatenate(parts).astype(np.int64) * self.is_filled(rows)

    def is_filled(self, rows: FloatArray) -> bool:
        """Return whether rows are enough to be counted: the least number of every class."""
        least, classes = self.columns.least, self.tables[0].classes
        if least == 1:
            return True
        if classes is None:
            return len(rows) >= least
        counts = np.bincount(classes.find_bins(rows[:, -1]), minlength=classes.bins)
        return bool(counts.min() >= least)

    def read_sums(self, total: IntArray | FloatArray) -> Sums:
        """Return the counts of a sum over all members."""
        numbers = total.astype(np.float64)
        shapes = [table.shape_of(self.columns.least) for table in self.tables]
        parts = np.split(numbers[1:], np.cumsum([math.prod(one) for one in shapes])[:-1])
        found = zip(self.tables, parts, shapes, strict=True)
        blocks = (table.as_blocks(part.reshape(shape)) for table, part, shape in found)
        return Sums(float(numbers[0]), tuple(blocks))

    def find(self, sums: Sums, noise: float = 0.0, level: float = LEVEL) -> Estimate:
        """Return the statistic with its errors; noise moves it by this standard error."""
        if not sums.n > 0:
            return Estimate(math.nan, math.nan)
        return self.reading(sums.n).find(self.spread(sums.shares), noise, sums.clip(), level)

    def spread(self, shares: FloatArray) -> FloatArray:
        """Return mean features given the share of rows in every cell, shape (..., cells).

        Rows are spread over their cell as the cells beside it suggest.
        """
        ends = np.cumsum([math.prod(table.shape) for table in self.tables])[:-1]
        parts = zip(self.tables, np.split(shares, ends, axis=-1), strict=True)
        return np.concatenate([self.spread_table(table, part) for table, part in parts], axis=-1)

    def spread_table(self, table: CountTable, shares: FloatArray) -> FloatArray:
        """Return mean features of one table, flat."""
        tables, axes = shares.reshape(*shares.shape[:-1], *table.shape), table.axes
        if table.classes is not None and self.classes_last:
            at = shares.ndim - 1
            tables, axes = np.moveaxis(tables, at, -1), (*axes, table.classes)
        elif table.classes is not None:
            axes = (table.classes, *axes)
        return spread_rows(axes, tables)


def spread_rows(axes: Sequence[Axis], tables: FloatArray) -> FloatArray:
    """Return features of rows that are spread over their cells, no steeper than rows can be."""
    even = _apply([_expand_alone(axis, _EVEN_POWERS) for axis in axes], tables)
    sloped = _apply([expand(axis) for axis in axes], tables)
    most = [_expand_alone(axis, _MOST_POWERS) for axis in axes]
    limits = _apply(most, np.maximum(tables, 0.0))
    spread = even + np.clip(sloped - even, -limits, limits)
    return spread.reshape(*tables.shape[: tables.ndim - len(axes)], -1)


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
