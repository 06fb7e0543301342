"""Graphs from the parts that a file keeps of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairgossip.errors import InputError
from pairgossip.graphs.catalog import FAMILIES, build
from pairgossip.graphs.graph import Graph


def restored(
    n: int,
    edges: ArrayLike | None,
    family: str | None,
    parameters: Mapping[str, Any] | None,
    names: Iterable[object] | None,
    positions: ArrayLike | None,
) -> Graph:
    """Rebuild a graph from its parts; `edges=None` means complete.

    The formulas of a family without chance hold again where its edges are exactly these.

    >>> restored(100_000, build("path", 100_000).edges, "path", {}, None, None).diameter()
    99999
    """
    if edges is None:
        return Graph.complete_on(
            n, family=family, parameters=parameters, names=names, positions=positions
        )
    graph = Graph(n, edges, family=family, parameters=parameters, names=names, positions=positions)
    graph._is_certified = _is_as_built(graph)
    return graph


def _is_as_built(graph: Graph) -> bool:
    """Tell whether building the family again gives the same graph; a label alone is no proof."""
    family = FAMILIES.get(graph.family or "")
    if family is None or family.is_random or set(graph.parameters) != set(family.parameters):
        return False
    try:
        built = build(graph.family or "", graph.n, **graph.parameters)
    except InputError:
        return False
    # The formulas take the parameters as they are: None, or "3", must not pass for a side.
    return (
        built.parameters == graph.parameters
        and built.edge_count == graph.edge_count  # before a long list of them is made
        and np.array_equal(built.edges, graph.edges)
    )
