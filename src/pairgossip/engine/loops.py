"""The parts that compiled loops share: decorators, and the two nodes of an exchange."""

from __future__ import annotations

import numpy as np
from numba import njit

loop = njit(cache=True, nogil=True, error_model="numpy")
inlined = njit(cache=True, nogil=True, error_model="numpy", inline="always")
inlined_by_llvm = njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
# Fused multiply-add only: sums keep their order, so results do not depend on the compiler.
vectorized = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


@inlined
def ends(exchanges, s):  # type: ignore[no-untyped-def]
    """Return the two nodes of an exchange, as unsigned numbers, which save tests."""
    return np.uint64(exchanges[s, 0]), np.uint64(exchanges[s, 1])


@inlined
def average_at(rows, i, j, c):  # type: ignore[no-untyped-def]
    """Set one number of two rows to its mean."""
    mean = (rows[i, c] + rows[j, c]) / 2
    rows[i, c] = mean
    rows[j, c] = mean
