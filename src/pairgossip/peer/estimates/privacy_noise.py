"""Bounds on the error of the value over the reports, as an estimate of that over any rows.

The variance of a debiased U-statistic, given the rows, is a sum of two parts (Hoeffding). The part
of single reports is convex in the frequencies of the other cells, and so is largest if all others
are in the same cell. The other part is that of pairs of reports. The largest of either over all
cells bounds the variance for any rows, so a peer knows it without having seen them.
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
    """Bound the standard error due to reporting, for any rows of all members.

    A quotient is treated as linear around the estimated averages of its components, so its bound is
    approximate.
    """
    weights = _weights(kernel, averages)
    if weights is None or rows < 2:
        return None
    unit = float(weights[np.abs(weights).argmax()]) or 1.0
    # Peers call this every second, and three digits of the slopes hardly change: see the cache.
    shape = tuple(float(f"{weight / unit:.3g}") for weight in weights.tolist())
    alone, paired, own = (unit * unit * one for one in _largest_variances(kernel, shape))
    error = math.sqrt(4.0 * alone / rows + 2.0 * paired / (rows * (rows - 1)))
    if target == "v":
        error = (rows - 1) / rows * error + math.sqrt(own / rows) / rows
    return error if math.isfinite(error) else None


def _weights(kernel: DebiasedKernel, averages: FloatArray) -> FloatArray | None:
    """Return the derivatives of the statistic by its components' averages; None if not finite."""
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

    They are those of single reports, of pairs of reports beyond the single ones, and of reports'
    own pairs.
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
        # The cell itself is drawn then, among neighbors: its own variance is added, and the
        # mean square replaces the variance where that matters little.
        moved = _rounding(mechanism, table)
        return _max(alone) + moved, _max(square), _max(own_square)
    paired = square - table**2 - alone - alone.T
    return _max(alone), _max(paired), _max(own_square - own**2)


def _rounding(mechanism: RandomizedResponse, table: FloatArray) -> float:
    """Bound the variance due to rounding at random: a quarter of each squared step."""
    split = table.reshape(*mechanism.bins, -1)
    steps = [
        np.abs(np.diff(split, axis=axis)).max()
        for axis, column in enumerate(mechanism.columns)
        if isinstance(column, Grid)
    ]
    return float(sum(step * step for step in steps)) / 4.0


def _max(variances: FloatArray) -> float:
    return max(float(variances.max()), 0.0)
