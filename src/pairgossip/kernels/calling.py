"""Evaluation of pairs: checked calls of users' functions, or compiled loops in place of NumPy.

The loops belong to the engine, above the kernels, and are loaded by name where they are faster:
code for devices imports none of them, and all sums of this package work without them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError

_FEWEST_PAIRS = 2**27
"""The number of evaluations from which compiling a function is faster than blocks."""
_FEWEST_ROWS, _FEWEST_TO_LOAD = 2**14, 2**18
"""The numbers of rows from which counts are compiled: if numba is loaded, and if it is not."""


def value_per_pair(
    owner: str, function: Callable[..., Any], first: FloatArray, second: FloatArray
) -> FloatArray:
    """Call a user's function on m pairs; raise `InputError` unless it returns m numbers."""
    values = _call(owner, function, first, second)
    if values.shape != (len(first),):
        raise InputError(
            f"{owner} returned shape {values.shape} for {len(first)} pairs: "
            f"it must return one value per pair, shape ({len(first)},)."
        )
    return _as_floats(owner, values)


def row_per_pair(
    owner: str, function: Callable[..., Any], first: FloatArray, second: FloatArray
) -> FloatArray:
    """Call a user's function on m pairs; raise `InputError` unless it returns m rows of numbers.

    m numbers count as rows of one number.
    """
    values = _call(owner, function, first, second)
    if values.shape == (len(first),):
        values = values[:, None]
    if values.ndim != 2 or len(values) != len(first) or values.shape[1] == 0:
        raise InputError(
            f"{owner} returned shape {values.shape} for {len(first)} pairs: "
            f"it must return one row per pair, shape ({len(first)}, p)."
        )
    return _as_floats(owner, values)


def _call(
    owner: str, function: Callable[..., Any], first: FloatArray, second: FloatArray
) -> NDArray[Any]:
    """Call a user's function of pairs; this is the only place that does."""
    try:
        return np.asarray(function(_read_only(first), _read_only(second)))
    except Exception as failure:
        reason = str(failure).rstrip(".") or type(failure).__name__
        raise InputError(f"{owner} failed on blocks of shape {first.shape}: {reason}.") from failure


def _as_floats(owner: str, values: NDArray[Any]) -> FloatArray:
    if values.dtype.kind not in "fiub":
        raise InputError(f"{owner} returned {values.dtype} values: it must return real numbers.")
    # A function may return its own block.
    return values.astype(np.float64, copy=not values.flags.writeable)


def _read_only(block: FloatArray) -> FloatArray:
    # Several functions get the same block, so none of them may write into it.
    view = block.view()
    view.flags.writeable = False
    return view


# Compiled loops in place of NumPy: for many rows, if numba is installed.


def find_sweeps(n: int, symmetric: bool) -> Any:
    """Return the loops that sum a user's function over the pairs of n rows, or None.

    The last bits of sums depend on the code that adds, so its choice depends on n alone.
    """
    pairs = n * (n + 1) // 2 if symmetric else n * n
    return _load("pairgossip.engine.exact.sweeps") if pairs >= _FEWEST_PAIRS else None


def find_counts(n: int) -> Any:
    """Return the loops that count ordered pairs among n rows, or None.

    They give exactly the same numbers as NumPy.
    """
    fewest = _FEWEST_ROWS if "numba" in sys.modules else _FEWEST_TO_LOAD
    return _load("pairgossip.engine.exact.counts") if n >= fewest else None


def find_counters(n: int) -> Any:
    """Return the loops that count n rows per cell, or None; NumPy counts the same."""
    fewest = _FEWEST_ROWS if "numba" in sys.modules else _FEWEST_TO_LOAD
    return _load("pairgossip.engine.counting") if n >= fewest else None


def _load(name: str) -> Any:
    try:
        return importlib.import_module(name)
    # Without the lab there is no numba, and it fails where it cannot store compiled loops.
    except (ImportError, RuntimeError):
        return None
