"""GoTrim (Van Elst, Colin and Clemencon 2025): trimmed means, by ranks that nodes estimate.

Every node estimates its own rank as in U1-gossip, and counts its weighted number while the rank
lies in a window. As in tracking, a node adds each change of its count to the running average, so
the sum of the estimates equals the sum of the counted numbers at any moment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.steps import PairValues, average, own_observations, swap
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.order_statistics.ranking import Window


class State(NamedTuple):
    """The state of the network between exchanges."""

    held: IntArray
    sums: FloatArray
    """The sum of the kernel values that each node has seen, whose mean is its rank."""
    samples: IntArray
    """The number of kernel values that each node has seen."""
    counted: FloatArray
    """The weighted number that each node counts now, 0 outside the window."""
    z: FloatArray


def init(n: int, components: int) -> State:
    """Return the state in which every node holds its own observation and counts nothing."""
    zeros = np.zeros((n, components))
    return State(own_observations(n), zeros, np.zeros(n, dtype=np.int64), zeros, zeros)


def step(state: State, exchanges: PairArray, h: PairValues, window: Window) -> State:
    """Make one iteration: one edge swaps, all nodes update rank and count, the edge averages.

    ``h`` is the kernel whose row means are ranks.
    """
    return _step(state, exchanges, h, window, own_observations(len(state.held)))


def step_async(state: State, exchanges: PairArray, h: PairValues, window: Window) -> State:
    """Make one exchange, as in `step`, but only the two nodes act."""
    return _step(state, exchanges, h, window, exchanges[0])


def _step(
    state: State, exchanges: PairArray, h: PairValues, window: Window, nodes: IntArray
) -> State:
    ((i, j),) = exchanges
    held = swap(state.held, i, j)
    sums, samples = state.sums.copy(), state.samples.copy()
    counted, z = state.counted.copy(), state.z.copy()
    sums[nodes] += h(nodes, held[nodes])
    samples[nodes] += 1
    counted[nodes] = window.counted(nodes, sums[nodes] / samples[nodes, None])
    z[nodes] += counted[nodes] - state.counted[nodes]
    return State(held, sums, samples, counted, average(z, i, j))
