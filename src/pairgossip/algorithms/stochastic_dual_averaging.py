"""Stochastic dual averaging with all data in one place: one uniform pair per iteration.

What gossip would be if every auxiliary observation were a fresh uniform draw.
"""

from __future__ import annotations

import numpy as np

from pairgossip.algorithms import dual_averaging
from pairgossip.algorithms.dual_averaging import ProximalMap, State, init
from pairgossip.algorithms.gossip_dual_averaging_sync import PairGradient
from pairgossip.arrays import FloatArray

__all__ = ["State", "init", "step"]


def step(
    state: State, pair: tuple[int, int], g: PairGradient, prox: ProximalMap, gamma: float
) -> State:
    """One iteration on the pair (k, l) of observations, drawn uniformly by the caller."""
    k, m = (np.array([index]) for index in pair)

    def gradient(theta: FloatArray) -> FloatArray:
        return g(theta[None, :], k, m)[0]

    return dual_averaging.step(state, gradient, prox, gamma)
