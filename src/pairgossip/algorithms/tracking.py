"""Tracking: every node keeps the mean of its own kernel values, and the network averages these.

What a node adds to the running average is the change of its own mean, so the sum of the averages
equals the sum of the means at any moment, whatever the order of the exchanges. Averaging may go
past the middle (relaxation > 1/2), which an ordered schedule turns into speed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.steps import PairValues, own_observations, relax, swap
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
