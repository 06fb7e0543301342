"""The values of a label in runs on sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec

_MOST_LABELS = 64
"""Largest number of values of a label that sums count; more are refused."""


def count_grades(spec: Spec) -> int:
    """Return the number of values of a run's label."""
    if spec.classes is not None or spec.has_two_classes:
        return len(spec.classes or (0, 1))
    low, high = spec.ranges[str(spec.label)]
    return math.floor(high) - math.ceil(low) + 1


def label_values(spec: Spec) -> FloatArray:
    """Return the values of a run's label: two, or all whole numbers of its range."""
    (low, high), grades = spec.ranges[str(spec.label)], count_grades(spec)
    if spec.has_two_classes:
        return np.array([low, high])
    if not 1 <= grades <= _MOST_LABELS:
        raise InputError(
            f"ranges.{spec.label} holds {grades:,} whole numbers, but sums are made for 1 to "
            f"{_MOST_LABELS} of them: number the labels 0, 1, ..., list classes, or let rows "
            'travel with algorithm.name = "exchange".'
        )
    return np.asarray(math.ceil(low) + np.arange(float(grades)))


def check_labels(spec: Spec, labels: FloatArray) -> None:
    """Raise `InputError` for labels that a run does not have."""
    values = label_values(spec)
    if not np.isin(labels, values).all():
        named = join_names([f"{one:g}" for one in values[:8]], "or")
        raise InputError(
            f"Column '{spec.label}' holds other values than {named}, which are those of this run: "
            "correct the rows, or agree on another range."
        )
