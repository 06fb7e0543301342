"""How long it takes to draw one exchange between rows, however many rows the sites hold.

Run with ``python -m benchmarks.groups``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.timing import alternate, only_help, row
from pairgossip import graphs
from pairgossip.graphs import LAWS, Graph, GroupedGraph, edge_law

BLOCK = 1 << 16
ROWS = (1_000, 10_000, 100_000, 1_000_000)


def small_world(sites: int) -> Graph:
    """Return a network of few neighbors."""
    return graphs.watts_strogatz(sites, 4, 0.3, seed=0)


def equal(sites: int, rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Give every site the same number of rows."""
    return np.arange(rows) % sites


def unequal(sites: int, rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Give a few sites many rows and most of them few."""
    drawn = np.random.default_rng(0).zipf(1.5, rows - sites) % sites
    return np.concatenate([np.arange(sites), drawn])


CASES: tuple[tuple[str, Callable[[int], Graph], Callable[..., object], str], ...] = (
    ("small world, equal, lexicographic", small_world, equal, "lexicographic"),
    ("small world, unequal, lexicographic", small_world, unequal, "lexicographic"),
    ("small world, unequal, blow-up", small_world, unequal, "blow-up"),
    ("complete, unequal, lexicographic", graphs.complete, unequal, "lexicographic"),
    ("complete, unequal, blow-up", graphs.complete, unequal, "blow-up"),
)


def drawing(graph: Graph, law: str) -> Callable[[], object]:
    """Return a function that draws one block of exchanges."""
    sampler = edge_law(graph, law)
    streams = [np.random.default_rng(seed) for seed in range(sampler.stream_count)]
    return lambda: sampler.draw(streams, BLOCK)


def main() -> None:
    """Print nanoseconds per exchange, ten rows per site, for both laws."""
    only_help(__doc__)
    print(row("nanoseconds per exchange drawn", "rows", *LAWS))
    for title, network, layout, construction in CASES:
        for rows in ROWS:
            sites = rows // 10
            graph = graphs.grouped(network(sites), layout(sites, rows), construction)
            times = alternate(*(drawing(graph, law) for law in LAWS))
            cells = (f"{1e9 * seconds / BLOCK:.0f} ns" for seconds in times)
            print(row(title, f"{rows:,}", *cells))
    listed = GroupedGraph(small_world(1_000), equal(1_000, 10_000)).materialized()
    times = alternate(*(drawing(listed, law) for law in LAWS))
    cells = (f"{1e9 * seconds / BLOCK:.0f} ns" for seconds in times)
    print(row("the same from a list of all edges", "10,000", *cells))


if __name__ == "__main__":
    main()
