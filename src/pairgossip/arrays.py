"""The array types used throughout, named for what they hold, and the size of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]
"""Node indices of any integer width."""
PairArray = NDArray[np.int32]
"""Exchanges or edges, one row (i, j) each."""
BoolArray = NDArray[np.bool_]
PairFunction = Callable[[FloatArray, FloatArray], FloatArray]
"""A kernel's function: two blocks of m observations in, m values out."""


def root_mean_square(values: FloatArray) -> float:
    """Return the size of the values that are known, whatever their scale; NaN if none is."""
    unknown = np.isnan(values)
    known = values[~unknown] if unknown.any() else values.ravel()
    if not known.size:
        return float("nan")
    # Squares of very large or small values would leave the floating range.
    largest = float(np.abs(known).max())
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.mean((known / largest) ** 2)))
