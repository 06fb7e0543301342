"""Scores laid out in panels of width 2, and their Chebyshev moments panel by panel.

A score is s = 2 k + t with a whole number k, its panel, and t in [-1, 1]; both are exact. Only
panels that hold scores are kept, and distances are bounded, so that scores may spread at will.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray

IndexArray = NDArray[np.intp]

WIDTH = 2.0
FAR = 512
"""A distance in panels over which exponentials have vanished: e^-1024 is 0."""
BLOCK = 2**14
"""How many scores are summed at a time: they stay in the cache, and short sums round less."""


@dataclass(frozen=True)
class Side:
    """One set of scores, several rows of it: the panels it occupies and its moments there.

    Attributes
    ----------
    panel, row
        The panels, as whole numbers, and the rows they belong to, row by row and upward.
    moments
        The sums of T_0, T_1, ... over the scores of each panel, shape (panels, degree).
    """

    panel: FloatArray
    row: IndexArray
    moments: FloatArray


@dataclass(frozen=True)
class Panels:
    """The panels of two sides together, row by row and upward within a row.

    Attributes
    ----------
    row
        The row each panel belongs to.
    gap
        The distance, in panels, to the previous panel of the row; 0 for a row's first.
    position
        Where each panel is: true distances where small, at least `FAR` otherwise and between
        rows.
    """

    row: IndexArray
    gap: FloatArray
    position: NDArray[np.int64]

    def up_to(self, values: FloatArray) -> FloatArray:
        """Sum values over the panels of the same row up to each panel, itself included."""
        sums = np.cumsum(values)
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        before = np.concatenate(([0.0], sums))[starts]
        return np.asarray(sums - np.repeat(before, np.diff(starts, append=len(sums))))

    def spread(self, at: IndexArray, values: FloatArray) -> FloatArray:
        """Write a side's values, one per panel of its own, among zeros for the other panels."""
        everywhere = np.zeros((len(self.row), *values.shape[1:]))
        everywhere[at] = values
        return everywhere


def lay_out(scores: FloatArray, degree: int) -> Side:
    """Find the panels of scores (r, n), and the scores' moments up to a degree, not included."""
    ordered = np.sort(scores, axis=1)
    panels = np.rint(ordered / WIDTH)
    begins = np.ones(ordered.shape, dtype=np.bool_)
    begins[:, 1:] = panels[:, 1:] != panels[:, :-1]
    starts = np.flatnonzero(begins)
    places = (ordered - WIDTH * panels).ravel()
    moments = _moments(places, starts, degree)
    return Side(panels.ravel()[starts], starts // ordered.shape[1], moments)


def join(first: Side, second: Side) -> tuple[Panels, IndexArray, IndexArray]:
    """Put the panels of two sides in one order, and find each side's panels among them."""
    panel = np.concatenate((first.panel, second.panel))
    row = np.concatenate((first.row, second.row))
    order = np.lexsort((panel, row))
    panel, row = panel[order], row[order]
    same_row = np.diff(row, prepend=-1) == 0
    gaps = np.where(same_row, np.diff(panel, prepend=panel[:1]), 0.0)
    kept = ~same_row | (gaps > 0)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.cumsum(kept) - 1
    steps = np.where(same_row, np.minimum(gaps, FAR), FAR)[kept].astype(np.int64)
    joined = Panels(row[kept], gaps[kept], np.cumsum(steps))
    return joined, place[: len(first.panel)], place[len(first.panel) :]


def _moments(places: FloatArray, starts: IndexArray, degree: int) -> FloatArray:
    """Sum the polynomials over runs of places, block by block."""
    sums = np.zeros((len(starts), degree))
    for begin in range(0, len(places), BLOCK):
        block = places[begin : begin + BLOCK]
        first = int(np.searchsorted(starts, begin, side="right")) - 1
        last = int(np.searchsorted(starts, begin + len(block)))
        runs = np.maximum(starts[first:last] - begin, 0)
        _add_moments(sums[first:last], block, runs)
    return sums


def _add_moments(sums: FloatArray, places: FloatArray, runs: IndexArray) -> None:
    sums[:, 0] += np.diff(runs, append=len(places))
    before, now = np.ones(len(places)), places.copy()
    twice, product = 2.0 * places, np.empty(len(places))
    for k in range(1, sums.shape[1]):
        sums[:, k] += np.add.reduceat(now, runs)
        # T_(k+1) = 2 t T_k - T_(k-1), written over T_(k-1).
        np.multiply(twice, now, out=product)
        np.subtract(product, before, out=before)
        before, now = now, before
