"""Risks of ranking losses over all pairs, in near-linear time: only scores and labels matter."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.losses.hinge_sums import hinge_sums
from pairgossip.losses.logistic_sums import logistic_sums
from pairgossip.losses.phi import Margin, Phi

NUMBERS_PER_CHUNK = 2**17
"""How many scores of several models are worked on at once: 1 MB."""
PAIRS_PER_MODEL = 2**11
PAIRS_IN_ALL = 2**14
"""Up to either of these, evaluating every pair is faster than anything clever."""


def ranking_risks(thetas: FloatArray, data: FloatArray, phi: Margin) -> FloatArray:
    """Average 1{l > l'} phi(theta . (x - x')) over all ordered pairs, for models (r, p)."""
    features = centered(data[:, :-1])
    order = np.argsort(data[:, -1], kind="stable")
    ordered, labels = features[order], data[order, -1]
    step = max(1, NUMBERS_PER_CHUNK // len(data))
    chunks = [
        ordered_sums(thetas[start : start + step] @ ordered.T, labels, phi)
        for start in range(0, len(thetas), step)
    ]
    return np.concatenate([np.empty(0), *chunks]) / len(data) ** 2


def centered(features: FloatArray) -> FloatArray:
    """Put the middle of every column at 0: differences do not see an offset, but rounding does."""
    return features - (0.5 * features.min(axis=0) + 0.5 * features.max(axis=0))


def ordered_sums(scores: FloatArray, labels: FloatArray, phi: Margin) -> FloatArray:
    """Sum phi(s_i - s_j) over pairs with label_i > label_j, for scores (r, n) by rising label.

    The labels are halved again and again: pairs of two halves are pairs of two classes.
    """
    sums = np.zeros(len(scores))
    finite = np.isfinite(scores).all(axis=1)
    sums[~finite] = np.nan
    usable = scores if finite.all() else scores[finite]
    if not len(usable):
        return sums
    totals = np.zeros(len(usable))
    waiting = [(0, len(labels))]
    with np.errstate(over="ignore", invalid="ignore"):
        while waiting:
            start, end = waiting.pop()
            if labels[start] == labels[end - 1]:
                continue
            if _few(len(usable), (end - start) ** 2 // 4):
                totals += _masked_sums(usable[:, start:end], labels[start:end], phi)
                continue
            middle = boundary(labels, start, end)
            totals += two_class_sums(usable[:, middle:end], usable[:, start:middle], phi)
            waiting += [(start, middle), (middle, end)]
    sums[finite] = totals
    return sums


def two_class_sums(above: FloatArray, below: FloatArray, phi: Margin) -> FloatArray:
    """Sum phi(x - y) over x in a row of `above` and y in the same row of `below`."""
    if _few(len(above), above.shape[1] * below.shape[1]):
        margins = above[:, :, None] - below[:, None, :]
        return np.asarray(phi.value(margins).sum(axis=(1, 2)))
    if phi.code is Phi.LOGISTIC:
        return logistic_sums(above, below)
    return hinge_sums(above, below, phi.code)


def _few(models: int, pairs: int) -> bool:
    return pairs <= PAIRS_PER_MODEL or models * pairs <= PAIRS_IN_ALL


def _masked_sums(scores: FloatArray, labels: FloatArray, phi: Margin) -> FloatArray:
    higher, lower = np.nonzero(labels[:, None] > labels[None, :])
    return np.asarray(phi.value(scores[:, higher] - scores[:, lower]).sum(axis=1))


def boundary(labels: FloatArray, start: int, end: int) -> int:
    """Find where the label changes, nearest to the middle of a span."""
    middle = (start + end) // 2
    left, right = (
        int(np.searchsorted(labels[start:end], labels[middle], side)) + start
        for side in ("left", "right")
    )
    if left == start:
        return right
    if right == end:
        return left
    return left if middle - left <= right - middle else right
