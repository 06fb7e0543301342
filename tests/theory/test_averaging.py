"""The exact error of averaging: against powers of the matrix of second moments, and runs."""

from __future__ import annotations

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.theory import averaging
from pairgossip.theory.averaging import averaging_error

GRAPHS = {
    "small world": pg.graphs.watts_strogatz(9, 4, 0.5, seed=0),
    "star": pg.graphs.star(7),
    "path": pg.graphs.path(6),
    "complete": pg.graphs.complete(5),
    "pair": pg.graphs.path(2),
}
STEPS = np.array([0, 1, 2, 5, 20, 60])


def by_definition(
    values: FloatArray, graph: Graph, law: str, relaxation: float = 0.5
) -> list[float]:
    """Iterate E[z z'] on all pairs of nodes."""
    n, deviations = graph.n, values - values.mean()
    moments = np.outer(deviations, deviations)
    errors = []
    for step in range(STEPS[-1] + 1):
        if step in STEPS:
            errors.append(np.sqrt(max(moments.trace(), 0.0) / n))
        after = np.zeros_like(moments)
        for (i, j), chance in zip(graph.edges, graph.edge_probabilities(law), strict=True):
            mixing = np.eye(n)
            mixing[[i, j], [i, j]] = 1 - relaxation
            mixing[[i, j], [j, i]] = relaxation
            after += chance * mixing @ moments @ mixing
        moments = after
    return errors


@pytest.mark.pairs
@pytest.mark.parametrize("relaxation", [0.5, 0.2, 0.9])
@pytest.mark.parametrize("law", pg.graphs.LAWS)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_equal_to_the_definition(graph: Graph, law: str, relaxation: float) -> None:
    values = np.random.default_rng(0).exponential(size=graph.n)
    found = averaging_error(values, graph, STEPS, law, relaxation)
    expected = by_definition(values, graph, law, relaxation)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def by_distance(values: FloatArray, exchanges: int) -> float:
    """Iterate E[z z'] on a ring, averaged over rotations, as a function of distance."""
    n, deviations = len(values), values - values.mean()
    shifts = [deviations @ np.roll(deviations, shift) / n for shift in range(n)]
    step = np.eye(n) * (1 - 2 / n) + (np.roll(np.eye(n), 1, 0) + np.roll(np.eye(n), -1, 0)) / n
    step[0] += np.array([2, -1, *[0] * (n - 3), -1]) / (2 * n)
    step[[1, -1]] -= np.array([2, -1, *[0] * (n - 3), -1]) / (4 * n)
    return float(np.sqrt((np.linalg.matrix_power(step, exchanges) @ shifts)[0]))


def test_long_runs_on_a_long_ring() -> None:
    """A few Lanczos steps do not find the slowest modes, and are not accepted."""
    values = np.random.default_rng(2).normal(size=400)
    steps = np.array([400, 40_000, 2_000_000, 8_000_000])
    expected = [by_distance(values, int(one)) for one in steps]
    assert averaging_error(values, pg.graphs.cycle(400), steps) == pytest.approx(expected, rel=1e-3)


def test_what_takes_too_long_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, values = pg.graphs.path(80), np.random.default_rng(2).normal(size=80)
    steps = np.array([80, 800, 8_000_000])
    whole = averaging_error(values, graph, steps)
    assert np.isfinite(whole).all()
    monkeypatch.setattr(averaging, "_FEWEST_STEPS", 24)
    monkeypatch.setattr(averaging, "_MOST_NUMBERS", 1)
    part = averaging_error(values, graph, steps)
    assert part[:2] == pytest.approx(whole[:2], rel=1e-6) and np.isnan(part[2])


def test_nothing_is_left_in_the_end() -> None:
    error = averaging_error(np.arange(36.0), pg.graphs.torus(6, 6), np.array([100_000]))
    assert error[0] < 1e-30


def test_runs_have_this_error() -> None:
    graph = pg.graphs.torus(8, 8)
    values = np.random.default_rng(1).normal(size=graph.n)
    run = pg.estimate(values, None, graph, method="averaging", trials=200, seed=0, progress=False)
    predicted = averaging_error(values, graph, run.iterations)
    seen = run.error > 1e-3 * run.error[0]
    assert run.error[seen] == pytest.approx(predicted[seen], rel=0.1)


def test_large_networks_are_refused() -> None:
    with pytest.raises(InputError, match="known up to 4,000 nodes, not for 5,000"):
        averaging_error(np.zeros(5000), pg.graphs.cycle(5000), STEPS)
