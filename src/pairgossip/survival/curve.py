"""The survival curve of one group of rows, with its intervals and its certain bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.bounds import UNKNOWN
from pairgossip.order_statistics.laws import normal_quantile
from pairgossip.survival.bounds import CurveBounds
from pairgossip.survival.life_table import (
    HALF,
    LifeTable,
    find_band_value,
    least_without_events,
    log_log_interval,
)
from pairgossip.text import format_alike

_FEWEST_IN_BAND = 5
"""Least number of events, and of rows at risk, in a simultaneous band: its law does not hold for
fewer, and a band from the first event to the last held 87 to 92 % of all curves instead of 95 %."""


class Survival(NamedTuple):
    """The share that survives a time; NaN where the curve has ended."""

    survival: float
    error: float
    """Its standard error by Greenwood's formula, which the interval does not use."""
    interval: tuple[float, float]
    """An interval that covers the true share at this time in the level's share of all samples."""
    at_risk: int
    """The number of rows with this time or a later one; approximate for a summary."""
    bracket: tuple[float, float] = UNKNOWN
    """Certain bounds of the share over all rows, wherever they are in cells; NaN without cells."""

    def __str__(self) -> str:
        value, *ends = format_alike((self.survival, *self.interval, *self.bracket), self.error)
        certain = "" if math.isnan(self.bracket[0]) else f"; certain: {ends[2]} to {ends[3]}"
        return f"{value} ({ends[0]} to {ends[1]}); {self.at_risk:,} at risk{certain}"

    def __repr__(self) -> str:
        return str(self)


class Median(NamedTuple):
    """The first time that at most half survive; NaN if the curve does not reach 1/2."""

    value: float
    interval: tuple[float, float]
    """The interval from those of the curve (Brookmeyer and Crowley 1982); its upper end may be
    infinite, as it is where the curve ends above 1/2."""
    bracket: tuple[float, float] = UNKNOWN
    """Certain bounds of the median of all rows, wherever they are in cells; NaN without cells."""


class Points(NamedTuple):
    """The values of a curve at some times, an array each."""

    time: FloatArray
    at_risk: FloatArray
    survival: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    band_low: FloatArray
    band_high: FloatArray
    least: FloatArray
    most: FloatArray


@dataclass(frozen=True, repr=False)
class Curve:
    """The survival curve of one group.

    Attributes
    ----------
    name
        The group; None if there are no groups.
    level
        The level of intervals, and of the simultaneous band.
    end
        The last time at which the curve is known.
    """

    name: str | None
    table: LifeTable
    level: float
    end: float
    bounds: CurveBounds | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return round(float(self.table.at_risk[0]))

    @property
    def events(self) -> int:
        """The number of rows that fail."""
        return round(float(self.table.events.sum()))

    @property
    def times(self) -> FloatArray:
        """The times at which the curve may change: those of rows, or the edges of their cells."""
        times = self.table.times if self.bounds is None else self.bounds.axis.places
        return times[(times >= 0) & (times <= self.end)]

    @property
    def is_of_cells(self) -> bool:
        """Whether times are counted in cells that are wider than a number.

        A row at an edge is counted in the cell above, so counts show best the share that reaches a
        time: ``before=True``.
        """
        return self.bounds is not None and not self.bounds.axis.ties_known

    @cached_property
    def band_ends(self) -> tuple[float, float]:
        """The first and the last time between which the simultaneous band holds."""
        table = self.table
        holds = (table.events > 0) & (table.survival > 0) & (table.times <= self.end)
        for many in (np.cumsum(table.events), table.at_risk):
            holds &= many >= _FEWEST_IN_BAND
        times = table.times[holds]
        return (float(times[0]), float(times[-1])) if len(times) else UNKNOWN

    @cached_property
    def band_value(self) -> float:
        """The reach of the simultaneous band, in standard errors; NaN without a band."""
        if math.isnan(self.band_ends[0]):
            return math.nan
        first, last = np.searchsorted(self.table.times, self.band_ends)
        variance = self.table.log_variance
        return find_band_value(float(variance[last] / variance[first]), self.level)

    def read(self, time: FloatArray, *, before: bool = False) -> Points:
        """Return the values of the curve at times, or just before them."""
        table, bounds = self.table, self.bounds
        passed = np.searchsorted(table.times, time, side="left" if before else "right")
        survival = _start(table.survival, 1.0)[passed]
        log_error = np.sqrt(_start(table.log_variance, 0.0)[passed])
        at_risk = np.append(table.at_risk, 0.0)[np.searchsorted(table.times, time)]
        ends = (survival, survival) if bounds is None else bounds.at(time, before=before)
        survival = np.clip(survival, *ends)
        least = np.where(survival == 1, least_without_events(at_risk, self.level), 1.0)
        intervals = self._find_intervals(time, ends, log_error, least)
        with np.errstate(invalid="ignore"):
            error = survival * log_error
        bracket = ends if bounds is not None else (np.full(len(time), np.nan),) * 2
        ended = (time > self.end) & ((survival > 0) | (bounds is not None))
        found = (survival, error, *intervals, *bracket)
        return Points(time, at_risk, *(np.where(ended, np.nan, one) for one in found))

    def _find_intervals(
        self,
        time: FloatArray,
        ends: tuple[FloatArray, FloatArray],
        log_error: FloatArray,
        least: FloatArray,
    ) -> list[FloatArray]:
        """Return the ends of intervals and of the band, around the two certain bounds.

        Lower ends are at most ``least``, which is below 1 where no row has failed.
        """
        found = []
        for value in (normal_quantile(self.level), self.band_value):
            low = log_log_interval(ends[0], log_error, value)[0]
            found += [np.minimum(low, least), log_log_interval(ends[1], log_error, value)[1]]
        start, stop = self.band_ends
        in_band = (time >= start) & (time <= stop)
        return found[:2] + [np.where(in_band, end, np.nan) for end in found[2:]]

    def at(self, time: float, *, before: bool = False) -> Survival:
        """Return the share that survives a time, or that reaches it."""
        points = self.read(np.array([time]), before=before)
        numbers = {name: float(one[0]) for name, one in points._asdict().items()}
        return Survival(
            numbers["survival"],
            numbers["error"],
            (numbers["low"], numbers["high"]),
            round(numbers["at_risk"]),
            (numbers["least"], numbers["most"]),
        )

    @cached_property
    def median(self) -> Median:
        """The first time that at most half survive, with its interval."""
        points = self.read(self.table.times)
        low = np.where(points.survival == 1, 1.0, points.low)  # the band begins at the first event
        curves = (points.survival, low, points.high)
        value, first, last = (_first_below(points.time, curve) for curve in curves)
        bracket = UNKNOWN if self.bounds is None else self.bounds.median()
        if self.bounds is not None:
            first, last = min(first, bracket[0]), max(last, bracket[1])
        return Median(value if math.isfinite(value) else math.nan, (first, last), bracket)


def _start(values: FloatArray, start: float) -> FloatArray:
    return np.concatenate([[start], values])


def _first_below(time: FloatArray, curve: FloatArray) -> float:
    """Return the first time at which a curve is at most 1/2; infinite if there is none."""
    found: IntArray = np.flatnonzero(curve <= HALF)
    return float(time[found[0]]) if len(found) else math.inf
