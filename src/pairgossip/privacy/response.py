"""Randomized response on one value out of k: the truth with odds w, any other with odds 1.

Odds are exact fractions, and reports are drawn by whole numbers: no report depends on floating
point.
"""

from __future__ import annotations

import decimal
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.checks import is_number
from pairgossip.errors import InputError

_RESOLUTION = 2**40
"""Odds are multiples of 2^-40."""
_LARGEST_EPSILON = 40.0
"""Largest epsilon; its odds of 10^17 to one protect nobody."""
_SMALLEST_EPSILON = 1e-9
"""The smallest epsilon of one report: the odds of a smaller one are 1 up to their resolution."""


def check_epsilon(epsilon: Any, reports: int = 1) -> float:
    """Return epsilon as a float of a sensible size, or raise `InputError`.

    It is divided equally among ``reports`` reports of one observation.
    """
    lowest = float(f"{reports * _SMALLEST_EPSILON:g}")  # as it is printed
    advice = f"give a number from {lowest:g} to {_LARGEST_EPSILON:g}, such as 1"
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
    if value > _LARGEST_EPSILON:
        raise InputError(f"epsilon is {value:g}, which protects nobody: {advice}.")
    return value


def odds_below(epsilon: Fraction) -> Fraction:
    """Return the largest multiple of 2^-40 that is not above e^epsilon, for epsilon > 0.

    The exponential is enclosed between two decimals, with more digits until both give the same
    multiple, which happens because e^epsilon is irrational.
    """
    digits = 50
    while True:
        below, above = (math.floor(bound * _RESOLUTION) for bound in _exponential(epsilon, digits))
        if below == above:
            return Fraction(below, _RESOLUTION)
        digits *= 2


def _exponential(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Enclose e^exponent; the quotients are rounded outward, and `exp` is off by half a digit."""
    down = Context(prec=digits, rounding=decimal.ROUND_FLOOR)
    up = Context(prec=digits, rounding=decimal.ROUND_CEILING)
    top, bottom = decimal.Decimal(exponent.numerator), decimal.Decimal(exponent.denominator)
    below = down.divide(top, bottom).exp(down).next_minus(down)
    above = up.divide(top, bottom).exp(up).next_plus(up)
    return Fraction(below), Fraction(above)


_Words = NDArray[np.uint64]
Bytes = Callable[[int], bytes]
"""Return a given number of random bytes."""

_BLOCK = 2**16
"""Numbers drawn at a time: 1 MB of random bytes."""
_WORD = 2**64


def byte_source(source: np.random.Generator | None) -> Bytes:
    """Return the source of bytes: the operating system's secure source, or a generator."""
    if source is None:
        return os.urandom
    if not isinstance(source, np.random.Generator):
        raise InputError(
            f"The source of randomness is None (the operating system's secure source) or, for "
            f"simulations, a numpy Generator, not {type(source).__name__}."
        )
    return source.bytes


def trial_source(seeded: bool, seed: np.random.SeedSequence) -> np.random.Generator | None:
    """Return the source of a trial's reports: its seed, or the operating system."""
    return np.random.default_rng(seed) if seeded else None


def uniform_below(limit: int, count: int, draw: Bytes) -> tuple[_Words, _Words]:
    """Draw uniform numbers from 0 to limit - 1, as their high and low words of 64 bits.

    Numbers with as many bits as the limit needs are drawn, and those that are too large are drawn
    again, so that every number is exactly equally likely. The limit is at most 2^128.
    """
    largest = limit - 1
    bits = largest.bit_length()
    high_mask = np.uint64((1 << max(0, bits - 64)) - 1)
    low_mask = np.uint64((1 << min(64, bits)) - 1)
    last_high, last_low = np.uint64(largest // _WORD), np.uint64(largest % _WORD)
    high, low = np.empty(count, dtype=np.uint64), np.empty(count, dtype=np.uint64)
    done = 0
    while done < count:
        wanted = min(_BLOCK, count - done)
        words = np.frombuffer(draw(16 * wanted), dtype="<u8").reshape(wanted, 2)
        upper, lower = words[:, 0] & high_mask, words[:, 1] & low_mask
        kept = (upper < last_high) | ((upper == last_high) & (lower <= last_low))
        end = done + int(kept.sum())
        high[done:end], low[done:end] = upper[kept], lower[kept]
        done = end
    return high, low


class Probabilities(NamedTuple):
    """The probabilities that a report is the true cell, and that it is a given other cell."""

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
        # Every other cell has `unit` of the numbers, and the true cell has the remaining `weight`.
        others = (self.cells - 1) * unit
        assert others < _WORD
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


# The domains of columns of the data: each value becomes a cell of a declared, finite domain.


Cells = NDArray[np.int64]
_FRACTION = 2**53
"""Probabilities of rounding up are multiples of 1/2^53, the precision of a float."""


@dataclass(frozen=True)
class _Interval:
    low: float
    high: float
    cells: int

    @property
    def domain(self) -> str:
        """The declared values, for messages."""
        return f"[{self.low:g}, {self.high:g}]"

    def contains(self, values: FloatArray) -> BoolArray:
        """Return whether each value was declared."""
        return (self.low <= values) & (values <= self.high)


class Bins(_Interval):
    """Equal bins of an interval; a bin is represented by its midpoint."""

    @property
    def values(self) -> FloatArray:
        """The value that each cell stands for."""
        return self.low + (self.high - self.low) * (np.arange(self.cells) + 0.5) / self.cells

    @property
    def reach(self) -> float:
        """The largest distance between a value and the one that stands for it."""
        return (self.high - self.low) / self.cells / 2

    def shares(self, values: FloatArray) -> tuple[Cells, FloatArray]:
        """Return each value's cell; the probability of the next cell is 0."""
        position = (values - self.low) / (self.high - self.low) * self.cells
        cells = np.minimum(position.astype(np.int64), self.cells - 1)
        return cells, np.zeros(len(cells))

    def encode(self, values: FloatArray, draw: Bytes) -> Cells:
        """Return each value's cell."""
        return self.shares(values)[0]


class Grid(_Interval):
    """Equally spaced points of an interval, its ends included, to which values are rounded.

    A value between two points goes to either at random, so that its expectation is the value.
    """

    @property
    def values(self) -> FloatArray:
        """The value that each cell stands for."""
        return np.linspace(self.low, self.high, self.cells)

    @property
    def reach(self) -> float:
        """The largest distance between a value and the one that stands for it."""
        return (self.high - self.low) / (self.cells - 1)

    def shares(self, values: FloatArray) -> tuple[Cells, FloatArray]:
        """Return the cell below each value, and the probability of the cell above."""
        position = (values - self.low) / (self.high - self.low) * (self.cells - 1)
        below = np.minimum(position.astype(np.int64), self.cells - 2)
        return below, np.clip(position - below, 0.0, 1.0)

    def encode(self, values: FloatArray, draw: Bytes) -> Cells:
        """Round each value to a point next to it, by one exact uniform number."""
        below, chance = self.shares(values)
        drawn = uniform_below(_FRACTION, len(below), draw)[1]
        return below + (drawn < np.rint(chance * _FRACTION).astype(np.uint64))


@dataclass(frozen=True)
class Classes:
    """Labels, each a cell of its own, in increasing order."""

    labels: tuple[float, ...]
    reach = 0.0

    @property
    def cells(self) -> int:
        """The number of classes."""
        return len(self.labels)

    @property
    def values(self) -> FloatArray:
        """The value that each cell stands for."""
        return np.array(self.labels)

    @property
    def domain(self) -> str:
        """The declared values, for messages."""
        return f"classes ({', '.join(f'{label:g}' for label in self.labels)})"

    def contains(self, values: FloatArray) -> BoolArray:
        """Return whether each value was declared."""
        return np.isin(values, self.values)

    def shares(self, values: FloatArray) -> tuple[Cells, FloatArray]:
        """Return each value's cell; the probability of the next cell is 0."""
        cells = np.searchsorted(self.values, values).astype(np.int64)
        return cells, np.zeros(len(cells))

    def encode(self, values: FloatArray, draw: Bytes) -> Cells:
        """Return each value's cell."""
        return self.shares(values)[0]


Column = Bins | Grid | Classes
