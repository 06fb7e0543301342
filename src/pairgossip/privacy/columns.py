"""What one column of the data becomes: a cell of a declared, finite domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.privacy.response import Bytes, uniform_below

Cells = NDArray[np.int64]
FRACTION = 2**53
"""Chances of rounding up are multiples of 1/FRACTION, all that a float can tell apart."""


@dataclass(frozen=True)
class Bins:
    """Equal bins of an interval; a bin is represented by its midpoint."""

    low: float
    high: float
    cells: int

    @property
    def values(self) -> FloatArray:
        """What each cell stands for."""
        return self.low + (self.high - self.low) * (np.arange(self.cells) + 0.5) / self.cells

    @property
    def reach(self) -> float:
        """How far a value may be from what stands for it."""
        return (self.high - self.low) / self.cells / 2

    @property
    def domain(self) -> str:
        """The declared values, for messages."""
        return f"[{self.low:g}, {self.high:g}]"

    def contains(self, values: FloatArray) -> BoolArray:
        """Tell which values were declared."""
        return (self.low <= values) & (values <= self.high)

    def shares(self, values: FloatArray) -> tuple[Cells, FloatArray]:
        """Return each value's cell and the chance that the next cell is taken instead: 0."""
        position = (values - self.low) / (self.high - self.low) * self.cells
        cells = np.minimum(position.astype(np.int64), self.cells - 1)
        return cells, np.zeros(len(cells))

    def encode(self, values: FloatArray, draw: Bytes) -> Cells:
        """Return each value's cell."""
        return self.shares(values)[0]


@dataclass(frozen=True)
class Grid:
    """Equally spaced points of an interval, its ends included, to which values are rounded.

    A value between two points goes to either at random, so that its expectation is the value.
    """

    low: float
    high: float
    cells: int

    @property
    def values(self) -> FloatArray:
        """What each cell stands for."""
        return np.linspace(self.low, self.high, self.cells)

    @property
    def reach(self) -> float:
        """How far a value may be from what stands for it."""
        return (self.high - self.low) / (self.cells - 1)

    @property
    def domain(self) -> str:
        """The declared values, for messages."""
        return f"[{self.low:g}, {self.high:g}]"

    def contains(self, values: FloatArray) -> BoolArray:
        """Tell which values were declared."""
        return (self.low <= values) & (values <= self.high)

    def shares(self, values: FloatArray) -> tuple[Cells, FloatArray]:
        """Return the cell below each value, and the chance of the cell above."""
        position = (values - self.low) / (self.high - self.low) * (self.cells - 1)
        below = np.minimum(position.astype(np.int64), self.cells - 2)
        return below, np.clip(position - below, 0.0, 1.0)

    def encode(self, values: FloatArray, draw: Bytes) -> Cells:
        """Round each value to a point next to it, by one exact uniform number."""
        below, chance = self.shares(values)
        drawn = uniform_below(FRACTION, len(below), draw)[1]
        return below + (drawn < np.rint(chance * FRACTION).astype(np.uint64))


@dataclass(frozen=True)
class Classes:
    """Labels, each a cell of its own, in increasing order."""

    labels: tuple[float, ...]

    @property
    def cells(self) -> int:
        """How many classes there are."""
        return len(self.labels)

    @property
    def values(self) -> FloatArray:
        """What each cell stands for."""
        return np.array(self.labels)

    @property
    def reach(self) -> float:
        """How far a value may be from what stands for it."""
        return 0.0

    @property
    def domain(self) -> str:
        """The declared values, for messages."""
        return f"classes ({', '.join(f'{label:g}' for label in self.labels)})"

    def contains(self, values: FloatArray) -> BoolArray:
        """Tell which values were declared."""
        return np.isin(values, self.values)

    def shares(self, values: FloatArray) -> tuple[Cells, FloatArray]:
        """Return each value's cell and the chance that the next cell is taken instead: 0."""
        cells = np.searchsorted(self.values, values).astype(np.int64)
        return cells, np.zeros(len(cells))

    def encode(self, values: FloatArray, draw: Bytes) -> Cells:
        """Return each value's cell."""
        return self.shares(values)[0]


Column = Bins | Grid | Classes
