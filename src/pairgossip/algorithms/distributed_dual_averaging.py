"""Distributed dual averaging (Duchi, Agarwal, Wainwright): fixed mixing, separable objectives.

Every node knows its own share f_i of the objective from the start, which in the pairwise setting it
does not; a baseline that shows what the walk of observations costs.
"""

from __future__ import annotations

from pairgossip.algorithms.dual_averaging import Gradient, ProximalMap, State, accumulate, init
from pairgossip.arrays import FloatArray

__all__ = ["State", "init", "step"]


def step(
    state: State, mixing: FloatArray, gradient: Gradient, prox: ProximalMap, gamma: float
) -> State:
    """One iteration: mix accumulators by a fixed doubly stochastic W, then add gradients.

    ``gradient`` maps all nodes' models, shape (n, p), to the gradients of their own shares.
    """
    return accumulate(state, mixing @ state.z, gradient, prox, gamma)
