"""Slopes and values of the margin functions phi, compiled; one at a time and for many at once."""

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
# The series of artanh; written as divisions they would be divisions in the loop.
THIRD, FIFTH, SEVENTH, NINTH = (1 / k for k in (3, 5, 7, 9))
R11, R13, R15, R17, R19, R21 = (1 / k for k in range(11, 22, 2))
R23, R25, R27, R29, R31 = (1 / k for k in range(23, 32, 2))


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


@inlined
def write_exponentials(x, count, polynomial, scale_bits):  # type: ignore[no-untyped-def]
    """Write exp(x[:count]) as two factors, in a loop the compiler turns into vector code.

    exp(x) = 2^k exp(r) with |r| <= ln 2 / 2: a polynomial of degree 13 gives exp(r) to the last
    bit or two, and 2^k is written straight into the exponent bits.
    """
    for q in range(count):
        y = x[q]
        y = y if y > -LARGEST_EXPONENT else -LARGEST_EXPONENT
        y = y if y < LARGEST_EXPONENT else LARGEST_EXPONENT
        k = np.floor(y * LOG2E + 0.5)
        r = (y - k * LN2_HIGH) - k * LN2_LOW
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


@vectorized
def logistic_slopes(u, count, polynomial, scale_bits, scale):  # type: ignore[no-untyped-def]
    """Replace u[:count] by -1/(1 + exp(u)); ``scale``: ``scale_bits`` read as floating point."""
    write_exponentials(u, count, polynomial, scale_bits)
    for q in range(count):
        u[q] = -1.0 / (1.0 + polynomial[q] * scale[q])


@vectorized
def logistic_values(u, count, spare, polynomial, scale_bits, scale):  # type: ignore[no-untyped-def]
    """Replace u[:count] by log(1 + exp(-u)).

    With x = exp(-|u|), at most 1, that is max(-u, 0) + log(1 + x), and the logarithm is
    2 artanh(z) for z = x/(2 + x), which is no larger than 1/3: its series is short.
    """
    for q in range(count):
        spare[q] = -abs(u[q])
    write_exponentials(spare, count, polynomial, scale_bits)
    for q in range(count):
        x = polynomial[q] * scale[q]
        z = x / (2.0 + x)
        z2 = z * z
        z4 = z2 * z2
        z8 = z4 * z4
        low = (1.0 + z2 * THIRD) + (FIFTH + z2 * SEVENTH) * z4
        middle = (NINTH + z2 * R11) + (R13 + z2 * R15) * z4
        high = (R17 + z2 * R19) + (R21 + z2 * R23) * z4
        top = (R25 + z2 * R27) + (R29 + z2 * R31) * z4
        series = (low + middle * z8) + (high + top * z8) * (z8 * z8)
        short = -u[q]
        u[q] = (short if short > 0.0 else 0.0) + 2.0 * z * series
