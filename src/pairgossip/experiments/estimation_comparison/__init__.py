"""Estimation by four gossip methods, as in the authors' 2015 paper: scatter and AUC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import checkpoint_grid
from pairgossip.datasets import breast_cancer_wisconsin
from pairgossip.estimation import estimate
from pairgossip.experiments.estimation_comparison.claims import (
    bound_claim,
    connected_claim,
    equal_messages_claim,
    gap_claim,
    slope_claim,
    u1_claim,
)
from pairgossip.experiments.estimation_comparison.figures import error_picture, graphs_picture
from pairgossip.experiments.estimation_comparison.measures import Measured, measured, reached
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Plan,
    Simulation,
)
from pairgossip.experiments.framework.section import Cell, Section, Table
from pairgossip.experiments.setting import GRAPHS, Dealt, dealt, paper_graph
from pairgossip.kernels.builtin import auc, within_cluster_scatter
from pairgossip.kernels.kernel import Kernel
from pairgossip.results import Run
from pairgossip.theory.bounds import gosta_deviation_bound
from pairgossip.theory.constants import constants

METHODS = {
    "gosta-sync": ("gosta", "sync"),
    "gosta-async": ("gosta", "async"),
    "u2": ("u2", "sync"),
    "u1": ("u1", "sync"),
}
LENGTHS = (1_000_000, 100_000)
"""Iterations, in full and quick."""
CHECKPOINTS = 41
LEVELS = (0.1, 0.01)
"""Relative errors whose price in messages is reported."""


def _cases(statistic: str, plan: Plan) -> Sequence[Case]:
    last = plan.choose(*LENGTHS)
    simulations = [
        Simulation(
            f"{graph}-{method}",
            last,
            plan.trials,
            partial(_run, statistic, graph, method, last, plan),
        )
        for graph in GRAPHS
        for method in METHODS
    ]
    return [*simulations, Computation("targets", partial(_targets, statistic, last, plan))]


def _rows(graph: str, plan: Plan) -> Dealt:
    X, y = breast_cancer_wisconsin()
    return dealt(X, y, paper_graph(graph, plan.seed).n, plan.seed)


def score(X: FloatArray) -> FloatArray:
    """The sum of the nine features: each is graded so that higher is worse; nothing is fitted."""
    return np.asarray(X.sum(axis=1), dtype=np.float64)


def _problem(statistic: str, rows: Dealt) -> tuple[FloatArray, Kernel]:
    if statistic == "scatter":
        return rows.X, within_cluster_scatter()
    # U1 is defined for one kernel, not for a ratio; the denominator n+ n- / n^2 is a constant.
    return score(rows.X), auc().numerator


def _run(statistic: str, graph: str, method: str, last: int, plan: Plan, **how: Any) -> Run:
    rows = _rows(graph, plan)
    data, kernel = _problem(statistic, rows)
    name, clock = METHODS[method]
    return estimate(
        data,
        kernel,
        paper_graph(graph, plan.seed),
        labels=rows.y,
        method=name,
        clock=clock,
        iterations=last,
        checkpoints=CHECKPOINTS,
        seed=plan.seed,
        record="summary",
        **how,
    )


def _targets(statistic: str, last: int, plan: Plan) -> Mapping[str, Any]:
    """Compute the statistic, its rows and the bound from all pairs, without the package's sums."""
    return {graph: _target_on(statistic, graph, last, plan) for graph in GRAPHS}


def _target_on(statistic: str, graph: str, last: int, plan: Plan) -> dict[str, Any]:
    rows, network = _rows(graph, plan), paper_graph(graph, plan.seed)
    H = pair_values(statistic, rows)
    value = float(H.mean())
    grid = checkpoint_grid(last, CHECKPOINTS)
    bound = gosta_deviation_bound(constants(H, network), grid) / np.sqrt(network.n)
    positives = float((rows.y == rows.y.max()).mean())
    return {
        "value": value,
        "row_distance": float(np.sqrt(np.mean((H.mean(axis=1) - value) ** 2)) / value),
        "bound": (bound / value).tolist(),
        "gap": network.normalized_gap(),
        "compared": positives * (1.0 - positives),
    }


def pair_values(statistic: str, rows: Dealt) -> FloatArray:
    """The n x n matrix of the kernel's values, written out."""
    X, y = rows
    if statistic == "scatter":
        squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
        return np.where(y[:, None] == y[None, :], squares, 0.0)
    ahead = score(X)[:, None] - score(X)[None, :]
    return np.where(y[:, None] > y[None, :], 0.5 * (np.sign(ahead) + 1.0), 0.0)


def _report(statistic: str, results: Mapping[str, Any]) -> Section:
    targets = results["targets"]
    found = {
        graph: {
            method: measured(results[f"{graph}-{method}"], target["value"], target["gap"])
            for method in METHODS
        }
        for graph, target in targets.items()
    }
    return Section(
        [_about(statistic, targets), *_notes(found)],
        [
            error_picture(statistic, found, targets, "iterations"),
            error_picture(statistic, found, targets, "messages"),
            graphs_picture(statistic, found),
        ],
        [_final_table(found), _price_table(found)],
        [
            equal_messages_claim(statistic, found),
            connected_claim(statistic, found),
            gap_claim(statistic, found, targets),
            slope_claim(statistic, found),
            bound_claim(statistic, found, targets),
            u1_claim(statistic, found, targets),
        ],
    )


def _about(statistic: str, targets: Mapping[str, Any]) -> str:
    best, torus = targets["complete"], targets["torus"]
    if statistic == "scatter":
        return (
            "The within-cluster scatter is the mean over all ordered pairs of the squared "
            "distance of two rows of one class, 0 for rows of two: "
            f"{best['value']:.4f} on all rows, {torus['value']:.4f} on the rows of the torus."
        )
    return (
        "The score is the sum of the nine features, each graded so that higher is worse: nothing "
        "is fitted. What is estimated is the share of ordered pairs with the first malignant, "
        "the second benign and the first scored higher (ties count half): "
        f"{best['value']:.5f}. Divided by the share of malignant-benign pairs, which is "
        f"{best['compared']:.5f} and known once classes are counted, it is the AUC, "
        f"{best['value'] / best['compared']:.4f} ({torus['value'] / torus['compared']:.4f} on the "
        "rows of the torus): relative errors are those of the AUC. U1 is defined for such a "
        "single mean and not for a ratio of two."
    )


def _notes(found: Mapping[str, Mapping[str, Measured]]) -> list[str]:
    first = found[GRAPHS[0]]["gosta-sync"]
    apart = [m["gosta-async"].error[-1] / m["gosta-sync"].error[-1] for m in found.values()]
    return [
        f"{first.trials} trials of {first.iterations[-1]:,} iterations, rows dealt to nodes at "
        "random. Errors are root mean squares over nodes and trials, divided by the statistic. "
        "U1 estimates at each node the mean of that node's own row of pairs: its error is taken "
        "to that mean, and divided by the statistic as well.",
        "GoSta and U1 exchange once per iteration, which sends two messages; U2 exchanges twice. "
        "An exchange makes all nodes update with the synchronous clock, only its two nodes with "
        "the asynchronous one; the two clocks are compared at equal exchanges, where the error "
        f"of GoSta with the asynchronous clock ends at {min(apart):.2f} to {max(apart):.2f} times "
        "that with the synchronous one.",
    ]


def _final_table(found: Mapping[str, Mapping[str, Measured]]) -> Table:
    errors = ("relative error", "deviation over trials", "error of the network mean")
    columns = ("graph", "method", "messages", *errors, "slope")
    rows: list[tuple[Cell, ...]] = [
        (
            graph,
            method,
            int(m.messages[-1]),
            float(m.error[-1]),
            float(m.trial_error[:, -1].std()),
            float(m.mean_error[-1]),
            m.slope,
        )
        for graph, by_method in found.items()
        for method, m in by_method.items()
    ]
    last = found[GRAPHS[0]]["u1"].iterations[-1]
    note = (
        "The slope is that of the logarithm of the error over the logarithm of iterations in the "
        "last decade, or since iteration |E| / lambda_(n-1) where that is later."
    )
    return Table(f"Errors after {last:,} iterations", columns, rows, note)


def _price_table(found: Mapping[str, Mapping[str, Measured]]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (graph, f"{100 * level:g} %", *(reached(m, level) for m in by_method.values()))
        for level in LEVELS
        for graph, by_method in found.items()
    ]
    return Table(
        "Messages until the relative error stays below a level",
        ("graph", "level", *METHODS),
        rows,
        "Interpolated between checkpoints, on logarithmic scales.",
    )


def _experiment(statistic: str, what: str) -> Experiment:
    return Experiment(
        f"estimation-{statistic}",
        f"Estimation of the {what} by four methods",
        f"How fast do GoSta, U2 and U1 gossip estimate the {what} of Breast Cancer Wisconsin, "
        "one patient per node, on the paper's three graphs, and at what cost in messages?",
        partial(_cases, statistic),
        partial(_report, statistic),
    )


SCATTER = _experiment("scatter", "within-cluster scatter")
AUC = _experiment("auc", "AUC")
ESTIMATION = [SCATTER, AUC]
