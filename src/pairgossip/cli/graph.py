"""`pairgossip graph`: how fast gossip spreads on a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from pairgossip.cli.console import (
    format_value,
    new_table,
    tell,
    working_on,
    write_json,
    write_table,
)
from pairgossip.cli.options import (
    NETWORK,
    NO_PARAMETERS,
    OUTPUT,
    FamilyParameters,
    Flag,
    Seed,
    Whole,
    build_family,
    load_graph,
)
from pairgossip.cli.outputs import check_outputs
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from pairgossip.graphs import Graph


def graph_command(
    family: str | None = None,
    /,
    *,
    nodes: Annotated[Whole | None, Parameter(group=NETWORK)] = None,
    seed: Annotated[Seed, Parameter(group=NETWORK)] = 0,
    file: Annotated[Path | None, Parameter(group=NETWORK)] = None,
    parameters: FamilyParameters = NO_PARAMETERS,
    save_edges: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
    json: Annotated[Flag, Parameter(group=OUTPUT)] = False,
) -> None:
    """Report how fast gossip spreads on a network; without a name, list the families.

    The normalized gap is the rate at which an observation that wanders from neighbor to neighbor
    forgets where it started: its inverse is the number of exchanges that shrink what is left
    by a factor e.

    For example:

        pairgossip graph torus --rows 26 --cols 26
        pairgossip graph watts-strogatz --nodes 100 --save-edges net.graphml
        pairgossip graph --file net.graphml

    Parameters
    ----------
    family
        Name of a family, such as cycle or watts-strogatz.
    nodes
        Number of nodes.
    seed
        Seed of a random family.
    file
        A network of your own instead: GraphML (.graphml, .xml) or an edge list.
    save_edges
        Write the network: GraphML if the name ends in .graphml or .xml, else an edge list.
    json
        Print one JSON object instead of tables.
    """
    if family is None and file is None:
        _refuse_lonely(nodes, parameters, save_edges)
        _list_families(json)
        return
    check_outputs([save_edges], [file])
    graph = _chosen(family, nodes, file, parameters, seed)
    if save_edges is not None:
        _save(graph, save_edges)
    _report(graph, json)


def _refuse_lonely(nodes: int | None, parameters: FamilyParameters, save: Path | None) -> None:
    if nodes is not None or parameters.given() or save is not None:
        raise InputError("Which network? Name a family, as in 'pairgossip graph cycle --nodes 20'.")


def _chosen(
    family: str | None,
    nodes: int | None,
    file: Path | None,
    parameters: FamilyParameters,
    seed: int,
) -> Graph:
    if file is None:
        assert family is not None
        _refuse_uncounted(family, nodes)
        return build_family(family, nodes, parameters, seed)
    if family is not None or nodes is not None:
        raise InputError(f"The network is read from {file}: leave out its family and --nodes.")
    return load_graph(file, parameters)


def _refuse_uncounted(name: str, nodes: int | None) -> None:
    from pairgossip.graphs import FAMILIES

    family = FAMILIES.get(canonical(name))
    if family is not None and family.takes_n and nodes is None:
        raise InputError(f"How many nodes? Say so, as in 'pairgossip graph {name} --nodes 100'.")


def _save(graph: Graph, path: Path) -> None:
    if path.suffix.lower() in (".graphml", ".xml"):
        graph.to_graphml(path)
    else:
        graph.to_edge_list(path)
    tell(f"Wrote {path}")


def _report(graph: Graph, as_json: bool) -> None:
    from pairgossip.cli.summaries.graph import facts_of, print_facts, without_reasons

    with working_on(f"Spectrum and distances of {graph.n:,} nodes"):
        facts = facts_of(graph)
    if as_json:
        write_json(without_reasons(facts))
    else:
        print_facts(facts)


def _list_families(as_json: bool) -> None:
    from pairgossip.graphs import FAMILIES

    if as_json:
        write_json(
            {
                name: {"description": family.description, "parameters": family.parameters}
                for name, family in FAMILIES.items()
            }
        )
        return
    table = new_table(("family", "parameters (default)", "description"), numbers=False)
    for name, family in FAMILIES.items():
        fixed = set(family.parameters) - set(family.derived_from_n) - {"seed"}
        defaults = family.defaults(2) if fixed else {}
        options = [
            f"--{option}" + (f" ({format_value(defaults[option])})" if option in fixed else "")
            for option in family.parameters
        ]
        nodes = "--nodes or" if options and not family.takes_n else "--nodes"
        table.add_row(name, " ".join([nodes, *options]), family.description)
    write_table(table)
