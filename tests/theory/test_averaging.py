"""The exact error of averaging: against powers of the matrix of second moments, and runs."""

from __future__ import annotations

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.theory.averaging import averaging_error

GRAPHS = {
    "small world": pg.graphs.watts_strogatz(9, 4, 0.5, seed=0),
    "star": pg.graphs.star(7),
    "path": pg.graphs.path(6),
    "complete": pg.graphs.complete(5),
    "pair": pg.graphs.path(2),
}
STEPS = np.array([0, 1, 2, 5, 20, 60])


def by_definition(values: FloatArray, graph: Graph, law: str) -> list[float]:
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
            mixing[np.ix_([i, j], [i, j])] = 0.5
            after += chance * mixing @ moments @ mixing
        moments = after
    return errors


@pytest.mark.parametrize("law", pg.graphs.LAWS)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_equal_to_the_definition(graph: Graph, law: str) -> None:
    values = np.random.default_rng(0).exponential(size=graph.n)
    found = averaging_error(values, graph, STEPS, law)
    assert found == pytest.approx(by_definition(values, graph, law), rel=1e-6, abs=1e-9)


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
