"""The laws that draw exchanges between rows whose edges are not listed.

All sampling uses whole numbers, so that the probabilities are exact. Rows are counted site by site
(a row's place), which makes the rows of one site adjacent; the last step returns row numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.checks import UNIFORM_EDGES, WHOLE_SETS
from pairgossip.errors import InputError
from pairgossip.graphs import laws
from pairgossip.graphs.checks import neighbor_sums

if TYPE_CHECKING:
    from pairgossip.graphs.grouped.graph import GroupedGraph


# The part of a range in which a number falls, for many numbers at once.


_Whole = NDArray[np.int64]

_LARGEST_GUIDE = 1 << 23
"""The largest number of entries of a table that locates parts."""
_STEPS = 2
"""The number of steps from the table's part before a binary search."""


@dataclass(frozen=True)
class _EvenParts:
    """Adjacent parts of one length; a division finds the part of a number."""

    length: int

    def locate(self, numbers: _Whole) -> tuple[_Whole, _Whole]:
        part, rest = np.divmod(numbers, self.length)
        return part, rest


@dataclass(frozen=True, eq=False)
class _GuidedParts:
    """Parts of any lengths; a table finds nearly every number's part within two parts.

    The table has one entry per 2**shift numbers. Binary search finds the few other numbers; for all
    numbers it would miss the processor's caches at every step.
    """

    marks: _Whole
    """The beginning of each part, and the end of the last one."""
    guide: NDArray[np.int32]
    shift: int

    def locate(self, numbers: _Whole) -> tuple[_Whole, _Whole]:
        ends = self.marks[1:]
        part = self.guide.take(numbers >> self.shift).astype(np.int64)
        for _ in range(_STEPS):
            part += ends.take(part) <= numbers
        off = np.flatnonzero(ends.take(part) <= numbers)
        if off.size:
            part[off] = np.searchsorted(ends, numbers[off], side="right")
        return part, numbers - self.marks.take(part)


_Locator = _EvenParts | _GuidedParts
"""`locate` returns the part in which each number falls, and its offset there."""


def _make_locator(lengths: _Whole) -> _Locator:
    """Return a locator of numbers in parts of these lengths, all at least one."""
    if lengths.min() == lengths.max():
        return _EvenParts(int(lengths[0]))
    marks = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    total, size = int(marks[-1]), min(2 * len(marks), _LARGEST_GUIDE)
    shift = (total // size).bit_length()
    starts = np.arange((total - 1 >> shift) + 1, dtype=np.int64) << shift
    guide = np.searchsorted(marks[1:], starts, side="right").astype(np.int32)
    return _GuidedParts(marks, guide, shift)


_Places = NDArray[np.int32]
"""Rows, their places or their sites, as 32-bit numbers, which are faster to look up."""


@dataclass(frozen=True, eq=False)
class _Renumbered:
    """A law on the network itself, where every site holds one row."""

    name: str
    network: laws.EdgeLaw
    rows: _Places
    stream_count: int

    def draw(self, streams: Sequence[Generator], count: int) -> PairArray:
        return _in_rows(self.rows, *self.network.draw(streams, count).T)


@dataclass(frozen=True, eq=False)
class _VirtualEdges:
    """A uniform draw from the edges between rows.

    A number below twice the edges belongs to a site (an ordered pair of its rows) or to an edge of
    the network (a pair of rows, and one surplus bit).
    """

    name: str
    total: int
    parts: _Locator
    local_count: int
    """The number of parts that are sites; these are the first ones."""
    divisors: _Whole
    first_starts: _Places
    second_starts: _Places
    rows: _Places | None
    stream_count: int = 1

    def draw(self, streams: Sequence[Generator], count: int) -> PairArray:
        drawn = streams[0].integers(0, self.total, count, dtype=np.int64)
        part, rest = self.parts.locate(drawn)
        first, second = np.divmod(rest, self.divisors.take(part))
        is_local = part < self.local_count
        past_itself = is_local & (second >= first)
        second >>= ~is_local  # drops the surplus bit
        second += past_itself
        first += self.first_starts.take(part)
        second += self.second_starts.take(part)
        return _in_rows(self.rows, first, second)


@dataclass(frozen=True, eq=False)
class _ListedNeighbors:
    """The other rows of a row's own site, if they are neighbors, then those of other sites."""

    own: _Whole
    """The number of neighbors of a site's rows at the same site."""
    starts: _Places
    begins: _Whole
    """The number of rows at the neighbors of all earlier sites."""
    parts: _Locator
    neighbor_starts: _Places

    def of(self, site: NDArray[Any], place: _Whole, number: _Whole) -> _Whole:
        at_own = self.starts.take(site) + number
        at_own += at_own >= place
        around = number - self.own.take(site)
        is_own = around < 0
        np.maximum(around, 0, out=around)
        around += self.begins.take(site)
        part, rest = self.parts.locate(around)
        rest += self.neighbor_starts.take(part)
        return np.where(is_own, at_own, rest)


@dataclass(frozen=True, eq=False)
class _AllOthers:
    """All rows of other sites: the blow-up of a complete graph."""

    sizes: _Whole
    starts: _Places

    def of(self, site: NDArray[Any], place: _Whole, number: _Whole) -> _Whole:
        return number + self.sizes.take(site) * (number >= self.starts.take(site))


_Neighbors = _ListedNeighbors | _AllOthers
"""`of` returns the place of the neighbor with this number, for the row at this place and site."""


@dataclass(frozen=True, eq=False)
class _VirtualClocks:
    """A uniform row, then one of its neighbors."""

    name: str
    neighbors: _Neighbors
    degrees: _Whole
    site_at: _Places
    rows: _Places | None
    stream_count: int = 2

    def draw(self, streams: Sequence[Generator], count: int) -> PairArray:
        place = streams[0].integers(0, len(self.site_at), count, dtype=np.int64)
        site = self.site_at.take(place)
        number = streams[1].integers(0, self.degrees.take(site), dtype=np.int64)
        return _in_rows(self.rows, place, self.neighbors.of(site, place, number))


@dataclass(frozen=True, eq=False)
class _VirtualArcs:
    """A uniform draw from all pairs of a row and its neighbor, hence from the edges."""

    name: str
    total: int
    neighbors: _Neighbors
    parts: _Locator
    degrees: _Whole
    starts: _Places
    rows: _Places | None
    stream_count: int = 1

    def draw(self, streams: Sequence[Generator], count: int) -> PairArray:
        drawn = streams[0].integers(0, self.total, count, dtype=np.int64)
        site, rest = self.parts.locate(drawn)
        place, number = np.divmod(rest, self.degrees.take(site))
        place += self.starts.take(site)
        return _in_rows(self.rows, place, self.neighbors.of(site, place, number))


def virtual_law(graph: GroupedGraph, name: str) -> laws.EdgeLaw:
    """Return the law of this canonical name on a graph of rows that is not complete."""
    if graph.has_single_rows:
        network = laws.edge_law(graph.sites, name)
        rows = _rows(graph)
        if rows is None:
            return network
        return _Renumbered(network.name, network, rows, network.stream_count)
    if not laws.is_uniform(graph, name):
        site_at = np.repeat(np.arange(graph.sites.n, dtype=np.int32), graph.sizes)
        neighbors = _neighbors(graph)
        return _VirtualClocks(name, neighbors, graph.site_degrees, site_at, _rows(graph))
    if graph.sites.is_complete:
        parts = _make_locator(graph.sizes * graph.site_degrees)
        degrees, starts = graph.site_degrees, graph.row_starts.astype(np.int32)
        total = 2 * graph.edge_count
        return _VirtualArcs(name, total, _neighbors(graph), parts, degrees, starts, _rows(graph))
    return _virtual_edges(graph, name)


def _virtual_edges(graph: GroupedGraph, name: str) -> _VirtualEdges:
    sizes, starts = graph.sizes, graph.row_starts.astype(np.int32)
    one, other = graph.sites.edges.T
    several = np.flatnonzero(sizes >= 2) if graph.has_local_edges else np.empty(0, dtype=np.int64)
    weights = [sizes[several] * (sizes[several] - 1), 2 * sizes[one] * sizes[other]]
    return _VirtualEdges(
        name=name,
        total=2 * graph.edge_count,
        parts=_make_locator(np.concatenate(weights)),
        local_count=len(several),
        divisors=np.concatenate([sizes[several] - 1, 2 * sizes[other]]),
        first_starts=np.concatenate([starts[several], starts[one]]),
        second_starts=np.concatenate([starts[several], starts[other]]),
        rows=_rows(graph),
    )


def _neighbors(graph: GroupedGraph) -> _Neighbors:
    starts = graph.row_starts.astype(np.int32)
    if graph.sites.is_complete:
        return _AllOthers(graph.sizes, starts)
    _, around = graph.sites.adjacency
    return _ListedNeighbors(
        own=graph.site_degrees - graph.reach,
        starts=starts,
        begins=np.cumsum(graph.reach) - graph.reach,
        parts=_make_locator(graph.sizes[around]),
        neighbor_starts=starts[around],
    )


def _rows(graph: GroupedGraph) -> _Places | None:
    """Return the row at every place, or None where rows are already in the order of sites."""
    is_sorted = bool((graph.site_of[1:] >= graph.site_of[:-1]).all())
    return None if is_sorted else graph.row_order.astype(np.int32)


def _in_rows(rows: _Places | None, first: NDArray[Any], second: NDArray[Any]) -> PairArray:
    drawn = np.empty((len(first), 2), dtype=np.int32)
    drawn[:, 0] = first if rows is None else rows.take(first)
    drawn[:, 1] = second if rows is None else rows.take(second)
    return drawn


def refuse_given(graph: GroupedGraph, law: laws.GivenLaw) -> None:
    """Raise `InputError`: the law is for the network, but rows have far more edges."""
    raise InputError(
        "A law of given probabilities is for the edges between nodes, but rows at sites exchange "
        "along other edges: use {argument}, so that sites are the nodes.",
        "construction",
        WHOLE_SETS,
    )


def network_fraction(graph: GroupedGraph, law: laws.LawLike = UNIFORM_EDGES) -> float:
    """Return the probability that an exchange is between two sites; local ones are free."""
    if laws.is_uniform(graph, law):
        return graph.network_edge_count / max(graph.edge_count, 1)
    return float(graph.sizes @ (graph.reach / graph.site_degrees)) / graph.n


def pick_probabilities(graph: GroupedGraph, law: laws.LawLike = UNIFORM_EDGES) -> FloatArray:
    """Return p_k, the probability that row k takes part in one exchange."""
    if laws.is_uniform(graph, law):
        return laws.pick_probabilities(graph, law)
    # A row takes part when its own clock rings or when a neighbor calls it.
    calls = graph.sizes / graph.site_degrees
    if graph.sites.is_complete:
        called = calls.sum() - calls
    else:
        called = neighbor_sums(graph.sites.n, graph.sites.edges, calls)
    called += (graph.site_degrees - graph.reach) / graph.site_degrees
    of_site: FloatArray = (1.0 + called) / graph.n
    return of_site[graph.site_of]
