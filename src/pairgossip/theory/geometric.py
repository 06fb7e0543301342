"""Geometric sums of two ratios, safe where the ratios coincide."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray


def geometric_sum(first: FloatArray, second: FloatArray, terms: int) -> FloatArray:
    """Sum ``first**(terms-1-s) * second**s`` over s = 0 .. terms-1, broadcasting.

    The textbook quotient (a**t - b**t)/(a - b) loses digits where a and b are so close that their
    powers are too, which eigenvalues of two gossip matrices often are; there ``expm1`` keeps full
    precision. Powers are taken before broadcasting, so most entries cost one division.
    """
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        difference = first - second
        quotient = np.asarray((first**terms - second**terms) / difference)
    larger = np.maximum(np.abs(first), np.abs(second))
    close = terms * np.abs(difference) < 0.5 * larger
    if np.any(close):
        a, b = (np.broadcast_to(ratio, quotient.shape)[close] for ratio in (first, second))
        quotient[close] = _sum_of_close(a, b, terms)
    quotient[np.broadcast_to(larger == 0, quotient.shape)] = 1.0 if terms == 1 else 0.0
    return quotient


def _sum_of_close(a: FloatArray, b: FloatArray, terms: int) -> FloatArray:
    """The same sum where a and b are nonzero, of one sign, and nearly equal."""
    swap = np.abs(a) < np.abs(b)
    big, small = np.where(swap, b, a), np.where(swap, a, b)
    relative = (small - big) / big
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        growth = np.expm1(terms * np.log1p(relative)) / relative
        return big ** (terms - 1) * np.where(relative == 0, float(terms), growth)
