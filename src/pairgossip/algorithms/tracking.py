"""Tracking: every node keeps the mean of its own kernel values, and the network averages these.

What a node adds to the running average is the change of its own mean, so the sum of the averages
equals the sum of the means at any moment, whatever the order of the exchanges. Averaging may go
past the middle (relaxation > 1/2), which an ordered schedule turns into speed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.steps import PairValue, PairValues, own_observations, relax, swap
from pairgossip.arrays import FloatArray, IntArray, PairArray


class State(NamedTuple):
    """What the network carries between exchanges."""

    held: IntArray
    own: FloatArray
    """The mean of each node's kernel values, one per pick."""
    z: FloatArray
    picks: IntArray


def init(n: int, components: int) -> State:
    """Every node holds its own observation, has met nobody, and estimates zero."""
    zeros = np.zeros((n, components))
    return State(own_observations(n), zeros, zeros, np.zeros(n, dtype=np.int64))


def step(state: State, exchanges: PairArray, h: PairValues, relaxation: float = 0.5) -> State:
    """One exchange: swap, both nodes bring their own mean up to date, then they average."""
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
    """What the network carries for one component, every array but the last of shape (n,)."""

    held: IntArray
    own: FloatArray
    z: FloatArray
    picks: IntArray
    relaxation: FloatArray


def start(n: int, relaxation: float = 0.5) -> Changes:
    """Every node holds its own observation, has met nobody, and estimates zero."""
    picks = np.zeros(n, dtype=np.int64)
    return Changes(own_observations(n), np.zeros(n), np.zeros(n), picks, np.array([relaxation]))


def exchange(state: Changes, i: int, j: int, h: PairValue) -> None:
    """One exchange: swap, both nodes bring their own mean up to date, then they average."""
    state.held[i], state.held[j] = state.held[j], state.held[i]
    for k in (i, j):
        state.picks[k] += 1
        change = (h(k, state.held[k]) - state.own[k]) / state.picks[k]
        state.own[k] += change
        state.z[k] += change
    move = state.relaxation[0] * (state.z[j] - state.z[i])
    state.z[i] += move
    state.z[j] -= move
