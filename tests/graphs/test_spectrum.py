"""Laplacians and spectral gaps against dense linear algebra, formulas and networkx."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import ArpackNoConvergence

from pairgossip.arrays import FloatArray
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
    random_geometric,
    random_regular,
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


LARGE = [
    watts_strogatz(800, 4, 0.3, seed=0),
    watts_strogatz(800, 4, 0.01, seed=0),
    barabasi_albert(800, 2, seed=0),
    barabasi_albert(700, 1, seed=0),
    erdos_renyi(800, 0.01, seed=0),
    erdos_renyi(700, 0.5, seed=0),
    random_regular(800, 3, seed=0),
    random_geometric(800, 0.09, seed=0),
]


@pytest.mark.pairs
@pytest.mark.parametrize("easy", [0.0, 1e10], ids=["filter first", "factors first"])
@pytest.mark.parametrize("law", [None, "node-clocks"])
@pytest.mark.parametrize("graph", LARGE, ids=repr)
def test_large_graphs_agree_with_dense_eigenvalues(
    graph: Graph, law: str | None, easy: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectrum, "_EASY_FACTORIZATION", easy)
    expected = np.linalg.eigvalsh(graph.laplacian_dense(law))[1]
    found = graph.spectral_gap() if law is None else graph.normalized_gap(law)
    assert found == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    "graph", [torus(60, 60), cycle(5000), path(20_000), grid(20, 300)], ids=repr
)
def test_thin_graphs_agree_with_closed_forms(graph: Graph) -> None:
    unnamed = Graph(graph.n, graph.edges)
    assert unnamed.spectral_gap() == pytest.approx(graph.spectral_gap(), rel=1e-8)


def test_a_result_is_repeatable() -> None:
    gaps = {watts_strogatz(3000, 4, 0.3, seed=1).spectral_gap() for _ in range(2)}
    assert len(gaps) == 1


def test_a_hopeless_graph_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum, "_EASY_FACTORIZATION", 0.0)
    monkeypatch.setattr(spectrum, "_LARGEST_FACTORIZATION", 1.0)
    monkeypatch.setattr(spectrum, "_RESTARTS", 2)
    with pytest.raises(InputError) as refusal:
        Graph(5000, cycle(5000).edges).spectral_gap()
    assert str(refusal.value) == (
        "The spectral gap of this graph of 5000 nodes is too small to be computed; "
        "use a smaller graph, or a named family with a formula."
    )


def refuse(*_: object) -> None:
    raise AssertionError("this way takes too long")


def test_a_small_world_is_not_factored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum, "_by_factors", refuse)
    assert watts_strogatz(10_000, 4, 0.3, seed=0).spectral_gap() > 0


@pytest.mark.parametrize("extra", [0, 500])
def test_trees_and_near_trees_are_factored(extra: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum, "_by_filter", refuse)
    tree = barabasi_albert(20_000, 1, seed=0)
    leaves = np.flatnonzero(tree.degrees == 1)[: 2 * extra].reshape(-1, 2)
    graph = Graph(tree.n, np.concatenate([tree.edges, leaves]))
    assert graph.spectral_gap() > 0
    assert graph.normalized_gap("node-clocks") > 0


def joined(size: int) -> Graph:
    """Return two expanders joined by one edge: a tiny gap, far from all other eigenvalues."""
    left, right = (random_regular(size, 4, seed=seed).edges for seed in (0, 1))
    return Graph(2 * size, np.concatenate([left, right + size, [[0, size]]]))


def test_a_tiny_gap_far_from_all_else_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = np.linalg.eigvalsh(joined(400).laplacian_dense())[1]
    monkeypatch.setattr(spectrum, "_EASY_FACTORIZATION", 0.0)
    monkeypatch.setattr(spectrum, "_LARGEST_FACTORIZATION", 0.0)
    # As with rounding at 30,000 nodes, the residual never gets small compared with the eigenvalue.
    monkeypatch.setattr(spectrum, "_RESIDUAL", 0.0)
    assert joined(400).spectral_gap() == pytest.approx(expected, rel=1e-10)


def test_a_poor_eigenvalue_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = joined(400)
    problem = spectrum.Problem(graph.laplacian(), 10.0)
    start = problem.centered(np.random.default_rng(0).standard_normal(graph.n))
    look = spectrum._filter(problem.matrix, problem.bound, 0.0, 1)
    poor = spectrum._find_leading(problem, look, start, 0.1)
    assert poor is not None
    assert not spectrum._has_exact_value(problem, start, poor)
    # The third eigenvector is exact, but its eigenvalue is not the second.
    third = np.linalg.eigh(graph.laplacian_dense())[1][:, 2]
    assert not spectrum._has_exact_value(problem, start, third)


def give_up(vector: FloatArray) -> FloatArray:
    raise ArpackNoConvergence("No convergence", vector, vector)


def test_factors_that_do_not_converge_give_way_to_the_filter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = watts_strogatz(800, 4, 0.3, seed=0)
    expected = graph.spectral_gap()
    monkeypatch.setattr(spectrum, "_pseudo_inverse", lambda problem: give_up)
    assert graph.spectral_gap() == pytest.approx(expected, rel=1e-8)


def test_nothing_that_converges_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum, "_RESTARTS", 1)
    monkeypatch.setattr(spectrum, "_BASIS_SIZE", 2)
    with pytest.raises(InputError, match="is too small to be computed"):
        watts_strogatz(800, 4, 0.3, seed=0).spectral_gap()
