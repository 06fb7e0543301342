"""The facts about a network that decide how fast gossip spreads on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pairgossip.cli.console import format_value, new_table, write_table
from pairgossip.errors import InputError
from pairgossip.graphs import LAWS, Graph
from pairgossip.graphs.distances import closed_diameter

MIXING_DISTANCE = 0.01
LARGEST_EXACT_MIXING = 1_500
LARGEST_DISTANCES = 5_000
SMALLEST_WITH_ALL_FACTS = 3
"""One node has no gap, two never mix, and a detour needs a third."""

Facts = dict[str, Any]


@dataclass(frozen=True)
class Unknown:
    """A fact that was not computed, and why."""

    reason: str


def facts_of(graph: Graph) -> Facts:
    """Compute the facts, leaving out what takes too long on a large graph."""
    low, mean, high = _degree_range(graph)
    pair = _detour(graph)
    facts: Facts = {
        "family": graph.family,
        "parameters": graph.parameters,
        "nodes": graph.n,
        "edges": graph.edge_count,
        "degree_min": low,
        "degree_mean": mean,
        "degree_max": high,
        "bipartite": bool(graph.is_bipartite()),
        "diameter": _diameter(graph),
        "delta_tilde": pair if isinstance(pair, Unknown) else pair.value,
        "delta_tilde_pair": pair if isinstance(pair, Unknown) else pair.pair,
        "spectral_gap": _compute(graph, graph.spectral_gap),
        "mixing_distance": MIXING_DISTANCE,
        "exact_mixing_time": _exact_mixing(graph),
        "laws": {law: _law_facts(graph, law) for law in LAWS},
    }
    return facts


def without_reasons(facts: Facts) -> Facts:
    """Return the facts for programs: None for whatever was not computed."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(entry) for name, entry in value.items()}
        return None if isinstance(value, Unknown) else value

    return {name: plain(value) for name, value in facts.items()}


def print_facts(facts: Facts) -> None:
    """Print the facts as two tables: the network, and gossip under both edge laws."""
    family = facts["family"] or "network"
    parameters = ", ".join(f"{key}={value}" for key, value in facts["parameters"].items())
    title = f"{family} ({parameters})" if parameters else family
    network = new_table(("network", ""))
    low, mean, high = (facts[f"degree_{which}"] for which in ("min", "mean", "max"))
    for name, value in (
        ("nodes", facts["nodes"]),
        ("edges", facts["edges"]),
        ("degree: min, mean, max", f"{low:,}, {mean:.4g}, {high:,}"),
        ("bipartite", facts["bipartite"]),
        ("diameter", facts["diameter"]),
        ("mean detour between farthest nodes (Delta-tilde)", facts["delta_tilde"]),
        ("spectral gap (lambda_{n-1})", facts["spectral_gap"]),
        (f"mixing time to {MIXING_DISTANCE}, exact, uniform edges", facts["exact_mixing_time"]),
    ):
        network.add_row(name, _format_fact(value))
    write_table(network, title)
    laws = facts["laws"]
    table = new_table(("gossip, by edge law", *laws))
    for key, name in (
        ("normalized_gap", "normalized gap"),
        ("exchanges_per_efold", "exchanges per e-fold of mixing (1 / gap)"),
        ("mixing_time_bound", f"mixing time to {MIXING_DISTANCE}, tau (bound)"),
        ("pick_min", "least p_k (share of exchanges with node k)"),
        ("pick_max", "largest p_k"),
    ):
        table.add_row(name, *(_format_fact(law[key]) for law in laws.values()))
    write_table(table)


def _law_facts(graph: Graph, law: str) -> Facts:
    gap = _compute(graph, lambda: graph.normalized_gap(law))
    least, largest = _pick_range(graph, law)
    return {
        "normalized_gap": gap,
        "exchanges_per_efold": gap if isinstance(gap, Unknown) else 1 / gap,
        "mixing_time_bound": _compute(graph, lambda: graph.mixing_time(MIXING_DISTANCE, law)),
        "pick_min": least,
        "pick_max": largest,
    }


def _degree_range(graph: Graph) -> tuple[int, float, int]:
    """Return the least, mean and largest degree; a complete graph may be too large for a list."""
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


def _exact_mixing(graph: Graph) -> Any:
    if graph.n > LARGEST_EXACT_MIXING and not graph.is_complete:
        return _too_large(LARGEST_EXACT_MIXING)
    return _compute(graph, lambda: graph.exact_mixing_time(MIXING_DISTANCE))


def _diameter(graph: Graph) -> Any:
    if graph.n > LARGEST_DISTANCES and closed_diameter(graph) is None:
        return _too_large(LARGEST_DISTANCES)
    return _compute(graph, graph.diameter)


def _detour(graph: Graph) -> Any:
    if graph.n > LARGEST_DISTANCES and not graph.is_complete:
        return _too_large(LARGEST_DISTANCES)
    return _compute(graph, graph.delta_tilde)


def _compute(graph: Graph, compute: Callable[[], Any]) -> Any:
    """Compute a fact, or say that there is none or that it is out of reach."""
    try:
        return compute()
    except InputError:
        return Unknown("undefined" if graph.n < SMALLEST_WITH_ALL_FACTS else "not computed")


def _too_large(limit: int) -> Unknown:
    return Unknown(f"not computed above {limit:,} nodes")


def _format_fact(value: Any) -> str:
    return value.reason if isinstance(value, Unknown) else format_value(value)
