"""A number with its sampling error: how far the rows at hand may be from all there could be."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import real
from pairgossip.errors import InputError
from pairgossip.kernels.kernel import Scale
from pairgossip.order_statistics.laws import normal_quantile, t_quantile

FEW = 30
"""Below this many degrees of freedom intervals are as wide as Student's t says."""
_MOST_DIGITS = 12
"""Numbers with more digits before or after the point are printed with an exponent."""


class Answer(float):
    """A statistic with its sampling error; otherwise it is the number itself.

    Attributes
    ----------
    value
        The statistic.
    error
        Its standard error: the spread of the statistic over samples like this one.
    low, high, level
        An interval that covers the true value in this part of all samples.
    scale
        On which scale the interval is symmetric: "plain", "log", "logit" or "fisher".
    """

    error: float
    low: float
    high: float
    level: float
    scale: Scale

    def __new__(
        cls, value: float, error: float, low: float, high: float, level: float, scale: Scale
    ) -> Answer:
        """Make a number that knows its error."""
        answer = super().__new__(cls, value)
        answer.error, answer.low, answer.high = error, low, high
        answer.level, answer.scale = level, scale
        return answer

    @property
    def value(self) -> float:
        """The statistic."""
        return float(self)

    def __getnewargs__(self) -> tuple[float, float, float, float, float, Scale]:  # type: ignore[override]
        return (self.value, self.error, self.low, self.high, self.level, self.scale)

    def __str__(self) -> str:
        value, *ends = format_alike((self.value, self.low, self.high), self.error)
        return "{} ({:g} %: {} to {})".format(value, 100 * self.level, *ends)

    __repr__ = __str__


def format_alike(numbers: Sequence[float], error: float) -> list[str]:
    """Format numbers up to the second digit of their error."""
    places = 3
    if 0 < error < math.inf:
        places = max(0, 1 - math.floor(math.log10(error)))
    largest = max((abs(number) for number in numbers if math.isfinite(number)), default=0.0)
    is_plain = places <= _MOST_DIGITS and largest < 10**_MOST_DIGITS
    form = f".{places}f" if is_plain else ".3e"
    return [format(number, form) for number in numbers]


def interval(
    value: float, error: float, level: float, scale: Scale = "plain", freedom: float = math.inf
) -> tuple[float, float]:
    """Return the ends of the interval at a level, symmetric on its scale.

    ``freedom`` is the number of degrees of freedom that the error is estimated with.
    """
    low, high = intervals(np.array([value]), np.array([error]), level, scale, freedom)
    return float(low[0]), float(high[0])


def intervals(
    values: FloatArray, errors: FloatArray, level: float, scale: Scale, freedom: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the intervals about many values.

    Estimates may lie outside of what the scale allows: about these, intervals are plain.
    """
    level = check_level(level)
    wide = errors * (t_quantile(level, freedom) if freedom < FEW else normal_quantile(level))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if scale == "logit":
            middle, spread = np.log(values / (1 - values)), wide / (values * (1 - values))
            low, high = (1 / (1 + np.exp(-(middle + side * spread))) for side in (-1, 1))
        elif scale == "log":
            sizes = np.where(values > 0, values, np.nan)
            low, high = (sizes * np.exp(side * wide / sizes) for side in (-1, 1))
        elif scale == "fisher":
            middle, spread = np.arctanh(values), wide / (1 - values**2)
            low, high = (np.tanh(middle + side * spread) for side in (-1, 1))
        else:
            low, high = values - wide, values + wide
    outside = np.isnan(low) | np.isnan(high)
    return np.where(outside, values - wide, low), np.where(outside, values + wide, high)


def check_level(level: float) -> float:
    """Return the level of an interval, or raise `InputError`."""
    found = real("The level of an interval", level, 0.0, 1.0)
    if not 0 < found < 1:
        raise InputError(f"The level of an interval is {level}: give a number such as 0.95.")
    return found
