"""The values that the label of a run on sums has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.peer.spec.spec import Spec


def count_grades(spec: Spec) -> int:
    """Return how many values the label of a run has."""
    if spec.classes is not None or spec.has_two_classes:
        return len(spec.classes or (0, 1))
    low, high = spec.ranges[str(spec.label)]
    return math.floor(high) - math.ceil(low) + 1


def label_values(spec: Spec) -> FloatArray:
    """Return the values that the label of a run has: two, or all whole numbers of its range."""
    low, high = spec.ranges[str(spec.label)]
    if spec.has_two_classes:
        return np.array([low, high])
    return np.asarray(math.ceil(low) + np.arange(float(count_grades(spec))))


def check_labels(spec: Spec, labels: FloatArray) -> None:
    """Raise `InputError` for labels that a run does not have."""
    values = label_values(spec)
    if not np.isin(labels, values).all():
        named = join_names([f"{one:g}" for one in values[:8]], "or")
        raise InputError(
            f"Column '{spec.label}' holds other values than {named}, which are those of this run: "
            "correct the rows, or agree on another range."
        )
