"""Edge lists as text files: two columns, one edge per line, comments after '#'."""

from __future__ import annotations

from collections.abc import Sequence
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
_NODES_HEADER = "# nodes:"


def read_edge_list(path: Path) -> Parts:
    """Read two columns separated by blanks or a comma.

    When the labels are the integers 0 to n - 1 they are the node indices; otherwise they are
    names, and nodes are numbered in order of first appearance.
    """
    text = _decoded(path)
    lines = text.splitlines()
    header = lines[0].removeprefix(_NODES_HEADER) if lines else ""
    labels = header.split() if lines and header != lines[0] else []
    number = {label: index for index, label in enumerate(labels)}
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
    return numbered_or_named(list(number), np.array(list(pairs), dtype=np.int64))


def write_edge_list(graph: Graph, path: Path) -> None:
    """Write one edge per line, with the names of the nodes where there are any."""
    if graph.n == 1:
        raise InputError("A single node has no edges to list; write it as GraphML instead.")
    labels = labels_of(graph)
    for label in labels if graph.names else ():
        if not label or "#" in label or "," in label or len(label.split()) != 1:
            raise InputError(
                f"The name '{label}' has a blank, a comma or '#' in it, which an edge list cannot "
                "hold; write GraphML instead."
            )
    header = [f"{_NODES_HEADER} {' '.join(labels)}\n"] if graph.names else []
    body = (f"{labels[i]} {labels[j]}\n" for i, j in graph.edges.tolist())
    write_text(path, (*header, *body))


def numbered_or_named(labels: Sequence[str], edges: NDArray[np.int64]) -> Parts:
    """Return the parts of a graph whose nodes have these labels, in the order of numbering."""
    n = len(labels)
    numbers = [int(label) if label.isdecimal() and label.isascii() else -1 for label in labels]
    plain = all(str(number) == label for number, label in zip(numbers, labels, strict=True))
    if plain and max(numbers, default=-1) == n - 1:
        return n, np.array(numbers, dtype=np.int64)[edges], None
    return n, edges, tuple(labels)


def labels_of(graph: Graph) -> Sequence[str]:
    """Return the names of the nodes, or their numbers as text."""
    return graph.names or [str(k) for k in range(graph.n)]


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
