"""GoSta-sync (Algorithm 1 of the paper): every node estimates the pairwise average.

The paper prints one order of the two phases of an iteration and proves its bounds for the other.
Both converge to the same value and obey the same bounds; they differ by one shift in time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.steps import PairValues, average, own_observations, swap
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.checks import ORDERS, choice


class State(NamedTuple):
    """The state of the network between iterations."""

    t: int
    held: IntArray
    z: FloatArray


def init(n: int, components: int) -> State:
    """Return the state in which every node holds its own observation and estimates zero."""
    return State(0, own_observations(n), np.zeros((n, components)))


def step(state: State, exchanges: PairArray, h: PairValues, order: str = "update-first") -> State:
    """Make one iteration: all nodes update, one edge averages and swaps, in either order."""
    ((i, j),) = exchanges
    t, held, z = state.t + 1, state.held, state.z
    if choice("order", order, ORDERS) == "update-first":  # as printed in Algorithm 1
        z = update(z, held, t, h)
        return State(t, swap(held, i, j), average(z, i, j))
    held, z = swap(held, i, j), average(z, i, j)  # as in the proofs
    return State(t, held, update(z, held, t, h))


def update(z: FloatArray, held: IntArray, t: int, h: PairValues) -> FloatArray:
    """Fold the current pair of every node into its running mean."""
    return (t - 1) / t * z + h(own_observations(len(held)), held) / t
