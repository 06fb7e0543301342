"""Edge lists as text files: two columns, one edge per line, comments after '#'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pairgossip.errors import InputError
from pairgossip.files import read_bytes, write_text

if TYPE_CHECKING:
    from pairgossip.graphs.graph import Graph

Parts = tuple[int, NDArray[np.int64], tuple[str, ...] | None]
"""Number of nodes, edges, and names unless the nodes are just numbered."""

# Written before the edges of a graph with names, so that reading it back keeps the nodes' order.
# It names this package, because other programs also write comments about nodes.
_NODES_HEADER = "# pairgossip nodes:"


def read_edge_list(path: Path) -> Parts:
    """Read two columns separated by blanks or a comma.

    A first line that `write_edge_list` wrote gives the names in order. Without one, the labels
    are node indices when they are the integers 0 to n - 1; otherwise they are names, and nodes are
    numbered in order of first appearance.
    """
    lines = _decoded(path).splitlines()
    names = _header_names(lines)
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
    return (len(number), edges, tuple(number)) if names else _numbered_or_named(number, edges)


def write_edge_list(graph: Graph, path: Path) -> None:
    """Write one edge per line, with the names of the nodes where there are any."""
    if graph.n == 1:
        raise InputError("A single node has no edges to list; write it as GraphML instead.")
    edges = graph.edges.tolist()  # first, because a complete graph may refuse to list them
    labels = labels_of(graph)
    for label in labels if graph.names else ():
        if "#" in label or "," in label or label.split() != [label]:
            raise InputError(
                f"The name '{label}' has a blank, a comma or '#' in it, which an edge list cannot "
                "hold; write GraphML instead."
            )
    header = [f"{_NODES_HEADER} {' '.join(labels)}\n"] if graph.names else []
    body = (f"{labels[i]} {labels[j]}\n" for i, j in edges)
    write_text(path, (*header, *body))


def labels_of(graph: Graph) -> Sequence[str]:
    """Return the names of the nodes, or their numbers as text."""
    return graph.names or [str(k) for k in range(graph.n)]


def _header_names(lines: Sequence[str]) -> list[str]:
    """Return the names in the header of a file that this package wrote, or none."""
    if not lines or not lines[0].startswith(_NODES_HEADER):
        return []
    # Whoever edits the header by hand may repeat a name.
    return list(dict.fromkeys(lines[0].removeprefix(_NODES_HEADER).split()))


def _numbered_or_named(number: Mapping[str, int], edges: NDArray[np.int64]) -> Parts:
    """Return the parts of a graph without a header, numbered in order of first appearance."""
    n = len(number)
    indices = {str(k): k for k in range(n)}
    if number.keys() != indices.keys():
        return n, edges, tuple(number)
    return n, np.array([indices[label] for label in number], dtype=np.int64)[edges], None


def _decoded(path: Path) -> str:
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
