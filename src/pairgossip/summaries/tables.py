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
from pairgossip.summaries.axes import Axis, Labels, Range
from pairgossip.summaries.bounds import Blocks
from pairgossip.summaries.cells import choose_cells
from pairgossip.summaries.intervals import LEVEL
from pairgossip.summaries.readings import Estimate
from pairgossip.summaries.tree import Tree, lay_tree

MOST_CELLS = 1024
"""Largest number of cells of one column."""


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

    laid: tuple[Axis, ...] = ()
    """The cells of every column, if they are laid already."""

    @classmethod
    def of(cls, laid: Sequence[Axis], label: Labels | None, target: str, least: int = 1) -> Columns:
        """Return columns with these cells."""
        ranges = tuple((float(axis.places[0]), float(axis.places[-1])) for axis in laid)
        whole = tuple(axis.ties_known for axis in laid)
        return cls(ranges, whole, label, 0, target, least, tuple(laid))

    def axes(self) -> tuple[Axis, ...]:
        """Return the cells of every column; whole numbers have one each, if they are not many."""
        return self.laid or tuple(
            Labels(np.arange(low, high + 1.0))
            if is_whole and high - low < MOST_CELLS
            else choose_cells(low, high, self.bins).lay()
            for (low, high), is_whole in zip(self.ranges, self.whole, strict=True)
        )


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
        return Blocks.of_cells(axes, counts, len(self.leading))


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
        return self.columns.axes()

    @abstractmethod
    def lay_tables(self) -> Sequence[CountTable]:
        """Return the tables of counts."""

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
        counts = self.count(rows)
        n = counts.sum() // len(self.tables)
        return np.append(n, counts) * self.is_filled(rows)

    def count(self, rows: FloatArray) -> IntArray:
        """Return the counts of all tables, one after the other."""
        prepared, least = self.prepare(rows), self.columns.least
        counts = [table.count(prepared, least).ravel() for table in self.tables]
        return np.concatenate(counts).astype(np.int64)

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

    @abstractmethod
    def find(self, sums: Sums, noise: float = 0.0, level: float = LEVEL) -> Estimate:
        """Return the statistic with its errors; noise moves it by this standard error."""
