"""Sorting scores, compiled: numba's own sort takes longer to compile than all else together."""

from __future__ import annotations

import numpy as np

from pairgossip.engine.margin_slopes import loop

MOVES = 16
"""Moves per score after which finishing by insertion is given up."""
TINY = 1e-290
"""A spread below which buckets per unit may overflow."""


@loop
def heap_sort(values):  # type: ignore[no-untyped-def]
    """Sort in place, in n log n steps whatever the values."""
    n = len(values)
    for done in range(n + n // 2):
        # First make a heap from the middle down, then move its top behind it again and again.
        if done < n // 2:
            root, end = n // 2 - 1 - done, n
        else:
            root, end = 0, n - 1 - (done - n // 2)
            values[0], values[end] = values[end], values[0]
        value = values[root]
        while 2 * root + 1 < end:
            heir = 2 * root + 1
            if heir + 1 < end and values[heir + 1] > values[heir]:
                heir += 1
            if values[heir] <= value:
                break
            values[root] = values[heir]
            root = heir
        values[root] = value


@loop
def finish(values):  # type: ignore[no-untyped-def]
    """Sort values that are almost sorted in place, by insertion while that is cheap."""
    left = MOVES * len(values)
    for q in range(1, len(values)):
        value = values[q]
        at = q
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value
        left -= q - at
        if left < 0:
            heap_sort(values)
            return


@loop
def bucket(scores, start, counts, out):  # type: ignore[no-untyped-def]
    """Count ``scores - start`` into as many buckets of equal width; write them in that order.

    Afterward bucket k is out[counts[k] : counts[k + 1]]. Return the lowest value, the number of
    buckets per unit (0 where that is no finite number), and the size of the fullest bucket.
    """
    n = len(scores)
    low = high = scores[0]
    for score in scores:
        low = min(low, score)
        high = max(high, score)
    low -= start
    high -= start
    # One bucket for all where they are equal, or so close or far that the scale is no number.
    scale = (n - 1) / (high - low) if np.inf > high - low > TINY else 0.0
    for k in range(n + 2):
        counts[k] = 0
    for q in range(n):
        at = np.int64((scores[q] - start - low) * scale)
        counts[at + 2] += 1
    crowd = 0
    for k in range(2, n + 2):
        crowd = max(crowd, counts[k])
        counts[k] += counts[k - 1]
    for q in range(n):
        at = np.int64((scores[q] - start - low) * scale)
        out[counts[at + 1]] = scores[q] - start
        counts[at + 1] += 1
    return low, scale, crowd
