from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from pairgossip.graphs import Graph, barabasi_albert
from pairgossip.graphs.random_families import attach_edges


@pytest.mark.parametrize(
    ("n", "m"), [(2, 1), (3, 2), (50, 1), (60, 50), (200, 3), (1000, 1), (1000, 7), (500, 100)]
)
def test_counts_are_those_of_networkx(n: int, m: int) -> None:
    edges = attach_edges(n, m, np.random.default_rng(0))
    graph = Graph(n, edges)
    other = nx.barabasi_albert_graph(n, m, seed=0)
    assert graph.edge_count == other.number_of_edges() == m * (n - m)
    grown = edges[m:]
    assert (grown[:, 0] == np.repeat(np.arange(m + 1, n), m)).all()
    assert (grown[:, 1] < grown[:, 0]).all()
    assert edges[:m].tolist() == [[leaf, 0] for leaf in range(1, m + 1)]


def test_degrees_are_distributed_as_in_networkx() -> None:
    n, m, repeats = 400, 2, 60
    mine = np.array([barabasi_albert(n, m, seed=s).degrees for s in range(repeats)])
    theirs = np.array(
        [[d for _, d in nx.barabasi_albert_graph(n, m, seed=s).degree] for s in range(repeats)]
    )
    # Mean degree by age, and how often the smallest degree occurs.
    for nodes in (slice(0, 3), slice(3, 20), slice(64, 128), slice(300, 400)):
        a, b = (degrees[:, nodes].mean(axis=1) for degrees in (mine, theirs))
        error = np.sqrt((a.var() + b.var()) / repeats)
        assert abs(a.mean() - b.mean()) < 5 * error
    smallest = [(degrees == m).mean() for degrees in (mine, theirs)]
    assert smallest[0] == pytest.approx(smallest[1], abs=0.02)


def test_a_target_is_proportional_to_its_degree() -> None:
    # With m = 1, node 3 finds three nodes in a row: the middle one has half of the four ends.
    hits = 0
    for seed in range(4000):
        edges = attach_edges(4, 1, np.random.default_rng(seed))
        middle = np.bincount(edges[:2].ravel()).argmax()
        hits += edges[2, 1] == middle
    assert hits / 4000 == pytest.approx(0.5, abs=0.04)
