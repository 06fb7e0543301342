"""How steep a loss can be: the largest norm of its gradient over all pairs of some data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.blocked import NUMBERS_PER_BLOCK, tiles
from pairgossip.kernels.data import column_count

if TYPE_CHECKING:
    from pairgossip.losses.loss import Loss

EXACT_UP_TO = 2**26
"""Beyond this many numbers in all pairs' features, a loss's cheap bounds are used."""


def steepest_pair(loss: Loss, data: FloatArray, radius: float) -> float:
    """Bound the gradient's norm over all pairs, for models of norm up to `radius`."""
    if not radius >= 0:
        raise InputError(f"The radius is the largest norm of a model, not {radius}: give one >= 0.")
    dimension = loss.dimension(column_count(data))
    if loss.bounds is not None and len(data) ** 2 * dimension > EXACT_UP_TO:
        length, offset = loss.bounds(data)
        single = [np.array([number]) for number in (length, 1.0, offset)]
        return float(_steepness(loss, single[0], single[1], single[2], radius)[0])
    side = max(1, math.isqrt(NUMBERS_PER_BLOCK // max(dimension, column_count(data))))
    steepest = 0.0
    for rows, columns in tiles(len(data), side, half=False):
        left, above = data[rows], data[columns]
        a, w, b = loss.pairs(
            np.repeat(left, len(above), axis=0), np.concatenate([above] * len(left))
        )
        steepness = _steepness(loss, np.sqrt(np.einsum("ij,ij->i", a, a)), w, b, radius)
        steepest = max(steepest, float(steepness.max()))
    return steepest


def _steepness(
    loss: Loss, lengths: FloatArray, w: FloatArray, b: FloatArray, radius: float
) -> FloatArray:
    """Return the largest |w phi'(u)| ||a|| at each pair; phi' is steepest at the smallest u."""
    pull = lengths * np.abs(w)
    moving = pull > 0
    if math.isinf(radius):
        steep = np.full(len(pull), loss.phi.slope_bound)
    else:
        steep = np.abs(loss.phi.derivative(b - radius * lengths))
    return np.multiply(pull, steep, out=np.zeros(len(pull)), where=moving)


def label_bounds(data: FloatArray) -> tuple[float, float]:
    """Bound ||x - x'|| over pairs of a higher and a lower label."""
    features, labels = data[:, :-1], data[:, -1]
    # Centering by the middle of the ranges keeps the triangle inequality tight.
    reach = np.linalg.norm(features - _middle(features), axis=1)
    higher, lower = reach[labels > labels.min()], reach[labels < labels.max()]
    apart = float(higher.max() + lower.max()) if len(higher) else 0.0
    return _rounded_up(min(apart, _diagonal(features))), 0.0


def squared_bounds(data: FloatArray, threshold: float) -> tuple[float, float]:
    """Bound ||x - x'||^2 over all pairs, for offsets of +-threshold."""
    features = data[:, :-1]
    reach = float(np.linalg.norm(features - _middle(features), axis=1).max())
    return _rounded_up(min(2.0 * reach, _diagonal(features)) ** 2), -abs(threshold)


def _middle(features: FloatArray) -> FloatArray:
    return np.asarray(0.5 * features.min(axis=0) + 0.5 * features.max(axis=0))


def _diagonal(features: FloatArray) -> float:
    return float(np.linalg.norm(np.ptp(features, axis=0)))


def _rounded_up(bound: float) -> float:
    return bound * (1.0 + 1e-12)
