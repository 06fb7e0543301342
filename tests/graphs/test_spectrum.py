from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.errors import InputError
from pairgossip.graphs import (
    LAWS,
    Graph,
    barabasi_albert,
    complete,
    cycle,
    erdos_renyi,
    grid,
    path,
    spectrum,
    star,
    torus,
    watts_strogatz,
)

NAMED = [
    *(family(n) for family in (complete, cycle, path, star) for n in (3, 4, 7, 20)),
    complete(2),
    path(2),
    star(2),
    grid(1, 6),
    grid(2, 3),
    grid(5, 4),
    torus(3, 3),
    torus(5, 4),
    torus(3, 8),
]


def dense_gap(graph: Graph, law: str | None = None) -> float:
    return float(np.linalg.eigvalsh(graph.laplacian_dense(law))[1])


@pytest.mark.parametrize("graph", NAMED, ids=repr)
def test_closed_forms_agree_with_eigenvalues(graph: Graph) -> None:
    assert graph.spectral_gap() == pytest.approx(dense_gap(graph), rel=1e-10)
    for law in LAWS:
        assert graph.normalized_gap(law) == pytest.approx(dense_gap(graph, law), rel=1e-10)


def test_a_label_alone_does_not_bring_a_closed_form() -> None:
    mislabeled = Graph(5, [[0, 1], [0, 2], [0, 3], [0, 4], [1, 2]], family="cycle")
    assert mislabeled.spectral_gap() == pytest.approx(dense_gap(mislabeled))


def test_the_values_of_the_numerical_section() -> None:
    assert f"{torus(26, 26).normalized_gap():.3e}" == "4.299e-05"
    assert f"{torus(26, 26).spectral_gap():.5f}" == "0.05812"
    assert f"{complete(699).normalized_gap():.3e}" == "2.865e-03"
    assert f"{grid(26, 26).normalized_gap():.2e}" == "1.12e-05"
    assert f"{torus(27, 26).normalized_gap():.2e}" == "3.84e-05"


@pytest.mark.parametrize("law", [None, *LAWS])
@pytest.mark.parametrize("graph", [star(6), barabasi_albert(30, 2, seed=1), complete(5)], ids=repr)
def test_laplacians_agree_with_their_definition(graph: Graph, law: str | None) -> None:
    weights = np.ones(graph.edge_count) if law is None else graph.edge_probabilities(law)
    expected = np.zeros((graph.n, graph.n))
    for (i, j), weight in zip(graph.edges.tolist(), weights, strict=True):
        difference = np.zeros(graph.n)
        difference[[i, j]] = 1, -1
        expected += weight * np.outer(difference, difference)
    np.testing.assert_allclose(graph.laplacian_dense(law), expected, atol=1e-14)
    np.testing.assert_allclose(graph.laplacian(law).toarray(), expected, atol=1e-14)


def test_the_laplacian_is_that_of_networkx() -> None:
    graph = erdos_renyi(30, 0.3, seed=0)
    expected = nx.laplacian_matrix(graph.to_networkx()).toarray()
    assert np.array_equal(graph.laplacian().toarray(), expected)


@settings(deadline=None)
@given(st.integers(3, 25), st.floats(0.3, 1), st.integers(0, 1000), st.sampled_from(LAWS))
def test_the_second_eigenvalue_of_the_walk_comes_from_the_gap(
    n: int, p: float, seed: int, law: str
) -> None:
    """rho1 = 1 - x whether or not the graph is bipartite, because the trace of L_q is 2."""
    tree = np.array([[seed * k % k if k > 1 else 0, k] for k in range(1, n)])
    extra = np.argwhere(np.triu(np.random.default_rng(seed).random((n, n)) < p - 0.3, 1))
    graph = Graph(n, np.unique(np.concatenate([tree, extra]), axis=0))
    laplacian = graph.laplacian_dense(law)
    assert np.trace(laplacian) == pytest.approx(2)
    walk = 1 - np.linalg.eigvalsh(laplacian)[1:]
    assert np.abs(walk).max() == pytest.approx(1 - graph.normalized_gap(law), abs=1e-10)


def test_uniform_edges_divide_by_their_number() -> None:
    graph = watts_strogatz(100, 4, 0.3, seed=0)
    assert graph.normalized_gap() == graph.spectral_gap() / 200


def test_a_single_node_has_no_gap() -> None:
    for ask in (complete(1).spectral_gap, complete(1).normalized_gap):
        with pytest.raises(InputError) as refusal:
            ask()
        assert str(refusal.value) == (
            "A single node has no spectral gap; use a graph of at least two nodes."
        )


def test_small_graphs_need_no_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum, "fiedler_vector", None)
    assert watts_strogatz(600, 4, 0.3, seed=0).spectral_gap() > 0
