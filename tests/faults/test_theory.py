"""Theory of runs whose exchanges are lost: against recursions over all edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg

GRAPH = pg.graphs.Graph(5, [[0, 1], [1, 2], [2, 3], [3, 0], [3, 4]])
X = np.array([1.0, 4.0, -2.0, 0.5, 3.0])
LOSS, LAST = 0.3, 40
AVERAGES = [
    np.eye(5) - 0.5 * np.outer(d, d) for d in (np.eye(5)[i] - np.eye(5)[j] for i, j in GRAPH.edges)
]
SWAPS = [2 * average - np.eye(5) for average in AVERAGES]


def lossy(matrices: list[Any]) -> Any:
    return LOSS * np.eye(5) + (1 - LOSS) * np.mean(matrices, axis=0)


def test_averaging() -> None:
    run = pg.estimate(
        X, None, GRAPH, method="averaging", faults=pg.Faults(loss=LOSS), iterations=LAST, seed=0,
        checkpoints=range(1, LAST + 1),
    )  # fmt: skip
    theory, z = run.theory(), X - X.mean()
    expected, moments = z, np.outer(z, z)
    for at in range(LAST):
        expected = lossy(AVERAGES) @ expected
        moved = np.mean([average @ moments @ average for average in AVERAGES], axis=0)
        moments = LOSS * moments + (1 - LOSS) * moved
        np.testing.assert_allclose(theory.expected_error[at], np.sqrt(np.mean(expected**2)))
        np.testing.assert_allclose(theory.error[at], np.sqrt(np.trace(moments) / 5), rtol=1e-6)
    assert (theory.expectation_bound >= theory.expected_error * (1 - 1e-12)).all()
    assert (theory.deviation_bound >= theory.error * (1 - 1e-12)).all()


def test_gosta() -> None:
    run = pg.estimate(
        X, "gini", GRAPH, faults=pg.Faults(loss=LOSS), iterations=LAST, seed=0,
        checkpoints=range(1, LAST + 1),
    )  # fmt: skip
    theory, values = run.theory(), np.abs(X[:, None] - X)
    z, held = np.zeros(5), np.eye(5)
    for t in range(1, LAST + 1):
        z = lossy(AVERAGES) @ ((t - 1) / t * z + (held * values).sum(axis=1) / t)
        held = lossy(SWAPS) @ held
        bias = np.sqrt(np.mean((z - values.mean()) ** 2))
        np.testing.assert_allclose(theory.expected_mean[t - 1], z.mean(), atol=1e-12)
        np.testing.assert_allclose(theory.expected_error[t - 1], bias, rtol=1e-10)
    assert (theory.expectation_bound >= theory.expected_error).all()
    assert np.isnan(theory.deviation_bound).all()


def test_measured_averaging_agrees() -> None:
    graph = pg.graphs.watts_strogatz(60, 4, 0.3, seed=0)
    x = np.random.default_rng(0).normal(size=60)
    run = pg.estimate(
        x, "variance", graph, method="sketch", faults="loss=0.4", iterations=1500, trials=40, seed=1
    )
    found = run.error[-1] / run.theory().error[-1]
    assert 0.85 < found < 1.15


@pytest.mark.parametrize("faults", ["churn=9/1", "delay=0.1", "loss=0.1, delay=0.1"])
def test_other_faults_are_measured(faults: str) -> None:
    run = pg.estimate(X, "gini", GRAPH, faults=faults, iterations=50, seed=0)
    with pytest.raises(pg.InputError, match="No theory is known for a network with these faults"):
        run.theory()
    assert run.plot() is not None


def test_sweeps_with_loss_are_measured() -> None:
    run = pg.estimate(
        X, None, GRAPH, method="averaging", schedule="ordered", faults="loss=0.1", seed=0
    )
    assert run.schedule == "ordered"
    with pytest.raises(pg.InputError, match="No theory"):
        run.theory()
