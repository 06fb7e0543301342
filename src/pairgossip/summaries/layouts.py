"""Which statistic is read from which cells: the one place that says it.

`find_layout` knows those of kernels, and `find_order_question` the statistics of order.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.checks import choice
from pairgossip.errors import InputError, canonical
from pairgossip.inference.answer import Law
from pairgossip.kernels import CATALOG, AnyKernel, Combination, Formula, Kernel, as_kernel
from pairgossip.kernels.builtin.classes import auc
from pairgossip.kernels.builtin.spread import DISTANCE, GINI, SCATTER_SQUARED, VARIANCE
from pairgossip.kernels.named_tests import NAMED_TESTS, refuse_test
from pairgossip.order_statistics.comparisons import ClassTest
from pairgossip.order_statistics.statistics import (
    HodgesLehmann,
    Quantile,
    Shift,
    Statistic,
    TrimmedMean,
    WinsorizedMean,
)
from pairgossip.summaries.axes import Axis, Grid, Labels
from pairgossip.summaries.bounds import (
    UNKNOWN,
    Blocks,
    Ends,
    bound_coefficient,
    bound_differences,
    bound_order,
    bound_scatter,
    bound_variance,
)
from pairgossip.summaries.cells import rounding_step
from pairgossip.summaries.features.order import (
    OF_ORDER,
    OF_SCORES,
    OF_SURVIVAL,
    Table,
    sketch_order,
    sketch_scores,
)
from pairgossip.summaries.features.samples import RankTable, SampleReadout
from pairgossip.summaries.features.sketch import Sketch, combine_averages, formulas
from pairgossip.summaries.features.spread import (
    OF_ONE_COLUMN,
    GiniBins,
    Projections,
    Scatter,
    sketch_column,
    sketch_variance,
    spread_directions,
)
from pairgossip.summaries.intervals import LEVEL, interval_about
from pairgossip.summaries.readings import Estimate, OrderReading, PairReading, SpreadReading
from pairgossip.summaries.tables import Columns, CountTable, Layout, Sums, lay_cells, spread_rows

_DIRECTIONS = 32
"""Directions along which rows of several columns are projected and counted."""


class PairLayout(Layout):
    """The cells of a kernel's sketch."""

    kind: ClassVar[str]
    """Its name, by which other tables know it."""
    powers = 2

    def __init__(self, columns: Columns, kernel: Kernel | Combination) -> None:
        self.kernel = kernel
        super().__init__(columns)

    @abstractmethod
    def sketch(self, n: float, scale: float) -> Sketch:
        """Return the sketch on these cells."""

    def reading(self, n: float) -> PairReading:
        """Return what means of features of n rows tell."""
        sketch = self.sketch(n, self.columns.scale(n))
        classes = self.classes()
        return PairReading(sketch, self.kernel, self.columns.target, n, self.bound, classes)

    def bound(self, blocks: Sequence[Blocks]) -> Ends:
        """Return the ends between which the statistic of rows in these blocks lies."""
        return bound_order(self.kernel, blocks[0], self.columns.target)

    def classes(self) -> BoolArray | None:
        """Tell which features count the rows of each class; None if classes are no samples."""
        return None


class _ColumnLayout(PairLayout):
    """Counts of one column."""

    kind = "column"

    def lay_tables(self) -> list[CountTable]:
        return [CountTable(self.axes, (0,))]

    def sketch(self, n: float, scale: float) -> Sketch:
        return sketch_column(self.kernel, self.axes[0], n, scale)

    def bound(self, blocks: Sequence[Blocks]) -> Ends:
        if self.kernel.name == "gini-coefficient":
            return bound_coefficient(blocks[0], self.columns.target)
        is_gini = isinstance(self.kernel, Kernel) and self.kernel.formula is GINI
        return bound_differences(blocks[0], self.columns.target) if is_gini else UNKNOWN


class _ScoresLayout(PairLayout):
    """One score by class, or two, each by itself: a joint table would tell more about rows."""

    kind = "scores"
    powers = 1
    classes_last = True

    @property
    def _label(self) -> Labels:
        assert self.columns.label is not None
        return self.columns.label

    def lay_tables(self) -> list[CountTable]:
        return [CountTable((axis,), (at,), self._label) for at, axis in enumerate(self.axes)]

    def classes(self) -> BoolArray:
        """Tell which features of the first score count the rows of each class."""
        axis = self.axes[0]
        one = np.zeros(axis.size)
        one[axis.counts] = 1.0
        counted = np.zeros((2, 2 * sum(part.size for part in self.axes)), dtype=bool)
        counted[:, : 2 * len(one)] = [np.kron(one, side) > 0 for side in np.eye(2)]
        return counted

    def sketch(self, n: float, scale: float) -> Sketch:
        return sketch_scores(self.kernel, self.axes, self._label, n, scale)

    def find(self, sums: Sums, noise: float = 0.0, level: float = LEVEL) -> Estimate:
        """Return one AUC, or the difference of two with an error that is no smaller than its own.

        Two tables do not tell how the scores go together: the error is at most the sum of both.
        """
        if len(self.axes) == 1 or not sums.n > 0:
            return super().find(sums, noise, level)
        one, other = (
            _ScoresLayout(self.columns.choose(at), auc()).find(Sums(sums.n, (part,)), level=level)
            for at, part in enumerate(sums.tables)
        )
        value, error = one.value - other.value, one.error + other.error
        bracket = one.bracket[0] - other.bracket[1], one.bracket[1] - other.bracket[0]
        smallest = sums.tables[0].by_class.sum(axis=-1).min()
        law, scale = Law(max(float(smallest) - 1, 1.0)), self.kernel.interval_scale
        ends = interval_about(bracket, value, math.hypot(error, noise), scale, law, level)
        return Estimate(value, error, *ends, bracket=UNKNOWN if noise else bracket)


class _OrderLayout(PairLayout):
    """Two columns, of which the second may be classes, or by whether an event was seen."""

    kind = "order"
    classes_last = True

    def lay(self) -> tuple[Axis, ...]:
        return super().lay()[:2]

    @property
    def _events(self) -> bool:
        return len(self.columns.ranges) == 3

    @property
    def _axes(self) -> tuple[Axis, Axis]:
        label = self.columns.label
        return self.axes[0], self.axes[1] if label is None else label

    def lay_tables(self) -> list[CountTable]:
        classes = Labels(np.arange(2.0)) if self._events else self.columns.label
        return [CountTable(self.axes, tuple(range(len(self.axes))), classes)]

    def spread_table(self, table: CountTable, shares: FloatArray) -> FloatArray:
        if not self._events:
            return super().spread_table(table, shares)
        others, failed = np.moveaxis(shares.reshape(*shares.shape[:-1], *table.shape), -3, 0)
        parts = [spread_rows(self._axes, one) for one in (others + failed, failed)]
        return np.concatenate(parts, axis=-1)

    def sketch(self, n: float, scale: float) -> Sketch:
        return sketch_order(self.kernel, self._axes, n, scale, events=self._events)


class _DistanceLayout(PairLayout):
    """Cells of projections on directions, which are the same everywhere."""

    kind = "distance"

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

    def lay_tables(self) -> list[CountTable]:
        return [CountTable((axis,), (at,)) for at, axis in enumerate(self.axes)]

    def prepare(self, rows: FloatArray) -> FloatArray:
        return np.asarray(rows @ self._directions.T)

    def sketch(self, n: float, scale: float) -> Sketch:
        parts = tuple(GiniBins(axis, n, scale) for axis in self.axes if isinstance(axis, Grid))
        return combine_averages(Projections(self._directions, parts), self.kernel)

    def bound(self, blocks: Sequence[Blocks]) -> Ends:
        return UNKNOWN


class _SpreadLayout(PairLayout):
    """Counts of every column, by class where there are any: scatter adds up over columns."""

    kind = "spread"

    def lay_tables(self) -> list[CountTable]:
        label = self.columns.label
        if label is None:
            return [CountTable(self.axes, (0,))]
        return [CountTable((axis,), (at,), label) for at, axis in enumerate(self.axes)]

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
        target = self.columns.target
        return SpreadReading(sketch, self.kernel, target, n, self.bound, None, columns, classes)

    def bound(self, blocks: Sequence[Blocks]) -> Ends:
        if isinstance(self.kernel, Combination):  # a function of it
            return UNKNOWN
        if self.columns.label is None:
            return bound_variance(blocks[0], self.columns.target)
        return bound_scatter(blocks, self.columns.target)


class SampleLayout(Layout):
    """Cells of one column, for every class apart, of a statistic of order."""

    def __init__(self, columns: Columns, statistic: Statistic) -> None:
        self._statistic = statistic
        super().__init__(columns)

    def lay_tables(self) -> list[CountTable]:
        """Return one table."""
        return [CountTable(self.axes, (0,), self.columns.label)]

    def reading(self, n: float) -> OrderReading:
        """Return what the cells tell of the statistic."""
        classes = 1 if self.columns.label is None else 2
        return OrderReading(SampleReadout(self._statistic, self.axes[0], classes, n))


class RankLayout(Layout):
    """Cells of two columns, for the correlation of their ranks."""

    def lay_tables(self) -> list[CountTable]:
        """Return one table of both columns."""
        return [CountTable(self.axes, (0, 1))]

    def reading(self, n: float) -> OrderReading:
        """Return what the cells tell of the correlation."""
        return OrderReading(RankTable(Table(self.axes[0], self.axes[1], n)))


_OF_KERNELS: tuple[tuple[Collection[Formula], type[PairLayout]], ...] = (
    ({VARIANCE}, _SpreadLayout),
    ({SCATTER_SQUARED}, _SpreadLayout),
    (OF_ONE_COLUMN, _ColumnLayout),
    (OF_SCORES, _ScoresLayout),
    (OF_ORDER, _OrderLayout),
    (OF_SURVIVAL, _OrderLayout),
    ({DISTANCE}, _DistanceLayout),
)
"""The cells from which averages of kernels are read; those of one statistic are all in one set."""


def find_layout(kernel: AnyKernel) -> type[PairLayout] | None:
    """Return the cells that a kernel is read from; None if no cells tell it."""
    asked = set(formulas(kernel))
    return next((kind for known, kind in _OF_KERNELS if asked <= set(known)), None)


# Statistics of order, by name.

SPEARMAN = "spearman"
_WITH_SHARE = re.compile(r"(quantile|trimmed-mean|winsorized-mean)-(0?\.[0-9]{1,6})")
_OF_SHARE: dict[str, Callable[[float], Statistic]] = {
    "quantile": Quantile,
    "trimmed-mean": TrimmedMean,
    "winsorized-mean": WinsorizedMean,
}
_COLUMN_MODELS = {("value",): "gini", ("value", "label"): "auc", ("x", "y"): "kendall"}
"""The kernel that stands for each set of columns: it takes the same ones."""


@dataclass(frozen=True)
class OrderQuestion:
    """A statistic that is no average over pairs."""

    name: str
    columns: tuple[str, ...]
    statistic: Statistic | None
    """None for the correlation of ranks."""

    @property
    def column_model(self) -> Kernel | Combination:
        """A kernel that takes the same columns, and checks them."""
        return as_kernel(_COLUMN_MODELS[self.columns])

    @property
    def is_test(self) -> bool:
        """Whether it is a test by ranks, which has a p."""
        return self.statistic is None or isinstance(self.statistic, ClassTest)


_NAMED = {
    "median": OrderQuestion("median", ("value",), Quantile(0.5)),
    "hodges-lehmann": OrderQuestion("hodges-lehmann", ("value",), HodgesLehmann()),
    "shift": OrderQuestion("shift", ("value", "label"), Shift()),
}


def find_order_question(name: str) -> OrderQuestion | None:
    """Return the statistic of order of this name; None if there is none."""
    plain = canonical(name)
    if plain in _NAMED:
        return _NAMED[plain]
    if (match := _WITH_SHARE.fullmatch(plain)) is not None:
        share = float(match[2])
        name = f"{match[1]}-{share:.6f}".rstrip("0")
        return OrderQuestion(name, ("value",), _OF_SHARE[match[1]](share))
    test = NAMED_TESTS.get(plain)
    if test is None or test.sketch is None:
        return None
    return OrderQuestion(plain, test.columns, None if plain == SPEARMAN else ClassTest(plain))


def check_name(name: str) -> None:
    """Raise `InputError` if neither a kernel nor a statistic of order has this name."""
    if find_order_question(name) is not None:
        return
    refuse_test(name)
    tests = (test for test, entry in NAMED_TESTS.items() if entry.sketch is not None)
    shares = ("quantile-0.5", "trimmed-mean-0.1", "winsorized-mean-0.1")
    choice("kernel", name, (*CATALOG, *_NAMED, *shares, *tests))


def check_kernel(kernel: Kernel | Combination) -> None:
    """Raise `InputError` if no sums tell a kernel."""
    if find_layout(kernel) is not None:
        return
    others = sorted(name for name in CATALOG if find_layout(as_kernel(name)) is not None)
    raise InputError(
        f"kernel '{kernel.name}' is not told by sums over rows: choose another (with "
        f'{", ".join(others)} it works), or let rows travel with algorithm.name = "exchange".'
    )


def is_told_by_sums(name: str) -> bool:
    """Return whether sums tell the kernel or statistic of this name; not if there is none."""
    if find_order_question(name) is not None:
        return True
    try:
        return find_layout(as_kernel(name)) is not None
    except InputError:
        return False


def lay_out(columns: Columns, name: str) -> Layout:
    """Return the cells of the kernel or statistic of this name."""
    asked = find_order_question(name)
    if asked is not None:
        statistic = asked.statistic
        return RankLayout(columns) if statistic is None else SampleLayout(columns, statistic)
    kernel = as_kernel(name)
    kind = find_layout(kernel)
    assert kind is not None  # the specification is checked before
    return kind(columns, kernel)
