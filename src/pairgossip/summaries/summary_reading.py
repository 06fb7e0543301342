"""What is read from a summary: the statistic as columns and blocks tell it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.inference.answer import Answer
from pairgossip.summaries.axes import Axis, Grid, Labels
from pairgossip.summaries.bounds import Blocks, Ends
from pairgossip.summaries.readings import Estimate
from pairgossip.summaries.tables import Columns, CountTable, Layout, Sums
from pairgossip.summaries.tree import Tree, lay_tree
from pairgossip.text import format_alike

_FINE = 256
"""Of more cells, those beyond all rows are left out."""
_OPEN = 0.25
"""An answer says that cells leave much open above this part of the standard error."""


class SummaryAnswer(Answer):
    """An `Answer` that counts per cell tell, with what is certain.

    Attributes
    ----------
    bracket
        The statistic of the rows that were counted lies between these two for certain, wherever in
        their cells the rows are; NaN if they are not known.
    p, p_bracket
        For a test by ranks, which has no interval, its p and the ends of it; else NaN.
    """

    bracket: Ends
    p: float
    p_bracket: Ends

    def __new__(cls, *parts: Any) -> Self:
        """Make a number that knows its errors: those of an `Answer`, and three more."""
        answer: Self = super().__new__(cls, *parts[:-3])  # type: ignore[assignment]
        answer.bracket, answer.p, answer.p_bracket = parts[-3:]
        return answer

    def to_dict(self) -> dict[str, Any]:
        """Return the number and all that is known of it, by name."""
        more = {"bracket": self.bracket, "p": self.p, "p_bracket": self.p_bracket}
        return super().to_dict() | more

    def __str__(self) -> str:
        half = (self.bracket[1] - self.bracket[0]) / 2
        value, least, most, part = format_alike((self.value, *self.bracket, half), self.error)
        certain = "" if math.isnan(half) else f"; certain: {least} to {most}"
        if half > _OPEN * self.error:
            certain += f", because cells leave {part} open on either side: finer ones leave less"
        if not math.isnan(self.low):
            return super().__str__() + certain
        ends, p = self.p_bracket, ""
        if not math.isnan(self.p):
            p = f", p = {self.p:.3g}"
            p += "" if math.isnan(ends[0]) else f" ({ends[0]:.3g} to {ends[1]:.3g})"
        return value + p + certain

    __repr__ = __str__


@dataclass(frozen=True)
class LaidColumns(Columns):
    """Columns whose cells are laid already."""

    laid: tuple[Axis, ...] = ()

    @classmethod
    def of(cls, laid: Sequence[Axis], label: Labels | None, target: str) -> Self:
        """Return columns with these cells."""
        ranges = tuple((float(axis.places[0]), float(axis.places[-1])) for axis in laid)
        known = tuple(axis.ties_known for axis in laid)
        return cls(ranges, known, label, 0, target, laid=tuple(laid))

    def axes(self) -> tuple[Axis, ...]:
        """Return the cells as they were laid."""
        return self.laid


@dataclass(frozen=True)
class BlockCounts:
    """Rows per block of one or two columns, by class where there are any."""

    axes: tuple[Axis, ...]
    classes: Labels | None
    tree: Tree
    counts: FloatArray
    """Shape (classes, blocks), or (blocks,)."""

    @property
    def n(self) -> float:
        """How many rows were counted."""
        return float(self.counts.sum())

    @property
    def is_known(self) -> bool:
        """Whether all rows are counted in single cells."""
        return not self.counts[..., ~self.tree.is_cell].any()

    def drop_classes(self) -> BlockCounts:
        """Return the counts of all classes together."""
        if self.classes is None:
            return self
        return BlockCounts(self.axes, None, self.tree, self.counts.sum(axis=0))

    def choose(self, column: int) -> BlockCounts:
        """Return the counts of one column."""
        if len(self.axes) == 1:
            return self
        along = -1 if column == 0 else -2
        counts = self.tree.table(self.counts).sum(axis=along)
        return BlockCounts((self.axes[column],), self.classes, self.tree.axes[column], counts)

    def trim(self) -> BlockCounts:
        """Leave out cells beyond all rows, if the rows of every one of many cells are known.

        Edges far away would cost digits.
        """
        if not self.is_known or math.prod(self.tree.shape) <= _FINE:
            return self
        cells, axes = self.counts[..., self.tree.cells], list(self.axes)
        cells = cells.reshape(*cells.shape[:-1], *self.tree.shape)
        for at, axis in enumerate(axes, cells.ndim - len(axes)):
            if isinstance(axis, Grid):
                others = tuple(one for one in range(cells.ndim) if one != at)
                held = np.flatnonzero(cells.sum(axis=others))
                first, stop = int(held.min(initial=axis.bins - 1)), int(held.max(initial=0)) + 1
                cells = cells.take(range(first, max(stop, first + 1)), axis=at)
                edges = axis.edges[first : max(stop, first + 1) + 1]
                axes[at - cells.ndim] = Grid(edges, axis.powers)
        return BlockCounts.of_cells(tuple(axes), self.classes, cells)

    @classmethod
    def of_cells(
        cls, axes: tuple[Axis, ...], classes: Labels | None, cells: FloatArray
    ) -> BlockCounts:
        """Return counts of single cells, classes first."""
        tree = lay_tree(cells.shape[cells.ndim - len(axes) :])
        leading = cells.shape[: cells.ndim - len(axes)]
        counts = np.zeros((*leading, tree.size))
        counts[..., tree.cells] = cells.reshape(*leading, -1)
        return cls(axes, classes, tree, counts)

    def bound(self, table: CountTable) -> Blocks:
        """Return the blocks of one table of a layout."""
        at = [column for column in table.columns if column < len(self.axes)]
        part = self if len(at) == len(self.axes) else self.choose(at[0])
        if table.classes is None:
            part = part.drop_classes()
        classes = () if part.classes is None else (part.classes,)
        return Blocks((*part.axes, *classes), part.tree, part.counts)


def read(layout: Layout, rows: BlockCounts, level: float) -> Estimate:
    """Read the statistic of a layout from blocks of its columns."""
    return layout.find(Sums(rows.n, tuple(map(rows.bound, layout.tables))), level=level)
