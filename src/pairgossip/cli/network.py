"""Options of networks: a family with its parameters, or a file."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from pairgossip.cli.options import NEEDED, NETWORK, Whole, given_options
from pairgossip.errors import InputError, canonical
from pairgossip.families import FAMILIES

if TYPE_CHECKING:
    from pairgossip.graphs import Graph

DEFAULT_FAMILY = "complete"


@dataclass(frozen=True)
class _Parameters:
    """Parameters of graph families besides the number of nodes: one option for each name."""


def _make_options(**spellings: str) -> type[_Parameters]:
    """Return the parameters of all families as a group of options, some spelled differently."""
    names = dict.fromkeys(each.name for family in FAMILIES.values() for each in family.parameters)
    options = [(name, _option_type(name, spellings.get(name)), None) for name in names]
    here = {"__module__": __name__}
    made = make_dataclass("Parameters", options, bases=(_Parameters,), frozen=True, namespace=here)
    return Parameter(name="*", group=NETWORK)(made)


def _option_type(name: str, spelling: str | None) -> Any:
    """Return the type of an option; its help explains it for each family that has it."""
    declared = [
        (each, family.name)
        for family in FAMILIES.values()
        for each in family.parameters
        if each.name == name
    ]
    takers: dict[str, list[str]] = {}
    for each, taker in declared:
        takers.setdefault(each.help, []).append(taker)
    help = " or ".join(f"{said} ({' or '.join(names)})" for said, names in takers.items())
    kind = Whole if all(each.kind is int for each, _ in declared) else float
    return Annotated[kind | None, Parameter(help=f"{help[0].upper()}{help[1:]}.", name=spelling)]


def spell(parameter: str) -> str:
    """Return the option of a parameter."""
    return f"--{parameter.replace('_', '-')}"


if TYPE_CHECKING:
    FamilyParameters: TypeAlias = _Parameters
    TrainingFamilyParameters: TypeAlias = _Parameters
else:
    FamilyParameters = _make_options()
    TrainingFamilyParameters = _make_options(radius="--graph-radius")  # --radius is the model's


@Parameter(name="*", group=NETWORK)
@dataclass(frozen=True)
class NetworkOptions:
    """The network of the observations."""

    graph: Annotated[str | None, NEEDED] = None
    """Family of the network, by default complete; `pairgossip graph` lists them."""
    graph_file: Path | None = None
    """Your own network: GraphML (.graphml, .xml) or an edge list; row k goes to its k-th node."""

    def build(
        self,
        n: int,
        parameters: FamilyParameters,
        seed: int | None,
        names: tuple[str, ...] | None = None,
    ) -> Graph:
        """Build the network of n nodes; ``names`` are for a family's nodes, a file has its own."""
        if self.graph_file is None:
            graph = build_family(self.graph or DEFAULT_FAMILY, n, parameters, seed)
            return graph if names is None else _name_nodes(graph, names)
        if self.graph is not None:
            raise InputError("Give --graph or --graph-file, not both.")
        return load_graph(self.graph_file, parameters)


def build_family(name: str, n: int | None, parameters: FamilyParameters, seed: int | None) -> Graph:
    """Build a graph by its family's name; the seed is for the random ones."""
    from pairgossip.graphs import build

    family = FAMILIES.get(canonical(name))
    takes_seed = family is not None and family.is_random
    return build(name, n, **given_options(parameters), seed=seed if takes_seed else None)


def _name_nodes(graph: Graph, names: tuple[str, ...]) -> Graph:
    from pairgossip.graphs.catalog import restore_graph

    if graph.n != len(names):
        raise InputError(
            f"There are {len(names)} sites but the network has {graph.n} nodes: ask for a network "
            "with one node per site."
        )
    edges = None if graph.is_complete else graph.edges
    return restore_graph(graph.n, edges, graph.family, graph.parameters, names, graph.positions)


def load_graph(file: Path, parameters: FamilyParameters) -> Graph:
    """Read a graph file; refuse parameters of families beside it."""
    from pairgossip.graphs import Graph

    superfluous = next(iter(given_options(parameters)), None)
    if superfluous is not None:
        raise InputError(f"The network is read from {file}: leave out {spell(superfluous)}.")
    return Graph.load(file)
