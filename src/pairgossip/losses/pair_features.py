"""The built-in features, weights and offsets of pairs; the label is the last column."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray


def difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return x - x'."""
    return first[:, :-1] - second[:, :-1]


def higher_label(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where the first label is the higher one, 0 elsewhere."""
    return (first[:, -1] > second[:, -1]).astype(np.float64)


def signed_outer_product(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return -s (x - x')(x - x')^T row by row, s = 1 for equal labels and -1 otherwise."""
    apart = difference(first, second)
    signed = -_alike(first, second)[:, None] * apart
    return np.einsum("mi,mj->mij", signed, apart).reshape(len(apart), -1)


def signed_squares(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return -s (x - x')^2 coordinate by coordinate."""
    return np.asarray(-_alike(first, second)[:, None] * difference(first, second) ** 2)


def signed_threshold(first: FloatArray, second: FloatArray, threshold: float) -> FloatArray:
    """Return s times the threshold."""
    return threshold * _alike(first, second)


def _alike(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.where(first[:, -1] == second[:, -1], 1.0, -1.0)
