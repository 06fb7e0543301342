"""Bounds of a survival curve that hold wherever in their blocks the rows are.

The product of Kaplan and Meier depends on the order of the rows alone: with r rows at risk, an
event multiplies it by (r - 1)/r, and tied events by the same product. So at any time t

- a censoring that moves before an event takes the event's factor from (r - 1)/r down to
  (r - 2)/(r - 1), and one that moves from beyond t to before it does so with all later events;
- an event that moves from beyond t to just before it adds a factor, and nothing else changes.

So the least product up to t has every censoring as early, and every event as late as its block
allows, but before t if it can be; the largest has every event that must be before t as early, and
all other events and censorings as late as possible. Each row can move by itself, so both ends are
attained. Inside a cell that is one number, events come first by convention.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.axes import Axis
from pairgossip.counts.bounds import Blocks
from pairgossip.survival.life_table import HALF

_MOST_EDGES = 1 << 13
"""Largest number of edges at which blocks of several cells are followed one by one; if there are
more, only some are, and the others take the end of a neighbor."""
_EPSILON = float(np.finfo(np.float64).eps)


class CurveBounds(NamedTuple):
    """The ends of a curve and of the number at risk before every cell and after the last."""

    axis: Axis
    least: FloatArray
    most: FloatArray
    fewest_at_risk: FloatArray
    most_at_risk: FloatArray

    def at(self, time: FloatArray, *, before: bool) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the share that survives each time, or that reaches it."""
        begun, passed = self._find_cells(time, before=before)
        return self.least[begun], self.most[passed]

    def at_risk(self, time: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the number of rows with each time or a later one."""
        begun, passed = self._find_cells(time, before=True)
        return self.fewest_at_risk[begun], self.most_at_risk[passed]

    def _find_cells(self, time: FloatArray, *, before: bool) -> tuple[IntArray, IntArray]:
        """Return the number of cells that begin up to a time, or before it, and of those that
        end."""
        low, high = self.axis.ends
        begun = np.searchsorted(low, time, side="left" if before else "right")
        if self.axis.ties_known:
            return begun, begun
        passed = np.searchsorted(high, time, side="right")
        # Only the last cell holds its upper edge.
        return begun, np.where(before & (time == high[-1]), len(high) - 1, passed)

    def median(self) -> tuple[float, float]:
        """Return the ends of the first time that at most half survive; infinite if there is none.

        A curve that lies above 1/2 just before an edge has not passed it before that edge.
        """
        low, high = self.axis.ends
        above, below = (np.flatnonzero(one <= HALF) for one in (self.least, self.most))
        first = low[above[0] - 1] if len(above) else np.inf
        last = high[below[0] - 1] if len(below) else np.inf
        return float(first), float(last)


def bound_curve(blocks: Blocks) -> CurveBounds:
    """Bound the curve of rows in blocks of one axis; class 0 is censored, and class 1 is events."""
    axis, tree = blocks.axes[0], blocks.tree
    first, last = (tree.place(blocks.counts, is_last=side) for side in (False, True))
    n = blocks.n
    starts, stops = (_pad(np.cumsum(one.sum(axis=0))) for one in (first, last))
    slack = 3 * _EPSILON * (n + len(starts))  # rounding error of a product of this many factors
    least = _find_least(n, first, last, ties_known=axis.ties_known)
    most = _find_most(n, blocks, last[0])
    return CurveBounds(
        axis,
        np.maximum(least - slack, 0.0),
        np.minimum(most + slack, 1.0),
        n - starts,
        n - stops,
    )


def _find_least(n: float, first: FloatArray, last: FloatArray, *, ties_known: bool) -> FloatArray:
    """Return the least product before every cell and after the last.

    Events are in their last cells, but those of blocks across an edge are just before it.
    """
    censored = np.cumsum(first[0]) - (first[0] if ties_known else 0.0)
    failed = np.cumsum(last[1])
    at_risk = n - censored - (failed - last[1])
    going_on = np.cumsum(first[1]) - failed
    passed = _pad(np.asarray(np.cumprod(_shares(at_risk, last[1]))), 1.0)
    return _pad(passed[:-1] * _shares(at_risk, last[1] + going_on), 1.0)


def _find_most(n: float, blocks: Blocks, censored: FloatArray) -> FloatArray:
    """Return the largest product before every cell and after the last.

    Events are in their first cells, and those of blocks across an edge are not counted.
    """
    tree, events = blocks.tree, blocks.counts[1]
    failed = tree.place(events, is_last=False)
    remaining = n - _pad(np.cumsum(censored))[:-1]
    most = _pad(_multiply(remaining, failed), 1.0)
    wide = np.flatnonzero((events > 0) & ~tree.is_cell)
    starts, stops = (box[wide, 0] for box in tree.boxes)
    goes_on = np.zeros(len(most) + 1)
    np.add.at(goes_on, starts + 1, 1)
    np.add.at(goes_on, stops + 1, -1)
    edges = np.flatnonzero(np.cumsum(goes_on)[:-1])
    most[edges] = np.inf
    for edge in edges[:: 1 + len(edges) // _MOST_EDGES]:
        passes = (starts < edge) & (stops >= edge)
        left = failed[:edge] - np.bincount(starts[passes], events[wide[passes]], edge)[:edge]
        most[edge] = _multiply(remaining[:edge], left)[-1]
    return np.minimum.accumulate(most)  # it never rises, so each edge bounds later ones


def _multiply(remaining: FloatArray, failed: FloatArray) -> FloatArray:
    """Return the products of the shares of rows at risk that do not fail at each event."""
    return np.asarray(np.cumprod(_shares(remaining - (np.cumsum(failed) - failed), failed)))


def _shares(at_risk: FloatArray, failed: FloatArray) -> FloatArray:
    """Return the share of rows at risk that does not fail; 1 if no rows are at risk."""
    return 1 - failed / np.where(failed > 0, at_risk, 1.0)


def _pad(values: FloatArray, start: float = 0.0) -> FloatArray:
    """Return numbers after cells with the one before the first cell."""
    return np.concatenate([[start], values])
