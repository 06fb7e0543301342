"""The edges between rows one by one, where there are few enough of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import PairArray
from pairgossip.errors import InputError
from pairgossip.graphs import checks
from pairgossip.graphs.sampling import pairs_from_numbers

if TYPE_CHECKING:
    from pairgossip.graphs.graph import Graph
    from pairgossip.graphs.grouped_graph import GroupedGraph

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
    from pairgossip.graphs.grouped_graph import GroupedGraph

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
