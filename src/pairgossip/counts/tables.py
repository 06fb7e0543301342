"""Counts of rows per cell: all that a member contributes for a statistic.

A contribution holds nothing else. A count shows the cell of a row and not the place in it, so the
value of a row that is alone in its cell is known only to the width of the cell. Totals of a column
would reveal more: with heavy tails they are mostly the largest row's.

Cells follow from the agreed text alone: neither numbers of rows nor earlier sums move an edge,
since a member could claim rows in order to narrow the cells of others.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.axes import Axis, Labels
from pairgossip.counts.bounds import Blocks
from pairgossip.counts.intervals import LEVEL
from pairgossip.counts.readings import Estimate
from pairgossip.counts.tree import Tree, lay_tree
from pairgossip.errors import InputError

MOST_COLUMN_CELLS = 1024
"""Largest number of cells of one column."""
MOST_COMBINATIONS = 64
"""Largest number of combinations of classes, groups, strata and weights."""


@dataclass(frozen=True)
class Columns:
    """The axes of a table of counts: the cells of columns, the classes, groups, strata and weights.

    The last columns of a row are its factors, if there are any: the class, the group, the stratum
    and the weight. Each combination of them has a table of its own.
    """

    axes: tuple[Axis, ...]
    """The cells of every column."""
    classes: Labels | None
    """The values of the label, or whether an event was seen."""
    target: str
    least: int = 1
    """The least number of rows that is counted: 1 for single cells, more for blocks of cells."""
    groups: Labels | None = None
    """The groups, each with a statistic of its own."""
    strata: Labels | None = None
    """Only pairs of rows in the same stratum count."""
    weights: Labels | None = None
    """The possible weights: the number of times that a row counts."""

    def __post_init__(self) -> None:
        check_combinations([one.bins for one in self.factors])

    @property
    def factors(self) -> tuple[Labels, ...]:
        """The values of the last columns of a row, in their order."""
        every = (self.classes, self.groups, self.strata, self.weights)
        return tuple(one for one in every if one is not None)


def check_combinations(sizes: Sequence[int]) -> None:
    """Raise `InputError` if factors of these sizes have too many combinations."""
    combinations = math.prod(sizes)
    if combinations > MOST_COMBINATIONS:
        raise InputError(
            f"Classes, groups, strata and weights have {combinations:,} combinations, but at "
            f"most {MOST_COMBINATIONS} are counted separately: list fewer, or leave one out."
        )


@dataclass(frozen=True)
class CountTable:
    """A table of counts: rows by the cells of one or more columns, and by their factors."""

    axes: tuple[Axis, ...]
    columns: tuple[int, ...]
    """The places of the axes' columns in a row."""
    factors: tuple[Labels, ...] = ()
    """The values of the last columns of a row; every combination is counted separately."""

    @property
    def leading(self) -> tuple[int, ...]:
        """The number of values of each factor."""
        return tuple(one.bins for one in self.factors)

    @property
    def tree(self) -> Tree:
        """The tree over the cells of a combination of factors."""
        return lay_tree(tuple(axis.bins for axis in self.axes))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each factor, and of cells of each axis."""
        return (*self.leading, *self.tree.shape)

    def shape_of(self, least: int) -> tuple[int, ...]:
        """Return the shape of a contribution: cells, or blocks of at least this number of rows."""
        return self.shape if least == 1 else (*self.leading, self.tree.size)

    def count(self, rows: FloatArray) -> IntArray:
        """Return the number of rows by factors and cell."""
        first = rows.shape[1] - len(self.factors)
        factors = (one.find_bins(rows[:, first + at]) for at, one in enumerate(self.factors))
        columns = zip(self.axes, self.columns, strict=True)
        places = (*factors, *(one.find_bins(rows[:, at]) for one, at in columns))
        flat = np.ravel_multi_index(places, self.shape)
        return np.bincount(flat, minlength=math.prod(self.shape)).reshape(self.shape)

    def hide(self, cells: IntArray, least: int) -> IntArray:
        """Return counts by factors and cell as contributed: in blocks of at least ``least``
        rows."""
        return cells if least == 1 else self.tree.report(cells, least)

    def count_factors(self, cells: IntArray) -> IntArray:
        """Return the number of rows of every combination of factors; of all rows if none."""
        return cells.reshape((*self.leading, -1)).sum(axis=-1)

    def as_blocks(self, counts: FloatArray) -> Blocks:
        """Return counts of cells, or of blocks, as blocks."""
        axes = (*self.axes, *self.factors)
        if counts.shape != self.shape:
            return Blocks(axes, self.tree, counts)
        return Blocks.of_cells(axes, counts, len(self.leading))


class Sums(NamedTuple):
    """A sum over all members: the number of rows, and of those in each block."""

    n: float
    tables: tuple[Blocks, ...]

    @property
    def shares(self) -> FloatArray:
        """The share of rows in every cell of all tables, by class; estimated for larger blocks."""
        return np.concatenate([one.spread().ravel() for one in self.tables]) / self.n

    def clip(self) -> tuple[Blocks, ...]:
        """Return counts without negative numbers, which come from noise; they add up to all
        rows."""
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
        """The cells of the columns in their order; empty if cells are not of columns."""
        return self.axes

    def lay(self) -> tuple[Axis, ...]:
        """Return the cells of the columns."""
        return self.columns.axes

    def lay_tables(self) -> Sequence[CountTable]:
        """Return the tables of counts: one of all columns."""
        return [CountTable(self.axes, tuple(range(len(self.axes))), self.columns.factors)]

    def prepare(self, rows: FloatArray) -> FloatArray:
        """Return the numbers of every row that the tables count."""
        return rows

    @property
    def counts(self) -> int:
        """The number of counts."""
        return sum(math.prod(table.shape_of(self.columns.least)) for table in self.tables)

    @property
    def words(self) -> int:
        """The length of a member's contribution: its number of rows, and the counts."""
        return 1 + self.counts

    def add_up(self, rows: FloatArray) -> IntArray:
        """Return the contribution of a member with these rows, without noise.

        If rows do not fill every class, group and stratum, no row is counted.
        """
        return self.report(self.count_cells(rows))

    def count(self, rows: FloatArray) -> IntArray:
        """Return the counts of all tables, in cells or blocks, one after the other."""
        return self._hide(self.count_cells(rows))

    def count_cells(self, rows: FloatArray) -> IntArray:
        """Return the number of rows in each cell of all tables, which add up over parts of rows."""
        prepared = self.prepare(rows)
        counts = [table.count(prepared).ravel() for table in self.tables]
        return np.concatenate(counts).astype(np.int64)

    def report(self, cells: IntArray) -> IntArray:
        """Return the contribution of a member with these numbers of rows in the cells of all
        tables."""
        counts = self._hide(cells)
        n = counts.sum() // len(self.tables)
        return np.append(n, counts) * self.is_filled(cells)

    def _hide(self, cells: IntArray) -> IntArray:
        parts = zip(self.tables, self.split_cells(cells), strict=True)
        counts = [table.hide(part, self.columns.least).ravel() for table, part in parts]
        return np.concatenate(counts).astype(np.int64)

    def is_filled(self, cells: IntArray) -> bool:
        """Return whether every class, group and stratum has the least number of rows."""
        least, table = self.columns.least, self.tables[0]
        if least == 1:
            return True
        return bool(table.count_factors(self.split_cells(cells)[0]).min() >= least)

    def split(self, counts: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the counts of every table in its shape."""
        return _split(counts, [table.shape_of(self.columns.least) for table in self.tables])

    def split_cells(self, cells: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the counts of every table by factors and cell."""
        return _split(cells, [table.shape for table in self.tables])

    def read_sums(self, total: IntArray | FloatArray) -> Sums:
        """Return the counts of a sum over all members."""
        numbers = total.astype(np.float64)
        parts = zip(self.tables, self.split(numbers[1:]), strict=True)
        return Sums(float(numbers[0]), tuple(table.as_blocks(part) for table, part in parts))

    @abstractmethod
    def find(self, sums: Sums, noise: float = 0.0, level: float = LEVEL) -> Estimate:
        """Return the statistic with its errors; noise moves it by this standard error."""


def _split(counts: NDArray[Any], shapes: Sequence[tuple[int, ...]]) -> list[NDArray[Any]]:
    parts = np.split(counts.ravel(), np.cumsum([math.prod(one) for one in shapes])[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
