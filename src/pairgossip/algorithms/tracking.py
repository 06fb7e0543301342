"""Tracking: every node keeps the mean of its own kernel values, and the network averages these.

A node adds the change of its own mean to the running average, so the sum of the averages equals the
sum of the means at any moment, in any order of exchanges. Averaging may go past the middle
(relaxation > 1/2), which makes an ordered schedule faster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.steps import PairValue, PairValues, own_observations, relax, swap
from pairgossip.arrays import FloatArray, IntArray, PairArray


class State(NamedTuple):
    """The state of the network between exchanges."""

    held: IntArray
    own: FloatArray
    """The mean of each node's kernel values, one per pick."""
    z: FloatArray
    picks: IntArray


def init(n: int, components: int) -> State:
    """Return the state in which every node holds its own observation and estimates zero."""
    zeros = np.zeros((n, components))
    return State(own_observations(n), zeros, zeros, np.zeros(n, dtype=np.int64))


def step(state: State, exchanges: PairArray, h: PairValues, relaxation: float = 0.5) -> State:
    """Make one exchange: swap, update both nodes' own means, then average."""
    ((i, j),) = exchanges
    both = np.array([i, j])
    held = swap(state.held, i, j)
    picks, own, z = state.picks.copy(), state.own.copy(), state.z.copy()
    picks[both] += 1
    change = (h(both, held[both]) - own[both]) / picks[both, None]
    own[both] += change
    z[both] += change
    return State(held, own, relax(z, i, j, relaxation), picks)


# The same in place, on single numbers.


class Changes(NamedTuple):
    """The state of the network for one component, every array but the last of shape (n,)."""

    held: IntArray
    own: FloatArray
    z: FloatArray
    picks: IntArray
    relaxation: FloatArray


def start(n: int, relaxation: float = 0.5) -> Changes:
    """Return the state in which every node holds its own observation and estimates zero."""
    picks = np.zeros(n, dtype=np.int64)
    return Changes(own_observations(n), np.zeros(n), np.zeros(n), picks, np.array([relaxation]))


def exchange(state: Changes, i: int, j: int, h: PairValue) -> None:
    """Make one exchange: swap, update both nodes' own means, then average."""
    state.held[i], state.held[j] = state.held[j], state.held[i]
    for k in (i, j):
        state.picks[k] += 1
        change = (h(k, state.held[k]) - state.own[k]) / state.picks[k]
        state.own[k] += change
        state.z[k] += change
    move = state.relaxation[0] * (state.z[j] - state.z[i])
    state.z[i] += move
    state.z[j] -= move
