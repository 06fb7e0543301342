from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pairgossip.graphs import Graph, checks, random_regular
from pairgossip.graphs.random_families import regular_edges


@pytest.mark.parametrize("n", range(2, 12))
def test_every_possible_small_degree(n: int) -> None:
    for degree in range(2, n):
        if n * degree % 2 == 0:
            for seed in range(5):
                graph = random_regular(n, degree, seed=seed)
                assert (graph.degrees == degree).all()
                assert Graph(n, graph.edges) == graph


@pytest.mark.parametrize(("n", "degree"), [(100, 49), (100, 50), (101, 50), (60, 58), (2000, 3)])
def test_sparse_and_dense_degrees_are_simple(n: int, degree: int) -> None:
    edges = regular_edges(n, degree, np.random.default_rng(1))
    assert (np.bincount(edges.ravel(), minlength=n) == degree).all()
    ordered = checks.ordered_rows(edges)
    assert (ordered[:, 0] < ordered[:, 1]).all()
    assert len(np.unique(checks.edge_keys(n, ordered))) == n * degree // 2


def test_every_pair_is_joined_equally_often() -> None:
    rng = np.random.default_rng(2)
    counts = np.zeros((8, 8))
    for _ in range(1500):
        ordered = checks.ordered_rows(regular_edges(8, 3, rng))
        counts[ordered[:, 0], ordered[:, 1]] += 1
    observed = counts[np.triu_indices(8, 1)]
    # Edges of one graph are dependent, which narrows the counts: only the upper tail matters.
    assert stats.chisquare(observed).pvalue > 1e-4
