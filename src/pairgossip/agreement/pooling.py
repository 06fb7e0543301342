"""The formulas of random effects: a mean over sites, their spread, and the range of a new site.

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
"""Smallest number of sites for the range of a new one: its Student's t has n - 2 degrees."""

_ROUNDING = 1e-12
"""Largest relative difference of values that differ by rounding only."""


class Pooled(NamedTuple):
    """The mean and the spread of sites, on their scale."""

    mean: float
    error: float
    """The standard error of the mean."""
    tau: float
    """The standard deviation of the sites' true values."""
    i_squared: float
    """The share of the variance between sites that their own errors do not explain, 0 to 1."""
    q: float
    """Cochran's Q; it does not depend on the weights of the mean."""
    q_p: float
    """The p-value of Q if all sites have one true value."""
    weights: FloatArray
    """The weights of sites in the mean; they add up to 1."""

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval for the mean over all possible sites."""
        return self._around(self.error, t_quantile(level, len(self.weights) - 1))

    def predict(self, level: float) -> tuple[float, float]:
        """Return the ends of the range for the true value of a new site; NaN for few sites."""
        if len(self.weights) < FEWEST_TO_PREDICT:
            return math.nan, math.nan
        spread = math.hypot(self.tau, self.error)
        return self._around(spread, t_quantile(level, len(self.weights) - 2))

    def _around(self, spread: float, times: float) -> tuple[float, float]:
        return self.mean - times * spread, self.mean + times * spread


def pool_equally(y: FloatArray, v: FloatArray) -> Pooled:
    """Return the mean with equal weights for all sites (Hedges and Olkin 1985).

    It needs only the sums of y, of y^2 and of v.
    """
    n, within = len(y), float(v.mean())
    s2 = 0.0 if _are_same(y) else float(y.var(ddof=1))
    tau2 = max(0.0, s2 - within)
    i_squared = tau2 / s2 if s2 > 0 else 0.0
    # Values that are all the same do not show the error of their mean; the sites' errors do.
    error = math.sqrt((s2 or within) / n)
    q, q_p, _ = _cochran(y, v)
    return Pooled(float(y.mean()), error, math.sqrt(tau2), i_squared, q, q_p, np.full(n, 1 / n))


def pool_by_errors(y: FloatArray, v: FloatArray) -> Pooled:
    """Return the mean weighted by 1/(v + tau^2), the usual weights of meta-analyses.

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
"""The methods of weighting sites, by name."""


def _are_same(y: FloatArray) -> bool:
    return float(np.ptp(y)) <= _ROUNDING * float(np.abs(y).max())


def _cochran(y: FloatArray, v: FloatArray) -> tuple[float, float, FloatArray]:
    """Return Q with its p-value, and the weights 1/v behind it."""
    w = 1 / v
    q = float(w @ (y - w @ y / w.sum()) ** 2)
    return q, beyond_chi_square(q, len(y) - 1), w
