"""How long the best law of edges takes to find, and how much faster gossip is under it.

    python -m benchmarks.networks [--only barbell]

For each network: the gain of the best law's gap over that of uniform edges, the bound that no law
exceeds, how long finding it took, and gains measured as in the experiment "networks" of `pairgossip
reproduce`: of averaging, of continuized averaging, and of GoSta.

Exits with 1 if a bound is below its gain, or at least 1 % above it (2 % beyond 4,000 edges), or if
a measured gain of plain averaging differs from the predicted one by 15 % or more.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import pairgossip as pg
from pairgossip.graphs import Graph
from pairgossip.networks import best_law
from pairgossip_paper.experiments.better_networks import build_network, find_gains, measure
from pairgossip_paper.framework import Plan

_AGREEMENT = 0.15
"""Largest relative difference of a measured gain from the predicted one."""
_PLAN = Plan(quick=True, trials=40, seed=0)
NETWORKS: dict[str, Callable[[], Graph]] = {
    "barbell 2 x 20": lambda: build_network("barbell", 40, 0),
    "barbell 2 x 50": lambda: build_network("barbell", 100, 0),
    "lollipop 50 + 50": lambda: build_network("lollipop", 100, 0),
    "small world 100": lambda: pg.graphs.watts_strogatz(100, 4, 0.3, seed=0),
    "geometric 100": lambda: pg.graphs.build("random-geometric", 100, seed=0),
    "grid 10 x 10": lambda: pg.graphs.grid(10, 10),
    "torus 26 x 26": lambda: pg.graphs.torus(26, 26),
    "small world 676": lambda: pg.graphs.watts_strogatz(676, 4, 0.3, seed=0),
    "small world 1000": lambda: pg.graphs.watts_strogatz(1000, 4, 0.3, seed=0),
    "geometric 1000": lambda: pg.graphs.build("random-geometric", 1000, seed=0),
}


def judge_law(name: str, graph: Graph) -> bool:
    """Print the line of a network; return whether all conditions hold."""
    started = time.perf_counter()
    law = best_law(graph)
    took = time.perf_counter() - started
    gains = find_gains({"now": measure(graph, _PLAN), "best": measure(graph, _PLAN, law)})["best"]
    loose = 1.02 if graph.edge_count > 4_000 else 1.01
    near = abs(gains["measured"] / law.gain - 1) < _AGREEMENT
    is_right = law.gain <= law.bound < loose * law.gain and near
    print(
        f"{name:18} {graph.edge_count:6,} {law.gain:8.3f} {law.bound:8.3f} {took:7.1f}s "
        f"{gains['measured']:9.2f} {gains['continuized']:11.2f} {gains['GoSta']:6.2f}"
        f"{'' if is_right else '  !'}",
        flush=True,
    )
    return is_right


def main() -> int:
    """Measure, print, and return 1 if a condition fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="networks whose names hold this")
    only = parser.parse_args().only
    print(
        f"{'network':18} {'edges':>6} {'gain':>8} {'bound':>8} {'time':>8} {'measured':>9} "
        f"{'continuized':>11} {'GoSta':>6}"
    )
    right = [judge_law(name, make()) for name, make in NETWORKS.items() if only in name]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
