"""U2-gossip (appendix of the paper, after Pelckmans and Suykens): two walks, no averaging.

Each node holds two auxiliary observations that travel independently, and averages the kernel of
the two. On two nodes both walks swap at every iteration, so they always hold the same
observation and the method cannot work; it needs n >= 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.steps import PairValues, own_observations, swap
from pairgossip.arrays import FloatArray, IntArray, PairArray


class State(NamedTuple):
    """The state of the network between iterations."""

    t: int
    first: IntArray
    second: IntArray
    z: FloatArray


def init(n: int, components: int) -> State:
    """Return the state in which both auxiliary observations of every node are its own."""
    return State(0, own_observations(n), own_observations(n), np.zeros((n, components)))


def step(state: State, exchanges: PairArray, h: PairValues) -> State:
    """Make one iteration: all nodes update, then one edge for each of the two walks swaps."""
    (i, j), (k, m) = exchanges
    t = state.t + 1
    z = (t - 1) / t * state.z + h(state.first, state.second) / t
    return State(t, swap(state.first, i, j), swap(state.second, k, m), z)
