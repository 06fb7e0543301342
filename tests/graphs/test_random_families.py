"""Random families: simple, connected, reproducible, and with the right distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from pairgossip.errors import InputError
from pairgossip.graphs import (
    Graph,
    barabasi_albert,
    build,
    checks,
    erdos_renyi,
    random_families,
    random_geometric,
    random_regular,
    watts_strogatz,
)
from pairgossip.graphs.random_families import _attach_edges, _regular_edges

DRAWN: list[tuple[Callable[..., Graph], dict[str, Any]]] = [
    (watts_strogatz, {"n": 200, "k": 4, "p": 0.3}),
    (erdos_renyi, {"n": 200, "p": 0.06}),
    (random_regular, {"n": 200, "degree": 3}),
    (random_geometric, {"n": 200, "radius": 0.2}),
    (barabasi_albert, {"n": 200, "m": 2}),
]
NAMES = [family.__name__ for family, _ in DRAWN]


@pytest.mark.parametrize(("family", "parameters"), DRAWN, ids=NAMES)
def test_a_seed_repeats_the_graph(family: Callable[..., Graph], parameters: Any) -> None:
    one = family(**parameters, seed=7)
    assert np.array_equal(one.edges, family(**parameters, seed=7).edges)
    assert one != family(**parameters, seed=8)
    assert family(**parameters) != family(**parameters)
    assert Graph(one.n, one.edges) == one
    assert one.family == family.__name__.replace("_", "-")
    assert one.parameters["seed"] == 7
    assert build(one.family, one.n, **one.parameters) == one
    drawn = family(**parameters, seed=np.random.default_rng(7))
    assert drawn == one and drawn.parameters["seed"] is None  # it could not be drawn again


@settings(deadline=None, max_examples=40)
@given(st.integers(3, 40), st.data())
def test_watts_strogatz_is_simple_with_nk_over_2_edges(n: int, data: st.DataObject) -> None:
    k = 2 * data.draw(st.integers(1, (n - 1) // 2))
    p = data.draw(st.floats(0, 1)) if k > 2 else 0.0
    graph = watts_strogatz(n, k, p, seed=data.draw(st.integers(0, 99)))
    assert Graph(n, graph.edges).edge_count == n * k // 2
    assert (graph.degrees >= k // 2).all()


def test_watts_strogatz_without_rewiring_is_the_ring() -> None:
    expected = Graph.from_networkx(nx.watts_strogatz_graph(20, 4, 0))
    assert watts_strogatz(20, 4, 0, seed=1) == expected


def test_watts_strogatz_rewires_a_fraction_p() -> None:
    n, k, p = 5_000, 4, 0.3
    graph = watts_strogatz(n, k, p, seed=0)
    around = np.abs(graph.edges[:, 1] - graph.edges[:, 0])
    on_ring = np.minimum(around, n - around) <= k // 2
    assert 1 - on_ring.mean() == pytest.approx(p, abs=0.02)
    other = nx.watts_strogatz_graph(n, k, p, seed=0)
    assert graph.edge_count == other.number_of_edges()
    assert graph.degrees.var() == pytest.approx(np.var([d for _, d in other.degree]), rel=0.1)


def test_watts_strogatz_moves_ends_everywhere() -> None:
    graph = watts_strogatz(20_000, 4, 1.0, seed=0)
    counts = np.bincount(graph.edges.ravel() // 2000, minlength=10)
    assert counts / counts.mean() == pytest.approx(np.ones(10), abs=0.05)


def test_erdos_renyi_has_the_right_number_of_edges() -> None:
    counts = np.array([erdos_renyi(60, 0.3, seed=seed).edge_count for seed in range(200)])
    mean, variance = 0.3 * 1770, 0.3 * 0.7 * 1770
    assert abs(counts.mean() - mean) < 5 * np.sqrt(variance / 200)
    assert counts.var() == pytest.approx(variance, rel=0.5)


def test_erdos_renyi_joins_all_pairs_alike() -> None:
    counts = np.zeros((12, 12))
    for seed in range(800):
        edges = erdos_renyi(12, 0.5, seed=seed).edges
        counts[edges[:, 0], edges[:, 1]] += 1
    assert np.abs(counts[np.triu_indices(12, 1)] / 800 - 0.5).max() < 0.08


def test_erdos_renyi_at_its_ends() -> None:
    assert erdos_renyi(7, 1).is_complete
    assert erdos_renyi(1, 0).edge_count == 0
    assert erdos_renyi(2, 0.999, seed=1).edge_count == 1


def test_random_geometric_joins_exactly_the_close_points() -> None:
    graph = random_geometric(150, 0.2, seed=4)
    assert graph.positions is not None
    assert not graph.positions.flags.writeable
    apart = np.linalg.norm(graph.positions[:, None] - graph.positions[None], axis=2)
    expected = np.argwhere(np.triu(apart <= 0.2, 1))
    assert graph == Graph(150, expected)


@pytest.mark.parametrize(
    ("family", "parameters", "message"),
    [
        (watts_strogatz, (699, 5, 0.3), "Watts-Strogatz needs an even k, k/2 on each side: use 4 "),
        (watts_strogatz, (4, 4, 0.3), "Watts-Strogatz needs k < n, but k=4 and n=4."),
        (watts_strogatz, (9, 0, 0.3), "The number of ring neighbors k must be a whole number >= "),
        (watts_strogatz, (9, 4, 1.5), "The rewiring probability p must be a number between 0 and "),
        (watts_strogatz, (10**9, 4, 0.1), "The graph would have about 2.0e+09 edges, more than "),
        (erdos_renyi, (100, 0.01), "Erdos-Renyi with n=100 and p=0.01 stayed disconnected in 100 "),
        (erdos_renyi, (100, 0), "Erdos-Renyi with n=100 and p=0 stayed disconnected in 100 "),
        (erdos_renyi, (100, 1e-300), "Erdos-Renyi with n=100 and p=1e-300 stayed disconnected in "),
        (erdos_renyi, (100, -0.1), "The edge probability p must be a number between 0 and 1, not "),
        (erdos_renyi, (10**6, 0.5), "Erdos-Renyi with n=1000000 and p=0.5 would have about "),
        (
            random_regular,
            (5, 3),
            "No graph on n=5 nodes has degree=3 at every node: make n * degree ",
        ),
        (random_regular, (5, 5), "A regular graph needs degree < n, but degree=5 and n=5."),
        (random_regular, (6, 1), "With degree=1 the 6 nodes fall into pairs; use a degree of at "),
        (random_geometric, (100, 0.01), "The random geometric graph with n=100 and radius=0.01 "),
        (random_geometric, (9, -1), "The radius must be a number >= 0, not -1."),
        (barabasi_albert, (5, 5), "Barabasi-Albert needs m < n, but m=5 and n=5."),
        (barabasi_albert, (5, 0), "The number of edges per new node m must be a whole number >= "),
        (barabasi_albert, (5, 2, -3), "The seed must be a whole number >= 0, not -3."),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    family: Callable[..., Graph], parameters: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(InputError) as refusal:
        family(*parameters)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("family", "parameters", "message"),
    [
        (watts_strogatz, (50, 2, 0.9), "Watts-Strogatz with n=50, k=2 and p=0.9 stayed "),
        (random_regular, (8, 3), "The random regular graph with n=8 and degree=3 stayed "),
    ],
)
def test_bad_luck_is_told(
    family: Callable[..., Graph],
    parameters: tuple[Any, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(random_families, "is_connected", lambda n, edges: False)
    with pytest.raises(InputError) as refusal:
        family(*parameters)
    assert str(refusal.value).startswith(message)


def test_one_node_and_two() -> None:
    assert random_geometric(1, 0.1).edge_count == 0
    assert random_regular(2, 1).edge_count == 1
    assert barabasi_albert(2, 1).edge_count == 1


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        (watts_strogatz, (4, 0.3)),
        (erdos_renyi, (2e-4,)),
        (random_regular, (4,)),
        (random_geometric, (0.01,)),
        (barabasi_albert, (2,)),
    ],
    ids=NAMES,
)
def test_a_hundred_thousand_nodes(
    family: Callable[..., Graph], parameters: tuple[Any, ...]
) -> None:
    assert family(100_000, *parameters, seed=0).n == 100_000


@pytest.mark.parametrize(
    ("n", "m"), [(2, 1), (3, 2), (50, 1), (60, 50), (200, 3), (1000, 1), (1000, 7), (500, 100)]
)
def test_counts_are_those_of_networkx(n: int, m: int) -> None:
    edges = _attach_edges(n, m, np.random.default_rng(0))
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
    # With m = 1, node 3 joins a path of three nodes: the middle one has half of the four ends.
    hits = 0
    for seed in range(4000):
        edges = _attach_edges(4, 1, np.random.default_rng(seed))
        middle = np.bincount(edges[:2].ravel()).argmax()
        hits += edges[2, 1] == middle
    assert hits / 4000 == pytest.approx(0.5, abs=0.04)


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
    edges = _regular_edges(n, degree, np.random.default_rng(1))
    assert (np.bincount(edges.ravel(), minlength=n) == degree).all()
    ordered = checks.ordered_rows(edges)
    assert (ordered[:, 0] < ordered[:, 1]).all()
    assert len(np.unique(checks.edge_keys(n, ordered))) == n * degree // 2


def test_every_pair_is_joined_equally_often() -> None:
    rng = np.random.default_rng(2)
    counts = np.zeros((8, 8))
    for _ in range(500):
        ordered = checks.ordered_rows(_regular_edges(8, 3, rng))
        counts[ordered[:, 0], ordered[:, 1]] += 1
    observed = counts[np.triu_indices(8, 1)]
    # Edges of one graph are dependent, which narrows the counts: only the upper tail matters.
    assert stats.chisquare(observed).pvalue > 1e-4


PATH = np.array([[0, 1], [1, 2]])


@settings(deadline=None)
@given(st.integers(1, 3_000_000_000), st.data())
def test_numbers_name_pairs(j: int, data: st.DataObject) -> None:
    i = data.draw(st.integers(0, min(j - 1, 2**31)))
    number = np.array([j * (j - 1) // 2 + i])
    assert random_families.pairs_from_numbers(number).tolist() == [[i, j]]


def test_the_first_connected_draw_is_taken() -> None:
    draws = iter([PATH[:1], PATH[:1], PATH, PATH[:1]])
    found = random_families._draw_until_connected(3, lambda: next(draws), 2, "It", "do better")
    assert np.array_equal(found, PATH)
    assert len(list(draws)) == 1


@pytest.mark.parametrize(("expected_edges", "draws"), [(2, 100), (5e6, 11), (1e9, 3)])
def test_giving_up_is_bounded(expected_edges: float, draws: int) -> None:
    asked: list[int] = []

    def draw() -> NDArray[Any]:
        asked.append(1)
        return PATH[:1]

    with pytest.raises(InputError) as refusal:
        random_families._draw_until_connected(3, draw, expected_edges, "It", "do better")
    assert str(refusal.value) == f"It stayed disconnected in {draws} draws: do better."
    assert len(asked) == draws
