"""The one place where a user's functions of pairs are called, and their answers checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError


def one_per_pair(
    owner: str, function: Callable[..., Any], first: FloatArray, second: FloatArray
) -> FloatArray:
    """Call a function on m pairs and insist on m numbers, as float64."""
    values = _called(owner, function, first, second)
    if values.shape != (len(first),):
        raise InputError(
            f"{owner} returned shape {values.shape} for {len(first)} pairs: "
            f"it must return one value per pair, shape ({len(first)},)."
        )
    return _as_floats(owner, values)


def row_per_pair(
    owner: str, function: Callable[..., Any], first: FloatArray, second: FloatArray
) -> FloatArray:
    """Call a function on m pairs and insist on m rows of numbers; m numbers are rows of one."""
    values = _called(owner, function, first, second)
    if values.shape == (len(first),):
        values = values[:, None]
    if values.ndim != 2 or len(values) != len(first) or values.shape[1] == 0:
        raise InputError(
            f"{owner} returned shape {values.shape} for {len(first)} pairs: "
            f"it must return one row per pair, shape ({len(first)}, p)."
        )
    return _as_floats(owner, values)


def _called(
    owner: str, function: Callable[..., Any], first: FloatArray, second: FloatArray
) -> NDArray[Any]:
    try:
        return np.asarray(function(_protected(first), _protected(second)))
    except Exception as failure:
        reason = str(failure).rstrip(".") or type(failure).__name__
        raise InputError(f"{owner} failed on blocks of shape {first.shape}: {reason}.") from failure


def _protected(block: FloatArray) -> FloatArray:
    # Several functions see the same block: none of them may write into it.
    view = block.view()
    view.flags.writeable = False
    return view


def _as_floats(owner: str, values: NDArray[Any]) -> FloatArray:
    if values.dtype == np.float64:
        return values
    if values.dtype.kind not in "fiub":
        raise InputError(f"{owner} returned {values.dtype} values: it must return real numbers.")
    return values.astype(np.float64)
