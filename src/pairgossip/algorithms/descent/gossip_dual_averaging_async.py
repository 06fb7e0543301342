"""Gossip dual averaging on Poisson clocks (Algorithm 7 of the paper, repaired).

The paper's text overwrites the accumulator by the gradient, averages inside the loop over the two
nodes, forgets the second term of the running mean, and has the ascent sign. Each gradient weighs
1/p_k, where p_k is the probability that node k is picked, so that nodes that ring more often do not
count more; m_k estimates the number of iterations from the node's own picks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.descent.dual_averaging import ProximalMap
from pairgossip.algorithms.descent.gossip_dual_averaging_sync import PairGradient
from pairgossip.algorithms.steps import own_observations, swap
from pairgossip.arrays import FloatArray, IntArray, PairArray

StepSize = Callable[[float], float]
"""``gamma(t)``: the step size of iteration t."""


class State(NamedTuple):
    """The state of the network between exchanges."""

    held: IntArray
    z: FloatArray
    theta: FloatArray
    mean: FloatArray
    picks: IntArray


class Node(NamedTuple):
    """The part of the state that one node owns."""

    z: FloatArray
    theta: FloatArray
    mean: FloatArray
    picks: int


def init(n: int, dimension: int) -> State:
    """Return the state in which every node holds its own observation and the zero model."""
    zeros = np.zeros((n, dimension))
    return State(own_observations(n), zeros, zeros, zeros, np.zeros(n, dtype=np.int64))


def step(
    state: State,
    exchanges: PairArray,
    g: PairGradient,
    prox: ProximalMap,
    gamma: StepSize,
    probabilities: FloatArray,
) -> State:
    """Make one exchange: swap, average once, then step both nodes on their new pair."""
    ((i, j),) = exchanges
    both = np.array([i, j])
    held = swap(state.held, i, j)
    average = (state.z[i] + state.z[j]) / 2
    gradients = g(state.theta[both], both, held[both])
    z, theta, mean = state.z.copy(), state.theta.copy(), state.mean.copy()
    picks = state.picks.copy()
    for k, gradient in zip(both, gradients, strict=True):
        before = Node(average, theta[k], mean[k], int(picks[k]))
        after = local_step(before, gradient, float(probabilities[k]), prox, gamma)
        z[k], theta[k], mean[k], picks[k] = after
    return State(held, z, theta, mean, picks)


def local_step(
    node: Node, gradient: FloatArray, probability: float, prox: ProximalMap, gamma: StepSize
) -> Node:
    """Update one picked node, whose ``node.z`` is already the average of the two."""
    picks = node.picks + 1
    iterations = picks / probability  # m_k: this node's estimate of the network's iterations
    z = node.z + gradient / probability
    theta = prox(z, gamma(iterations), iterations)
    mean = (1 - 1 / picks) * node.mean + theta / picks
    return Node(z, theta, mean, picks)
