"""Sums over all ordered pairs (k, l), own pairs included, in O(n log n) instead of O(n^2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.kernels.counting import (
    ascending_pairs,
    pairs_above,
    pairs_above_at_ties,
    tied_pairs,
)


def variance_total(data: FloatArray) -> float:
    """Sum (x - y)^2 / 2."""
    centered = data - data.mean()
    # The last term removes what the rounding of the mean leaves behind.
    return float(len(data) * np.sum(centered**2) - np.sum(centered) ** 2)


def variance_rows(data: FloatArray) -> FloatArray:
    """Sum (x_k - y)^2 / 2 over y, for every k."""
    centered = data - data.mean()
    squares = len(data) * centered**2 + np.sum(centered**2)
    return np.asarray(0.5 * (squares - 2.0 * centered * np.sum(centered)))


def gini_total(data: FloatArray) -> float:
    """Sum |x - y|."""
    gaps = np.diff(np.sort(data))
    below = np.arange(1.0, len(data))
    # A gap is crossed by every pair with one end on each side; no term is negative.
    return float(2.0 * np.sum(gaps * below * (len(data) - below)))


def gini_rows(data: FloatArray) -> FloatArray:
    """Sum |x_k - y| over y, for every k."""
    order = np.argsort(data, kind="stable")
    gaps = np.diff(data[order])
    below = np.arange(1.0, len(data))
    from_below = np.concatenate(([0.0], np.cumsum(gaps * below)))
    from_above = np.concatenate((np.cumsum((gaps * (len(data) - below))[::-1])[::-1], [0.0]))
    rows = np.empty(len(data))
    rows[order] = from_below + from_above
    return rows


def agreement_total(data: FloatArray) -> float:
    """Sum +1 at pairs the two columns order alike and -1 at pairs they order oppositely."""
    alike, opposite = _ordered_pairs(data)
    return 2.0 * (alike - opposite)


def discordance_total(data: FloatArray) -> float:
    """Sum 1 at pairs that the two columns order oppositely."""
    return 2.0 * _ordered_pairs(data)[1]


def _ordered_pairs(data: FloatArray) -> tuple[int, int]:
    """Count the unordered pairs that the two columns order alike, and oppositely."""
    x, y = data[:, 0], data[:, 1]
    n = len(data)
    alike = ascending_pairs(x, y, np.ones(n, dtype=np.bool_))
    tied = tied_pairs(x) + tied_pairs(y) - tied_pairs(x, y)
    return alike, n * (n - 1) // 2 - alike - tied


def comparable_total(data: FloatArray) -> float:
    """Sum 1 at pairs whose outcomes differ, the smaller one being an event."""
    return 2.0 * pairs_above(data[:, 1], _events(data))


def concordant_total(data: FloatArray, ties: float) -> float:
    """Sum 1 at comparable pairs predicted in order and `ties` at those predicted equal."""
    prediction, outcome, events = data[:, 0], data[:, 1], _events(data)
    agree = ascending_pairs(outcome, prediction, events)
    return 2.0 * (agree + ties * pairs_above_at_ties(outcome, prediction, events))


def _events(data: FloatArray) -> BoolArray:
    return data[:, 2] != 0 if data.shape[1] == 3 else np.ones(len(data), dtype=np.bool_)


def higher_label_total(data: FloatArray) -> float:
    """Sum 1 at pairs (k, l) of a higher and a lower label, of two labels."""
    positives = int(np.count_nonzero(data[:, 1] == data[:, 1].max()))
    return float(positives * (len(data) - positives))


def higher_label_and_score_total(data: FloatArray, ties: float) -> float:
    """Sum 1 at pairs (k, l) of a higher and a lower label scored in order, `ties` if equal."""
    high = data[:, 1] == data[:, 1].max()
    positives, negatives = np.sort(data[high, 0]), np.sort(data[~high, 0])
    below = int(np.searchsorted(negatives, positives, side="left").sum())
    up_to = int(np.searchsorted(negatives, positives, side="right").sum())
    return below + ties * (up_to - below)


def squared_scatter_total(data: FloatArray) -> float:
    """Sum ||x - y||^2 within the clusters of the last column."""
    _, sizes, squares, sums, _ = _clusters(data)
    return float(2.0 * np.sum(sizes * squares - np.sum(sums**2, axis=1)))


def squared_scatter_rows(data: FloatArray) -> FloatArray:
    """Sum ||x_k - y||^2 over y in the cluster of x_k, for every k."""
    cluster, sizes, squares, sums, centered = _clusters(data)
    own = sizes[cluster] * np.sum(centered**2, axis=1)
    return np.asarray(own + squares[cluster] - 2.0 * np.sum(centered * sums[cluster], axis=1))


def _clusters(
    data: FloatArray,
) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray, FloatArray, FloatArray]:
    """Center each cluster: every row's cluster, then sizes, sums of squares and sums, rows."""
    cluster = np.unique(data[:, -1], return_inverse=True)[1]
    sizes = np.bincount(cluster)

    def sums(features: FloatArray) -> FloatArray:
        return np.stack([np.bincount(cluster, weights=column) for column in features.T], axis=1)

    centered = data[:, :-1] - (sums(data[:, :-1]) / sizes[:, None])[cluster]
    squares = np.bincount(cluster, weights=np.sum(centered**2, axis=1)).astype(np.float64)
    return cluster, sizes, squares, sums(centered), centered
