"""Whether sites agree, from three sums of whole numbers: what a site adds, and how sums are read.

Every site rounds the logit of its statistic to a step and adds the rounded number, its square, and
the square of its rounded standard error. So nobody, whoever works together, learns a site's logit
from them to more than the step: squares are of the rounded number, not rounded on their own.

`benchmarks.heterogeneity` measures how often the intervals hold, and `benchmarks.agreement_attacks`
what members learn of each other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.order_statistics.laws import t_quantile

MOST_LOGIT = 5.0
"""Logits beyond it, of shares below .0067 or above .9933, count as this."""
MOST_ERROR = 1.5
"""Standard errors of logits above it count as this."""
FEWEST_SITES = 6
"""Sites below which nothing is added up: two that work together would leave too few others."""


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

    def are_possible(self, n: int, sums: tuple[int, int, int]) -> bool:
        """Return whether n sites can have these sums."""
        total, squares, errors = sums
        most, largest = round(MOST_LOGIT / self.logit), round(MOST_ERROR / self.error)
        if not (abs(total) <= n * most and n <= errors <= n * largest**2):
            return False
        # Whole numbers with this sum are as even as can be, or lie at both ends.
        each, more = divmod(total, n)
        least = n * each**2 + more * (2 * each + 1)
        at_top, between = divmod(total + n * most, 2 * most)
        between -= most
        greatest = (n - 1) * most**2 + between**2 if at_top < n else n * most**2
        return least <= squares <= greatest and (squares - total) % 2 == 0


CHOSEN = Steps()


class Sites(NamedTuple):
    """What sums tell; intervals are on the logit."""

    mean: float
    interval: tuple[float, float]
    new: tuple[float, float]
    tau: float
    i_squared: float
    """The part of the variance between sites that their own errors do not explain, 0 to 1."""


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
    i_squared = tau2 / (true * step**2) if tau2 else 0.0
    ends = (mean - half, mean + half), (mean - new, mean + new)
    return Sites(mean, *ends, math.sqrt(tau2), i_squared)
