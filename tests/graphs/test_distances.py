"""Diameters, detours and mixing times against exhaustive computation."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.graphs import (
    LAWS,
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


@pytest.mark.parametrize(
    ("graph", "exact", "bound"),
    [
        (path(3), 7, 7),
        (complete(8), 14, 15),
        (star(30), 131, 160),
        (torus(10, 10), 2293, 3249),
        (path(30), 10990, 14809),
    ],
    ids=repr,
)
def test_the_table_of_mixing_times(graph: Graph, exact: int, bound: int) -> None:
    assert graph.exact_mixing_time(0.01) == exact
    assert graph.mixing_time(0.01) == bound


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "graph", [path(5), star(6), complete(4), barabasi_albert(12, 2, seed=0)], ids=repr
)
def test_total_variation_by_matrix_powers(graph: Graph, law: str) -> None:
    walk = np.eye(graph.n) - graph.laplacian_dense(law)
    times = np.array([0, 1, 2, 3, 10, 57])
    expected = [
        0.5 * np.abs(np.linalg.matrix_power(walk, t) - 1 / graph.n).sum(axis=1).max()
        for t in times.tolist()
    ]
    np.testing.assert_allclose(graph.total_variation(times, law), expected, atol=1e-13)
    assert graph.total_variation(3, law) == pytest.approx(expected[3])
    assert isinstance(graph.total_variation(3, law), float)


@pytest.mark.pairs
@pytest.mark.parametrize("eps", [0.5, 0.1, 1e-3, 1e-6])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("graph", [path(6), star(9), watts_strogatz(40, 4, 0.3, seed=0)], ids=repr)
def test_the_exact_time_is_the_first_one_and_below_the_bound(
    graph: Graph, law: str, eps: float
) -> None:
    exact = graph.exact_mixing_time(eps, law)
    assert graph.total_variation(exact, law) <= eps
    assert exact == 0 or graph.total_variation(exact - 1, law) > eps
    assert exact <= graph.mixing_time(eps, law)
    x = graph.normalized_gap(law)
    by_hand = math.log(math.sqrt(graph.n - 1) / (2 * eps)) / -math.log(1 - x)
    assert graph.mixing_time(eps, law) == math.ceil(max(0, by_hand))


def test_total_variation_never_increases() -> None:
    values = watts_strogatz(30, 4, 0.3, seed=0).total_variation(np.arange(200).reshape(20, 10))
    assert values.shape == (20, 10)
    assert (np.diff(values.ravel()) <= 1e-14).all()


def test_the_triangle_forgets_in_one_step() -> None:
    for law in LAWS:
        assert complete(3).mixing_time(0.01, law) == 1
        assert cycle(3).exact_mixing_time(0.01, law) == 1
    assert complete(3).total_variation(1) == 0
    assert complete(3).mixing_time(0.9) == 0


def test_one_and_two_nodes() -> None:
    assert complete(1).mixing_time(0.01) == complete(1).diameter() == 0
    assert complete(1).exact_mixing_time(0.01) == 0
    assert complete(1).total_variation(5) == 0
    assert complete(2).total_variation([0, 1, 2, 99]).tolist() == [0.5] * 4
    for ask in (path(2).mixing_time, path(2).exact_mixing_time):
        with pytest.raises(InputError) as refusal:
            ask(0.01)
        assert str(refusal.value) == (
            "The mixing time of two nodes is infinite, because each exchange swaps them; "
            "use a graph of at least three nodes."
        )


@pytest.mark.parametrize("eps", [0, 1, -0.1, float("nan"), "small"])
def test_eps_lies_between_0_and_1(eps: Any) -> None:
    with pytest.raises(InputError) as refusal:
        path(3).mixing_time(eps)
    assert str(refusal.value) == f"The distance eps must be between 0 and 1, not {eps!r}."


@pytest.mark.parametrize("t", [-1, 0.5, [1, -2], "now"])
def test_times_are_whole_numbers(t: Any) -> None:
    with pytest.raises(InputError, match=r"^The times t must be whole numbers >= 0, not "):
        path(3).total_variation(t)


def test_the_exact_time_of_a_large_graph_is_refused() -> None:
    with pytest.raises(InputError) as refusal:
        cycle(3001).exact_mixing_time(0.01)
    assert str(refusal.value) == (
        "The exact total variation is computed up to 3000 nodes, not 3001; "
        "use mixing_time, an upper bound from the spectral gap."
    )
    assert complete(10**6).exact_mixing_time(0.01) > 10**6
