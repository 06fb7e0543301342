"""Knowledge about rows from reports in the blocks of a tree: what is certain, and what is likely.

Rows that arrive at a block of the tree have consecutive ranks in their site, so all that a report
reveals is how many rows lie below some edges of cells: exactly, at most, at least, or either at
most one number or at least another. The number of rows below an edge grows from edge to edge, which
makes the knowledge from any number of reports of the same rows a chain: two passes find the least
and the largest number below every edge, without enumerating tables. Where several sets of rows add
up to another, bounds are passed between them until nothing changes: these bounds are valid, but
perhaps not the tightest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy import stats

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.counts.tree import lay_tree

_ROUNDS = 30


@lru_cache(maxsize=16)
def lay_blocks(cells: int) -> dict[tuple[int, int], int]:
    """Return the number of the block from one edge to another."""
    first, last = lay_tree((cells,)).boxes
    ends = zip(first[:, 0].tolist(), last[:, 0].tolist(), strict=True)
    return {(low, high + 1): number for number, (low, high) in enumerate(ends)}


def count(edges: FloatArray, values: FloatArray) -> IntArray:
    """Return the number of values in every cell."""
    places = np.searchsorted(edges, values, side="right") - 1
    return np.bincount(np.minimum(places, len(edges) - 2), minlength=len(edges) - 1)


def report(edges: FloatArray, values: FloatArray, least: int) -> IntArray:
    """Return what a site reports of these values, by the code that real sites run."""
    return lay_tree((len(edges) - 1,)).report(count(edges, values), least)


class Knowledge:
    """Knowledge about how many of some rows lie below every edge.

    Parameters
    ----------
    edges
        All edges that are used, in ascending order; no rows lie outside.
    rows
        The number of rows, which is taken to be known.
    """

    def __init__(self, edges: FloatArray, rows: int) -> None:
        self.edges = edges
        self.low: IntArray = np.zeros(len(edges), dtype=np.intp)
        self.high: IntArray = np.full(len(edges), rows, dtype=np.intp)
        self.low[-1], self.high[0] = rows, 0
        self.gaps: list[tuple[int, int, int]] = []
        """Edges, each with two numbers: at most the first or at least the second lie below it."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.high[-1])

    def _bound(self, edge: int, low: int, high: int) -> None:
        self.low[edge] = max(self.low[edge], low)
        self.high[edge] = min(self.high[edge], high)

    def hear(self, edges: FloatArray, reported: IntArray, least: int) -> None:
        """Learn from what one site reported of these rows; a report of zeros only is ignored."""
        at = np.searchsorted(self.edges, edges).tolist()
        numbers, cells = lay_blocks(len(edges) - 1), len(edges) - 1
        own = reported.tolist()
        below = _add_up(numbers, own, (0, cells))
        if below[0, cells] != self.rows or not self.rows:
            return
        self._bound(at[0], 0, 0)
        self._bound(at[-1], self.rows, self.rows)
        pending = [(0, cells, 0, self.rows)]  # a block, and the ranks that arrive at it
        while pending:
            first, last, start, end = pending.pop()
            middle, rows = _middle(first, last), end - start
            if last - first == 1 or rows == 0 or (least > 1 and rows < 2 * least):
                continue
            stays, left = own[numbers[first, last]], below[first, middle]
            if stays == 0:
                self._bound(at[middle], start + left, start + left)
                pending += [(first, middle, start, start + left), (middle, last, start + left, end)]
            elif stays == rows:
                self.gaps.append((at[middle], start + least - 1, end - least + 1))
            elif left == 0:
                self._bound(at[middle], 0, start + least - 1)
                pending.append((middle, last, start + least, end))
            else:
                self._bound(at[middle], end - least + 1, self.rows)
                pending.append((first, middle, start, end - least))

    def hear_sum(self, edges: FloatArray, reported: IntArray) -> None:
        """Learn from the sum of what several sites reported: rows lie somewhere in their block."""
        if reported.sum() != self.rows:
            return
        tree, at = lay_tree((len(edges) - 1,)), np.searchsorted(self.edges, edges)
        ends = [
            np.append(0, np.cumsum(tree.place(reported.astype(float), is_last=side))).astype(int)
            for side in (True, False)
        ]
        self.low[at] = np.maximum(self.low[at], ends[0])
        self.high[at] = np.minimum(self.high[at], ends[1])

    def close(self) -> None:
        """Draw conclusions from edge to edge: no more rows are below an earlier one."""
        gaps = np.array(self.gaps, dtype=np.intp).reshape(-1, 3).T
        while True:
            before = self.low.copy(), self.high.copy()
            at, most, least = gaps
            is_in = (most < self.low[at]) & (self.low[at] < least)
            np.maximum.at(self.low, at[is_in], least[is_in])
            is_in = (most < self.high[at]) & (self.high[at] < least)
            np.minimum.at(self.high, at[is_in], most[is_in])
            self.low = np.maximum.accumulate(self.low)
            self.high = np.minimum.accumulate(self.high[::-1])[::-1]
            if (before[0] == self.low).all() and (before[1] == self.high).all():
                break
        assert (self.low <= self.high).all(), "reports contradict one another"

    def check(self, values: FloatArray) -> None:
        """Assert that the truth is possible."""
        truth = np.searchsorted(np.sort(values), self.edges, side="left")
        assert ((self.low <= truth) & (truth <= self.high)).all(), "the truth is out of bounds"
        assert all(not most < truth[at] < least for at, most, least in self.gaps)

    def place(self, most: int) -> BoolArray:
        """Mark the cells of intervals that hold at least one row and at most this many."""
        marks = np.zeros(len(self.edges), dtype=np.intp)
        ends = np.searchsorted(self.high, self.low + most, side="right") - 1
        for start in np.flatnonzero(ends > np.arange(len(ends))):
            if self._holds_some(int(start), int(ends[start])):
                marks[start] += 1
                marks[ends[start]] -= 1
        return np.cumsum(marks)[:-1] > 0

    def _holds_some(self, start: int, end: int) -> bool:
        """Return whether an interval must hold a row: no one number fits all of its edges."""
        low, high = int(self.low[end]), int(self.high[start])
        if low > high:
            return True
        gaps = [(a, b) for at, a, b in self.gaps if start <= at <= end and a < high and b > low]
        return bool(gaps) and all(any(a < v < b for a, b in gaps) for v in range(low, high + 1))

    def locate(self, rank: int = 0) -> tuple[float, float]:
        """Return the edges between which the row of this rank lies for certain."""
        first = int(np.searchsorted(self.high, rank, side="right")) - 1
        last = int(np.searchsorted(self.low, rank + 1, side="left"))
        return float(self.edges[first]), float(self.edges[last])


def add_up(whole: Knowledge, parts: Sequence[Knowledge]) -> bool:
    """Conclude from a whole to its parts and back; return whether anything changed."""
    before = [side.copy() for one in (whole, *parts) for side in (one.low, one.high)]
    low, high = sum(one.low for one in parts), sum(one.high for one in parts)
    whole.low, whole.high = np.maximum(whole.low, low), np.minimum(whole.high, high)
    for one in parts:
        others = low - one.low, high - one.high
        one.low = np.maximum(one.low, whole.low - others[1])
        one.high = np.minimum(one.high, whole.high - others[0])
    for one in (whole, *parts):
        one.close()
    after = [side for one in (whole, *parts) for side in (one.low, one.high)]
    return any((a != b).any() for a, b in zip(before, after, strict=True))


def pass_round(relations: Sequence[tuple[Knowledge, Sequence[Knowledge]]]) -> None:
    """Apply all relations until nothing changes."""
    for _ in range(_ROUNDS):
        if not sum(add_up(whole, parts) for whole, parts in relations):
            return


def find_table(reported: IntArray, least: int) -> IntArray:
    """Return counts per cell with this report, each 0 or at least ``least``.

    All rows of a block are put into one cell. Rows that stayed while others went on are put into
    the cell of the heavy half that is next to the light half. Where such counts exist, nobody knows
    for certain of any cells that they hold at least one row, but fewer than ``least``.
    """
    cells = (len(reported) + 1) // 2
    numbers, own = lay_blocks(cells), reported.tolist()
    below = _add_up(numbers, own, (0, cells))
    counts = np.zeros(cells, dtype=np.intp)
    for (first, last), number in numbers.items():
        middle, place = _middle(first, last), first
        if own[number] and own[number] < below[first, last]:
            place = middle if below[first, middle] == 0 else middle - 1
        counts[place] += own[number]
    return counts


def likely(known: Knowledge, rates: FloatArray, most: int, level: float = 0.95) -> BoolArray:
    """Mark the cells of intervals that probably hold at least one row and at most ``most``.

    The probabilities are exact, given all that is known about a single site's rows, if these are
    drawn with the expected numbers ``rates`` per cell.
    """
    steps = _find_steps(known, rates)
    marks, before = np.zeros(len(known.edges), dtype=np.intp), np.ones(1)
    for start in range(len(steps)):
        joint, end = np.diag(before), start
        while end < len(steps) and known.low[end + 1] - known.high[start] <= most:
            joint = joint @ steps[end]
            end += 1
            rows = np.arange(known.low[end], known.high[end] + 1) - np.arange(
                known.low[start], known.high[start] + 1
            ).reshape(-1, 1)
            few = joint[rows <= most].sum()
            if few - joint[rows < 1].sum() > level:
                marks[start] += 1
                marks[end] -= 1
            if few < level:
                break
        before = before @ steps[start]
    return np.cumsum(marks)[:-1] > 0


def chance_of_some(known: Knowledge, rates: FloatArray, edge: int) -> float:
    """Return the probability that a row lies above an edge, given all that is known."""
    law = np.ones(1)
    for step in _find_steps(known, rates)[:edge]:
        law = law @ step
    return float(1.0 - law[np.arange(known.low[edge], known.high[edge] + 1) == known.rows].sum())


def _find_steps(known: Knowledge, rates: FloatArray) -> list[FloatArray]:
    """Return the probability of each number below an edge, given that below the edge before."""
    steps, ahead = [], np.ones(1)
    for cell in range(len(rates) - 1, -1, -1):
        now, then = (np.arange(known.low[e], known.high[e] + 1) for e in (cell, cell + 1))
        rows = then - now.reshape(-1, 1)
        logs = rows * math.log(rates[cell]) - _log_factorials(rows)
        logs[rows < 0] = -np.inf
        for at, below, above in known.gaps:
            if at == cell:
                logs[(now > below) & (now < above)] = -np.inf
        step = np.exp(logs - logs.max()) * ahead
        ahead = step.sum(axis=1)
        steps.append(np.divide(step, ahead[:, None], where=ahead[:, None] > 0, out=step * 0.0))
        ahead = ahead / ahead.max()
    return steps[::-1]


def _log_factorials(rows: IntArray) -> FloatArray:
    known = np.append(0.0, np.cumsum(np.log(np.arange(1, max(1, int(rows.max())) + 1))))
    return np.asarray(known[np.maximum(rows, 0)])


def likely_before(rates: FloatArray, rows: int, most: int, level: float = 0.95) -> BoolArray:
    """Mark the cells of intervals that probably hold few rows, without any report."""
    below = np.append(0.0, np.cumsum(rates)) / rates.sum()
    shares = np.triu(below - below[:, None]).clip(0.0, 1.0)
    law = stats.binom(rows, shares)
    marks = np.zeros(len(below), dtype=np.intp)
    for start, end in np.argwhere(law.cdf(most) - law.pmf(0) > level):
        marks[start] += 1
        marks[end] -= 1
    return np.cumsum(marks)[:-1] > 0


def compare_by_force(layouts: Sequence[Sequence[int]], rows: int, least: int) -> int:
    """Enumerate all tables with this many rows, and assert that the bounds are the tightest.

    Layouts are edges of cells among the finest ones. Return the number of different reports.
    """
    cells, most = max(map(max, layouts)), max(least, 2) - 1
    bars = np.array(list(itertools.combinations(range(rows + cells - 1), cells - 1)))
    tables = np.diff(np.pad(bars + 1, ((0, 0), (1, 1)), constant_values=(0, rows + cells))) - 1
    below = np.cumsum(np.pad(tables, ((0, 0), (1, 0))), axis=1)
    reports = [_report_cells(tables, layout, least) for layout in layouts]
    _, firsts, which = np.unique(np.hstack(reports), axis=0, return_index=True, return_inverse=True)
    for number, first in enumerate(firsts):
        known = Knowledge(np.arange(cells + 1.0), rows)
        for layout, reported in zip(layouts, reports, strict=True):
            known.hear(np.array(layout, dtype=float), reported[first], least)
        known.close()
        alike = below[which == number]
        assert (known.low == alike.min(axis=0)).all() and (known.high == alike.max(axis=0)).all()
        marked = np.zeros(cells, dtype=bool)
        for start, end in itertools.combinations(range(cells + 1), 2):
            held = alike[:, end] - alike[:, start]
            if held.min() >= 1 and held.max() <= most:
                marked[start:end] = True
        assert (known.place(most) == marked).all()
    return len(firsts)


def _report_cells(tables: IntArray, layout: Sequence[int], least: int) -> IntArray:
    """Return the reports of tables in cells that join the finest ones."""
    joined = np.add.reduceat(tables, list(layout[:-1]), axis=1)
    return lay_tree((len(layout) - 1,)).report(joined, least)


def _middle(first: int, last: int) -> int:
    """Return the edge at which a block is halved; the left half of an odd one has one more cell."""
    return (first + last - 1) // 2 + 1


def _add_up(
    numbers: dict[tuple[int, int], int], own: Sequence[int], block: tuple[int, int]
) -> dict[tuple[int, int], int]:
    """Return how many rows are reported in every block and all that it contains."""
    first, last = block
    if last - first == 1:
        return {block: own[numbers[block]]}
    middle = _middle(first, last)
    found = _add_up(numbers, own, (first, middle)) | _add_up(numbers, own, (middle, last))
    found[block] = own[numbers[block]] + found[first, middle] + found[middle, last]
    return found
