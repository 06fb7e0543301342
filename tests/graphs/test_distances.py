from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.graphs import (
    Graph,
    barabasi_albert,
    complete,
    cycle,
    distances,
    erdos_renyi,
    grid,
    path,
    random_geometric,
    star,
    torus,
    watts_strogatz,
)

NAMED = [complete(5), cycle(7), cycle(8), path(6), star(5), grid(3, 5), torus(5, 6), star(2)]
DRAWN = [
    watts_strogatz(150, 4, 0.2, seed=3),
    barabasi_albert(150, 1, seed=3),
    erdos_renyi(150, 0.05, seed=3),
    random_geometric(150, 0.2, seed=3),
]


@pytest.mark.parametrize("graph", [*NAMED, *DRAWN], ids=repr)
def test_diameters_agree_with_networkx(graph: Graph) -> None:
    expected = nx.diameter(graph.to_networkx())
    assert graph.diameter() == expected
    assert Graph(graph.n, graph.edges).diameter() == expected


def brute_force_delta_tilde(graph: Graph) -> float:
    apart = dict(nx.all_pairs_shortest_path_length(graph.to_networkx()))
    farthest = max(max(row.values()) for row in apart.values())
    return max(
        np.mean([apart[i][k] + apart[k][j] for k in range(graph.n) if k not in (i, j)]).item()
        for i in range(graph.n)
        for j in range(graph.n)
        if apart[i][j] == farthest
    )


@pytest.mark.parametrize("graph", [*NAMED[:-1], *(g for g in DRAWN)], ids=repr)
def test_delta_tilde_by_brute_force(graph: Graph) -> None:
    value, (i, j) = graph.delta_tilde()
    assert value == pytest.approx(brute_force_delta_tilde(graph))
    assert nx.shortest_path_length(graph.to_networkx(), i, j) == graph.diameter()
    assert graph.diameter() <= value <= 2 * graph.diameter()


def test_the_values_of_the_lower_bound_section() -> None:
    assert path(10).delta_tilde() == (9.0, (0, 9))
    assert (path(10).diameter(), complete(10).diameter(), star(10).diameter()) == (9, 1, 2)
    assert complete(10).delta_tilde().value == 2
    assert star(10).delta_tilde().value == 3.75
    assert torus(26, 26).delta_tilde().value == 26 == torus(26, 26).diameter()


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = DRAWN[0]
    expected = graph.delta_tilde()
    monkeypatch.setattr(distances, "_BLOCK_ENTRIES", 7 * graph.n)
    assert graph.delta_tilde() == expected


def test_one_node_has_diameter_0() -> None:
    assert complete(1).diameter() == 0


def test_sizes_that_are_refused() -> None:
    tree = Graph(20_001, path(20_001).edges)
    with pytest.raises(InputError) as refusal:
        tree.diameter()
    assert str(refusal.value) == "The diameter is computed up to 20000 nodes, not 20001."
    with pytest.raises(InputError) as refusal:
        path(5001).delta_tilde()
    assert str(refusal.value) == "The mean detour is computed up to 5000 nodes, not 5001."
    with pytest.raises(InputError) as refusal:
        path(2).delta_tilde()
    assert str(refusal.value) == (
        "The mean detour needs a third node; use a graph of at least three nodes."
    )
    assert path(20_001).diameter() == 20_000
    assert complete(10**6).delta_tilde() == (2.0, (0, 1))
