"""Calls of users' functions of pairs: what they may do to blocks, and what they must return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError


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

    m numbers are taken as rows of one.
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
    """Call a user's function of pairs, in the only place where this happens."""
    try:
        return np.asarray(function(_read_only(first), _read_only(second)))
    except Exception as failure:
        reason = str(failure).rstrip(".") or type(failure).__name__
        raise InputError(f"{owner} failed on blocks of shape {first.shape}: {reason}.") from failure


def _as_floats(owner: str, values: NDArray[Any]) -> FloatArray:
    if values.dtype.kind not in "fiub":
        raise InputError(f"{owner} returned {values.dtype} values: it must return real numbers.")
    # A function may return a block itself.
    return values.astype(np.float64, copy=not values.flags.writeable)


def _read_only(block: FloatArray) -> FloatArray:
    # Several functions see the same block: none of them may write into it.
    view = block.view()
    view.flags.writeable = False
    return view
