"""How fast gossip dual averaging is: against the transcription, and as the network grows.

Run with ``python -m benchmarks.optimization``; add ``--quick`` for a look in a few seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from benchmarks import transcription
from benchmarks.timing import alternate, row
from pairgossip import graphs
from pairgossip.engine.descent import Descent, build_descent
from pairgossip.engine.schedule import Schedule
from pairgossip.engine.seeds import root_seed
from pairgossip.engine.trial import BLOCK
from pairgossip.graphs import Graph
from pairgossip.losses import Unconstrained, inverse_sqrt
from pairgossip.losses.problem import LearningProblem

Array = transcription.Array


def two_classes(n: int, d: int) -> tuple[Array, Array]:
    """Standardized features of two overlapping classes, a third of the nodes positive."""
    rng = np.random.default_rng(0)
    labels = (rng.random(n) < 241 / 699).astype(np.float64)
    return rng.normal(size=(n, d)) + labels[:, None], labels


def fast(
    graph: Graph, x: Array, labels: Array, clock: str, iterations: int
) -> Callable[[], object]:
    """The engine's run: random draws included, read-out at the end."""
    problem = LearningProblem(x, "auc-logistic", labels)
    probabilities = graph.pick_probabilities("uniform-edges")
    descent = Descent(problem, Unconstrained(), inverse_sqrt(1e-3), clock, probabilities)

    def work() -> object:
        schedule = Schedule(graph, "uniform-edges", root_seed(0))
        engine = build_descent("auto", descent)
        for _ in range(iterations // BLOCK):
            engine.advance(schedule.draw(BLOCK)[0])
        return engine.snapshot()

    return work


def against_transcription(rounds: int, iterations: int) -> None:
    """Time per iteration on 699 nodes with 9 features."""
    graph = graphs.watts_strogatz(699, k=4, p=0.3, seed=0)
    x, labels = two_classes(699, 9)
    edges, probabilities = graph.edges.tolist(), graph.pick_probabilities("uniform-edges")
    print(row("logistic AUC, n = 699, d = 9", "transcription", "engine", "ratio", "goal"))

    def slow_sync() -> object:
        return transcription.dual_averaging_sync(x, labels, edges, 1000, np.random.default_rng(0))

    def slow_async() -> object:
        return transcription.dual_averaging_async(
            x, labels, probabilities, edges, 1000, np.random.default_rng(0)
        )

    for clock, slow, steps, goal in (
        ("sync", slow_sync, iterations, "50 x"),
        ("async", slow_async, 8 * iterations, "200 x"),
    ):
        plain, engine = alternate(slow, fast(graph, x, labels, clock, steps), rounds=rounds)
        plain, engine = plain / 1000, engine / (steps // BLOCK * BLOCK)
        ratio = f"{plain / engine:,.0f} x"
        times = f"{plain * 1e6:.1f} us", f"{engine * 1e9:.0f} ns"
        print(row(f"gossip dual averaging, {clock}", *times, ratio, goal))


def as_the_network_grows(rounds: int, iterations: int, largest: int) -> None:
    """Asynchronous time per exchange on random 4-regular graphs."""
    sizes = [n for n in (1_000, 10_000, 100_000, 1_000_000) if n <= largest]
    works = []
    for n in sizes:
        graph = graphs.random_regular(n, 4, seed=0)
        works.append(fast(graph, *two_classes(n, 9), "async", iterations))
    times = alternate(*works, rounds=rounds)
    print(row("\nasync as the network grows, random-regular", "", "engine", "ratio", "goal"))
    for n, total in zip(sizes, times, strict=True):
        each = f"{total / (iterations // BLOCK * BLOCK) * 1e9:.0f} ns"
        goal = "10 x" if n == 1_000_000 else ""
        print(row(f"  {n:,} nodes", "", each, f"{total / times[0]:.1f} x", goal))


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller networks")
    quick = parser.parse_args().quick
    rounds, iterations = (3, 1 << 15) if quick else (7, 1 << 17)
    against_transcription(rounds, iterations)
    as_the_network_grows(rounds, iterations * 16, 100_000 if quick else 1_000_000)


if __name__ == "__main__":
    main()
