"""The formulas of random effects: a mean over sites, their spread, and what a new site may have.

Every site has a value y, on a scale where errors are about normal, and its sampling variance v.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.order_statistics.laws import beyond_chi_square, t_quantile

FEWEST_TO_PREDICT = 3
"""Sites below which nothing is said of a new one: Student's t has two degrees of freedom less."""

_ROUNDING = 1e-12
"""Largest relative difference of values that are the same but for rounding."""


class Pooled(NamedTuple):
    """What the values of sites tell together, on their scale."""

    mean: float
    error: float
    """The standard error of the mean."""
    tau: float
    """The standard deviation of the sites' true values."""
    i_squared: float
    """The part of the variance between sites that their own errors do not explain, 0 to 1."""
    q: float
    """Cochran's Q, whatever the weights of the mean."""
    q_p: float
    """How often Q is at least as large where all sites have one true value."""
    weights: FloatArray
    """The parts that sites have in the mean; they add up to 1."""

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval for the mean over all sites there could be."""
        return self._around(self.error, t_quantile(level, len(self.weights) - 1))

    def predict(self, level: float) -> tuple[float, float]:
        """Return the ends between which the true value of a new site may be; NaN of few sites."""
        if len(self.weights) < FEWEST_TO_PREDICT:
            return math.nan, math.nan
        spread = math.hypot(self.tau, self.error)
        return self._around(spread, t_quantile(level, len(self.weights) - 2))

    def _around(self, spread: float, times: float) -> tuple[float, float]:
        return self.mean - times * spread, self.mean + times * spread


def pool_equally(y: FloatArray, v: FloatArray) -> Pooled:
    """Return the mean in which every site counts as much (Hedges and Olkin 1985).

    It needs the sums of y, of y^2 and of v alone.
    """
    n, within = len(y), float(v.mean())
    s2 = 0.0 if _are_same(y) else float(y.var(ddof=1))
    tau2 = max(0.0, s2 - within)
    i_squared = tau2 / s2 if s2 > 0 else 0.0
    # Values that are all the same do not tell how sure their mean is; the sites' errors do.
    error = math.sqrt((s2 or within) / n)
    q, q_p, _ = _cochran(y, v)
    return Pooled(float(y.mean()), error, math.sqrt(tau2), i_squared, q, q_p, np.full(n, 1 / n))


def pool_by_errors(y: FloatArray, v: FloatArray) -> Pooled:
    """Return the mean weighted by 1/(v + tau^2), as meta-analyses usually have it.

    tau^2 is that of DerSimonian and Laird (1986), the error that of Hartung and Knapp (2001).
    """
    n = len(y)
    q, q_p, w = _cochran(y, v)
    size = w.sum() - w @ w / w.sum()
    tau2 = max(0.0, (q - (n - 1)) / float(size))
    i_squared = max(0.0, 1 - (n - 1) / q) if q > 0 else 0.0
    w = 1 / (v + tau2)
    mean = float(w @ y / w.sum())
    spread = 0.0 if _are_same(y) else float(w @ (y - mean) ** 2) / (n - 1)
    error = math.sqrt((spread or 1.0) / float(w.sum()))
    return Pooled(mean, error, math.sqrt(tau2), i_squared, q, q_p, w / w.sum())


METHODS: dict[str, Callable[[FloatArray, FloatArray], Pooled]] = {
    "random": pool_by_errors,
    "equal": pool_equally,
}
"""The ways to weigh sites, by name."""


def _are_same(y: FloatArray) -> bool:
    return float(np.ptp(y)) <= _ROUNDING * float(np.abs(y).max())


def _cochran(y: FloatArray, v: FloatArray) -> tuple[float, float, FloatArray]:
    """Return Q with its p, and the weights 1/v that it is made with."""
    w = 1 / v
    q = float(w @ (y - w @ y / w.sum()) ** 2)
    return q, beyond_chi_square(q, len(y) - 1), w
