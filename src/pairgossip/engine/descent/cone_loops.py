"""The nearest positive semidefinite matrix, compiled: the twin of that in `losses.proximal`.

Rotations of Jacobi's, each of which clears one entry, turn the matrix into a diagonal one. They
take a few microseconds for the small matrices that metrics are.
"""

from __future__ import annotations

import numpy as np

from pairgossip.engine.loops import loop

_MOST_SWEEPS = 30
"""It takes 5 to 8."""
_ROUNDING = 1e-33
"""Squares that are this small part of all squares are rounding."""


@loop
def onto_cone(theta, side):  # type: ignore[no-untyped-def]
    """Replace a matrix, flattened row by row, by the nearest one without negative eigenvalues."""
    a, vectors, size = np.empty((side, side)), np.eye(side), 0.0
    for i in range(side):
        for j in range(side):
            a[i, j] = 0.5 * (theta[i * side + j] + theta[j * side + i])
            size += a[i, j] * a[i, j]
    if not np.isfinite(size):  # the run has diverged, and must not look as if it had not
        theta[:] = np.nan
        return
    for _ in range(_MOST_SWEEPS):
        beside = 0.0
        for i in range(side):
            for j in range(i):
                beside += a[i, j] * a[i, j]
        if beside <= _ROUNDING * size:
            break
        for i in range(side):
            for j in range(i):
                if a[i, j] != 0:
                    _rotate(a, vectors, i, j)
    theta[:] = 0.0
    for k in range(side):
        if a[k, k] > 0:
            for i in range(side):
                for j in range(side):
                    theta[i * side + j] += a[k, k] * vectors[k, i] * vectors[k, j]


@loop
def _rotate(a, vectors, i, j):  # type: ignore[no-untyped-def]
    """Clear the entry (i, j) of a symmetric matrix by turning its axes i and j."""
    ratio = (a[j, j] - a[i, i]) / (2.0 * a[i, j])
    tangent = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
    tangent = tangent if ratio >= 0 else -tangent
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    for r in range(len(a)):
        one, other = a[r, i], a[r, j]
        a[r, i], a[r, j] = cosine * one - sine * other, sine * one + cosine * other
    for rows in (a, vectors):
        for r in range(len(a)):
            one, other = rows[i, r], rows[j, r]
            rows[i, r], rows[j, r] = cosine * one - sine * other, sine * one + cosine * other
    a[i, j] = a[j, i] = 0.0
