"""Norms, projections and checks that the proximal maps share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError, is_number


def norms(theta: FloatArray) -> FloatArray:
    """Return the Euclidean norms of models (..., p), however large."""
    with np.errstate(over="ignore"):
        plain = np.sqrt(np.square(theta).sum(axis=-1))
    if np.isfinite(plain).all():
        return np.asarray(plain)
    # Squares overflowed: take the largest coordinate out first.
    largest = np.maximum(np.abs(theta).max(axis=-1), 1.0)
    return np.asarray(largest * np.sqrt(np.square(theta / largest[..., None]).sum(axis=-1)))


def onto_ball(theta: FloatArray, radius: float) -> FloatArray:
    """Scale models down to a norm of at most the radius."""
    return np.asarray(theta * (radius / np.maximum(norms(theta), radius))[..., None])


def onto_cone(theta: FloatArray) -> FloatArray:
    """Return the nearest positive semidefinite matrices, flattened row by row."""
    values, vectors = np.linalg.eigh(symmetric(theta))
    kept = vectors * np.maximum(values, 0.0)[..., None, :]
    return np.asarray((kept @ np.swapaxes(vectors, -1, -2)).reshape(np.shape(theta)))


def symmetric(theta: FloatArray) -> FloatArray:
    """Unflatten models into square matrices and keep their symmetric parts."""
    side = math.isqrt(np.shape(theta)[-1])
    if side * side != np.shape(theta)[-1]:
        raise InputError(
            f"PSD is about square matrices, but the model has {np.shape(theta)[-1]} parameters: "
            f"use it with a loss of full matrices, such as 'metric-hinge'."
        )
    square = np.asarray(theta).reshape(*np.shape(theta)[:-1], side, side)
    return np.asarray(0.5 * (square + np.swapaxes(square, -1, -2)))


def barrier(inside: Any) -> FloatArray:
    """Return 0 inside a constraint and infinity outside."""
    return np.where(inside, 0.0, np.inf)


def check_radius(radius: float) -> None:
    """Raise `InputError` unless a ball is a proper one."""
    if not (is_number(radius) and math.isfinite(radius) and radius > 0):
        raise InputError(
            f"The radius of a constraint is {radius}: give a finite number > 0, "
            f"or leave out the constraint."
        )


def check_strength(strength: float) -> None:
    """Raise `InputError` unless a penalty is one."""
    if not (is_number(strength) and math.isfinite(strength) and strength >= 0):
        raise InputError(f"The strength of a penalty is {strength}: give a finite number >= 0.")
