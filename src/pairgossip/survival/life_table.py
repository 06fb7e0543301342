"""The number of rows at risk and of failures at every time, and Kaplan and Meier's curve from them.

At equal times events come before censorings: a row that is censored then was still at risk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Self

import numpy as np

from pairgossip.arrays import FloatArray, distinct

HALF = 0.5 + 1e-9
"""The share up to which half of the rows have failed: a product of 1/2 may be rounded up."""
_LARGEST_VALUE = 40.0
"""Largest critical value of a band; no usual level needs a larger one."""
_HALVINGS = 60
"""Number of bisections, after which a critical value is as exact as a float."""


@dataclass(frozen=True)
class LifeTable:
    """The rows at risk, events and censorings at every time of a row."""

    times: FloatArray
    at_risk: FloatArray
    """The number of rows with this time or a later one."""
    events: FloatArray
    """The number of them that fail at this time."""
    censored: FloatArray
    """The number that are censored at this time."""

    @classmethod
    def of(cls, time: FloatArray, event: FloatArray, counts: FloatArray | None = None) -> Self:
        """Count rows; each counts as often as ``counts`` says."""
        times = distinct(time)
        counts = np.ones(len(time)) if counts is None else counts
        places = np.searchsorted(times, time)
        every, failed = (
            np.bincount(places, part, len(times)).astype(np.float64)
            for part in (counts, counts * event)
        )
        at_risk = np.cumsum(every[::-1])[::-1]
        return cls(times, at_risk, failed, every - failed)

    @cached_property
    def survival(self) -> FloatArray:
        """The share that survives each time, by the product of Kaplan and Meier."""
        return np.asarray(np.cumprod((self.at_risk - self.events) / self.at_risk))

    @cached_property
    def log_variance(self) -> FloatArray:
        """The variance of the logarithm of `survival` by Greenwood's sum; infinite once it is 0."""
        left = self.at_risk - self.events
        with np.errstate(divide="ignore"):
            return np.cumsum(np.where(self.events > 0, self.events / (self.at_risk * left), 0.0))


def log_log_interval(
    survival: FloatArray, log_error: FloatArray, z: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of intervals that reach z errors on the scale of log(-log(survival)).

    NaN where the share is 0 or its error infinite; the share itself where it is 1.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = np.exp(z * log_error / np.abs(np.log(survival)))
        low, high = survival**steps, survival ** (1 / steps)
    unknown = ~np.isfinite(log_error) | (survival <= 0)
    known = [np.where(survival >= 1, 1.0, end) for end in (low, high)]
    low, high = (np.where(unknown, np.nan, end) for end in known)
    return low, high


def least_without_events(at_risk: FloatArray, level: float) -> FloatArray:
    """Return the lower end of Clopper and Pearson's interval for rows without a failure."""
    with np.errstate(divide="ignore"):
        return np.power((1 - level) / 2, 1 / at_risk)


def find_band_value(ratio: float, level: float) -> float:
    """Return the reach, in errors, of a band of equal precision, so that it holds at all times.

    The curve on its scale, over its error, behaves like a Brownian bridge over its own (Nair 1984);
    the probability that this leaves a band is that of Miller and Siegmund (1982).

    Parameters
    ----------
    ratio
        The variance at the last time over that at the first one of the band.
    level
        The level of the band.
    """
    span, law = math.log(ratio), NormalDist()
    low, high = law.inv_cdf((1 + level) / 2), _LARGEST_VALUE
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = law.pdf(middle) * (4 / middle + (middle - 1 / middle) * span)
        low, high = (middle, high) if beyond > 1 - level else (low, middle)
    return high
