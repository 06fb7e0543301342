"""Slopes of the margin functions phi, compiled; one at a time and for many at once."""

from __future__ import annotations

import numpy as np
from numba import njit

LOGISTIC, HINGE, SQUARED_HINGE, SMOOTHED_HINGE = range(4)

loop = njit(cache=True, nogil=True, error_model="numpy")
inlined = njit(cache=True, nogil=True, error_model="numpy", inline="always")
# Fused multiply-add only: sums keep their order, so results do not depend on the compiler's mood.
vectorized = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})

LOG2E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
LARGEST_EXPONENT = 700.0


@inlined
def slope(phi, u):  # type: ignore[no-untyped-def]
    """phi'(u); at a kink the slope on its flat side."""
    if phi == LOGISTIC:
        return -1.0 / (1.0 + np.exp(u))
    if u >= 1.0:
        return 0.0
    if phi == HINGE:
        return -1.0
    if phi == SQUARED_HINGE:
        return -2.0 * (1.0 - u)
    return max(u, 0.0) - 1.0


@vectorized
def logistic_slopes(u, count, polynomial, scale_bits, scale):  # type: ignore[no-untyped-def]
    """Replace u[:count] by -1/(1 + exp(u)), in loops the compiler turns into vector code.

    exp(u) = 2^k exp(r) with |r| <= ln 2 / 2: a polynomial of degree 13 gives exp(r) to the last
    bit or two, and 2^k is written straight into the exponent bits; ``scale`` is the memory of
    ``scale_bits`` read as floating point.
    """
    for q in range(count):
        x = min(max(u[q], -LARGEST_EXPONENT), LARGEST_EXPONENT)
        k = np.floor(x * LOG2E + 0.5)
        r = (x - k * LN2_HIGH) - k * LN2_LOW
        e = 1.6059043836821613e-10
        e = e * r + 2.08767569878681e-09
        e = e * r + 2.505210838544172e-08
        e = e * r + 2.755731922398589e-07
        e = e * r + 2.7557319223985893e-06
        e = e * r + 2.48015873015873e-05
        e = e * r + 0.0001984126984126984
        e = e * r + 0.001388888888888889
        e = e * r + 0.008333333333333333
        e = e * r + 0.041666666666666664
        e = e * r + 0.16666666666666666
        e = e * r + 0.5
        e = e * r + 1.0
        polynomial[q] = e * r + 1.0
        scale_bits[q] = (np.int64(k) + 1023) << 52
    for q in range(count):
        u[q] = -1.0 / (1.0 + polynomial[q] * scale[q])
