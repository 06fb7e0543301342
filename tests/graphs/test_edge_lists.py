from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from pairgossip.errors import InputError
from pairgossip.graphs import Graph, complete, erdos_renyi, path


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
    named = Graph(4, [[2, 3], [3, 0], [0, 1]], names=["zoé", "b", "a", "y"])
    named.to_edge_list(file)
    back = Graph.load(file)
    assert back.edges.tolist() == named.edges.tolist()
    assert back.names == named.names


def test_integer_names_keep_their_order(file: Path) -> None:
    given = nx.Graph([(0, 1), (1, 2)])
    shuffled = nx.Graph()
    shuffled.add_nodes_from([2, 0, 1])
    shuffled.add_edges_from([(1, 2), (0, 1)])
    for graph in (Graph.from_networkx(shuffled), Graph.from_networkx(given)):
        graph.to_edge_list(file)
        back = Graph.load(file)
        assert back.edges.tolist() == graph.edges.tolist()
        assert back.names == graph.names


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


def test_networkx_reads_what_is_written_and_the_other_way(file: Path) -> None:
    graph = erdos_renyi(30, 0.3, seed=1)
    graph.to_edge_list(file)
    assert nx.utils.graphs_equal(
        nx.read_edgelist(file, nodetype=int), nx.Graph(graph.edges.tolist())
    )
    nx.write_edgelist(nx.path_graph(5), file, data=False)
    assert Graph.load(file) == path(5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "{} has no edges; write the two ends of one edge per line."),
        (b"# nothing\n\n", "{} has no edges; write the two ends of one edge per line."),
        (b"a b\nc\n", "{}, line 2: 'c' stands alone; write the two ends of an edge."),
        (
            b"a b 0.5\n",
            "{}, line 1: there are 3 columns; edges carry no weights here, so keep the first two.",
        ),
        (b"a b\n\nb b\n", "{}, line 3: the edge b b joins a node to itself; remove it."),
        (
            b"a b\n# c\nb a\n",
            "{}, line 3: the edge b a is already on line 1; keep one of them.",
        ),
        (b"a b\nc \xff\n", "{}, line 2: the file is not UTF-8 text."),
    ],
)
def test_files_that_are_refused(file: Path, content: bytes, message: str) -> None:
    file.write_bytes(content)
    with pytest.raises(InputError) as refusal:
        Graph.from_edge_list(file)
    assert str(refusal.value) == message.format(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^There is no file .*none: check the path\.$"):
        Graph.load(tmp_path / "none")
    with pytest.raises(InputError, match=r"is a folder: give a file\.$"):
        Graph.load(tmp_path)


def test_a_disconnected_file_is_refused(file: Path) -> None:
    file.write_text("a b\nc d\n")
    with pytest.raises(InputError, match=r"^The graph is disconnected: 2 components"):
        Graph.load(file)


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


def test_a_place_that_does_not_exist(tmp_path: Path) -> None:
    place = tmp_path / "none" / "edges.txt"
    with pytest.raises(InputError) as refusal:
        path(3).to_edge_list(place)
    assert str(refusal.value) == f"Cannot write {place}: No such file or directory."
