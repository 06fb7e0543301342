"""The best law of edges: against known optima, another solver, and its own certificate."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import minimize

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.graphs import Graph, GroupedGraph, complete, cycle, path, star, torus
from pairgossip.graphs.laws import name_law
from pairgossip.networks import best_law, interior_point


def from_networkx(graph: Any) -> Graph:
    return Graph.from_networkx(nx.convert_node_labels_to_integers(graph))


def expected_laplacian(graph: Graph, chances: Any) -> Any:
    """Return L_q by sums over nodes, edge by edge."""
    matrix = np.zeros((graph.n, graph.n))
    for (i, j), chance in zip(graph.edges.tolist(), chances, strict=True):
        matrix[i, i] += chance
        matrix[j, j] += chance
        matrix[i, j] -= chance
        matrix[j, i] -= chance
    return matrix


def softly(graph: Graph) -> float:
    """Return the largest gap found by L-BFGS on a soft minimum of the eigenvalues of laws."""
    best, theta = 0.0, np.zeros(graph.edge_count)
    a, b = graph.edges.T
    soft = graph.normalized_gap() / 2
    for _ in range(20):

        def value(theta: Any) -> tuple[float, Any]:
            nonlocal best
            q = np.exp(theta - theta.max())
            q /= q.sum()
            values, vectors = np.linalg.eigh(expected_laplacian(graph, q))
            best = max(best, float(values[1]))
            weights = np.exp(-(values[1:] - values[1]) / soft)  # noqa: B023
            smooth = values[1] - soft * np.log(weights.sum())  # noqa: B023
            slopes = (vectors[a, 1:] - vectors[b, 1:]) ** 2 @ (weights / weights.sum())
            return -smooth / best, -q * (slopes - slopes @ q) / best

        theta = minimize(value, theta, jac=True, method="L-BFGS-B", options={"maxiter": 80}).x
        theta = np.maximum(theta, theta.max() - 20)  # edges that were dropped may return
        soft /= 1.7
    return best


@pytest.mark.parametrize(
    "graph",
    [complete(6), star(9), cycle(12), torus(4, 5), torus(5, 5), path(2)],
    ids=["complete", "star", "cycle", "torus", "square torus", "two"],
)
def test_uniform_edges_are_best_where_edges_are_alike(graph: Graph) -> None:
    law = best_law(graph)
    if graph.n != 20:  # the edges of an uneven torus are of two kinds
        assert law.gain == pytest.approx(1, abs=1e-9)
    assert law.gain <= law.bound <= 1.001 * law.gain


def test_a_path_has_the_law_that_is_known() -> None:
    # The best law is p_e proportional to e (n - e), as for the modes of an evenly loaded string.
    n = 12
    law = best_law(path(n))
    chances = np.arange(1, n) * (n - np.arange(1, n))
    known = chances / chances.sum()
    gap = np.linalg.eigvalsh(expected_laplacian(path(n), known))[1]
    assert law.gap == pytest.approx(gap, rel=1e-3)
    assert law.probabilities == pytest.approx(known, abs=3e-3)
    shown = f"gap {law.gap:.4g}, {law.gain:.4g} times that of uniform edges (any law: at most"
    assert shown in str(law)


@pytest.mark.parametrize(
    "graph",
    [
        from_networkx(nx.barbell_graph(6, 0)),
        from_networkx(nx.lollipop_graph(6, 5)),
        pg.graphs.watts_strogatz(24, 4, 0.3, seed=2),
        pg.graphs.grid(4, 5),
        pg.graphs.barabasi_albert(20, 2, seed=1),
    ],
    ids=["barbell", "lollipop", "small world", "grid", "hubs"],
)
def test_another_solver_comes_as_far_and_no_further(graph: Graph) -> None:
    law = best_law(graph)
    assert law.gap == pytest.approx(
        np.linalg.eigvalsh(expected_laplacian(graph, law.probabilities))[1]
    )
    uniform = np.linalg.eigvalsh(graph.laplacian_dense())[1] / graph.edge_count
    assert law.gain == pytest.approx(law.gap / uniform)
    found = softly(graph)
    assert 0.97 * law.gap <= found <= law.bound * uniform * (1 + 1e-9)
    assert law.bound <= 1.0011 * law.gain


def test_no_other_law_passes_the_bound() -> None:
    graph = from_networkx(nx.barbell_graph(5, 0))
    law, rng = best_law(graph), np.random.default_rng(0)
    for _ in range(300):
        chances = law.probabilities * rng.lognormal(sigma=rng.choice([0.01, 0.1, 1]), size=21)
        gap = np.linalg.eigvalsh(expected_laplacian(graph, chances / chances.sum()))[1]
        assert gap <= law.bound * graph.normalized_gap() * (1 + 1e-9)


def test_conjugate_gradients_come_near(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = pg.graphs.build("random-geometric", 60, seed=0)
    exact = best_law(graph)
    monkeypatch.setattr(interior_point, "_MOST_FACTORED", 10)
    for work in (0.0, 1e9):
        monkeypatch.setattr(interior_point, "_EDGE_WORK", work)
        rough = best_law(graph)
        assert rough.bound <= 1.021 * rough.gain
        assert rough.gain <= exact.bound * (1 + 1e-9)
        assert exact.gain <= rough.bound * (1 + 1e-9)


def test_rounding_ends_with_what_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = from_networkx(nx.barbell_graph(6, 0))
    exact = best_law(graph)
    monkeypatch.setattr(interior_point, "_TOLERANCE", 1e-16)
    law = best_law(graph)
    assert law.bound == pytest.approx(law.gain, rel=1e-5)
    assert law.gain == pytest.approx(exact.gain, rel=1e-3)


def test_progress_is_told() -> None:
    steps: list[int] = []
    best_law(pg.graphs.grid(5, 6), progress=steps.append)
    assert 900 < sum(steps) <= 1000
    assert min(steps) >= 0


def test_gossip_gains_what_the_law_promises() -> None:
    graph = from_networkx(nx.barbell_graph(8, 0))
    law = best_law(graph)
    values = np.r_[np.zeros(8), np.ones(8)]
    runs = [
        pg.estimate(values, None, graph, method="averaging", clock="async", law=one, seed=0,
                    iterations=3000, trials=8)
        for one in ("uniform-edges", law)
    ]  # fmt: skip
    assert runs[1].error[-1] < runs[0].error[-1] / 20
    assert name_law(runs[1].law) == "best"


def test_the_best_law_of_another_graph_is_refused() -> None:
    graphs = [pg.graphs.watts_strogatz(12, 4, 0.3, seed=seed) for seed in (0, 1)]
    law = best_law(graphs[0])
    same = Graph(12, graphs[0].edges)
    assert same.normalized_gap(law) == law.gap
    with pytest.raises(InputError, match="law 'best' was found for a graph with other edges"):
        pg.estimate(np.arange(12.0), "gini", graphs[1], law=law)


def test_what_has_no_best_law_is_refused() -> None:
    wrong: Any = "cycle"
    cases = {
        "is a Graph, such as .*, not str": wrong,
        "of one node": Graph(1, []),
        "Rows at sites have no best law": GroupedGraph(path(2), [0, 1, 1]),
        "up to 3,000 nodes, not for 4,000": cycle(4000),
    }
    for sentence, graph in cases.items():
        with pytest.raises(InputError, match=sentence):
            best_law(graph)
