"""What a summary is beside its counts, without rows to take it from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pairgossip.checks import STATISTICS, choice, whole
from pairgossip.counts.cells import MOST_CELLS, Cells
from pairgossip.errors import InputError
from pairgossip.kernels.data import format_label
from pairgossip.kernels.rows import check_classes
from pairgossip.summaries.summary_reading import EVENT, OF_CLASSES, find_measure, name_columns
from pairgossip.text import format_count


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
            f"'{measure.name}' is of classes: give {{argument}}, all labels that there may be.",
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
    if math.prod(one.lay().bins for one in laid) > MOST_CELLS:
        raise InputError(f"A summary has at most {MOST_CELLS:,} cells: give fewer.")
    return laid


def list_names(values: Sequence[Any] | None, key: str) -> tuple[str, ...] | None:
    """Return the names of all groups or strata."""
    return None if values is None else tuple(map(format_label, check_classes(values, key)))


def list_weights(weights: Sequence[Any] | None, most: int) -> tuple[int, ...] | None:
    """Return how often rows may count, from the least on."""
    if weights is None:
        return None
    given = list(weights) if isinstance(weights, Sequence) else [weights]
    return tuple(sorted({whole("A weight", one, 1, most) for one in given}))
