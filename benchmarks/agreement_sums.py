"""Whether sites agree, from three sums of whole numbers: what a site adds, and how sums are read.

This is the design that `benchmarks.heterogeneity` and `benchmarks.agreement_attacks` measure. Every
site rounds the logit of its AUC to a step and adds the rounded number, its square, and the square
of its rounded standard error. So nobody, whoever works together, learns a site's AUC to more than
the step: squares are of the rounded number, not rounded on their own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.order_statistics.laws import t_quantile

MOST_LOGIT = 5.0
"""Logits beyond it, of AUCs below .0067 or above .9933, count as this."""
MOST_ERROR = 1.5
"""Standard errors of logits above it count as this."""
FEWEST_SITES = 6


class Steps(NamedTuple):
    """To what a site rounds."""

    logit: float = 0.25
    error: float = 0.05

    def round(self, y: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return logits and standard errors as whole numbers of steps; errors are not 0."""
        a = np.rint(np.clip(y, -MOST_LOGIT, MOST_LOGIT) / self.logit)
        w = np.rint(np.minimum(np.sqrt(v), MOST_ERROR) / self.error)
        return a, np.maximum(w, 1.0)

    def contribute(self, y: FloatArray, v: FloatArray) -> FloatArray:
        """Return the three whole numbers of every site, one site per line."""
        a, w = self.round(y, v)
        return np.column_stack([a, a * a, w * w])


CHOSEN = Steps()


class Sites(NamedTuple):
    """What sums tell; intervals are on the logit."""

    mean: float
    interval: tuple[float, float]
    new: tuple[float, float]
    tau: float


def read(n: int, sums: FloatArray, steps: Steps = CHOSEN, level: float = 0.95) -> Sites:
    """Return what the sums over n sites tell."""
    step, (a, squares, errors) = steps.logit, sums / n
    s2 = max(0.0, (squares - a * a) * n / (n - 1))
    # Sheppard: rounding adds a twelfth to the variance. It moves the mean only where sites lie
    # within one step, by half a step at most; of normal ones as the exponential says.
    true = max(0.0, s2 - 1 / 12)
    moved = step / 2 * math.exp(-2 * math.pi**2 * true)
    tau2 = max(0.0, true * step**2 - errors * steps.error**2)
    error = step * math.sqrt(s2 / n)
    half = t_quantile(level, n - 1) * error + moved
    new = t_quantile(level, n - 2) * math.hypot(math.sqrt(tau2), error) + moved
    mean = step * a
    return Sites(mean, (mean - half, mean + half), (mean - new, mean + new), math.sqrt(tau2))
