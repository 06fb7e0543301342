"""How far apart nodes are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairgossip.errors import InputError, needed_for

if TYPE_CHECKING:
    from pairgossip.graphs.graph import Graph

LARGEST_FOR_DIAMETER = 20_000
LARGEST_FOR_DETOURS = 5_000
_BLOCK_ENTRIES = 4_000_000


class DeltaTilde(NamedTuple):
    """The mean detour between two farthest nodes."""

    value: float
    """Mean over third nodes k of d(i, k) + d(k, j), largest over the farthest pairs."""
    pair: tuple[int, int]
    """The farthest pair (i, j) that attains it."""


def diameter(graph: Graph) -> int:
    """Return the largest distance between two nodes."""
    known = closed_diameter(graph)
    if known is not None:
        return known
    _refuse_large(graph, LARGEST_FOR_DIAMETER, "The diameter")
    return _largest_eccentricity(graph)


def delta_tilde(graph: Graph) -> DeltaTilde:
    """Return the mean of d(i, k) + d(k, j) over third nodes k, for the worst farthest pair (i, j).

    It lies between one and two diameters.
    """
    if graph.n < 3:
        raise InputError("The mean detour needs a third node; use a graph of at least three nodes.")
    if graph.is_complete:
        return DeltaTilde(2.0, (0, 1))
    _refuse_large(graph, LARGEST_FOR_DETOURS, "The mean detour")
    apart = np.empty((graph.n, graph.n), dtype=np.int16)
    for start, block in _distance_blocks(graph):
        apart[start : start + len(block)] = block
    farthest = int(apart.max())
    sums = apart.sum(axis=1, dtype=np.int64)
    best, pair = -1, (0, 0)
    for i in np.flatnonzero((apart == farthest).any(axis=1)):
        partners = np.flatnonzero(apart[i] == farthest)
        j = partners[sums[partners].argmax()]
        if sums[i] + sums[j] > best:
            best, pair = int(sums[i] + sums[j]), (int(i), int(j))
    # The sums also run over k = i and k = j, which add one distance each.
    return DeltaTilde((best - 2 * farthest) / (graph.n - 2), pair)


def closed_diameter(graph: Graph) -> int | None:
    """Return the diameter of a family that has a formula, or None."""
    if graph.is_complete:
        return min(graph.n - 1, 1)
    if not graph._is_certified:
        return None
    rows, cols = graph.parameters.get("rows", 1), graph.parameters.get("cols", 1)
    match graph.family:
        case "cycle":
            return graph.n // 2
        case "path":
            return graph.n - 1
        case "star":
            return 2
        case "grid":
            return int(rows + cols - 2)
        case "torus":
            return int(rows // 2 + cols // 2)
    return None


def _refuse_large(graph: Graph, limit: int, what: str) -> None:
    if graph.n > limit:
        raise InputError(f"{what} is computed up to {limit} nodes, not {graph.n}.")


def _largest_eccentricity(graph: Graph) -> int:
    """Search from a few nodes only: each search bounds how far every other node can see.

    From node w at distance d of a node with eccentricity e, the farthest node is at a distance
    between max(d, e - d) and e + d; nodes that cannot beat the best so far are left out.
    """
    at_least = np.zeros(graph.n, dtype=np.int64)
    at_most = np.full(graph.n, graph.n, dtype=np.int64)
    source, from_outside = int(graph.degrees.argmax()), True
    while True:
        apart = _distances(graph, source).astype(np.int64)
        farthest = apart.max()
        np.maximum(at_least, np.maximum(apart, farthest - apart), out=at_least)
        np.minimum(at_most, apart + farthest, out=at_most)
        at_most[source] = farthest
        best = int(at_least.max())
        left = np.flatnonzero(at_most > best)
        if left.size == 0:
            return best
        # Nodes at the rim raise the best, nodes in the middle lower the bounds: take turns.
        choice = at_most[left].argmax() if from_outside else at_least[left].argmin()
        source, from_outside = int(left[choice]), not from_outside


def _distance_blocks(graph: Graph) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield the distances from a few nodes at a time, so that memory stays bounded."""
    size = max(1, _BLOCK_ENTRIES // graph.n)
    for start in range(0, graph.n, size):
        yield start, _distances(graph, np.arange(start, min(start + size, graph.n)))


def _distances(graph: Graph, sources: int | NDArray[np.int64]) -> NDArray[np.float64]:
    with needed_for("Distances in a graph"):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

    indptr, indices = graph.adjacency
    ones = np.ones(len(indices))
    matrix = csr_array((ones, indices, indptr), shape=(graph.n, graph.n))
    apart: NDArray[np.float64] = dijkstra(
        matrix, directed=True, indices=np.asarray(sources), unweighted=True
    )
    return apart
