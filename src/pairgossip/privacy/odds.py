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


def check_epsilon(epsilon: Any) -> float:
    """Return epsilon as a positive float of a sensible size, or raise `InputError`."""
    advice = f"give a number above 0 and up to {LARGEST_EPSILON:g}, such as 1"
    if isinstance(epsilon, bool) or not is_number(epsilon):
        raise InputError(f"epsilon must be a number, not {epsilon!r}: {advice}.")
    value = float(epsilon)
    if not math.isfinite(value):
        kind = "NaN" if math.isnan(value) else "infinite"
        raise InputError(f"epsilon is {kind}, which promises nothing: {advice}.")
    if value <= 0:
        raise InputError(f"epsilon is {value:g}: {advice}.")
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
