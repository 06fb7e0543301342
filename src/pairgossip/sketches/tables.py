"""Two columns at once: how rows order pairs in both, from counts and sums per cell.

The sign of a difference is nearly a bilinear form of bins (`Grid.signs`), so the product of two
signs, which rank correlation, concordance and AUC average, is one of all products of the two
columns' features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import whole
from pairgossip.errors import InputError
from pairgossip.kernels import Formula, Pairs
from pairgossip.sketches.grids import Grid, Labels, Range, check_range, flooded_rows, lay_bins
from pairgossip.sketches.sketch import check_half_ties, formulas, wrong_kernel

_ROUNDING = 1e-13
"""How far sums of shares may be off; a certified interval allows for it."""


@dataclass(frozen=True)
class Table:
    """Counts and sums per cell of two columns."""

    x: Grid | Labels
    y: Grid | Labels
    n: int
    scale: float = 1.0

    def features(self, rows: FloatArray) -> FloatArray:
        """Return all products of the features of the two columns, shape (m, r)."""
        first, second = self.x.features(rows[:, 0]), self.y.features(rows[:, 1])
        return np.asarray((first[:, :, None] * second[:, None, :]).reshape(len(rows), -1))

    def cells(self, mean: FloatArray) -> FloatArray:
        """Return mean features as tables, one row per feature of the first column."""
        return mean.reshape(*mean.shape[:-1], len(self.x.signs), len(self.y.signs))

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        raise NotImplementedError

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
        return np.maximum(one, 0.0) + np.maximum(both, 0.0) + _ROUNDING

    def _counts(self, cells: FloatArray) -> FloatArray:
        return cells[..., self.x.counts, self.y.counts]


def _form(
    cells: FloatArray, first: FloatArray, second: FloatArray, others: FloatArray | None = None
) -> FloatArray:
    """Return the mean over pairs of a form of the first column times one of the second."""
    turned = first @ (cells if others is None else others) @ second.T
    return np.asarray((cells * turned).sum(axis=(-2, -1)))


def _apart_and_shared(axis: Grid | Labels) -> tuple[FloatArray, FloatArray]:
    """Return the forms of pairs in different bins, and in one bin whose order is unknown."""
    apart = np.abs(axis.signs[axis.counts, axis.counts])
    return apart, np.eye(axis.bins) * (not axis.ties_known)


class _KendallTable(Table):
    """Kendall's tau-a."""

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        return self.scale * self.agreement(self.cells(mean))

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return an interval that holds the statistic."""
        cells = self.cells(mean)
        known, unknown = self.known(cells), self.unknown(cells)
        return self.scale * (known - unknown), self.scale * (known + unknown)


class _RiskTable(Table):
    """The share of pairs whose scores and labels are in opposite order."""

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        cells = self.cells(mean)
        own = 0.0 if self.x.ties_known or self.y.ties_known else 1 / self.n
        compared = _form(cells, self.x.apart, self.y.apart) - own
        return np.asarray(self.scale * (compared - self.agreement(cells)) / 2)

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return an interval that holds the statistic."""
        cells = self.cells(mean)
        apart = (_apart_and_shared(axis)[0] for axis in (self.x, self.y))
        least = (_form(self._counts(cells), *apart) - self.known(cells)) / 2
        return self.scale * (least - _ROUNDING), self.scale * (least + self.unknown(cells))


class AucTable(Table):
    """The AUC: of the pairs of different labels, how many are in order."""

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

    def _compared(self, cells: FloatArray) -> FloatArray:
        shares = cells[..., self.x.counts, :].sum(axis=-2)
        return np.asarray(2 * shares[..., 0] * shares[..., 1])


@dataclass(frozen=True)
class _ConcordanceTable(Table):
    """Harrell's concordance, from two tables: of all rows, and of those with an event."""

    events: bool = False

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of all rows and of those with an event."""
        cells = super().features(rows)
        return np.hstack([cells, cells * rows[:, 2:]]) if self.events else cells

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        halves = np.split(mean, 2, axis=-1) if self.events else [mean, mean]
        everyone, failed = map(self.cells, halves)
        # A failed row i and any row j are compared if y_j > y_i, and agree if also p_j > p_i. With
        # s the signs of the differences these are (|s_y| + s_y) / 2 and, times (1 + s_p) / 2, ...
        x, y = self.x, self.y
        whole = np.outer(*2 * [_counted(x)])
        own = 0.0 if y.ties_known else failed[..., x.counts, y.counts].sum(axis=(-2, -1)) / self.n
        compared = _form(everyone, whole, y.apart + y.signs, failed) - own
        agreeing = compared + _form(everyone, x.signs, y.apart + y.signs, failed)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(compared > 0, agreeing / (2 * compared), np.nan)


def _counted(axis: Grid | Labels) -> FloatArray:
    """Return 1 for every feature that is a count and 0 for the others."""
    counted = np.zeros(len(axis.signs))
    counted[axis.counts] = 1.0
    return counted


_TABLES: dict[tuple[Formula, ...], type[Table]] = {
    (Formula.KENDALL,): _KendallTable,
    (Formula.RANKING_RISK,): _RiskTable,
    (Formula.CONCORDANT, Formula.COMPARABLE): _ConcordanceTable,
}


@dataclass(frozen=True)
class TwoWayBins:
    """Counts and sums per cell of two columns' bins, for kernels of how pairs are ordered.

    Parameters
    ----------
    bins
        How many bins each column has; 4 bins^2 numbers are averaged, or twice that with events.
    ranges
        The range of either column, if all nodes know them.
    """

    bins: int = 8
    ranges: tuple[Range, Range] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", whole("The number of bins", self.bins))
        if self.ranges is not None:
            object.__setattr__(self, "ranges", _check_ranges(self.ranges))

    def fit(self, pairs: Pairs) -> Table:
        """Return the sketch of Kendall's tau, the ranking risk or the concordance."""
        kind = _TABLES.get(formulas(pairs.kernel))
        if kind is None:
            known = ("kendall", "ranking-risk", "concordance")
            raise wrong_kernel("TwoWayBins", pairs.kernel, known)
        x, y = (
            lay_bins(pairs.data[:, column], self.bins, declared, 2 * self.bins, "ranges")
            for column, declared in enumerate(self.ranges or (None, None))
        )
        if kind is not _ConcordanceTable:
            return kind(x, y, pairs.n, pairs.scale)
        check_half_ties(pairs.kernel)
        return _ConcordanceTable(x, y, pairs.n, events=pairs.data.shape[1] == 3)

    def flooded(self, pairs: Pairs) -> IntArray:
        """Return the rows whose numbers all nodes must learn first."""
        if self.ranges is not None:
            return np.arange(0)
        return np.concatenate(
            [flooded_rows(pairs.data[:, column], 2 * self.bins) for column in range(2)]
        )


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
