"""Compiled loops that do not know the kernel: who holds whose observation, and the sums.

Module-level functions with plain arguments only, so that the compiled code is kept on disk and
reused by the next process. ``components`` is a tuple with one entry per component kernel: the
compiler knows its length K.
"""

from __future__ import annotations

import numpy as np
from numba import njit

loop = njit(cache=True, nogil=True, error_model="numpy")


@loop
def walk(exchanges, held, nodes, tokens):  # type: ignore[no-untyped-def]
    """Swap along a block of exchanges; write the two new (node, token) pairs of each."""
    for s in range(exchanges.shape[0]):
        i = np.uint64(exchanges[s, 0])
        j = np.uint64(exchanges[s, 1])
        to_i = held[j]
        to_j = held[i]
        held[i] = to_i
        held[j] = to_j
        nodes[0, s] = i
        nodes[1, s] = j
        tokens[0, s] = to_i
        tokens[1, s] = to_j


@loop
def walk_twice(exchanges, others, first, second, nodes, firsts, seconds):  # type: ignore[no-untyped-def]
    """Swap two walks along their own exchanges; write the pairs of the four nodes touched."""
    for s in range(exchanges.shape[0]):
        i = np.uint64(exchanges[s, 0])
        j = np.uint64(exchanges[s, 1])
        k = np.uint64(others[s, 0])
        m = np.uint64(others[s, 1])
        first[i], first[j] = first[j], first[i]
        second[k], second[m] = second[m], second[k]
        nodes[0, s] = i
        nodes[1, s] = j
        nodes[2, s] = k
        nodes[3, s] = m
        for row in range(4):
            firsts[row, s] = first[nodes[row, s]]
            seconds[row, s] = second[nodes[row, s]]


@loop
def accumulate(rows, components, nodes, values, start, averages):  # type: ignore[no-untyped-def]
    """Bring the touched nodes' sums up to date, note their new values, average if asked.

    A row is one node: K sums, its K current values, and the last update included in the sums.
    ``values`` has shape (touched per iteration, block, K); ``start`` is the number of updates
    that precede the first exchange.
    """
    K = len(components)
    for s in range(nodes.shape[1]):
        for touched in range(nodes.shape[0]):
            p = np.uint64(nodes[touched, s])
            elapsed = start + s - rows[p, 2 * K]
            rows[p, 2 * K] = start + s
            for c in range(K):
                rows[p, c] += elapsed * rows[p, K + c]
                rows[p, K + c] = values[touched, s, c]
        if averages:
            i = np.uint64(nodes[0, s])
            j = np.uint64(nodes[1, s])
            for c in range(K):
                mean = (rows[i, c] + rows[j, c]) / 2
                rows[i, c] = mean
                rows[j, c] = mean


@loop
def fold(rows, components, nodes, values):  # type: ignore[no-untyped-def]
    """GoSta-async: both nodes average once, then fold their new value in.

    A row is one node: K estimates, and in the last place the number of picks.
    """
    K = len(components)
    for s in range(nodes.shape[1]):
        i = np.uint64(nodes[0, s])
        j = np.uint64(nodes[1, s])
        rows[i, 2 * K] += 1
        rows[j, 2 * K] += 1
        share_i = 1 / rows[i, 2 * K]
        share_j = 1 / rows[j, 2 * K]
        for c in range(K):
            mean = (rows[i, c] + rows[j, c]) / 2
            rows[i, c] = (1 - share_i) * mean + share_i * values[0, s, c]
            rows[j, c] = (1 - share_j) * mean + share_j * values[1, s, c]


@loop
def fold_weighted(rows, components, nodes, values):  # type: ignore[no-untyped-def]
    """Weighted GoSta: both nodes average once, then add their new value and its weight.

    A row is one node: K sums of weighted values, the sum of weights, and the node's own weight.
    """
    K = len(components)
    for s in range(nodes.shape[1]):
        i = np.uint64(nodes[0, s])
        j = np.uint64(nodes[1, s])
        weight_i = rows[i, K + 1]
        weight_j = rows[j, K + 1]
        mean = (rows[i, K] + rows[j, K]) / 2
        rows[i, K] = mean + weight_i
        rows[j, K] = mean + weight_j
        for c in range(K):
            mean = (rows[i, c] + rows[j, c]) / 2
            rows[i, c] = mean + weight_i * values[0, s, c]
            rows[j, c] = mean + weight_j * values[1, s, c]


@loop
def crossings(exchanges, site_of):  # type: ignore[no-untyped-def]
    """Count the exchanges between nodes of different sites."""
    count = 0
    for s in range(exchanges.shape[0]):
        here = site_of[np.uint64(exchanges[s, 0])]
        there = site_of[np.uint64(exchanges[s, 1])]
        count += here != there
    return count
