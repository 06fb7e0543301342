from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.graphs import (
    LAWS,
    Graph,
    GroupedGraph,
    barabasi_albert,
    complete,
    cycle,
    grid,
    path,
    spectrum,
    watts_strogatz,
)
from pairgossip.graphs import spectrum as fiedler
from pairgossip.graphs.grouped import spectrum as grouped_spectrum
from tests.graphs.virtual import GROUPED, NETWORKS, listed_by_definition


def dense_gap(graph: Graph, law: str | None = None) -> float:
    return float(np.linalg.eigvalsh(graph.laplacian_dense(law))[1])


@pytest.mark.parametrize("graph", GROUPED.values(), ids=GROUPED.keys())
def test_gaps_agree_with_all_eigenvalues_of_the_listed_graph(graph: GroupedGraph) -> None:
    plain = listed_by_definition(graph)
    assert graph.spectral_gap() == pytest.approx(dense_gap(plain), rel=1e-12, abs=1e-12)
    for law in LAWS:
        expected = dense_gap(plain, law)
        assert graph.normalized_gap(law) == pytest.approx(expected, rel=1e-12, abs=1e-13)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(2, 8),
    st.integers(0, 10_000),
    st.floats(0, 1),
    st.sampled_from(["lexicographic", "blow-up"]),
)
def test_gaps_of_random_networks(n: int, seed: int, p: float, construction: str) -> None:
    rng = np.random.default_rng(seed)
    tree = np.array([[rng.integers(k), k] for k in range(1, n)])
    extra = np.argwhere(np.triu(rng.random((n, n)) < p, 1))
    network = Graph(n, np.unique(np.concatenate([tree, extra]), axis=0))
    site_of = np.repeat(np.arange(n), rng.integers(1, 7, n))
    graph = GroupedGraph(network, rng.permutation(site_of), construction)
    plain = listed_by_definition(graph)
    assert graph.spectral_gap() == pytest.approx(dense_gap(plain), rel=1e-12, abs=1e-12)
    for law in LAWS:
        assert graph.normalized_gap(law) == pytest.approx(dense_gap(plain, law), rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())
def test_equal_sizes_multiply_the_spectrum_of_the_network(network: Graph, k: int) -> None:
    """All eigenvalues: k times the network's, and k (d + 1), or k d, for every site k - 1 times."""
    values = np.linalg.eigvalsh(network.laplacian_dense())
    site_of = np.repeat(np.arange(network.n), k)
    for construction, own in (("lexicographic", 1), ("blow-up", 0)):
        graph = GroupedGraph(network, site_of, construction)
        expected = np.concatenate([k * values, np.repeat(k * (network.degrees + own), k - 1)])
        found = np.linalg.eigvalsh(graph.laplacian_dense())
        np.testing.assert_allclose(found, np.sort(expected), atol=1e-12 * graph.n)
        gap = k * min(values[1], network.degrees.min() + own)
        assert graph.spectral_gap() == pytest.approx(gap, rel=1e-12)
        if construction == "lexicographic" or not network.is_complete:
            assert graph.spectral_gap() == pytest.approx(k * values[1], rel=1e-12)


SPARSE = [
    watts_strogatz(200, 4, 0.3, seed=0),
    barabasi_albert(200, 1, seed=0),
    barabasi_albert(200, 3, seed=1),
    Graph(200, path(200).edges),
    Graph(200, grid(5, 40).edges),
]


@pytest.mark.pairs
@pytest.mark.parametrize("easy", [0.0, 1e10], ids=["filter first", "factors first"])
@pytest.mark.parametrize("construction", ["lexicographic", "blow-up"])
@pytest.mark.parametrize("network", SPARSE, ids=repr)
def test_iterations_on_many_sites_agree_with_all_eigenvalues(
    network: Graph, construction: str, easy: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = 1 + np.random.default_rng(0).geometric(0.2, network.n)
    sizes[3] = 500
    site_of = np.repeat(np.arange(network.n), sizes)
    dense, sparse = (GroupedGraph(network, site_of, construction) for _ in range(2))
    expected = [dense.spectral_gap(), dense.normalized_gap("node-clocks")]
    monkeypatch.setattr(spectrum, "LARGEST_DENSE", 0)
    monkeypatch.setattr(fiedler, "_EASY_FACTORIZATION", easy)
    found = [sparse.spectral_gap(), sparse.normalized_gap("node-clocks")]
    assert found == pytest.approx(expected, rel=1e-8)


def test_many_sites_take_the_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def recorded(problem: fiedler.Problem) -> FloatArray:
        asked.append(problem)
        return fiedler.fiedler_vector(problem)

    monkeypatch.setattr(grouped_spectrum, "fiedler_vector", recorded)
    network = watts_strogatz(2000, 4, 0.3, seed=0)
    graph = GroupedGraph(network, np.repeat(np.arange(2000), np.arange(2000) % 7 + 1))
    assert 0 < graph.spectral_gap() <= (graph.reach + graph.sizes)[graph.sizes >= 2].min()
    (problem,) = asked
    assert problem.null is not None
    assert np.abs(problem.matrix @ problem.null).max() < 1e-12 * problem.bound


def test_few_sites_need_no_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped_spectrum, "fiedler_vector", None)
    monkeypatch.setattr(spectrum, "LARGEST_DENSE", 60)
    network = watts_strogatz(60, 4, 0.3, seed=0)
    assert GroupedGraph(network, np.repeat(np.arange(60), np.arange(60) + 1)).spectral_gap() > 0


def test_closed_forms_reach_a_million_rows() -> None:
    graph = GroupedGraph(cycle(100_000), np.repeat(np.arange(100_000), 10))
    assert graph.spectral_gap() == 10 * cycle(100_000).spectral_gap()
    parts = GroupedGraph(complete(100_000), np.repeat(np.arange(100_000), 10), "blow-up")
    assert parts.spectral_gap() == 10**6 - 10
    # Only two sizes occur: a matrix of two rows.
    sizes = np.where(np.arange(100_000) < 10, 50_005, 5)
    uneven = GroupedGraph(complete(100_000), np.repeat(np.arange(100_000), sizes), "blow-up")
    assert uneven.spectral_gap() == uneven.n - 50_005
    assert 0 < uneven.normalized_gap("node-clocks") < 2 / (uneven.n - 1)


def test_too_many_different_sizes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped_spectrum, "MOST_DISTINCT_SIZES", 3)
    graph = GroupedGraph(complete(4), np.repeat(np.arange(4), [1, 2, 3, 4]), "blow-up")
    with pytest.raises(InputError) as refusal:
        graph.normalized_gap("node-clocks")
    assert str(refusal.value) == (
        "The spectral gap of node clocks on a blown-up complete graph is computed up to 3 "
        "different sizes of sites, not 4; use the lexicographic construction or uniform edges."
    )
