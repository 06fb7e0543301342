"""Compare sites by three sums of whole numbers: each site's part, and how to read the sums.

Every site rounds the logit of its statistic to a step and adds the rounded number, its square, and
the square of its rounded standard error. The square is that of the rounded number, so even members
who collude learn a site's logit from the sums no more precisely than one step.

`benchmarks.heterogeneity` measures how often the intervals hold, and `benchmarks.agreement_attacks`
measures how much members learn of each other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.order_statistics.laws import t_quantile

MOST_LOGIT = 5.0
"""Largest logit of either sign; larger ones, shares below .0067 or above .9933, are cut to this."""
MOST_ERROR = 1.5
"""Largest standard error of a logit; larger ones are cut to this."""
FEWEST_SITES = 6
"""Smallest number of sites to add up: with fewer, two that collude leave too few others."""


class Steps(NamedTuple):
    """The steps to which a site rounds its logit and its standard error."""

    logit: float = 0.25
    error: float = 0.05

    def round(self, y: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return logits and standard errors as whole numbers of steps; errors are at least 1."""
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
        # For this sum, squares are least if the numbers are nearly equal, most if at both ends.
        each, more = divmod(total, n)
        least = n * each**2 + more * (2 * each + 1)
        at_top, between = divmod(total + n * most, 2 * most)
        between -= most
        greatest = (n - 1) * most**2 + between**2 if at_top < n else n * most**2
        return least <= squares <= greatest and (squares - total) % 2 == 0


CHOSEN = Steps()


class Sites(NamedTuple):
    """The results over all sites; intervals are on the logit."""

    mean: float
    interval: tuple[float, float]
    new: tuple[float, float]
    tau: float
    i_squared: float
    """The share of the variance between sites that their own errors do not explain, 0 to 1."""


def read(n: int, sums: FloatArray, steps: Steps = CHOSEN, level: float = 0.95) -> Sites:
    """Return the results from the sums over n sites."""
    step, (a, squares, errors) = steps.logit, sums / n
    s2 = max(0.0, (squares - a * a) * n / (n - 1))
    # Sheppard: rounding adds 1/12 to the variance. It moves the mean only where sites lie within
    # one step, by at most half a step; for normal values by the exponential below.
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
