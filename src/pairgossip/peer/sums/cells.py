"""What a member contributes for a statistic: counts of rows per cell, and totals over all its rows.

A contribution holds nothing else. A count tells in which cell rows lie and not where in it, so a
row that is alone in its cell is known no better than the cell is wide. A total is a sum over all
rows of a site, or of a class at that site; `disclosure` sees to it that they are enough.

Cells follow from the agreed text alone: neither numbers of rows nor earlier sums move an edge, for
a member could claim rows in order to narrow the cells of others.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray, distinct
from pairgossip.peer.protocol.program import Words
from pairgossip.peer.sums.fixed_point import decode, encode
from pairgossip.peer.sums.readings import Reading
from pairgossip.sketches.grids import Grid, Labels, Range

Axis = Grid | Labels
MOST_CELLS = 1024
"""Largest number of cells of one column."""
_LOG_SPAN = 100.0
"""A positive range that spans more than this factor has cells of equal ratio."""
_EVENLY = np.array([1.0, 0.0, 1 / 12])
"""Mean powers of the offset of numbers that are spread evenly over a cell."""
_STEPS = 26
"""Edges are rounded to this many binary digits, of the range or of themselves.

Members' machines compute them with other last digits, yet all must have the same cells.
"""


@dataclass(frozen=True)
class Columns:
    """What a specification says of the columns: their ranges, and the classes of the label."""

    names: tuple[str, ...]
    ranges: tuple[Range, ...]
    """Ranges of all columns but a label whose values are known."""
    whole: tuple[bool, ...]
    """Which of them hold whole numbers only."""
    label: Labels | None
    bins: int
    """How many cells a column has."""
    target: str = "v"
    is_noisy: bool = False
    """Whether noise is added to counts; totals, which have none, are left out then."""

    def scale(self, n: float) -> float:
        """Return the factor of the target's kind; NaN if there is no pair of different rows."""
        if self.target == "v":
            return 1.0
        return n / (n - 1) if n > 1 else math.nan

    def axes(
        self, powers: int, bins: int | None = None, most: int = MOST_CELLS
    ) -> tuple[Axis, ...]:
        """Return the cells of every column; up to so many whole numbers have one each."""
        count = bins or self.bins
        return tuple(
            Labels(np.arange(low, high + 1.0))
            if is_whole and high - low < most
            else lay_cells((low, high), count, powers)
            for (low, high), is_whole in zip(self.ranges, self.whole, strict=True)
        )


def lay_cells(declared: Range, count: int, powers: int) -> Grid:
    """Lay cells over a range, the same on every machine.

    They are equally wide, or of equal ratio where the range is positive and spans much.
    """
    low, high = declared
    if low > 0 and high > _LOG_SPAN * low:
        steps = np.linspace(math.log2(low), math.log2(high), count + 1)[1:-1]
        mantissas, exponents = np.frexp(np.exp2(steps))
        inner = np.ldexp(np.rint(np.ldexp(mantissas, _STEPS)), exponents - _STEPS)
    else:
        step = rounding_step(high - low)
        inner = np.rint(np.linspace(low, high, count + 1)[1:-1] / step) * step
    edges = np.concatenate([[low], np.clip(inner, low, high), [high]])
    return Grid(distinct(edges), powers)


def rounding_step(width: float) -> float:
    """Return the power of 2 to which edges in a range of this width are rounded."""
    return math.ldexp(1.0, math.frexp(width)[1] - _STEPS)


class Block(NamedTuple):
    """A table of counts: rows by the cells of one or more columns."""

    axes: tuple[Axis, ...]
    columns: tuple[int, ...]
    """Where the axes' columns are in a row."""
    only: int | None = None
    """A column of zeros and ones; rows with a zero are not counted."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(axis.bins for axis in self.axes)

    def tabulate(self, rows: FloatArray) -> IntArray:
        """Return the number of rows in each cell, shape (cells,)."""
        if self.only is not None:
            rows = rows[rows[:, self.only] > 0]
        places = [
            cell_of(axis, rows[:, at]) for axis, at in zip(self.axes, self.columns, strict=True)
        ]
        flat = np.ravel_multi_index(places, self.shape)
        return np.bincount(flat, minlength=math.prod(self.shape))


def cell_of(axis: Axis, values: FloatArray) -> IntArray:
    """Return the cell of every number."""
    if isinstance(axis, Labels):
        return np.searchsorted(axis.values, values)
    within = np.searchsorted(axis.edges, values, side="right") - 1
    return np.clip(within, 0, axis.bins - 1)


@dataclass(frozen=True)
class Totals:
    """Sums over all rows of a site, or of each of its classes; every measure is -1 to 1."""

    names: tuple[str, ...]
    """What is summed up, in words."""
    measure: Callable[[FloatArray], FloatArray]
    """Returns the measures of rows, shape (m, totals)."""
    squared: FloatArray | None = None
    """If the last is a sum of squares, the weights of the other measures' squares in it."""
    classes: Labels | None = None
    """The classes that are summed up apart."""
    class_column: int = -1

    @property
    def is_square(self) -> BoolArray:
        """Which measures are squares, and so 0 to 1."""
        return np.array([False] * (len(self.names) - 1) + [self.squared is not None])

    @property
    def size(self) -> int:
        """How many totals there are."""
        return len(self.names) * (1 if self.classes is None else self.classes.bins)

    def parts(self, rows: FloatArray) -> list[FloatArray]:
        """Return the measures of the rows of every class, shape (m, totals) each."""
        measures = self.measure(rows)
        if self.classes is None:
            return [measures]
        place = cell_of(self.classes, rows[:, self.class_column])
        return [measures[place == one] for one in range(self.classes.bins)]

    def add_up(self, rows: FloatArray, bits: int) -> Words:
        """Return the totals as whole numbers, one class after the other."""
        ones = np.ones(len(self.names))
        return np.concatenate([encode(part, ones, bits) for part in self.parts(rows)])


class Sums(NamedTuple):
    """A sum over all members: how many rows, how many in each cell, and the totals."""

    n: float
    tables: tuple[FloatArray, ...]
    """The counts of every block, in the shape of its axes."""
    totals: FloatArray
    """Shape (classes, totals); without classes (1, totals)."""


class Cells(ABC):
    """What members add up for one statistic, and what the sums tell."""

    needs_totals: ClassVar[bool] = False
    """Whether counts alone do not tell the statistic."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.axes = self.lay()
        self.blocks = tuple(self.lay_blocks())
        self.totals = None if columns.is_noisy else self.lay_totals()

    @property
    def column_axes(self) -> tuple[Axis, ...]:
        """The cells of the columns in their order; empty if cells are of something else."""
        return self.axes

    @abstractmethod
    def lay(self) -> tuple[Axis, ...]:
        """Return the cells of the columns."""

    @abstractmethod
    def lay_blocks(self) -> Sequence[Block]:
        """Return the tables of counts."""

    def lay_totals(self) -> Totals | None:
        """Return what is summed up over all rows; None for counts alone."""
        return None

    @abstractmethod
    def reading(self, n: float) -> Reading:
        """Return what means of features of n rows tell."""

    def prepare(self, rows: FloatArray) -> FloatArray:
        """Return what the blocks count, of every row."""
        return rows

    @property
    def counts(self) -> int:
        """How many counts there are."""
        return sum(math.prod(block.shape) for block in self.blocks)

    @property
    def words(self) -> int:
        """How many numbers a member contributes: the rows, the counts and the totals."""
        return 1 + self.counts + (0 if self.totals is None else self.totals.size)

    def add_up(self, rows: FloatArray, bits: int) -> Words:
        """Return what a member with these rows contributes; noise is not in it."""
        prepared = self.prepare(rows)
        parts = [np.array([len(rows)]), *(block.tabulate(prepared) for block in self.blocks)]
        counted = np.concatenate(parts).astype(np.int64).view(np.uint64)
        if self.totals is None:
            return counted
        return np.concatenate([counted, self.totals.add_up(rows, bits)])

    def read_sums(self, total: Words, bits: int) -> Sums:
        """Return the numbers of a sum over all members."""
        whole = total.view(np.int64)
        ends = np.cumsum([1, *(math.prod(block.shape) for block in self.blocks)])
        first, *tables, rest = np.split(whole, ends)
        shaped = (one.reshape(block.shape) for one, block in zip(tables, self.blocks, strict=True))
        totals = decode(rest.view(np.uint64), np.ones(1), bits)
        named = 1 if self.totals is None else len(self.totals.names)
        return Sums(
            float(first[0]),
            tuple(one.astype(np.float64) for one in shaped),
            totals.reshape(-1, named),
        )

    def means(self, sums: Sums) -> FloatArray:
        """Return mean features of rows, as if those of a cell were spread evenly over it."""
        return self.spread(np.concatenate([one.ravel() for one in sums.tables]) / sums.n)

    def spread(self, shares: FloatArray) -> FloatArray:
        """Return mean features given the share of rows in every cell, shape (..., counts)."""
        ends = np.cumsum([math.prod(block.shape) for block in self.blocks])[:-1]
        forms = (_kron([_expansion(axis) for axis in block.axes]) for block in self.blocks)
        parts = zip(np.split(shares, ends, axis=-1), forms, strict=True)
        return np.concatenate([part @ form for part, form in parts], axis=-1)


def _kron(parts: Sequence[FloatArray]) -> FloatArray:
    product: FloatArray = np.ones((1, 1))
    for part in parts:
        product = np.asarray(np.kron(product, part), dtype=np.float64)
    return product


def _expansion(axis: Axis) -> FloatArray:
    """Return the mean features of the rows in each cell, if they are spread evenly."""
    if isinstance(axis, Labels):
        return np.eye(axis.bins)
    return np.kron(np.eye(axis.bins), _EVENLY[: axis.powers + 1])
