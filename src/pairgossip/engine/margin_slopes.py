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
        x = u[q]
        x = x if x > -LARGEST_EXPONENT else -LARGEST_EXPONENT
        x = x if x < LARGEST_EXPONENT else LARGEST_EXPONENT
        k = np.floor(x * LOG2E + 0.5)
        r = (x - k * LN2_HIGH) - k * LN2_LOW
        # Estrin's order of evaluation: short chains keep the arithmetic units busy.
        r2 = r * r
        r4 = r2 * r2
        low = (1.0 + r) + (0.5 + 0.16666666666666666 * r) * r2
        middle = (0.041666666666666664 + 0.008333333333333333 * r) + (
            0.001388888888888889 + 0.0001984126984126984 * r
        ) * r2
        high = (2.48015873015873e-05 + 2.7557319223985893e-06 * r) + (
            2.755731922398589e-07 + 2.505210838544172e-08 * r
        ) * r2
        top = 2.08767569878681e-09 + 1.6059043836821613e-10 * r
        polynomial[q] = (low + middle * r4) + (high + top * r4) * (r4 * r4)
        scale_bits[q] = (np.int64(k) + 1023) << 52
    for q in range(count):
        u[q] = -1.0 / (1.0 + polynomial[q] * scale[q])
