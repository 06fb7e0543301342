"""The baselines, against each other where they must coincide."""

from __future__ import annotations

import numpy as np

from pairgossip.algorithms import (
    distributed_dual_averaging,
    dual_averaging,
    stochastic_dual_averaging,
)
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.losses import Ball

PROX = Ball(0.7).map
TARGET = np.array([1.0, -2.0])


def pull(theta: FloatArray) -> FloatArray:
    return theta - TARGET


def pair_pull(theta: FloatArray, nodes: IntArray, held: IntArray) -> FloatArray:
    return theta - TARGET * (1 + nodes - held)[:, None]


def test_centralized_by_hand() -> None:
    state = dual_averaging.step(dual_averaging.init(2), pull, PROX, 0.1)
    np.testing.assert_allclose(state.z, -TARGET)
    np.testing.assert_allclose(state.theta, 0.1 * TARGET)
    state = dual_averaging.step(state, pull, PROX, 0.05)
    np.testing.assert_allclose(state.z, -1.9 * TARGET)
    np.testing.assert_allclose(state.theta, 0.095 * TARGET)
    np.testing.assert_allclose(state.mean, 0.0975 * TARGET)


def test_one_node_distributed_is_centralized() -> None:
    alone, network = dual_averaging.init(2), distributed_dual_averaging.init(1, 2)
    for t in range(1, 20):
        alone = dual_averaging.step(alone, pull, PROX, 1 / t)
        network = distributed_dual_averaging.step(network, np.eye(1), pull, PROX, 1 / t)
    np.testing.assert_allclose(network.mean[0], alone.mean)


def test_uniform_mixing_keeps_all_nodes_alike() -> None:
    network = distributed_dual_averaging.init(3, 2)
    shift = np.array([[0.5], [0.0], [-0.5]])
    for _ in range(19):
        network = distributed_dual_averaging.step(
            network, np.full((3, 3), 1 / 3), lambda theta: theta - TARGET + shift, PROX, 0.1
        )
    spread = network.z - network.z.mean(axis=0)
    # Only the last gradient's differences have not been mixed away.
    assert np.abs(spread).max() < 1.0


def test_stochastic_on_the_same_pair_is_centralized_on_its_gradient() -> None:
    one = stochastic_dual_averaging.init(2)
    other = dual_averaging.init(2)
    for t in range(1, 20):
        one = stochastic_dual_averaging.step(one, (4, 4), pair_pull, PROX, 1 / t)
        other = dual_averaging.step(other, pull, PROX, 1 / t)
    np.testing.assert_allclose(one.mean, other.mean)
    moved = stochastic_dual_averaging.step(one, (5, 4), pair_pull, PROX, 0.1)
    np.testing.assert_allclose(moved.z - one.z, one.theta - 2 * TARGET)
