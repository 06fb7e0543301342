"""Weighted GoSta, against a transcription that swaps the observations themselves."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.algorithms import weighted_gosta
from pairgossip.arrays import FloatArray, IntArray
from tests.problems import SMALL_GRAPHS, rows, skewed

STEPS = 300
GRAPH = SMALL_GRAPHS["pendant"]
DATA = rows(GRAPH.n)
EDGES = GRAPH.edges[np.random.default_rng(0).integers(GRAPH.edge_count, size=STEPS)]


def h(nodes: IntArray, held: IntArray) -> FloatArray:
    first, second = DATA[nodes], DATA[held]
    return np.column_stack([skewed(first, second), np.abs(first - second)])


def final(weights: FloatArray) -> weighted_gosta.State:
    state = weighted_gosta.init(GRAPH.n, 2)
    for edge in EDGES:
        state = weighted_gosta.step(state, edge[None], h, weights)
    return state


def test_the_transcription() -> None:
    y, S, W = DATA.tolist(), [0.0] * GRAPH.n, [0.0] * GRAPH.n
    for i, j in EDGES.tolist():
        y[i], y[j] = y[j], y[i]
        S[i] = S[j] = (S[i] + S[j]) / 2
        W[i] = W[j] = (W[i] + W[j]) / 2
        for k in (i, j):
            S[k] += float(skewed(DATA[k], np.array(y[k]))) / GRAPH.degrees[k]
            W[k] += 1 / GRAPH.degrees[k]
    found = weighted_gosta.readout(final(1 / GRAPH.degrees).mass)[:, 0]
    np.testing.assert_allclose(found, np.divide(S, W), rtol=1e-12)


def test_any_unit_of_the_weights_gives_the_same() -> None:
    weights = weighted_gosta.weights(GRAPH.pick_probabilities())
    np.testing.assert_allclose(weights * GRAPH.degrees, GRAPH.degrees.min())
    assert weights.max() == 1
    ours, theirs = final(weights).mass, final(1 / GRAPH.degrees).mass
    np.testing.assert_allclose(
        weighted_gosta.readout(ours), weighted_gosta.readout(theirs), rtol=1e-12
    )


def test_sums_change_by_updates_only() -> None:
    """Averaging conserves both sums over the network: all weight was added by picks."""
    weights = weighted_gosta.weights(GRAPH.pick_probabilities())
    picks = np.bincount(EDGES.ravel(), minlength=GRAPH.n)
    assert final(weights).mass[:, -1].sum() == pytest.approx(picks @ weights, rel=1e-13)


def test_nodes_that_met_nobody_know_nothing() -> None:
    state = weighted_gosta.init(GRAPH.n, 2)
    after = weighted_gosta.step(state, np.array([[0, 1]]), h, np.ones(GRAPH.n))
    estimates = weighted_gosta.readout(after.mass)
    assert np.isfinite(estimates[:2]).all() and np.isnan(estimates[2:]).all()
    assert not weighted_gosta.readout(after.mass, unknown=0.0)[2:].any()
    assert not state.mass.any()
    np.testing.assert_array_equal(state.held, np.arange(GRAPH.n))
