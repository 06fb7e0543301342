"""The places of a sketch's bins: over a declared range, or where a sample of the rows lies.

The extremes and a sample of the rows spread by flooding, because learning a value twice changes
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, distinct
from pairgossip.counts.axes import Axis, Grid, Labels, Range
from pairgossip.errors import InputError
from pairgossip.text import format_rows

_SAMPLED_ROWS = 15
"""The number of sampled values that nodes pass on with the extremes, to find where rows are."""
_NARROWEST = 1e-12
"""The smallest spread about the center, relative to the whole range; smaller ones are raised."""


def lay_bins(
    values: FloatArray,
    bins: int,
    declared: Range | None,
    most: int,
    argument: str = "range",
    powers: int = 1,
) -> Axis:
    """Lay bins over a declared range, or over the range of the numbers.

    If there are at most ``most`` different numbers, each gets a place of its own, and the sketch is
    exact. This takes no more features than bins.
    """
    if declared is not None:
        check_inside(values, declared, argument)
        low, high = declared
        return Grid(_lay_edges(bins, low, high, (low + high) / 2, high - low), powers)
    known = np.unique(values)
    if len(known) <= most:
        return Labels(known)
    low, high, sample = float(known[0]), float(known[-1]), values[_sample(len(values))]
    center = float(np.median(sample))
    scale = 1.5 * float(np.median(np.abs(sample - center))) or float(np.std(sample))
    return Grid(_lay_edges(bins, low, high, center, scale or high - low or 1.0), powers)


def _lay_edges(bins: int, low: float, high: float, center: float, scale: float) -> FloatArray:
    """Return the edges of these bins; fewer if floating point has no room for all of them.

    The bins are equally wide in asinh((x - center) / scale): linear near the center, where most
    numbers are, and logarithmic far from it. Rough values of center and scale will do.
    """
    if not low < high:  # constant numbers: one value in the middle of a bin
        low, high = low - abs(low) - 1.0, high + abs(high) + 1.0
        scale = high - low
    scale = max(scale, _NARROWEST * (high - low))
    first, last = np.arcsinh((np.array([low, high]) - center) / scale)
    edges = center + scale * np.sinh(np.linspace(first, last, bins + 1))
    edges[0], edges[-1] = low, high
    return distinct(np.clip(edges, low, high))


def flooded_rows(columns: Iterable[FloatArray], most: int = 0, declared: Any = None) -> IntArray:
    """Return the rows whose numbers all nodes must learn to lay the same bins, column by column.

    These are the extremes and the sampled rows, or one row of each value where at most ``most``
    are different. There are none where ranges are declared.
    """
    rows = [np.arange(0)]
    for values in columns if declared is None else ():
        known, first = np.unique(values, return_index=True)
        ends = values.argmin(), values.argmax()
        rows.append(first if len(known) <= most else np.r_[ends, _sample(len(values))])
    return np.concatenate(rows)


def _sample(n: int) -> IntArray:
    """Return evenly spaced rows, chosen without regard to their values."""
    return np.arange(n)[:: max(1, n // _SAMPLED_ROWS)][:_SAMPLED_ROWS]


def check_range(declared: Any, argument: str = "range") -> Range:
    """Return a range; raise `InputError` unless it is two finite numbers, the smaller first."""
    try:
        low, high = map(float, declared)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (low < high and math.isfinite(high - low)):
        raise InputError(
            f"A range is two finite numbers, the smaller first, but got {declared!r}: correct "
            "{argument}.",
            argument,
        )
    return low, high


def check_inside(values: FloatArray, declared: Range, argument: str = "range") -> None:
    """Raise `InputError`, which names the argument, if numbers lie outside of a range."""
    low, high = declared
    outside = np.flatnonzero((values < low) | (values > high))
    if len(outside):
        raise InputError(
            f"The declared range [{low:g}, {high:g}] leaves out {format_rows(outside)} (counting "
            "from 0): widen {argument}, or leave it out.",
            argument,
        )
