"""Edge lists, GraphML, networkx and scipy: graphs are preserved, and bad input is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from pairgossip.errors import InputError, MissingExtra
from pairgossip.graphs import Graph, complete, erdos_renyi, path, star


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "edges.txt"


def test_numbers_from_0_are_node_indices(file: Path) -> None:
    file.write_text("# a comment\n2 0\n\n0\t1  # another\n3,2\n")
    graph = Graph.from_edge_list(file)
    assert graph.edges.tolist() == [[0, 2], [0, 1], [2, 3]]
    assert graph.names is None


@pytest.mark.parametrize("text", ["1 2\n2 3\n", "1, 2\r\n2, 3\r\n", "\ufeff1 2\n2 3"])
def test_other_labels_are_names_in_order_of_appearance(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="")
    graph = Graph.from_edge_list(str(file))
    assert graph.names == ("1", "2", "3")
    assert graph == path(3)


def test_leading_zeros_are_names(file: Path) -> None:
    file.write_text("00 01\n01 02\n")
    assert Graph.from_edge_list(file).names == ("00", "01", "02")


def test_round_trips_keep_edges_names_and_order(file: Path) -> None:
    drawn = erdos_renyi(40, 0.2, seed=0)
    drawn.to_edge_list(file)
    back = Graph.from_edge_list(file)
    assert back.edges.tolist() == drawn.edges.tolist()
    assert back.names is None
    for names in (["zoé", "b", "a", "y"], ["2", "0", "1", "3"]):  # numbers may be names, too
        named = Graph(4, [[2, 3], [3, 0], [0, 1]], names=names)
        named.to_edge_list(file)
        back = Graph.load(file)
        assert back.edges.tolist() == named.edges.tolist()
        assert back.names == named.names


@pytest.mark.parametrize("line", ["# nodes: 3", "# nodes: 2 1 0", "# Nodes: 3 Edges: 2", "# a b"])
def test_comments_of_others_are_only_comments(file: Path, line: str) -> None:
    file.write_text(f"{line}\n0 1\n1 2\n")
    graph = Graph.load(file)
    assert (graph.names, graph.edges.tolist()) == (None, [[0, 1], [1, 2]])


def test_a_header_edited_by_hand(file: Path) -> None:
    file.write_text("# pairgossip nodes: b a b\na b\nb c\n")
    graph = Graph.load(file)
    assert graph.names == ("b", "a", "c")
    assert graph.edges.tolist() == [[0, 1], [0, 2]]


def test_labels_of_thousands_of_digits_are_names(file: Path) -> None:
    file.write_text(f"0 {'1' * 5000}\n")
    assert Graph.load(file).names == ("0", "1" * 5000)


def test_a_complete_graph_too_large_to_list_is_refused_at_once(tmp_path: Path) -> None:
    for write in (complete(2_000_000_000).to_edge_list, complete(2_000_000_000).to_graphml):
        with pytest.raises(InputError, match="too many to list"):
            write(tmp_path / "net")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "{} has no edges; write the two ends of one edge per line."),
        (b"# nothing\n\n", "{} has no edges; write the two ends of one edge per line."),
        (b"a b\nc\n", "{}, line 2: 'c' stands alone; write the two ends of an edge."),
        (b"a b 0.5\n", "{}, line 1: there are 3 columns; edges carry no weights here, so keep "),
        (b"a b\n\nb b\n", "{}, line 3: the edge b b joins a node to itself; remove it."),
        (b"a b\n# c\nb a\n", "{}, line 3: the edge b a is already on line 1; keep one of them."),
        (b"a b\nc \xff\n", "{}, line 2: the file is not UTF-8 text."),
    ],
)
def test_files_that_are_refused(file: Path, content: bytes, message: str) -> None:
    file.write_bytes(content)
    with pytest.raises(InputError) as refusal:
        Graph.from_edge_list(file)
    assert str(refusal.value).startswith(message.format(file))


@pytest.mark.parametrize("name", ["New York", " a", "a,b", "#1", ""])
def test_names_that_an_edge_list_cannot_hold(file: Path, name: str) -> None:
    with pytest.raises(InputError) as refusal:
        Graph(2, [[0, 1]], names=[name, "x"]).to_edge_list(file)
    assert str(refusal.value) == (
        f"The name '{name}' has a blank, a comma or '#' in it, which an edge list cannot hold; "
        "write GraphML instead."
    )
    assert not file.exists()


def test_a_single_node_has_no_edge_list(file: Path) -> None:
    with pytest.raises(InputError, match=r"^A single node has no edges to list; "):
        complete(1).to_edge_list(file)


HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
NODES = '<node id="a"/>\n<node id="b"/>\n'


@pytest.fixture
def graphml_file(tmp_path: Path) -> Path:
    return tmp_path / "net.graphml"


def whole(body: str, default: str = "undirected") -> str:
    return f'{HEAD}<graph edgedefault="{default}">\n{body}</graph>\n</graphml>\n'


def test_graphml_round_trips_keep_edges_names_and_order(graphml_file: Path) -> None:
    names = ["New York", 'say "<hi>" & bye', "Zoé", "#1"]
    for graph in (
        Graph(4, [[2, 3], [3, 0], [0, 1]], names=names),
        erdos_renyi(40, 0.2, seed=0),
        complete(1),
    ):
        graph.to_graphml(graphml_file)
        back = Graph.load(str(graphml_file))
        assert back.edges.tolist() == graph.edges.tolist()
        assert back.names == graph.names


def test_graphml_integer_names_keep_their_order(graphml_file: Path) -> None:
    shuffled = nx.Graph()
    shuffled.add_nodes_from([2, 0, 1])
    shuffled.add_edges_from([(1, 2), (0, 1)])
    graph = Graph.from_networkx(shuffled)
    nx.write_graphml(shuffled, graphml_file)
    foreign = Graph.load(graphml_file)
    graph.to_graphml(graphml_file)
    for back in (foreign, Graph.load(graphml_file)):
        assert back == graph
        assert back.names == graph.names == ("2", "0", "1")
    assert Graph.load(graphml_file).edges.tolist() == graph.edges.tolist()


def test_graphml_networkx_reads_what_is_written_and_the_other_way(graphml_file: Path) -> None:
    graph = Graph(3, [[0, 2], [2, 1]], names=["x", "y z", "&"])
    graph.to_graphml(graphml_file)
    read = nx.read_graphml(graphml_file)
    assert list(read.nodes) == ["x", "y z", "&"]
    assert nx.utils.edges_equal(read.edges, graph.to_networkx().edges)
    other = nx.karate_club_graph()
    nx.write_graphml(other, graphml_file)
    assert Graph.from_graphml(graphml_file) == Graph.from_networkx(other)
    assert Graph.from_graphml(graphml_file).names is None


def test_xml_files_are_graphml_in_any_encoding(tmp_path: Path) -> None:
    place = tmp_path / "net.XML"
    text = '<?xml version="1.0" encoding="utf-16"?>' + whole(
        NODES + '<edge source="a" target="b"/>\n'
    )
    place.write_bytes(text.encode("utf-16"))
    assert Graph.load(place).names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{}, line 1: this is not XML (no element found)."),
        ("a b\n", "{}, line 1: this is not XML (syntax error)."),
        (HEAD + "<graph>\n", "{}, line 3: this is not XML (no element found)."),
        ("<html/>", "{} has no nodes; it does not look like GraphML."),
        (whole(NODES, "directed"), "{}, line 2: the graph is directed; save an undirected one."),
        (
            whole(NODES + '<edge source="a" target="b" directed="true"/>'),
            "{}, line 5: the edge is directed; save an undirected graph.",
        ),
        ('<!DOCTYPE x [<!ENTITY y "z">]>\n' + whole(NODES), "{}, line 1: document type "),
        (whole(NODES + '<node id="a"/>'), "{}, line 5: a node 'a' was there before; rename one "),
        (whole("<node/>"), "{}, line 3: the node has no id."),
        (whole(NODES + '<edge source="a"/>'), "{}, line 5: the edge has no target."),
        (whole(NODES + '<edge source="a" target="c"/>'), "{}, line 5: the edge ends at 'c', "),
        (whole(NODES + '<edge source="a" target="a"/>'), "{}, line 5: the edge joins 'a' to "),
        (
            whole(NODES + '<edge source="a" target="b"/>\n<edge source="b" target="a"/>'),
            "{}, line 6: the edge 'b' 'a' is already on line 5; keep one.",
        ),
        (whole(NODES + "<hyperedge/>"), "{}, line 5: an edge joins two nodes here; replace the "),
        (whole(NODES + "<graph/>"), "{}, line 5: there is a second graph; keep one graph per "),
    ],
)
def test_graphml_files_that_are_refused(graphml_file: Path, text: str, message: str) -> None:
    graphml_file.write_text(text)
    with pytest.raises(InputError) as refusal:
        Graph.from_graphml(graphml_file)
    assert str(refusal.value).startswith(message.format(graphml_file))


def test_control_characters_are_refused(graphml_file: Path) -> None:
    with pytest.raises(InputError, match="has control characters in it; rename the node"):
        Graph(2, [[0, 1]], names=["a\x00", "b"]).to_graphml(graphml_file)


def test_edges_may_come_before_their_nodes(graphml_file: Path) -> None:
    graphml_file.write_text(whole('<edge source="a" target="b"/>' + NODES))
    assert Graph.load(graphml_file) == path(2)


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
