"""Many rows per site: the virtual graph on the rows, of which nothing large is ever listed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairgossip.arrays import BoolArray, FloatArray, PairArray
from pairgossip.checks import (
    BLOW_UP,
    LEXICOGRAPHIC,
    ROW_CONSTRUCTIONS,
    UNIFORM_EDGES,
    choice,
    whole,
)
from pairgossip.errors import InputError
from pairgossip.graphs import checks, laws
from pairgossip.graphs.graph import Graph
from pairgossip.graphs.grouped import laws as grouped_laws
from pairgossip.graphs.grouped import spectrum
from pairgossip.graphs.grouped.grouping import match_groups, site_numbers
from pairgossip.graphs.random_families import pairs_from_numbers

# The edges between rows one by one, where there are few enough of them.


LARGEST_LIST = 20_000_000
"""More edges than this are not listed; they would take a third of a gigabyte to make."""


def edges(graph: GroupedGraph) -> PairArray:
    """Return the edges, one row i < j each: first those of the network, then the local ones."""
    if graph.edge_count > LARGEST_LIST:
        raise InputError(
            f"The {graph.n} rows at {graph.sites.n} sites have {graph.edge_count} edges, too many "
            f"to list; lists are made up to {LARGEST_LIST} edges."
        )
    parts = [_network_edges(graph)]
    if graph.has_local_edges:
        parts.append(_local_edges(graph))
    return checks.ordered_rows(graph.row_order[np.concatenate(parts)])


def neighbors(graph: GroupedGraph, k: int) -> NDArray[np.int32]:
    """Return the neighbors of row k in increasing order."""
    site = int(graph.site_of[k])
    rows = [graph.rows_of(neighbor) for neighbor in graph.sites.neighbors(site)]
    if graph.has_local_edges:
        own = graph.rows_of(site)
        rows.append(own[own != k])
    return np.sort(np.concatenate(rows)).astype(np.int32)


def same(one: Graph, other: Graph) -> bool:
    """Tell whether two graphs have the same edges, on the network and local."""
    return all(map(np.array_equal, _identity(one), _identity(other)))


def _identity(graph: Graph) -> tuple[Any, ...]:
    """Return the construction, the sites of the rows and the edges between sites.

    The sites are numbered by their first rows, because their own numbers do not matter. A plain
    graph has one row per site, where both constructions are the same.
    """

    if not isinstance(graph, GroupedGraph):
        rows = np.arange(graph.n)
        return "", rows, _keys(graph, rows)
    order = np.argsort(graph.row_order[graph.row_starts])
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    construction = "" if graph.has_single_rows else graph.construction
    return construction, number[graph.site_of], _keys(graph.sites, number)


def _keys(sites: Graph, number: NDArray[np.int64]) -> NDArray[np.int64]:
    if sites.is_complete:
        return np.array([-1, sites.n])
    return np.sort(checks.edge_keys(sites.n, checks.ordered_rows(number[sites.edges])))


def _network_edges(graph: GroupedGraph) -> NDArray[np.int64]:
    """Return pairs of places in the order of rows, for rows of neighboring sites."""
    one, other = graph.sites.edges.T
    edge, rest = _parts(graph.sizes[one] * graph.sizes[other])
    first, second = np.divmod(rest, graph.sizes[other[edge]])
    first += graph.row_starts[one[edge]]
    second += graph.row_starts[other[edge]]
    return np.column_stack([first, second])


def _local_edges(graph: GroupedGraph) -> NDArray[np.int64]:
    """Return pairs of places in the order of rows, for rows of one site."""
    site, number = _parts(graph.sizes * (graph.sizes - 1) // 2)
    return pairs_from_numbers(number) + graph.row_starts[site][:, None]


def _parts(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return 0, ..., 0, 1, ..., 1, ... as often as counted, and a number within each run."""
    part = np.repeat(np.arange(len(counts)), counts)
    begins = np.cumsum(counts) - counts
    return part, np.arange(len(part)) - begins[part]


LARGEST_DENSE_LAPLACIAN = 10_000
"""Above this many rows a matrix of rows by rows (0.8 GB) is not written out."""


class GroupedGraph(Graph):
    """The virtual graph of rows held at the sites of a network.

    The nodes are the rows, in their order. Rows at neighboring sites are joined; in the
    lexicographic construction the rows of one site are joined as well, and exchanges between those
    are local, hence free. Only the network and the number of rows per site are kept, so there may
    be millions of rows.

    Parameters
    ----------
    sites
        The network; a graph with one node per site.
    site_of
        The site of every row, a number from 0 to n - 1. Every site holds at least one row.
    construction
        ``"lexicographic"``, or ``"blow-up"``, where rows of one site never exchange.

    Examples
    --------
    >>> from pairgossip.graphs import path
    >>> GroupedGraph(path(3), [0, 0, 1, 2, 2])
    <GroupedGraph lexicographic: 5 rows at 3 sites, 6 edges>
    """

    def __init__(self, sites: Graph, site_of: ArrayLike, construction: str = LEXICOGRAPHIC) -> None:
        if not isinstance(sites, Graph):
            raise InputError(f"The sites must be a Graph, not {type(sites).__name__}.")
        self._sites = sites
        self._construction = choice("construction", construction, ROW_CONSTRUCTIONS)
        self._site_of = site_numbers(site_of, sites)
        self._sizes: NDArray[np.int64] = np.bincount(self._site_of, minlength=sites.n).astype(
            np.int64, copy=False
        )
        self._site_of.flags.writeable = self._sizes.flags.writeable = False
        n = checks.node_count(len(self._site_of))
        if self._construction == BLOW_UP and sites.n == 1 and n > 1:
            raise InputError(
                f"The blow-up of one site with {n} rows has no edges, because rows of one site "
                "never exchange in it; use the lexicographic construction."
            )
        self._fill(n, None, None, None, None, None)
        self._edge_count = self.network_edge_count + self.local_edge_count
        self._is_complete = 2 * self._edge_count == n * (n - 1)

    @property
    def sites(self) -> Graph:
        """The network, a graph with one node per site."""
        return self._sites

    @property
    def site_of(self) -> NDArray[np.int64]:
        """The site of every row; read-only."""
        return self._site_of

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of every site; read-only."""
        return self._sizes

    @property
    def construction(self) -> str:
        """Either ``"lexicographic"`` or ``"blow-up"``."""
        return self._construction

    @property
    def has_local_edges(self) -> bool:
        """Whether the construction joins the rows of one site."""
        return self._construction == LEXICOGRAPHIC

    @property
    def has_single_rows(self) -> bool:
        """Whether every site holds one row, so that this is the network itself."""
        return self.n == self.sites.n

    @cached_property
    def network_edge_count(self) -> int:
        """Number of edges between rows of different sites."""
        sizes = self._sizes
        if self.sites.is_complete:
            # Sums over pairs of rows stay below 2**62, because there are at most 2**31 rows.
            return (len(self._site_of) ** 2 - int(sizes @ sizes)) // 2
        one, other = self.sites.edges.T
        return int(sizes[one] @ sizes[other])

    @cached_property
    def local_edge_count(self) -> int:
        """Number of edges between rows of one site."""
        return int((self._sizes * (self._sizes - 1) // 2).sum()) if self.has_local_edges else 0

    @cached_property
    def reach(self) -> NDArray[np.int64]:
        """Number of rows at the neighbors of every site; read-only."""
        if self.sites.is_complete:
            counts: NDArray[np.int64] = self.n - self._sizes
        else:
            one, other = self.sites.edges.T
            there = np.bincount(one, self._sizes[other], self.sites.n)
            # Sums of sizes stay below 2**31, which floats hold exactly.
            counts = (there + np.bincount(other, self._sizes[one], self.sites.n)).astype(np.int64)
        counts.flags.writeable = False
        return counts

    @cached_property
    def site_degrees(self) -> NDArray[np.int64]:
        """Number of neighbors of each row of every site; read-only."""
        counts = self.reach + self._sizes - 1 if self.has_local_edges else self.reach
        counts.flags.writeable = False
        return counts

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Number of neighbors of each row; read-only."""
        counts = self.site_degrees[self._site_of]
        counts.flags.writeable = False
        return counts

    @cached_property
    def row_order(self) -> NDArray[np.int64]:
        """The rows site by site, in increasing order at each; read-only."""
        order = np.argsort(self._site_of, kind="stable")
        order.flags.writeable = False
        return order

    @cached_property
    def row_starts(self) -> NDArray[np.int64]:
        """Where the rows of each site start in `row_order`; read-only."""
        starts = np.cumsum(self._sizes) - self._sizes
        starts.flags.writeable = False
        return starts

    def rows_of(self, site: int) -> NDArray[np.int64]:
        """Return the rows of one site in increasing order."""
        site = whole("A site", site, 0)
        if site >= self.sites.n:
            raise InputError(f"Site {site} is outside the sites 0 to {self.sites.n - 1}.")
        start = self.row_starts[site]
        return self.row_order[start : start + self._sizes[site]]

    def is_network(self, exchanges: ArrayLike) -> BoolArray:
        """Tell of every exchange, one row (i, j) each, whether it is between two sites."""
        one, other = np.asarray(exchanges).reshape(-1, 2).T
        crosses: BoolArray = self._site_of[one] != self._site_of[other]
        return crosses

    def network_fraction(self, law: str = UNIFORM_EDGES) -> float:
        """Return the probability that an exchange is between two sites; local ones are free."""
        return grouped_laws.network_fraction(self, law)

    @property
    def edges(self) -> PairArray:
        """The edges, one row i < j each; read-only, and refused where there are too many."""
        return super().edges if self.is_complete else self._list_edges

    @cached_property
    def _list_edges(self) -> PairArray:
        return edges(self)

    def materialized(self) -> Graph:
        """Return the plain graph on the rows with all edges listed."""
        if self.is_complete:
            return Graph.complete_on(self.n)
        return Graph(self.n, self.edges)

    def neighbors(self, k: int) -> NDArray[np.int32]:
        """Return the neighbors of row k in increasing order."""
        if self.is_complete:
            return super().neighbors(k)
        k = whole("A node", k, 0)
        if k >= self.n:
            raise InputError(f"Node {k} is outside the nodes 0 to {self.n - 1}.")
        return neighbors(self, k)

    @property
    def is_regular(self) -> bool:
        """Whether all rows have the same number of neighbors."""
        return bool(self.site_degrees.min() == self.site_degrees.max())

    def is_bipartite(self) -> bool:
        """Tell whether the rows split into two sides with every edge between the sides."""
        if self.has_single_rows or not self.has_local_edges:
            return self.sites.is_bipartite()
        # Two rows of one site make a triangle with any row beside them.
        return self.n <= 2

    def _law(self, name: str) -> laws.EdgeLaw:
        return grouped_laws.virtual_law(self, name)

    def pick_probabilities(self, law: str = UNIFORM_EDGES) -> FloatArray:
        """Return p_k, the probability that row k takes part in one exchange."""
        return grouped_laws.pick_probabilities(self, law)

    def laplacian_dense(self, law: str | None = None) -> FloatArray:
        """Return L = D - A, or L_q for a named edge law, as an array."""
        if self.n > LARGEST_DENSE_LAPLACIAN:
            raise InputError(
                f"A matrix of rows by rows is made up to {LARGEST_DENSE_LAPLACIAN} rows, not "
                f"{self.n}; the spectral gap needs none."
            )
        return super().laplacian_dense(law)

    def spectral_gap(self) -> float:
        """Return the second smallest eigenvalue of the Laplacian, from the sites alone."""
        return spectrum.spectral_gap(self)

    def normalized_gap(self, law: str = UNIFORM_EDGES) -> float:
        """Return the second smallest eigenvalue of L_q, from the sites alone."""
        return spectrum.normalized_gap(self, law)

    def diameter(self) -> int:
        """Return the largest distance between two rows."""
        if self.is_complete:
            return super().diameter()
        # Two rows of one site meet directly, or at any neighbor.
        at_one_site = 0 if self.has_single_rows else 1 if self.has_local_edges else 2
        return max(self.sites.diameter(), at_one_site)

    def __repr__(self) -> str:
        return (
            f"<GroupedGraph {self.construction}: {self.n} rows at {self.sites.n} sites, "
            f"{self.edge_count} edges>"
        )

    def __eq__(self, other: object) -> bool:
        """Compare the edges, and which of them are on the network."""
        if not isinstance(other, Graph):
            return NotImplemented
        if (self.n, self.edge_count) != (other.n, other.edge_count):
            return False
        return same(self, other)

    __hash__ = Graph.__hash__


def grouped(sites: Graph, groups: object, construction: str = LEXICOGRAPHIC) -> GroupedGraph:
    """Build the virtual graph of rows held at the sites of a network.

    Parameters
    ----------
    sites
        The network; a graph with one node per site.
    groups
        One label per row: the name of a node where the nodes have names, or its number; other
        labels are given to the nodes in the order of the labels.
    construction
        ``"lexicographic"``, or ``"blow-up"``, where rows of one site never exchange.

    Examples
    --------
    >>> from pairgossip.graphs import cycle
    >>> grouped(cycle(3), ["a", "b", "c", "a"]).rows_of(0)
    array([0, 3])
    """
    construction = choice("construction", construction, ROW_CONSTRUCTIONS)
    if not isinstance(sites, Graph):
        raise InputError(f"The sites must be a Graph, not {type(sites).__name__}.")
    rows = len(groups) if hasattr(groups, "__len__") else 0
    return GroupedGraph(sites, match_groups(groups, rows, sites), construction)
