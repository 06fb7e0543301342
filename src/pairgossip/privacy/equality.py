"""Finds kernels that ask whether raw values are equal, which cells cannot answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.kernel import Kernel, Ratio, evaluate
from pairgossip.privacy.columns import Classes

if TYPE_CHECKING:
    from pairgossip.privacy.mechanism import RandomizedResponse

SAMPLE = 24
"""Observations paired with each other."""
NEAR, NEARER = 1e-6, 1e-9
"""Two distances, as parts of the range: a jump is the same at both, a slope is not."""


def refuse_equality(
    kernel: Kernel | Ratio, mechanism: RandomizedResponse, what: str = "Kernel"
) -> None:
    """Raise `InputError` if the kernel singles out equal values of a column put into cells.

    Seen from one observation, h jumps where the other's value is exactly equal, and is the same
    on both sides. A kernel that compares two values, as the AUC does, differs between the sides.
    """
    for at, column in enumerate(mechanism.columns):
        if isinstance(column, Classes):
            continue
        first, second = _equal_in(mechanism.representatives, at)
        width = column.high - column.low
        finest = 16 * float(np.spacing(max(abs(column.low), abs(column.high))))
        step = max(NEARER * width, finest)
        jumps, ordered = False, False
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for part in kernel.components:
                alike, differ = _sides(part, first, second, at, step)
                jumps, ordered = jumps or bool(alike.any()), ordered or bool(differ.any())
        if jumps and not ordered:
            raise InputError(
                f"{what} '{kernel.name}' asks whether two raw values of column {at} are equal, "
                f"which reports of cells cannot tell: use a {what.lower()} without equality, or "
                f"declare the column as the label, with classes=."
            )


def _equal_in(values: FloatArray, at: int) -> tuple[FloatArray, FloatArray]:
    """Pair a few observations with each other, made equal in one column."""
    table = values.reshape(len(values), -1)
    chosen = np.unique(np.linspace(0, len(table) - 1, SAMPLE).astype(np.intp))
    one, other = (index.ravel() for index in np.meshgrid(chosen, chosen, indexing="ij"))
    first, second = table[one], table[other].copy()
    second[:, at] = first[:, at]
    return first, second


def _sides(
    kernel: Kernel, first: FloatArray, second: FloatArray, at: int, step: float
) -> tuple[BoolArray, BoolArray]:
    """Tell where h jumps at equality and is alike beside it, and where the sides differ."""
    equal = _moved(kernel, first, second, at, 0.0)
    below, above = (_moved(kernel, first, second, at, sign * step) for sign in (-1.0, 1.0))
    coarse = NEAR / NEARER * step
    lower, upper = (_moved(kernel, first, second, at, sign * coarse) for sign in (-1.0, 1.0))
    size = np.abs(np.stack([equal, below, above, lower, upper])).max()
    small = 1e-7 * size
    # A slope, however steep, shrinks with the step; what does not is a jump.
    jump = (np.abs(above - equal) > small) & (np.abs(above - equal) > 0.9 * np.abs(upper - equal))
    alike = jump & (np.abs(above - below) <= 0.01 * np.abs(above - equal))
    apart = np.abs(above - below)
    differ = (apart > small) & (apart > 0.9 * np.abs(upper - lower))
    return alike, differ


def _moved(
    kernel: Kernel, first: FloatArray, second: FloatArray, at: int, step: float
) -> FloatArray:
    other = second.copy()
    other[:, at] += step
    blocks = (first[:, 0].copy(), other[:, 0]) if first.shape[1] == 1 else (first.copy(), other)
    return evaluate(kernel, *blocks)
