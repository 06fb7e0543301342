"""Shares of rows with their intervals, for numbers of rows that may be known up to their ends."""

from __future__ import annotations

import math

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.counts.bounds import UNKNOWN, Ends
from pairgossip.order_statistics.laws import normal_quantile
from pairgossip.summaries.summary_reading import SummaryAnswer


def wilson(rows: FloatArray | float, of: FloatArray | float, level: float) -> FloatArray:
    """Return the ends of Wilson's (1927) interval for a share, shape (2, ...); 0 to 1 for no rows.

    >>> wilson(5, 10, 0.95).round(4).tolist()
    [0.2366, 0.7634]
    """
    rows, of = np.asarray(rows, float), np.asarray(of, float)
    square = normal_quantile(level) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = (rows + square / 2) / (of + square)
        half = np.sqrt(square * (rows * (of - rows) / of + square / 4)) / (of + square)
    ends = np.stack([middle - half, middle + half])
    ends = np.where(
        of > 0, np.clip(ends, 0.0, 1.0), np.array([0.0, 1.0]).reshape(2, *[1] * of.ndim)
    )
    # Rounding leaves tiny differences at shares of 0 and 1, where the ends are known.
    ends[0] = np.where(rows <= 0, 0.0, ends[0])
    ends[1] = np.where(rows >= of, 1.0, ends[1])
    return ends


def simultaneous_width(size: float, level: float, classes: int = 1) -> float:
    """Return the largest distance of a distribution from that of its sample, at this level.

    The inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's (1990) constant holds for any
    distribution and any number of rows; independent classes share the level.
    """
    miss = 1 - level ** (1 / classes)
    return math.sqrt(math.log(2 / miss) / (2 * size))


def read_share(part: Ends, rest: Ends, value: float, level: float, least: int) -> SummaryAnswer:
    """Return a share of rows with its interval and bracket.

    Parameters
    ----------
    part, rest
        The ends of the number of rows in the share, and of all other rows.
    value
        The estimated share.
    level
        The level of the interval.
    least
        The least number of rows per block.
    """
    bracket = join_ends(_quotient(part[0], rest[1]), _quotient(part[1], rest[0]))
    low = float(wilson(part[0], part[0] + rest[1], level)[0])
    high = float(wilson(part[1], part[1] + rest[0], level)[1])
    size = sum(part + rest) / 2
    error = math.sqrt(value * (1 - value) / size) if size > 0 else math.nan
    return as_answer(value, error, (low, high), level, bracket, least)


def _quotient(part: float, rest: float) -> float:
    return part / (part + rest) if part + rest > 0 else math.nan


def join_ends(low: float, high: float) -> Ends:
    """Return the ends of a quotient; an end that is 0 by 0 is at the other, if that is known."""
    return (high, high) if math.isnan(low) else (low, low if math.isnan(high) else high)


def ratio_of_shares(share: float, ends: Ends, other: float, other_ends: Ends) -> Ends:
    """Return the interval of a ratio of independent shares from their own (Donner and Zou 2012).

    >>> [round(end, 3) for end in ratio_of_shares(0.8, (0.6, 0.9), 0.2, (0.1, 0.4))]
    [1.875, 8.062]
    """
    both = share * other
    (low, high), (least, most) = ends, other_ends
    below, beyond = low * (2 * share - low), most * (2 * other - most)
    root = math.sqrt(max(both * both - below * beyond, 0.0))
    lower = below / (both + root) if below > 0 else 0.0
    beyond, below = high * (2 * share - high), least * (2 * other - least)
    root = math.sqrt(max(both * both - beyond * below, 0.0))
    return lower, (both + root) / below if below > 0 else math.inf


def as_answer(
    value: float, error: float, ends: Ends, level: float, bracket: Ends = UNKNOWN, least: int = 1
) -> SummaryAnswer:
    """Return a number with its interval and its bracket."""
    more = (bracket, math.nan, UNKNOWN, least)
    return SummaryAnswer(value, error, *ends, level, "plain", None, *more)
