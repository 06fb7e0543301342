"""The figures of a report in its file, which all machines write and compare alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import Any

_DIGITS = 12
"""Number of significant digits of a figure; machines may differ in later ones."""
_TOLERANCE = 1e-8
"""Largest relative difference of a figure on two machines; a larger one is an error."""
_LEAST = 1e-11
"""Largest absolute difference of a figure near 0 on two machines; a larger one is an error."""
Place = tuple[str, ...]
"""The place of a figure: the names and numbers that lead to it."""


def plain_figures(figures: Any) -> Any:
    """Return figures for JSON: rounded, with None for NaN and a word for infinity."""
    if isinstance(figures, Mapping):
        return {str(name): plain_figures(one) for name, one in figures.items()}
    if hasattr(figures, "tolist"):  # of NumPy
        figures = figures.tolist()
    if isinstance(figures, list | tuple):
        return [plain_figures(one) for one in figures]
    if figures is None or isinstance(figures, bool | str):
        return figures
    if isinstance(figures, Integral):
        return int(figures)
    if isinstance(figures, Real):
        return _plain_number(float(figures))
    return str(figures)


def _plain_number(number: float) -> float | str | None:
    if math.isnan(number):
        return None
    if math.isinf(number):
        return "infinite" if number > 0 else "-infinite"
    return float(f"{number:.{_DIGITS}g}") + 0.0


def list_figures(figures: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every figure with its place, such as ("groups", "f", "auc", "value")."""
    if isinstance(figures, Mapping):
        for name, one in figures.items():
            yield from list_figures(one, (*place, name))
    elif isinstance(figures, list | tuple):
        for number, one in enumerate(figures, 1):
            yield from list_figures(one, (*place, str(number)))
    else:
        yield place, figures


def find_difference(stated: Any, computed: Any) -> tuple[str, Any, Any] | None:
    """Return the place of the first figure that differs, and its two values; None if all are equal.

    The value of a missing figure is None.
    """
    first, second = dict(list_figures(stated)), dict(list_figures(computed))
    for place in (*second, *first):
        one, other = first.get(place), second.get(place)
        if place not in first or place not in second or not _are_alike(one, other):
            return ".".join(place), one, other
    return None


def _are_alike(one: Any, other: Any) -> bool:
    if not all(isinstance(part, int | float) and type(part) is not bool for part in (one, other)):
        return type(one) is type(other) and bool(one == other)
    if isinstance(one, int) and isinstance(other, int):
        return one == other  # counts are exact, and may be too long for a float
    try:
        return abs(one - other) <= max(_TOLERANCE * abs(other), _LEAST)
    except OverflowError:
        return False
