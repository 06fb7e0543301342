"""Two columns at once: how rows order pairs in both, from counts and sums per cell.

The sign of a difference is nearly a bilinear form of bins (`Grid.signs`), so the product of two
signs, which rank correlation, concordance and AUC average, is one of all products of the two
columns' features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.kernels import AnyKernel, Formula
from pairgossip.kernels.builtin.classes import AUC_COMPARED, AUC_ORDERED, SECOND_AUC_ORDERED
from pairgossip.kernels.builtin.ranks import (
    BOTH_APART,
    COMPARABLE,
    CONCORDANT,
    FIRST_APART,
    KENDALL,
    RANKING_RISK,
    SECOND_APART,
)
from pairgossip.summaries.axes import Axis, Grid, Labels
from pairgossip.summaries.features.sketch import (
    Points,
    Sketch,
    check_half_ties,
    combine_averages,
    formulas,
    stack_averages,
)

_SIGNS = ("signs", "signs")
_FORMS: dict[Formula, tuple[tuple[float, tuple[str, str]], ...]] = {
    KENDALL: ((1.0, _SIGNS),),
    RANKING_RISK: ((0.5, ("apart", "apart")), (-0.5, _SIGNS)),
    FIRST_APART: ((1.0, ("apart", "whole")),),
    SECOND_APART: ((1.0, ("whole", "apart")),),
    BOTH_APART: ((1.0, ("apart", "apart")),),
    AUC_ORDERED: ((0.25, ("whole", "apart")), (0.25, _SIGNS)),
    AUC_COMPARED: ((0.5, ("whole", "apart")),),
}
"""What kernels average, both ways of a pair: forms of the first column times the second's."""
OF_ORDER = frozenset(_FORMS) - {AUC_ORDERED, AUC_COMPARED}
OF_SCORES = frozenset({AUC_ORDERED, SECOND_AUC_ORDERED, AUC_COMPARED})
_SIGNED = {KENDALL, RANKING_RISK, AUC_ORDERED}
"""Those that may be 0 or less; the others count pairs, of which there must be some."""
ROUNDING = 1e-13
"""How far sums of shares may be off; a certified interval allows for it."""


@dataclass(frozen=True)
class Table:
    """Counts and sums per cell of two columns."""

    x: Axis
    y: Axis
    n: float
    scale: float = 1.0

    statistic: ClassVar[tuple[Formula, ...]] = ()

    def features(self, rows: FloatArray) -> FloatArray:
        """Return all products of the features of the two columns, shape (m, r)."""
        first, second = self.x.features(rows[:, 0]), self.y.features(rows[:, 1])
        return (first[:, :, None] * second[:, None, :]).reshape(len(rows), -1)

    def cells(self, mean: FloatArray) -> FloatArray:
        """Return mean features as tables, one row per feature of the first column."""
        return mean.reshape(*mean.shape[:-1], len(self.x.signs), len(self.y.signs))

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the average of the kernel that it is about, for means of features."""
        return self.averages(mean, self.statistic)[..., 0]

    def averages(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> FloatArray:
        """Return the averages of kernels of order, NaN where none is counted, (..., wanted)."""
        cells = self.cells(mean)
        return np.stack([self.scale * self._average(cells, formula) for formula in wanted], axis=-1)

    def _average(self, cells: FloatArray, formula: Formula) -> FloatArray:
        forms = _FORMS[formula]
        average = np.sum(
            [factor * self._mean_form(cells, kinds) for factor, kinds in forms], axis=0
        )
        return average if formula in _SIGNED else np.where(average > 0, average, np.nan)

    def _mean_form(self, cells: FloatArray, kinds: tuple[str, str]) -> FloatArray:
        if kinds == _SIGNS:
            return self.agreement(cells)
        axes = (self.x, self.y)
        # A row differs from itself in nothing, which only known ties tell.
        tied = [axis.ties_known for axis, kind in zip(axes, kinds, strict=True) if kind == "apart"]
        forms = (getattr(axis, kind) for axis, kind in zip(axes, kinds, strict=True))
        return _form(cells, *forms) - (0.0 if any(tied) else 1 / self.n)

    def points(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> Points:
        """Return the points of every cell, by columns, and the row means of kernels there."""
        cells, at = self.cells(mean), (self.x.point_features, self.y.point_features)
        means = [self.row_means(cells, formula, *at) for formula in wanted]
        return self._points(point_weights(cells, self.x, self.y), np.stack(means, axis=-1))

    def row_means(
        self, cells: FloatArray, formula: Formula, x: FloatArray, y: FloatArray
    ) -> FloatArray:
        """Return the means over all rows, both ways, at these features of the two columns."""
        parts = [
            2 * factor * _turn(cells, x @ getattr(self.x, first), y @ getattr(self.y, second))
            for factor, (first, second) in _FORMS[formula]
        ]
        return np.sum(parts, axis=0)

    def _points(self, weights: FloatArray, row_means: FloatArray) -> Points:
        """Return what is known at the points of cells in rows."""
        nodes, width, height, kernels = row_means.shape
        classes = np.tile(np.arange(height), width)
        shape = (nodes, width * height)
        return Points(weights.reshape(shape), row_means.reshape(*shape, kernels), classes=classes)

    def tie_sizes(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how many rows count as tied with each other, in either column."""
        cells = self.cells(mean)
        first, second = cells[..., self.y.counts].sum(-1), cells[..., self.x.counts, :].sum(-2)
        return self.n * self.x.tied_shares(first), self.n * self.y.tied_shares(second)

    @property
    def ties_known(self) -> bool:
        """Whether every cell holds one value of either column."""
        return self.x.ties_known and self.y.ties_known

    def agreement(self, cells: FloatArray) -> FloatArray:
        """Return the mean of sign(x - x') sign(y - y') over all pairs, within its bounds."""
        known, unknown = self.known(cells), self.unknown(cells)
        return np.clip(_form(cells, self.x.signs, self.y.signs), known - unknown, known + unknown)

    def known(self, cells: FloatArray) -> FloatArray:
        """Return the agreement of the pairs that are apart in both columns, which is exact."""
        forms = (axis.signs[axis.counts, axis.counts] for axis in (self.x, self.y))
        return _form(self._counts(cells), *forms)

    def unknown(self, cells: FloatArray) -> FloatArray:
        """Return how far the agreement may be off: pairs that share a bin count from -1 to 1."""
        counts = self._counts(cells)
        apart, shared = zip(*(_apart_and_shared(axis) for axis in (self.x, self.y)), strict=True)
        one = _form(counts, shared[0], apart[1]) + _form(counts, apart[0], shared[1])
        # Where both share a bin there are also the pairs of a row with itself, which count 0.
        both = _form(counts, shared[0], shared[1]) - 1 / self.n
        return np.maximum(one, 0.0) + np.maximum(both, 0.0) + ROUNDING

    def _counts(self, cells: FloatArray) -> FloatArray:
        return cells[..., self.x.counts, self.y.counts]


def _form(
    cells: FloatArray, first: FloatArray, second: FloatArray, others: FloatArray | None = None
) -> FloatArray:
    """Return the mean over pairs of a form of the first column times one of the second."""
    turned = _turn(cells if others is None else others, first, second)
    return (cells * turned).sum(axis=(-2, -1))


def _turn(cells: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    return first @ cells @ second.T


def point_weights(cells: FloatArray, x: Axis, y: Axis) -> FloatArray:
    """Return the weights of the axes' points whose mean features are the cells."""
    return x.point_inverse.T @ cells @ y.point_inverse


def _apart_and_shared(axis: Axis) -> tuple[FloatArray, FloatArray]:
    """Return the forms of pairs in different bins, and in one bin whose order is unknown."""
    apart = np.abs(axis.signs[axis.counts, axis.counts])
    return apart, np.eye(axis.bins) * (not axis.ties_known)


class _KendallTable(Table):
    """Kendall's tau-a."""

    statistic = (KENDALL,)

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return an interval that holds the statistic."""
        cells = self.cells(mean)
        known, unknown = self.known(cells), self.unknown(cells)
        return self.scale * (known - unknown), self.scale * (known + unknown)


class _RiskTable(Table):
    """The share of pairs whose scores and labels are in opposite order."""

    statistic = (RANKING_RISK,)

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return an interval that holds the statistic."""
        cells = self.cells(mean)
        apart = (_apart_and_shared(axis)[0] for axis in (self.x, self.y))
        least = (_form(self._counts(cells), *apart) - self.known(cells)) / 2
        return self.scale * (least - ROUNDING), self.scale * (least + self.unknown(cells))


@dataclass(frozen=True)
class _ConcordanceTable(Table):
    """Harrell's concordance, from two tables: of all rows, and of those with an event."""

    events: bool = False

    statistic: ClassVar[tuple[Formula, ...]] = (CONCORDANT, COMPARABLE)

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of all rows and of those with an event."""
        cells = super().features(rows)
        return np.hstack([cells, cells * rows[:, 2:]]) if self.events else cells

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        agreeing, compared = np.moveaxis(self.averages(mean, self.statistic), -1, 0)
        return agreeing / compared

    def averages(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> FloatArray:
        """Return the shares of concordant and comparable pairs, shape (..., wanted)."""
        halves = np.split(mean, 2, axis=-1) if self.events else [mean, mean]
        everyone, failed = map(self.cells, halves)
        # A failed row i and any row j are compared if y_j > y_i, and agree if also p_j > p_i. With
        # s the signs of the differences these are (|s_y| + s_y) / 2 and, times (1 + s_p) / 2, ...
        x, y = self.x, self.y
        own = 0.0 if y.ties_known else failed[..., x.counts, y.counts].sum(axis=(-2, -1)) / self.n
        compared = self._form_of_compared(everyone, x.whole, failed) - own
        agreeing = (compared + self._form_of_compared(everyone, x.signs, failed)) / 2
        compared = np.where(compared > 0, compared, np.nan)
        known = {CONCORDANT: agreeing, COMPARABLE: compared}
        return self.scale * stack_averages(known, wanted)

    def _form_of_compared(
        self, everyone: FloatArray, form: FloatArray, failed: FloatArray
    ) -> FloatArray:
        """Sum a form of predictions, twice, over failed rows and those known to outlive them."""
        y = self.y
        later = _form(everyone, form, y.apart + y.signs, failed)
        return later + _form(everyone - failed, form, 2 * (y.whole - y.apart), failed)

    def points(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> Points:
        """Return the points of every cell, failed rows and others apart, and their row means."""
        halves = np.split(mean, 2, axis=-1) if self.events else [mean, mean]
        everyone, failed = map(self.cells, halves)
        kinds = [(failed, 1.0), (everyone - failed, 0.0)] if self.events else [(everyone, 1.0)]
        weights = [point_weights(cells, self.x, self.y) for cells, _ in kinds]
        means = [self._row_means(everyone, failed, event, wanted) for _, event in kinds]
        return self._points(np.concatenate(weights, axis=1), np.concatenate(means, axis=1))

    def _row_means(
        self, everyone: FloatArray, failed: FloatArray, event: float, wanted: tuple[Formula, ...]
    ) -> FloatArray:
        """Return the means at points of cells: a failed row is compared with all later ones."""
        x, y = self.x.point_features, self.y.point_features
        later, earlier = (y @ (self.y.apart + sign * self.y.signs) / 2 for sign in (-1, 1))
        tied = y @ (self.y.whole - self.y.apart)
        earlier = earlier + (1 - event) * tied

        def outliving(form: FloatArray) -> FloatArray:
            return event * (_turn(everyone, form, later) + _turn(everyone - failed, form, tied))

        whole, signs = x @ self.x.whole, x @ self.x.signs
        compared = _turn(failed, whole, earlier) + outliving(whole)
        ordered = _turn(failed, signs, earlier) - outliving(signs)
        return stack_averages({CONCORDANT: compared + ordered, COMPARABLE: 2 * compared}, wanted)


OF_SURVIVAL = frozenset(_ConcordanceTable.statistic)
_TABLES: dict[tuple[Formula, ...], type[Table]] = {
    kind.statistic: kind for kind in (_KendallTable, _RiskTable)
}


def sketch_order(
    kernel: AnyKernel,
    axes: tuple[Axis, Axis],
    n: float,
    scale: float,
    *,
    events: bool = False,
) -> Sketch:
    """Return the sketch of how two columns order pairs, on these bins of them."""
    check_half_ties(kernel)
    known = formulas(kernel)
    if set(known) <= OF_SURVIVAL:
        return combine_averages(_ConcordanceTable(*axes, n, scale, events), kernel)
    return combine_averages(_TABLES.get(known, Table)(*axes, n, scale), kernel)


class AucTable(Table):
    """The AUC: of the pairs of different labels, how many are in order."""

    statistic = (AUC_ORDERED, AUC_COMPARED)

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        cells = self.cells(mean)
        compared = self._compared(cells)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(compared > 0, (1 + self.agreement(cells) / compared) / 2, np.nan)

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return an interval that holds the statistic."""
        cells = self.cells(mean)
        compared = self._compared(cells)
        known, unknown = self.known(cells) / compared, self.unknown(cells) / compared
        return (1 + known - unknown) / 2, (1 + known + unknown) / 2

    def points(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> Points:
        """Return the points of every bin and class, NaN where the classes may be separated."""
        found = super().points(mean, wanted)
        if self.x.ties_known:
            return found
        low, high = self.bracket(mean)
        is_known = (low > ROUNDING) & (high < 1 - ROUNDING)
        found = _center_in_bins(found, self.x.bins)
        return found._replace(weights=np.where(is_known[:, None], found.weights, np.nan))

    def _compared(self, cells: FloatArray) -> FloatArray:
        shares = cells[..., self.x.counts, :].sum(axis=-2)
        return 2 * shares[..., 0] * shares[..., 1]


@dataclass(frozen=True)
class AucPair:
    """Two scores of the same rows: a table of each, side by side."""

    first: AucTable
    second: AucTable
    joint: tuple[Axis, ...] | None = None
    """Bins of either score that are counted together, where it matters how they go together."""

    statistic: ClassVar[tuple[Formula, ...]] = ()

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of both tables, and of both scores together, shape (m, r)."""
        columns = ([0, 2], [1, 2])
        tables = [
            table.features(rows[:, held])
            for table, held in zip((self.first, self.second), columns, strict=True)
        ]
        if self.joint is not None:
            x, y = (axis.features(rows[:, at]) for at, axis in enumerate(self.joint))
            together = np.einsum("mi,mj,mk->mijk", x, y, self.first.y.features(rows[:, 2]))
            tables.append(together.reshape(len(rows), -1))
        return np.hstack(tables)

    def averages(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> FloatArray:
        """Return the averages of which the AUCs are quotients, shape (..., wanted)."""
        held = self.split(mean)
        return np.concatenate(
            [
                table.averages(held[at], (formula,))
                for at, table, formula in map(self._table, wanted)
            ],
            axis=-1,
        )

    def _table(self, formula: Formula) -> tuple[int, AucTable, Formula]:
        """Return which of the tables knows a kernel, and what the kernel is there."""
        if formula is SECOND_AUC_ORDERED:
            return 1, self.second, AUC_ORDERED
        return 0, self.first, formula

    def split(self, mean: FloatArray) -> list[FloatArray]:
        """Return the means of the features of either table, and those of both scores together."""
        sizes = [2 * len(table.x.signs) for table in (self.first, self.second)]
        return np.split(mean, np.cumsum(sizes), axis=-1)


class JointAucPair(AucPair):
    """The same where both scores are counted together, which tells how sure the difference is."""

    def points(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> Points:
        """Return the points of both scores and the class, and the row means of kernels there."""
        assert self.joint is not None
        held, classes = self.split(mean), self.first.y.point_features
        inverse = [axis.point_inverse for axis in self.joint]
        shape = (len(mean), len(inverse[0]), len(inverse[1]), len(classes))
        weights = np.einsum("nijk,ip,jq->npqk", held[2].reshape(shape), *inverse, optimize=True)
        means = np.empty((*shape, len(wanted)))
        for place, (at, table, formula) in enumerate(map(self._table, wanted)):
            scores = _features_at(table.x, self.joint[at].points)
            found = table.row_means(table.cells(held[at]), formula, scores, classes)
            means[..., place] = np.expand_dims(found, 2 - at)
        flat = (len(mean), -1)
        return Points(
            weights.reshape(flat),
            means.reshape(*flat, len(wanted)),
            classes=np.tile(np.arange(shape[3]), shape[1] * shape[2]),
        )


def _features_at(axis: Axis, points: FloatArray) -> FloatArray:
    """Return the features at any numbers; between two known values those of both, by distance."""
    if isinstance(axis, Grid):
        return axis.features(points)
    return np.array([np.interp(points, axis.values, one) for one in np.eye(axis.bins)]).T


def _center_in_bins(points: Points, bins: int) -> Points:
    """Return two points of equal weight per bin, about the mean of its rows.

    They spread as far as the fixed points do, but are never heavier than all: where rows pile up at
    the end of a bin, as tied ones do, fixed points would spread by less than nothing.
    """
    nodes, _, kernels = points.row_means.shape
    weights = points.weights.reshape(nodes, bins, 2, -1)
    total = weights.sum(axis=2, keepdims=True)
    lean = (weights[:, :, 1:] - weights[:, :, :1]) / np.maximum(total, 1e-300)
    spread = np.sqrt(np.maximum(1 - lean**2, 0.0))
    offsets = np.concatenate([lean - spread, lean + spread], axis=2)[..., None]
    below, above = np.split(points.row_means.reshape(*weights.shape, kernels), 2, axis=2)
    means = (above + below) / 2 + offsets * (above - below) / 2
    return points._replace(
        weights=np.repeat(total / 2, 2, axis=2).reshape(nodes, -1),
        row_means=means.reshape(nodes, -1, kernels),
    )


def sketch_scores(
    kernel: AnyKernel,
    axes: Sequence[Axis],
    classes: Labels,
    n: float,
    scale: float,
    joint: tuple[Axis, ...] | None = None,
) -> Sketch:
    """Return the sketch of one or two AUCs on these bins of the scores."""
    check_half_ties(kernel)
    tables = [AucTable(axis, classes, n, scale) for axis in axes]
    if len(tables) == 1:
        return combine_averages(tables[0], kernel)
    first, second = tables
    pair = AucPair(first, second) if joint is None else JointAucPair(first, second, joint)
    return combine_averages(pair, kernel)
