"""The effect of a threshold: sensitivity, specificity, and the rest of the two by two table."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pairgossip.checks import real
from pairgossip.counts.bounds import UNKNOWN, Ends
from pairgossip.curves.scores import Ranges, Scores
from pairgossip.curves.shares import as_answer, join_ends, ratio_of_shares, read_share, wilson
from pairgossip.errors import InputError
from pairgossip.inference.number_text import NOTHING, spell_parts
from pairgossip.pages.page import Part, Table, show
from pairgossip.summaries.summary_reading import SummaryAnswer


@dataclass(frozen=True, kw_only=True)
class OperatingPoint:
    """The effect of a threshold on both classes: rows at or above it count as positive.

    Every number has an interval for the population, and a ``bracket`` for these rows. Intervals of
    shares are Wilson's (1927), and those of ratios and of net benefit follow from the intervals of
    two shares (Zou and Donner 2008, Donner and Zou 2012). Predictive values and net benefit are
    those of a population with the same share of positive rows.

    Attributes
    ----------
    threshold
        Rows with this score or a higher one count as positive.
    sensitivity, specificity
        The share of positive rows above, and of negative rows below.
    ppv, npv
        The share of positive rows among those above, and of negative ones among those below.
    lr_positive, lr_negative
        The factors by which the odds change above, and below.
    flagged
        The share of all rows above.
    net_benefit
        True positives minus false ones at the odds of the threshold, per row; NaN where scores are
        not probabilities (Vickers and Elkin 2006).
    """

    threshold: float
    sensitivity: SummaryAnswer
    specificity: SummaryAnswer
    ppv: SummaryAnswer
    npv: SummaryAnswer
    lr_positive: SummaryAnswer
    lr_negative: SummaryAnswer
    flagged: SummaryAnswer
    net_benefit: SummaryAnswer

    def to_dict(self) -> dict[str, Any]:
        """Return every number by name, with its interval and bracket."""
        return {"threshold": self.threshold} | {
            name: {
                "value": number.value,
                "low": number.low,
                "high": number.high,
                "bracket": number.bracket,
            }
            for name, number in self.numbers().items()
        }

    def numbers(self) -> dict[str, SummaryAnswer]:
        """Return the numbers by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)[1:]}

    def __str__(self) -> str:
        return self._tabulate().to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return show(self.parts())

    def parts(self) -> tuple[Part, ...]:
        """Return the table of numbers as a part of a page."""
        return (self._tabulate().drop_empty(),)

    def _tabulate(self) -> Table:
        lines = [(name, *spell_parts(getattr(self, key))) for key, name in NAMES.items()]
        kept = tuple(line for line in lines if line[1] != NOTHING)
        return Table((f"at or above {self.threshold:g}", "value", "interval", "certain"), kept)


NAMES = {
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "ppv": "positive predictive value",
    "npv": "negative predictive value",
    "lr_positive": "positive likelihood ratio",
    "lr_negative": "negative likelihood ratio",
    "flagged": "share above",
    "net_benefit": "net benefit",
}
"""The usual names of the numbers of an operating point."""


def read_point(scores: Scores, threshold: float, level: float, least: int) -> OperatingPoint:
    """Return the effect of a threshold on these rows."""
    above = scores.count_from(threshold)
    table = _Table(above, tuple(scores.sizes.tolist()), level, least)
    return OperatingPoint(
        threshold=threshold,
        sensitivity=table.share("tp", "fn"),
        specificity=table.share("tn", "fp"),
        ppv=table.share("tp", "fp"),
        npv=table.share("tn", "fn"),
        lr_positive=table.ratio("tp", "fp"),
        lr_negative=table.ratio("fn", "tn"),
        flagged=table.flagged(),
        net_benefit=table.net_benefit(threshold),
    )


class _Table:
    """The numbers of true and false positive and negative rows, each with its ends."""

    def __init__(self, above: Ranges, sizes: Ends, level: float, least: int) -> None:
        low, high, value = (part.tolist() for part in above)
        self.sizes, self.level, self.least = sizes, level, least
        self.ends = {
            "fp": (low[0], high[0]),
            "tp": (low[1], high[1]),
            "tn": (sizes[0] - high[0], sizes[0] - low[0]),
            "fn": (sizes[1] - high[1], sizes[1] - low[1]),
        }
        self.values = {
            "fp": value[0],
            "tp": value[1],
            "tn": sizes[0] - value[0],
            "fn": sizes[1] - value[1],
        }

    def share(self, part: str, rest: str) -> SummaryAnswer:
        """Return one number as a share of its sum with another."""
        size = self.values[part] + self.values[rest]
        value = self.values[part] / size if size > 0 else math.nan
        return read_share(self.ends[part], self.ends[rest], value, self.level, self.least)

    def flagged(self) -> SummaryAnswer:
        """Return the share of all rows above the threshold."""
        (low, high), (least, most) = self.ends["tp"], self.ends["fp"]
        n, value = sum(self.sizes), self.values["tp"] + self.values["fp"]
        above, below = (low + least, high + most), (n - high - most, n - low - least)
        return read_share(above, below, value / n, self.level, self.least)

    def ratio(self, part: str, other: str) -> SummaryAnswer:
        """Return a likelihood ratio: the share of positives over that of negatives."""
        (low, high), (least, most) = self.ends[part], self.ends[other]
        value = self._divide(self.values[part], self.values[other])
        bracket = join_ends(self._divide(low, most), self._divide(high, least))
        lower, upper = self._interval_of_ratio(low, most), self._interval_of_ratio(high, least)
        return as_answer(value, math.nan, (lower[0], upper[1]), self.level, bracket, self.least)

    def _divide(self, positives: float, negatives: float) -> float:
        share, other = positives / self.sizes[1], negatives / self.sizes[0]
        return share / other if other > 0 else (math.inf if share > 0 else math.nan)

    def _interval_of_ratio(self, positives: float, negatives: float) -> Ends:
        shares = positives / self.sizes[1], negatives / self.sizes[0]
        ends = wilson(np.array([positives, negatives]), np.array(self.sizes[::-1]), self.level)
        (low, least), (high, most) = ends.tolist()
        return ratio_of_shares(shares[0], (low, high), shares[1], (least, most))

    def net_benefit(self, threshold: float) -> SummaryAnswer:
        """Return true positives minus false ones at the odds of the threshold, per row."""
        if not 0 < threshold < 1:
            return as_answer(math.nan, math.nan, UNKNOWN, self.level)
        n, odds = sum(self.sizes), threshold / (1 - threshold)
        (low, high), (least, most) = self.ends["tp"], self.ends["fp"]
        tp, fp = self.values["tp"], self.values["fp"]
        value = (tp - odds * fp) / n
        # A row adds 1, minus the odds, or 0.
        error = math.sqrt(max(tp / n + odds**2 * fp / n - value**2, 0.0) / n)
        lower, upper = self._benefit(low, most, odds), self._benefit(high, least, odds)
        bracket = lower[1], upper[1]
        return as_answer(value, error, (lower[0], upper[2]), self.level, bracket, self.least)

    def _benefit(self, tp: float, fp: float, odds: float) -> tuple[float, float, float]:
        """Return the lower end of an interval for net benefit, its value and the upper end.

        A row of one kind is not one of the other, so the errors of both add up.
        """
        n = sum(self.sizes)
        true, false = tp / n, fp / n
        (low, least), (high, most) = wilson(np.array([tp, fp]), np.full(2, n), self.level).tolist()
        correlation = math.sqrt(true * false / ((1 - true) * (1 - false)))
        down = _add_errors(true - low, odds * (most - false), correlation)
        up = _add_errors(high - true, odds * (false - least), correlation)
        value = true - odds * false
        return value - down, value, value + up


def _add_errors(one: float, other: float, correlation: float) -> float:
    return math.sqrt(one**2 + other**2 + 2 * correlation * one * other)


def check_thresholds(thresholds: Any, *, of_probabilities: bool = False) -> tuple[float, ...]:
    """Return thresholds from the lowest to the highest; raise `InputError` for other values."""
    listed = np.atleast_1d(np.asarray(thresholds, dtype=object)).ravel().tolist()
    if not listed:
        raise InputError("No threshold is named: give {argument}.", "thresholds", [0.5])
    numbers = [check_threshold(one) for one in listed]
    if of_probabilities and not all(0 < one < 1 for one in numbers):
        raise InputError(
            f"Scores are probabilities here, and {{argument}} holds "
            f"{next(one for one in numbers if not 0 < one < 1):g}: give numbers between 0 and 1.",
            "thresholds",
        )
    return tuple(sorted(set(numbers)))


def check_threshold(threshold: Any) -> float:
    """Return a threshold as a number; raise `InputError` unless it is finite."""
    try:
        number = real("A threshold", threshold, -math.inf, math.inf)
    except InputError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"A threshold is a finite number, not {threshold!r}: give such as 0.5.")
    return number
