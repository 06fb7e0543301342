"""Counting ordered and tied pairs exactly, in O(n log n) and without a Python loop over points."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray


def ascending_pairs(first: FloatArray, second: FloatArray, marked: BoolArray) -> int:
    """Count the pairs (i, j) with first[i] < first[j], second[i] < second[j] and i marked."""
    # Equal `first` are laid out by falling `second`, so that none of their pairs ascends.
    order = np.lexsort((-second, first))
    return _ascents(_tie_broken_ranks(second[order]), marked[order])


def tied_pairs(*columns: FloatArray) -> int:
    """Count the unordered pairs of observations that are equal in every column."""
    order = np.lexsort(columns)
    sizes = np.unique(_run_ends(*(column[order] for column in columns)), return_counts=True)[1]
    return int(np.sum(sizes * (sizes - 1) // 2))


def pairs_above(values: FloatArray, marked: BoolArray) -> int:
    """Count the pairs (i, j) with values[i] < values[j] and i marked."""
    ordered = np.sort(values)
    above = len(values) - np.searchsorted(ordered, ordered, side="right")
    return int(above[marked[np.argsort(values, kind="stable")]].sum())


def pairs_above_at_ties(values: FloatArray, tied: FloatArray, marked: BoolArray) -> int:
    """Count the pairs (i, j) with values[i] < values[j], tied[i] = tied[j] and i marked."""
    order = np.lexsort((values, tied))
    above = _run_ends(tied[order]) - _run_ends(tied[order], values[order])
    return int(above[marked[order]].sum())


def _run_ends(*columns: FloatArray) -> IntArray:
    """For sorted columns, give every position the end of its run of equal rows."""
    differs = np.zeros(len(columns[0]) - 1, dtype=np.bool_)
    for column in columns:
        differs |= column[1:] != column[:-1]
    ends = np.append(np.flatnonzero(differs), len(columns[0]) - 1) + 1
    return np.repeat(ends, np.diff(ends, prepend=0))


def _tie_broken_ranks(values: FloatArray) -> IntArray:
    """Rank values from 0 to n - 1; of equal values the later one ranks lower."""
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values[::-1], kind="stable")] = np.arange(len(values))
    return ranks[::-1]


def _ascents(ranks: IntArray, marked: BoolArray) -> int:
    """Count the positions i < j with ranks[i] < ranks[j] and i marked; ranks are distinct.

    Two ranks are compared by the highest bit in which they differ. The ranks are split by one
    bit after another, highest first, always keeping their order: ranks that agree so far stand
    in one row, and within a row every marked 0 ascends to every later 1.
    """
    bits = max(1, int(len(ranks) - 1).bit_length())
    # Filled up to a power of two, every row splits exactly in half. The fillers are the highest
    # ranks, fall, and come first: they ascend to nothing and nothing ascends to them.
    fillers = np.arange(2**bits - 1, len(ranks) - 1, -1)
    row = np.concatenate((fillers << 1, (ranks << 1) | marked))
    count = 0
    for bit in range(bits, 0, -1):
        size = 1 << bit
        high = (row >> bit & 1).astype(np.bool_)
        marked_lows = np.cumsum((row & 1).astype(np.bool_) & ~high)
        before_rows = np.concatenate(([0], marked_lows[size - 1 : -1 : size]))
        count += int(marked_lows[high].sum()) - size // 2 * int(before_rows.sum())
        halves = (row[~high].reshape(-1, size // 2), row[high].reshape(-1, size // 2))
        row = np.stack(halves, axis=1).ravel()
    return count
