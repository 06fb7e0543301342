"""Randomized response on one value out of k: the truth with odds w, any other with odds 1."""

from __future__ import annotations

import decimal
import math
import os
from collections.abc import Callable
from decimal import Context
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.checks import is_number
from pairgossip.errors import InputError

# The odds of randomized response: e^epsilon from below, as an exact fraction.


RESOLUTION = 2**40
"""Odds are multiples of 1/RESOLUTION."""
LARGEST_EPSILON = 40.0
"""Odds of 10^17 to one: nobody asks for privacy and means this."""
SMALLEST_EPSILON = 1e-9
"""The smallest epsilon of one report: the odds of a smaller one are 1 up to their resolution."""


def check_epsilon(epsilon: Any, reports: int = 1) -> float:
    """Return epsilon as a float of a sensible size, or raise `InputError`.

    Parameters
    ----------
    epsilon
        What was given.
    reports
        Among how many reports of one observation it is divided equally.
    """
    lowest = float(f"{reports * SMALLEST_EPSILON:g}")  # as it is printed
    advice = f"give a number from {lowest:g} to {LARGEST_EPSILON:g}, such as 1"
    if isinstance(epsilon, bool) or not is_number(epsilon):
        raise InputError(f"epsilon must be a number, not {epsilon!r}: {advice}.")
    value = float(epsilon)
    if not math.isfinite(value):
        kind = "NaN" if math.isnan(value) else "infinite"
        raise InputError(f"epsilon is {kind}, which promises nothing: {advice}.")
    if value <= 0:
        raise InputError(f"epsilon is {value:g}: {advice}.")
    if value < lowest:
        share = f", shared by {reports} columns," if reports > 1 else ","
        raise InputError(
            f"epsilon is {value:g}{share} so small that reports would say nothing at all: {advice}."
        )
    if value > LARGEST_EPSILON:
        raise InputError(f"epsilon is {value:g}, which protects nobody: {advice}.")
    return value


def odds_below(epsilon: Fraction) -> Fraction:
    """Return the largest multiple of 2^-40 that is not above e^epsilon, for epsilon > 0.

    The exponential is enclosed between two decimals that are sharpened until both give the same
    multiple, which happens because e^epsilon is irrational.
    """
    digits = 50
    while True:
        below, above = (math.floor(bound * RESOLUTION) for bound in _exponential(epsilon, digits))
        if below == above:
            return Fraction(below, RESOLUTION)
        digits *= 2


def _exponential(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Enclose e^exponent; the quotients are rounded outward, and `exp` is off by half a digit."""
    down = Context(prec=digits, rounding=decimal.ROUND_FLOOR)
    up = Context(prec=digits, rounding=decimal.ROUND_CEILING)
    top, bottom = decimal.Decimal(exponent.numerator), decimal.Decimal(exponent.denominator)
    below = down.divide(top, bottom).exp(down).next_minus(down)
    above = up.divide(top, bottom).exp(up).next_plus(up)
    return Fraction(below), Fraction(above)


# Whole numbers drawn exactly, in blocks: no floating point decides what is reported.


Words = NDArray[np.uint64]
Bytes = Callable[[int], bytes]
"""Returns as many random bytes as it is asked for."""

BLOCK = 2**16
"""Numbers drawn at a time: 1 MB of random bytes."""
WORD = 2**64


def byte_source(source: Generator | None) -> Bytes:
    """Return where bytes come from: the operating system's secure source, or a generator."""
    if source is None:
        return os.urandom
    if not isinstance(source, Generator):
        raise InputError(
            f"The source of randomness is None (the operating system's secure source) or, for "
            f"simulations, a numpy Generator, not {type(source).__name__}."
        )
    return source.bytes


class TrialProblem(Protocol):
    """A problem that every trial draws reports for."""

    seeded: bool
    """Whether from the trial's seed, which is repeatable, or from the operating system."""


def trial_source(problem: TrialProblem, seed: SeedSequence) -> Generator | None:
    """Return what a trial draws its reports from."""
    return default_rng(seed) if problem.seeded else None


def uniform_below(limit: int, count: int, draw: Bytes) -> tuple[Words, Words]:
    """Draw uniform numbers from 0 to limit - 1, as their high and low words of 64 bits.

    Numbers of as many bits as the limit needs are drawn, and those that are too large are drawn
    again, so that every number is exactly equally likely. The limit is at most 2^128.
    """
    largest = limit - 1
    bits = largest.bit_length()
    high_mask = np.uint64((1 << max(0, bits - 64)) - 1)
    low_mask = np.uint64((1 << min(64, bits)) - 1)
    last_high, last_low = np.uint64(largest // WORD), np.uint64(largest % WORD)
    high, low = np.empty(count, dtype=np.uint64), np.empty(count, dtype=np.uint64)
    done = 0
    while done < count:
        wanted = min(BLOCK, count - done)
        words = np.frombuffer(draw(16 * wanted), dtype="<u8").reshape(wanted, 2)
        upper, lower = words[:, 0] & high_mask, words[:, 1] & low_mask
        kept = (upper < last_high) | ((upper == last_high) & (lower <= last_low))
        end = done + int(kept.sum())
        high[done:end], low[done:end] = upper[kept], lower[kept]
        done = end
    return high, low


class Probabilities(NamedTuple):
    """How likely a report is the true cell, and how likely it is one given other cell."""

    same: Fraction
    other: Fraction


class Response(NamedTuple):
    """The k-ary randomized response of given odds."""

    cells: int
    odds: Fraction
    """w = P(y = x) / P(y = any given other), a fraction not above e^epsilon."""

    @property
    def probabilities(self) -> Probabilities:
        """The exact probabilities w/(w + k - 1) and 1/(w + k - 1)."""
        total = self.odds + self.cells - 1
        return Probabilities(self.odds / total, 1 / total)

    def report(self, cells: NDArray[np.int64], draw: Bytes) -> NDArray[np.int64]:
        """Randomize true cells: one exact uniform number decides each report."""
        weight, unit = self.odds.numerator, self.odds.denominator
        # Every other cell owns `unit` of the numbers, the true cell owns the remaining `weight`.
        others = (self.cells - 1) * unit
        assert others < WORD
        high, low = uniform_below(others + weight, len(cells), draw)
        moved = (high == 0) & (low < np.uint64(others))
        index = (low[moved] // np.uint64(unit)).astype(np.int64)
        index += index >= cells[moved]  # skips the true cell
        reports = cells.copy()
        reports[moved] = index
        return reports

    def debias(self, values: FloatArray, axis: int) -> FloatArray:
        """Turn a function of the true cell into one of the report with the same expectation.

        With e_y the report's indicator, v_y = ((w + k - 1) e_y - 1)/(w - 1) has expectation e_x;
        the result at y is the sum over x of v_y(x) values(x), along one axis.
        """
        total = float(self.odds + self.cells - 1)
        gain = float(self.odds - 1)
        return (total * values - values.sum(axis=axis, keepdims=True)) / gain

    def expect(self, values: FloatArray, axis: int) -> FloatArray:
        """Turn a function of the report into its expectation given the true cell: the inverse."""
        same, other = map(float, self.probabilities)
        gap = float((self.odds - 1) / (self.odds + self.cells - 1))
        assert same >= other
        return gap * values + other * values.sum(axis=axis, keepdims=True)
