"""Sums of hinge functions of x - y over all pairs of two sets of scores, by sorting.

With N0(v) the number of x below v and N1(v) the integral of N0, every sum is an integral over v:
of N0 times the number of y + 1 above v for the hinge, of 2 N1 times that number for its square,
and of N1 times the number of y with y < v < y + 1 for the smoothed hinge. Between two scores N0
and the counts are constant and N1 is straight: the integrals are sums, and no term is negative.
"""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.losses.phi import Phi

COARSE = 2.0**50
"""Scores so far above the lowest x that adding 1 to them means nothing."""


def hinge_sums(above: FloatArray, below: FloatArray, phi: Phi) -> FloatArray:
    """Sum phi(x - y) over x in a row of `above` and y in the same row of `below`.

    Takes shapes (r, a) and (r, b), returns shape (r,).
    """
    # Only y near or above the lowest x matter: measured from there, they round least.
    start = above.min(axis=1, keepdims=True)
    x, y = above - start, below - start
    if phi is Phi.SMOOTHED_HINGE:
        return _smoothed_sums(x, y)
    gaps, kinds = _gaps(x, y + 1.0)
    passed = np.cumsum(kinds == 0, axis=1, dtype=np.float64)
    weights = gaps * (y.shape[1] - np.cumsum(kinds == 1, axis=1))
    if phi is Phi.HINGE:
        return np.einsum("ij,ij->i", weights, passed)
    return np.einsum("ij,ij->i", weights, _doubled_means(gaps, passed))


def _smoothed_sums(x: FloatArray, y: FloatArray) -> FloatArray:
    # Where y + 1 cannot be told from y, the smooth part of the function is beyond rounding.
    coarse = y.max(axis=1) >= COARSE
    if coarse.any():
        sums = np.empty(len(x))
        sums[~coarse] = _smoothed_sums(x[~coarse], y[~coarse])
        gaps, kinds = _gaps(x[coarse], y[coarse] + 0.5)
        open_ends = y.shape[1] - np.cumsum(kinds == 1, axis=1)
        sums[coarse] = np.sum(gaps * open_ends * np.cumsum(kinds == 0, axis=1), axis=1)
        return sums
    gaps, kinds = _gaps(x, y + 1.0, y)
    passed = np.cumsum(kinds == 0, axis=1, dtype=np.float64)
    weights = gaps * np.cumsum((kinds == 2).astype(np.intp) - (kinds == 1), axis=1)
    return 0.5 * np.einsum("ij,ij->i", weights, _doubled_means(gaps, passed))


def _gaps(*cuts: FloatArray) -> tuple[FloatArray, IntArray]:
    """Sort several kinds of cuts together: the gaps between cuts, the kind before each gap."""
    merged = np.concatenate(cuts, axis=1)
    order = np.argsort(merged, axis=1)
    kinds = np.repeat(np.arange(len(cuts), dtype=np.int8), [kind.shape[1] for kind in cuts])
    return np.diff(np.take_along_axis(merged, order, axis=1), axis=1), kinds[order[:, :-1]]


def _doubled_means(gaps: FloatArray, passed: FloatArray) -> FloatArray:
    """Return twice the mean over each gap of N1, the number of x passed, integrated."""
    rises = gaps * passed
    return np.asarray(2.0 * np.cumsum(rises, axis=1) - rises)
