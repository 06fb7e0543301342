"""Where the nodes are drawn: where the graph says, by its family's shape, or by springs."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.graphs import Graph

LARGEST_DRAWN = 2_000
"""Beyond this many nodes, nodes are pixels and edges are left out."""
MOST_EDGES = 12_000
"""More lines than this are one gray blot."""
SPRING_ROUNDS = 60
RINGS = ("cycle", "watts-strogatz", "complete")
NODES_PER_ROW, ROW_WIDTH = 150, 0.035
LEAST_SHAPE, MOST_APART = 0.4, 4.0
"""A thin rectangle is this high, relative to its length, or its rows are this many steps apart."""
REMEMBERED = 16

_known: OrderedDict[tuple[object, ...], FloatArray] = OrderedDict()


def layout(graph: Graph, key: tuple[object, ...]) -> FloatArray:
    """Place the nodes in the unit square; the key says which layouts are the same."""
    if key not in _known:
        _known[key] = _fit(_place(graph))
        while len(_known) > REMEMBERED:
            _known.popitem(last=False)
    return _known[key]


def drawn_edges(graph: Graph) -> IntArray | None:
    """Return the edges to draw, or None if there are too many of them."""
    if graph.n > LARGEST_DRAWN or graph.edge_count > MOST_EDGES:
        return None
    edges: IntArray = np.asarray(graph.edges)
    if graph.family == "torus":  # those that wrap around would cross the whole picture
        columns = int(graph.parameters["cols"])
        row, column = np.divmod(edges, columns)
        near = np.abs(row[:, 0] - row[:, 1]) + np.abs(column[:, 0] - column[:, 1]) == 1
        edges = edges[near]
    return edges


def _place(graph: Graph) -> FloatArray:
    n = graph.n
    if graph.positions is not None:
        return graph.positions
    if graph.family in ("grid", "torus"):
        return _rectangle(n, int(graph.parameters["cols"]))
    if n > LARGEST_DRAWN:
        return _spiral(n) if graph.family in ("path", *RINGS[:2]) else _sunflower(n)
    if graph.family == "path":  # folded: in a straight line nothing would be seen
        return _fold(n)
    if graph.family == "star":
        return np.concatenate([np.zeros((1, 2)), _ring(n - 1)])
    if graph.family in RINGS or n < 4:
        return _ring(n)
    return _springs(graph)


def _rectangle(n: int, columns: int) -> FloatArray:
    """Rows and columns; the rows of a thin rectangle stand apart so that it is not a mere line."""
    row, column = np.divmod(np.arange(n), columns)
    rows = n // columns
    apart = np.clip(LEAST_SHAPE * np.array([rows / columns, columns / rows]), 1, MOST_APART)
    return np.stack([column * apart[0], row * apart[1]], axis=1)


def _fold(n: int) -> FloatArray:
    """A path that turns back at the end of every row, so that it fills a square."""
    columns = int(np.ceil(np.sqrt(n)))
    row, column = np.divmod(np.arange(n), columns)
    column = np.where(row % 2, columns - 1 - column, column)
    return np.stack([column, row], axis=1).astype(np.float64)


def _circle(angle: FloatArray) -> FloatArray:
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _ring(n: int) -> FloatArray:
    """A ring of several rows where one would have no room for its nodes."""
    rows = -(-n // NODES_PER_ROW)
    reach = 1 - ROW_WIDTH * (np.arange(n) % rows)
    return reach[:, None] * _circle(np.linspace(0, 2 * np.pi, n, endpoint=False) - np.pi / 2)


def _spiral(n: int) -> FloatArray:
    """Neighbors in the row stay neighbors, and the disk is filled evenly."""
    turns = np.sqrt(n / np.pi)
    reach = np.sqrt(np.linspace(0.0, 1.0, n))
    return reach[:, None] * _circle(2 * np.pi * turns * reach)


def _sunflower(n: int) -> FloatArray:
    order = np.arange(n)
    golden = np.pi * (3 - np.sqrt(5))
    return np.sqrt((order + 0.5) / n)[:, None] * _circle(golden * order)


def _springs(graph: Graph) -> FloatArray:
    """Let edges pull and all pairs push (Fruchterman and Reingold), from a fixed start."""
    n, edges = graph.n, np.asarray(graph.edges)
    x = _sunflower(n)[np.random.default_rng(0).permutation(n)].astype(np.float32)
    length = np.float32(1.6 / np.sqrt(n))
    for heat in np.linspace(0.2, 0.004, SPRING_ROUNDS, dtype=np.float32):
        horizontal = x[:, 0][:, None] - x[:, 0]
        vertical = x[:, 1][:, None] - x[:, 1]
        push = length**2 / (horizontal**2 + vertical**2 + np.float32(1e-6))
        force = np.stack([(horizontal * push).sum(axis=1), (vertical * push).sum(axis=1)], axis=1)
        along = x[edges[:, 0]] - x[edges[:, 1]]
        pull = along * np.linalg.norm(along, axis=1, keepdims=True) / length
        np.add.at(force, edges[:, 0], -pull)
        np.add.at(force, edges[:, 1], pull)
        size = np.linalg.norm(force, axis=1, keepdims=True)
        x = x + force / np.maximum(size, np.float32(1e-9)) * np.minimum(size, heat)
    return x.astype(np.float64)


def _fit(positions: FloatArray) -> FloatArray:
    """Scale into the unit square, keeping proportions, in the middle."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    largest = float((high - low).max()) or 1.0
    return (positions - (low + high) / 2) / largest + 0.5
