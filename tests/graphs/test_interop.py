from __future__ import annotations

import sys
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from pairgossip.errors import InputError, MissingExtra
from pairgossip.graphs import Graph, complete, erdos_renyi, path, star


def refusal_of(convert: Any, given: Any) -> str:
    with pytest.raises(InputError) as refusal:
        convert(given)
    return str(refusal.value)


def test_networkx_round_trip_keeps_edges_and_names() -> None:
    graph = Graph(3, [[0, 2], [2, 1]], names=["ann", "bob", "cy"])
    back = Graph.from_networkx(graph.to_networkx())
    assert back == graph
    assert back.names == graph.names
    numbered = erdos_renyi(30, 0.3, seed=1)
    assert Graph.from_networkx(numbered.to_networkx()) == numbered
    assert Graph.from_networkx(complete(1).to_networkx()).n == 1


def test_networkx_nodes_are_numbered_as_they_were_added() -> None:
    assert Graph.from_networkx(nx.Graph([(2, 1), (1, 0)])).names == ("2", "1", "0")
    added = nx.Graph()
    added.add_nodes_from([3, 1, 2])
    added.add_edges_from([(1, 2), (2, 3)])
    assert Graph.from_networkx(added).names == ("3", "1", "2")
    assert Graph.from_networkx(added).edges.tolist() == [[0, 2], [1, 2]]
    given = nx.Graph([("z", "a"), ("a", "m")])
    graph = Graph.from_networkx(given)
    assert graph.names == ("z", "a", "m")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    karate = nx.karate_club_graph()
    assert Graph.from_networkx(karate).edge_count == karate.number_of_edges()
    assert nx.is_isomorphic(path(5).to_networkx(), nx.path_graph(5))


def test_networkx_graphs_that_are_refused() -> None:
    loop = nx.path_graph(3)
    loop.add_edge(1, 1)
    convert = Graph.from_networkx
    assert refusal_of(convert, nx.DiGraph([(0, 1)])) == (
        "The networkx graph is directed; call its to_undirected() first."
    )
    assert refusal_of(convert, nx.MultiGraph([(0, 1)])) == (
        "The networkx graph is a multigraph; make it simple with nx.Graph(g)."
    )
    assert refusal_of(convert, loop) == (
        "Node '1' of the networkx graph is joined to itself; remove such edges with "
        "g.remove_edges_from(list(nx.selfloop_edges(g)))."
    )
    assert refusal_of(convert, nx.Graph()) == "The networkx graph has no nodes."
    assert refusal_of(convert, [[0, 1]]) == "from_networkx takes a networkx graph, not a list."
    assert refusal_of(convert, nx.empty_graph(2)).startswith("The graph is disconnected: 2 ")
    assert refusal_of(convert, nx.Graph([(1, "1")])) == (
        "Two nodes are named '1'; give every node its own name."
    )


def test_scipy_round_trip() -> None:
    graph = erdos_renyi(40, 0.2, seed=2)
    matrix = graph.to_scipy()
    expected = nx.to_scipy_sparse_array(graph.to_networkx())
    assert np.array_equal(matrix.toarray(), expected.toarray())
    for given in (
        matrix,
        sp.csr_matrix(matrix),
        sp.coo_array(matrix),
        matrix.toarray().astype(bool),
        matrix.toarray().astype(int).tolist(),
    ):
        assert Graph.from_scipy(given) == graph
    assert Graph.from_scipy([[0]]).n == 1


def test_scipy_ignores_stored_zeros() -> None:
    zeros = sp.coo_array(([1, 1, 0], ([0, 1, 0], [1, 0, 0])), shape=(2, 2))
    assert Graph.from_scipy(zeros) == path(2)


def test_matrices_that_are_refused() -> None:
    convert = Graph.from_scipy
    assert refusal_of(convert, np.ones((2, 3))) == (
        "The adjacency matrix must be square, not of shape (2, 3)."
    )
    assert refusal_of(convert, np.eye(2)) == (
        "The adjacency matrix has a diagonal entry; no node may neighbor itself."
    )
    assert refusal_of(convert, sp.csr_array([[0, 1], [0, 0]])) == (
        "The adjacency matrix is not symmetric; pass matrix.maximum(matrix.T)."
    )
    assert refusal_of(convert, [[0, 0.5], [0.5, 0]]) == (
        "The adjacency matrix has entries other than 0 and 1; edges carry no weights here, "
        "so set every edge to 1."
    )
    assert refusal_of(convert, np.zeros((2, 2))).startswith("The graph is disconnected: 2 ")


def test_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtra) as missing:
        star(3).to_networkx()
    assert str(missing.value) == (
        "to_networkx needs networkx, which is not installed: pip install 'networkx'."
    )
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pairgossip\[lab\]'\.$"):
        star(3).to_scipy()
