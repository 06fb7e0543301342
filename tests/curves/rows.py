"""Rows of two classes, and values read from their ROC curve one row, or one piece, at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from sklearn.metrics import roc_curve

from pairgossip.arrays import FloatArray

Points = list[tuple[float, float]]


def draw_rows(random: np.random.Generator, *, size: int = 60) -> tuple[FloatArray, FloatArray]:
    """Draw scores of two classes with few or many rows, and often with ties."""
    negatives, positives = random.integers(1, size, 2)
    labels = np.repeat([0.0, 1.0], [negatives, positives])
    scores = random.normal(labels * random.uniform(-0.5, 2.5), 1.0)
    scores = 1 / (1 + np.exp(-scores))
    if random.random() < 0.6:
        scores = scores.round(int(random.integers(1, 3)))
    order = random.permutation(len(labels))
    return scores[order], labels[order]


def list_points(scores: FloatArray, labels: FloatArray) -> Points:
    """Return the corners of a ROC curve as scikit-learn has them."""
    fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
    return list(zip(fpr.tolist(), tpr.tolist(), strict=True))


def turn(points: Points) -> Points:
    """Return the path of specificity over the share of positive rows below."""
    return [(1 - y, 1 - x) for x, y in reversed(points)]


def find_area(points: Points, low: float, high: float) -> float:
    """Return the area below straight pieces between two places, piece by piece."""
    total = 0.0
    for start, stop, (left, right) in _cut(points, low, high):
        total += (stop - start) * (left + right) / 2
    return total


def _cut(
    points: Points, low: float, high: float
) -> Iterator[tuple[float, float, tuple[float, float]]]:
    for (x, y), (to_x, to_y) in pairwise(points):
        start, stop = max(x, low), min(to_x, high)
        if stop > start:
            left, right = (y + (to_y - y) * (at - x) / (to_x - x) for at in (start, stop))
            yield start, stop, (left, right)


def find_heights(points: Points, at: float) -> tuple[float, float]:
    """Return the least and the largest height of a path at a place, where it may rise."""
    heights = [
        y + share * (to_y - y)
        for (x, y), (to_x, to_y) in pairwise(points)
        if x <= at <= to_x
        for share in ((0.0, 1.0) if to_x == x else ((at - x) / (to_x - x),))
    ]
    return min(heights), max(heights)


def split_pieces(points: Points) -> Points:
    """Return the corners of a path and the middles between them."""
    middles = [((x + to_x) / 2, (y + to_y) / 2) for (x, y), (to_x, to_y) in pairwise(points)]
    return points + middles
