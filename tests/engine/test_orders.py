"""Sweeps: proper colorings, and relaxations against eigenvalues of the sweep's matrix."""

from __future__ import annotations

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.engine import relaxations
from pairgossip.engine.relaxations import best_relaxation, bound_gap, spectral_radius
from pairgossip.errors import InputError, MissingExtra
from pairgossip.graphs import Graph
from pairgossip.graphs.orders import Sweep, color_edges

GRAPHS = {
    "cycle": pg.graphs.cycle(20),
    "odd cycle": pg.graphs.cycle(21),
    "torus": pg.graphs.torus(6, 8),
    "grid": pg.graphs.grid(5, 7),
    "small world": pg.graphs.watts_strogatz(40, 4, 0.3, seed=0),
    "geometric": pg.graphs.random_geometric(40, 0.35, seed=1),
    "star": pg.graphs.star(12),
    "complete": pg.graphs.complete(9),
    "pair": pg.graphs.path(2),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_a_coloring_is_proper_and_short(graph: Graph) -> None:
    sweep = color_edges(graph)
    assert sorted(map(tuple, sweep.edges.tolist())) == sorted(map(tuple, graph.edges.tolist()))
    for start, end in zip((0, *sweep.ends), sweep.ends, strict=False):
        nodes = sweep.edges[start:end].ravel()
        assert len(np.unique(nodes)) == len(nodes) > 0
    assert graph.degrees.max() <= sweep.colors <= 2 * graph.degrees.max() - 1


def matrix(sweep: Sweep, n: int, relaxation: float) -> np.ndarray:
    """Return the matrix of a sweep, one edge after the other, by definition."""
    product = np.eye(n)
    for i, j in sweep.edges:
        step = np.eye(n)
        step[[i, j], [i, j]] = 1 - relaxation
        step[[i, j], [j, i]] = relaxation
        product = step @ product
    return product


def exact_radius(sweep: Sweep, n: int, relaxation: float) -> float:
    values = np.linalg.eigvals(matrix(sweep, n, relaxation) - 1 / n)
    return float(np.abs(values).max())


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("relaxation", [0.5, 0.6, 0.8])
def test_a_sweep_and_its_radius(graph: Graph, relaxation: float) -> None:
    sweep = color_edges(graph)
    values = np.random.default_rng(0).normal(size=(graph.n, 3))
    after = values.copy()
    sweep.apply(after, relaxation)
    assert np.allclose(after, matrix(sweep, graph.n, relaxation) @ values)
    assert np.allclose(after.sum(axis=0), values.sum(axis=0))
    measured = spectral_radius(sweep, graph.n, relaxation)
    assert measured == pytest.approx(exact_radius(sweep, graph.n, relaxation), abs=0.02)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_no_relaxation_is_much_better(graph: Graph) -> None:
    sweep = color_edges(graph)
    best = exact_radius(sweep, graph.n, best_relaxation(graph, sweep))
    others = [exact_radius(sweep, graph.n, one) for one in np.arange(0.5, 0.99, 0.01)]
    assert best <= min(others) + 0.03


LARGE = {
    "odd torus": pg.graphs.torus(35, 33),
    "small world": pg.graphs.watts_strogatz(1_200, 4, 0.3, seed=0),
    "slow small world": pg.graphs.watts_strogatz(1_200, 4, 0.05, seed=0),
    "random regular": pg.graphs.random_regular(1_200, 4, seed=0),
}


@pytest.mark.parametrize("graph", LARGE.values(), ids=LARGE)
def test_few_tries_find_a_relaxation_as_good_as_a_search_over_the_long_run(graph: Graph) -> None:
    sweep = color_edges(graph)
    found = relaxations._search_default_run(graph.n, sweep)
    assert found == best_relaxation(graph, sweep)
    searched = relaxations._search_long_run(graph.n, sweep)
    values = np.random.default_rng(5).normal(size=(graph.n, 4))
    values -= values.mean(axis=0)
    errors = []
    for relaxation in (found, searched, 0.5):
        after = values.copy()
        for _ in range(60):
            sweep.apply(after, relaxation)
        errors.append(float(np.linalg.norm(after)))
    rates = -np.log(np.array(errors) / np.linalg.norm(values))
    assert rates[0] > 0.93 * rates[1]
    assert rates[0] > 1.05 * rates[2]


def test_a_relaxation_of_a_large_graph_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = LARGE["random regular"]
    sweep = color_edges(graph)
    compiled = relaxations._search_default_run(graph.n, sweep)

    def lack_compiler() -> None:
        raise MissingExtra("numba")

    monkeypatch.setattr(relaxations, "needed_for_speed", lack_compiler)
    assert relaxations._search_default_run(graph.n, sweep) == pytest.approx(compiled, abs=1e-9)


@pytest.mark.parametrize("graph", LARGE.values(), ids=LARGE)
def test_the_bound_of_a_gap_is_close_above_it(graph: Graph) -> None:
    gap = graph.spectral_gap()
    assert gap * (1 - 1e-9) <= bound_gap(graph, color_edges(graph)) <= 1.5 * gap


@pytest.mark.parametrize("graph", [pg.graphs.star(1500), pg.graphs.path(1500)], ids=str)
def test_the_bound_of_a_gap_is_never_below_it(graph: Graph) -> None:
    """A star has only three modes to find; a path has many slow ones."""
    assert bound_gap(graph, color_edges(graph)) >= graph.spectral_gap() * (1 - 1e-9)


def test_too_many_edges() -> None:
    with pytest.raises(
        InputError, match="A sweep over all 49,995,000 edges is longer than most runs"
    ):
        color_edges(pg.graphs.complete(10_000))
