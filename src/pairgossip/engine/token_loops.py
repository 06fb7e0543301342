"""Compiled loops that do not know the kernel: who holds whose observation, and the sums.

Module-level functions with plain array arguments only, so that the compiled code is kept on disk
and reused by the next process.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def walk(exchanges, held, nodes, tokens):  # type: ignore[no-untyped-def]
    """Swap along a block of exchanges; write the two new (node, token) pairs of each."""
    for s in range(exchanges.shape[0]):
        i = exchanges[s, 0]
        j = exchanges[s, 1]
        to_i = held[j]
        to_j = held[i]
        held[i] = to_i
        held[j] = to_j
        nodes[0, s] = i
        nodes[1, s] = j
        tokens[0, s] = to_i
        tokens[1, s] = to_j


@njit(cache=True, nogil=True)
def walk_twice(exchanges, others, first, second, nodes, firsts, seconds):  # type: ignore[no-untyped-def]
    """Swap two walks along their own exchanges; write the pairs of the four nodes touched."""
    for s in range(exchanges.shape[0]):
        i = exchanges[s, 0]
        j = exchanges[s, 1]
        k = others[s, 0]
        m = others[s, 1]
        first[i], first[j] = first[j], first[i]
        second[k], second[m] = second[m], second[k]
        nodes[0, s] = i
        nodes[1, s] = j
        nodes[2, s] = k
        nodes[3, s] = m
        for row in range(4):
            firsts[row, s] = first[nodes[row, s]]
            seconds[row, s] = second[nodes[row, s]]


@njit(cache=True, nogil=True)
def accumulate(nodes, values, sums, current, last, start, averages):  # type: ignore[no-untyped-def]
    """Bring the touched nodes' sums up to date, average them if asked, note their new values.

    ``start`` is the number of updates that precede the block's first exchange; ``values`` has
    shape (touched per iteration, block, K).
    """
    touched, block = nodes.shape
    for s in range(block):
        now = start + s
        for row in range(touched):
            p = nodes[row, s]
            elapsed = now - last[p]
            last[p] = now
            for c in range(sums.shape[1]):
                sums[p, c] += elapsed * current[p, c]
        for c in range(sums.shape[1]):
            if averages:
                i = nodes[0, s]
                j = nodes[1, s]
                mean = (sums[i, c] + sums[j, c]) / 2
                sums[i, c] = mean
                sums[j, c] = mean
            for row in range(touched):
                current[nodes[row, s], c] = values[row, s, c]


@njit(cache=True, nogil=True)
def fold(nodes, values, estimates, picks):  # type: ignore[no-untyped-def]
    """GoSta-async: both nodes average once, then fold their new value in."""
    for s in range(nodes.shape[1]):
        i = nodes[0, s]
        j = nodes[1, s]
        picks[i] += 1.0
        picks[j] += 1.0
        for c in range(estimates.shape[1]):
            mean = (estimates[i, c] + estimates[j, c]) / 2
            estimates[i, c] = (1 - 1 / picks[i]) * mean + values[0, s, c] / picks[i]
            estimates[j, c] = (1 - 1 / picks[j]) * mean + values[1, s, c] / picks[j]
