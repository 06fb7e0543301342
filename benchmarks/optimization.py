"""How fast gossip dual averaging is: against the transcription, and as the network grows.

Run with ``python -m benchmarks.optimization``; add ``--quick`` for a look in a few seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
from numba import njit

from benchmarks import transcription
from benchmarks.timing import alternate, row
from pairgossip import datasets, graphs
from pairgossip.engine.descent import trial
from pairgossip.engine.descent.engines import Descent
from pairgossip.engine.descent.judge import Judge, PairsJudge, RankingJudge
from pairgossip.engine.descent.trial import build_descent
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.engine.trials import BLOCK
from pairgossip.graphs import Graph
from pairgossip.losses import Loss, Unconstrained, inverse_sqrt
from pairgossip.losses.learning import LearningProblem, risks
from pairgossip.minimization import minimize

Array = transcription.Array


def two_classes(n: int, d: int) -> tuple[Array, Array]:
    """Draw standardized features of two overlapping classes, a third of the nodes positive."""
    rng = np.random.default_rng(0)
    labels = (rng.random(n) < 241 / 699).astype(np.float64)
    return rng.normal(size=(n, d)) + labels[:, None], labels


def fast(
    graph: Graph, x: Array, labels: Array, clock: str, iterations: int
) -> Callable[[], object]:
    """Return a run of the engine, with random draws and a readout at the end."""
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
    """Print the time per iteration on 699 nodes with 9 features."""
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
    """Print the asynchronous time per exchange on random 4-regular graphs."""
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


@njit(cache=True)
def double_loop(models, positive, negative):  # type: ignore[no-untyped-def]
    """Sum the logistic loss over all pairs, for every model: the compiled baseline."""
    sums = np.zeros(len(models))
    for m in range(len(models)):
        high = positive @ models[m]
        low = negative @ models[m]
        for i in range(len(high)):
            for j in range(len(low)):
                sums[m] += np.log1p(np.exp(low[j] - high[i]))
    return sums


def risks_of_all_models(rounds: int) -> None:
    """Print the time for the risks of 699 models on Breast Cancer Wisconsin, after a short fit."""
    x, y = datasets.breast_cancer_wisconsin()
    fit = minimize(
        x, y, "auc-logistic", "complete", step=inverse_sqrt(1e-3), iterations=10_000, seed=0,
        checkpoints=1, bias=False,
    )  # fmt: skip
    models, data = np.ascontiguousarray(fit.models[0]), np.column_stack([x, y])
    positive, negative = np.ascontiguousarray(x[y == 1]), np.ascontiguousarray(x[y == 0])
    slow, quick = alternate(
        lambda: double_loop(models, positive, negative),
        lambda: risks(models, data, "auc-logistic"),
        rounds=rounds,
    )
    exact = double_loop(models, positive, negative) / len(x) ** 2
    error = float(np.max(np.abs(risks(models, data, "auc-logistic") / exact - 1)))
    print(row("\nrisk of 699 models on 699 rows", "double loop", "pairgossip", "ratio", "goal"))
    times = f"{slow:.2f} s", f"{quick:.3f} s"
    print(
        row(f"  largest relative difference {error:.0e}", *times, f"{slow / quick:.0f} x", "15 x")
    )


def judging_all_models(rounds: int) -> None:
    """Print the time of a checkpoint: objectives and gradients of 699 nodes, numpy and compiled."""
    x, y = datasets.breast_cancer_wisconsin()
    print(row("\na checkpoint of 699 nodes", "numpy", "compiled", "ratio", "goal"))
    for loss in ("auc-logistic", "auc-hinge", "auc-squared-hinge", "auc-smoothed-hinge"):
        fit = minimize(
            x, y, loss, "complete", step=inverse_sqrt(1e-3), iterations=10_000, seed=0,
            checkpoints=1, bias=False,
        )  # fmt: skip
        problem = LearningProblem(x, loss, y)
        plain, compiled = alternate(
            *(judged_by(judge, fit.models[0]) for judge in (problem, RankingJudge(problem))),
            rounds=rounds,
        )
        times = f"{plain * 1e3:.1f} ms", f"{compiled * 1e3:.1f} ms"
        print(row(f"  {loss}", *times, f"{plain / compiled:.1f} x", "5 x"))


def own_loss() -> Loss:
    """Return the logistic loss of AUC as a user's own, for which no closed form is found."""

    def features(first: Array, second: Array) -> Array:
        return first[:, :-1] - second[:, :-1]

    def weights(first: Array, second: Array) -> Array:
        return (first[:, -1] > second[:, -1]).astype(np.float64)

    return Loss(features, "logistic", weights)


def judging_own_losses(rounds: int) -> None:
    """Print the time of a checkpoint where every model takes all pairs, numpy and compiled."""
    x, labels = two_classes(200, 9)
    print(row("\na checkpoint of 200 nodes, no closed form", "numpy", "compiled", "ratio", "goal"))
    for name, loss in (
        ("own loss, a quarter of the pairs", own_loss()),
        ("own loss, all pairs", Loss(own_loss().features, "logistic")),
        ("metric-diagonal-hinge", "metric-diagonal-hinge"),
        ("metric-logistic, 81 parameters", "metric-logistic"),
    ):
        problem = LearningProblem(x, loss, labels)
        models = np.random.default_rng(1).normal(size=(200, problem.dimension))
        plain, compiled = alternate(
            *(judged_by(judge, models) for judge in (problem, PairsJudge(problem))), rounds=rounds
        )
        times = f"{plain * 1e3:.0f} ms", f"{compiled * 1e3:.0f} ms"
        print(row(f"  {name}", *times, f"{plain / compiled:.1f} x", ""))


def whole_runs_of_own_losses(rounds: int) -> None:
    """Print the time of runs of a user's own loss, judged by numpy or compiled, and the built-in.

    NumPy would take minutes on 699 nodes.
    """
    print(row("\nminimize, logistic AUC, d = 9", "before", "now", "ratio", "goal"))
    before, now, known = alternate(
        judged_by_numpy(fitted(200, own_loss(), "async", 1_000)),
        fitted(200, own_loss(), "async", 1_000),
        fitted(200, "auc-logistic", "async", 1_000),
        rounds=rounds,
    )
    times = f"{before:.2f} s", f"{now:.2f} s"
    print(row("  own loss, 200 nodes, 1,000 async", *times, f"{before / now:.1f} x"))
    print(row("  built-in loss, the same", "", f"{known:.2f} s"))
    print(row("\n699 nodes, 20,000 sync", "own loss", "built-in", "ratio", "goal"))
    for step in ("adaptive", "paper"):
        own, known = alternate(
            *(fitted(699, loss, "sync", 20_000, step) for loss in (own_loss(), "auc-logistic")),
            rounds=1,
        )
        times = f"{own:.1f} s", f"{known:.1f} s"
        print(row(f"  {step} step", *times, f"{own / known:.1f} x", "3 x"))


def fitted(
    n: int, loss: Loss | str, clock: str, iterations: int, step: str = "paper"
) -> Callable[[], object]:
    """Return a whole run, with checkpoints and all default judgments."""
    x, labels = two_classes(n, 9)
    how = None if step == "adaptive" else step
    return lambda: minimize(
        x, labels, loss, "complete", clock=clock, iterations=iterations, step=how, seed=0
    )


def judged_by_numpy(work: Callable[[], object]) -> Callable[[], object]:
    """Return the same run as before losses without a closed form had a compiled judge."""

    def as_before() -> object:
        with patch.object(trial, "build_judge", lambda engine, problem: problem):
            return work()

    return as_before


def judged_by(judge: Judge, models: Array) -> Callable[[], object]:
    """Return a call for both things that a checkpoint asks of a judge."""
    return lambda: (judge.objectives(models), judge.own_gradients(models))


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller networks")
    quick = parser.parse_args().quick
    rounds, iterations = (3, 1 << 15) if quick else (7, 1 << 17)
    against_transcription(rounds, iterations)
    as_the_network_grows(rounds, iterations * 16, 100_000 if quick else 1_000_000)
    risks_of_all_models(3)
    judging_all_models(rounds)
    judging_own_losses(3)
    whole_runs_of_own_losses(1 if quick else 3)


if __name__ == "__main__":
    main()
