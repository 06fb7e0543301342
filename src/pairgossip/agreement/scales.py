"""Scales on which the errors of statistics are about normal, and the way back."""

from __future__ import annotations

import math

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.kernels.kernel import Scale

_HALF_ROW = 0.5
"""Rows added on either side of a share that may be 0 or 1 (Anscombe 1956)."""


def place(value: float, error: float, scale: Scale) -> tuple[float, float]:
    """Return a statistic and its sampling variance on its scale; NaN where it has none there."""
    a, e = np.float64(value), np.float64(error)
    with np.errstate(all="ignore"):
        y, slope = {
            "plain": (a, np.float64(1.0)),
            "log": (np.log(a), 1 / a),
            "logit": (np.log(a / (1 - a)), 1 / (a * (1 - a))),
            "fisher": (np.arctanh(a), 1 / (1 - a * a)),
        }[scale]
        v = (e * slope) ** 2
    if not (np.isfinite(y) and np.isfinite(v) and v > 0):
        return math.nan, math.nan
    return float(y), float(v)


def place_as_share(value: float, rows: float) -> tuple[float, float]:
    """Return the logit of a share of ``rows`` rows, and its variance, with half a row added.

    Both are finite where the share is 0 or 1. An AUC of 1 counts as a share of the smaller class:
    with half a *pair* added instead, it would lie farther off the more pairs there are.
    """
    high, low = value * rows + _HALF_ROW, (1 - value) * rows + _HALF_ROW
    return math.log(high / low), 1 / high + 1 / low


def center(value: float, error: float) -> tuple[float, float]:
    """Return the bias-corrected logit of a share; a mean of many small sites would keep the bias.

    Half a row is added to the number of rows that a share with this error has.
    """
    return place_as_share(value, value * (1 - value) / error**2)


def place_evenly(value: float, error: float, rows: float) -> tuple[float, float]:
    """Return the logit of a share and its variance for a mean with equal weights.

    A share without an error of its own is taken over ``rows`` rows, the smaller class of an AUC.
    """
    y, _ = place(value, error, "logit")
    return place_as_share(value, rows) if math.isnan(y) else center(value, error)


def go_back(scale: Scale, on_scale: FloatArray) -> FloatArray:
    """Return the statistic that has these values on its scale."""
    with np.errstate(over="ignore"):
        return {
            "plain": on_scale,
            "log": np.exp(on_scale),
            "logit": (1 + np.tanh(on_scale / 2)) / 2,
            "fisher": np.tanh(on_scale),
        }[scale]
