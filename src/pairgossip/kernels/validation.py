"""What single built-in kernels ask of parameters and data beyond the number of columns."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.data import spell_rows


def check_ties(ties: float) -> float:
    """Return the weight of tied pairs, from 0 to 1, or raise `InputError`."""
    if not 0.0 <= ties <= 1.0:
        raise InputError(f"The weight of ties is {ties}: give a number from 0 to 1.")
    return float(ties)


def check_two_classes(data: FloatArray) -> None:
    """Raise `InputError` unless the second column holds exactly two labels."""
    classes = np.unique(data[:, 1])
    if len(classes) == 1:
        raise InputError(
            f"Kernel 'auc' needs two classes, but the labels hold one class only "
            f"({classes[0]:g}): add observations of the other class."
        )
    if len(classes) > 2:
        raise InputError(
            f"Kernel 'auc' needs two classes, but the labels hold {len(classes)}: "
            f"use 'ranking-risk' or 'concordance' for graded labels."
        )


def check_events(data: FloatArray) -> None:
    """Raise `InputError` unless the third column, if any, holds 0 and 1 only."""
    if data.shape[1] != 3:
        return
    wrong = np.flatnonzero((data[:, 2] != 0) & (data[:, 2] != 1))
    if len(wrong):
        raise InputError(
            f"Kernel 'concordance' needs events of 0 (censored) or 1 (observed): "
            f"recode {spell_rows(wrong)} (counting from 0)."
        )
