"""Graphs as edge lists and GraphML files, and from and for networkx and scipy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from pairgossip.errors import InputError, needed_for
from pairgossip.files import read_bytes, write_text

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array

    from pairgossip.graphs.graph import Graph


_Parts = tuple[int, NDArray[np.int64], tuple[str, ...] | None]
"""The number of nodes, the edges, and the names; None for names where nodes are numbered."""

# Written before the edges of a graph with names, so that reading it back keeps the nodes' order.
# It names this package, because other programs also write comments about nodes.
_NODES_HEADER = "# pairgossip nodes:"


def read_edge_list(path: Path) -> _Parts:
    """Read the two ends of one edge per line, separated by blanks or a comma.

    A first line that `write_edge_list` wrote gives the names in order. Without one, the labels
    are node indices when they are the integers 0 to n - 1; otherwise they are names, and nodes are
    numbered in order of first appearance.
    """
    lines = _decode(path).splitlines()
    names: list[str] = []
    if lines and lines[0].startswith(_NODES_HEADER):
        # A header edited by hand may repeat a name.
        names = list(dict.fromkeys(lines[0].removeprefix(_NODES_HEADER).split()))
    number = {name: index for index, name in enumerate(names)}
    pairs: dict[tuple[int, int], int] = {}
    for position, line in enumerate(lines, start=1):
        columns = line.partition("#")[0].replace(",", " ").split()
        if not columns:
            continue
        one, other = _two_ends(columns, f"{path}, line {position}")
        i, j = number.setdefault(one, len(number)), number.setdefault(other, len(number))
        edge = (i, j) if i < j else (j, i)
        if edge in pairs:
            raise InputError(
                f"{path}, line {position}: the edge {one} {other} is already on line "
                f"{pairs[edge]}; keep one of them."
            )
        pairs[edge] = position
    if not pairs:
        raise InputError(f"{path} has no edges; write the two ends of one edge per line.")
    edges = np.array(list(pairs), dtype=np.int64)
    return (len(number), edges, tuple(number)) if names else _number_or_name(number, edges)


def write_edge_list(graph: Graph, path: str | Path) -> None:
    """Write a text file with the two ends of one edge per line, as names if there are names."""
    if graph.n == 1:
        raise InputError("A single node has no edges to list; write it as GraphML instead.")
    edges = graph.edges.tolist()  # first, because a complete graph may refuse to list them
    labels = _labels(graph)
    for label in labels if graph.names else ():
        if "#" in label or "," in label or label.split() != [label]:
            raise InputError(
                f"The name '{label}' has a blank, a comma or '#' in it, which an edge list cannot "
                "hold; write GraphML instead."
            )
    header = [f"{_NODES_HEADER} {' '.join(labels)}\n"] if graph.names else []
    body = (f"{labels[i]} {labels[j]}\n" for i, j in edges)
    write_text(Path(path), (*header, *body))


def _labels(graph: Graph) -> Sequence[str]:
    """Return the names of the nodes, or their numbers as text."""
    return graph.names or [str(k) for k in range(graph.n)]


def _number_or_name(number: Mapping[str, int], edges: NDArray[np.int64]) -> _Parts:
    """Return the parts of a graph without a header, numbered in order of first appearance."""
    n = len(number)
    indices = {str(k): k for k in range(n)}
    if number.keys() != indices.keys():
        return n, edges, tuple(number)
    return n, np.array([indices[label] for label in number], dtype=np.int64)[edges], None


def _decode(path: Path) -> str:
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise InputError(f"{path}, line {line}: the file is not UTF-8 text.") from None


def _two_ends(columns: list[str], place: str) -> tuple[str, str]:
    if len(columns) == 1:
        raise InputError(f"{place}: '{columns[0]}' stands alone; write the two ends of an edge.")
    if len(columns) > 2:
        raise InputError(
            f"{place}: there are {len(columns)} columns; edges carry no weights here, so keep the "
            "first two."
        )
    one, other = columns
    if one == other:
        raise InputError(f"{place}: the edge {one} {other} joins a node to itself; remove it.")
    return one, other


_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"


class _Reader:
    """Collects nodes and edges from the parser's events."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self.start
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.number: dict[str, int] = {}
        self.edges: list[tuple[str, str, int]] = []
        self.graph_count = 0

    def problem(self, what: str, line: int | None = None) -> InputError:
        return InputError(f"{self.path}, line {line or self.parser.CurrentLineNumber}: {what}")

    def doctype(self, *_: object) -> None:
        raise self.problem("document type declarations are refused; remove the DOCTYPE.")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        match tag.rpartition(" ")[2]:
            case "graph":
                self.graph_count += 1
                if self.graph_count > 1:
                    raise self.problem("there is a second graph; keep one graph per file.")
                if attributes.get("edgedefault") == "directed":
                    raise self.problem("the graph is directed; save an undirected one.")
            case "node":
                label = self.attribute(attributes, "node", "id")
                if label in self.number:
                    raise self.problem(f"a node '{label}' was there before; rename one of them.")
                self.number[label] = len(self.number)
            case "edge":
                if attributes.get("directed") == "true":
                    raise self.problem("the edge is directed; save an undirected graph.")
                ends = (self.attribute(attributes, "edge", end) for end in ("source", "target"))
                self.edges.append((*ends, self.parser.CurrentLineNumber))  # type: ignore[arg-type]
            case "hyperedge":
                raise self.problem("an edge joins two nodes here; replace the hyperedge.")

    def attribute(self, attributes: dict[str, str], tag: str, name: str) -> str:
        if name not in attributes:
            raise self.problem(f"the {tag} has no {name}.")
        return attributes[name]

    def pairs(self) -> list[tuple[int, int]]:
        lines: dict[tuple[int, int], int] = {}
        for source, target, line in self.edges:
            for end in (source, target):
                if end not in self.number:
                    raise self.problem(f"the edge ends at '{end}', which is not a node.", line)
            i, j = sorted((self.number[source], self.number[target]))
            if i == j:
                raise self.problem(f"the edge joins '{source}' to itself; remove it.", line)
            if (i, j) in lines:
                repeated = f"the edge '{source}' '{target}' is already on line {lines[i, j]}"
                raise self.problem(f"{repeated}; keep one.", line)
            lines[i, j] = line
        return list(lines)


def read_graphml(path: Path) -> _Parts:
    """Read an undirected graph, without the data of nodes and edges.

    The nodes keep their order. Their identifiers become names, unless they are 0, 1, 2, ...
    """
    reader = _Reader(path)
    content = read_bytes(path)
    try:
        reader.parser.Parse(content, True)
    except expat.ExpatError as problem:
        reason = expat.errors.messages[problem.code]
        raise reader.problem(f"this is not XML ({reason}).", problem.lineno) from None
    if not reader.number:
        raise InputError(f"{path} has no nodes; it does not look like GraphML.")
    edges = np.array(reader.pairs(), dtype=np.int64).reshape(-1, 2)
    names = tuple(reader.number)
    are_indices = all(name == str(k) for k, name in enumerate(names))
    return len(names), edges, None if are_indices else names


def write_graphml(graph: Graph, path: str | Path) -> None:
    """Write a GraphML file of the nodes, as names if there are names, and the edges."""
    edges = graph.edges.tolist()  # first, because a complete graph may refuse to list them
    labels = [quoteattr(label) for label in _labels(graph)]
    for label in labels if graph.names else ():
        if not label.isprintable():
            raise InputError(f"The name {label} has control characters in it; rename the node.")
    lines = (
        "<?xml version='1.0' encoding='utf-8'?>\n",
        f'<graphml xmlns="{_NAMESPACE}">\n  <graph edgedefault="undirected">\n',
        *(f"    <node id={label} />\n" for label in labels),
        *(f"    <edge source={labels[i]} target={labels[j]} />\n" for i, j in edges),
        "  </graph>\n</graphml>\n",
    )
    write_text(Path(path), lines)


def networkx_parts(graph: nx.Graph) -> _Parts:
    """Return the number of nodes, the edges and the names of a networkx graph.

    Nodes are numbered in the order in which they were added to it, not by name. Attributes of nodes
    and edges, such as weights, are dropped.
    """
    if not all(hasattr(graph, name) for name in ("is_directed", "is_multigraph", "nodes", "edges")):
        raise InputError(f"from_networkx takes a networkx graph, not a {type(graph).__name__}.")
    if graph.is_directed():
        raise InputError("The networkx graph is directed; call its to_undirected() first.")
    if graph.is_multigraph():
        raise InputError("The networkx graph is a multigraph; make it simple with nx.Graph(g).")
    if graph.number_of_nodes() == 0:
        raise InputError("The networkx graph has no nodes.")
    number = {node: index for index, node in enumerate(graph.nodes)}
    pairs = [(number[u], number[v]) for u, v in graph.edges]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    names = tuple(str(node) for node in graph.nodes)
    loops = edges[edges[:, 0] == edges[:, 1], 0]
    if loops.size:
        raise InputError(
            f"Node '{names[loops[0]]}' of the networkx graph is joined to itself; remove such "
            "edges with g.remove_edges_from(list(nx.selfloop_edges(g)))."
        )
    return len(number), edges, names


def to_networkx(graph: Graph) -> nx.Graph:
    """Return a networkx graph on the names, or on 0 to n - 1 if there are no names."""
    with needed_for("to_networkx", install="networkx"):
        import networkx

    result = networkx.Graph()
    labels: Any = graph.names or range(graph.n)
    result.add_nodes_from(labels)
    result.add_edges_from((labels[i], labels[j]) for i, j in graph.edges.tolist())
    return result


def matrix_parts(matrix: Any) -> tuple[int, NDArray[np.int64]]:
    """Return the number of nodes and the edges of a symmetric matrix of zeros and ones."""
    with needed_for("from_scipy"):
        from scipy.sparse import coo_array, issparse

    entered: Any = matrix if issparse(matrix) else np.asarray(matrix)
    if entered.ndim != 2 or entered.shape[0] != entered.shape[1] or entered.shape[0] == 0:
        raise InputError(f"The adjacency matrix must be square, not of shape {entered.shape}.")
    entries = coo_array(entered)
    entries.sum_duplicates()
    used = entries.data != 0
    rows, cols = (index[used].astype(np.int64) for index in (entries.row, entries.col))
    if not (entries.data[used] == 1).all():
        raise InputError(
            "The adjacency matrix has entries other than 0 and 1; "
            "edges carry no weights here, so set every edge to 1."
        )
    if (rows == cols).any():
        raise InputError("The adjacency matrix has a diagonal entry; no node may neighbor itself.")
    n = int(entered.shape[0])
    upper = rows < cols
    there, back = rows[upper] * n + cols[upper], cols[~upper] * n + rows[~upper]
    if not np.array_equal(np.sort(there), np.sort(back)):
        raise InputError("The adjacency matrix is not symmetric; pass matrix.maximum(matrix.T).")
    return n, np.column_stack([rows[upper], cols[upper]])


def to_scipy(graph: Graph) -> csr_array[Any]:
    """Return the adjacency matrix as a sparse matrix of ones."""
    with needed_for("to_scipy"):
        from scipy.sparse import csr_array

    indptr, indices = graph.adjacency
    ones = np.ones(len(indices))
    # Copy, because scipy may sort a matrix's arrays in place.
    return csr_array((ones, indices.copy(), indptr.copy()), shape=(graph.n, graph.n))
