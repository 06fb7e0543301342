"""The cells that each kernel, or statistic of order, is read from."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.kernels import Combination, Kernel
from pairgossip.kernels.builtin.spread import DISTANCE, SCATTER_SQUARED, VARIANCE
from pairgossip.order_statistics.statistics import Statistic
from pairgossip.peer.sums.cells import Block, Cells, Columns, lay_cells, rounding_step
from pairgossip.peer.sums.readings import OrderReading, PairReading, SpreadReading
from pairgossip.sketches import Sketch
from pairgossip.sketches.bins import (
    OF_ONE_COLUMN,
    OF_SCORES,
    GiniBins,
    sketch_column,
    sketch_scores,
)
from pairgossip.sketches.grids import Axis, Grid, Labels
from pairgossip.sketches.moments import Scatter, sketch_variance
from pairgossip.sketches.samples import RankTable, SampleReadout
from pairgossip.sketches.sketch import combine_averages, formulas
from pairgossip.sketches.smooth import Projections, spread_directions
from pairgossip.sketches.tables import Table, sketch_order

_DIRECTIONS = 32
"""Directions along which rows of several columns are projected and counted."""
_JOINT_CELLS = 16
"""Cells of each of two scores together, which tell how sure their difference is."""


class _PairCells(Cells):
    """The cells of a kernel's sketch."""

    powers = 2

    def __init__(self, columns: Columns, kernel: Kernel | Combination) -> None:
        self.kernel = kernel
        super().__init__(columns)

    @abstractmethod
    def sketch(self, n: float, scale: float) -> Sketch:
        """Return the sketch on these cells."""

    def reading(self, n: float) -> PairReading:
        sketch = self.sketch(n, self.columns.scale(n))
        return PairReading(sketch, self.kernel, self.columns.target, n, self.classes())

    def classes(self) -> BoolArray | None:
        """Tell which features count the rows of each class; None if classes are no samples."""
        return None


class _OneColumn(_PairCells):
    """Counts of one column."""

    def lay_blocks(self) -> list[Block]:
        return [Block(self.axes, (0,))]

    def sketch(self, n: float, scale: float) -> Sketch:
        return sketch_column(self.kernel, self.axes[0], n, scale)


class _Scores(_PairCells):
    """One score by class, or two and both together on coarser cells."""

    def lay(self) -> tuple[Axis, ...]:
        axes = self.columns.axes(powers=1)
        if len(axes) == 1:
            return axes
        few = min(self.columns.bins // 2, _JOINT_CELLS)
        return axes + self.columns.axes(powers=2, bins=few, most=_JOINT_CELLS)

    @property
    def column_axes(self) -> tuple[Axis, ...]:
        return self.axes[: len(self.columns.ranges)]

    @property
    def _label(self) -> Labels:
        assert self.columns.label is not None
        return self.columns.label

    def lay_blocks(self) -> list[Block]:
        classes = self._label
        if len(self.axes) == 1:
            return [Block((self.axes[0], classes), (0, 1))]
        alone = [Block((self.axes[at], classes), (at, 2)) for at in range(2)]
        return [*alone, Block((*self.axes[2:], classes), (0, 1, 2))]

    def classes(self) -> BoolArray:
        """Tell which features of the first score count the rows of each class."""
        axis = self.axes[0]
        one = np.zeros(axis.size)
        one[axis.counts] = 1.0
        size = sum(math.prod(part.size for part in block.axes) for block in self.blocks)
        counted = np.zeros((2, size), dtype=bool)
        counted[:, : 2 * len(one)] = [np.kron(one, side) > 0 for side in np.eye(2)]
        return counted

    def sketch(self, n: float, scale: float) -> Sketch:
        joint = self.axes[2:] or None
        return sketch_scores(self.kernel, self.axes[:2], self._label, n, scale, joint)


class _Order(_PairCells):
    """Two columns, of which the second may be classes, and whether an event was seen."""

    def lay(self) -> tuple[Axis, ...]:
        return super().lay()[:2]

    @property
    def _events(self) -> bool:
        return len(self.columns.ranges) == 3

    @property
    def _axes(self) -> tuple[Axis, Axis]:
        if self.columns.label is not None:
            return self.axes[0], self.columns.label
        return self.axes[0], self.axes[1]

    def lay_blocks(self) -> list[Block]:
        everyone = Block(self._axes, (0, 1))
        return [everyone, everyone._replace(only=2)] if self._events else [everyone]

    def sketch(self, n: float, scale: float) -> Sketch:
        return sketch_order(self.kernel, self._axes, n, scale, events=self._events)


class _Distances(_PairCells):
    """Cells of projections on directions, which are the same everywhere."""

    @property
    def column_axes(self) -> tuple[Axis, ...]:
        return ()

    def lay(self) -> tuple[Axis, ...]:
        low, high = np.array(self.columns.ranges).T
        self._directions = spread_directions(len(low), _DIRECTIONS)
        middle = self._directions @ (low + high) / 2
        reach = np.abs(self._directions) @ (high - low) / 2
        step = rounding_step(float(np.linalg.norm(high - low)))
        first = (np.floor((middle - reach) / step) * step).tolist()
        last = (np.ceil((middle + reach) / step) * step).tolist()
        ends = zip(first, last, strict=True)
        return tuple(lay_cells(one, self.columns.bins, 2) for one in ends)

    def lay_blocks(self) -> list[Block]:
        return [Block((axis,), (at,)) for at, axis in enumerate(self.axes)]

    def prepare(self, rows: FloatArray) -> FloatArray:
        return np.asarray(rows @ self._directions.T)

    def sketch(self, n: float, scale: float) -> Sketch:
        parts = tuple(GiniBins(axis, n, scale) for axis in self.axes if isinstance(axis, Grid))
        return combine_averages(Projections(self._directions, parts), self.kernel)


class _Variances(_PairCells):
    """Counts of every column, by class where there are any: scatter adds up over columns."""

    def lay_blocks(self) -> list[Block]:
        label, d = self.columns.label, len(self.axes)
        if label is None:
            return [Block(self.axes, (0,))]
        return [Block((label, axis), (d, at)) for at, axis in enumerate(self.axes)]

    @property
    def _middles(self) -> FloatArray:
        return np.array(self.columns.ranges).mean(axis=1)

    def sketch(self, n: float, scale: float) -> Sketch:
        label, middles = self.columns.label, self._middles
        if label is None:
            part: Scatter = sketch_variance(float(middles[0]), scale, errors=True)
        else:
            part = Scatter(middles, len(middles), label.values, 2 * scale)
        return combine_averages(part, self.kernel)

    def reading(self, n: float) -> SpreadReading:
        sketch, label = self.sketch(n, self.columns.scale(n)), self.columns.label
        columns = tuple(zip(self.axes, self._middles.tolist(), strict=True))
        classes = None if label is None else label.bins
        return SpreadReading(sketch, self.kernel, self.columns.target, n, None, columns, classes)


class SampleCells(Cells):
    """Cells of one column, for every class apart, of a statistic of order."""

    def __init__(self, columns: Columns, statistic: Statistic) -> None:
        self._statistic = statistic
        super().__init__(columns)

    def lay_blocks(self) -> list[Block]:
        """Return one table, classes first."""
        if self.columns.label is None:
            return [Block(self.axes, (0,))]
        return [Block((self.columns.label, *self.axes), (1, 0))]

    def reading(self, n: float) -> OrderReading:
        """Return what the cells tell of the statistic."""
        classes = 1 if self.columns.label is None else 2
        return OrderReading(SampleReadout(self._statistic, self.axes[0], classes, n))


class RankCells(Cells):
    """Cells of two columns, for the correlation of their ranks."""

    def lay_blocks(self) -> list[Block]:
        """Return one table of both columns."""
        return [Block(self.axes, (0, 1))]

    def reading(self, n: float) -> OrderReading:
        """Return what the cells tell of the correlation."""
        return OrderReading(RankTable(Table(self.axes[0], self.axes[1], n)))


def cells_of_kernel(columns: Columns, kernel: Kernel | Combination) -> Cells:
    """Return what is added up for a kernel that has a sketch."""
    asked = set(formulas(kernel))
    for kind, parts in (
        (_Variances, {VARIANCE}),
        (_Variances, {SCATTER_SQUARED}),
        (_OneColumn, OF_ONE_COLUMN),
        (_Scores, OF_SCORES),
        (_Distances, {DISTANCE}),
    ):
        if asked <= parts:
            return kind(columns, kernel)
    return _Order(columns, kernel)
