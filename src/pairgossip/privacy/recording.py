"""A mechanism as plain texts and numbers, for the files of results."""

from __future__ import annotations

from typing import Any

from pairgossip.privacy.columns import Classes, Grid
from pairgossip.privacy.mechanism import RandomizedResponse


def as_record(mechanism: RandomizedResponse) -> dict[str, Any]:
    """Return what `RandomizedResponse` takes to make the same mechanism again."""
    intervals = [column for column in mechanism.columns if not isinstance(column, Classes)]
    classes = [list(c.labels) for c in mechanism.columns if isinstance(c, Classes)]
    rounded = any(isinstance(column, Grid) for column in intervals)
    return {
        "epsilon": mechanism.epsilon,
        "bins": [column.cells for column in intervals] or None,
        "range": [[column.low, column.high] for column in intervals] or None,
        "classes": list(mechanism.names) if mechanism.names else (classes[0] if classes else None),
        "rounding": "stochastic" if rounded else "bins",
        "together": mechanism.together,
    }


def from_record(record: dict[str, Any]) -> RandomizedResponse:
    """Make the mechanism of a record."""
    return RandomizedResponse(**record)
