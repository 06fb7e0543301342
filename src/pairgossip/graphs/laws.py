"""Edge laws: which edge is drawn next, and with what probability.

`uniform-edges` draws every edge equally often, as the algorithms are stated. `node-clocks` wakes a
uniform node that calls a uniform neighbor: q_ij = (1/d_i + 1/d_j) / n. On regular graphs the two
agree.

Each kind of random number comes from its own stream, and numpy draws a stream's numbers one after
the other, so that drawing a and then b events gives the same events as drawing a + b at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.checks import LAWS, UNIFORM_EDGES, choice
from pairgossip.graphs.checks import neighbor_sums

if TYPE_CHECKING:
    from pairgossip.graphs.graph import Graph


class EdgeLaw(Protocol):
    """Draws exchanges: a name, how many streams it consumes, and `draw`."""

    @property
    def name(self) -> str:
        """One of `LAWS`."""

    @property
    def stream_count(self) -> int:
        """How many independent generators `draw` consumes."""

    def draw(self, streams: Sequence[Generator], count: int) -> PairArray:
        """Return the next `count` exchanges, one row (i, j) each."""


@dataclass(frozen=True)
class _NoEdges:
    """The law of a single node, which never exchanges."""

    name: str
    stream_count: int = 1

    def draw(self, streams: Sequence[Generator], count: int) -> PairArray:
        return np.empty((0, 2), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class _ListedEdges:
    """A uniform draw from a list of edges."""

    name: str
    edges: PairArray
    stream_count: int = 1

    def draw(self, streams: Sequence[Generator], count: int) -> PairArray:
        chosen = streams[0].integers(0, len(self.edges), count, dtype=np.int64)
        return self.edges.take(chosen, axis=0)


@dataclass(frozen=True)
class _AnyTwoNodes:
    """A uniform draw from the edges of the complete graph, which are not listed."""

    name: str
    n: int
    stream_count: int = 2

    def draw(self, streams: Sequence[Generator], count: int) -> PairArray:
        drawn = np.empty((count, 2), dtype=np.int32)
        first = streams[0].integers(0, self.n, count, dtype=np.int32)
        second = streams[1].integers(0, self.n - 1, count, dtype=np.int32)
        second += second >= first  # skips the first node itself
        drawn[:, 0] = first
        drawn[:, 1] = second
        return drawn


@dataclass(frozen=True, eq=False)
class _NodeClocks:
    """A uniform node, then one of its neighbors.

    The neighbor is number floor(u * degree) for a uniform u of 53 bits: no neighbor's probability
    is off by more than degree * 2**-53 of itself.
    """

    name: str
    degrees: FloatArray
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    stream_count: int = 2

    def draw(self, streams: Sequence[Generator], count: int) -> PairArray:
        drawn = np.empty((count, 2), dtype=np.int32)
        node = streams[0].integers(0, len(self.degrees), count, dtype=np.int64)
        position = streams[1].random(count)
        position *= self.degrees.take(node)
        offset = position.astype(np.int64)
        offset += self.indptr.take(node)
        drawn[:, 0] = node
        drawn[:, 1] = self.indices.take(offset)
        return drawn


def edge_law(graph: Graph, name: str = UNIFORM_EDGES) -> EdgeLaw:
    """Return the named law on the edges of `graph`."""
    name = choice("edge law", name, LAWS)
    if graph.n == 1:
        return _NoEdges(name)
    if graph.is_complete:
        return _AnyTwoNodes(name, graph.n)
    return graph._law(name)


def listed_law(graph: Graph, name: str) -> EdgeLaw:
    """Return the law of this canonical name on edges that can be listed."""
    if is_uniform(graph, name):
        return _ListedEdges(name, graph.edges)
    return _NodeClocks(name, graph.degrees.astype(np.float64), *graph.adjacency)


def is_uniform(graph: Graph, name: str) -> bool:
    """Tell whether the law draws every edge of this graph equally often."""
    return choice("edge law", name, LAWS) == UNIFORM_EDGES or graph.is_regular


def edge_probabilities(graph: Graph, law: str = UNIFORM_EDGES) -> FloatArray:
    """Return q_e, the probability that edge e is the one drawn, in the order of `edges`."""
    if is_uniform(graph, law):
        count = len(graph.edges)
        return np.full(count, 1.0 / max(count, 1))
    return np.asarray((1.0 / graph.degrees)[graph.edges].sum(axis=1) / graph.n)


def pick_probabilities(graph: Graph, law: str = UNIFORM_EDGES) -> FloatArray:
    """Return p_k, the probability that node k takes part in one exchange."""
    if graph.n == 1:
        return np.zeros(1)
    if is_uniform(graph, law):
        return graph.degrees / graph.edge_count
    # Node k takes part when its own clock rings or when a neighbor calls it.
    return (1.0 + neighbor_sums(graph.n, graph.edges, 1.0 / graph.degrees)) / graph.n
