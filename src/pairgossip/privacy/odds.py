"""The odds of randomized response: e^epsilon from below, as an exact fraction."""

from __future__ import annotations

import decimal
import math
from decimal import Context
from fractions import Fraction
from typing import Any

from pairgossip.errors import InputError, is_number

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
