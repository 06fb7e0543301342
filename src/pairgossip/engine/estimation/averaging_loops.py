"""Compiled loops of methods that average vectors, add them up along a tree, or collect rows."""

from __future__ import annotations

import numpy as np

from pairgossip.engine.loops import average_at, ends, loop


@loop
def average(values, exchanges):  # type: ignore[no-untyped-def]
    """Average one value per node by gossip."""
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        mean = (values[i] + values[j]) / 2
        values[i] = mean
        values[j] = mean


@loop
def average_rows(values, exchanges):  # type: ignore[no-untyped-def]
    """Average several values per node by gossip."""
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        for c in range(values.shape[1]):
            average_at(values, i, j, c)


@loop
def relax(values, exchanges, relaxation):  # type: ignore[no-untyped-def]
    """Move the two nodes of every exchange toward, or past, each other's values."""
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        for c in range(values.shape[1]):
            step = relaxation * (values[j, c] - values[i, c])
            values[i, c] += step
            values[j, c] -= step


@loop
def relax_values(values, exchanges, relaxation):  # type: ignore[no-untyped-def]
    """Do the same to one value per node, which takes half the time."""
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        step = relaxation * (values[j] - values[i])
        values[i] += step
        values[j] -= step


@loop
def average_continuized(values, momentum, since, exchanges, first, rate, gain):  # type: ignore[no-untyped-def]
    """Average with a second register that is mixed in as time goes by.

    Time counts exchanges of the whole network; ``since`` is the time of each node's last update.
    """
    for s in range(exchanges.shape[0]):
        now = first + s
        for side in range(2):
            k = np.uint64(exchanges[s, side])
            share = -np.expm1(-2 * rate * (now - since[k])) / 2
            since[k] = now
            for c in range(values.shape[1]):
                flow = share * (momentum[k, c] - values[k, c])
                values[k, c] += flow
                momentum[k, c] -= flow
        i, j = ends(exchanges, s)
        for c in range(values.shape[1]):
            gap = values[i, c] - values[j, c]
            values[i, c] -= gap / 2
            values[j, c] += gap / 2
            momentum[i, c] -= gain * gap
            momentum[j, c] += gain * gap


@loop
def pass_sums(sums, counts, messages, made):  # type: ignore[no-untyped-def]
    """Carry sums along a tree: the first n - 1 messages are added, later ones carry the total."""
    upward = len(counts) - 1
    for s in range(messages.shape[0]):
        sender = np.uint64(messages[s, 0])
        receiver = np.uint64(messages[s, 1])
        keep = 1 if made + s < upward else 0
        counts[receiver] = keep * counts[receiver] + counts[sender]
        for c in range(sums.shape[1]):
            sums[receiver, c] = keep * sums[receiver, c] + sums[sender, c]


@loop
def unite(known, missing, exchanges):  # type: ignore[no-untyped-def]
    """Let both nodes of every exchange know what either knew, as bits.

    ``missing`` is the number of items that each node does not know yet. Return the number of
    exchanges until all nodes know all items, or -1 if some still do not.
    """
    waiting = 0
    for number in missing:
        waiting += number > 0
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        for word in range(known.shape[1]):
            both = known[i, word] | known[j, word]
            for k in (i, j):
                new = both ^ known[k, word]
                if new:
                    known[k, word] = both
                    while new:
                        new &= new - np.uint64(1)
                        missing[k] -= 1
                    waiting -= missing[k] == 0
        if waiting == 0:
            return s + 1
    return -1


@loop
def spread_largest(values, exchanges):  # type: ignore[no-untyped-def]
    """Set both nodes of every exchange to the larger of their values."""
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        for c in range(values.shape[1]):
            larger = max(values[i, c], values[j, c])
            values[i, c] = larger
            values[j, c] = larger
