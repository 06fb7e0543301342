"""GoSta-async with weights: nodes average sums of values and sums of weights, and report S / W.

Plain GoSta-async divides by a node's own count of picks, so a node that stops updating, or starts
again from nothing, drags all others with steps that grow too weak to push back. Here such a node
contributes little weight as well as little sum. Each value weighs 1/p_k, one over how often the
node is picked: with equal weights the limit would favor nodes of high degree. Any unit of p_k will
do, as long as all nodes share it: 1/d_k where edges ring uniformly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.steps import PairValue, PairValues, own_observations, swap
from pairgossip.arrays import FloatArray, IntArray, PairArray


class State(NamedTuple):
    """What the network carries between exchanges."""

    held: IntArray
    mass: FloatArray
    """Sums of weighted values, one column per component, and in the last column of weights."""


def init(n: int, components: int) -> State:
    """Every node holds its own observation and has met nobody."""
    return State(own_observations(n), np.zeros((n, components + 1)))


def weights(probabilities: FloatArray) -> FloatArray:
    """Weigh each node by one over how often it is picked; the rarest has weight 1."""
    return probabilities.min() / probabilities


def step(state: State, exchanges: PairArray, h: PairValues, weights: FloatArray) -> State:
    """One exchange: swap, average once, then both nodes add their new pair."""
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
    """What one picked node does alone: add the weighted value, and the weight."""
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
    """What the network carries for one component, every array of shape (n,)."""

    held: IntArray
    z: FloatArray
    total: FloatArray
    """Sums of weights."""
    weight: FloatArray
    """Each node's own."""


def start(n: int, weights: FloatArray) -> Estimates:
    """Every node holds its own observation and has met nobody."""
    return Estimates(own_observations(n), np.zeros(n), np.zeros(n), weights)


def exchange(state: Estimates, i: int, j: int, h: PairValue) -> None:
    """One exchange: swap, average once, then both nodes add their new pair."""
    state.held[i], state.held[j] = state.held[j], state.held[i]
    mass = (state.z[i] * state.total[i] + state.z[j] * state.total[j]) / 2
    total = (state.total[i] + state.total[j]) / 2
    for k in (i, j):
        state.total[k] = total + state.weight[k]
        state.z[k] = (mass + state.weight[k] * h(k, state.held[k])) / state.total[k]
