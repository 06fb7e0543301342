from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from pairgossip.errors import InputError
from pairgossip.graphs import Graph, complete, erdos_renyi, path

HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
NODES = '<node id="a"/>\n<node id="b"/>\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "net.graphml"


def whole(body: str, default: str = "undirected") -> str:
    return f'{HEAD}<graph edgedefault="{default}">\n{body}</graph>\n</graphml>\n'


def test_round_trips_keep_edges_names_and_order(file: Path) -> None:
    names = ["New York", 'say "<hi>" & bye', "Zoé", "#1"]
    for graph in (
        Graph(4, [[2, 3], [3, 0], [0, 1]], names=names),
        erdos_renyi(40, 0.2, seed=0),
        complete(1),
    ):
        graph.to_graphml(file)
        back = Graph.load(str(file))
        assert back.edges.tolist() == graph.edges.tolist()
        assert back.names == graph.names


def test_integer_names_keep_their_order(file: Path) -> None:
    shuffled = nx.Graph()
    shuffled.add_nodes_from([2, 0, 1])
    shuffled.add_edges_from([(1, 2), (0, 1)])
    graph = Graph.from_networkx(shuffled)
    nx.write_graphml(shuffled, file)
    foreign = Graph.load(file)
    graph.to_graphml(file)
    for back in (foreign, Graph.load(file)):
        assert back == graph
        assert back.names == graph.names == ("2", "0", "1")
    assert Graph.load(file).edges.tolist() == graph.edges.tolist()


def test_networkx_reads_what_is_written_and_the_other_way(file: Path) -> None:
    graph = Graph(3, [[0, 2], [2, 1]], names=["x", "y z", "&"])
    graph.to_graphml(file)
    read = nx.read_graphml(file)
    assert list(read.nodes) == ["x", "y z", "&"]
    assert nx.utils.edges_equal(read.edges, graph.to_networkx().edges)
    other = nx.karate_club_graph()
    nx.write_graphml(other, file)
    assert Graph.from_graphml(file) == Graph.from_networkx(other)
    assert Graph.from_graphml(file).names is None


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
        (
            whole(NODES, "directed"),
            "{}, line 2: the graph is directed; save an undirected one.",
        ),
        (
            whole(NODES + '<edge source="a" target="b" directed="true"/>'),
            "{}, line 5: the edge is directed; save an undirected graph.",
        ),
        (
            '<!DOCTYPE x [<!ENTITY y "z">]>\n' + whole(NODES),
            "{}, line 1: document type declarations are refused; remove the DOCTYPE.",
        ),
        (
            whole(NODES + '<node id="a"/>'),
            "{}, line 5: a node 'a' was there before; rename one of them.",
        ),
        (whole("<node/>"), "{}, line 3: the node has no id."),
        (whole(NODES + '<edge source="a"/>'), "{}, line 5: the edge has no target."),
        (
            whole(NODES + '<edge source="a" target="c"/>'),
            "{}, line 5: the edge ends at 'c', which is not a node.",
        ),
        (
            whole(NODES + '<edge source="a" target="a"/>'),
            "{}, line 5: the edge joins 'a' to itself; remove it.",
        ),
        (
            whole(NODES + '<edge source="a" target="b"/>\n<edge source="b" target="a"/>'),
            "{}, line 6: the edge 'b' 'a' is already on line 5; keep one.",
        ),
        (
            whole(NODES + "<hyperedge/>"),
            "{}, line 5: an edge joins two nodes here; replace the hyperedge.",
        ),
        (
            whole(NODES + "<graph/>"),
            "{}, line 5: there is a second graph; keep one graph per file.",
        ),
    ],
)
def test_files_that_are_refused(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError) as refusal:
        Graph.from_graphml(file)
    assert str(refusal.value) == message.format(file)


def test_a_file_that_is_not_there(file: Path) -> None:
    with pytest.raises(InputError) as refusal:
        Graph.from_graphml(file)
    assert str(refusal.value) == f"There is no file {file}: check the path."


def test_control_characters_are_refused(file: Path) -> None:
    with pytest.raises(InputError, match="has control characters in it; rename the node"):
        Graph(2, [[0, 1]], names=["a\x00", "b"]).to_graphml(file)


def test_edges_may_come_before_their_nodes(file: Path) -> None:
    file.write_text(whole('<edge source="a" target="b"/>' + NODES))
    assert Graph.load(file) == path(2)
