"""From bins, ranges and classes as the user writes them to one checked column each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from pairgossip.errors import InputError, canonical, is_number, unknown_name
from pairgossip.privacy.columns import Bins, Classes, Column, Grid

ROUNDINGS = ("bins", "stochastic")
LARGEST_RESPONSE = 2**20
"""Cells of one report: with more of them, reports are noise alone."""


def check_columns(bins: Any, range_: Any, classes: Any, rounding: Any) -> tuple[Column, ...]:
    """Return one column for every pair of bins and range, and one for the classes if given."""
    spelled = canonical(rounding) if isinstance(rounding, str) else str(rounding)
    if spelled not in ROUNDINGS:
        raise unknown_name("rounding", str(rounding), ROUNDINGS)
    kind = Grid if spelled == "stochastic" else Bins
    labels = () if classes is None else (Classes(check_classes(classes)),)
    if bins is None and range_ is None and labels:
        return labels
    if bins is None:
        raise InputError(
            "The number of bins is missing: give bins=, such as 16, or let "
            "pg.privacy.advise_bins choose it."
        )
    if range_ is None:
        raise InputError(
            "The range of the values is missing: declare range=(lowest, highest) from what is "
            "possible, not from the data, which it would reveal."
        )
    ranges, counts = _ranges(range_), _counts(bins)
    columns = max(len(ranges), len(counts))
    if len(ranges) not in (1, columns) or len(counts) not in (1, columns):
        raise InputError(
            f"There are bins for {len(counts)} columns but ranges for {len(ranges)}: give one for "
            f"all columns, or one per column (the label's column has its classes instead)."
        )
    ranges = ranges * columns if len(ranges) == 1 else ranges
    counts = counts * columns if len(counts) == 1 else counts
    intervals = (kind(low, high, count) for (low, high), count in zip(ranges, counts, strict=True))
    return (*intervals, *labels)


def check_classes(classes: Any) -> tuple[float, ...]:
    """Return the classes as increasing numbers; text is numbered 0, 1, ... in the order given."""
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray | set | range):
        raise InputError(f"The classes are a list of labels, such as (0, 1), not {classes!r}.")
    given = list(classes)
    if len(set(given)) < len(given):
        raise InputError("The classes name a label twice: give each label once.")
    if len(given) < 2:
        count = "one class is" if given else "no classes are"
        raise InputError(f"Labels need at least two classes, but {count} declared: give them all.")
    if is_text(given):
        return tuple(map(float, range(len(given))))
    if not all(isinstance(label, Real | np.number | np.bool_) for label in given):
        raise InputError("The classes must be all numbers or all text.")
    numbers = [float(label) for label in given]
    if not all(map(math.isfinite, numbers)):
        raise InputError("The classes hold NaN or an infinite label: give finite ones.")
    return tuple(sorted(numbers))


def is_text(classes: Sequence[Any]) -> bool:
    """Tell whether all classes are text."""
    return all(isinstance(label, str) for label in classes)


def _counts(bins: Any) -> list[int]:
    several = isinstance(bins, Sequence | np.ndarray) and not isinstance(bins, str)
    return [_count(entry) for entry in bins] if several and len(bins) else [_count(bins)]


def _count(bins: Any) -> int:
    if isinstance(bins, bool) or not is_number(bins) or not float(bins).is_integer():
        raise InputError(f"The number of bins must be a whole number >= 2, not {bins!r}.")
    count = int(bins)
    if count == 1:
        raise InputError("One bin tells nothing about a value: give at least 2 bins.")
    if count < 2:
        raise InputError(f"The number of bins must be a whole number >= 2, not {count}.")
    if count > LARGEST_RESPONSE:
        raise InputError(
            f"{count:,} bins would drown every report in noise: give at most {LARGEST_RESPONSE:,}."
        )
    return count


def _ranges(range_: Any) -> list[tuple[float, float]]:
    try:
        limits = np.asarray(range_, dtype=np.float64)
    except (TypeError, ValueError):
        limits = np.empty(0)
    if limits.ndim == 1:
        limits = limits[None, :]
    if limits.ndim != 2 or limits.shape[1] != 2:
        raise InputError(
            f"The range is (lowest, highest), or one such pair per column, not {range_!r}."
        )
    for low, high in limits.tolist():
        if math.isnan(low) or math.isnan(high):
            raise InputError("The range has an end that is NaN: give two numbers.")
        if not math.isfinite(high - low):
            raise InputError(f"The range ({low:g}, {high:g}) is infinite: give finite ends.")
        if low >= high:
            raise InputError(
                f"The range ({low:g}, {high:g}) is empty: give the lower end first, then a "
                f"higher one."
            )
    return [(low, high) for low, high in limits.tolist()]
