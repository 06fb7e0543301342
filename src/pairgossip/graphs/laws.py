"""Edge laws, which draw the next edge.

`uniform-edges` draws every edge equally often, as the algorithms are stated. `node-clocks` wakes a
uniform node that calls a uniform neighbor: q_ij = (1/d_i + 1/d_j) / n. On regular graphs the two
are equal. Any other law is given by the probability of every edge.

Each kind of random number has its own stream, and numpy draws a stream's numbers one after the
other, so that drawing a and then b events gives the same events as drawing a + b at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as shorten
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.checks import LAWS, UNIFORM_EDGES, choice
from pairgossip.errors import InputError
from pairgossip.graphs.checks import component_labels, neighbor_sums

if TYPE_CHECKING:
    from pairgossip.graphs.graph import Graph


_SUM_ERROR = 1e-8
"""The largest distance of the sum of probabilities from 1."""


class GivenLaw:
    """A law of edges, given by the probability of every edge.

    Laws are values: they are equal if their probabilities are equal.

    Parameters
    ----------
    probabilities
        One number per edge, in the order of ``graph.edges``; they sum to 1. Edges that are never
        used have 0.
    name
        The name of the law in results.

    Examples
    --------
    >>> GivenLaw([0.5, 0.25, 0.25])
    <GivenLaw given: 3 of 3 edges used>
    """

    probabilities: FloatArray
    """The probability of every edge; read-only."""
    name: str
    edges: PairArray | None = None
    """The edges for which it was found; None if it fits any graph with this number of edges."""

    def __init__(self, probabilities: Any, name: str = "given") -> None:
        self.probabilities = _check_probabilities(probabilities)
        self.name = name
        self._hash = hash(self.probabilities.tobytes())

    def __repr__(self) -> str:
        used = np.count_nonzero(self.probabilities)
        kind = type(self).__name__
        return f"<{kind} {self.name}: {used:,} of {len(self.probabilities):,} edges used>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GivenLaw):
            return NotImplemented
        return np.array_equal(self.probabilities, other.probabilities)

    def __hash__(self) -> int:
        return self._hash


NamedOrGiven = str | GivenLaw
"""A law by its canonical name, or by its probabilities."""
LawLike = str | GivenLaw | FloatArray | Sequence[float]
"""The forms in which users may give a law."""


def name_law(law: NamedOrGiven) -> str:
    """Return the name of a law in results and files."""
    return law if isinstance(law, str) else law.name


def _check_probabilities(probabilities: Any) -> FloatArray:
    """Return the numbers read-only; raise `InputError` unless they are probabilities."""
    try:
        numbers = np.array(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 1 or not numbers.size:
        raise InputError(
            f"An edge law is one of {', '.join(LAWS)}, or a list of probabilities, one per edge; "
            f"not {shorten(probabilities)}."
        )
    if not (numbers >= 0).all():
        at = int((~(numbers >= 0)).argmax())
        raise InputError(f"The probability of edge {at} is {numbers[at]:g}: give numbers >= 0.")
    if not abs(numbers.sum() - 1) <= _SUM_ERROR:
        raise InputError(
            f"The probabilities of the edges sum to {numbers.sum():.6g}, not to 1: divide them by "
            "their sum."
        )
    numbers.flags.writeable = False
    return numbers


def as_law(law: Any) -> NamedOrGiven:
    """Return the canonical name of a law, or its probabilities as one value."""
    if isinstance(law, GivenLaw):
        return law
    return choice("edge law", law, LAWS) if isinstance(law, str) else GivenLaw(law)


def settle_law(graph: Graph, law: LawLike) -> NamedOrGiven:
    """Return a law as `as_law` does; raise `InputError` unless it fits the graph."""
    settled = as_law(law)
    if isinstance(settled, GivenLaw):
        graph._check_given(settled)
    return settled


def check_given(graph: Graph, law: GivenLaw) -> None:
    """Raise `InputError` unless every edge has a probability, and used edges join all nodes."""
    count = len(law.probabilities)
    if count != graph.edge_count:
        raise InputError(
            f"The law has {count:,} probabilities but the graph has {graph.edge_count:,} edges: "
            "give one probability per edge, in the order of graph.edges."
        )
    if law.edges is not None and not np.array_equal(law.edges, graph.edges):
        raise InputError(
            f"The law '{law.name}' was found for a graph with other edges: find the law of this "
            "graph."
        )
    if component_labels(graph.n, graph.edges[law.probabilities > 0]).any():
        raise InputError(
            "The edges with a probability above 0 do not connect all nodes: give more edges a "
            "probability."
        )


class EdgeLaw(Protocol):
    """The interface of laws: a name, the number of streams it consumes, and `draw`."""

    @property
    def name(self) -> str:
        """One of `LAWS`, or the name of a given law."""

    @property
    def stream_count(self) -> int:
        """The number of independent generators that `draw` consumes."""

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
class ListedEdges:
    """A uniform draw from a list of edges."""

    name: str
    edges: PairArray
    stream_count: int = 1

    def draw(self, streams: Sequence[Generator], count: int) -> PairArray:
        """Return the next exchanges."""
        return self.edges.take(self.choose(streams, count), axis=0)

    def choose(self, streams: Sequence[Generator], count: int) -> NDArray[np.int64]:
        """Return the places of the next exchanges in the list."""
        return streams[0].integers(0, len(self.edges), count, dtype=np.int64)


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


@dataclass(frozen=True, eq=False)
class _GivenEdges:
    """A draw by given probabilities: a uniform place, which keeps its edge or takes its alias.

    No edge's probability is off by more than 2**-53.
    """

    name: str
    edges: PairArray
    kept: FloatArray
    """The probability that a place keeps its own edge."""
    alias: NDArray[np.int64]
    stream_count: int = 2

    def draw(self, streams: Sequence[Generator], count: int) -> PairArray:
        place = streams[0].integers(0, len(self.edges), count, dtype=np.int64)
        sent = streams[1].random(count) >= self.kept.take(place)
        place[sent] = self.alias.take(place[sent])
        return self.edges.take(place, axis=0)


def _alias_table(probabilities: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return for every place the probability to keep it, and its alias (Walker, Vose)."""
    count = len(probabilities)
    heights = (probabilities * (count / probabilities.sum())).tolist()
    alias = list(range(count))
    low = [place for place, height in enumerate(heights) if height < 1]
    high = [place for place, height in enumerate(heights) if height >= 1]
    while low and high:
        poor, rich = low.pop(), high[-1]
        alias[poor] = rich
        heights[rich] -= 1 - heights[poor]
        if heights[rich] < 1:
            low.append(high.pop())
    # Deficits and surpluses balance, so the remaining places are full up to rounding.
    for place in (*low, *high):
        heights[place] = 1.0
    return np.array(heights), np.array(alias, dtype=np.int64)


def edge_law(graph: Graph, law: LawLike = UNIFORM_EDGES) -> EdgeLaw:
    """Return the law on the edges of `graph`, ready to draw."""
    settled = settle_law(graph, law)
    if graph.n == 1:
        return _NoEdges(name_law(settled))
    if isinstance(settled, GivenLaw):
        return _GivenEdges(settled.name, graph.edges, *_alias_table(settled.probabilities))
    if graph.is_complete:
        return _AnyTwoNodes(settled, graph.n)
    return graph._law(settled)


def listed_law(graph: Graph, name: str) -> EdgeLaw:
    """Return the law of this canonical name on edges that can be listed."""
    if is_uniform(graph, name):
        return ListedEdges(name, graph.edges)
    return _NodeClocks(name, graph.degrees.astype(np.float64), *graph.adjacency)


def is_uniform(graph: Graph, law: LawLike) -> bool:
    """Return whether a law draws all edges of this graph equally often, as on regular graphs."""
    settled = settle_law(graph, law)
    return isinstance(settled, str) and (settled == UNIFORM_EDGES or graph.is_regular)


def edge_probabilities(graph: Graph, law: LawLike = UNIFORM_EDGES) -> FloatArray:
    """Return q_e, the probability that edge e is the one drawn, in the order of `edges`."""
    settled = settle_law(graph, law)
    if isinstance(settled, GivenLaw):
        return settled.probabilities
    if is_uniform(graph, settled):
        count = len(graph.edges)
        return np.full(count, 1.0 / max(count, 1))
    return np.asarray((1.0 / graph.degrees)[graph.edges].sum(axis=1) / graph.n)


def pick_probabilities(graph: Graph, law: LawLike = UNIFORM_EDGES) -> FloatArray:
    """Return p_k, the probability that node k takes part in one exchange."""
    if graph.n == 1:
        return np.zeros(1)
    settled = settle_law(graph, law)
    if isinstance(settled, GivenLaw):
        ones = np.ones(graph.n)
        return neighbor_sums(graph.n, graph.edges, ones, settled.probabilities)
    if is_uniform(graph, law):
        return graph.degrees / graph.edge_count
    # Node k takes part when its own clock rings or when a neighbor calls it.
    return (1.0 + neighbor_sums(graph.n, graph.edges, 1.0 / graph.degrees)) / graph.n
