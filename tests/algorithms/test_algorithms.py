"""The plain algorithms, against transcriptions that swap the observations themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from benchmarks import transcription
from pairgossip.algorithms import averaging, gosta_async, gosta_sync, u1_gossip, u2_gossip
from pairgossip.algorithms.descent import dual_averaging
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.losses import Ball
from tests.problems import SMALL_GRAPHS, rows, skewed

STEPS = 300
GRAPH = SMALL_GRAPHS["pendant"]
DATA = rows(GRAPH.n)


def h(nodes: IntArray, held: IntArray) -> FloatArray:
    return skewed(DATA[nodes], DATA[held])[:, None]


def exchanges(per_iteration: int = 1) -> Iterator[PairArray]:
    """Yield the edges that a transcription with the same seed draws."""
    rng = np.random.default_rng(0)
    for _ in range(STEPS):
        yield np.array([GRAPH.edges[rng.integers(GRAPH.edge_count)] for _ in range(per_iteration)])


@pytest.mark.parametrize("algorithm", [gosta_sync, gosta_async, u1_gossip, u2_gossip])
def test_the_transcription(algorithm: Any) -> None:
    name = algorithm.__name__.rpartition(".")[2]
    state = algorithm.init(GRAPH.n, 1)
    for pairs in exchanges(2 if algorithm is u2_gossip else 1):
        state = algorithm.step(state, pairs, h)
    transcribed = getattr(transcription, name)(
        DATA, skewed, GRAPH.edges.tolist(), STEPS, np.random.default_rng(0)
    )
    np.testing.assert_allclose(state.z[:, 0], transcribed, rtol=1e-12)
    if algorithm is gosta_async:
        assert state.picks.sum() == 2 * STEPS
    else:
        assert state.t == STEPS


def test_gosta_sync_as_in_the_proofs_is_one_shift_away() -> None:
    """An additional first exchange, and then updates first, is the same sequence of operations."""
    pairs = list(exchanges())
    printed = gosta_sync.init(GRAPH.n, 1)
    proofs = gosta_sync.init(GRAPH.n, 1)
    for pair in pairs:
        printed = gosta_sync.step(printed, pair, h)
        proofs = gosta_sync.step(proofs, pair, h, order="exchange-first")
    np.testing.assert_array_equal(printed.held, proofs.held)
    assert not np.allclose(printed.z, proofs.z)
    # Both average the same values of h except the first (own pairs) and the last.
    t = STEPS
    own = h(np.arange(GRAPH.n), np.arange(GRAPH.n))
    last = h(np.arange(GRAPH.n), proofs.held)
    assert (t * printed.z).sum() - own.sum() == pytest.approx((t * proofs.z).sum() - last.sum())


def test_gosta_async_needs_no_pick_probabilities() -> None:
    """The paper's weights 1/(m_k p_k), with m_k growing by 1/p_k, give the same trajectory."""
    p = GRAPH.pick_probabilities("uniform-edges")
    held, z, m = np.arange(GRAPH.n), np.zeros(GRAPH.n), np.zeros(GRAPH.n)
    state = gosta_async.init(GRAPH.n, 1)
    for pair in exchanges():
        state = gosta_async.step(state, pair, h)
        ((i, j),) = pair
        held[[i, j]] = held[[j, i]]
        mean = (z[i] + z[j]) / 2
        for k in (i, j):
            m[k] += 1 / p[k]
            weight = 1 / (m[k] * p[k])
            z[k] = (1 - weight) * mean + weight * skewed(DATA[k], DATA[held[k]])
    np.testing.assert_allclose(state.z[:, 0], z, rtol=1e-12)


def test_averaging_keeps_the_mean() -> None:
    state = averaging.init(DATA[:, None])
    for pair in exchanges():
        state = averaging.step(state, pair)
    np.testing.assert_allclose(state.z, DATA.mean(), rtol=1e-2)
    assert state.z.mean() == pytest.approx(DATA.mean(), rel=1e-14)


def test_steps_leave_the_state_before_them_alone() -> None:
    state = gosta_async.init(GRAPH.n, 1)
    gosta_async.step(state, np.array([[0, 1]]), h)
    assert not state.picks.any()
    np.testing.assert_array_equal(state.held, np.arange(GRAPH.n))


def test_centralized_dual_averaging_by_hand() -> None:
    target, ball = np.array([1.0, -2.0]), Ball(0.7)

    def pull(theta: FloatArray) -> FloatArray:
        return theta - target

    state = dual_averaging.step(dual_averaging.init(2), pull, ball.map, 0.1)
    np.testing.assert_allclose(state.z, -target)
    np.testing.assert_allclose(state.theta, 0.1 * target)
    state = dual_averaging.step(state, pull, ball.map, 0.05)
    np.testing.assert_allclose(state.z, -1.9 * target)
    np.testing.assert_allclose(state.theta, 0.095 * target)
    np.testing.assert_allclose(state.mean, 0.0975 * target)
