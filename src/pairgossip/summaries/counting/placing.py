"""The cells of numbers, and the number of rows of each cell, by NumPy or by compiled loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.axes import Axis, Labels

_UNEVEN = 8
"""Number of slots per cell where cells have different widths."""
_MOST_SLOTS = 1 << 20
"""Largest number of slots; a larger table exceeds the cache of a processor."""


class Placing:
    """The cells of a column, ready for many values.

    The range is cut into even slots. Numbers and slots rise together, so the slots of an edge and
    of the number just below it give the possible cells of each slot's numbers: one or two where
    cells are even; otherwise a search between the two ends remains.
    """

    def __init__(self, axis: Axis) -> None:
        places = axis.places
        self.axis, self.low, self.high = axis, float(places[0]), float(places[-1])
        self.is_exact = isinstance(axis, Labels)
        # The upper end belongs to the last cell.
        edges = places if self.is_exact else places[:-1]
        self.edges = np.append(edges, np.inf)
        self.scale, slots = self._scale(places, len(edges))
        below = np.append(edges[:1], np.nextafter(edges[1:], -np.inf))
        at, before = self._find_slots(edges), self._find_slots(below)
        every = np.arange(slots + 2)
        self.first = (np.searchsorted(before, every) - 1).clip(0).astype(np.int32)
        self.last = (np.searchsorted(at, every, side="right") - 1).astype(np.int32)
        self.mode = min(int((self.last - self.first).max()), 2)
        """Most edges in a slot, or 2 for more, as the compiled loop takes it."""

    def _scale(self, places: FloatArray, cells: int) -> tuple[float, int]:
        """Return the number of slots per unit, and the number of slots."""
        steps, width = len(places) - 1, self.high - self.low
        if not steps or not 0 < width < math.inf:
            return 0.0, 1
        widths = np.diff(places)
        is_even = 0.99 * widths.max() < widths.min()
        slots = steps if is_even else min(_UNEVEN * cells, _MOST_SLOTS)
        scale = slots / width
        return (scale, slots) if math.isfinite(scale) else (0.0, 1)

    def _find_slots(self, values: FloatArray) -> IntArray:
        if not self.scale:  # differences of numbers may be too large
            return np.zeros(len(values), dtype=np.int64)
        return ((values - self.low) * self.scale).astype(np.int64)

    def find_cells(self, values: FloatArray, loops: Any) -> NDArray[np.int32] | None:
        """Return the cell of every value, by compiled loops if they are installed.

        None if a value is in no cell.
        """
        if loops is None or not self.scale:
            return self._find_plainly(values)
        cells = np.empty(len(values), dtype=np.int32)
        table = (self.edges, self.first, self.last)
        how = (self.low, self.high, self.scale, self.mode, self.is_exact)
        is_placed = loops.find_cells(np.ascontiguousarray(values), *table, *how, cells)
        return cells if is_placed else None

    def _find_plainly(self, values: FloatArray) -> NDArray[np.int32] | None:
        if not ((values >= self.low) & (values <= self.high)).all():
            return None
        cells = self.axis.find_bins(values)
        if self.is_exact and (self.edges[cells] != values).any():
            return None
        return cells.astype(np.int32)


def add_rows(cells: IntArray, codes: IntArray, counts: IntArray, loops: Any) -> None:
    """Add rows to the counts of their codes and cells, shape (codes, cells), in place."""
    width = counts.shape[1]
    if loops is None:
        flat = codes.astype(np.intp) * width + cells
        counts += np.bincount(flat, minlength=counts.size).reshape(counts.shape)
    else:
        loops.add_rows(cells, codes, width, counts.reshape(-1))
