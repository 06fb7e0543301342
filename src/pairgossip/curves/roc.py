"""ROC curves and the numbers read from them, for rows or counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.counts.bounds import Ends
from pairgossip.curves.areas import average_precision, partial_area
from pairgossip.curves.pictures import (
    count_curves,
    picture_decisions,
    picture_precision,
    picture_roc,
)
from pairgossip.curves.scores import Scores
from pairgossip.curves.shares import as_answer, simultaneous_width
from pairgossip.curves.thresholds import (
    OperatingPoint,
    check_threshold,
    check_thresholds,
    read_point,
)
from pairgossip.errors import InputError, needed_for
from pairgossip.inference.answer import Answer
from pairgossip.pages.page import Paragraph, show
from pairgossip.summaries.summary_reading import SummaryAnswer
from pairgossip.text import format_count, json_value

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pairgossip.pictures.picture import Picture

BANDS = ("simultaneous", "pointwise", "none")
"""The regions that can be drawn around a curve."""


class Band(NamedTuple):
    """A region that holds the whole ROC curve of the population, at a level."""

    lower: tuple[FloatArray, FloatArray]
    """False and true positive rates of the corners of its lower border."""
    upper: tuple[FloatArray, FloatArray]
    level: float


class Youden(NamedTuple):
    """The threshold with the largest sum of sensitivity and specificity."""

    threshold: float
    value: SummaryAnswer
    """Sensitivity + specificity - 1, with an interval that holds for all thresholds at once."""
    thresholds: Ends
    """The lowest and the highest threshold that may be the best one in the population.

    It is a set, since the estimate converges so slowly that the bootstrap fails; it follows from
    the simultaneous band. With few rows, all thresholds from -infinity on may remain possible."""
    point: OperatingPoint

    def __str__(self) -> str:
        return "\n".join((*self._sentences(), str(self.point)))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return show([*map(Paragraph, self._sentences()), *self.point.parts()])

    def _sentences(self) -> tuple[str, str]:
        low, high = self.thresholds
        best = "the best threshold may be any"
        if math.isfinite(low):
            best = f"the best threshold is between {low:g} and {high:g}"
        chosen = "These rows chose this threshold, and intervals do not allow for that:"
        return f"Youden's index {self.value}; {best}", chosen


@dataclass(frozen=True, eq=False, repr=False)
class Roc:
    """The ROC curve of scores for two classes, and the numbers read from it.

    Each number has two errors: an interval for the population, given these sites, and a ``bracket``
    for the rows that were counted, wherever in their cells they are.

    Attributes
    ----------
    auc
        The area under the curve, as `exact` or `Summary.answer` gives it.
    positive
        The name of the positive class.
    level
        The confidence level of all intervals and bands.
    thresholds
        Thresholds agreed on before rows were seen: pointwise intervals hold at them.
    """

    scores: Scores
    auc: Answer
    positive: str | None
    level: float
    least_cell: int = 1
    thresholds: tuple[float, ...] = ()

    @property
    def negatives(self) -> int:
        """The number of rows of the negative class."""
        return round(float(self.scores.sizes[0]))

    @property
    def positives(self) -> int:
        """The number of rows of the positive class."""
        return round(float(self.scores.sizes[1]))

    @property
    def fpr(self) -> FloatArray:
        """The false positive rate at every threshold of the curve, from 0 to 1."""
        return self.scores.above.value[0, ::-1] / self.scores.sizes[0]

    @property
    def tpr(self) -> FloatArray:
        """The true positive rate there."""
        return self.scores.above.value[1, ::-1] / self.scores.sizes[1]

    @property
    def cuts(self) -> FloatArray:
        """The thresholds of the curve, from infinity down."""
        return self.scores.cuts[::-1]

    @property
    def precision(self) -> FloatArray:
        """The share of positives among the rows above every threshold; 1 where there are no
        rows."""
        negatives, positives = self.scores.above.value[:, ::-1]
        total = negatives + positives
        return np.divide(positives, total, out=np.ones_like(total), where=total > 0)

    def at(self, threshold: float) -> OperatingPoint:
        """Return the effect of a threshold: rows with this score or a higher one count as positive.

        Its intervals hold if it was chosen without these rows. At edges of cells, numbers are
        exact; inside a cell they are open up to the rows of the cell.
        """
        number = check_threshold(threshold)
        return read_point(self.scores, number, self.level, self.least_cell)

    def partial_auc(
        self,
        specificity: Sequence[float] | None = None,
        sensitivity: Sequence[float] | None = None,
        *,
        corrected: bool = False,
    ) -> SummaryAnswer:
        """Return the area where specificity, or sensitivity, is in a range.

        Parameters
        ----------
        specificity, sensitivity
            The range of one of them, such as (0.9, 1).
        corrected
            True to map it to 1/2 for scores by chance and 1 for perfect ones (McClish 1989).
        """
        return partial_area(
            self.scores,
            self.level,
            self.least_cell,
            specificity,
            sensitivity,
            corrected=corrected,
        )

    @cached_property
    def average_precision(self) -> SummaryAnswer:
        """The mean, over positive rows, of the precision at their score."""
        return average_precision(self.scores, self.level, self.least_cell)

    @cached_property
    def certain(self) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        """The lower and the upper path; the curve of these rows lies between them for certain."""
        lower, upper = (self._as_rates(path) for path in (self.scores.lower, self.scores.upper))
        return lower, upper

    @cached_property
    def band(self) -> Band:
        """The simultaneous band around the curve, for the population."""
        negative, positive = self._widths
        (x, y), (x_high, y_high) = self.certain
        lower = np.minimum(x + negative, 1.0), np.maximum(y - positive, 0.0)
        upper = np.maximum(x_high - negative, 0.0), np.minimum(y_high + positive, 1.0)
        return Band(
            (_pad(lower[0], 0.0, 1.0), _pad(lower[1], 0.0, lower[1][-1])),
            (_pad(upper[0], 0.0, 1.0), _pad(upper[1], upper[1][0], 1.0)),
            self.level,
        )

    @property
    def _widths(self) -> Ends:
        """The possible distances of both classes' distributions from those of the population."""
        negative, positive = (
            simultaneous_width(float(size), self.level, classes=2) for size in self.scores.sizes
        )
        return negative, positive

    def youden(self) -> Youden:
        """Return the threshold with the largest sum of sensitivity and specificity.

        If there are several, it is the highest; for scores worse than chance it is infinity, which
        no row reaches.
        """
        above, sizes, open_by = self.scores.above, self.scores.sizes[:, None], sum(self._widths)
        shares = [part / sizes for part in above]
        indexes = shares[2][1] - shares[2][0]
        at = int(len(indexes) - 1 - indexes[::-1].argmax())
        low = shares[0][1] - shares[1][0]
        # Inside a cell of many scores, positives may all be above a threshold, and negatives below.
        beyond = slice(None, -1) if self.scores.ties_known else slice(1, None)
        high = shares[1][1, :-1] - shares[0][0, beyond]
        bracket = max(float(low.max()), 0.0), max(float(high.max()), 0.0)
        ends = max(bracket[0] - open_by, 0.0), min(bracket[1] + open_by, 1.0)
        threshold = float(self.scores.cuts[at])
        return Youden(
            threshold,
            as_answer(float(indexes[at]), math.nan, ends, self.level, bracket, self.least_cell),
            self._list_best(high + open_by, ends[0]),
            read_point(self.scores, threshold, self.level, self.least_cell),
        )

    def _list_best(self, most: FloatArray, least: float) -> Ends:
        """Return the ends of the thresholds that may be best, in cells where ``most`` is enough.

        A threshold between two scores of rows has the effect of the higher one, and one beyond all
        rows has no index.
        """
        possible = np.flatnonzero(most >= least)
        lowest, highest = self.scores.axis.ends
        if not self.scores.is_sample:
            return float(lowest[possible[0]]), float(highest[possible[-1]])
        if sum(self._widths) >= least:
            return -math.inf, math.inf
        return float(lowest[possible[0] - 1]), float(highest[possible[-1]])

    def net_benefit(self, thresholds: Sequence[float] | None = None) -> dict[float, SummaryAnswer]:
        """Return the net benefit at every threshold, by default at the agreed ones.

        Scores must be probabilities (Vickers and Elkin 2006).
        """
        self.check_probabilities("Net benefit")
        named = self.thresholds if thresholds is None else thresholds
        numbers = check_thresholds(named, of_probabilities=True)
        return {number: self.at(number).net_benefit for number in numbers}

    def check_probabilities(self, what: str) -> None:
        """Raise `InputError` if scores may lie outside of 0 to 1, as probabilities do not."""
        low, high = self.scores.axis.places[[0, -1]].tolist()
        if not 0 <= low <= high <= 1:
            raise InputError(
                f"{what} needs probabilities, but scores run from {low:g} to {high:g}: give scores "
                "from 0 to 1."
            )

    def points(self) -> dict[str, FloatArray]:
        """Return the curve by columns: the rates, certain ends and precision at every threshold."""
        above, sizes = self.scores.above, self.scores.sizes[:, None]
        low, high, value = ((part / sizes)[:, ::-1] for part in above)
        negative, positive = self._widths
        return {
            "threshold": self.cuts,
            "fpr": value[0],
            "tpr": value[1],
            "fpr_low": low[0],
            "fpr_high": high[0],
            "tpr_low": low[1],
            "tpr_high": high[1],
            "band_fpr_low": np.maximum(low[0] - negative, 0.0),
            "band_fpr_high": np.minimum(high[0] + negative, 1.0),
            "band_tpr_low": np.maximum(low[1] - positive, 0.0),
            "band_tpr_high": np.minimum(high[1] + positive, 1.0),
            "precision": self.precision,
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the curve as a frame: a line per threshold, with certain ends and precision."""
        with needed_for("A data frame"):
            import pandas as pd
        return pd.DataFrame(self.points())

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as JSON can hold it: its points, and the borders of both regions.

        The threshold of the first point, infinity, is None. The region that certainly holds the
        curve of these rows is None where it is the curve itself.
        """
        certain = None if self.scores.is_known else _name_borders(*self.certain)
        band = _name_borders(self.band.lower, self.band.upper)
        facts: dict[str, Any] = json_value(
            {"points": self.points(), "certain": certain, "band": band}
        )
        return facts

    def picture(self, *, band: str = BANDS[0], name: str = "") -> Picture:
        """Return the curve as a picture, which draws itself with matplotlib or as SVG.

        Parameters
        ----------
        band
            "simultaneous" for the region in which the population's whole curve lies, "pointwise"
            for intervals at the agreed thresholds, or "none".
        name
            The curve's name in the legend.
        """
        return picture_roc({name: self}, check_band(band, self.thresholds))

    def plot(self, ax: Axes | None = None, *, name: str = "", band: str = BANDS[0]) -> Axes:
        """Draw the curve with matplotlib, with its band and its certain region; see `picture`.

        On axes that show curves already, this one has a color of its own.
        """
        band = check_band(band, self.thresholds)
        return picture_roc({name: self}, band, count_curves(ax)).draw(ax)

    def plot_precision(self, ax: Axes | None = None, *, name: str = "") -> Axes:
        """Draw precision over recall."""
        return picture_precision(self, name, count_curves(ax)).draw(ax)

    def plot_net_benefit(
        self, ax: Axes | None = None, *, name: str = "", highest: float | None = None
    ) -> Axes:
        """Draw the net benefit of decisions by these probabilities, up to the highest threshold."""
        return picture_decisions(self, highest, name, count_curves(ax)).draw(ax)

    def _repr_html_(self) -> str:
        return self.picture().to_svg()

    def __repr__(self) -> str:
        rows = f"{format_count(self.positives, 'positive row')}, {self.negatives:,} negative"
        return f"<ROC curve of {rows}: AUC {self.auc}>"

    def _as_rates(self, path: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
        return path[0] / self.scores.sizes[0], path[1] / self.scores.sizes[1]


def _name_borders(*borders: tuple[FloatArray, FloatArray]) -> dict[str, dict[str, FloatArray]]:
    """Return the lower and the upper border of a region, as false and true positive rates."""
    named = [{"fpr": fpr, "tpr": tpr} for fpr, tpr in borders]
    return dict(zip(("lower", "upper"), named, strict=True))


def _pad(path: FloatArray, first: float, last: float) -> FloatArray:
    """Return the coordinates of a path from the left border to the right one."""
    return np.concatenate([[first], path, [last]])


def check_band(band: str, thresholds: Sequence[float]) -> str:
    """Return the kind of band to draw; raise `InputError` if it is unknown."""
    name = choice("band", band, BANDS)
    if name == "pointwise" and not thresholds:
        raise InputError(
            "Pointwise intervals hold at thresholds that were agreed on beforehand: name them with "
            "{argument}.",
            "thresholds",
            [0.5],
        )
    return name
