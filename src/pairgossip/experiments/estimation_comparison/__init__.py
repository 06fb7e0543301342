"""Estimation by four gossip methods, as in the authors' 2015 paper: scatter and AUC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import checkpoint_grid
from pairgossip.estimation import estimate
from pairgossip.experiments.estimation_comparison.claims import (
    bound_claim,
    connected_claim,
    equal_messages_claim,
    slope_claim,
    u1_claim,
)
from pairgossip.experiments.estimation_comparison.figures import error_picture, graphs_picture
from pairgossip.experiments.estimation_comparison.findings import (
    about,
    about_gap,
    about_rules,
    final_table,
    gap_table,
    notes,
    price_table,
)
from pairgossip.experiments.estimation_comparison.measures import measured
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Plan,
    Simulation,
)
from pairgossip.experiments.framework.section import Section
from pairgossip.experiments.networks import patients
from pairgossip.experiments.setting import GRAPHS, Dealt, paper_graph
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


def score(X: FloatArray) -> FloatArray:
    """The sum of the nine features: each is graded so that higher is worse; nothing is fitted."""
    return np.asarray(X.sum(axis=1), dtype=np.float64)


def _problem(statistic: str, rows: Dealt) -> tuple[FloatArray, Kernel]:
    if statistic == "scatter":
        return rows.X, within_cluster_scatter()
    # U1 is defined for one kernel, not for a ratio; the denominator n+ n- / n^2 is a constant.
    return score(rows.X), auc().numerator


def _run(statistic: str, graph: str, method: str, last: int, plan: Plan, **how: Any) -> Run:
    rows = patients(graph, plan.seed)
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
    rows, network = patients(graph, plan.seed), paper_graph(graph, plan.seed)
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
        [about(statistic, targets), *notes(found), about_gap(found, targets), about_rules()],
        [
            error_picture(found, targets, "iterations"),
            error_picture(found, targets, "messages"),
            graphs_picture(found),
        ],
        [final_table(found), price_table(found), gap_table(found, targets)],
        [
            equal_messages_claim(statistic, found),
            connected_claim(statistic, found),
            slope_claim(statistic, found),
            bound_claim(statistic, found, targets),
            u1_claim(statistic, found, targets),
        ],
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
