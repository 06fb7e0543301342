"""How much better networks gain: what gaps predict, and what gossip measures.

    python -m benchmarks.networks [--trials 8] [--only barbell]

Laws: for each network the gain of the best law's gap over that of uniform edges, the bound that no
law exceeds, and how long it took to find. Then how much faster averaging was, both laws on the same
network: the rate at which the logarithm of the disagreement (root mean square over nodes) falls per
exchange, from a thousandth of its first size on, over all trials; and the same with
schedule="continuized", beside what its guarantee predicts.

Overlays and links: gaps over that of the torus, as many exchanges.

Ends with 1 if a bound is below its gain, a bound is 1 % above it or more (2 % beyond 4,000 edges),
or a measured gain of plain averaging is 15 % or more from the predicted one.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pairgossip as pg
from pairgossip.graphs import Graph
from pairgossip.graphs.laws import NamedOrGiven
from pairgossip.networks import best_law, best_links, overlay

_AGREEMENT = 0.15
"""Largest relative difference of a measured gain from the predicted one."""
_FADED = 1e-3, 1e-12
"""Between which parts of its first size the disagreement is looked at."""
_LENGTH = 80.0
"""Exchanges of a run, times the gap: disagreement falls by e^20 at least."""
_POINTS = 200


def _cliques(first: int, second: int, tail: int = 0) -> Graph:
    """Return two cliques that share a link, or one with a tail."""
    sizes = [(0, first), (first, second)]
    edges = [(s + i, s + j) for s, size in sizes for j in range(size) for i in range(j)]
    if first and second:
        edges.append((first - 1, first))
    n = first + second
    edges += [(n - 1 + k, n + k) for k in range(tail)]
    return Graph(n + tail, edges)


NETWORKS: dict[str, Callable[[], Graph]] = {
    "barbell 2 x 20": lambda: _cliques(20, 20),
    "barbell 2 x 50": lambda: _cliques(50, 50),
    "lollipop 50 + 50": lambda: _cliques(50, 0, 50),
    "small world 100": lambda: pg.graphs.watts_strogatz(100, 4, 0.3, seed=0),
    "geometric 100": lambda: pg.graphs.build("random-geometric", 100, seed=0),
    "grid 10 x 10": lambda: pg.graphs.grid(10, 10),
    "torus 26 x 26": lambda: pg.graphs.torus(26, 26),
    "small world 676": lambda: pg.graphs.watts_strogatz(676, 4, 0.3, seed=0),
    "small world 1000": lambda: pg.graphs.watts_strogatz(1000, 4, 0.3, seed=0),
    "geometric 1000": lambda: pg.graphs.build("random-geometric", 1000, seed=0),
}


def _rate(graph: Graph, law: NamedOrGiven, schedule: str, trials: int) -> float:
    """Return by how much the logarithm of the disagreement falls per exchange."""
    last = math.ceil(_LENGTH / graph.normalized_gap(law))
    if schedule == "continuized":
        last = math.ceil(last / 4)
    options: Any = {"method": "averaging", "clock": "async", "schedule": schedule}
    run = pg.estimate(
        np.random.default_rng(1).normal(size=graph.n), None, graph, law=law, iterations=last,
        checkpoints=np.linspace(1, last, _POINTS).astype(np.int64), trials=trials, seed=0,
        record="summary", n_jobs=1, **options,
    )  # fmt: skip
    slopes = []
    for errors in run.trial_error:
        logs = np.log(np.maximum(errors, 1e-300))
        late = (errors < _FADED[0] * errors[0]) & (errors > _FADED[1] * errors[0])
        # Where it is too quick for the points, from first to last.
        seen = late if late.sum() > 2 else errors > _FADED[1] * errors[0]
        slopes.append(-np.polyfit(run.iterations[seen], logs[seen], 1)[0])
    return float(np.mean(slopes))


def _continuized(graph: Graph, law: NamedOrGiven) -> float:
    """Return the guaranteed rate of continuized averaging, of the disagreement per exchange."""
    from pairgossip.graphs.distances import bottleneck

    return math.sqrt(graph.normalized_gap(law) / bottleneck(graph, law)) / 2


def _judge_law(name: str, graph: Graph, trials: int) -> bool:
    """Print the line of a network; return whether all is as it should be."""
    started = time.perf_counter()
    law = best_law(graph)
    took = time.perf_counter() - started
    rates = [_rate(graph, one, "random", trials) for one in ("uniform-edges", law)]
    quick = [_rate(graph, one, "continuized", trials) for one in ("uniform-edges", law)]
    promised = [_continuized(graph, one) for one in ("uniform-edges", law)]
    measured = rates[1] / rates[0]
    loose = 1.02 if graph.edge_count > 4_000 else 1.01
    near = abs(measured / law.gain - 1) < _AGREEMENT
    is_right = law.gain <= law.bound < loose * law.gain and near
    gaps = [graph.normalized_gap(one) for one in ("uniform-edges", law)]
    print(
        f"{name:18} {graph.edge_count:6,} {law.gain:8.3f} {law.bound:8.3f} {took:7.1f}s "
        f"{measured:9.2f} {rates[0] / gaps[0]:7.3f} {rates[1] / gaps[1]:7.3f} "
        f"{promised[1] / promised[0]:10.2f} {quick[1] / quick[0]:9.2f}"
        f"{'' if is_right else '  !'}",
        flush=True,
    )
    return is_right


def _print_overlays() -> None:
    torus = pg.graphs.torus(26, 26)
    now = torus.normalized_gap()
    print(f"\n{'network of 676':34} {'edges':>7} {'gap':>10} {'of torus':>9}")
    networks = {
        "torus": torus,
        "torus and 5 links": best_links(torus, 5),
        "torus and 20 links": best_links(torus, 20),
        "small world": pg.graphs.watts_strogatz(676, 4, 0.3, seed=0),
        **{f"random {d}-regular": overlay(676, d) for d in (3, 4, 6, 10)},
        "exponential (4)": overlay(676, 4, "exponential"),
        "exponential (18)": overlay(676, kind="exponential"),
        "complete": pg.graphs.complete(676),
        "cycle": pg.graphs.cycle(676),
    }
    for name, graph in networks.items():
        gap = graph.normalized_gap()
        print(f"{name:34} {graph.edge_count:7,} {gap:10.3g} {gap / now:9.3g}", flush=True)


def main() -> int:
    """Measure, print, and return whether all is as it should be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--only", default="", help="networks whose names hold this")
    arguments = parser.parse_args()
    print(
        f"{'network':18} {'edges':>6} {'gain':>8} {'bound':>8} {'time':>8} {'measured':>9} "
        f"{'r/gap u':>7} {'r/gap b':>7} {'contin.':>10} {'measured':>9}"
    )
    chosen = {name: make for name, make in NETWORKS.items() if arguments.only in name}
    right = [_judge_law(name, make(), arguments.trials) for name, make in chosen.items()]
    if not arguments.only:
        _print_overlays()
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
