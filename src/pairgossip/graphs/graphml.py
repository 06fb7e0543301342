"""GraphML files: nodes and undirected edges, nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

import numpy as np

from pairgossip.errors import InputError
from pairgossip.files import read_bytes, write_text
from pairgossip.graphs.edge_lists import Parts, labels_of

if TYPE_CHECKING:
    from pairgossip.graphs.graph import Graph

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
        found: dict[tuple[int, int], int] = {}
        for source, target, line in self.edges:
            for end in (source, target):
                if end not in self.number:
                    raise self.problem(f"the edge ends at '{end}', which is not a node.", line)
            i, j = sorted((self.number[source], self.number[target]))
            if i == j:
                raise self.problem(f"the edge joins '{source}' to itself; remove it.", line)
            if (i, j) in found:
                raise self.problem(
                    f"the edge '{source}' '{target}' is already on line {found[i, j]}; keep one.",
                    line,
                )
            found[i, j] = line
        return list(found)


def read_graphml(path: Path) -> Parts:
    """Read an undirected graph; data attached to nodes and edges is left behind.

    The nodes keep their order, and their identifiers as names unless those are 0, 1, 2, ...
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


def write_graphml(graph: Graph, path: Path) -> None:
    """Write the nodes, under their names where there are any, and the edges."""
    edges = graph.edges.tolist()  # first, because a complete graph may refuse to list them
    labels = [quoteattr(label) for label in labels_of(graph)]
    for label in labels if graph.names else ():
        if not label.isprintable():
            raise InputError(f"The name {label} has control characters in it; rename the node.")
    write_text(
        path,
        (
            "<?xml version='1.0' encoding='utf-8'?>\n",
            f'<graphml xmlns="{_NAMESPACE}">\n  <graph edgedefault="undirected">\n',
            *(f"    <node id={label} />\n" for label in labels),
            *(f"    <edge source={labels[i]} target={labels[j]} />\n" for i, j in edges),
            "  </graph>\n</graphml>\n",
        ),
    )
