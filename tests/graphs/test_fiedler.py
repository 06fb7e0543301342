from __future__ import annotations

import time

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.graphs import (
    Graph,
    barabasi_albert,
    cycle,
    erdos_renyi,
    fiedler,
    grid,
    path,
    random_geometric,
    random_regular,
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
    monkeypatch.setattr(fiedler, "_EASY_FACTORIZATION", easy)
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
    monkeypatch.setattr(fiedler, "_EASY_FACTORIZATION", 0.0)
    monkeypatch.setattr(fiedler, "_LARGEST_FACTORIZATION", 1.0)
    monkeypatch.setattr(fiedler, "_RESTARTS", 2)
    with pytest.raises(InputError) as refusal:
        Graph(5000, cycle(5000).edges).spectral_gap()
    assert str(refusal.value) == (
        "The spectral gap of this graph of 5000 nodes is too small to be computed; "
        "use a smaller graph, or a named family with a formula."
    )


def test_a_small_world_of_ten_thousand_nodes_is_quick() -> None:
    graph = watts_strogatz(10_000, 4, 0.3, seed=0)
    start = time.perf_counter()
    graph.spectral_gap()
    assert time.perf_counter() - start < 10  # about 0.2 s on an idle core; minutes by factors
