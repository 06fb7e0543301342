"""Counts of ordered pairs: the compiled twins of the splits in `pairgossip.kernels.orders`.

Ranks are split by one bit after another, highest first, in a stable way. They are distinct, and
there are as many as places, so that the start of every half is known. Terms and their order are the
same as in the NumPy code: results agree to the last bit.
"""

from __future__ import annotations

import numpy as np

from pairgossip.engine.loops import loop


@loop
def lay_out(places, counts, others, their_counts):  # type: ignore[no-untyped-def]
    """Lay rows out by rising places, equal ones by falling others, and rank them by the others."""
    n = len(places)
    falling, order = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    ranks = np.empty(n, dtype=np.int64)
    starts = n - np.cumsum(their_counts)
    for row in range(n):
        falling[starts[others[row]]] = row
        starts[others[row]] += 1
    starts = np.cumsum(counts) - counts
    for at in range(n):
        row = falling[at]
        order[starts[places[row]]] = row
        starts[places[row]] += 1
    ends = np.cumsum(their_counts)
    for at in range(n):  # among equal ones the later one ranks lower
        other = others[order[at]]
        ends[other] -= 1
        ranks[at] = ends[other]
    return order, ranks


@loop
def count_ascents(ranks, marked):  # type: ignore[no-untyped-def]
    """Count the positions i < j with ranks[i] < ranks[j] and i marked."""
    n = len(ranks)
    row = np.empty(n, dtype=np.int64)
    for place in range(n):
        row[place] = ranks[place] << 1 | marked[place]
    split = np.empty_like(row)
    bit = 0
    while (2 << bit) < n:
        bit += 1
    count = 0
    while bit >= 0:
        half = 1 << bit
        for start in range(0, n, 2 * half):
            low, high = start, start + half
            lows = 0
            for place in range(start, min(start + 2 * half, n)):
                value = row[place]
                is_high = value >> (bit + 1) & 1
                count += lows * is_high
                lows += (value & 1) * (1 - is_high)
                split[high if is_high else low] = value
                high += is_high
                low += 1 - is_high
        row, split = split, row
        bit -= 1
    return count


@loop
def weigh_ascents(ranks, above, below):  # type: ignore[no-untyped-def]
    """Sum, for every place, weights of later places of higher, and earlier ones of lower rank."""
    n = len(ranks)
    # The rank, the two weights and the two sums of a place move together, in one line of memory.
    row, split = np.empty((n, 5)), np.empty((n, 5))
    for place in range(n):
        row[place, 0] = ranks[place]
        row[place, 1] = above[place]
        row[place, 2] = below[place]
        row[place, 3] = row[place, 4] = 0.0
    bit = 0
    while (2 << bit) < n:
        bit += 1
    while bit >= 0:
        half = 1 << bit
        for start in range(0, n, 2 * half):
            stop = min(start + 2 * half, n)
            highs = 0.0
            for place in range(start, stop):
                if row[place, 0] >= start + half:
                    highs += row[place, 1]
            low, high = start, start + half
            lows, passed = 0.0, 0.0
            for place in range(start, stop):
                is_high = row[place, 0] >= start + half
                at = high if is_high else low
                lows += 0.0 if is_high else row[place, 2]
                passed += row[place, 1] if is_high else 0.0
                for number in range(3):
                    split[at, number] = row[place, number]
                split[at, 3] = row[place, 3] + (0.0 if is_high else highs - passed)
                split[at, 4] = row[place, 4] + (lows if is_high else 0.0)
                high += is_high
                low += not is_high
        row, split = split, row
        bit -= 1
    larger, smaller = np.empty(n), np.empty(n)
    for place in range(n):  # all of them are sorted by rank now
        larger[place] = row[ranks[place], 3]
        smaller[place] = row[ranks[place], 4]
    return larger, smaller
