"""Sums of hinge functions of x - y over two sets of scores, compiled: the twin of `hinge_sums`.

Scores are counted into buckets. That alone is enough for the hinge and its square; the others, and
scores that crowd, are sorted, and the integrals are those of `pairgossip.losses.hinge_sums`.
"""

from __future__ import annotations

import numpy as np

from pairgossip.engine.margin_slopes import SMOOTHED_HINGE, SQUARED_HINGE, loop
from pairgossip.engine.sorting_loops import bucket, finish
from pairgossip.losses.hinge_sums import COARSE

CROWDED = 24
"""Scores in one bucket beyond which all are sorted."""


@loop
def bucket_sum(x, counts, low, scale, below, start, squared):  # type: ignore[no-untyped-def]
    """Sum the hinge or its square without sorting, for x counted into buckets that do not crowd.

    Of the x before a bucket only their number and the sums of their distances to its lower edge,
    and of the squares, are needed; they grow from bucket to bucket, and no term is negative.
    """
    n = len(x)
    width = 1.0 / scale
    sums = np.zeros((n + 1, 2))
    for k in range(n):
        edge = low + (k + 1) * width
        area, square = sums[k]
        square += width * (2.0 * area + width * counts[k])
        area += width * counts[k]
        for q in range(counts[k], counts[k + 1]):
            gap = max(edge - x[q], 0.0)
            area += gap
            square += gap * gap
        sums[k + 1, 0] = area
        sums[k + 1, 1] = square
    total = 0.0
    for score in below:
        end = score - start + 1.0
        if end <= low:
            continue
        at = np.int64(min((end - low) * scale, float(n)))
        over = max(end - (low + at * width), 0.0)
        area, square = sums[at]
        passed = counts[at]
        if squared:
            total += square + over * (2.0 * area + over * passed)
        else:
            total += area + over * passed
        if at < n:
            for q in range(passed, counts[at + 1]):
                gap = max(end - x[q], 0.0)
                total += gap * gap if squared else gap
    return total


@loop
def sweep(x, y, shift, squared):  # type: ignore[no-untyped-def]
    """Integrate the number of x passed, or twice its integral, times the number of y ahead.

    ``y`` counts as ahead up to y + shift; both are sorted, and x starts at 0.
    """
    total = area = passed = previous = 0.0
    i = j = 0
    while j < len(y):
        end = y[j] + shift
        is_x = i < len(x) and x[i] <= end
        here = x[i] if is_x else end
        if passed > 0:
            gap = here - previous
            rise = gap * passed
            area += rise
            total += gap * (len(y) - j) * (2.0 * area - rise if squared else passed)
        previous = here
        if is_x:
            passed += 1.0
            i += 1
        else:
            j += 1
    return total


@loop
def smoothed_sweep(x, y):  # type: ignore[no-untyped-def]
    """Integrate the area passed times the number of y that are less than 1 behind."""
    total = area = passed = previous = 0.0
    i = j = opened = 0
    while j < len(y):
        here = y[j] + 1.0
        kind = 1
        if opened < len(y) and y[opened] <= here:
            here = y[opened]
            kind = 2
        if i < len(x) and x[i] <= here:
            here = x[i]
            kind = 0
        if passed > 0:
            gap = here - previous
            rise = gap * passed
            area += rise
            total += gap * (opened - j) * (2.0 * area - rise)
        previous = here
        if kind == 0:
            passed += 1.0
            i += 1
        elif kind == 1:
            j += 1
        else:
            opened += 1
    return 0.5 * total


@loop
def hinge_sum(above, below, phi, counts, ordered):  # type: ignore[no-untyped-def]
    """Sum phi(x - y) over x in ``above`` and y in ``below``, both finite."""
    start = above[0]
    for score in above:
        start = min(start, score)
    x = ordered[0, : len(above)]
    y = ordered[1, : len(below)]
    squared = phi == SQUARED_HINGE
    low, scale, crowd = bucket(above, start, counts, x)
    if phi != SMOOTHED_HINGE and scale > 0 and crowd <= CROWDED:
        return bucket_sum(x, counts, low, scale, below, start, squared)
    finish(x)
    bucket(below, start, counts, y)
    finish(y)
    if phi != SMOOTHED_HINGE:
        return sweep(x, y, 1.0, squared)
    # Where y + 1 cannot be told from y, the smooth part of the function is beyond rounding.
    return smoothed_sweep(x, y) if y[-1] < COARSE else sweep(x, y, 0.5, False)
