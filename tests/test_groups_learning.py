"""Learning with groups, against a transcription that knows no engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.graphs import GroupedGraph
from pairgossip.losses.learning import LearningProblem, WholeSetsLearning
from tests.problems import rows
from tests.test_groups import are_edges, schedule_of

N = 9
DATA, LABELS = rows(N, 2), np.array([0, 1, 1, 0, 1, 0, 0, 1, 1])
EQUAL, UNEQUAL = [1, 0, 2, 2, 0, 1, 1, 2, 0], [2, 0, 0, 1, 1, 0, 2, 0, 0]
SITES = pg.graphs.path(3)
STEP = pg.steps.inverse_sqrt(0.3)


def pair_gradient(theta: FloatArray, a: int, b: int) -> FloatArray:
    """Return the gradient of 1{l_a > l_b} log(1 + exp(-theta . (x_a - x_b)))."""
    difference = DATA[a] - DATA[b]
    if LABELS[a] <= LABELS[b]:
        return np.zeros(2)
    return np.asarray(-difference / (1 + np.exp(theta @ difference)))


def site_gradient(theta: FloatArray, u: int, v: int, groups: list[int]) -> FloatArray:
    n = max(groups) + 1
    pairs = [(a, b) for a in range(N) for b in range(N) if groups[a] == u and groups[b] == v]
    return np.sum([pair_gradient(theta, a, b) for a, b in pairs], axis=0) * n**2 / N**2


def transcribed(exchanges: Any, gradient: Any, n: int, clock: str, p: FloatArray) -> FloatArray:
    """Run gossip dual averaging with T(z) = -gamma z; return the averaged models."""
    held, picks = list(range(n)), [0] * n
    z, theta, mean = np.zeros((3, n, 2))
    for t, (i, j) in enumerate(exchanges.tolist(), start=1):
        held[i], held[j] = held[j], held[i]
        z[i] = z[j] = (z[i] + z[j]) / 2
        for k in range(n) if clock == "sync" else (i, j):
            picks[k] += 1
            count, weight = (t, 1.0) if clock == "sync" else (picks[k], 1 / p[k])
            z[k] += weight * gradient(theta[k], k, held[k])
            theta[k] = -0.3 / np.sqrt(count * weight) * z[k]
            mean[k] += (theta[k] - mean[k]) / count
    return mean


@pytest.mark.parametrize("clock", ["sync", "async"])
@pytest.mark.parametrize("groups", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_whole_sets_equal_the_transcription(groups: list[int], clock: str) -> None:
    fit = pg.minimize(
        DATA, LABELS, graph=SITES, groups=groups, construction="whole-sets", clock=clock,
        step=STEP, iterations=60, seed=1,
    )  # fmt: skip
    p = SITES.pick_probabilities("uniform-edges")

    def gradient(theta: FloatArray, u: int, v: int) -> FloatArray:
        return site_gradient(theta, u, v, groups)

    expected = transcribed(schedule_of(fit)[0], gradient, 3, clock, p)
    np.testing.assert_allclose(fit.models[0], expected, rtol=1e-12, atol=1e-14)
    assert fit.nodes == 3 and fit.rows == N


@pytest.mark.parametrize("clock", ["sync", "async"])
@pytest.mark.parametrize("construction", ["lexicographic", "blow-up"])
def test_virtual_graphs_equal_the_transcription(construction: str, clock: str) -> None:
    fit = pg.minimize(
        DATA, LABELS, graph=SITES, groups=UNEQUAL, construction=construction, clock=clock,
        step=STEP, iterations=100, seed=1,
    )  # fmt: skip
    assert isinstance(fit.graph, GroupedGraph)
    plain, exchanges = fit.graph.materialized(), schedule_of(fit)[0]
    assert are_edges(exchanges, plain)
    p = plain.pick_probabilities("uniform-edges")
    expected = transcribed(exchanges, pair_gradient, N, clock, p)
    np.testing.assert_allclose(fit.models[0], expected, rtol=1e-10, atol=1e-13)
    network = sum(UNEQUAL[i] != UNEQUAL[j] for i, j in exchanges.tolist())
    assert fit.network_exchanges[0, -1] == network
    assert fit.local_exchanges[0, -1] == 100 - network
    # An observation of two features and a label, and an accumulator of two numbers.
    assert fit.bytes[-1] == 8 * 5 * 2 * network
    np.testing.assert_array_equal(fit.axis("messages"), fit.messages)


@pytest.mark.parametrize("groups", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_site_gradients_average_to_the_gradient_of_the_objective(groups: list[int]) -> None:
    problem = WholeSetsLearning(LearningProblem(DATA, "auc-logistic", LABELS), np.array(groups))
    theta = np.array([0.3, -0.2])
    first, second = np.divmod(np.arange(9), 3)
    each = problem.gradient(np.tile(theta, (9, 1)), first, second)
    step = 1e-6 * np.eye(2)
    slopes = problem.objectives(theta + step) - problem.objectives(theta - step)
    np.testing.assert_allclose(each.mean(axis=0), slopes / 2e-6, rtol=1e-6)
    models = np.array([[0.1, 0.2], [0.5, 0.0], [-0.3, 0.4]])
    shares = [
        np.mean([site_gradient(models[u], u, v, groups) for v in range(3)], axis=0)
        for u in range(3)
    ]
    np.testing.assert_allclose(problem.own_gradients(models), shares, rtol=1e-12)


@pytest.mark.parametrize("engine", ["auto", "plain"])
def test_gradient_bias_of_sites(engine: str) -> None:
    fit = pg.minimize(
        DATA, LABELS, graph=SITES, groups=UNEQUAL, construction="whole-sets", step=STEP,
        iterations=2, checkpoints=[1, 2], engine=engine, seed=1,
    )  # fmt: skip
    held = [0, 1, 2]
    i, j = schedule_of(fit)[0][0]
    held[i], held[j] = held[j], held[i]
    zero = np.zeros(2)
    taken = [site_gradient(zero, u, held[u], UNEQUAL) for u in range(3)]
    meant = [site_gradient(zero, u, v, UNEQUAL) for u in range(3) for v in range(3)]
    assert fit.bias is not None
    bias = np.mean(taken, axis=0) - np.mean(meant, axis=0)
    np.testing.assert_allclose(fit.bias.gradient[0, 0], bias, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("construction", ["lexicographic", "blow-up", "whole-sets"])
def test_a_fit_goes_on_with_its_groups(construction: str, tmp_path: Path) -> None:
    settings: Any = {"step": STEP, "seed": 2, "trials": 2}
    grouped: Any = {"graph": SITES, "groups": UNEQUAL, "construction": construction}
    whole = pg.minimize(DATA, LABELS, iterations=50, checkpoints=[20], **grouped, **settings)
    first = pg.minimize(DATA, LABELS, iterations=20, checkpoints=[20], **grouped, **settings)
    first.save(tmp_path / "first.npz")
    for start, given in ((first, grouped), (tmp_path / "first.npz", {})):
        again = pg.minimize(
            DATA, LABELS, iterations=50, checkpoints=[50], step=STEP, start=start, **given
        )
        np.testing.assert_allclose(again.models, whole.models, rtol=1e-11, atol=1e-14)
        np.testing.assert_array_equal(again.network_exchanges, whole.network_exchanges)
        np.testing.assert_array_equal(again.trial_bytes, whole.trial_bytes)
        assert again.construction == construction


def test_a_fit_goes_on_with_the_same_groups_only() -> None:
    start = pg.minimize(DATA, LABELS, graph=SITES, groups=UNEQUAL, step=STEP, iterations=10, seed=0)
    go_on: Any = {"step": STEP, "iterations": 20, "start": start}
    with pytest.raises(InputError, match="other groups, or another construction"):
        pg.minimize(DATA, LABELS, groups=EQUAL, **go_on)
    with pytest.raises(InputError, match="other groups, or another construction"):
        pg.minimize(DATA, LABELS, groups=UNEQUAL, construction="whole-sets", **go_on)
    with pytest.raises(InputError, match="another graph"):
        pg.minimize(DATA, LABELS, graph=pg.graphs.complete(3), groups=UNEQUAL, **go_on)
    alone = pg.minimize(DATA, LABELS, graph="cycle", step=STEP, iterations=10, seed=0)
    with pytest.raises(InputError, match="other groups, or another construction"):
        pg.minimize(DATA, LABELS, groups=range(N), **(go_on | {"start": alone}))


def test_vectors_do_not_run_whole_sets() -> None:
    settings: Any = {"groups": UNEQUAL, "construction": "whole-sets", "engine": "vectors"}
    with pytest.raises(InputError, match="Engine 'vectors' takes gradients at pairs of single"):
        pg.minimize(DATA, LABELS, graph=SITES, **settings)
