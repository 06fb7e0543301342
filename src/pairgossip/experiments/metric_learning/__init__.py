"""Metric learning, one labeled point per node: the authors' mixture of 2016, and digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import IntArray
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Plan,
    Simulation,
)
from pairgossip.experiments.framework.figures import Sheet
from pairgossip.experiments.framework.section import Picture, Section
from pairgossip.experiments.metric_learning.findings import (
    DIMENSIONS,
    INFORMATIVE,
    Draw,
    Measures,
    accuracy,
    best_metric,
    concentration_claim,
    convergence_claim,
    describe_setup,
    diagonal_loss,
    diagonal_risks,
    digits_claim,
    dispersion_claim,
    faster_claim,
    grand_mean,
    images,
    mixture,
    mixture_claim,
    recognize,
    results_table,
    scores,
    share_of,
    shares,
)
from pairgossip.experiments.paper_setup import COLORS, GRAPHS
from pairgossip.graphs import Graph, complete, torus, watts_strogatz
from pairgossip.losses import Box, inverse_sqrt
from pairgossip.minimization import minimize
from pairgossip.results import Fit

REFERENCE = "#000000"
LOWEST = 3.0
"""Bands end at the mean divided by this: a logarithmic axis has no place for less than 0."""
OVERSHOT = 1.5
"""Objectives this many times the zero metric's, above the minimum, deserve a word."""
MARKERS = {"complete": "o", "watts-strogatz": "s", "torus": "^"}


def convergence_picture(measured: Measures) -> Picture:
    """Draw the objective with its spread over nodes, and that spread by itself."""
    sheet = Sheet(2)
    left, right = sheet.panels
    central = measured.central
    for graph, fit in measured.fits.items():
        x, color, style = fit.iterations, COLORS[graph], f"{MARKERS[graph]}-"
        excess = measured.excess(graph)
        band = (np.maximum(excess - fit.spread, excess / LOWEST), excess + fit.spread)
        left.plot(x, excess, graph, color, style, band=band, markersize=3)
        right.plot(x, fit.disagreement, graph, color, style, markersize=3)
    start = central["objective_of_zero"] - central["objective"]
    left.level(start, "zero metric", REFERENCE, ":", lw=1)
    left.finish("iterations", "objective above the minimum", "nodes' metrics", y_log=True)
    title = "their distance from their mean"
    right.finish("iterations", "root mean square distance", title, y_log=True)
    trials = next(iter(measured.fits.values())).trials
    highest = max(float(measured.excess(graph).max()) for graph in measured.fits)
    early = " Early steps overshoot: asynchronous nodes weigh gradients by about n/2."
    return Picture(
        "objective",
        "Left: logistic objective above its centralized minimum, mean over nodes and trials, with "
        f"the standard deviation over nodes (bands, cut at 1/{LOWEST:g} of the mean). Right: root "
        f"mean square distance of all nodes' metrics from their mean. {trials} trials."
        + (early if highest > OVERSHOT * start else ""),
        sheet,
    )


def weights_picture(measured: Measures, informative: int) -> Picture:
    """Draw the share of every dimension in the learned metrics and in the best one."""
    sheet = Sheet(1)
    (panel,) = sheet.panels
    sheet.figure.set_figwidth(2 * sheet.figure.get_figwidth())
    best = np.array(measured.central["model"])
    dimension = np.arange(1.0, len(best) + 1)
    panel.axes.axvspan(0.5, informative + 0.5, color="#999999", alpha=0.15, lw=0)
    panel.bars(dimension, best / best.sum(), "central minimum", "#999999")
    for shift, (graph, fit) in zip((-0.25, 0.0, 0.25), measured.fits.items(), strict=True):
        share = fit.models / fit.models.sum(axis=-1, keepdims=True)
        mean, error = share.mean(axis=(0, 1)), share.std(axis=(0, 1))
        x, color, style = dimension + shift, COLORS[graph], MARKERS[graph]
        panel.plot(x, mean, graph, color, style, error=error, markersize=3, elinewidth=0.8)
    panel.level(1 / len(best), "equal weights", REFERENCE, ":", lw=1)
    panel.finish("dimension", "share of the metric's weight", x_log=False)
    panel.axes.set_xlim(0.3, len(best) + 0.7)
    return Picture(
        "weights",
        f"Where the learned metrics look: classes differ in the first {informative} dimensions "
        "only (shaded). Means and standard deviations over nodes and trials.",
        sheet,
    )


def images_picture(measured: Measures) -> Picture:
    """Draw the weights of the pixels as images, with one scale of gray."""
    sheet = Sheet(4)
    sheet.figure.set_size_inches(12.0, 3.2)
    row = [panel.axes for panel in sheet.panels]
    named = {graph: fit.model for graph, fit in measured.fits.items()}
    named["central minimum"] = np.array(measured.central["model"])
    side = int(np.sqrt(len(named["central minimum"])))
    top = max(float(model.max()) for model in named.values())
    for axes, (name, model) in zip(row, named.items(), strict=True):
        shown = axes.imshow(model.reshape(side, side), cmap="viridis", vmin=0.0, vmax=top)
        axes.set_title(name, fontsize="medium")
        axes.set_xlabel("pixel column")
        axes.set_xticks(range(side))
        axes.set_yticks(range(side))
    row[0].set_ylabel("pixel row")
    sheet.figure.colorbar(shown, ax=row, label="weight of the scaled pixel", shrink=0.8)
    return Picture(
        "weights",
        "Which pixels the metrics look at: mean over nodes and trials of the learned weights, on "
        "each graph, and the weights of the centralized minimum.",
        sheet,
    )


def accuracy_picture(measured: Measures) -> Picture:
    """Draw the held-out accuracy of every trial beside those of metrics without gossip."""
    sheet = Sheet(1)
    (panel,) = sheet.panels
    for place, (graph, accuracies) in enumerate(measured.accuracies.items()):
        spots = place + np.linspace(-0.2, 0.2, len(accuracies))
        label, color, style = f"{graph}: single trials", COLORS[graph], MARKERS[graph]
        panel.plot(spots, 100 * accuracies, label, color, style, markersize=4, legend=False)
    lines = {
        "accuracy": ("--", "central minimum"),
        "euclidean": (":", "Euclidean, scaled"),
        "unscaled": ("-.", "Euclidean, data as they are"),
    }
    for key, (style, label) in lines.items():
        panel.level(100 * measured.central[key], label, REFERENCE, style, lw=1)
    panel.finish("", "held-out accuracy (%)", x_log=False, legend=False)
    panel.name_places(x=list(measured.accuracies))
    panel.axes.set_xlim(-0.5, len(measured.accuracies) - 0.5)
    sheet.add_legend(columns=2, fontsize="small")
    return Picture(
        "accuracy",
        "Nearest neighbors on held-out points, with the metrics of nodes (one mark per trial: "
        "mean over a few nodes) and with metrics that need no network (lines).",
        sheet,
    )


MOST_TRIALS = 10
"""Trials hardly differ here, and every checkpoint weighs a million pairs for each judged node."""
LENGTHS = (500, 200)
"""Iterations per node, in full and quick."""
CHECKPOINTS, JUDGED = (9, 6), (8, 8)
SCORED = 4
"""Nodes per trial whose models are tried on held-out points."""
QUICK_SIDES = (15, 20)


class Task(NamedTuple):
    """What differs between the two experiments."""

    name: str
    draw: Draw
    sides: tuple[int, int]
    """Of the torus, one of them odd: it is not bipartite, and its nodes are as many as data."""
    step: float
    """gamma(t) = step / sqrt(t): of `STEPS`, the one that ends with the lower objective."""


MIXTURE_TASK = Task("metric-mixture", mixture, (25, 40), 0.03)
DIGITS_TASK = Task("metric-digits", images, (25, 48), 0.01)


def _cases(task: Task, plan: Plan) -> Sequence[Case]:
    sides = QUICK_SIDES if plan.quick else task.sides
    last = plan.choose(*LENGTHS) * math.prod(sides)
    trials = min(plan.trials, MOST_TRIALS)
    simulations = [
        Simulation(name, last, trials, partial(_fit, task, name, sides, last, plan))
        for name in GRAPHS
    ]
    return [*simulations, Computation("central", partial(_central, task, sides, plan.seed))]


def _graph(name: str, sides: tuple[int, int], seed: int) -> Graph:
    if name == "torus":
        return torus(*sides)
    nodes = math.prod(sides)
    return complete(nodes) if name == "complete" else watts_strogatz(nodes, k=4, p=0.3, seed=seed)


def _fit(task: Task, graph: str, sides: tuple[int, int], last: int, plan: Plan, **how: Any) -> Fit:
    nodes, count = math.prod(sides), plan.choose(*CHECKPOINTS)
    split = task.draw(nodes, plan.seed)
    return minimize(
        split.X,
        split.y,
        diagonal_loss(),
        _graph(graph, sides, plan.seed),
        clock="async",
        iterations=last,
        checkpoints=np.geomspace(nodes // 10, last, count).round().astype(np.int64),
        step=inverse_sqrt(task.step),
        constraint=Box(0.0, math.inf),
        bias=False,
        judged=plan.choose(*JUDGED),
        seed=plan.seed,
        **how,
    )


def _central(task: Task, sides: tuple[int, int], seed: int) -> Mapping[str, Any]:
    """Find the best metric on one machine, and score it and metrics that need no learning."""
    split = task.draw(math.prod(sides), seed)
    model, objective = best_metric(split.X, split.y)
    zero = np.zeros((1, len(model)))
    return {
        "model": model,
        "objective": objective,
        "objective_of_zero": float(diagonal_risks(zero, np.column_stack(split[:2]))[0]),
        "accuracy": accuracy(model, split),
        "euclidean": accuracy(np.ones(len(model)), split),
        "unscaled": accuracy(split.scale**2, split),
    }


def _measure(task: Task, results: Mapping[str, Any]) -> Measures:
    """Score nodes' models on the held-out points, which the fits' seed brings back."""
    fits: dict[str, Fit] = {name: results[name] for name in GRAPHS}
    first = fits[GRAPHS[0]]
    split = task.draw(first.nodes, first.seed)
    nodes: IntArray = np.linspace(0, first.nodes - 1, SCORED).astype(np.int64)
    found = {
        name: np.array([[recognize(m, split) for m in trial[nodes]] for trial in fit.models])
        for name, fit in fits.items()
    }
    data = np.column_stack(split[:2])
    return Measures(
        fits,
        results["central"],
        {name: hits.mean(axis=(1, 2)) for name, hits in found.items()},
        {name: hits.mean(axis=(0, 1)) for name, hits in found.items()},
        {
            "scaled data": recognize(np.ones(split.X.shape[1]), split),
            "data as they are": recognize(split.scale**2, split),
        },
        {name: diagonal_risks(fit.models.mean(axis=1), data) for name, fit in fits.items()},
    )


def _mixture_report(results: Mapping[str, Any]) -> Section:
    measured = _measure(MIXTURE_TASK, results)
    share = {name: shares(fit) for name, fit in measured.fits.items()}
    first = measured.fits[GRAPHS[0]]
    findings = [
        f"{first.nodes:,} points of ten Gaussian classes in {DIMENSIONS} dimensions, one per node; "
        f"the classes' centers differ in {INFORMATIVE} dimensions only, and every dimension is "
        "scaled to variance 1, so that no scale gives them away. "
        + describe_setup(MIXTURE_TASK.step, measured),
        f"Of the learned weight {100 * grand_mean(share):.0f} % is on the {INFORMATIVE} "
        f"informative dimensions (all alike: {100 * INFORMATIVE / DIMENSIONS:.1f} %; the "
        f"centralized minimum: {100 * share_of(measured.central['model']):.0f} %). "
        + scores(measured),
    ]
    return Section(
        findings,
        [
            convergence_picture(measured),
            weights_picture(measured, INFORMATIVE),
            accuracy_picture(measured),
        ],
        [results_table(measured, share)],
        [
            convergence_claim("mixture", measured),
            faster_claim("mixture", measured),
            dispersion_claim("mixture", measured),
            concentration_claim(share, INFORMATIVE / DIMENSIONS),
            mixture_claim(measured),
        ],
    )


def _digits_report(results: Mapping[str, Any]) -> Section:
    measured = _measure(DIGITS_TASK, results)
    first = measured.fits[GRAPHS[0]]
    findings = [
        f"{first.nodes:,} images of handwritten digits, 8 x 8 pixels, one per node; pixels are "
        "scaled to variance 1 over the nodes' images. "
        + describe_setup(DIGITS_TASK.step, measured),
        scores(measured) + " Gray levels as they are, unscaled, give "
        f"{100 * measured.central['unscaled']:.1f} % without any learning.",
    ]
    return Section(
        findings,
        [
            convergence_picture(measured),
            images_picture(measured),
            accuracy_picture(measured),
        ],
        [results_table(measured, None)],
        [
            convergence_claim("digits", measured),
            faster_claim("digits", measured),
            dispersion_claim("digits", measured),
            digits_claim(measured),
        ],
    )


MIXTURE = Experiment(
    MIXTURE_TASK.name,
    "Metric learning on a mixture of Gaussians",
    "Ten classes differ in 5 of 40 dimensions. Do nodes with one labeled point each find these "
    "dimensions by gossip, on a complete, a small-world and a torus network, and does the metric "
    "they learn tell classes of new points apart?",
    partial(_cases, MIXTURE_TASK),
    _mixture_report,
)
DIGITS = Experiment(
    DIGITS_TASK.name,
    "Metric learning on handwritten digits",
    "One image per node: which pixels do nodes learn to look at by gossip, and does the metric "
    "help nearest neighbors on images set aside?",
    partial(_cases, DIGITS_TASK),
    _digits_report,
)
