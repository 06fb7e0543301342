"""The laws of tests and intervals: normal, Student's t, chi-square, F, Kolmogorov's."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from pairgossip.arrays import FloatArray

_NORMAL_FREEDOM = 1e7
"""The degrees of freedom above which Student's t is normal up to the seventh digit."""


def map_law(law: Callable[..., float], *numbers: FloatArray | float) -> FloatArray:
    """Return a law's value at each number; NaN at NaN."""
    columns = np.broadcast_arrays(*numbers)
    known = ~np.isnan(columns).any(axis=0)
    found = np.full(known.shape, np.nan)
    found[known] = [law(*row) for row in zip(*(column[known] for column in columns), strict=True)]
    return found


def normal_quantile(level: float) -> float:
    """Return the distance from zero within which a normal number lies with this probability."""
    return NormalDist().inv_cdf((1 + level) / 2)


def two_sided(z: float) -> float:
    """Return the probability that a normal number is at least this far from zero."""
    return math.erfc(abs(z) / math.sqrt(2))


def two_sided_by_t(t: float, freedom: float) -> float:
    """Return the probability that Student's t is this far from zero or farther.

    ``freedom`` need not be whole.
    """
    if freedom > _NORMAL_FREEDOM:
        return two_sided(t)
    return _beta_share(freedom / (freedom + t * t), freedom / 2, 0.5)


@lru_cache  # a running peer asks for the same one again and again
def t_quantile(level: float, freedom: float) -> float:
    """Return the distance from zero within which Student's t lies with this probability."""
    found = normal_quantile(level)
    if freedom > _NORMAL_FREEDOM:
        return found
    log_size = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    log_size -= math.log(freedom * math.pi) / 2
    # The tail falls ever more slowly, so Newton's steps from its steep side never go too far.
    for _ in range(100):
        density = math.exp(log_size - (freedom + 1) / 2 * math.log1p(found * found / freedom))
        step = (two_sided_by_t(found, freedom) - (1 - level)) / (2 * density)
        found += step
        if step <= 1e-13 * found:
            break
    return found


def _beta_share(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, its mirror does not
        return 1 - _beta_share(1 - x, b, a)
    size = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(size + a * math.log(x) + b * math.log1p(-x)) / a
    return front / _beta_fraction(x, a, b)


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction 1 + d1 / (1 + d2 / (1 + ...)) from its end."""
    found = 1.0
    for k in range(200, 0, -1):
        m = k // 2
        if k % 2:
            step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        found = 1 + step / found
    return found


def beyond_chi_square(statistic: float, freedom: int) -> float:
    """Return the probability that ``freedom`` squared normal numbers have at least this sum."""
    half = statistic / 2
    if not half > 0:
        return 1.0
    # Two degrees more add one term to the tail: half^a e^-half / Gamma(a + 1).
    found, start = (math.erfc(math.sqrt(half)), 0.5) if freedom % 2 else (math.exp(-half), 1.0)
    powers = (start + k for k in range((freedom - 1) // 2))
    terms = (math.exp(a * math.log(half) - half - math.lgamma(a + 1)) for a in powers)
    return min(math.fsum([found, *terms]), 1.0)


def beyond_f(ratio: float, freedom: int, error_freedom: float) -> float:
    """Return the probability that a ratio of two mean squares is at least this large.

    ``freedom`` belongs to the numerator, ``error_freedom`` to the denominator.
    """
    if error_freedom > _NORMAL_FREEDOM:
        return beyond_chi_square(ratio * freedom, freedom)
    share = error_freedom / (error_freedom + freedom * ratio)
    return _beta_share(share, error_freedom / 2, freedom / 2)


def beyond_kolmogorov(gap: float) -> float:
    """Return the probability that the largest gap of a Brownian bridge exceeds this one."""
    if gap < 1:  # the other series needs many terms here
        if gap < 0.04:
            return 1.0
        terms = (math.exp(-(((2 * k - 1) * math.pi / gap) ** 2) / 8) for k in range(1, 9))
        return 1 - math.sqrt(2 * math.pi) / gap * math.fsum(terms)
    return 2 * math.fsum((-1) ** (k - 1) * math.exp(-2 * (k * gap) ** 2) for k in range(1, 21))
