"""Two columns at once: the order of pairs in both, from counts and sums per cell.

The sign of a difference is nearly a bilinear form of bins (`Grid.signs`). So the product of two
signs, which rank correlation, concordance and AUC average, is a bilinear form of all products of
the two columns' features.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import whole
from pairgossip.counts.axes import Range
from pairgossip.counts.layouts import OF_ORDER, OF_SURVIVAL, formulas
from pairgossip.counts.samples import Table
from pairgossip.errors import InputError
from pairgossip.kernels import AnyKernel, Formula, Kernel, Pairs
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
from pairgossip.sketches.laying import check_range, flooded_rows, lay_bins
from pairgossip.sketches.sketch import Points, PointSketch, Sketch, check_kernel

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
"""The averages of kernels over both orders of a pair, as factors times (form of the first column,
form of the second)."""
_SIGNED = {KENDALL, RANKING_RISK, AUC_ORDERED}
"""Kernels whose average may be 0 or less; the others count pairs, and 0 of them gives NaN."""
_COUNT_TIES = (CONCORDANT, AUC_ORDERED, SECOND_AUC_ORDERED)
"""Kernels whose parameter is the weight of a tie."""
ROUNDING = 1e-13
"""The rounding error of sums of shares, by which certain intervals are widened."""


@dataclass(frozen=True)
class OrderTable(Table, PointSketch):
    """Kernels of the order of pairs in two columns, from their table."""

    scale: float
    kernel: AnyKernel

    def __post_init__(self) -> None:
        for part in self.kernel.components:  # tied scores count one half in a bin on average
            if part.formula in _COUNT_TIES and part.parameter != 0.5:
                raise InputError(
                    "A sketch cannot separate tied scores from others in a bin, so it counts ties "
                    f"as 0.5, not {part.parameter:g}: use method 'tracking'."
                )

    def averages(self, mean: FloatArray) -> FloatArray:
        """Return the averages of the components, NaN where no pair is counted."""
        cells = self.cells(mean)
        return np.stack([self.average(cells, one) for one in formulas(self.kernel)], axis=-1)

    def average(self, cells: FloatArray, formula: Formula) -> FloatArray:
        """Return the average of one kernel of order."""
        forms = _FORMS[formula]
        average = np.sum(
            [factor * self._mean_form(cells, kinds) for factor, kinds in forms], axis=0
        )
        return self.scale * (
            average if formula in _SIGNED else np.where(average > 0, average, np.nan)
        )

    def _mean_form(self, cells: FloatArray, kinds: tuple[str, str]) -> FloatArray:
        if kinds == _SIGNS:
            return self.agreement(cells)
        axes = (self.x, self.y)
        # A row is never apart from itself; forms of bins without known ties count it as apart.
        tied = [axis.ties_known for axis, kind in zip(axes, kinds, strict=True) if kind == "apart"]
        forms = (getattr(axis, kind) for axis, kind in zip(axes, kinds, strict=True))
        return _form(cells, *forms) - (0.0 if any(tied) else 1 / self.n)

    def points(self, mean: FloatArray) -> Points:
        """Return the points of every cell, by columns, and the row means there."""
        cells, at = self.cells(mean), (self.x.point_features, self.y.point_features)
        means = [self.row_means(cells, formula, *at) for formula in formulas(self.kernel)]
        return flatten_points(self.point_weights(cells), np.stack(means, axis=-1))

    def row_means(
        self, cells: FloatArray, formula: Formula, x: FloatArray, y: FloatArray
    ) -> FloatArray:
        """Return the means over all rows, both orders, at these features of the two columns."""
        parts = [
            2 * factor * _turn(cells, x @ getattr(self.x, first), y @ getattr(self.y, second))
            for factor, (first, second) in _FORMS[formula]
        ]
        return np.sum(parts, axis=0)

    def tie_sizes(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the numbers of rows that count as tied with each other, in either column."""
        cells = self.cells(mean)
        first, second = cells[..., self.y.counts].sum(-1), cells[..., self.x.counts, :].sum(-2)
        return self.n * self.x.part_shares(first), self.n * self.y.part_shares(second)

    @property
    def ties_known(self) -> bool:
        """Whether every cell holds one value of either column."""
        return self.x.ties_known and self.y.ties_known

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return an interval that holds Kendall's tau-a, or the share of pairs ordered apart."""
        formula = self.kernel.formula if isinstance(self.kernel, Kernel) else None
        if formula not in (KENDALL, RANKING_RISK):
            return None
        cells = self.cells(mean)
        known, unknown = self.certain_agreement(cells), self.open_agreement(cells)
        low, high = known - unknown, known + unknown
        if formula is RANKING_RISK:
            apart = (1.0 - np.eye(axis.bins) for axis in (self.x, self.y))
            least = (_form(self._counts(cells), *apart) - known) / 2
            low, high = least - ROUNDING, least + unknown
        return self.scale * low, self.scale * high

    def agreement(self, cells: FloatArray) -> FloatArray:
        """Return the mean of sign(x - x') sign(y - y') over all pairs, within its bounds."""
        known, unknown = self.certain_agreement(cells), self.open_agreement(cells)
        return np.clip(_form(cells, self.x.signs, self.y.signs), known - unknown, known + unknown)

    def certain_agreement(self, cells: FloatArray) -> FloatArray:
        """Return the agreement of the pairs that are apart in both columns, which is exact."""
        forms = (axis.signs[axis.counts, axis.counts] for axis in (self.x, self.y))
        return _form(self._counts(cells), *forms)

    def open_agreement(self, cells: FloatArray) -> FloatArray:
        """Bound the error of the agreement: pairs that share a bin count from -1 to 1."""
        counts, axes = self._counts(cells), (self.x, self.y)
        apart = [1.0 - np.eye(axis.bins) for axis in axes]
        shared = [np.eye(axis.bins) * (not axis.ties_known) for axis in axes]
        one = _form(counts, shared[0], apart[1]) + _form(counts, apart[0], shared[1])
        # Where both share a bin there are also the pairs of a row with itself, which count 0.
        both = _form(counts, shared[0], shared[1]) - 1 / self.n
        return np.maximum(one, 0.0) + np.maximum(both, 0.0) + ROUNDING

    def _counts(self, cells: FloatArray) -> FloatArray:
        return cells[..., self.x.counts, self.y.counts]


def flatten_points(weights: FloatArray, row_means: FloatArray) -> Points:
    """Return the points of cells in one row; the last axis of cells is the class."""
    nodes, kernels, height = len(weights), row_means.shape[-1], row_means.shape[-2]
    flat = weights.reshape(nodes, -1)
    classes = np.tile(np.arange(height), flat.shape[1] // height)
    return Points(flat, row_means.reshape(nodes, -1, kernels), classes=classes)


def _form(
    cells: FloatArray, first: FloatArray, second: FloatArray, others: FloatArray | None = None
) -> FloatArray:
    """Return the mean over pairs of a form of the first column times one of the second."""
    turned = _turn(cells if others is None else others, first, second)
    return (cells * turned).sum(axis=(-2, -1))


def _turn(cells: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    return first @ cells @ second.T


@dataclass(frozen=True)
class ConcordanceTable(OrderTable):
    """Harrell's concordance, from two tables: of all rows, and of those with an event."""

    events: bool

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of all rows and of those with an event."""
        cells = super().features(rows)
        return np.hstack([cells, cells * rows[:, 2:]]) if self.events else cells

    def _both(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the tables of all rows, and of those with an event."""
        halves = np.split(mean, 2, axis=-1) if self.events else [mean, mean]
        return self.cells(halves[0]), self.cells(halves[1])

    def averages(self, mean: FloatArray) -> FloatArray:
        """Return the shares of concordant and comparable pairs."""
        everyone, failed = self._both(mean)
        # A failed row i and any row j are compared if y_j > y_i, and agree if also p_j > p_i. With
        # s the signs of the differences these are (|s_y| + s_y) / 2 and, times (1 + s_p) / 2, ...
        x, y = self.x, self.y
        own = 0.0 if y.ties_known else failed[..., x.counts, y.counts].sum(axis=(-2, -1)) / self.n
        compared = self._form_of_compared(everyone, x.whole, failed) - own
        agreeing = (compared + self._form_of_compared(everyone, x.signs, failed)) / 2
        compared = np.where(compared > 0, compared, np.nan)
        return self.scale * self.select({CONCORDANT: agreeing, COMPARABLE: compared})

    def _form_of_compared(
        self, everyone: FloatArray, form: FloatArray, failed: FloatArray
    ) -> FloatArray:
        """Sum a form of predictions, twice, over failed rows and rows known to outlive them."""
        y = self.y
        later = _form(everyone, form, y.apart + y.signs, failed)
        return later + _form(everyone - failed, form, 2 * (y.whole - y.apart), failed)

    def points(self, mean: FloatArray) -> Points:
        """Return the points of every cell, failed rows and others apart, and their row means."""
        everyone, failed = self._both(mean)
        kinds = [(failed, 1.0), (everyone - failed, 0.0)] if self.events else [(everyone, 1.0)]
        weights = [self.point_weights(cells) for cells, _ in kinds]
        means = [self._row_means(everyone, failed, event) for _, event in kinds]
        return flatten_points(np.concatenate(weights, axis=1), np.concatenate(means, axis=1))

    def _row_means(self, everyone: FloatArray, failed: FloatArray, event: float) -> FloatArray:
        """Return the means at points of cells: a failed row is compared with all later rows."""
        x, y = self.x.point_features, self.y.point_features
        later, earlier = (y @ (self.y.apart + sign * self.y.signs) / 2 for sign in (-1, 1))
        tied = y @ (self.y.whole - self.y.apart)
        earlier = earlier + (1 - event) * tied

        def outliving(form: FloatArray) -> FloatArray:
            return event * (_turn(everyone, form, later) + _turn(everyone - failed, form, tied))

        whole, signs = x @ self.x.whole, x @ self.x.signs
        compared = _turn(failed, whole, earlier) + outliving(whole)
        ordered = _turn(failed, signs, earlier) - outliving(signs)
        return self.select({CONCORDANT: compared + ordered, COMPARABLE: 2 * compared})


@dataclass(frozen=True)
class TwoWayBins:
    """Counts and sums per cell of two columns' bins, for kernels of the order of pairs.

    Parameters
    ----------
    bins
        The number of bins of each column; 4 bins^2 numbers are averaged, or twice that with events.
    ranges
        The range of either column, if all nodes know them.
    errors
        Whether to average squares per cell too, which sampling errors need: 9 bins^2 numbers.
    """

    bins: int = 8
    ranges: tuple[Range, Range] | None = None
    errors: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", whole("The number of bins", self.bins))
        if self.ranges is not None:
            object.__setattr__(self, "ranges", _check_ranges(self.ranges))

    def fit(self, pairs: Pairs) -> Sketch:
        """Return the sketch of a statistic of the order of pairs in two columns."""
        check_kernel(self, pairs.kernel, OF_ORDER, OF_SURVIVAL)
        powers = 2 if self.errors else 1
        x, y = (
            lay_bins(pairs.data[:, column], self.bins, declared, self._most, "ranges", powers)
            for column, declared in enumerate(self.ranges or (None, None))
        )
        parts = (x, y, pairs.count, pairs.scale, pairs.kernel)
        if set(formulas(pairs.kernel)) <= OF_SURVIVAL:
            return ConcordanceTable(*parts, events=pairs.data.shape[1] == 3)
        return OrderTable(*parts)

    def flooded(self, pairs: Pairs) -> IntArray:
        """Return the rows whose numbers all nodes must learn first."""
        return flooded_rows(pairs.data[:, :2].T, self._most, self.ranges)

    @property
    def _most(self) -> int:
        """The largest number of different values that cost no more than bins."""
        return (3 if self.errors else 2) * self.bins


def _check_ranges(declared: Any) -> tuple[Range, Range]:
    try:
        first, second = declared
    except (TypeError, ValueError):
        raise InputError(
            f"There are two columns, but got {declared!r}: give the range of each, as in "
            "{argument}.",
            "ranges",
            ((0, 1), (0, 5)),
        ) from None
    return check_range(first, "ranges"), check_range(second, "ranges")
