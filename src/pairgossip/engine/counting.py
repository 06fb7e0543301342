"""Counts of rows per cell: the compiled twins of functions of `pairgossip.summaries.counting`."""

from __future__ import annotations

from pairgossip.engine.loops import loop


@loop
def find_cells(values, edges, firsts, lasts, low, high, scale, mode, is_exact, cells):  # type: ignore[no-untyped-def]
    """Write the cell of every value; return whether all have one.

    With even cells a slot has at most one edge to compare with, so the loop has no branch that
    depends on values, which a processor would often predict wrong.
    """
    for row in range(len(values)):
        value = values[row]
        if not low <= value <= high:
            return False
        slot = int((value - low) * scale)
        first = firsts[slot]
        if mode == 1:
            first += edges[first + 1] <= value
        elif mode == 2:
            last = lasts[slot]
            while first < last:
                middle = (first + last + 1) >> 1
                if edges[middle] <= value:
                    first = middle
                else:
                    last = middle - 1
        if is_exact and edges[first] != value:
            return False
        cells[row] = first
    return True


@loop
def add_rows(cells, codes, width, counts):  # type: ignore[no-untyped-def]
    """Add every row to the count of its code and cell."""
    for row in range(len(cells)):
        counts[codes[row] * width + cells[row]] += 1
