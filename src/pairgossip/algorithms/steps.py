"""The steps of two neighbors when their edge rings: swap auxiliary observations, average estimates.

A node that accepts any value, however far off, is at a liar's mercy, so clipped methods bend moves.
The mean of two nodes asks for a move m, and a node makes m / (1 + (m/c)^2). This is about m while m
is small against the clip c; it is c/2 at most, and small again for lies that are far off. The clip
falls as 1/N with a node's picks N, and so do the weights of its own values: a liar's effect fades
as fast as estimates settle. Two nodes agree on the smaller of their clips, so that both make the
same move and the sum of honest estimates does not change.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pairgossip.arrays import FloatArray, IntArray

PairValues = Callable[[IntArray, IntArray], FloatArray]
"""``h(nodes, held)``: the kernel of each node's observation and the held one, shape (m, K)."""

PairValue = Callable[[int, int], float]
"""``h(k, l)``: the kernel of node k's own observation and that of node l."""


def own_observations(n: int) -> IntArray:
    """Return the start of a run, in which every node holds its own observation."""
    return np.arange(n, dtype=np.intp)


def swap(held: IntArray, i: int, j: int) -> IntArray:
    """Return the held observations after nodes ``i`` and ``j`` swapped theirs."""
    after = held.copy()
    after[i], after[j] = held[j], held[i]
    return after


def average(z: FloatArray, i: int, j: int) -> FloatArray:
    """Return the estimates after nodes ``i`` and ``j`` took their mean."""
    after = z.copy()
    after[i] = after[j] = (z[i] + z[j]) / 2
    return after


def relax(z: FloatArray, i: int, j: int, relaxation: float) -> FloatArray:
    """Return the estimates after ``i`` and ``j`` moved this part of the way to each other."""
    if relaxation == 0.5:
        return average(z, i, j)
    after = z.copy()
    step = relaxation * (z[j] - z[i])
    after[i] += step
    after[j] -= step
    return after


def bend(move: float, clip: float) -> float:
    """Return the share that a node makes of a move of this length."""
    if move > clip:
        ratio = clip / move  # squares of far-off lies would overflow
        return ratio * ratio / (1 + ratio * ratio)
    return 1 / (1 + (move / clip) ** 2) if clip > 0 else 0.0


def expected_picks(picks: int, weight: float, other: float) -> float:
    """Estimate the picks of the rarer of two nodes from the count of the node with ``weight``.

    Weights are the inverse of the rates at which nodes are picked. All nodes know the network, so
    a liar cannot claim to be picked rarely.
    """
    return picks * min(1.0, weight / other)
