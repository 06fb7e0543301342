"""Peers that exchange one pair at a time compute the same numbers as the plain algorithms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import SeedSequence

import pairgossip as pg
from pairgossip.algorithms import gosta_async, weighted_gosta
from pairgossip.algorithms.descent import adaptive_dual_averaging, gossip_dual_averaging_async
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.schedule import Schedule
from pairgossip.inference import row_products
from pairgossip.kernels.kernel import as_kernel, evaluate
from pairgossip.losses import Ball, as_loss
from pairgossip.losses.learning import LearningProblem
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.messages import encode
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.rules import (
    AdaptiveAveraging,
    DualAveraging,
    PaperMixing,
    Rule,
    WeightedMixing,
)
from pairgossip.peer.protocol.state import Send
from tests.peer.contexts import make_context, name_of

EXCHANGES = 150
GRAPH = pg.graphs.build("watts_strogatz", 8, seed=3)


def make_peers(data: FloatArray, rule: Callable[[int], Rule]) -> list[Exchange]:
    """Make one peer per row; all have exchanged hellos."""
    names = [name_of(k) for k in range(len(data))]
    peers = []
    for k, me in enumerate(names):
        others = [name for name in names if name != me]
        own = (tuple(np.atleast_1d(data[k]).tolist()),)
        context = make_context(me, others, own, dict.fromkeys(names, 1), rule(k))
        peers.append(Exchange(context, first_state(context), agreed=set(others)))
    return peers


def exchange(peers: list[Exchange], i: int, j: int) -> None:
    """Let peer i ask peer j; nothing is lost."""
    _, asked, _ = peers[i].ask(name_of(j))
    assert isinstance(asked, Send)
    _, answered = peers[j].receive(name_of(i), encode(asked.message))
    assert isinstance(answered, Send)
    peers[i].receive(name_of(j), encode(answered.message))


def schedule() -> list[tuple[int, int]]:
    (drawn,) = Schedule(GRAPH, "uniform-edges", SeedSequence(1)).draw(EXCHANGES)
    return [(int(i), int(j)) for i, j in drawn]


def held_by(peers: list[Exchange]) -> list[int]:
    return [int(peer.state.nodes[0].record.origin[-2:]) for peer in peers]


def masses(peers: list[Exchange]) -> FloatArray:
    return np.array([peer.state.nodes[0].mass for peer in peers])


def privates(peers: list[Exchange]) -> FloatArray:
    return np.array([peer.state.nodes[0].private for peer in peers])


def kernel_values(name: str, data: FloatArray) -> Callable[[IntArray, IntArray], FloatArray]:
    kernel = as_kernel(name)
    return lambda nodes, held: np.column_stack(
        [evaluate(part, data[nodes], data[held]) for part in kernel.components]
    )


def observations(kernel: str) -> FloatArray:
    rng = np.random.default_rng(0)
    if kernel == "auc":
        return np.column_stack([rng.normal(size=8), [0, 1] * 4])
    return rng.normal(size=8)


@pytest.mark.parametrize("kernel", ["gini", "auc", "variance"])
def test_paper_mixing_equals_gosta_async(kernel: str) -> None:
    data = observations(kernel)
    peers = make_peers(data, lambda _: PaperMixing(as_kernel(kernel)))
    plain = gosta_async.init(8, len(as_kernel(kernel).components))
    for i, j in schedule():
        exchange(peers, i, j)
        plain = gosta_async.step(plain, np.array([[i, j]]), kernel_values(kernel, data))
        assert held_by(peers) == plain.held.tolist()
        averaged = masses(peers)[:, : plain.z.shape[1]]
        np.testing.assert_allclose(averaged, plain.z, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(privates(peers)[:, -1], plain.picks)


@pytest.mark.parametrize("kernel", ["gini", "auc", "variance"])
def test_weighted_mixing_equals_weighted_gosta(kernel: str) -> None:
    data = observations(kernel)
    weights = 1 / np.bincount(GRAPH.edges.ravel())
    peers = make_peers(data, lambda k: WeightedMixing(as_kernel(kernel), weight=weights[k]))
    plain = weighted_gosta.init(8, len(as_kernel(kernel).components))
    for i, j in schedule():
        exchange(peers, i, j)
        plain = weighted_gosta.step(plain, np.array([[i, j]]), kernel_values(kernel, data), weights)
        assert held_by(peers) == plain.held.tolist()
        averaged = masses(peers)[:, : plain.mass.shape[1]]
        np.testing.assert_allclose(averaged, plain.mass, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", ["gini", "auc"])
def test_products_of_rows_are_those_of_simulations(kernel: str) -> None:
    """Simulations average after the update and peers before; the averaged values are the same."""
    data, parts = observations(kernel), len(as_kernel(kernel).components)
    peers = make_peers(data, lambda _: WeightedMixing(as_kernel(kernel)))
    marks = np.zeros((8, row_products.MARKS))
    plain = row_products.init(np.arange(8), np.ones(8), parts, marks)
    pair = kernel_values(kernel, data)
    for i, j in schedule():
        before = plain.z.copy()
        exchange(peers, i, j)
        nodes, held = np.array([i, j]), np.array(held_by(peers))[[i, j]]
        both = (pair(nodes, held) + pair(held, nodes))[:, None, :]
        row_products.advance(plain, np.array([[i, j]]), both, 0.0)
        changes = plain.z - before
        plain.z[[i, j]] = before[[i, j]].mean(axis=0) + changes[[i, j]]
        tracked = plain.z[:, : -row_products.MARKS]
        np.testing.assert_allclose(masses(peers)[:, parts + 1 :], tracked, rtol=1e-9, atol=1e-9)
    kept = privates(peers)
    np.testing.assert_allclose(kept[:, :-1].reshape(plain.means.shape), plain.means, rtol=1e-12)
    np.testing.assert_array_equal(kept[:, -1], plain.visits)


@pytest.mark.parametrize("phi", ["logistic", "squared-hinge"])
def test_dual_averaging_equals_the_plain_algorithm(phi: str) -> None:
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.normal(size=(8, 2)), [0, 1] * 4])
    loss, prox = as_loss(f"auc-{phi}"), Ball(1.0).map
    degrees = np.bincount(GRAPH.edges.ravel())
    chances = degrees / len(GRAPH.edges)

    def gamma(t: float) -> float:
        return 0.1 / np.sqrt(t)

    def gradient(theta: FloatArray, nodes: IntArray, held: IntArray) -> FloatArray:
        return loss.gradient(theta, data[nodes], data[held])

    peers = make_peers(data, lambda k: DualAveraging(loss, 2, prox, gamma, float(chances[k])))
    plain = gossip_dual_averaging_async.init(8, 2)
    for i, j in schedule():
        exchange(peers, i, j)
        plain = gossip_dual_averaging_async.step(
            plain, np.array([[i, j]]), gradient, prox, gamma, chances
        )
        np.testing.assert_allclose(masses(peers), plain.z, rtol=1e-12, atol=1e-12)
        told = np.column_stack([plain.theta, plain.mean, plain.picks])
        np.testing.assert_allclose(privates(peers), told, rtol=1e-12, atol=1e-12)
    assert np.abs(plain.mean).max() > 0.01


@pytest.mark.parametrize("phi", ["logistic", "squared-hinge"])
def test_the_adaptive_step_equals_the_plain_algorithm(phi: str) -> None:
    data = np.column_stack([np.random.default_rng(0).normal(size=(8, 2)), [0, 1] * 4])
    problem, prox = LearningProblem(data, f"auc-{phi}"), Ball(1.0).map_in_metric
    chances = np.bincount(GRAPH.edges.ravel()) / len(GRAPH.edges)
    peers = make_peers(
        data, lambda k: AdaptiveAveraging(problem.loss, 2, prox, 4.0, 1 / float(chances[k]))
    )
    plain = adaptive_dual_averaging.init(8, 2)
    for i, j in schedule():
        exchange(peers, i, j)
        plain = adaptive_dual_averaging.step_async(
            plain, np.array([[i, j]]), problem.pull, prox, 4.0, chances
        )
        np.testing.assert_allclose(masses(peers), plain.sums, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(privates(peers)[:, :-1], plain.theta, rtol=1e-12, atol=1e-12)
    assert np.abs(plain.theta).max() > 0.01


# What each side writes and says
