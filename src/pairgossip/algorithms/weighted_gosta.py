"""GoSta-async with weights: nodes average sums of values and sums of weights, and report S / W.

Plain GoSta-async divides by a node's own count of picks. A node that stops updating, or starts
again from nothing, then drags all others, whose steps have become too small to push back. Here such
a node contributes little weight as well as little sum. Each value weighs 1/p_k, where p_k is the
rate at which the node is picked: with equal weights the limit would favor nodes of high degree. Any
unit of p_k will do, as long as all nodes share it: 1/d_k where edges ring uniformly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.steps import PairValue, PairValues, own_observations, swap
from pairgossip.arrays import FloatArray, IntArray, PairArray


class State(NamedTuple):
    """The state of the network between exchanges."""

    held: IntArray
    mass: FloatArray
    """Sums of weighted values, one column per component; the last column has sums of weights."""


def init(n: int, components: int) -> State:
    """Return the state in which every node holds its own observation and has met nobody."""
    return State(own_observations(n), np.zeros((n, components + 1)))


def weights(probabilities: FloatArray) -> FloatArray:
    """Weigh each node by the inverse of its rate of picks; the rarest has weight 1."""
    return probabilities.min() / probabilities


def step(state: State, exchanges: PairArray, h: PairValues, weights: FloatArray) -> State:
    """Make one exchange: swap, average once, then add both nodes' new pairs."""
    ((i, j),) = exchanges
    both = np.array([i, j])
    held = swap(state.held, i, j)
    mass = state.mass.copy()
    average = (state.mass[i] + state.mass[j]) / 2
    values = h(both, held[both])
    for k, value in zip(both, values, strict=True):
        mass[k] = local_update(average, float(weights[k]), value)
    return State(held, mass)


def local_update(average: FloatArray, weight: float, value: FloatArray) -> FloatArray:
    """Add the weighted value of one picked node, and its weight."""
    return average + weight * np.concatenate((value, (1.0,)))


def read(state: State) -> FloatArray:
    """Return the estimates of all nodes, 0 where a node has met nobody."""
    return readout(state.mass, unknown=0.0)


def readout(mass: FloatArray, unknown: float = np.nan) -> FloatArray:
    """Return the estimates S / W, or ``unknown`` where there is no weight yet."""
    weight = mass[..., -1:]
    estimates = np.full(mass[..., :-1].shape, unknown)
    return np.divide(mass[..., :-1], weight, out=estimates, where=weight > 0)


# The same in place, on single numbers: estimates instead of sums.


class Estimates(NamedTuple):
    """The state of the network for one component, every array of shape (n,)."""

    held: IntArray
    z: FloatArray
    total: FloatArray
    """The sum of the weights at each node."""
    weight: FloatArray
    """The weight of each node's own values."""


def start(n: int, weights: FloatArray) -> Estimates:
    """Return the state in which every node holds its own observation and has met nobody."""
    return Estimates(own_observations(n), np.zeros(n), np.zeros(n), weights)


def exchange(state: Estimates, i: int, j: int, h: PairValue) -> None:
    """Make one exchange: swap, average once, then add both nodes' new pairs."""
    state.held[i], state.held[j] = state.held[j], state.held[i]
    mass = (state.z[i] * state.total[i] + state.z[j] * state.total[j]) / 2
    total = (state.total[i] + state.total[j]) / 2
    for k in (i, j):
        state.total[k] = total + state.weight[k]
        state.z[k] = (mass + state.weight[k] * h(k, state.held[k])) / state.total[k]
