"""A number with its sampling error: its likely distance from the value of the population."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import real
from pairgossip.errors import InputError
from pairgossip.kernels.kernel import Scale
from pairgossip.order_statistics.laws import map_law, t_quantile, two_sided_by_t
from pairgossip.pages.page import Value, show
from pairgossip.text import format_alike

_ROUNDING = 1e-12
"""Largest relative rounding error of the mean of fourth powers."""

UNKNOWN = (math.nan, math.nan)
"""The ends of an interval that is not known."""
_FIELDS = ("value", "error", "low", "high", "level", "scale", "positive")
"""The facts of an answer, in the order of its constructor."""


class Answer(float):
    """A statistic with its sampling error; otherwise it is the number itself.

    Attributes
    ----------
    value
        The statistic.
    error
        Its standard error: the spread of the statistic over samples like this one.
    low, high, level
        An interval that covers the true value in this share of all samples.
    scale
        The scale on which the interval is computed: "plain", "log", "logit" or "fisher".
    positive
        The positive one of two classes; None if there is no such class.

    pandas turns answers into plain numbers; `to_dict` keeps all facts of one, as in
    ``frame.groupby("site").apply(lambda rows: pd.Series(pg.exact(...).to_dict()))``.
    """

    error: float
    low: float
    high: float
    level: float
    scale: Scale
    positive: str | None
    bracket: tuple[float, float] = UNKNOWN
    """The certain bounds of the value, where it is read from counts per cell."""

    def __new__(
        cls,
        value: float,
        error: float,
        low: float,
        high: float,
        level: float,
        scale: Scale,
        positive: str | None = None,
    ) -> Answer:
        """Make a number that knows its error."""
        answer = super().__new__(cls, value)
        answer.error, answer.low, answer.high = error, low, high
        answer.level, answer.scale, answer.positive = level, scale, positive
        return answer

    @property
    def value(self) -> float:
        """The statistic."""
        return float(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the number and all facts about it, by name."""
        return {name: getattr(self, name) for name in _FIELDS}

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self.to_dict().values())

    def __str__(self) -> str:
        value, *ends = format_alike((self.value, self.low, self.high), self.error)
        if math.isnan(self.low):
            return value
        of = "" if self.positive is None else f"; positive: {self.positive}"
        return "{} ({:g} %: {} to {}{})".format(value, 100 * self.level, *ends, of)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return show((Value(format_alike((self.value,), self.error)[0], self.describe()),))

    def describe(self) -> str:
        """Describe the number's certainty: its interval and standard error, if they are known."""
        error, *ends = format_alike((self.error, self.low, self.high), self.error)
        known = {
            f"{100 * self.level:g} % interval {' to '.join(ends)}": self.low,
            f"standard error {error}": self.error,
        }
        words = [said for said, number in known.items() if not math.isnan(number)]
        return "; ".join([*words, *([f"positive: {self.positive}"] if self.positive else [])])


def answer_without_error(value: float, positive: str | None = None) -> Answer:
    """Return a number whose certainty is not known, or NaN if there is no number."""
    return Answer(value, math.nan, *UNKNOWN, math.nan, "plain", positive)


class Law(NamedTuple):
    """The law, over samples, of a statistic minus the true value, over its standard error.

    Its third moment is that of the mean of the rows' contributions; if this is not known, the law
    is taken to be symmetric on the scale of the interval.
    """

    freedom: float = math.inf
    """One less than the number of rows, or clusters, from which the error is estimated."""
    skewness: float | None = None
    """The skewness of the mean of the rows' contributions; None if it is not known."""
    shift: float = 0.0
    """The bias of the statistic, in standard errors."""
    effective_freedom: float = math.inf
    """The degrees of freedom that follow from the variance of the contributions' squares."""

    @classmethod
    def of(cls, added: FloatArray, counts: FloatArray, freedom: float, shift: float = 0.0) -> Law:
        """Return the law from the moments of the units' contributions, whose mean is 0.

        ``counts`` gives the number of units with the same contribution. The effective degrees of
        freedom are those of
        Satterthwaite (1946).
        """
        scaled, n = added / (float(np.abs(added).max()) or 1.0), float(counts.sum())
        squares = scaled * scaled
        powers = (squares, squares * scaled, squares * squares)
        second, third, fourth = (float(counts @ power) / n for power in powers)
        if not second > 0:
            return cls(freedom)
        skewness = third / (second * math.sqrt(second * n))
        variation = fourth / (second * second) - 1
        # If the contributions are equal up to their sign, all else is rounding.
        effective = 2 * n / variation if variation > _ROUNDING else math.inf
        return cls(freedom, skewness, shift, max(effective, 1.0))

    def quantiles(self, level: float, bend: FloatArray) -> list[FloatArray]:
        """Return the upper and the lower end of the likely values, on a scale.

        ``bend`` is the second derivative of the scale over the first, times the standard error.
        Student's t is skewed by the cubic of Hall (1992), whose Edgeworth term is that of a mean.
        As few rows show little about third moments, neither end is closer than Student's t.
        """
        least = t_quantile(level, self.freedom)
        if self.skewness is None:
            return [least + 0 * bend, -least + 0 * bend]
        wide = t_quantile(level, min(self.freedom, self.effective_freedom))
        lean = self.skewness / 3 + bend / 2
        moved = [side * wide - self.skewness / 6 + self.shift for side in (1, -1)]
        roots = [np.cbrt(1 + 3 * lean * at) for at in moved]
        # This is (root - 1) / lean, also for lean = 0.
        high, low = (3 * at / (1 + c + c * c) for at, c in zip(moved, roots, strict=True))
        return [np.maximum(high, least), np.minimum(low, -least)]

    def two_sided(self, z: float, bend: float) -> float:
        """Return 1 minus the level at which an end of `quantiles` is z."""
        p = two_sided_by_t(z, self.freedom)
        if self.skewness is None:
            return p
        lean = self.skewness / 3 + bend / 2
        leaned = z + lean * z * z + lean * lean * z**3 / 3 + self.skewness / 6 - self.shift
        if leaned * z <= 0:
            return 1.0
        return max(p, two_sided_by_t(leaned, min(self.freedom, self.effective_freedom)))


NORMAL = Law()


def interval(
    value: float, error: float, level: float, scale: Scale = "plain", law: Law = NORMAL
) -> tuple[float, float]:
    """Return the ends of the interval at a level, from the law of its error on its scale."""
    low, high = intervals(np.array([value]), np.array([error]), level, scale, law)
    return float(low[0]), float(high[0])


def intervals(
    values: FloatArray, errors: FloatArray, level: float, scale: Scale, law: Law
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the intervals around many values.

    Estimates may lie outside the limits of the scale: their intervals are plain.
    """
    level = check_level(level)
    with np.errstate(all="ignore"):
        middle, spread, bend = _rescale(values, errors, scale)
        steps = [spread * end for end in law.quantiles(level, bend)]
        if scale == "logit":
            low, high = (1 / (1 + np.exp(step - middle)) for step in steps)
        elif scale == "log":
            low, high = (values * np.exp(-step) for step in steps)
        elif scale == "fisher":
            low, high = (np.tanh(middle - step) for step in steps)
        else:
            low, high = (values - step for step in steps)
    wide = errors * t_quantile(level, law.freedom)
    outside = np.isnan(low) | np.isnan(high)
    return np.where(outside, values - wide, low), np.where(outside, values + wide, high)


def judge(
    values: FloatArray, errors: FloatArray, null: float, scale: Scale, law: Law
) -> tuple[FloatArray, FloatArray]:
    """Return z on the scale of intervals, and 1 minus the level at which they reach the null."""
    with np.errstate(all="ignore"):
        middle, spread, bend = _rescale(values, errors, scale)
        z = (middle - _rescale(np.array(null), np.array(0.0), scale)[0]) / spread
    outside = ~np.isfinite(z)
    z, bend = np.where(outside, (values - null) / errors, z), np.where(outside, 0.0, bend)
    on_scale, plain = (map_law(one.two_sided, z, bend) for one in (law, Law(law.freedom)))
    return z, np.where(outside, plain, on_scale)


def _rescale(
    values: FloatArray, errors: FloatArray, scale: Scale
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values and errors on a scale, and the scale's bend within one error."""
    if scale == "logit":
        spread = errors / (values * (1 - values))
        return np.log(values / (1 - values)), spread, spread * (2 * values - 1)
    if scale == "log":
        sizes = np.where(values > 0, values, np.nan)
        return np.log(sizes), errors / sizes, -errors / sizes
    if scale == "fisher":
        spread = errors / (1 - values**2)
        return np.arctanh(values), spread, 2 * values * spread
    return values, errors, 0 * errors


def check_level(level: float) -> float:
    """Return the level of an interval, or raise `InputError`."""
    number = real("The level of an interval", level, 0.0, 1.0)
    if not 0 < number < 1:
        raise InputError(f"The level of an interval is {level}: give a number such as 0.95.")
    return number
