"""Graphs: what they know about themselves, and what they refuse."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.errors import InputError
from pairgossip.graphs import Graph, checks, complete, cycle, erdos_renyi, grid, path, star, torus

SEPARATE = "import sys, pairgossip.graphs; print([m for m in {} if m in sys.modules])"


def test_edges_are_stored_ordered_and_read_only() -> None:
    graph = Graph(4, [[1, 0], [3, 2], [2, 0]])
    assert graph.edges.tolist() == [[0, 1], [2, 3], [0, 2]]
    assert graph.edges.dtype == np.int32
    assert graph.edges.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        graph.edges[0, 0] = 3


def test_what_a_graph_says_of_itself() -> None:
    graph = Graph(
        3,
        [[0, 1], [1, 2]],
        family="mine",
        parameters={"a": 1},
        names=["x", "y", "z"],
        positions=[[0, 0], [0, 1], [1, 1]],
    )
    assert (graph.n, graph.edge_count, graph.family) == (3, 2, "mine")
    assert graph.parameters == {"a": 1}
    assert graph.names == ("x", "y", "z")
    assert graph.positions is not None
    assert graph.positions.shape == (3, 2)
    assert repr(graph) == "<Graph mine: 3 nodes, 2 edges>"
    assert repr(Graph(3, [[0, 1], [1, 2]])) == "<Graph: 3 nodes, 2 edges>"


def test_a_single_node_is_a_graph() -> None:
    graph = Graph(1, [])
    assert graph.edge_count == 0
    assert graph.degrees.tolist() == [0]
    assert graph.neighbors(0).tolist() == []
    assert graph.is_bipartite()


def test_the_complete_graph_lists_its_edges_only_on_demand() -> None:
    graph = complete(5)
    assert graph.is_complete
    assert graph._edges is None
    assert sorted(map(tuple, graph.edges.tolist())) == sorted(nx.complete_graph(5).edges)
    with pytest.raises(InputError) as refusal:
        _ = complete(20_001).edges
    assert str(refusal.value) == (
        "The complete graph on 20001 nodes has 200010000 edges, too many to list; "
        "lists are made up to 20000 nodes."
    )
    assert complete(20_001).degrees[0] == 20_000
    assert complete(20_001).neighbors(2)[:3].tolist() == [0, 1, 3]


def test_all_edges_make_a_complete_graph_however_they_are_given() -> None:
    graph = Graph(3, [[2, 1], [0, 1], [2, 0]])
    assert graph.is_complete
    assert graph == complete(3) == cycle(3)


def test_a_complete_graph_may_carry_everything_but_edges() -> None:
    places = [[0, 0], [0, 1], [1, 1]]
    graph = Graph.complete_on(3, family="mine", parameters={"a": 1}, names="xyz", positions=places)
    assert graph == complete(3)
    assert (graph.family, graph.parameters, graph.names) == ("mine", {"a": 1}, ("x", "y", "z"))
    assert graph.positions is not None and graph.positions.tolist() == places
    large = Graph.complete_on(2_000_000_000)
    assert (large.family, large.spectral_gap()) == ("complete", 2e9)
    with pytest.raises(InputError, match=r"^There are 2 names for 3 nodes"):
        Graph.complete_on(3, names="xy")


def test_equality_ignores_the_order_of_edges() -> None:
    assert Graph(4, [[0, 1], [1, 2], [2, 3]]) == Graph(4, [[3, 2], [1, 0], [2, 1]])
    assert hash(path(4)) == hash(Graph(4, [[0, 1], [1, 2], [2, 3]]))
    assert path(4) != star(4)
    assert path(4) != path(5)
    assert path(4) != "path"


def test_a_pickled_graph_is_the_same() -> None:
    graph = grid(3, 4)
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert pickle.loads(pickle.dumps(graph)).spectral_gap() == graph.spectral_gap()


def test_a_graph_cannot_be_changed() -> None:
    graph = path(4)
    for name in ("n", "edge_count", "family", "is_complete", "degrees", "_is_certified", "mine"):
        with pytest.raises(AttributeError):
            setattr(graph, name, 3)
    with pytest.raises(AttributeError):
        del graph.n
    assert (graph.n, graph.diameter(), graph.degrees.tolist()) == (4, 3, [1, 2, 2, 1])


@pytest.mark.parametrize("seed", range(3))
def test_neighbors_and_degrees_agree_with_networkx(seed: int) -> None:
    graph = erdos_renyi(60, 0.15, seed=seed)
    other = graph.to_networkx()
    for k in range(graph.n):
        assert graph.neighbors(k).tolist() == sorted(other[k])
    assert graph.degrees.tolist() == [degree for _, degree in other.degree]
    indptr, indices = graph.adjacency
    assert indptr.dtype == np.int64
    assert indices.dtype == np.int32
    assert graph.is_bipartite() == nx.is_bipartite(other)


@pytest.mark.parametrize("k", [-1, 3, 1.5])
def test_a_node_that_does_not_exist_has_no_neighbors(k: int) -> None:
    with pytest.raises(InputError, match=r"^(A node must be|Node 3 is outside)"):
        path(3).neighbors(k)


def test_regular_and_bipartite() -> None:
    assert cycle(7).is_regular
    assert not cycle(7).is_bipartite()
    assert torus(4, 6).is_bipartite()
    assert not torus(4, 5).is_bipartite()
    assert not star(4).is_regular
    assert star(4).is_bipartite()
    assert complete(2).is_bipartite()
    assert not complete(3).is_bipartite()


def test_importing_graphs_needs_numpy_only() -> None:
    heavy = ("scipy", "networkx", "numba", "matplotlib")
    code = SEPARATE.format(heavy)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@settings(deadline=None)
@given(st.integers(1, 40), st.data())
def test_component_labels_agree_with_networkx(n: int, data: st.DataObject) -> None:
    node = st.integers(0, n - 1)
    edges = np.array(data.draw(st.lists(st.tuples(node, node), max_size=60)), dtype=int)
    edges = edges.reshape(-1, 2)
    other = nx.empty_graph(n)
    other.add_edges_from(edges.tolist())
    expected = np.empty(n, dtype=int)
    for component in nx.connected_components(other):
        expected[list(component)] = min(component)
    assert checks.component_labels(n, edges).tolist() == expected.tolist()
    assert checks.is_connected(n, edges) == nx.is_connected(other)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=40))
def test_repeats_are_the_later_occurrences(values: list[int]) -> None:
    expected = [k for k, value in enumerate(values) if value in values[:k]]
    assert checks.repeats(np.array(values, dtype=np.int64)).tolist() == expected


@pytest.mark.parametrize(
    ("n", "edges", "message"),
    [
        (0, [], "The number of nodes n must be a whole number >= 1, not 0."),
        (2.5, [], "The number of nodes n must be a whole number >= 1, not 2.5."),
        (True, [], "The number of nodes n must be a whole number >= 1, not True."),
        (2**31, [], "The number of nodes n must be at most 2,147,483,647, not 2,147,483,648."),
        (3, [[0, 1, 2]], "The edges must be an array of shape (m, 2), one pair of nodes per row."),
        (3, [0, 1], "The edges must be an array of shape (m, 2), one pair of nodes per row."),
        (3, [[0], [0, 1]], "The edges must be an array of shape (m, 2), one pair of nodes per "),
        (3, [[0.0, 1.0]], "The edges must be integers (node indices), not float64."),
        (3, [[0, 1], [1, 3]], "Edge (1, 3) is outside the nodes 0 to 2."),
        (3, [[0, 1], [-1, 2]], "Edge (-1, 2) is outside the nodes 0 to 2."),
        (3, [[0, 1], [2, 2]], "Edge (2, 2) joins a node to itself; remove it."),
        (3, [[0, 1], [1, 2], [1, 0]], "Edge (0, 1) is given more than once; keep one of them."),
        (4, [[0, 1]], "The graph is disconnected: 3 components, the smallest has 1 node(s); add "),
        (2, [], "The graph is disconnected: 2 components, the smallest has 1 node(s); add edges "),
    ],
)
def test_bad_edges_are_refused_in_one_sentence(n: Any, edges: Any, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        Graph(n, edges)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"]}, "There are 1 names for 2 nodes; give one name per node."),
        ({"names": ["a", "a"]}, "Two nodes are named 'a'; give every node its own name."),
        ({"positions": [[0, 0]]}, "The positions must be an array of 2 rows of two finite "),
        ({"positions": [[0, 0], [0, float("nan")]]}, "The positions must be an array of 2 rows "),
        ({"positions": "here"}, "The positions must be an array of 2 rows of two finite numbers."),
    ],
)
def test_bad_names_and_positions_are_refused(options: Any, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        Graph(2, [[0, 1]], **options)
    assert str(refusal.value).startswith(message)
