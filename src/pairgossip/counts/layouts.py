"""The cells from which each statistic is read; no other module decides this.

`find_kind` covers averages of kernels, and `find_order_question` the statistics of order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.counts.axes import Axis
from pairgossip.counts.bounds import (
    UNKNOWN,
    Blocks,
    Ends,
    bound_coefficient,
    bound_differences,
    bound_order,
    bound_scatter,
    bound_variance,
)
from pairgossip.counts.cells import choose_cells, rounding_step
from pairgossip.counts.intervals import LEVEL, interval_about
from pairgossip.counts.readings import Estimate, read_kernel, read_order
from pairgossip.counts.samples import RankTable, SampleCells
from pairgossip.counts.tables import Columns, CountTable, Layout, Sums
from pairgossip.errors import InputError, canonical
from pairgossip.inference.answer import Law
from pairgossip.kernels import CATALOG, AnyKernel, Combination, Formula, Kernel, as_kernel
from pairgossip.kernels.builtin.classes import (
    AUC_COMPARED,
    AUC_ORDERED,
    SECOND_AUC_ORDERED,
    auc,
)
from pairgossip.kernels.builtin.ranks import (
    BOTH_APART,
    COMPARABLE,
    CONCORDANT,
    FIRST_APART,
    KENDALL,
    RANKING_RISK,
    SECOND_APART,
)
from pairgossip.kernels.builtin.spread import DISTANCE, GINI, MIDPOINT, SCATTER_SQUARED, VARIANCE
from pairgossip.kernels.named_tests import NAMED_TESTS, refuse_test
from pairgossip.kernels.weighing import restrict_to_strata
from pairgossip.order_statistics.comparisons import ClassTest
from pairgossip.order_statistics.statistics import (
    HodgesLehmann,
    Quantile,
    Shift,
    Statistic,
    TrimmedMean,
    WinsorizedMean,
)

OF_ONE_COLUMN = frozenset({GINI, MIDPOINT})
OF_SCORES = frozenset({AUC_ORDERED, SECOND_AUC_ORDERED, AUC_COMPARED})
OF_ORDER = frozenset({KENDALL, RANKING_RISK, FIRST_APART, SECOND_APART, BOTH_APART})
OF_SURVIVAL = frozenset({CONCORDANT, COMPARABLE})
"""Sets of kernels whose averages are read from the same cells."""
_DIRECTIONS = 32
"""Number of directions on which rows of several columns are projected and counted."""


def formulas(kernel: AnyKernel) -> tuple[Formula, ...]:
    """Return the built-in formulas of a kernel's parts."""
    return tuple(part.formula for part in kernel.components)


class PairLayout(Layout):
    """A kernel that is read from one table of all columns."""

    def __init__(self, columns: Columns, kernel: Kernel | Combination) -> None:
        self.kernel = kernel
        super().__init__(columns)

    def parts(self) -> list[tuple[float, Kernel | Combination]]:
        """Return the kernel of every table, and its factor in the statistic."""
        return [(1.0, self.kernel)]

    def find(self, sums: Sums, noise: float = 0.0, level: float = LEVEL) -> Estimate:
        """Return the statistic with its errors; noise moves it by this standard error.

        Several tables do not show how their columns go together: the error is at most the sum of
        the tables' errors.
        """
        target, has_strata = self.columns.target, self.columns.strata is not None
        bound, tables = bound_kernel, sums.clip()
        if has_strata:
            bound, tables = bound_within, tuple(map(_leave_out_lone, tables))
        found = [
            read_kernel(
                kernel, one, target, bound(kernel, one, target), level, has_strata=has_strata
            )
            for (_, kernel), one in zip(self.parts(), tables, strict=True)
        ]
        return self._join(found, level)

    def _join(self, found: Sequence[Estimate], level: float) -> Estimate:
        """Return the statistic from the estimates of all tables."""
        if len(found) == 1:
            return found[0]
        value, error, bracket = self.add_parts(
            np.array([(one.value, one.error, *one.bracket) for one in found])
        )
        scale = self.kernel.interval_scale
        interval = interval_about(bracket, value, error, scale, Law(math.inf), level)
        return Estimate(value, error, *interval, bracket=bracket)

    def add_parts(self, numbers: FloatArray) -> tuple[float, float, Ends]:
        """Add up values, errors and the two ends about them, one line per table."""
        factors = np.array([factor for factor, _ in self.parts()])
        value, error = float(factors @ numbers[:, 0]), float(np.abs(factors) @ numbers[:, 1])
        ends = np.where(factors[:, None] < 0, numbers[:, :1:-1], numbers[:, 2:])
        low, high = (factors @ ends).tolist()
        return value, error, (low, high)


class _ColumnsLayout(PairLayout):
    """Every column by itself, by class if there are classes: tables of both would reveal more.

    Two AUCs are subtracted, and scatter adds up over columns.
    """

    def lay_tables(self) -> list[CountTable]:
        factors = self.columns.factors
        return [CountTable((axis,), (at,), factors) for at, axis in enumerate(self.axes)]

    def parts(self) -> list[tuple[float, Kernel | Combination]]:
        if self.kernel.name == "auc-difference":
            return [(1.0, auc()), (-1.0, auc())]
        return [(1.0, self.kernel)] * len(self.axes)


def spread_directions(dimension: int, count: int) -> FloatArray:
    """Return unit vectors in orthogonal groups, the same on every machine, shape (count, d)."""
    if dimension == 1:
        return np.ones((1, 1))
    draws = np.random.Generator(np.random.Philox(0)).normal(
        size=(-(-count // dimension), dimension, dimension)
    )
    groups = [np.linalg.qr(square)[0] for square in draws]
    return np.vstack(groups)[:count]


def distance_factor(columns: int) -> float:
    """Return the mean distance divided by the mean difference of projections."""
    return math.sqrt(math.pi) * math.exp(math.lgamma((columns + 1) / 2) - math.lgamma(columns / 2))


class _DistanceLayout(_ColumnsLayout):
    """Cells of projections on directions, which are the same on every machine."""

    @property
    def column_axes(self) -> tuple[Axis, ...]:
        return ()

    def lay(self) -> tuple[Axis, ...]:
        low, high = np.array([(one.places[0], one.places[-1]) for one in self.columns.axes]).T
        self._directions = spread_directions(len(low), _DIRECTIONS)
        middle = self._directions @ (low + high) / 2
        reach = np.abs(self._directions) @ (high - low) / 2
        step = rounding_step(float(np.linalg.norm(high - low)))
        first = (np.floor((middle - reach) / step) * step).tolist()
        last = (np.ceil((middle + reach) / step) * step).tolist()
        ends = zip(first, last, strict=True)
        return tuple(choose_cells(*one, self.columns.axes[0].bins).lay() for one in ends)

    def prepare(self, rows: FloatArray) -> FloatArray:
        return np.asarray(rows @ self._directions.T)

    def parts(self) -> list[tuple[float, Kernel | Combination]]:
        factor = distance_factor(len(self.columns.axes)) / len(self.axes)
        return [(factor, as_kernel("gini"))] * len(self.axes)


def bound_kernel(kernel: Kernel | Combination, blocks: Blocks, target: str) -> Ends:
    """Return the ends between which a kernel's statistic of rows in these blocks lies."""
    if kernel.name == "gini-coefficient":
        return bound_coefficient(blocks, target)
    asked = formulas(kernel)
    if set(asked) <= OF_ORDER | OF_SCORES | OF_SURVIVAL:
        return bound_order(kernel, blocks, target)
    if isinstance(kernel, Combination):  # a function of another statistic
        return UNKNOWN
    if asked[0] == SCATTER_SQUARED:
        return bound_scatter([blocks], target)
    return {GINI: bound_differences, VARIANCE: bound_variance}[asked[0]](blocks, target)


def bound_within(kernel: Kernel | Combination, blocks: Blocks, target: str) -> Ends:
    """Return such ends over pairs within strata, which are the last factor of the blocks."""
    if set(formulas(kernel)) <= OF_ORDER | OF_SCORES | OF_SURVIVAL:
        return bound_order(restrict_to_strata(kernel), blocks, target)
    counts = np.moveaxis(blocks.counts, -2, 0)
    parts = [Blocks(blocks.axes[:-1], blocks.tree, one) for one in counts]
    pairs = np.array([one.pairs(target) for one in parts])
    ends = np.array([bound_kernel(kernel, one, target) for one in parts])
    if isinstance(kernel, Combination):  # a quotient of sums is between the quotients of its parts
        ends = ends[~np.isnan(ends[:, 0])]  # a part without a quotient has nothing to divide by
        return (float(ends[:, 0].min()), float(ends[:, 1].max())) if len(ends) else UNKNOWN
    low, high = (pairs[pairs > 0] @ ends[pairs > 0] / max(pairs.sum(), 1.0)).tolist()
    return (low, high) if pairs.any() else UNKNOWN


def _leave_out_lone(blocks: Blocks) -> Blocks:
    """Leave out strata of one row, which is in no pair."""
    rows = np.moveaxis(blocks.counts, -2, 0).reshape(blocks.axes[-1].bins, -1).sum(axis=1)
    return replace(blocks, counts=blocks.counts * (rows > 1)[:, None])


class OrderLayout(Layout):
    """Cells of one column, by class if there are classes, or of two, for a statistic of order."""

    def __init__(self, columns: Columns, statistic: Statistic | None) -> None:
        self.statistic = statistic
        super().__init__(columns)

    def reading(self, n: float) -> SampleCells | RankTable:
        """Return the reader of the statistic from n rows in the cells."""
        if self.statistic is None:
            return RankTable(self.axes[0], self.axes[1], n)
        return SampleCells(
            self.statistic, self.axes[0], 1 if self.columns.classes is None else 2, n
        )

    def find(self, sums: Sums, noise: float = 0.0, level: float = LEVEL) -> Estimate:
        """Return the statistic with its errors; noise moves it by this standard error."""
        if not sums.n > 0:
            return Estimate(math.nan, math.nan)
        mean = self.spread(sums.shares)
        return read_order(self.reading(sums.n), mean, noise, sums.clip()[0], level)

    def spread(self, shares: FloatArray) -> FloatArray:
        """Return mean features for these shares of rows in cells, which rows fill evenly."""
        leading = (*shares.shape[:-1], *self.tables[0].leading)
        sizes = [size for axis in self.axes for size in (axis.bins, 1 if axis.ties_known else 2)]
        features, at = np.zeros((*leading, *sizes)), (..., *((slice(None), 0) * len(self.axes)))
        features[at] = shares.reshape(*leading, *(axis.bins for axis in self.axes))
        return features.reshape(*shares.shape[:-1], -1)


_CELLS_OF_KERNELS: tuple[tuple[Collection[Formula], str], ...] = (
    ({VARIANCE}, "spread"),
    ({SCATTER_SQUARED}, "spread"),
    (OF_ONE_COLUMN, "column"),
    (OF_SCORES, "scores"),
    (OF_ORDER, "order"),
    (OF_SURVIVAL, "order"),
    ({DISTANCE}, "distance"),
)
"""The kind of cells that gives averages of kernels; those of one statistic are all in one set."""
_LAYOUTS: dict[str, type[PairLayout]] = {
    "spread": _ColumnsLayout,
    "scores": _ColumnsLayout,
    "distance": _DistanceLayout,
}
"""The layouts of kinds whose columns are counted separately; others have one table."""


def find_kind(kernel: AnyKernel) -> str | None:
    """Return the kind of cells that a kernel is read from; None if there is no such kind."""
    asked = set(formulas(kernel))
    return next((kind for known, kind in _CELLS_OF_KERNELS if asked <= set(known)), None)


# Statistics of order, by name.

SPEARMAN = "spearman"
_WITH_SHARE = re.compile(r"(quantile|trimmed-mean|winsorized-mean)-(0?\.[0-9]{1,6})")
_OF_SHARE: dict[str, Callable[[float], Statistic]] = {
    "quantile": Quantile,
    "trimmed-mean": TrimmedMean,
    "winsorized-mean": WinsorizedMean,
}
_COLUMN_MODELS = {("value",): "gini", ("value", "label"): "auc", ("x", "y"): "kendall"}
"""The kernel that stands for each set of columns: it takes the same columns."""


@dataclass(frozen=True)
class OrderQuestion:
    """A statistic that is not an average over pairs."""

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
    """Raise `InputError` if sums over rows cannot give a kernel's average."""
    if find_kind(kernel) is not None:
        return
    others = sorted(name for name in CATALOG if find_kind(as_kernel(name)) is not None)
    raise InputError(
        f"kernel '{kernel.name}' cannot be read from sums over rows: choose another (with "
        f'{", ".join(others)} it works), or let rows travel with algorithm.name = "exchange".'
    )


def is_told_by_sums(name: str) -> bool:
    """Return whether sums over rows give the kernel or statistic of this name, if there is one."""
    if find_order_question(name) is not None:
        return True
    try:
        return find_kind(as_kernel(name)) is not None
    except InputError:
        return False


def lay_out(columns: Columns, name: str) -> Layout:
    """Return the cells of the kernel or statistic of this name."""
    asked = find_order_question(name)
    if asked is not None:
        return OrderLayout(columns, asked.statistic)
    kernel = as_kernel(name)
    kind = find_kind(kernel)
    assert kind is not None  # the specification is checked before
    return _LAYOUTS.get(kind, PairLayout)(columns, kernel)
