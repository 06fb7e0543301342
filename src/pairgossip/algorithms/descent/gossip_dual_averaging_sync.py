"""Gossip dual averaging on a global clock (Algorithm 2 of the paper, sign corrected)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pairgossip.algorithms.descent import dual_averaging
from pairgossip.algorithms.descent.dual_averaging import ProximalMap
from pairgossip.algorithms.steps import average, own_observations, swap
from pairgossip.arrays import FloatArray, IntArray, PairArray

PairGradient = Callable[[FloatArray, IntArray, IntArray], FloatArray]
"""``g(theta, nodes, held)``: each node's gradient at its own model, shape (m, p)."""


class State(NamedTuple):
    """The state of the network between iterations; models have shape (n, p)."""

    held: IntArray
    models: dual_averaging.State


def init(n: int, dimension: int) -> State:
    """Return the state in which every node holds its own observation and the zero model."""
    return State(own_observations(n), dual_averaging.init(n, dimension))


def step(
    state: State, exchanges: PairArray, g: PairGradient, prox: ProximalMap, gamma: float
) -> State:
    """Let one edge average and swap; then make a dual averaging step at all nodes."""
    ((i, j),) = exchanges
    held = swap(state.held, i, j)
    z = average(state.models.z, i, j)
    nodes = own_observations(len(held))

    def gradient(theta: FloatArray) -> FloatArray:
        return g(theta, nodes, held)

    return State(held, dual_averaging.accumulate(state.models, z, gradient, prox, gamma))
