"""Axes: their range, the positions of their ticks, and the labels of these."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.errors import InputError

Range = tuple[float, float]
"""The values at the left and right, or at the lower and upper, end of an axis."""
_MARGIN = 0.04
"""Share of an axis left free on each side of the values, where no range is given."""
_LARGEST, _LEAST = 1e150, 1e-150
"""Sizes above which values are drawn as infinite, and below which differences, or values on a
logarithmic axis, are drawn as 0; the limits keep ratios and squares finite."""
_LEAST_SHARE = 1e-9
"""Smallest length of an axis relative to its values; a shorter one is drawn as a single value."""
_MOST_ZEROS = 6
"""Most digits before the point, or zeros after it; beyond them a tick has an exponent."""
_MINUS = "\N{MINUS SIGN}"


class Scale(NamedTuple):
    """An axis: its range, and whether it is logarithmic."""

    low: float
    high: float
    is_log: bool = False

    def place(self, values: FloatArray) -> FloatArray:
        """Return the positions of values between the two ends, from 0 to 1."""
        low, high = (math.log10(end) if self.is_log else end for end in self[:2])
        held = self.hold(values)
        with np.errstate(invalid="ignore"):
            return ((np.log10(held) if self.is_log else held) - low) / (high - low)

    def hold(self, values: FloatArray) -> FloatArray:
        """Return values with infinite ones at the ends of the axis, and NaN for impossible ones."""
        least, most = sorted(self[:2])
        values = np.asarray(values, dtype=np.float64)
        held = np.where(values > _LARGEST, most, np.where(values < -_LARGEST, least, values))
        if not self.is_log:
            return held
        positive = np.where(held < _LEAST, least, held)
        return np.where(held < 0, np.nan, positive)

    def ticks(self, most: int) -> FloatArray:
        """Return about ``most`` round values of the axis, at times one more."""
        low, high = sorted(self[:2])
        return _log_ticks(low, high, most) if self.is_log else linear_ticks(low, high, most)


def is_on_axis(scale: Scale, values: FloatArray) -> BoolArray:
    """Return which values lie between the ends of an axis."""
    return np.abs(scale.place(values) - 0.5) <= 0.5 + 1e-9


def fit_scale(name: str, given: Range | None, values: FloatArray, is_log: bool = False) -> Scale:
    """Return an axis with the given range, or one that shows all values."""
    if given is not None:
        return _check_range(name, given, is_log)
    values = np.asarray(values, dtype=np.float64)
    values = values[(np.abs(values) <= _LARGEST) & ((values >= _LEAST) | (not is_log))]
    if not values.size:
        return Scale(0.1 if is_log else 0.0, 1.0, is_log)
    low, high = float(values.min()), float(values.max())
    if is_log:
        margin = _MARGIN * math.log10(high / low) if not _is_flat(low, high) else math.log10(2)
        return Scale(10 ** (math.log10(low) - margin), 10 ** (math.log10(high) + margin), True)
    margin = _MARGIN * (high - low) if not _is_flat(low, high) else (abs(low) / 2 or 1.0)
    return Scale(low - margin, high + margin)


def _is_flat(low: float, high: float) -> bool:
    """Return whether two ends are too close to each other to have numbers between them."""
    return abs(high - low) <= max(_LEAST, _LEAST_SHARE * max(abs(low), abs(high)))


def _check_range(name: str, given: Range, is_log: bool) -> Scale:
    low, high = map(float, given)
    if not (math.isfinite(low) and math.isfinite(high)) or _is_flat(low, high):
        raise InputError(f"The range of {name} must be two different numbers, not {given}.")
    if is_log and min(low, high) <= 0:
        raise InputError(f"The range of {name} must be above 0 on a logarithmic axis, not {given}.")
    return Scale(low, high, is_log)


def linear_ticks(low: float, high: float, most: int = 6) -> FloatArray:
    """Return at most ``most`` multiples of 1, 2 or 5 times a power of ten, from low to high."""
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return np.arange(first, last + 1, dtype=np.float64) * step


def _log_ticks(low: float, high: float, most: int) -> FloatArray:
    """Return powers of ten from low to high, with 2 and 5, or 3, times these if there is room."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = np.array([digit * 10.0**k for k in range(first, last + 1) for digit in digits])
        ticks = ticks[(ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9))]
        if len(ticks) <= most + 1:
            return ticks if len(ticks) > 2 else linear_ticks(low, high, most)
    return ticks[:: math.ceil(len(ticks) / most)]


def label_ticks(ticks: FloatArray) -> list[str]:
    """Return the labels of ticks, with just enough digits to distinguish neighbors."""
    sizes = np.abs(ticks[ticks != 0])
    if not sizes.size:
        return ["0"] * len(ticks)
    exponent = math.floor(math.log10(sizes.max()) + 1e-9)
    if not -_MOST_ZEROS < exponent < _MOST_ZEROS + 1:
        return [_label_with_exponent(float(tick)) for tick in ticks]
    return [_shorten(float(tick)) for tick in ticks] if _are_ratios(ticks) else _alike(ticks)


def _are_ratios(ticks: FloatArray) -> bool:
    """Return whether ticks are those of a logarithmic axis."""
    return len(ticks) > 2 and not np.allclose(np.diff(ticks, 2), 0, atol=1e-6 * abs(ticks).max())


def _alike(ticks: FloatArray) -> list[str]:
    """Return labels that all have as many decimals as the step between ticks needs."""
    steps = np.diff(ticks)
    step = float(steps.min()) if steps.size else abs(float(ticks[0]))
    places = min(12, max(0, -math.floor(math.log10(step) + 1e-9)))
    return [f"{tick:,.{places}f}".replace("-", _MINUS) for tick in ticks]


def _shorten(tick: float) -> str:
    return f"{tick:,.12f}".rstrip("0").rstrip(".").replace("-", _MINUS)


def _label_with_exponent(tick: float) -> str:
    digits, _, power = f"{tick:.9e}".partition("e")
    digits = digits.rstrip("0").rstrip(".")
    return f"{digits}e{int(power)}".replace("-", _MINUS) if tick else "0"
