"""Bounds of a statistic that hold wherever in their blocks the rows are.

All bounds hold for the rows that were counted, whatever their values; single cells are blocks too.
Each docstring says whether some rows attain the ends.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.counts.axes import Axis, Grid
from pairgossip.counts.spreading import spread_rows
from pairgossip.counts.tree import AFTER, BEFORE, TIED, Relation, Tree, lay_tree
from pairgossip.kernels import AnyKernel
from pairgossip.order_statistics.distribution import Distribution

Ends = tuple[float, float]
UNKNOWN: Ends = (math.nan, math.nan)
ROUNDING = 64 * np.finfo(np.float64).eps
"""Largest rounding error of an end, relative to the largest number that it is computed from."""
_TRIMMED_CELLS = 256
"""Number of cells above which those beyond all rows are left out."""
_ORDERS = (BEFORE, TIED, AFTER)
_MOST_STEPS = 50
"""Largest number of steps toward the end of a quotient; it takes about five."""
_HALVINGS = 64
"""Number of bisections, after which a center is as exact as a float."""


@dataclass(frozen=True)
class Blocks:
    """The number of rows in every block of a table, by class."""

    axes: tuple[Axis, ...]
    """The axes of the tree, in its order, and then those of classes, as the kernel's columns."""
    tree: Tree
    counts: FloatArray
    """The number of rows, shape (*classes, blocks)."""

    @property
    def by_class(self) -> FloatArray:
        """The counts of every combination of classes, shape (classes, blocks)."""
        return self.counts.reshape(-1, self.tree.size)

    @property
    def n(self) -> float:
        """The number of rows."""
        return float(self.counts.sum())

    @property
    def is_known(self) -> bool:
        """Whether all rows are counted in single cells."""
        return not self.counts[..., ~self.tree.is_cell].any()

    def spread(self) -> FloatArray:
        """Return the number of rows per cell, estimated where blocks are larger."""
        return self._cells

    @cached_property
    def _cells(self) -> FloatArray:
        if not self.is_known:
            return spread_rows(self.tree, self.counts)
        cells = self.counts[..., self.tree.cells]
        return cells.reshape(*cells.shape[:-1], *self.tree.shape)

    def drop_classes(self) -> Blocks:
        """Return the counts of all classes together."""
        axes = self.axes[: len(self.tree.shape)]
        return Blocks(axes, self.tree, self.by_class.sum(axis=0))

    def choose(self, column: int) -> Blocks:
        """Return the counts of one of two columns, or of the only one."""
        if len(self.tree.shape) == 1:
            return self
        counts = self.tree.table(self.counts).sum(axis=-1 if column == 0 else -2)
        axes = (self.axes[column], *self.axes[2:])
        return Blocks(axes, self.tree.axes[column], counts)

    def trim(self) -> Blocks:
        """Leave out cells beyond all rows, if every row of many cells is known to its cell.

        Edges far from all rows would cost digits.
        """
        if not self.is_known or math.prod(self.tree.shape) <= _TRIMMED_CELLS:
            return self
        cells, axes = self.spread(), list(self.axes)
        leading = cells.ndim - len(self.tree.shape)
        for at, axis in enumerate(self.axes[: len(self.tree.shape)]):
            if isinstance(axis, Grid):
                others = tuple(one for one in range(cells.ndim) if one != leading + at)
                held = np.flatnonzero(cells.sum(axis=others))
                first = int(held.min(initial=axis.bins - 1))
                stop = max(int(held.max(initial=0)), first) + 1
                cells = cells.take(range(first, stop), axis=leading + at)
                axes[at] = Grid(axis.edges[first : stop + 1], axis.powers)
        return Blocks.of_cells(tuple(axes), cells, leading)

    @classmethod
    def of_cells(cls, axes: tuple[Axis, ...], cells: FloatArray, leading: int) -> Blocks:
        """Return counts of single cells; the first ``leading`` axes of the table are classes."""
        tree = lay_tree(cells.shape[leading:])
        counts = np.zeros((*cells.shape[:leading], tree.size))
        counts[..., tree.cells] = cells.reshape(*cells.shape[:leading], -1)
        return cls(axes, tree, counts)

    def pairs(self, target: str) -> float:
        """Return the number of pairs averaged: U-statistics leave out pairs of a row with
        itself."""
        return self.n * (self.n if target == "v" else self.n - 1)


def widen(low: float, high: float, largest: float = 1.0) -> Ends:
    """Return ends that allow for rounding of numbers up to this size."""
    slack = ROUNDING * max(largest, abs(low), abs(high))
    return float(low - slack), float(high + slack)


# Kernels of order: for two blocks, each axis leaves some orders of their rows possible.


def bound_order(kernel: AnyKernel, blocks: Blocks, target: str) -> Ends:
    """Bound a statistic whose kernels depend on the order of rows in every column alone.

    Every pair takes the order that is best for the statistic among those that are possible. Rows
    attain both ends of an AUC, and those of two columns where every block is a cell; otherwise,
    rows that are best for one pair may not be for another. The ends are NaN if no rows can be
    compared; an end may be infinite where the rows could leave nothing to compare.

    Parameters
    ----------
    kernel
        A kernel, a difference or quotient of averages of kernels, or tau-b.
    blocks
        The rows; their axes are the columns of the kernel.
    target
        "u" to leave out pairs of a row with itself, or "v".
    """
    pairs = blocks.pairs(target)
    if not pairs > 0:
        return UNKNOWN
    options = _Options.of(kernel, blocks, target)
    low, high = (options.find_end(kernel, pairs, side) for side in (-1.0, 1.0))
    return UNKNOWN if math.isnan(low + high) else widen(low, high)


@dataclass(frozen=True)
class _Options:
    """The values of kernels in every order of a pair, and the number of pairs in each relation."""

    values: FloatArray
    """Shape (kernels, orders, classes, classes)."""
    are_possible: BoolArray
    """Whether each order is possible in each relation of two blocks, shape (relations, orders)."""
    pairs: FloatArray
    """The number of pairs of different rows, shape (relations, classes, classes)."""
    own: FloatArray
    """The sum over pairs of a row with itself, if they count, shape (kernels,)."""

    @classmethod
    def of(cls, kernel: AnyKernel, blocks: Blocks, target: str) -> _Options:
        """Evaluate the kernels for every order and classes of a pair, and count the pairs."""
        values = _evaluate_orders(kernel, blocks)
        relations, pairs = zip(*_count_pairs(blocks), strict=True)
        orders = list(itertools.product(_ORDERS, repeat=len(blocks.tree.shape)))
        are_possible = (np.array(relations)[:, None] & np.array(orders)) > 0
        own = np.zeros(len(values))
        if target == "v":
            tied = orders.index((TIED,) * len(blocks.tree.shape))
            own = np.einsum("kaa,a->k", values[:, tied], blocks.by_class.sum(axis=-1))
        return cls(values, are_possible.all(axis=-1), np.array(pairs), own)

    def find_end(self, kernel: AnyKernel, pairs: float, side: float) -> float:
        """Return the least (side -1) or the largest (1) value of the statistic.

        Every pair takes the order that a small step toward the end favors, until no pair changes.
        For a quotient these are Dinkelbach's steps, which end at the best of all choices. They do
        so for tau-b too: no order counts more in its numerator than in each factor below, so an
        order that agrees is best, whatever the others; among ties, the sign of the numerator
        decides.
        """
        averages = self._average(np.abs(self.values).sum(axis=0), pairs)  # as few ties as possible
        value = float(kernel.combine(averages))
        if math.isnan(value):
            return value
        for _ in range(_MOST_STEPS):
            slopes = side * kernel.slopes(averages)
            following = self._average(np.tensordot(slopes, self.values, 1), pairs)
            found = float(kernel.combine(following))
            if math.isnan(found):  # nothing is compared then, which is no gain for a quotient
                gain = float(slopes @ (following - averages))
                return value if gain <= ROUNDING else side * math.inf
            if not side * (found - value) > 0:
                break
            averages, value = following, found
        return value

    def _average(self, scores: FloatArray, pairs: float) -> FloatArray:
        """Return the averages of the kernels if each pair has the order of the highest score."""
        possible = np.where(self.are_possible[:, :, None, None], scores, -np.inf)
        chosen = possible.argmax(axis=1)[None, :, None]
        picked = np.take_along_axis(self.values[:, None], chosen, axis=2)[:, :, 0]
        return np.asarray(((picked * self.pairs).sum(axis=(1, 2, 3)) + self.own) / pairs)


def _evaluate_orders(kernel: AnyKernel, blocks: Blocks) -> FloatArray:
    """Return the kernels of one pair per order and classes, averaged over both ways round.

    The shape is (kernels, orders, classes, classes).
    """
    axes = len(blocks.tree.shape)
    orders = np.array(list(itertools.product((1.0, 0.0, -1.0), repeat=axes)))
    labels = np.array(list(itertools.product(*(axis.places for axis in blocks.axes[axes:]))))
    shape = (len(orders), len(labels), len(labels))
    order, one, other = (part.ravel() for part in np.indices(shape))
    first = np.hstack([np.zeros((order.size, axes)), labels[one]])
    second = np.hstack([orders[order], labels[other]])
    values = np.array([part(first, second) for part in kernel.components]).reshape(-1, *shape)
    return (values + np.swapaxes(values[:, ::-1], 2, 3)) / 2


def _count_pairs(blocks: Blocks) -> Iterator[tuple[tuple[Relation, ...], FloatArray]]:
    """Count the pairs of different rows by the relations of their blocks along all axes."""
    table = blocks.tree.table(blocks.by_class)
    own = [
        np.where(tree.is_cell & axis.ties_known, TIED, 7)
        for tree, axis in zip(blocks.tree.axes, blocks.axes, strict=False)
    ]
    classes, flat = np.arange(len(table)), table.reshape(len(table), -1)
    for relations, others in _relate(blocks, table, 0):
        pairs = flat @ others.reshape(len(table), -1).T
        is_own = np.array(True)
        for kinds, relation in zip(own, relations, strict=True):
            is_own = is_own[..., None] & (kinds == relation)
        pairs[classes, classes] -= (table * is_own).reshape(len(table), -1).sum(axis=-1)
        yield relations, np.maximum(pairs, 0.0)  # parts of a row have no pairs


def _relate(
    blocks: Blocks, table: FloatArray, axis: int
) -> Iterator[tuple[tuple[Relation, ...], FloatArray]]:
    """Count the rows in each relation to every cell of a table of sides, from this axis on."""
    if axis == len(blocks.tree.shape):
        yield (), table
        return
    along, ties_known = np.moveaxis(table, axis + 1, -1), blocks.axes[axis].ties_known
    for relation, others in blocks.tree.axes[axis].relate(along, ties_known):
        for rest, counts in _relate(blocks, np.moveaxis(others, -1, axis + 1), axis + 1):
            yield (relation, *rest), counts


# One column: its distribution lies between those of all rows at the first and the last cells.


def bound_distribution(blocks: Blocks) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bound the number of rows up to any number, between the ends of all cells.

    Returns
    -------
    fewest, most
        The number of rows, inside of cell 1, between cells 1 and 2, inside of cell 2, ..., shape
        (..., 2 cells - 1).
    lengths
        The lengths of these parts of the axis.
    """
    first, last = (
        np.cumsum(blocks.tree.place(blocks.counts, is_last=side), axis=-1) for side in (False, True)
    )
    low, high = blocks.axes[0].ends
    lengths = np.empty(2 * len(low) - 1)
    lengths[::2], lengths[1::2] = high - low, low[1:] - high[:-1]
    inside = np.concatenate([np.zeros_like(last[..., :1]), last[..., :-1]], axis=-1)
    fewest = np.stack([inside, last], axis=-1).reshape(*last.shape[:-1], -1)[..., :-1]
    return fewest, np.repeat(first, 2, axis=-1)[..., :-1], lengths


def bound_differences(blocks: Blocks, target: str) -> Ends:
    """Bound Gini's mean difference: twice the integral of F (1 - F).

    Rows attain the lower end, and if every block is a cell, the upper one.
    """
    if not blocks.pairs(target) > 0:
        return UNKNOWN
    low, high = (_integrate(blocks, side, 0.0)[0] / blocks.pairs(target) for side in (-1.0, 1.0))
    low, high = widen(low, high, float(np.abs(blocks.axes[0].ends).max()))
    return max(low, 0.0), high


def bound_coefficient(blocks: Blocks, target: str) -> Ends:
    """Bound Gini's coefficient: the mean difference over twice the mean of the same rows.

    Both ends are found by Dinkelbach's steps, and attained as in `bound_differences`. Where the
    mean is known, divide the ends of the differences by twice that mean.
    """
    pairs, n = blocks.pairs(target), blocks.n
    if not (pairs > 0 and blocks.axes[0].ends[0][0] >= 0):  # defined for amounts only
        return UNKNOWN
    ends = []
    for side in (-1.0, 1.0):
        value = 0.0 if side > 0 else n * n / pairs
        for _ in range(_MOST_STEPS):
            differences, mean = _integrate(blocks, side, value * pairs / n)
            found = differences / (2 * mean * pairs) if mean > 0 else math.nan
            if not side * (found - value) > 0:
                break
            value = found
        ends.append(value)
    if not ends[0] <= ends[1]:  # all rows are 0
        return UNKNOWN
    low, high = widen(ends[0], ends[1])
    return max(low, 0.0), high


def _integrate(blocks: Blocks, side: float, cost: float) -> tuple[float, float]:
    """Return the sum of |x - y| over all pairs and the mean, of the least or largest difference.

    The number of rows up to each point is the one that favors the sum of differences, minus (for
    the largest) or plus twice the cost times the sum of all rows.
    """
    n = blocks.n
    fewest, most, lengths = bound_distribution(blocks.drop_classes())
    best = (n + cost) / 2
    choices = [fewest, most]
    if side > 0:
        choices += [np.clip(whole, fewest, most) for whole in (np.floor(best), np.ceil(best))]
    up_to = np.stack(choices)
    gain = (n - up_to) * (up_to - cost)
    chosen = up_to[(side * gain).argmax(axis=0), np.arange(len(lengths))]
    low = float(blocks.axes[0].ends[0][0])
    return 2 * float(lengths @ (chosen * (n - chosen))), low + float(lengths @ (n - chosen)) / n


def place_rows(blocks: Blocks, *, is_low: bool) -> Distribution:
    """Return the sample in which all rows are at the lower, or higher, ends of their blocks.

    The lower of two classes is moved the other way, so that the classes differ least, or most.
    These samples attain the ends of quantiles, means of order and shifts, which never fall if a
    row rises.
    """
    low, high = blocks.axes[0].ends
    points = np.stack([low, high], axis=-1).ravel()
    placed = np.zeros((*blocks.counts.shape[:-1], len(points)))
    rows = placed.reshape(-1, len(low), 2)
    for number, counts in enumerate(blocks.by_class):
        at_high = is_low == (len(rows) == 2 and number == 0)
        rows[number, :, int(at_high)] = blocks.tree.place(counts, is_last=at_high)
    return Distribution(points, points, placed, placed.sum(axis=-1))


# Sums of squares of numbers that each lie in an interval.


def bound_squares(low: FloatArray, high: FloatArray, rows: FloatArray) -> FloatArray:
    """Bound sums of squares about the mean, of rows that lie between these ends.

    A sum about any center but the mean is larger. So the least sum is that of rows nearest to the
    best center, which rows attain, and the largest is at most that of rows farthest from any one
    center.

    Parameters
    ----------
    low, high
        The ends of the intervals that hold the rows, shape (intervals,).
    rows
        The number of rows in each interval, shape (..., intervals).

    Returns
    -------
    ends
        The least and the largest sum, shape (2, ...).
    """
    start, stop = (np.full((2, *rows.shape[:-1]), end) for end in (low.min(), high.max()))
    for _ in range(_HALVINGS):
        center = (start + stop) / 2
        away = _distances(low, high, center)
        is_below = (rows * away).sum(axis=-1) > 0
        start, stop = np.where(is_below, center, start), np.where(is_below, stop, center)
    return np.asarray((rows * _distances(low, high, (start + stop) / 2) ** 2).sum(axis=-1))


def _distances(low: FloatArray, high: FloatArray, center: FloatArray) -> FloatArray:
    """Return the distances of the nearest and farthest numbers of intervals above a center."""
    near, far = center[..., None]
    nearest = np.clip(near, low, high) - near
    farthest = np.where(high - far > far - low, high - far, low - far)
    return np.stack([nearest, farthest])


def bound_scatter(columns: Sequence[Blocks], target: str) -> Ends:
    """Bound the scatter within classes, from a table by class of every column.

    The scatter is the sum of 2 n_c times the squares about the mean, over classes c and columns.
    Rows attain the lower end.
    """
    pairs = columns[0].pairs(target)
    if not pairs > 0:
        return UNKNOWN
    ends, largest = np.zeros(2), 0.0
    for blocks in columns:
        lower, upper = blocks.axes[0].ends
        first, last = (box[:, 0] for box in blocks.tree.boxes)
        sums = bound_squares(lower[first], upper[last], blocks.by_class)
        ends += 2 * (sums * blocks.by_class.sum(axis=-1)).sum(axis=-1) / pairs
        largest += float((upper[-1] - lower[0]) ** 2)
    low, high = widen(ends[0], ends[1], largest)
    return max(low, 0.0), high


def bound_variance(blocks: Blocks, target: str) -> Ends:
    """Bound the variance: half of the scatter of one class."""
    low, high = bound_scatter([blocks.drop_classes()], target)
    return low / 2, high / 2
