"""Array types by their contents, sizes of arrays, and the number of BLAS threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
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
"""A kernel's function: from two blocks of m observations to m values."""


def root_mean_square(values: FloatArray) -> float:
    """Return the root mean square of the values that are not NaN, at any scale; NaN if all are."""
    largest = _largest(values)
    if math.isnan(largest):
        values = values[~np.isnan(values)]
        largest = _largest(values)
    if largest == 0 or not math.isfinite(largest):
        return largest
    # Squares of very large or small values would overflow or vanish.
    return largest * math.sqrt(mean(np.square(values.ravel() / largest)))


def _largest(values: FloatArray) -> float:
    """Return the largest size of a value; NaN if a value is, or if there are no values."""
    return float(np.maximum.reduce(np.abs(values), axis=None)) if values.size else math.nan


def distinct(values: FloatArray) -> FloatArray:
    """Return the different numbers in order, without NaN: ``np.unique`` loads ``numpy.ma``."""
    ordered = np.sort(values, axis=None)
    is_first = np.ones(ordered.shape, dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def mean(values: FloatArray) -> float:
    """Return the mean of a one-dimensional array.

    ``np.mean`` spends longer on its checks than on the sum, several times at every checkpoint.
    """
    return float(np.add.reduce(values)) / values.size


def mean_of_defined(values: FloatArray) -> FloatArray:
    """Return the mean over the first axis of the entries that are not NaN; NaN where all are."""
    is_defined = ~np.isnan(values)
    count = is_defined.sum(axis=0)
    total = np.where(is_defined, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def few_threads(is_small: bool) -> AbstractContextManager[Any]:
    """Keep BLAS to one thread for small matrices: many take longer to synchronize than to compute.

    If no library can set the number of threads, it stays as it is.
    """
    if is_small:
        with suppress(ImportError):
            import threadpoolctl  # type: ignore[import-untyped]

            return threadpoolctl.threadpool_limits(1, user_api="blas")
    return nullcontext()
