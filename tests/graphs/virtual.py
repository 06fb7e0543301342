"""Networks with many rows per site, and their edges listed directly from the definition."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

from pairgossip.checks import ROW_CONSTRUCTIONS
from pairgossip.graphs import (
    Graph,
    GroupedGraph,
    barabasi_albert,
    complete,
    cycle,
    erdos_renyi,
    grid,
    path,
    random_geometric,
    random_regular,
    star,
    torus,
    watts_strogatz,
)
from tests.covering import choose_covering

NETWORKS: dict[str, Graph] = {
    "complete": complete(5),
    "two sites": complete(2),
    "triangle": cycle(3),
    "cycle": cycle(6),
    "path": path(5),
    "star": star(6),
    "grid": grid(2, 3),
    "torus": torus(3, 3),
    "hubs": barabasi_albert(9, 2, seed=0),
    "random": erdos_renyi(8, 0.5, seed=1),
    "geometric": random_geometric(8, 0.6, seed=2),
    "regular": random_regular(8, 3, seed=3),
    "small world": watts_strogatz(10, 4, 0.3, seed=4),
}


def rows_at(n: int, kind: str) -> np.ndarray[Any, Any]:
    """Return the site of each row of n sites, not sorted by site."""
    rng = np.random.default_rng(n)
    sizes = {
        "single": np.ones(n, dtype=int),
        "pairs": np.full(n, 2),
        "equal": np.full(n, 3),
        "unequal": 1 + rng.integers(0, 5, n),
        "one large": np.where(np.arange(n) == n // 2, 9, 1),
    }[kind]
    return rng.permutation(np.repeat(np.arange(n), sizes))


LAYOUTS = ("single", "pairs", "equal", "unequal", "one large")

_PRODUCT = list(product(ROW_CONSTRUCTIONS, NETWORKS, LAYOUTS))
GROUPED: dict[str, GroupedGraph] = {
    f"{construction}, {name}, {layout}": GroupedGraph(
        NETWORKS[name], rows_at(NETWORKS[name].n, layout), construction
    )
    for construction, name, layout in (_PRODUCT[k] for k in choose_covering(_PRODUCT))
}
GROUPED["one site"] = GroupedGraph(complete(1), [0] * 4)
GROUPED["one site, two rows"] = GroupedGraph(complete(1), [0, 0])
SOME = {
    name: graph
    for name, graph in GROUPED.items()
    if any(part in name for part in ("hubs", "complete", "two sites", "star", "cycle", "one site"))
}


def streams(count: int, seed: int = 0) -> list[np.random.Generator]:
    """Return the generators that a law draws from."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count)]


def listed_by_definition(graph: GroupedGraph) -> Graph:
    """Join every two rows that the construction joins, asking the network of every pair."""
    joined = {tuple(edge) for edge in graph.sites.edges.tolist()}
    site = graph.site_of.tolist()
    edges = [
        (i, j)
        for i, j in combinations(range(len(site)), 2)
        if (min(site[i], site[j]), max(site[i], site[j])) in joined
        or (graph.construction == "lexicographic" and site[i] == site[j])
    ]
    return Graph(len(site), edges)
