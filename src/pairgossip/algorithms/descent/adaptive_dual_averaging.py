"""Gossip dual averaging with a step that needs no tuning, on either clock.

Beside the gradients z, nodes sum and average the squares s of their gradients, the squares d of
the features of their pairs, and a count m: 3p + 1 numbers in all. The model is

    theta = argmin { z . theta + sum_q h_q theta_q^2 / 2 + m psi(theta) },
    h_q = sqrt(p) / c * sqrt(s_q d_q / m),

so that without psi theta_q = -(c / sqrt(p)) z_q / (sqrt(s_q) a_q), where a_q is the root mean
square of feature q. Measuring a feature in another unit multiplies z_q, sqrt(s_q) and a_q by the
same number and divides theta_q by it: margins stay what they were. Scaling the loss changes
nothing, as it scales z and sqrt(s) alike.

Weights make all nodes count the same. On the asynchronous clock node k is picked with probability
p_k and weighs its terms by 1/p_k: in each iteration every node then adds, on average, its gradient
to z, one to m, and g^2 / p_k to s, whose terms are squares. On the synchronous clock all nodes add
in every iteration, with weight one. But a node keeps its pair for 1/p_k iterations on average, and
a sum of gradients that come in runs of this length varies as much as if their squares weighed
1/p_k. So both clocks have the same expected sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.steps import average, own_observations, swap
from pairgossip.arrays import FloatArray, IntArray, PairArray

PairPull = Callable[[FloatArray, IntArray, IntArray], tuple[FloatArray, FloatArray]]
"""``pull(theta, nodes, held)``: the gradient of (f(x, y) + f(y, x)) / 2 at each node's own model,
and the squared features of its pair, both of shape (m, p)."""
MetricMap = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""``prox(z, h, m)``: the argmin above, for rows of z and h."""


class State(NamedTuple):
    """The state of the network between exchanges."""

    held: IntArray
    sums: FloatArray
    """z, s, d and m of every node, shape (n, 3p + 1)."""
    theta: FloatArray


def init(n: int, dimension: int) -> State:
    """Return the state in which every node holds its own observation and the zero model."""
    return State(own_observations(n), np.zeros((n, 3 * dimension + 1)), np.zeros((n, dimension)))


def step_async(
    state: State,
    exchanges: PairArray,
    pull: PairPull,
    prox: MetricMap,
    scale: float,
    probabilities: FloatArray,
) -> State:
    """Make one exchange: swap, average once, then step both nodes on their new pair."""
    ((i, j),) = exchanges
    both = np.array([i, j])
    held, sums, theta = swap(state.held, i, j), average(state.sums, i, j), state.theta.copy()
    weights = 1 / probabilities[both]
    parts = pull(theta[both], both, held[both])
    sums[both] = add(sums[both], *parts, weights, weights**2)
    theta[both] = model(sums[both], prox, scale)
    return State(held, sums, theta)


def step_sync(
    state: State,
    exchanges: PairArray,
    pull: PairPull,
    prox: MetricMap,
    scale: float,
    probabilities: FloatArray,
) -> State:
    """Let one edge average and swap; then step all nodes on their pairs."""
    ((i, j),) = exchanges
    held, sums = swap(state.held, i, j), average(state.sums, i, j)
    parts = pull(state.theta, own_observations(len(held)), held)
    sums = add(sums, *parts, np.ones(len(held)), 1 / probabilities)
    return State(held, sums, model(sums, prox, scale))


def add(
    sums: FloatArray,
    gradient: FloatArray,
    squares: FloatArray,
    weights: FloatArray,
    square_weights: FloatArray,
) -> FloatArray:
    """Add the terms of pairs to the sums of their nodes, one row each."""
    parts = (
        weights[:, None] * gradient,
        square_weights[:, None] * gradient**2,
        weights[:, None] * squares,
        weights[:, None],
    )
    return sums + np.concatenate(parts, axis=1)


def model(sums: FloatArray, prox: MetricMap, scale: float) -> FloatArray:
    """Return the models of nodes with these sums, shape (m, p)."""
    p = sums.shape[1] // 3
    z, s, d, m = np.split(sums, (p, 2 * p, 3 * p), axis=1)
    metric = np.sqrt(p / m) / scale * np.sqrt(s * d)
    return prox(z, metric, m[:, 0])
