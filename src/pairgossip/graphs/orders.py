"""Orders in which edges take turns: color by color, or up and down a tree.

Edges of one color have no node in common and can ring at once. A sweep takes all edges once, in
the order of their colors (generalized dimension exchange, Xu and Lau 1992). On lattices averaging
along sweeps mixes about twice as fast as along random edges, and with over-relaxation,
z_i <- (1 - r) z_i + r z_j with r > 1/2, much faster still.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.checks import RANDOM, UNIFORM_EDGES
from pairgossip.errors import InputError, needed_for

if TYPE_CHECKING:
    from pairgossip.graphs.graph import Graph
    from pairgossip.graphs.laws import NamedOrGiven

_LARGEST_SWEEP = 20_000_000
"""The largest number of edges of a sweep; with more, a sweep is longer than most runs."""
_LISTED_AT_ONCE = 1 << 16
"""The number of edges in one list of Python numbers."""


class Sweep(NamedTuple):
    """The edges of a graph in the order of their colors."""

    edges: PairArray
    ends: tuple[int, ...]
    """The place at which the edges of each color end."""

    @property
    def colors(self) -> int:
        """The number of colors: the largest degree, or a little more."""
        return len(self.ends)

    def apply(self, values: FloatArray, relaxation: float) -> None:
        """Average values, shape (n, ...), along one sweep, in place."""
        self.follow(values, relaxation, 0, len(self.edges))

    def follow(self, values: FloatArray, relaxation: float, start: int, exchanges: int) -> int:
        """Average values along exchanges from a place in the sweep; return the place after them.

        Edges of one color have no node in common, so they are taken at once.
        """
        first, second = self.edges.T
        if exchanges >= len(self.edges):  # it is faster to make indices once for all colors
            first, second = first.astype(np.intp), second.astype(np.intp)
        while exchanges > 0:
            color = bisect_right(self.ends, start)
            stop = min(self.ends[color], start + exchanges)
            i, j = first[start:stop], second[start:stop]
            at_i, at_j = values.take(i, axis=0), values.take(j, axis=0)
            step = relaxation * (at_j - at_i)
            values[i] = at_i + step
            values[j] = at_j - step
            exchanges -= stop - start
            start = stop % len(self.edges)
        return start


class Course(NamedTuple):
    """The exchanges of a run, in the form that theory needs."""

    law: NamedOrGiven = UNIFORM_EDGES
    schedule: str = RANDOM
    sweep: Sweep | None = None
    relaxation: float = 0.5
    loss: float = 0.0
    """The probability that an exchange does not take place."""


RANDOM_COURSE = Course()


def check_sweep(graph: Graph) -> None:
    """Raise `InputError` for a graph with too many edges for a sweep."""
    if graph.edge_count > _LARGEST_SWEEP:
        raise InputError(
            f"A sweep over all {graph.edge_count:,} edges is longer than most runs: use "
            f"{{argument}}, or a graph of at most {_LARGEST_SWEEP:,} edges.",
            "schedule",
            "random",
        )


def color_edges(graph: Graph) -> Sweep:
    """Color the edges: each takes the first color that neither of its nodes has yet."""
    check_sweep(graph)
    edges = graph.edges
    used = [0] * graph.n  # the colors of each node's edges, as bits
    colors = np.empty(len(edges), dtype=np.int64)
    for start in range(0, len(edges), _LISTED_AT_ONCE):
        for number, (i, j) in enumerate(edges[start : start + _LISTED_AT_ONCE].tolist(), start):
            free = ~(used[i] | used[j])
            first = free & -free
            used[i] |= first
            used[j] |= first
            colors[number] = first.bit_length()
    order = np.argsort(colors, kind="stable")
    ends = np.cumsum(np.bincount(colors)[1:])
    return Sweep(edges[order], tuple(ends.tolist()))


# Up and down a spanning tree.


def tree_messages(graph: Graph) -> PairArray:
    """Return the 2n - 2 messages up a spanning tree and back down, sender first.

    The tree is found by a breadth-first search from the middle of a long path.
    """
    order: IntArray
    parents: IntArray
    if graph.is_complete:
        parents, order = np.zeros(graph.n, dtype=np.int64), np.arange(graph.n)
    else:
        order, _ = _search(graph, 0)
        order, parents = _search(graph, int(order[-1]))
        way = [int(order[-1])]
        while way[-1] != order[0]:
            way.append(int(parents[way[-1]]))
        order, parents = _search(graph, way[len(way) // 2])
    down = np.column_stack([parents, np.arange(graph.n)])[order[1:]]
    return np.concatenate([down[::-1, ::-1], down]).astype(np.int32)


def _search(graph: Graph, root: int) -> tuple[IntArray, IntArray]:
    """Return the nodes in the order of a breadth-first search, and the parent of each."""
    with needed_for("A spanning tree"):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order

    indptr, indices = graph.adjacency
    links = csr_array((np.ones(len(indices)), indices, indptr), shape=(graph.n, graph.n))
    order, parents = breadth_first_order(links, root)
    return order, parents
