"""Thresholds as edges of cells, such that hardly any block of the public tree lies across them.

Rows of a block may lie anywhere in it, so the counts on both sides of a threshold are certain only
if no rows are counted in blocks across it. A site leaves rows in every block with a light half, on
the way down to an edge. So thresholds are where the first halvings are, and all other edges keep
their spacing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import real
from pairgossip.errors import InputError
from pairgossip.text import format_count

_MOST_THRESHOLDS = 15
"""Largest number of thresholds; more are refused."""
_LEAST_WIDTH = 1 / 1024
"""Least width of a new cell, in old cells; closer thresholds are refused."""


def lay_through(edges: FloatArray, thresholds: Sequence[float]) -> FloatArray:
    """Return as many edges, with the same spacing between thresholds, which are among them.

    Only sums, products and quotients are computed, so edges are the same on every machine.

    Parameters
    ----------
    edges
        The edges of the cells, from the lowest to the highest.
    thresholds
        Numbers between the ends, from the lowest to the highest.
    """
    _check(edges, thresholds)
    ends = np.array([edges[0], *thresholds, edges[-1]])
    places = _find_places(edges, ends)
    cells = _share_cells(len(edges) - 1, np.diff(places))
    laid = [edges[:1]]
    for at, count in enumerate(cells.tolist()):
        (first, last), (low, high) = places[at : at + 2].tolist(), ends[at : at + 2].tolist()
        steps = np.arange(1, count) * (last - first) / count
        laid.append(np.append(_interpolate(edges, first + steps), high))
        is_rising = (np.diff(laid[-1], prepend=low) > 0).all()
        if not (is_rising and last - first >= count * _LEAST_WIDTH):
            raise InputError(
                f"No threshold, or end of the range, may be as close to the next as {low:.9g} to "
                f"{high:.9g}: give others, or cells that are finer there."
            )
    return np.concatenate(laid)


def sort_thresholds(given: Sequence[float]) -> tuple[float, ...]:
    """Return the distinct thresholds in ascending order; raise `InputError` for other things."""
    largest = sys.float_info.max
    return tuple(sorted({real("A threshold", one, -largest, largest) for one in given}))


def _check(edges: FloatArray, thresholds: Sequence[float]) -> None:
    low, high = edges[[0, -1]].tolist()
    for one in thresholds:
        if not low < one < high:
            raise InputError(
                f"Threshold {one:g} is not between the ends of all cells, {low:g} and {high:g}: "
                "give one that is."
            )
    count, cells = len(thresholds), len(edges) - 1
    if count > _MOST_THRESHOLDS:
        raise InputError(
            f"There are at most {_MOST_THRESHOLDS} thresholds, not {count}: give fewer."
        )
    if (needed := 1 << count.bit_length()) > cells:
        raise InputError(
            f"{format_count(count, 'threshold')} take {needed} cells, and here are {cells}: give "
            "more cells, or fewer thresholds."
        )


def _find_places(edges: FloatArray, numbers: FloatArray) -> FloatArray:
    """Return the places of numbers, in cells from the lowest edge on."""
    at = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    return np.asarray(at + (numbers - edges[at]) / (edges[at + 1] - edges[at]))


def _interpolate(edges: FloatArray, places: FloatArray) -> FloatArray:
    """Return the numbers at these places."""
    at = np.minimum(places.astype(np.intp), len(edges) - 2)
    return np.asarray(edges[at] + (places - at) * (edges[at + 1] - edges[at]))


def _share_cells(cells: int, widths: FloatArray) -> IntArray:
    """Return the number of cells between neighboring thresholds, in whole parts of the tree.

    The next part always goes where it narrows cells most, if rows are spread evenly over the old
    cells: the sum of squared shares of cells is that of width^2 / parts.
    """
    parts = np.ones(len(widths), dtype=np.intp)
    halvings = (len(widths) - 1).bit_length()
    for _ in range(len(widths), 1 << halvings):
        parts[np.argmax(widths * widths / (parts * (parts + 1)))] += 1
    return np.add.reduceat(_halve(cells, halvings), np.cumsum(parts) - parts)


def _halve(cells: int, times: int) -> IntArray:
    """Return the number of cells of each block on a level of the tree; left ones have one more."""
    sizes = np.array([cells], dtype=np.intp)
    for _ in range(times):
        sizes = np.stack([sizes - sizes // 2, sizes // 2], axis=1).ravel()
    return sizes
