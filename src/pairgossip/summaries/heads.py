"""The attributes of a summary besides its counts, without rows to take them from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pairgossip.checks import STATISTICS, choice, whole
from pairgossip.counts.cells import MOST_CELLS, Cells
from pairgossip.counts.layouts import OrderQuestion
from pairgossip.errors import InputError
from pairgossip.kernels.data import format_label
from pairgossip.kernels.rows import check_classes
from pairgossip.rows.columns import is_missing
from pairgossip.summaries.summary_reading import (
    EVENT,
    OF_CLASSES,
    Measure,
    find_measure,
    name_columns,
)
from pairgossip.text import format_count

MOST_WEIGHT = 16
"""Largest number of times that a row may count; more are refused."""
ALL_WEIGHTS = tuple(range(1, MOST_WEIGHT + 1))
LEAST_BLOCK = 3
"""The least number of rows in a block that hides them: 2 would reveal each of two to the other."""


def make_head(kernel: Any, kind: str, cells: Any, classes: Sequence[Any] | None) -> dict[str, Any]:
    """Return the attributes that follow from the first reading, the cells and the classes."""
    measure = find_measure(kernel)
    names = name_columns(measure)
    labels = None if classes is None else check_classes(classes)
    laid = _lay_cells(names, cells, has_classes=labels is not None)
    given = len(laid) + (labels is not None)
    is_open = any(one.endswith("...") for one in names)
    if names[-1] in OF_CLASSES and labels is None:
        raise InputError(
            f"'{measure.name}' needs classes: give {{argument}}, all possible labels.",
            "classes",
        )
    if not (given == len(names) or is_open or (given == len(names) - 1 and names[-1] == EVENT)):
        others = " and classes" if labels else ""
        raise InputError(
            f"'{measure.name}' takes {format_count(len(names), 'column')} ({', '.join(names)}), "
            f"but there are cells of {len(laid)}{others}: give cells for each."
        )
    return {
        "reading": measure.name,
        "kind": choice("kind of statistic", kind, STATISTICS),
        "cells": laid,
        "classes": None if labels is None else tuple(map(float, range(len(labels)))),
        "has_events": names[-1] == EVENT and given == len(names),
        "positive": format_label(labels[1]) if labels is not None and len(labels) == 2 else None,
    }


def check_factors(measure: Measure, strata: str | None, weights: str | None) -> None:
    """Raise `InputError` if a statistic cannot be read with these strata or weights."""
    if not isinstance(measure, OrderQuestion):
        return
    if strata is not None:
        raise InputError(
            f"'{measure.name}' uses all rows, not pairs within strata: leave {{argument}} out.",
            strata,
        )
    if weights is not None and measure.is_test:
        raise InputError(
            f"Test '{measure.name}' needs rows that count once: leave {{argument}} out.", weights
        )


def _lay_cells(names: Sequence[str], cells: Any, *, has_classes: bool) -> tuple[Cells, ...]:
    """Return the cells of every column."""
    takes = [one for one in names if one not in (*OF_CLASSES, EVENT)]
    count = len(takes) - (has_classes and len(takes) == len(names) > 1)  # or the class is one
    laid = tuple(cells) if isinstance(cells, list | tuple) else (cells,) * count
    if not laid or not all(isinstance(one, Cells) for one in laid):
        raise InputError(
            f"{{argument}} is {cells!r}: give cells such as pg.cells.Even(0, 1), for all columns "
            "or one for each.",
            "cells",
        )
    check_size(laid)
    return laid


def check_size(cells: Sequence[Cells]) -> None:
    """Raise `InputError` for more cells than a summary may have."""
    if math.prod(one.lay().bins for one in cells) > MOST_CELLS:
        raise InputError(f"A summary has at most {MOST_CELLS:,} cells: give fewer.")


def list_names(values: Sequence[Any] | None, key: str) -> tuple[str, ...] | None:
    """Return the names of all groups or strata."""
    if values is None:
        return None
    values = check_classes(values, key)
    if any(map(is_missing, values)):
        raise InputError(f"The {key} name a missing entry, which no row is in: leave it out.", key)
    names = tuple(check_classes(list(map(format_label, values)), key))
    if not all(map(str.isprintable, names)):
        raise InputError(f"The {key} hold text that cannot be printed in a line: rename it.")
    return names


def list_weights(weights: Sequence[Any] | None) -> tuple[int, ...] | None:
    """Return the possible weights of rows, in ascending order."""
    if weights is None:
        return None
    given = list(weights) if isinstance(weights, Sequence) else [weights]
    if not given:
        raise InputError("No weights are listed: give {argument}, or leave it out.", "weights")
    return tuple(sorted({whole("A weight", one, 1, MOST_WEIGHT) for one in given}))


def check_least_cell(least: Any) -> int:
    """Return the least number of rows in a cell; raise `InputError` if blocks cannot have it."""
    number = whole("The least number of rows in a cell", least)
    if 1 < number < LEAST_BLOCK:
        raise InputError(
            "Two rows in a cell reveal each of two people to the other: give {argument} of 1, "
            f"or of {LEAST_BLOCK} or more.",
            "least_cell",
        )
    return number
