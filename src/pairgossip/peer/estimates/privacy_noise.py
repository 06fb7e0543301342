"""How far the value over the reports may be from that over the rows, whatever the rows are.

The variance of a debiased U-statistic, given the rows, is a sum of two parts (Hoeffding): what one
report adds, whose share is convex in the frequencies of the other cells and so is largest where
all others are in the same cell; and what two add together. The largest of either over all cells
bounds the variance for any rows, so that a peer can tell it without having seen them.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.kernels import Ratio
from pairgossip.privacy import DebiasedKernel
from pairgossip.privacy.debiased import debias, expect
from pairgossip.privacy.response import Grid

if TYPE_CHECKING:
    from pairgossip.privacy import RandomizedResponse


def bound_noise(
    kernel: DebiasedKernel, rows: int, target: str, averages: FloatArray
) -> float | None:
    """Bound the standard error that reporting brings, whatever is in the rows of all members.

    A quotient is taken to be linear around the averages of its components as estimated, so that
    its bound is approximate.
    """
    weights = _weights(kernel, averages)
    if weights is None or rows < 2:
        return None
    unit = float(weights[np.abs(weights).argmax()]) or 1.0
    # A peer asks every second, and the slopes hardly change: to three digits they are the same.
    shape = tuple(float(f"{weight / unit:.3g}") for weight in weights.tolist())
    alone, paired, own = (unit * unit * one for one in _largest_variances(kernel, shape))
    error = math.sqrt(4.0 * alone / rows + 2.0 * paired / (rows * (rows - 1)))
    if target == "v":
        error = (rows - 1) / rows * error + math.sqrt(own / rows) / rows
    return error if math.isfinite(error) else None


def _weights(kernel: DebiasedKernel, averages: FloatArray) -> FloatArray | None:
    """How the statistic depends on each component's average."""
    is_ratio = isinstance(kernel.kernel, Ratio)
    if not np.isfinite(averages).all() or (is_ratio and averages[1] <= 0):
        return None
    with np.errstate(all="ignore"):
        slopes = kernel.kernel.slopes(averages)
    return slopes if np.isfinite(slopes).all() else None


@lru_cache(maxsize=4)
def _largest_variances(
    kernel: DebiasedKernel, weights: tuple[float, ...]
) -> tuple[float, float, float]:
    """Return the largest variances over all cells.

    They are those of what one report adds, of what two add together beyond what each adds alone,
    and of what a report says of its own pair.
    """
    mechanism = kernel.mechanism
    table = np.tensordot(np.array(weights), kernel.cell_tables, axes=1)
    table = (table + table.T) / 2  # both orders of a pair are averaged
    once = debias(mechanism, table, 0)
    twice = debias(mechanism, once, 1)
    alone = expect(mechanism, once**2, 0) - table**2
    square = expect(mechanism, expect(mechanism, twice**2, 0), 1)
    own = np.diagonal(table)
    own_square = expect(mechanism, debias(mechanism, own, 0) ** 2, 0)
    if any(isinstance(column, Grid) for column in mechanism.columns):
        # The cell itself is drawn then, among neighbors: its own variance is added, and where
        # it matters little the mean square stands for the variance.
        moved = _rounding(mechanism, table)
        return _max(alone) + moved, _max(square), _max(own_square)
    paired = square - table**2 - alone - alone.T
    return _max(alone), _max(paired), _max(own_square - own**2)


def _rounding(mechanism: RandomizedResponse, table: FloatArray) -> float:
    """Bound the variance that rounding at random brings: a quarter of each squared step."""
    split = table.reshape(*mechanism.bins, -1)
    steps = [
        np.abs(np.diff(split, axis=axis)).max()
        for axis, column in enumerate(mechanism.columns)
        if isinstance(column, Grid)
    ]
    return float(sum(step * step for step in steps)) / 4.0


def _max(variances: FloatArray) -> float:
    return max(float(variances.max()), 0.0)
