"""Graphs by the name of their family, and graphs given by users or read from files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairgossip.checks import choice
from pairgossip.errors import InputError, canonical
from pairgossip.families import FAMILIES, Family
from pairgossip.graphs import fixed_families, random_families
from pairgossip.graphs.checks import node_count
from pairgossip.graphs.graph import Graph
from pairgossip.text import format_count, join_names

_FEWEST_FOR_ALL = 3
"""The number of nodes up to which some families do not exist; refusals then advise complete."""
_Parameters = dict[str, Any]


def build(name: str, n: int | None = None, **parameters: Any) -> Graph:
    """Build a graph by the name of its family.

    Parameters that are left out or None take the family's defaults.

    >>> build("watts_strogatz", 699, seed=1)
    <Graph watts-strogatz: 699 nodes, 1,398 edges>
    """
    if not isinstance(name, str):
        raise InputError(f"A graph family is one of {', '.join(FAMILIES)}, not {name!r}.")
    name = choice("graph", name, FAMILIES)
    family = FAMILIES[name]
    chosen = {key: value for key, value in parameters.items() if value is not None}
    superfluous = [key for key in chosen if key not in family.parameter_names]
    if superfluous:
        takes = join_names(("n", *family.parameter_names)) if family.parameter_names else "only n"
        raise InputError(f"{name} takes {takes}, not {superfluous[0]}.")
    if not family.takes_n:
        return _build(family, (), _sides(family, n, chosen))
    if n is None:
        raise InputError(f"{name} needs the number of nodes n.")
    n = node_count(n)
    return _build(family, (n,), family.defaults(n) | chosen)


def _build(family: Family, nodes: tuple[int, ...], parameters: _Parameters) -> Graph:
    """Call the function of a family's name, or the family's own builder."""
    if family.builder is None:
        module = random_families if family.is_random else fixed_families
        graph: Graph = getattr(module, family.name.replace("-", "_"))(*nodes, **parameters)
        return graph
    names = [each.name for each in family.parameters]
    checked = family.check(**{name: parameters.get(name) for name in names})
    parameters |= dict(zip(names, checked, strict=True))
    graph = copy(family.builder(*nodes, **parameters))
    if not isinstance(graph, Graph) or (nodes and graph.n != nodes[0]):
        expected = f"a pairgossip Graph of {nodes[0]:,} nodes" if nodes else "a pairgossip Graph"
        raise InputError(f"The builder of '{family.name}' must return {expected}, not {graph!r}.")
    if family.is_random:
        parameters["seed"] = random_families.record_seed(parameters.get("seed"))
    # The family's formulas hold for what its builder returns.
    vars(graph).update(family=family.name, _parameters=parameters, _is_certified=True, _known={})
    return graph


def _sides(family: Family, n: int | None, chosen: _Parameters) -> _Parameters:
    """Complete rows and cols from those of rows, cols and n that are known."""
    name = family.name
    if n is None:
        if len(chosen) < 2:
            raise InputError(f"{name} takes rows and cols, or the number of nodes n.")
        return chosen
    n = node_count(n)
    least = int(max(2, *(each.least for each in family.parameters)))
    if not chosen:
        return _most_square(name, n, least)
    checks = {each.name: each.check for each in family.parameters}
    sides = {key: checks[key](side) for key, side in chosen.items()}
    if n % math.prod(sides.values()) or (len(sides) == 2 and math.prod(sides.values()) != n):
        shape = " and ".join(f"{key}={side}" for key, side in sides.items())
        raise InputError(f"A {name} with {shape} cannot have n={n} nodes; leave one of them out.")
    missing = {"rows", "cols"} - sides.keys()
    return sides | dict.fromkeys(missing, n // math.prod(sides.values()))


def _most_square(name: str, n: int, least: int) -> _Parameters:
    rows = _shorter_side(n)
    if rows >= least:
        return {"rows": rows, "cols": n // rows}
    nearby = [
        next((size for size in sizes if _shorter_side(size) >= least), None)
        for sizes in (range(n - 1, 0, -1), range(n + 1, 2 * n + 10))
    ]
    sizes = " and ".join(str(size) for size in nearby if size is not None)
    raise InputError(
        f"A {name} of {n} nodes would need a side shorter than {least}; "
        f"sizes nearby that work: {sizes}; or give rows and cols."
    )


def _shorter_side(n: int) -> int:
    return next(side for side in range(math.isqrt(n), 0, -1) if n % side == 0)


def find_network(graph: Any, n: int, seed: int) -> Graph:
    """Return the graph itself, or build the named family on n nodes."""
    if isinstance(graph, str):
        family = FAMILIES.get(canonical(graph))
        try:
            return build(graph, n, seed=seed if family and family.is_random else None)
        except InputError as problem:
            if family is None or n > _FEWEST_FOR_ALL:
                raise
            raise InputError(
                f"There is no {canonical(graph)} of {format_count(n, 'node')}, one per row or "
                "site: use {argument}.",
                "graph",
                "complete",
            ) from problem
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
            f"The data has {format_count(n, 'row')} but the graph has "
            f"{format_count(graph.n, 'node')}: "
            "each node holds exactly one row."
        )
    return graph


def restore_graph(
    n: int,
    edges: ArrayLike | None,
    family: str | None,
    parameters: Mapping[str, Any] | None,
    names: Iterable[object] | None,
    positions: ArrayLike | None,
) -> Graph:
    """Rebuild a graph from its parts; `edges=None` means complete.

    The formulas of a family that is not random hold again if its edges are exactly these.

    >>> restore_graph(100_000, build("path", 100_000).edges, "path", {}, None, None).diameter()
    99999
    """
    if edges is None:
        return Graph.complete_on(
            n, family=family, parameters=parameters, names=names, positions=positions
        )
    graph = Graph(n, edges, family=family, parameters=parameters, names=names, positions=positions)
    object.__setattr__(graph, "_is_certified", _is_as_built(graph))
    return graph


def _is_as_built(graph: Graph) -> bool:
    """Return whether building the family again gives the same graph; a name alone is no proof."""
    family = FAMILIES.get(graph.family or "")
    if family is None or family.is_random or set(graph.parameters) != set(family.parameter_names):
        return False
    try:
        built = build(graph.family or "", graph.n, **graph.parameters)
    except InputError:
        return False
    # Formulas use the parameters without conversion: None or "3" must not count as a side.
    return (
        built.parameters == graph.parameters
        and built.edge_count == graph.edge_count  # before a long list of them is made
        and np.array_equal(built.edges, graph.edges)
    )
