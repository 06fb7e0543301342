from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.graphs import (
    Graph,
    barabasi_albert,
    cycle,
    erdos_renyi,
    grid,
    path,
    random_geometric,
    random_regular,
    spectrum,
    torus,
    watts_strogatz,
)

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
    """Two expanders with one edge between them: a tiny gap, and all else far away."""
    left, right = (random_regular(size, 4, seed=seed).edges for seed in (0, 1))
    return Graph(2 * size, np.concatenate([left, right + size, [[0, size]]]))


def test_a_tiny_gap_far_from_all_else_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = np.linalg.eigvalsh(joined(400).laplacian_dense())[1]
    monkeypatch.setattr(spectrum, "_EASY_FACTORIZATION", 0.0)
    monkeypatch.setattr(spectrum, "_LARGEST_FACTORIZATION", 0.0)
    # What rounding does to 30,000 nodes: the residual never gets small beside the eigenvalue.
    monkeypatch.setattr(spectrum, "_RESIDUAL", 0.0)
    assert joined(400).spectral_gap() == pytest.approx(expected, rel=1e-10)


def test_a_poor_eigenvalue_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = joined(400)
    problem = spectrum.Problem(graph.laplacian(), 10.0)
    start = problem.centered(np.random.default_rng(0).standard_normal(graph.n))
    look = spectrum._filter(problem.matrix, problem.bound, 0.0, 1)
    poor = spectrum._leading(problem, look, start, 0.1)
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
