"""Placing the rows of a data set on a network: one at every node, or several at a site."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import IntArray
from pairgossip.checks import CONSTRUCTIONS, LEXICOGRAPHIC, WHOLE_SETS, choice
from pairgossip.errors import InputError, canonical
from pairgossip.graphs.catalog import FAMILIES, build
from pairgossip.graphs.graph import Graph
from pairgossip.graphs.grouped.graph import GroupedGraph
from pairgossip.graphs.grouped.grouping import group_labels, match_groups

MOST_PAIRS_WITHIN_SITES = 2**32
"""Above this many pairs of rows within sites, whole sets would take minutes to start."""


class Placement(NamedTuple):
    """Where the rows are, and who exchanges with whom."""

    network: Graph
    swapped_sets: IntArray | None
    """The site of every row where sites swap whole sets; else None: nodes are rows."""


def place_rows(graph: Any, rows: int, groups: Any, construction: str, seed: int) -> Placement:
    """Place one row at every node, or with groups the rows of each site at the site."""
    construction = choice("construction", construction, CONSTRUCTIONS)
    if groups is None:
        if construction != LEXICOGRAPHIC:
            raise InputError(
                f"Construction '{construction}' is about sites that hold several rows: "
                "give {argument}, the site of every row, too.",
                "groups",
            )
        return Placement(find_network(graph, rows, seed), None)
    if isinstance(graph, GroupedGraph):
        raise InputError(
            "The graph says already which rows are at which site: leave {argument} out, or give "
            "the graph of the sites.",
            "groups",
        )
    labels, _ = group_labels(groups, rows)
    sites = graph if isinstance(graph, Graph) else find_network(graph, len(labels), seed)
    site_of = match_groups(groups, rows, sites)
    if construction == WHOLE_SETS:
        _refuse_large_sets(site_of)
        return Placement(sites, site_of)
    return Placement(GroupedGraph(sites, site_of, construction), None)


def find_network(graph: Any, n: int, seed: int) -> Graph:
    """Return the graph itself, or build the named family on n nodes."""
    if isinstance(graph, str):
        family = FAMILIES.get(canonical(graph))
        return build(graph, n, seed=seed if family and family.is_random else None)
    if not isinstance(graph, Graph):
        kind = type(graph)
        library = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        raise InputError(
            f"The graph must be a pairgossip Graph or the name of a family, not "
            f"{library}{kind.__qualname__}: convert it with pg.Graph.from_networkx or "
            "pg.Graph.from_scipy."
        )
    if graph.n != n:
        raise InputError(
            f"The data has {n} rows but the graph has {graph.n} nodes: "
            "each node holds exactly one row."
        )
    return graph


def _refuse_large_sets(site_of: IntArray) -> None:
    sizes = np.bincount(site_of).astype(np.float64)
    if float(sizes @ sizes) > MOST_PAIRS_WITHIN_SITES:
        raise InputError(
            f"Swapping whole sets of up to {int(sizes.max()):,} rows takes {sizes @ sizes:.0e} "
            "pairs of rows before the first exchange: use {argument}.",
            "construction",
            "lexicographic",
        )
