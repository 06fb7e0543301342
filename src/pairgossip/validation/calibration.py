"""Calibration: the agreement of scores that are probabilities with the outcome."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.counts.bounds import UNKNOWN, Ends, widen
from pairgossip.counts.intervals import interval_about
from pairgossip.curves.scores import Scores
from pairgossip.curves.shares import as_answer
from pairgossip.inference.answer import NORMAL, Law
from pairgossip.inference.number_text import describe_answer, list_numbers
from pairgossip.kernels.kernel import Scale
from pairgossip.summaries.summary_reading import SummaryAnswer
from pairgossip.text import align_columns, format_count
from pairgossip.validation.bins import Bin, read_bins
from pairgossip.validation.logistic import fit_line, intercept_error, overlap, solve_intercept
from pairgossip.validation.logistic_bounds import Boxes, bound_line
from pairgossip.validation.placed import CLASSES, Placed

NAMES = {
    "observed_expected": "observed / expected",
    "in_the_large": "calibration in the large",
    "slope": "calibration slope",
    "intercept": "intercept at this slope",
    "brier": "Brier score",
    "scaled_brier": "scaled Brier score",
}
"""The names of the numbers of a calibration in publications."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Calibration:
    """The agreement of probabilities with the outcome; each number has an interval and a bracket.

    Attributes
    ----------
    rows, positives
        The number of rows, and the number with the outcome.
    observed_expected
        The number of rows with the outcome over the sum of all scores; it is 1 if scores are right
        on average.
    in_the_large
        The number to add to the logit of every score so that scores are right on average; 0 is
        best.
    slope, intercept
        The logit of the outcome as a linear function of the logit of the score, by maximum
        likelihood; 1 and 0 are best. A slope below 1 means that scores are too extreme.
    brier, scaled_brier
        The mean squared difference of score and outcome, and 1 minus its ratio to that of a
        constant score, the mean outcome.
    bins
        The share with the outcome, in bins of about equal numbers of rows.
    reason
        Why there is no slope; empty if there is one.
    limits
        The least score of positive rows and the largest of negative ones that slope and intercept
        assume, where cells that end at 0 or 1 leave them open; None elsewhere.
    """

    rows: int
    positives: int
    observed_expected: SummaryAnswer
    in_the_large: SummaryAnswer
    slope: SummaryAnswer
    intercept: SummaryAnswer
    brier: SummaryAnswer
    scaled_brier: SummaryAnswer
    bins: tuple[Bin, ...]
    reason: str = ""
    limits: Ends | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return every number by name, with its interval and bracket."""
        return {
            "rows": self.rows,
            "positives": self.positives,
            **{name: describe_answer(getattr(self, name)) for name in NAMES},
            "bins": [one.to_dict() for one in self.bins],
            "notes": list(self.notes),
        }

    def numbers(self) -> dict[str, SummaryAnswer]:
        """Return the numbers by their names in publications."""
        return {text: getattr(self, name) for name, text in NAMES.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats of the numbers, in sentences."""
        return tuple(self._list_notes())

    def __str__(self) -> str:
        table = align_columns(list_numbers(self.numbers(), self.brier.level))
        return "\n".join([*table, *self.notes])

    __repr__ = __str__

    def _list_notes(self) -> Iterator[str]:
        if math.isnan(self.in_the_large.value):
            yield (
                "There is no calibration in the large: so many scores are exactly 0 or 1 that no "
                "change of the others makes all right on average."
            )
        if self.reason:
            yield f"There is no slope: {self.reason}."
        elif self.limits is not None:
            low, high = self.limits
            yield (
                f"Slope and intercept take no positive row's score to be below {low:.3g}, "
                f"and no negative row's above {high:.6g}: cells end at 0 or 1, and a row "
                "of the other class right there would decide the slope alone."
            )


def read_calibration(scores: Scores, level: float, least: int = 1) -> Calibration:
    """Return the calibration of rows or counts.

    Raises `InputError` for scores that are not probabilities.
    """
    placed = Placed(scores)
    reader = _Reader(placed, level, least)
    reason = _lack_slope(placed)
    intercept, slope = reader.line() if not reason else (reader.unknown(), reader.unknown())
    return Calibration(
        rows=round(placed.n),
        positives=round(placed.positives),
        observed_expected=reader.observed_expected(),
        in_the_large=reader.in_the_large(),
        slope=slope,
        intercept=intercept,
        brier=reader.brier(),
        scaled_brier=reader.scaled_brier(),
        bins=read_bins(placed, level, least),
        reason=reason,
        limits=None if reason else placed.limits,
    )


def _lack_slope(placed: Placed) -> str:
    """Return why a logistic fit has no slope; empty if it has one."""
    rows, points = placed.cells, placed.points
    if placed.scores.ties_known and (count := rows[:, (points == 0) | (points == 1)].sum()):
        return (
            f"{format_count(math.ceil(count), 'score')} of exactly 0 or 1 {_have(count)} no logit"
        )
    if overlap(placed.logits, rows):
        return ""
    if len(points) == 1 and placed.is_known:
        return "all scores are the same"
    return "the scores of the two classes do not overlap"


def _have(count: float) -> str:
    return "has" if count <= 1 else "have"


class _Part(NamedTuple):
    """A statistic, its influence function by class and cell, and its bracket."""

    value: float
    added: FloatArray
    bracket: Ends


class _Reader:
    """Reads the numbers of a calibration."""

    def __init__(self, placed: Placed, level: float, least: int) -> None:
        self.placed, self.level, self.least = placed, level, least
        self.share = placed.positives / placed.n

    def unknown(self) -> SummaryAnswer:
        """Return an answer without a value."""
        return as_answer(math.nan, math.nan, UNKNOWN, self.level, UNKNOWN, self.least)

    def observed_expected(self) -> SummaryAnswer:
        """Return the ratio of the observed to the expected number of rows with the outcome."""
        placed = self.placed
        rows, points = placed.cells.sum(axis=0), placed.points
        expected = float(rows @ points) / placed.n
        if not expected > 0:
            return self.unknown()
        value = self.share / expected
        everybody = placed.boxes.rows.sum(axis=0)
        low, high = (float(everybody @ end) for end in (placed.boxes.low, placed.boxes.high))
        most = placed.positives / low if low > 0 else math.inf
        added = (CLASSES - value * points) / expected
        return self._answer(_Part(value, added, (placed.positives / high, most)), "log")

    def in_the_large(self) -> SummaryAnswer:
        """Return the shift of logits at which scores are right on average."""
        placed = self.placed
        x, rows, positives = placed.offsets, placed.cells, placed.positives
        value = solve_intercept(x, rows, positives)
        if not math.isfinite(value):
            return self.unknown()
        error = intercept_error(x, rows, value)
        if placed.is_known:
            return self._answer_about(value, error, (value, value))
        low, high = placed.offset_ends
        ends = [solve_intercept(end, placed.boxes.rows, positives) for end in (high, low)]
        return self._answer_about(value, error, (ends[0], ends[1]))

    def line(self) -> tuple[SummaryAnswer, SummaryAnswer]:
        """Return the intercept and the slope of the logistic fit."""
        placed = self.placed
        fit = fit_line(placed.logits, placed.cells)
        assert fit is not None  # `_lack_slope` has checked it
        brackets = ((fit.intercept, fit.intercept), (fit.slope, fit.slope))
        if not placed.is_known:
            brackets = bound_line(Boxes(*placed.logit_ends, placed.boxes.rows), fit.slope)
        numbers = (fit.intercept, fit.slope)
        intercept, slope = (
            self._answer_about(*one) for one in zip(numbers, fit.errors, brackets, strict=True)
        )
        return intercept, slope

    def brier(self) -> SummaryAnswer:
        """Return the mean squared difference of score and outcome."""
        return self._answer(self._brier(), "logit")

    def scaled_brier(self) -> SummaryAnswer:
        """Return 1 minus the ratio of the Brier score to that of the mean outcome as the score.

        The interval is that of the ratio on the log scale, so it ends below 1.
        """
        brier, spread = self._brier(), self.share * (1 - self.share)
        changes = (1 - 2 * self.share) * (CLASSES - self.share)
        added = (brier.added - brier.value / spread * changes) / spread
        bracket = brier.bracket[0] / spread, brier.bracket[1] / spread
        ratio = self._answer(_Part(brier.value / spread, added, bracket), "log")
        (low, high), (least, most) = (ratio.low, ratio.high), ratio.bracket
        ends, certain = (1 - high, 1 - low), (1 - most, 1 - least)
        return as_answer(1 - ratio.value, ratio.error, ends, self.level, certain, self.least)

    def _brier(self) -> _Part:
        placed, boxes = self.placed, self.placed.boxes
        squares = (CLASSES - placed.points) ** 2
        value = float((placed.cells * squares).sum()) / placed.n
        of_ends = np.sort([(CLASSES - end) ** 2 for end in (boxes.low, boxes.high)], axis=0)
        low, high = (float((boxes.rows * one).sum()) / placed.n for one in of_ends)
        return _Part(value, squares - value, (low, high))

    def _answer(self, part: _Part, scale: Scale) -> SummaryAnswer:
        """Return a mean over rows, or a function of means, with its interval."""
        n, rows = self.placed.n, self.placed.cells
        if n < 2:
            return self._answer_about(part.value, math.nan, part.bracket)
        error = math.sqrt(float((rows * part.added**2).sum()) / (n * (n - 1)))
        law = Law.of(part.added.ravel(), rows.ravel(), n - 1)
        return self._answer_about(part.value, error, part.bracket, scale, law)

    def _answer_about(
        self, value: float, error: float, bracket: Ends, scale: Scale = "plain", law: Law = NORMAL
    ) -> SummaryAnswer:
        """Return a number with an interval that allows for its bracket."""
        if self.placed.is_known:
            bracket = value, value
        else:
            bracket = widen(*bracket) if math.isfinite(sum(bracket)) else bracket
            if not math.isnan(bracket[0]):
                value = min(max(value, bracket[0]), bracket[1])
        ends = UNKNOWN
        if math.isfinite(value) and all(map(math.isfinite, bracket)):
            ends = interval_about(bracket, value, error, scale, law, self.level)
        return as_answer(value, error, ends, self.level, bracket, self.least)
