"""How fast estimation is: against the transcription, on large networks, with faults, along sweeps.

Run with ``python -m benchmarks.estimation``; add ``--quick`` for a look in a few seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import transcription
from benchmarks.timing import alternate, row
from pairgossip import Churn, Faults, estimate, graphs
from pairgossip.algorithms.methods import find_method
from pairgossip.arrays import FloatArray
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Procedure
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.engine.timetable import Timetable, settle_timetable
from pairgossip.engine.trials import BLOCK
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs


def users_kernel(first: transcription.Array, second: transcription.Array) -> transcription.Array:
    """Return the values of the Gini kernel, as a function of a user's own."""
    return np.abs(first - second)


def fast(
    graph: Graph, data: transcription.Array, kernel: Any, method: str, clock: str, iterations: int
) -> Callable[[], object]:
    """Return a run of the engine, with random draws and a readout at the end."""
    chosen = find_method(method, clock)
    pairs = Pairs(data, kernel)

    def work() -> object:
        schedule = Schedule(graph, "uniform-edges", root_seed(0), chosen.exchanges_per_iteration)
        engine = build_engine("auto", pairs, Procedure(chosen, clock))
        for _ in range(iterations // BLOCK):
            engine.advance(schedule.draw(BLOCK))
        return engine.estimates()

    return work


def slow(graph: Graph, data: transcription.Array, name: str, steps: int) -> Callable[[], object]:
    """Return a run of the transcription, with as many iterations as take a reasonable time."""
    algorithm, edges = getattr(transcription, name), graph.edges.tolist()
    return lambda: algorithm(data, users_kernel, edges, steps, np.random.default_rng(0))


CASES = [
    # what, transcription, method, clock, kernel, goal
    ("GoSta-sync, built-in kernel", "gosta_sync", "gosta", "sync", "gini", 600),
    ("GoSta-sync, user's NumPy kernel", "gosta_sync", "gosta", "sync", users_kernel, 200),
    ("U1-gossip, built-in kernel", "u1_gossip", "u1", "sync", "gini", 300),
    ("U2-gossip, built-in kernel", "u2_gossip", "u2", "sync", "gini", 300),
    ("GoSta-async, built-in kernel", "gosta_async", "gosta", "async", "gini", 250),
    ("GoSta-async, user's NumPy kernel", "gosta_async", "gosta", "async", users_kernel, 100),
]


def against_transcription(rounds: int, iterations: int) -> None:
    """Print the time per iteration on 699 nodes."""
    graph = graphs.watts_strogatz(699, k=4, p=0.3, seed=0)
    data = np.random.default_rng(0).normal(size=graph.n)
    steps = 4_000
    print(row("per iteration, n = 699, Watts-Strogatz", "transcription", "engine", "ratio", "goal"))
    for what, name, method, clock, kernel, goal in CASES:
        work = fast(graph, data, kernel, method, clock, iterations)
        plain, engine = alternate(slow(graph, data, name, steps), work, rounds=rounds)
        plain, engine = plain / steps, engine / (iterations // BLOCK * BLOCK)
        ratio = f"{plain / engine:,.0f} x"
        print(row(what, f"{plain * 1e6:.1f} us", f"{engine * 1e9:.1f} ns", ratio, f"{goal} x"))


def as_the_network_grows(rounds: int, iterations: int, largest: int) -> None:
    """Print the time per iteration on random 4-regular graphs and on complete graphs."""
    for family in ("random-regular", "complete"):
        sizes = [n for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000) if n <= largest]
        works = []
        for n in sizes:
            graph = graphs.build(family, n, seed=0 if family == "random-regular" else None)
            data = np.random.default_rng(0).normal(size=n)
            works.append(fast(graph, data, "gini", "gosta", "sync", iterations))
        times = alternate(*works, rounds=rounds)
        print(row(f"\nGoSta-sync as the network grows, {family}", "", "engine", "ratio", "goal"))
        for n, total in zip(sizes, times, strict=True):
            each = total / (iterations // BLOCK * BLOCK)
            goal = "20 x" if n == 1_000_000 else ""
            ratio = f"{total / times[0]:.1f} x"
            print(row(f"  {n:,} nodes", "", f"{each * 1e9:.1f} ns", ratio, goal))


FAULTS = (
    Faults(loss=0.01),
    Faults(delay=0.01),
    Faults(churn=Churn(up=100, down=10)),
    Faults(half_loss=0.001),
    Faults(half_loss=0.01),
    Faults(liars=7),
    Faults(liars=7, attack="dissensus"),
)


def with_faults(rounds: int, iterations: int) -> None:
    """Print the time per iteration of whole runs on 676 nodes, with faults and without."""
    graph = graphs.watts_strogatz(676, k=4, p=0.3, seed=0)
    data = np.random.default_rng(0).normal(size=graph.n)
    how: dict[str, Any] = {"clock": "async", "seed": 0, "checkpoints": [iterations]}
    for method, kernel in (("gosta", "gini"), ("averaging", None), ("sketch", "variance")):

        def run(faults: Faults | None, method: str = method, kernel: Any = kernel) -> Any:
            asked = how | {"method": method, "iterations": iterations, "faults": faults}
            return lambda: estimate(data, kernel, graph, **asked)

        times = alternate(run(None), *map(run, FAULTS), rounds=rounds)
        print(row(f"\n{method} with faults, n = 676", "without", "with", "ratio", "goal"))
        for faults, total in zip(FAULTS, times[1:], strict=True):
            without, each = (f"{one / iterations * 1e9:.1f} ns" for one in (times[0], total))
            print(row(f"  {faults}", without, each, f"{total / times[0]:.2f} x", "1.5 x"))


def search_and_run(sizes: tuple[int, ...], rounds: int) -> None:
    """Print the processor time of what ordered schedules prepare, against the run itself."""
    method = find_method("averaging")
    print(row("\nordered exchanges, default length", "settled in", "the run", "ratio", "goal"))
    for n in sizes:
        data = np.random.default_rng(0).normal(size=n)
        for name, graph in (
            ("Watts-Strogatz", graphs.watts_strogatz(n, k=4, p=0.3, seed=0)),
            ("random 4-regular", graphs.random_regular(n, 4, seed=0)),
        ):

            def settle(graph: Graph = graph) -> Timetable:
                graph._known.clear()  # a relaxation is found once per graph
                return settle_timetable("ordered", graph, "uniform-edges", method)

            how = {"schedule": "ordered", "relaxation": settle().relaxation, "n_jobs": 1}

            def run(data: FloatArray = data, graph: Graph = graph, how: Any = how) -> object:
                return estimate(data, graph=graph, method="averaging", seed=0, **how)

            before, itself = alternate(settle, run, rounds=rounds, clock=time.process_time)
            ratio = f"{before / itself:.2f} x"
            print(row(f"  {name}, {n:,}", f"{before:.2f} s", f"{itself:.2f} s", ratio, "1 x"))


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller networks")
    quick = parser.parse_args().quick
    rounds, iterations = (3, 1 << 19) if quick else (9, 1 << 21)
    against_transcription(rounds, iterations)
    largest = 100_000 if quick else 10_000_000
    as_the_network_grows(3 if quick else 5, iterations * 8, largest)
    with_faults(rounds, iterations)
    search_and_run((10_000,) if quick else (10_000, 100_000, 300_000), 3)


if __name__ == "__main__":
    main()
