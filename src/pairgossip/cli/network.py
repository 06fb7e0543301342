"""The options that say which network, and the graph they describe."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from pairgossip.cli.options import NETWORK, Seed, Whole
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from pairgossip.graphs import Graph

DEFAULT_FAMILY = "complete"


@Parameter(name="*", group=NETWORK)
@dataclass(frozen=True)
class FamilyParameters:
    """What the families of graphs take besides the number of nodes."""

    k: Whole | None = None
    """Neighbors on the ring before rewiring, an even number (watts-strogatz)."""
    p: float | None = None
    """Rewired fraction (watts-strogatz) or edge probability (erdos-renyi)."""
    rows: Whole | None = None
    """Rows of a grid or torus."""
    cols: Whole | None = None
    """Columns of a grid or torus."""
    degree: Whole | None = None
    """Neighbors of every node (random-regular)."""
    radius: float | None = None
    """How near points must be to be joined, in a unit square (random-geometric)."""
    m: Whole | None = None
    """Nodes that each new node joins (barabasi-albert)."""

    def given(self) -> dict[str, Any]:
        """Return the parameters that were given, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@Parameter(name="*", group=NETWORK)
@dataclass(frozen=True)
class NetworkOptions:
    """Which network the observations live on."""

    graph: str | None = None
    """Family of the network, complete unless given; `pairgossip graph` lists them."""
    graph_file: Path | None = None
    """A network of your own: GraphML (.graphml, .xml) or an edge list; row k goes to its
    k-th node."""
    graph_seed: Seed | None = None
    """Seed of a random network; the run's seed unless given."""

    def build(
        self,
        n: int,
        parameters: FamilyParameters,
        seed: int,
        names: tuple[str, ...] | None = None,
    ) -> Graph:
        """Build the network of n nodes; a family's nodes take the names, a file has its own."""
        if self.graph_file is None:
            chosen = seed if self.graph_seed is None else self.graph_seed
            graph = build_family(self.graph or DEFAULT_FAMILY, n, parameters, chosen)
            return graph if names is None else _named(graph, names)
        if self.graph is not None:
            raise InputError("Give --graph or --graph-file, not both.")
        return load_graph(self.graph_file, parameters)


NO_PARAMETERS = FamilyParameters()
NO_NETWORK = NetworkOptions()


def build_family(name: str, n: int | None, parameters: FamilyParameters, seed: int) -> Graph:
    """Build a graph by its family's name; the seed is for the random ones."""
    from pairgossip.graphs import FAMILIES, build

    family = FAMILIES.get(canonical(name))
    takes_seed = family is not None and family.is_random
    return build(name, n, **parameters.given(), seed=seed if takes_seed else None)


def _named(graph: Graph, names: tuple[str, ...]) -> Graph:
    from pairgossip.graphs.restoring import restored

    if graph.n != len(names):
        raise InputError(
            f"There are {len(names)} sites but the network has {graph.n} nodes: ask for a network "
            "with one node per site."
        )
    edges = None if graph.is_complete else graph.edges
    return restored(graph.n, edges, graph.family, graph.parameters, names, graph.positions)


def load_graph(file: Path, parameters: FamilyParameters) -> Graph:
    """Read a graph file, which no parameter of a family goes with."""
    from pairgossip.graphs import Graph

    superfluous = next(iter(parameters.given()), None)
    if superfluous is not None:
        raise InputError(f"The network is read from {file}: leave out --{superfluous}.")
    return Graph.load(file)
