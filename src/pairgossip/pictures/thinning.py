"""Thin lines of many points to the points that can be seen: a curve may have a million."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray

TOLERANCE = 0.08
"""Largest error of a thinned line, in pixels; no screen or printer shows less."""
_COLUMN = 0.25
"""Width of a column of pixels of which only the outermost points are kept, in pixels."""
_FEW = 1_000
"""Number of points up to which all are examined."""


def thin_line(x: FloatArray, y: FloatArray) -> IntArray:
    """Return the indices of the points that a line needs; its coordinates are finite pixels."""
    kept = np.arange(len(x)) if len(x) <= _FEW else _find_outermost(x, y)
    return kept[_find_corners(x[kept], y[kept])]


def _find_outermost(x: FloatArray, y: FloatArray) -> IntArray:
    """Return the first, last, lowest and highest point of each visit to a column of pixels."""
    column = np.floor(x / _COLUMN)
    is_first = np.concatenate(([True], column[1:] != column[:-1]))
    starts = np.flatnonzero(is_first)
    is_kept = is_first | np.append(is_first[1:], True)
    visit = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(x)))
    for ends in (np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)):
        outermost = np.flatnonzero(y == ends[visit])
        is_kept[outermost[np.diff(visit[outermost], prepend=-1) > 0]] = True
    return np.flatnonzero(is_kept)


def _find_corners(x: FloatArray, y: FloatArray) -> BoolArray:
    """Return which points to keep so that all others lie close to a line between two of them.

    These are the points of Ramer, Douglas and Peucker: a stretch is split at the point that is
    farthest from its chord, as long as its distance can be seen.
    """
    is_kept = np.zeros(len(x), dtype=np.bool_)
    is_kept[[0, -1]] = True
    open_stretches = [(0, len(x) - 1)]
    while open_stretches:
        start, stop = open_stretches.pop()
        if stop - start < 2:
            continue
        distances = _find_distances(x[start : stop + 1], y[start : stop + 1])
        farthest = start + int(distances.argmax())
        if distances[farthest - start] > TOLERANCE:
            is_kept[farthest] = True
            open_stretches += [(start, farthest), (farthest, stop)]
    return is_kept


def _find_distances(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the distances of points from the chord between the first and the last."""
    along, up = x[-1] - x[0], y[-1] - y[0]
    length = max(along * along + up * up, 1e-12)
    share = np.clip(((x - x[0]) * along + (y - y[0]) * up) / length, 0.0, 1.0)
    return np.hypot(x - x[0] - share * along, y - y[0] - share * up)
