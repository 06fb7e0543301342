"""What two neighbors do when their edge rings: swap auxiliary observations, average estimates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pairgossip.arrays import FloatArray, IntArray

PairValues = Callable[[IntArray, IntArray], FloatArray]
"""``h(nodes, held)``: the kernel of each node's observation and the held one, shape (m, K)."""

PairValue = Callable[[int, int], float]
"""``h(k, l)``: the kernel of node k's own observation and that of node l."""


def own_observations(n: int) -> IntArray:
    """At the start every node holds its own observation."""
    return np.arange(n, dtype=np.intp)


def swap(held: IntArray, i: int, j: int) -> IntArray:
    """Return who holds what after nodes ``i`` and ``j`` swapped."""
    after = held.copy()
    after[i], after[j] = held[j], held[i]
    return after


def average(z: FloatArray, i: int, j: int) -> FloatArray:
    """Return the estimates after nodes ``i`` and ``j`` took their mean."""
    after = z.copy()
    after[i] = after[j] = (z[i] + z[j]) / 2
    return after


def relax(z: FloatArray, i: int, j: int, relaxation: float) -> FloatArray:
    """Return the estimates after ``i`` and ``j`` moved this part of the way to each other's."""
    if relaxation == 0.5:
        return average(z, i, j)
    after = z.copy()
    step = relaxation * (z[j] - z[i])
    after[i] += step
    after[j] -= step
    return after
