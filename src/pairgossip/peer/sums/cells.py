"""Which features of rows are added up for a statistic, on bins that follow from declared ranges.

Features are those of a sketch: products of features of axes, which are bins of a column or classes
(`Grid`, `Labels`), in blocks. Where noise hides rows, counts alone are added up, and rows count as
spread evenly over their bins.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, distinct
from pairgossip.kernels import Combination, Formula, Kernel
from pairgossip.order_statistics.statistics import Statistic
from pairgossip.peer.protocol.program import Words
from pairgossip.peer.sums.fixed_point import encode, to_whole
from pairgossip.peer.sums.readings import OrderReading, PairReading, Reading
from pairgossip.sketches import Sketch
from pairgossip.sketches.bins import (
    OF_ONE_COLUMN,
    OF_SCORES,
    GiniBins,
    sketch_column,
    sketch_scores,
)
from pairgossip.sketches.grids import Extent, Grid, Labels, Range
from pairgossip.sketches.moments import Scatter, sketch_variance
from pairgossip.sketches.samples import RankTable, SampleReadout
from pairgossip.sketches.sketch import combine_averages, formulas
from pairgossip.sketches.smooth import Projections, spread_directions
from pairgossip.sketches.tables import Table, sketch_order

Axis = Grid | Labels
_EVENLY = np.array([1.0, 0.0, 1 / 12])
"""Mean powers of the offset of numbers that are evenly in a bin."""
_DIRECTIONS = 32
_JOINT_BINS = 8
"""Of each of two scores together, which tell how sure their difference is and not the value."""
_STEPS = 26
"""Edges of bins are rounded to the range divided by 2 to this power, or a bit more.

Members' machines compute them with other last digits, yet all must have the same bins: a sum with
noise cannot be repeated.
"""


@dataclass(frozen=True)
class Columns:
    """What a specification says of the columns: their ranges, and the classes of the label."""

    ranges: tuple[Range, ...]
    """Of all columns but a label whose values are known."""
    whole: tuple[bool, ...]
    """Which of them hold whole numbers only."""
    label: Labels | None
    bins: int
    most_bins: int
    """How many bins there are if rows are many.

    The specification alone tells them, and so whether whole numbers have a bin each.
    """
    target: str = "v"

    def scale(self, n: float) -> float:
        """Return the factor of the target's kind; NaN if there is no pair of different rows."""
        if self.target == "v":
            return 1.0
        return n / (n - 1) if n > 1 else math.nan

    def grids(self, powers: int, bins: int | None = None) -> tuple[Axis, ...]:
        """Return bins of every column.

        Each whole number has one, so that nothing is lost, where that takes no more features than
        bins may take.
        """
        count, most_bins = (self.bins, self.most_bins) if bins is None else (bins, bins)
        most = (powers + 1) * most_bins
        return tuple(
            Labels(np.arange(low, high + 1.0))
            if is_whole and high - low < most
            else _lay_alike((low, high), count, powers)
            for (low, high), is_whole in zip(self.ranges, self.whole, strict=True)
        )


class Cells(ABC):
    """The features of one statistic; bins may be laid anew once it is known where rows are."""

    grids: tuple[Axis, ...] = ()
    """The bins to begin with."""
    has_bins_of_columns: ClassVar[bool] = True
    """Whether the bins are those of the columns, and begin with them in their order."""

    @abstractmethod
    def blocks(self, grids: tuple[Axis, ...]) -> list[tuple[Axis, ...]]:
        """Return the axes whose features are multiplied, for every block of features."""

    @abstractmethod
    def features(self, rows: FloatArray, grids: tuple[Axis, ...]) -> FloatArray:
        """Return the features of rows, shape (m, r)."""

    @abstractmethod
    def reading(self, grids: tuple[Axis, ...], n: float) -> Reading:
        """Return what means of the features of n rows tell."""

    def places(self) -> list[tuple[int, ...]] | None:
        """Return the columns of rows that the axes of every block are about.

        None where features are more than products of features of columns.
        """
        return None

    def encode(self, rows: FloatArray, grids: tuple[Axis, ...], bits: int) -> Words:
        """Add up the features of rows as whole numbers, most of which are zeros."""
        if (places := self.places()) is None:
            return encode(self.features(rows, grids), self.bounds(grids), bits)
        blocks = zip(self.blocks(grids), places, strict=True)
        return np.concatenate([_encode_block(axes, rows[:, at].T, bits) for axes, at in blocks])

    def bounds(self, grids: tuple[Axis, ...]) -> FloatArray:
        """Return how large features are at most, shape (r,)."""
        return np.ones(len(self.is_count(grids)))

    def is_count(self, grids: tuple[Axis, ...]) -> BoolArray:
        """Tell which features are counts."""
        blocks = ([_counted(axis) for axis in axes] for axes in self.blocks(grids))
        return np.concatenate(list(map(_kron, blocks))) > 0

    def spread(self, counts: FloatArray, grids: tuple[Axis, ...]) -> FloatArray:
        """Return the features of rows of which counts are known, as if spread over their bins."""
        blocks = self.blocks(grids)
        ends = np.cumsum([math.prod(axis.bins for axis in axes) for axes in blocks])[:-1]
        forms = (_kron([_expansion(axis) for axis in axes]) for axes in blocks)
        parts = zip(np.split(counts, ends, axis=-1), forms, strict=True)
        return np.concatenate([part @ form for part, form in parts], axis=-1)

    def refine(self, counts: FloatArray, grids: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """Return bins that are narrower where there are more rows, given the counts of all."""
        found: dict[int, Axis] = {}
        start = 0
        for axes in self.blocks(grids):
            shape = tuple(axis.bins for axis in axes)
            table = counts[start : start + math.prod(shape)].reshape(shape)
            start += table.size
            for place, axis in enumerate(axes):
                others = tuple(at for at in range(len(shape)) if at != place)
                if isinstance(axis, Grid) and id(axis) not in found:
                    found[id(axis)] = _split_evenly(axis, table.sum(axis=others))
        return tuple(found.get(id(grid), grid) for grid in grids)


def _encode_block(axes: Sequence[Axis], columns: FloatArray, bits: int) -> Words:
    """Add up products of features of columns, without the zeros among them."""
    rows, size = columns.shape[1], 1
    places, products = np.zeros((rows, 1), dtype=np.int64), np.ones((rows, 1))
    for axis, column in zip(axes, columns, strict=True):
        at, entries = axis.entries(column)
        size *= axis.size
        places = (places[:, :, None] * axis.size + at[:, None, :]).reshape(rows, -1)
        products = (products[:, :, None] * entries[:, None, :]).reshape(rows, -1)
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, places, to_whole(products, 1.0, bits))
    return total.view(np.uint64)


def _kron(parts: Sequence[FloatArray]) -> FloatArray:
    product: FloatArray = np.ones(1)
    for part in parts:
        product = np.asarray(np.kron(product, part), dtype=np.float64)
    return product


def _expansion(axis: Axis) -> FloatArray:
    """Return the mean features of the rows in each bin, if they are spread evenly."""
    if isinstance(axis, Labels):
        return np.eye(axis.bins)
    return np.kron(np.eye(axis.bins), _EVENLY[: axis.powers + 1])


def _counted(axis: Axis) -> FloatArray:
    counted = np.zeros(axis.size)
    counted[axis.counts] = 1.0
    return counted


def _split_evenly(grid: Grid, counts: FloatArray) -> Grid:
    """Return as many bins, half of them at the quantiles of the rows that these bins hold.

    The others keep bins from becoming wide where few rows are: at an end of a wide bin, rows that
    are tied would be taken to lie elsewhere in it.
    """
    held = np.maximum(counts, 0.0)
    shares = held + max(float(held.sum()), 1e-300) / grid.bins
    up_to = np.append(0.0, np.cumsum(shares) / shares.sum())
    edges = np.interp(np.linspace(0.0, 1.0, grid.bins + 1), up_to, grid.edges)
    return _align(edges, float(grid.edges[0]), float(grid.edges[-1]), grid.powers)


def _lay_alike(declared: Range, bins: int, powers: int) -> Grid:
    """Lay bins over a range, the same on every machine."""
    grid = Grid.over(Extent.declared(*declared), bins, powers)
    return _align(grid.edges, *declared, powers)


def _align(edges: FloatArray, low: float, high: float, powers: int) -> Grid:
    """Return bins between two ends, with all other edges rounded."""
    step = _step_of(high - low)
    inner = np.rint(edges[1:-1] / step) * step
    return Grid(distinct(np.concatenate([[low], np.clip(inner, low, high), [high]])), powers)


def _step_of(width: float) -> float:
    """Return the power of 2 to which numbers in a range of this width are rounded."""
    return math.ldexp(1.0, math.frexp(width)[1] - _STEPS)


class _PairCells(Cells):
    """The features of a kernel's sketch."""

    def __init__(self, columns: Columns, kernel: Kernel | Combination) -> None:
        self.columns, self.kernel = columns, kernel
        self.grids = self.lay()

    def lay(self) -> tuple[Axis, ...]:
        return self.columns.grids(powers=2)

    @abstractmethod
    def sketch(self, grids: tuple[Axis, ...], n: float, scale: float) -> Sketch:
        """Return the sketch on these bins."""

    def features(self, rows: FloatArray, grids: tuple[Axis, ...]) -> FloatArray:
        data = rows[:, 0] if rows.shape[1] == 1 else rows
        return self.sketch(grids, 1.0, 1.0).features(data)

    def reading(self, grids: tuple[Axis, ...], n: float) -> PairReading:
        scale = self.columns.scale(n)
        sketch = self.sketch(grids, n, scale)
        return PairReading(sketch, self.kernel, self.columns.target, n, self.classes(grids))

    def classes(self, grids: tuple[Axis, ...]) -> BoolArray | None:
        """Tell which features count the rows of each class; None if classes are no samples."""
        return None


class _OneColumn(_PairCells):
    def blocks(self, grids: tuple[Axis, ...]) -> list[tuple[Axis, ...]]:
        return [grids]

    def places(self) -> list[tuple[int, ...]]:
        return [(0,)]

    def sketch(self, grids: tuple[Axis, ...], n: float, scale: float) -> Sketch:
        return sketch_column(self.kernel, grids[0], n, scale)


class _Scores(_PairCells):
    """One score, or two and both together on coarser bins."""

    def lay(self) -> tuple[Axis, ...]:
        grids = self.columns.grids(powers=1)
        if len(grids) == 1:
            return grids
        return grids + self.columns.grids(powers=2, bins=min(self.columns.bins // 2, _JOINT_BINS))

    @property
    def _classes(self) -> Labels:
        assert self.columns.label is not None
        return self.columns.label

    def blocks(self, grids: tuple[Axis, ...]) -> list[tuple[Axis, ...]]:
        classes = self._classes
        alone: list[tuple[Axis, ...]] = [(grid, classes) for grid in grids[:2]]
        return alone if len(grids) == 1 else [*alone, (*grids[2:], classes)]

    def places(self) -> list[tuple[int, ...]]:
        return [(0, 1)] if len(self.columns.ranges) == 1 else [(0, 2), (1, 2), (0, 1, 2)]

    def classes(self, grids: tuple[Axis, ...]) -> BoolArray:
        """Tell which features of the first score count the rows of each class."""
        one = _counted(grids[0])
        found = np.zeros((2, len(self.bounds(grids))), dtype=bool)
        found[:, : 2 * len(one)] = [np.kron(one, side) > 0 for side in np.eye(2)]
        return found

    def sketch(self, grids: tuple[Axis, ...], n: float, scale: float) -> Sketch:
        joint = grids[2:] or None
        return sketch_scores(self.kernel, grids[:2], self._classes, n, scale, joint)


class _Order(_PairCells):
    """Two columns, of which the second may be classes, and whether an event was seen."""

    def lay(self) -> tuple[Axis, ...]:
        return self.columns.grids(powers=2)[:2]

    @property
    def _events(self) -> bool:
        return len(self.columns.ranges) == 3

    def _axes(self, grids: tuple[Axis, ...]) -> tuple[Axis, Axis]:
        if self.columns.label is not None:
            return grids[0], self.columns.label
        return grids[0], grids[1]

    def blocks(self, grids: tuple[Axis, ...]) -> list[tuple[Axis, ...]]:
        return [self._axes(grids)] * (2 if self._events else 1)

    def places(self) -> list[tuple[int, ...]] | None:
        return None if self._events else [(0, 1)]

    def sketch(self, grids: tuple[Axis, ...], n: float, scale: float) -> Sketch:
        return sketch_order(self.kernel, self._axes(grids), n, scale, events=self._events)


class _Distances(_PairCells):
    """Bins of projections on directions, which are the same everywhere."""

    has_bins_of_columns = False

    def lay(self) -> tuple[Axis, ...]:
        low, high = np.array(self.columns.ranges).T
        axes = spread_directions(len(low), _DIRECTIONS)
        middle, reach = axes @ (low + high) / 2, np.abs(axes) @ (high - low) / 2
        self._axes = axes
        step = _step_of(float(np.linalg.norm(high - low)))
        first = np.floor((middle - reach) / step) * step
        last = np.ceil((middle + reach) / step) * step
        ends = zip(first.tolist(), last.tolist(), strict=True)
        return tuple(_lay_alike(one, self.columns.bins, 2) for one in ends)

    def blocks(self, grids: tuple[Axis, ...]) -> list[tuple[Axis, ...]]:
        return [(grid,) for grid in grids]

    def sketch(self, grids: tuple[Axis, ...], n: float, scale: float) -> Sketch:
        parts = tuple(GiniBins(grid, n, scale) for grid in grids if isinstance(grid, Grid))
        return combine_averages(Projections(self._axes, parts), self.kernel)


class _Moments(_PairCells):
    """Powers of the distances from the middles of the ranges."""

    has_bins_of_columns = False

    def lay(self) -> tuple[Axis, ...]:
        low, high = np.array(self.columns.ranges).T
        self._middle, self._half = (low + high) / 2, (high - low) / 2
        return ()

    def blocks(self, grids: tuple[Axis, ...]) -> list[tuple[Axis, ...]]:
        return []

    def sketch(self, grids: tuple[Axis, ...], n: float, scale: float) -> Sketch:
        clusters = self.columns.label
        if clusters is None:
            part: Scatter = sketch_variance(float(self._middle[0]), scale, errors=True)
        else:
            part = Scatter(self._middle, len(self._middle), clusters.values, 2 * scale)
        return combine_averages(part, self.kernel)

    def bounds(self, grids: tuple[Axis, ...]) -> FloatArray:
        if self.columns.label is None:
            return np.asarray(self._half ** np.arange(1, 5))
        each = np.concatenate([[1.0], self._half, [float(self._half @ self._half)]])
        return np.tile(each, self.columns.label.bins)


class SampleCells(Cells):
    """Bins of one column, for every class apart, of a statistic of order."""

    def __init__(self, columns: Columns, statistic: Statistic) -> None:
        self._statistic, self._classes = statistic, columns.label
        self.grids = columns.grids(powers=1)

    def blocks(self, grids: tuple[Axis, ...]) -> list[tuple[Axis, ...]]:
        """Return one block, classes first."""
        return [grids] if self._classes is None else [(self._classes, *grids)]

    def places(self) -> list[tuple[int, ...]]:
        """Return the column, or the label and the column."""
        return [(0,)] if self._classes is None else [(1, 0)]

    def features(self, rows: FloatArray, grids: tuple[Axis, ...]) -> FloatArray:
        """Return the features of the column, in the place of the row's class."""
        inside = grids[0].features(rows[:, 0])
        if self._classes is None:
            return inside
        sides = self._classes.features(rows[:, 1])
        return np.asarray((sides[:, :, None] * inside[:, None, :]).reshape(len(rows), -1))

    def reading(self, grids: tuple[Axis, ...], n: float) -> OrderReading:
        """Return what the bins tell of the statistic."""
        classes = 1 if self._classes is None else 2
        return OrderReading(SampleReadout(self._statistic, grids[0], classes, n))


class RankCells(Cells):
    """Cells of two columns, for the correlation of their ranks."""

    def __init__(self, columns: Columns) -> None:
        self.grids = columns.grids(powers=1)

    def blocks(self, grids: tuple[Axis, ...]) -> list[tuple[Axis, ...]]:
        """Return one block of both columns."""
        return [grids]

    def places(self) -> list[tuple[int, ...]]:
        """Return both columns."""
        return [(0, 1)]

    def features(self, rows: FloatArray, grids: tuple[Axis, ...]) -> FloatArray:
        """Return the features of cells."""
        return Table(grids[0], grids[1], 1.0).features(rows)

    def reading(self, grids: tuple[Axis, ...], n: float) -> OrderReading:
        """Return what the cells tell of the correlation."""
        return OrderReading(RankTable(Table(grids[0], grids[1], n)))


def cells_of_kernel(columns: Columns, kernel: Kernel | Combination) -> Cells:
    """Return what is added up for a kernel that has a sketch."""
    asked = set(formulas(kernel))
    if asked <= {Formula.VARIANCE} or asked <= {Formula.SCATTER_SQUARED}:
        return _Moments(columns, kernel)
    if asked <= OF_ONE_COLUMN:
        return _OneColumn(columns, kernel)
    if asked <= OF_SCORES:
        return _Scores(columns, kernel)
    return (_Distances if asked <= {Formula.DISTANCE} else _Order)(columns, kernel)
