"""What is said of sites that hold several rows, and of what they sent to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.cli.console import spelled
from pairgossip.graphs import GroupedGraph

if TYPE_CHECKING:
    from pairgossip.graphs import Graph
    from pairgossip.results import Fit, Run

Facts = dict[str, Any]


def group_facts(result: Run | Fit, column: str | None) -> Facts | None:
    """Return by name how the rows lie at the sites; None without groups."""
    if result.groups is None:
        return None
    sizes, graph = np.bincount(result.groups, minlength=result.sites.n), result.graph
    return {
        "column": column,
        "construction": result.construction,
        "rows": len(result.groups),
        "sites": result.sites.n,
        "size_min": int(sizes.min()),
        "size_median": float(np.median(sizes)),
        "size_max": int(sizes.max()),
        "network_share": _network_share(graph, result.law),
    }


def traffic_facts(result: Run | Fit) -> Facts:
    """Return by name what was exchanged and sent in all; with groups, means over the trials."""
    return {
        "network_exchanges": _mean(result.network_exchanges),
        "local_exchanges": _mean(result.local_exchanges),
        "messages": _whole(float(result.messages[-1])),
        "bytes": _whole(float(result.bytes[-1])),
    }


def group_rows(facts: Facts | None) -> list[tuple[str, str]]:
    """Return the lines of a table about the sites; none without groups."""
    if facts is None:
        return []
    low, high = facts["size_min"], facts["size_max"]
    return [
        ("rows", spelled(facts["rows"])),
        ("sites", spelled(facts["sites"])),
        ("rows per site: min, median, max", f"{low:,}, {facts['size_median']:,g}, {high:,}"),
        ("construction", facts["construction"]),
        ("share of exchanges between sites", spelled(facts["network_share"], 4)),
    ]


def traffic_rows(found: Facts) -> list[tuple[str, str]]:
    """Return the lines of a table about what was sent, local exchanges apart if there are sites."""
    sent = [("messages", _counted(found["messages"])), ("bytes sent", _counted(found["bytes"]))]
    if found["groups"] is None:
        return sent
    return [
        ("exchanges between sites", _counted(found["network_exchanges"])),
        ("exchanges within sites, free", _counted(found["local_exchanges"])),
        *sent,
    ]


def _network_share(graph: Graph, law: str) -> float:
    """Return the probability that an exchange is between sites: with whole sets, all are."""
    return graph.network_fraction(law) if isinstance(graph, GroupedGraph) else 1.0


def _mean(totals: Any) -> int | float:
    """Average the totals at the last checkpoint over the trials."""
    return _whole(float(totals[:, -1].mean()))


def _whole(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def _counted(number: float) -> str:
    """Spell a mean of counts, of which fractions tell nothing."""
    return f"{round(number):,}"
