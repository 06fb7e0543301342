"""Estimation by four gossip methods, as in the authors' 2015 paper: scatter and AUC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import checkpoint_grid
from pairgossip.estimation import estimate
from pairgossip.experiments.estimation_comparison.findings import (
    Found,
    Measured,
    about,
    about_gap,
    about_rules,
    bound_claim,
    connected_claim,
    equal_messages_claim,
    final_table,
    gap_table,
    measure_run,
    notes,
    price_table,
    slope_claim,
    u1_claim,
)
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Plan,
    Simulation,
)
from pairgossip.experiments.framework.figures import Panel, Sheet
from pairgossip.experiments.framework.section import Picture, Section
from pairgossip.experiments.paper_setup import COLORS as GRAPH_COLORS
from pairgossip.experiments.paper_setup import GRAPHS, NodeRows, paper_graph, patients
from pairgossip.kernels.builtin import auc, within_cluster_scatter
from pairgossip.kernels.kernel import Kernel
from pairgossip.results import Run
from pairgossip.results.curves import COLORS, percentile_band
from pairgossip.theory.bounds import gosta_deviation_bound
from pairgossip.theory.constants import constants

STYLES = {
    "gosta-sync": (COLORS[0], "-", "GoSta, synchronous"),
    "gosta-async": (COLORS[5], "-.", "GoSta, asynchronous"),
    "u2": (COLORS[1], "-", "U2"),
    "u1": (COLORS[3], "--", "U1, to its row means"),
}
GUIDES = (("u2", -0.5, 2.0), ("gosta-sync", -1.0, 0.5))
"""Lines of a given slope, at a factor from the method whose error falls so."""
FIRST = 100
"""Where x axes begin: before, all estimates are about as wrong as the answer 0."""
AXES = {"iterations": "iterations", "messages": "messages sent"}


def error_picture(found: Found, targets: Mapping[str, Any], against: str) -> Picture:
    """Draw the error of all methods, one panel per graph."""
    sheet = Sheet(len(found), sharey=True)
    for panel, (graph, by_method) in zip(sheet.panels, found.items(), strict=True):
        for method, m in by_method.items():
            _draw_error(panel, getattr(m, against), m, *STYLES[method])
        rows = targets[graph]["row_distance"]
        panel.level(rows, "row means, to the statistic", COLORS[3], ":", linewidth=1.0)
        for method, power, away in GUIDES:
            m = by_method[method]
            _guide(panel, getattr(m, against), away * float(m.error[-1]), power)
        panel.axes.set_xlim(left=FIRST)
        y = "relative error" if panel is sheet.panels[0] else ""
        panel.finish(AXES[against], y, graph, y_log=True, legend=False)
    sheet.add_legend(columns=len(found["complete"]) + 1)
    trials = found["complete"]["u2"].trials
    return Picture(
        against,
        f"Root mean square error over nodes and {trials} trials, relative to the statistic, "
        f"against {AXES[against]}; bands are the 10th to 90th percentiles of single trials. "
        "U1 has a target of its own, the row means, whose distance from the statistic is the "
        "dotted line. Gray lines fall like t^(-1/2) and like 1/t.",
        sheet,
    )


def graphs_picture(found: Found) -> Picture:
    """Draw the error of one method on all graphs, a panel per method."""
    shown = ("gosta-sync", "u2")
    sheet = Sheet(len(shown), sharey=True)
    for panel, method in zip(sheet.panels, shown, strict=True):
        for graph, by_method in found.items():
            m = by_method[method]
            _draw_error(panel, m.iterations, m, GRAPH_COLORS[graph], "-", graph)
        y = "relative error" if panel is sheet.panels[0] else ""
        panel.finish("iterations", y, STYLES[method][2], y_log=True, legend=False)
        panel.axes.set_xlim(left=FIRST)
        panel.axes.legend(loc="lower left", fontsize="small", edgecolor="none")
    return Picture(
        "graphs",
        "The same errors by graph, for GoSta and U2, with bands from the "
        "10th to the 90th percentile of single trials.",
        sheet,
    )


def _draw_error(panel: Panel, x: Any, m: Measured, color: str, line: str, label: str) -> None:
    band = percentile_band(m.trial_error)
    panel.plot(x, m.error, label, color, line, band=band, linewidth=1.4)


def _guide(panel: Panel, x: Any, end: float, power: float) -> None:
    """Draw a line of some slope over the last decade of a curve, a little off it."""
    late = np.array([x[-1] / 10, x[-1]], dtype=np.float64)
    line = end * (late / late[-1]) ** power
    above = power > -1.0
    label = "falls like t^(-1/2)" if above else "falls like 1/t"
    panel.plot(late, line, label, "#777777", linewidth=0.9, legend=False)
    panel.axes.annotate(
        "$t^{-1/2}$" if above else "$t^{-1}$",
        (np.sqrt(late[0] * late[1]), np.sqrt(line[0] * line[1])),
        xytext=(2, 2) if above else (-2, -2),
        textcoords="offset points",
        ha="left" if above else "right",
        va="bottom" if above else "top",
        color="#555555",
        fontsize="small",
    )


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


def _problem(statistic: str, rows: NodeRows) -> tuple[FloatArray, Kernel]:
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


def pair_values(statistic: str, rows: NodeRows) -> FloatArray:
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
            method: measure_run(results[f"{graph}-{method}"], target["value"], target["gap"])
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
