"""`pairgossip graph`: how fast gossip spreads on a network."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from pairgossip.checks import LAWS
from pairgossip.cli.console import (
    format_value,
    tell,
    working_on,
    write_json,
    write_line,
    write_rows,
)
from pairgossip.cli.network import FamilyParameters, build_family, load_graph, spell
from pairgossip.cli.options import NETWORK, OUTPUT, Flag, Json, Seed, Whole, given_options
from pairgossip.cli.outputs.files import check_figures, check_outputs, write_bars
from pairgossip.errors import InputError, canonical
from pairgossip.families import FAMILIES
from pairgossip.text import json_value

if TYPE_CHECKING:
    from pairgossip.graphs import Graph

_MIXING_DISTANCE = 0.01
"""Total variation at which an observation counts as mixed."""
_LARGEST_EXACT_MIXING = 1_500
"""Nodes; in larger networks an exact mixing time without a formula, which takes minutes, is left
out."""
_LARGEST_DISTANCES = 5_000
"""Nodes; in larger networks diameter and detour without a formula are left out."""
_Facts = dict[str, Any]


def graph_command(
    family: str | None = None,
    /,
    *,
    nodes: Annotated[Whole | None, Parameter(group=NETWORK)] = None,
    seed: Annotated[Seed, Parameter(group=NETWORK)] = 0,
    file: Annotated[Path | None, Parameter(group=NETWORK)] = None,
    parameters: FamilyParameters = FamilyParameters(),
    advise: Annotated[Flag, Parameter(group=OUTPUT)] = False,
    out: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
    save_edges: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
    json: Annotated[Json, Parameter(group=OUTPUT)] = False,
) -> None:
    """Report how fast gossip spreads on a network; without a name, list the families.

    The normalized gap is the rate at which an observation that wanders from neighbor to neighbor
    forgets its start: its inverse is the number of exchanges in which the remaining difference
    shrinks by a factor e.

    For example:

        pairgossip graph torus --rows 26 --cols 26
        pairgossip graph watts-strogatz --nodes 100 --save-edges net.graphml
        pairgossip graph --file net.graphml --advise

    Parameters
    ----------
    family
        Name of a family, such as cycle or watts-strogatz.
    nodes
        Number of nodes.
    seed
        Seed of a random family.
    file
        Your own network instead: GraphML (.graphml, .xml) or an edge list.
    advise
        Compare the network with better laws of edges, a few more links, and overlays.
    out
        Draw that comparison: .png, .pdf or .svg.
    save_edges
        Write the network: GraphML if the name ends in .graphml or .xml, else an edge list.
    """
    if family is None and file is None:
        if nodes is not None or given_options(parameters) or save_edges is not None or advise:
            raise InputError(
                "Which network? Name a family, as in 'pairgossip graph cycle --nodes 20'."
            )
        _list_families(json)
        return
    if out is not None and not advise:
        raise InputError("A figure is drawn of the comparison with better networks: add --advise.")
    check_figures([out])
    check_outputs([save_edges, out], [file])
    graph = _choose(family, nodes, file, parameters, seed)
    if advise:  # refuse a network before the long computation
        from pairgossip.networks.best_law import check_network

        check_network(graph)
    if save_edges is not None:
        is_graphml = save_edges.suffix.lower() in (".graphml", ".xml")
        (graph.to_graphml if is_graphml else graph.to_edge_list)(save_edges)
        tell(f"Wrote {save_edges}")
    with working_on(f"Spectrum and distances of {graph.n:,} nodes"):
        facts = _facts_of(graph)
    advice = None
    if advise:
        from pairgossip.networks import advise as compare

        advice = compare(graph)
        if out is not None:
            write_bars(advice.plot, len(advice.options), out)
    if json:
        more = {} if advice is None else {"advice": [asdict(one) for one in advice.options]}
        write_json(_without_reasons(facts) | more)
        return
    _print_facts(facts)
    if advice is not None:
        from pairgossip.networks.advice import COLUMNS

        write_rows(COLUMNS, advice.cells(), "better networks")
        write_line(advice.remarks)


def _choose(
    family: str | None,
    nodes: int | None,
    file: Path | None,
    parameters: FamilyParameters,
    seed: int,
) -> Graph:
    if file is None:
        assert family is not None
        declared = FAMILIES.get(canonical(family))
        if declared is not None and declared.takes_n and nodes is None:
            raise InputError(
                f"How many nodes? Say so, as in 'pairgossip graph {family} --nodes 100'."
            )
        return build_family(family, nodes, parameters, seed)
    if family is not None or nodes is not None:
        raise InputError(f"The network is read from {file}: leave out its family and --nodes.")
    return load_graph(file, parameters)


def _list_families(as_json: bool) -> None:
    if as_json:
        write_json(
            {
                name: {"description": family.description, "parameters": family.parameter_names}
                for name, family in FAMILIES.items()
            }
        )
        return
    rows = []
    for name, family in FAMILIES.items():
        fixed = {each.name: each.default for each in family.parameters if each.default is not None}
        options = [
            spell(option) + (f" ({format_value(fixed[option])})" if option in fixed else "")
            for option in family.parameter_names
        ]
        nodes = "--nodes or" if options and not family.takes_n else "--nodes"
        rows.append((name, " ".join([nodes, *options]), family.description))
    write_rows(("family", "parameters (default)", "description"), rows, numbers=False)


@dataclass(frozen=True)
class _Unknown:
    """A fact that was not computed, and why."""

    reason: str


def describe_graph(graph: Graph) -> _Facts:
    """Return the family, the parameters and the size of a network."""
    return {
        "family": graph.family,
        "parameters": json_value(graph.parameters),
        "nodes": graph.n,
        "edges": graph.edge_count,
    }


def _facts_of(graph: Graph) -> _Facts:
    """Compute the facts, without those that take too long on a large graph."""
    from pairgossip.graphs.distances import closed_diameter

    low, mean, high = _degree_range(graph)
    known = graph.is_complete
    pair = _compute(graph, graph.delta_tilde, _LARGEST_DISTANCES, known)
    has_formula = closed_diameter(graph) is not None
    mixing = partial(graph.exact_mixing_time, _MIXING_DISTANCE)
    return {
        **describe_graph(graph),
        "degree_min": low,
        "degree_mean": mean,
        "degree_max": high,
        "bipartite": bool(graph.is_bipartite()),
        "diameter": _compute(graph, graph.diameter, _LARGEST_DISTANCES, has_formula),
        "delta_tilde": pair if isinstance(pair, _Unknown) else pair.value,
        "delta_tilde_pair": pair if isinstance(pair, _Unknown) else pair.pair,
        "spectral_gap": _compute(graph, graph.spectral_gap),
        "mixing_distance": _MIXING_DISTANCE,
        "exact_mixing_time": _compute(graph, mixing, _LARGEST_EXACT_MIXING, known),
        "laws": {law: _law_facts(graph, law) for law in LAWS},
    }


def _without_reasons(facts: Any) -> Any:
    """Return the facts for programs, with None for those that were not computed."""
    if isinstance(facts, dict):
        return {name: _without_reasons(entry) for name, entry in facts.items()}
    return None if isinstance(facts, _Unknown) else facts


def _print_facts(facts: _Facts) -> None:
    """Print the facts as two tables: the network, and gossip under both edge laws."""
    family = facts["family"] or "network"
    parameters = ", ".join(f"{key}={value}" for key, value in facts["parameters"].items())
    title = f"{family} ({parameters})" if parameters else family
    low, mean, high = (facts[f"degree_{which}"] for which in ("min", "mean", "max"))
    network = (
        ("nodes", facts["nodes"]),
        ("edges", facts["edges"]),
        ("degree: min, mean, max", f"{low:,}, {mean:.4g}, {high:,}"),
        ("bipartite", facts["bipartite"]),
        ("diameter", facts["diameter"]),
        ("mean detour between farthest nodes (Delta-tilde)", facts["delta_tilde"]),
        ("spectral gap (lambda_{n-1})", facts["spectral_gap"]),
        (f"mixing time to {_MIXING_DISTANCE}, exact, uniform edges", facts["exact_mixing_time"]),
    )
    write_rows(("network", ""), [(name, _format_fact(value)) for name, value in network], title)
    laws = facts["laws"]
    rates = (
        ("normalized_gap", "normalized gap"),
        ("exchanges_per_efold", "exchanges per e-fold of mixing (1 / gap)"),
        ("mixing_time_bound", f"mixing time to {_MIXING_DISTANCE}, tau (bound)"),
        ("pick_min", "least p_k (share of exchanges with node k)"),
        ("pick_max", "largest p_k"),
    )
    rows = [(name, *(_format_fact(law[key]) for law in laws.values())) for key, name in rates]
    write_rows(("gossip, by edge law", *laws), rows)


def _law_facts(graph: Graph, law: str) -> _Facts:
    gap = _compute(graph, lambda: graph.normalized_gap(law))
    least, largest = _pick_range(graph, law)
    return {
        "normalized_gap": gap,
        "exchanges_per_efold": gap if isinstance(gap, _Unknown) else 1 / gap,
        "mixing_time_bound": _compute(graph, lambda: graph.mixing_time(_MIXING_DISTANCE, law)),
        "pick_min": least,
        "pick_max": largest,
    }


def _degree_range(graph: Graph) -> tuple[int, float, int]:
    """Return the least, mean and largest degree; a list of a complete graph's may be too large."""
    if graph.is_complete:
        return graph.n - 1, float(graph.n - 1), graph.n - 1
    degrees = graph.degrees
    return int(degrees.min()), float(degrees.mean()), int(degrees.max())


def _pick_range(graph: Graph, law: str) -> tuple[float, float]:
    """Return the least and the largest p_k."""
    if graph.is_complete:
        share = 2 / graph.n if graph.n > 1 else 0.0
        return share, share
    picks = graph.pick_probabilities(law)
    return float(picks.min()), float(picks.max())


def _compute(
    graph: Graph, compute: Callable[[], Any], most: float = math.inf, has_formula: bool = False
) -> Any:
    """Compute a fact, or return that it is undefined, or why it was not computed."""
    if graph.n > most and not has_formula:
        return _Unknown(f"not computed above {most:,} nodes")
    try:
        return compute()
    except InputError:
        # One node has no gap, two never mix, and a detour needs a third.
        return _Unknown("undefined" if graph.n < 3 else "not computed")


def _format_fact(value: Any) -> str:
    return value.reason if isinstance(value, _Unknown) else format_value(value)
