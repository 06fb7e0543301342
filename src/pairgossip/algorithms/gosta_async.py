"""GoSta-async: only the two nodes of an exchange act, each on its own clock.

The paper weighs updates by 1/(m_k p_k), where p_k is the probability that node k is picked and
m_k grows by 1/p_k each time. Their product is the number of times the node was picked, so p_k
cancels: a node needs its own counter only, and any edge law works.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pairgossip.algorithms.steps import PairValue, PairValues, own_observations, swap
from pairgossip.arrays import FloatArray, IntArray, PairArray


class State(NamedTuple):
    """The state of the network between exchanges."""

    held: IntArray
    z: FloatArray
    picks: IntArray


def init(n: int, components: int) -> State:
    """Return the state in which every node holds its own observation and was never picked."""
    return State(own_observations(n), np.zeros((n, components)), np.zeros(n, dtype=np.int64))


def step(state: State, exchanges: PairArray, h: PairValues) -> State:
    """Make one exchange: swap, average once, then fold in both nodes' new pairs."""
    ((i, j),) = exchanges
    both = np.array([i, j])
    held = swap(state.held, i, j)
    picks = state.picks.copy()
    picks[both] += 1
    average = (state.z[i] + state.z[j]) / 2
    z = state.z.copy()
    z[both] = local_update(average, picks[both, None], h(both, held[both]))
    return State(held, z, picks)


def local_update(average: Any, picks: Any, value: Any) -> Any:
    """Fold a value into one picked node's average; the first pick discards the average."""
    return (1 - 1 / picks) * average + value / picks


# The same in place, on single numbers.


def start(n: int) -> State:
    """Return the state of one component, whose estimates are of shape (n,)."""
    return State(own_observations(n), np.zeros(n), np.zeros(n, dtype=np.int64))


def exchange(state: State, i: int, j: int, h: PairValue) -> None:
    """Make one exchange: swap, average once, then fold in both nodes' new pairs."""
    state.held[i], state.held[j] = state.held[j], state.held[i]
    average = (state.z[i] + state.z[j]) / 2
    for k in (i, j):
        state.picks[k] += 1
        state.z[k] = local_update(average, state.picks[k], h(k, state.held[k]))
