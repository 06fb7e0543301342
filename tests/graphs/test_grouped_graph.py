from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.graphs import (
    LAWS,
    Graph,
    GroupedGraph,
    complete,
    cycle,
    edge_law,
    grouped,
    path,
    watts_strogatz,
)
from tests.graphs.virtual import GROUPED, listed_by_definition

ALL = pytest.mark.parametrize("graph", GROUPED.values(), ids=GROUPED.keys())


@ALL
def test_the_graph_on_rows_is_that_of_the_definition(graph: GroupedGraph) -> None:
    plain = listed_by_definition(graph)
    assert (graph.n, graph.edge_count) == (plain.n, plain.edge_count)
    assert type(graph.materialized()) is Graph
    assert graph.materialized() == plain
    assert graph.degrees.tolist() == plain.degrees.tolist()
    assert graph.is_complete == plain.is_complete
    assert graph.is_regular == plain.is_regular
    assert graph.is_bipartite() == plain.is_bipartite()
    assert graph.diameter() == plain.diameter()
    for row in range(graph.n):
        assert graph.neighbors(row).tolist() == plain.neighbors(row).tolist()
    for part in (0, 1):
        assert np.array_equal(graph.adjacency[part], plain.adjacency[part])
    if graph.n >= 3:
        assert graph.delta_tilde() == plain.delta_tilde()


@ALL
def test_what_the_laws_do_is_that_of_the_listed_edges(graph: GroupedGraph) -> None:
    plain = listed_by_definition(graph)
    for law in LAWS:
        picks = plain.pick_probabilities(law)
        np.testing.assert_allclose(graph.pick_probabilities(law), picks, rtol=1e-13)
        expected = plain.edge_probabilities(law)
        order = np.lexsort(graph.edges.T[::-1])
        np.testing.assert_allclose(graph.edge_probabilities(law)[order], expected, rtol=1e-13)
        on_network = expected[graph.is_network(plain.edges)].sum()
        assert graph.network_fraction(law) == pytest.approx(on_network, rel=1e-13)
        np.testing.assert_allclose(
            graph.laplacian_dense(law), plain.laplacian_dense(law), atol=1e-14
        )
        assert np.allclose(graph.laplacian(law).toarray(), plain.laplacian_dense(law), atol=1e-14)


def test_rows_keep_their_order_and_belong_to_their_sites() -> None:
    graph = GroupedGraph(path(3), [2, 0, 2, 1, 0])
    assert graph.sizes.tolist() == [2, 1, 2]
    assert [graph.rows_of(site).tolist() for site in range(3)] == [[1, 4], [3], [0, 2]]
    assert graph.is_network([[0, 2], [0, 3], [1, 4]]).tolist() == [False, True, False]
    assert graph.is_network(np.empty((0, 2), dtype=np.int32)).tolist() == []
    for array in (graph.sizes, graph.site_of, graph.degrees, graph.rows_of(0), graph.edges):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    for name in ("n", "sites", "site_of", "sizes", "construction", "has_local_edges"):
        with pytest.raises(AttributeError):
            setattr(graph, name, 3)
    for site, message in (
        (3, "Site 3 is outside the sites 0 to 2."),
        (-1, "A site must be a whole number >= 0, not -1."),
    ):
        with pytest.raises(InputError) as refusal:
            graph.rows_of(site)
        assert str(refusal.value) == message
    with pytest.raises(InputError, match=r"^Node 5 is outside the nodes 0 to 4\.$"):
        graph.neighbors(5)


def test_the_given_sites_are_copied() -> None:
    given = np.array([0, 1, 1])
    graph = GroupedGraph(path(2), given)
    given[:] = 0
    assert graph.site_of.tolist() == [0, 1, 1]


def test_one_row_per_site_is_the_network_itself() -> None:
    network = watts_strogatz(20, 4, 0.3, seed=1)
    for construction in ("lexicographic", "blow-up"):
        same = grouped(network, range(20), construction)
        assert same == network
        assert network == same
        assert hash(same) == hash(network)
        assert same.network_fraction() == 1.0
        assert same.spectral_gap() == network.spectral_gap()
        for law in LAWS:
            mine, expected = (
                edge_law(graph, law).draw([np.random.default_rng(k) for k in (1, 2)], 50)
                for graph in (same, network)
            )
            assert np.array_equal(mine, expected)


def test_graphs_are_equal_where_edges_and_local_edges_are() -> None:
    graph = GroupedGraph(path(3), [0, 0, 1, 2])
    assert graph == GroupedGraph(path(3), [0, 0, 1, 2])
    assert graph == GroupedGraph(path(3), [2, 2, 1, 0])  # the same, from the other end
    assert graph != GroupedGraph(path(3), [0, 1, 0, 2])
    assert graph != GroupedGraph(path(3), [0, 0, 1, 2], "blow-up")
    assert graph != graph.materialized()  # in which no exchange is free
    assert graph.materialized() != graph
    assert GroupedGraph(complete(2), [0, 1, 1]) != GroupedGraph(complete(2), [0, 0, 1])
    assert GroupedGraph(complete(2), [0, 1, 1]) == GroupedGraph(complete(2), [1, 0, 0])
    assert GroupedGraph(complete(2), [0, 1]) == complete(2)
    other: Any = "a graph"
    assert graph != other
    assert len({graph, GroupedGraph(path(3), [2, 2, 1, 0])}) == 1


def test_a_graph_says_what_it_is_and_travels() -> None:
    graph = GroupedGraph(path(3), [0, 0, 1, 2, 2], "Blow_Up")
    assert repr(graph) == "<GroupedGraph blow-up: 5 rows at 3 sites, 4 edges>"
    assert graph.construction == "blow-up"
    assert pickle.loads(pickle.dumps(graph)) == graph
    restored = GroupedGraph(graph.sites, graph.site_of, graph.construction)
    assert restored == graph


def test_mixing_is_that_of_the_listed_edges() -> None:
    for construction in ("lexicographic", "blow-up"):
        graph = GroupedGraph(path(4), [0, 0, 1, 2, 2, 2, 3], construction)
        plain = graph.materialized()
        for law in LAWS:
            assert graph.mixing_time(0.01, law) == plain.mixing_time(0.01, law)
            assert graph.exact_mixing_time(0.01, law) == plain.exact_mixing_time(0.01, law)
            assert graph.total_variation(9, law) == pytest.approx(plain.total_variation(9, law))


def test_large_graphs_are_not_listed() -> None:
    """A million rows have more than a billion edges, and none is stored."""
    site_of = np.repeat(np.arange(1000), 1000)
    for construction, edge_count in (("lexicographic", 1_499_500_000), ("blow-up", 10**9)):
        graph = GroupedGraph(cycle(1000), site_of, construction)
        assert graph.edge_count == edge_count
        assert graph.diameter() == 500
        assert graph.mixing_time(0.01) > 0
        assert len(graph.neighbors(0)) == graph.degrees[0]
        for name in ("edges", "materialized", "laplacian", "edge_probabilities", "to_scipy"):
            with pytest.raises(InputError) as refusal:
                getattr(graph, name)()
            assert str(refusal.value) == (
                f"The 1000000 rows at 1000 sites have {edge_count} edges, too many to list; "
                "lists are made up to 20000000 edges."
            )
        with pytest.raises(InputError) as refusal:
            graph.laplacian_dense()
        assert str(refusal.value) == (
            "A matrix of rows by rows is made up to 10000 rows, not 1000000; "
            "use the spectral gap, which needs no such matrix."
        )
        with pytest.raises(InputError, match=r"^The mean detour .* nodes, not 1000000\.$"):
            graph.delta_tilde()
        with pytest.raises(InputError, match=r"^The exact total variation .*, not 1000000; "):
            graph.total_variation(3)
    everyone = GroupedGraph(complete(1000), site_of)
    assert everyone.is_complete
    assert everyone.spectral_gap() == 10**6
    with pytest.raises(InputError, match="too many to list"):
        everyone.materialized().edges  # noqa: B018


def test_edge_counts_do_not_overflow() -> None:
    """Counts are beyond 2**31, and sums of squares beyond 2**32."""
    graph = GroupedGraph(path(2), np.repeat([0, 1], [3_000_000, 1]))
    assert graph.edge_count == 3_000_000 * 2_999_999 // 2 + 3_000_000


def test_a_blow_up_of_one_site_is_refused() -> None:
    with pytest.raises(InputError) as refusal:
        grouped(complete(1), ["a", "a", "a"], "blow-up")
    assert str(refusal.value) == (
        "The blow-up of one site with 3 rows has no edges, because rows of one site never "
        "exchange in it; use the lexicographic construction."
    )
    assert grouped(complete(1), ["a"], "blow-up") == complete(1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("path", [0, 1]), "The sites must be a Graph, not str."),
        ((path(2), [[0, 1]]), "The site of every row must be a list of whole numbers, one"),
        ((path(2), [0.0, 1.0]), "The site of every row must be a list of whole numbers, one"),
        ((path(2), [0, 2, 1]), "Row 1 is at site 2, outside the sites 0 to 1."),
        ((path(2), [0, 1, -1]), "Row 2 is at site -1, outside the sites 0 to 1."),
        ((path(2), [0, 0]), "Site 1 holds no row; give every site at least one row, or leave"),
        ((path(2), [0, 1], "lexicografic"), "Unknown construction 'lexicografic': did you mean "),
        ((path(2), [0, 1], 3), "Unknown construction '3': choose one of blow-up, lexicographic."),
    ],
)
def test_wrong_input_is_named(given: Any, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        GroupedGraph(*given)
    assert str(refusal.value).startswith(message)


def test_an_unknown_law_is_named() -> None:
    graph = GroupedGraph(path(3), [0, 0, 1, 2])
    for ask in (graph.network_fraction, graph.pick_probabilities, graph.normalized_gap):
        with pytest.raises(InputError, match=r"^Unknown edge law 'node-clock': did you mean"):
            ask("node-clock")
