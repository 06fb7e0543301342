"""The graph families by name, and graphs from what a user or a file gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice, whole
from pairgossip.errors import InputError, canonical
from pairgossip.graphs import random_families
from pairgossip.graphs.checks import node_count
from pairgossip.graphs.graph import Graph
from pairgossip.text import format_count, join_names


def complete(n: int) -> Graph:
    """Every two nodes are joined; no list of edges is kept.

    >>> complete(1_000_000).edge_count
    499999500000
    """
    return Graph._trusted(node_count(n), None, "complete")


def cycle(n: int) -> Graph:
    """Nodes on a ring, each joined to the two next to it."""
    n = node_count(n, at_least=3)
    nodes = np.arange(n)
    return Graph._trusted(n, np.column_stack([nodes, (nodes + 1) % n]), "cycle")


def path(n: int) -> Graph:
    """Nodes in a row, each joined to the next."""
    n = node_count(n, at_least=2)
    nodes = np.arange(n - 1)
    return Graph._trusted(n, np.column_stack([nodes, nodes + 1]), "path")


def star(n: int) -> Graph:
    """Node 0 in the center, joined to all others."""
    n = node_count(n, at_least=2)
    leaves = np.arange(1, n)
    return Graph._trusted(n, np.column_stack([np.zeros_like(leaves), leaves]), "star")


def grid(rows: int, cols: int) -> Graph:
    """A rectangle with open borders; node r * cols + c is in row r and column c."""
    rows, cols = (whole("A side of a grid", side, 1) for side in (rows, cols))
    nodes = np.arange(node_count(rows * cols)).reshape(rows, cols)
    right = np.column_stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()])
    down = np.column_stack([nodes[:-1].ravel(), nodes[1:].ravel()])
    edges = np.concatenate([right, down])
    return Graph._trusted(rows * cols, edges, "grid", {"rows": rows, "cols": cols})


def torus(rows: int, cols: int) -> Graph:
    """A grid whose opposite borders are joined: every node has exactly four neighbors."""
    rows, cols = (whole("A side of a torus", side, 3) for side in (rows, cols))
    nodes = np.arange(node_count(rows * cols)).reshape(rows, cols)
    right = np.column_stack([nodes.ravel(), np.roll(nodes, -1, axis=1).ravel()])
    down = np.column_stack([nodes.ravel(), np.roll(nodes, -1, axis=0).ravel()])
    edges = np.concatenate([right, down])
    return Graph._trusted(rows * cols, edges, "torus", {"rows": rows, "cols": cols})


_FEW = 3
"""Up to so many nodes some families do not exist."""
_Parameters = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """One family: how it is built and what it takes besides the number of nodes."""

    builder: Callable[..., Graph]
    description: str
    parameters: tuple[str, ...] = ()
    """What it takes besides n, in order."""
    defaults: Callable[[int], _Parameters] = lambda n: {}
    """What the parameters are, for n nodes, when they are not given."""
    derived_from_n: tuple[str, ...] = ()
    """Parameters whose default depends on n."""
    takes_n: bool = True
    """False where the parameters themselves fix the number of nodes (rows and cols)."""
    layout: str | Callable[[Graph], FloatArray] = "springs"
    """The shape of its pictures, a name in `layout.LAYOUTS` or a function that places nodes."""
    wraps: bool = False
    """Whether edges lead around the picture; those are not drawn."""
    also_called: tuple[str, ...] = ()
    """Other names people know it by: they are not taken, but answered with its own."""

    @property
    def is_random(self) -> bool:
        """Whether the family takes a seed."""
        return "seed" in self.parameters


FAMILIES: Mapping[str, Family] = {
    "complete": Family(
        complete, "every two nodes are joined", layout="disk", also_called=("clique", "full")
    ),
    "cycle": Family(cycle, "a ring", layout="ring", also_called=("ring", "circle")),
    "path": Family(path, "a row", layout="row", also_called=("line", "chain")),
    "star": Family(star, "node 0 joined to all others", layout="hub"),
    "grid": Family(
        grid,
        "a rectangle of nodes with open borders",
        ("rows", "cols"),
        derived_from_n=("rows", "cols"),
        takes_n=False,
        layout="rectangle",
        also_called=("lattice", "mesh"),
    ),
    "torus": Family(
        torus,
        "a rectangle of nodes with opposite borders joined: four neighbors each",
        ("rows", "cols"),
        derived_from_n=("rows", "cols"),
        takes_n=False,
        layout="rectangle",
        wraps=True,
    ),
    "watts-strogatz": Family(
        random_families.watts_strogatz,
        "a small world: a ring of k neighbors, a fraction p of the edges rewired",
        ("k", "p", "seed"),
        lambda n: {"k": 4, "p": 0.3},
        layout="ring",
        also_called=("small-world", "newman-watts"),
    ),
    "erdos-renyi": Family(
        random_families.erdos_renyi,
        "every two nodes joined with probability p",
        ("p", "seed"),
        lambda n: {"p": min(1.0, 2 * math.log(n) / n)},
        derived_from_n=("p",),
        also_called=("gnp", "random-graph", "binomial"),
    ),
    "random-regular": Family(
        random_families.random_regular,
        "at random, with the same degree everywhere",
        ("degree", "seed"),
        lambda n: {"degree": 4},
    ),
    "random-geometric": Family(
        random_families.random_geometric,
        "random points of a square, joined within a radius",
        ("radius", "seed"),
        lambda n: {"radius": 1.5 * math.sqrt(math.log(n) / (math.pi * n))},
        derived_from_n=("radius",),
    ),
    "barabasi-albert": Family(
        random_families.barabasi_albert,
        "preferential attachment: each new node joins m others",
        ("m", "seed"),
        lambda n: {"m": 2},
        also_called=("scale-free", "preferential-attachment"),
    ),
}


def build(name: str, n: int | None = None, **parameters: Any) -> Graph:
    """Build a graph by the name of its family.

    Parameters left out, or None, take the family's defaults.

    >>> build("watts_strogatz", 699, seed=1)
    <Graph watts-strogatz: 699 nodes, 1,398 edges>
    """
    if not isinstance(name, str):
        raise InputError(f"A graph family is one of {', '.join(FAMILIES)}, not {name!r}.")
    name = choice("graph", name, FAMILIES)
    family = FAMILIES[name]
    given = {key: value for key, value in parameters.items() if value is not None}
    superfluous = [key for key in given if key not in family.parameters]
    if superfluous:
        takes = join_names(("n", *family.parameters)) if family.parameters else "only n"
        raise InputError(f"{name} takes {takes}, not {superfluous[0]}.")
    if not family.takes_n:
        return family.builder(**_sides(name, n, given))
    if n is None:
        raise InputError(f"{name} needs the number of nodes n.")
    n = node_count(n)
    return family.builder(n, **(family.defaults(n) | given))


def _sides(name: str, n: int | None, given: _Parameters) -> _Parameters:
    """Complete rows and cols from whichever of rows, cols and n are given."""
    if n is None:
        if len(given) < 2:
            raise InputError(f"{name} takes rows and cols, or the number of nodes n.")
        return given
    n = node_count(n)
    least = 3 if name == "torus" else 2
    if not given:
        return _most_square(name, n, least)
    sides = {key: whole(f"A side of a {name}", side, 1) for key, side in given.items()}
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
            if family is None or n > _FEW:
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

    The formulas of a family without chance hold again where its edges are exactly these.

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
    """Tell whether building the family again gives the same graph; a name alone proves nothing."""
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
