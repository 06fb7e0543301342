"""Many rows per site: the virtual graph on the rows, whose edges are not stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairgossip.arrays import BoolArray, FloatArray, IntArray, PairArray
from pairgossip.checks import (
    BLOW_UP,
    LEXICOGRAPHIC,
    ROW_CONSTRUCTIONS,
    WHOLE_SETS,
    choice,
    whole,
)
from pairgossip.errors import InputError
from pairgossip.graphs import checks
from pairgossip.graphs.changing import Changing
from pairgossip.graphs.graph import Graph
from pairgossip.graphs.grouped import laws as grouped_laws
from pairgossip.graphs.grouped import spectrum
from pairgossip.graphs.laws import LawLike
from pairgossip.graphs.random_families import pairs_from_numbers

_LARGEST_LIST = 20_000_000
"""The largest number of edges to list; they take a third of a gigabyte to make."""
_LARGEST_DENSE_LAPLACIAN = 10_000
"""The largest number of rows for a matrix of rows by rows, 0.8 GB."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class GroupedGraph(Graph):
    """The virtual graph of rows held at the sites of a network.

    The nodes are the rows, in their order. Rows at neighboring sites are joined. In the
    lexicographic construction the rows of one site are joined as well, and exchanges between them
    are local, hence free. Only the network and the number of rows per site are stored, so there may
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

    sites: Graph
    """The network, a graph with one node per site."""
    site_of: NDArray[np.int64]
    """The site of every row; read-only."""
    sizes: NDArray[np.int64]
    """Number of rows of every site; read-only."""
    construction: str
    """Either ``"lexicographic"`` or ``"blow-up"``."""
    has_local_edges: bool
    """Whether the construction joins the rows of one site."""
    has_single_rows: bool
    """Whether every site holds one row, so that the virtual graph is the network itself."""

    def __init__(self, sites: Graph, site_of: ArrayLike, construction: str = LEXICOGRAPHIC) -> None:
        check_sites(sites)
        construction = choice("construction", construction, ROW_CONSTRUCTIONS)
        numbers = _site_numbers(site_of, sites)
        sizes = np.bincount(numbers, minlength=sites.n).astype(np.int64, copy=False)
        numbers.flags.writeable = sizes.flags.writeable = False
        n = checks.node_count(len(numbers))
        if construction == BLOW_UP and sites.n == 1 and n > 1:
            raise InputError(
                f"The blow-up of one site with {n} rows has no edges, because rows of one site "
                "never exchange in it; use the lexicographic construction."
            )
        self._fill(n, None, None, None, None, None)
        vars(self).update(
            sites=sites,
            site_of=numbers,
            sizes=sizes,
            construction=construction,
            has_local_edges=construction == LEXICOGRAPHIC,
            has_single_rows=n == sites.n,
        )
        edge_count = self.network_edge_count + self.local_edge_count
        vars(self).update(edge_count=edge_count, is_complete=2 * edge_count == n * (n - 1))

    @cached_property
    def network_edge_count(self) -> int:
        """Number of edges between rows of different sites."""
        sizes = self.sizes
        if self.sites.is_complete:
            # Sums over pairs of rows stay below 2**62, because there are at most 2**31 rows.
            return (len(self.site_of) ** 2 - int(sizes @ sizes)) // 2
        one, other = self.sites.edges.T
        return int(sizes[one] @ sizes[other])

    @cached_property
    def local_edge_count(self) -> int:
        """Number of edges between rows of one site."""
        return int((self.sizes * (self.sizes - 1) // 2).sum()) if self.has_local_edges else 0

    @cached_property
    def reach(self) -> NDArray[np.int64]:
        """Number of rows at the neighbors of every site; read-only."""
        if self.sites.is_complete:
            counts: NDArray[np.int64] = self.n - self.sizes
        else:
            # Sums of sizes stay below 2**31, which floats hold exactly.
            sums = checks.neighbor_sums(self.sites.n, self.sites.edges, self.sizes)
            counts = sums.astype(np.int64)
        counts.flags.writeable = False
        return counts

    @cached_property
    def site_degrees(self) -> NDArray[np.int64]:
        """Number of neighbors of each row of every site; read-only."""
        counts = self.reach + self.sizes - 1 if self.has_local_edges else self.reach
        counts.flags.writeable = False
        return counts

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Number of neighbors of each row; read-only."""
        counts = self.site_degrees[self.site_of]
        counts.flags.writeable = False
        return counts

    @cached_property
    def row_order(self) -> NDArray[np.int64]:
        """The rows site by site, in increasing order at each; read-only."""
        order = np.argsort(self.site_of, kind="stable")
        order.flags.writeable = False
        return order

    @cached_property
    def row_starts(self) -> NDArray[np.int64]:
        """The start of each site's rows in `row_order`; read-only."""
        starts = np.cumsum(self.sizes) - self.sizes
        starts.flags.writeable = False
        return starts

    def rows_of(self, site: int) -> NDArray[np.int64]:
        """Return the rows of one site in increasing order."""
        site = whole("A site", site, 0)
        if site >= self.sites.n:
            raise InputError(f"Site {site} is outside the sites 0 to {self.sites.n - 1}.")
        start = self.row_starts[site]
        return self.row_order[start : start + self.sizes[site]]

    def is_network(self, exchanges: ArrayLike) -> BoolArray:
        """Return for every exchange, one row (i, j) each, whether it is between two sites."""
        one, other = np.asarray(exchanges).reshape(-1, 2).T
        crosses: BoolArray = self.site_of[one] != self.site_of[other]
        return crosses

    network_fraction = grouped_laws.network_fraction

    @property
    def edges(self) -> PairArray:
        """The edges, one row i < j each; read-only, and refused where there are too many."""
        return super().edges if self.is_complete else self._listed_edges

    @cached_property
    def _listed_edges(self) -> PairArray:
        """The edges: first those between sites, then the local ones."""
        if self.edge_count > _LARGEST_LIST:
            raise InputError(
                f"The {self.n} rows at {self.sites.n} sites have {self.edge_count} edges, too many "
                f"to list; lists are made up to {_LARGEST_LIST} edges."
            )
        parts = [_network_edges(self)]
        if self.has_local_edges:
            parts.append(_local_edges(self))
        return checks.ordered_rows(self.row_order[np.concatenate(parts)])

    def materialized(self) -> Graph:
        """Return the plain graph on the rows with all edges listed."""
        if self.is_complete:
            return Graph.complete_on(self.n)
        return Graph(self.n, self.edges)

    def neighbors(self, k: int) -> NDArray[np.int32]:
        """Return the neighbors of row k in increasing order."""
        if self.is_complete:
            return super().neighbors(k)
        site = int(self.site_of[self._check_node(k)])
        rows = [self.rows_of(neighbor) for neighbor in self.sites.neighbors(site)]
        if self.has_local_edges:
            own = self.rows_of(site)
            rows.append(own[own != k])
        return np.sort(np.concatenate(rows)).astype(np.int32)

    @property
    def is_regular(self) -> bool:
        """Whether all rows have the same number of neighbors."""
        return bool(self.site_degrees.min() == self.site_degrees.max())

    def is_bipartite(self) -> bool:
        """Return whether the rows split into two sides with every edge between the sides."""
        if self.has_single_rows or not self.has_local_edges:
            return self.sites.is_bipartite()
        # Two rows of one site form a triangle with any row of a neighboring site.
        return self.n <= 2

    _law = grouped_laws.virtual_law
    _check_given = grouped_laws.refuse_given
    pick_probabilities = grouped_laws.pick_probabilities
    spectral_gap = spectrum.spectral_gap
    normalized_gap = spectrum.normalized_gap

    def laplacian_dense(self, law: LawLike | None = None) -> FloatArray:
        """Return L = D - A, or L_q for an edge law, as an array."""
        if self.n > _LARGEST_DENSE_LAPLACIAN:
            raise InputError(
                f"A matrix of rows by rows is made up to {_LARGEST_DENSE_LAPLACIAN} rows, not "
                f"{self.n}; use the spectral gap, which needs no such matrix."
            )
        return super().laplacian_dense(law)

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
        """Compare the edges, and whether they are between sites."""
        if not isinstance(other, Graph):
            return NotImplemented
        if (self.n, self.edge_count) != (other.n, other.edge_count):
            return False
        return all(map(np.array_equal, _identity(self), _identity(other)))

    __hash__ = Graph.__hash__


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
    """Return runs of 0, 1, ... of these lengths, and the place of each entry in its run."""
    part = np.repeat(np.arange(len(counts)), counts)
    begins = np.cumsum(counts) - counts
    return part, np.arange(len(part)) - begins[part]


def check_sites(sites: object) -> None:
    """Raise `InputError` unless the network of sites is a graph."""
    if not isinstance(sites, Graph):
        raise InputError(f"The sites must be a Graph, not {type(sites).__name__}.")
    if isinstance(sites, Changing):
        raise InputError(
            "Rows at sites exchange on one network, but this one changes: use {argument}, so that "
            "sites are the nodes.",
            "construction",
            WHOLE_SETS,
        )


def refuse_empty_sites(site_of: IntArray, sites: Graph) -> None:
    """Raise `InputError` unless every site holds at least one row."""
    empty = np.flatnonzero(np.bincount(site_of, minlength=sites.n) == 0)
    if empty.size:
        first = sites.names[empty[0]] if sites.names is not None else empty[0]
        others = f" and {empty.size - 1} more hold" if empty.size > 1 else " holds"
        raise InputError(
            f"Site {first}{others} no row; give every site at least one row, or leave it out of "
            "the graph."
        )


def _site_numbers(site_of: object, sites: Graph) -> NDArray[np.int64]:
    """Check the number of the site of every row; every site must hold at least one row."""
    entered = np.asarray(site_of)
    if entered.ndim != 1 or not np.issubdtype(entered.dtype, np.integer):
        raise InputError("The site of every row must be a list of whole numbers, one per row.")
    numbers = entered.astype(np.int64)
    outside = np.flatnonzero((numbers < 0) | (numbers >= sites.n))
    if outside.size:
        row = outside[0]
        raise InputError(
            f"Row {row} is at site {numbers[row]}, outside the sites 0 to {sites.n - 1}."
        )
    refuse_empty_sites(numbers, sites)
    return numbers
