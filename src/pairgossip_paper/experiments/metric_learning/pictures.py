"""The figures of metric learning: convergence, learned weights, accuracy."""

from __future__ import annotations

import numpy as np

from pairgossip_paper.experiments.metric_learning.metrics import INFORMATIVE, Measures
from pairgossip_paper.framework import Picture
from pairgossip_paper.framework.figures import Sheet
from pairgossip_paper.paper_setup import COLORS

_REFERENCE = "#000000"
_LOWEST = 3.0
"""Bands end at the mean divided by this: a logarithmic axis has no place for less than 0."""
_OVERSHOT = 1.5
"""Objectives this many times the zero metric's, above the minimum, deserve a word."""
_MARKERS = {"complete": "o", "watts-strogatz": "s", "torus": "^"}


def convergence_picture(measured: Measures) -> Picture:
    """Draw the nodes' objectives above the minimum, and their metrics' distance from the mean."""
    sheet = Sheet(2)
    left, right = sheet.panels
    central = measured.central
    for graph, fit in measured.fits.items():
        x, color, style = fit.iterations, COLORS[graph], f"{_MARKERS[graph]}-"
        excess = measured.excess(graph)
        band = (np.maximum(excess - fit.spread, excess / _LOWEST), excess + fit.spread)
        left.plot(x, excess, graph, color, style, band=band, markersize=3)
        right.plot(x, fit.disagreement, graph, color, style, markersize=3)
    start = central["objective_of_zero"] - central["objective"]
    left.level(start, "zero metric", _REFERENCE, ":", lw=1)
    left.finish("iterations", "objective above the minimum", "nodes' metrics", legend=True)
    title = "their distance from their mean"
    right.finish("iterations", "root mean square distance", title, legend=True)
    trials = next(iter(measured.fits.values())).trials
    highest = max(float(measured.excess(graph).max()) for graph in measured.fits)
    early = " Early steps overshoot: asynchronous nodes weigh gradients by about `n/2`."
    return Picture(
        "objective",
        "Left: logistic objective above its centralized minimum, mean over nodes and trials, with "
        f"the standard deviation over nodes (bands, cut at 1/{_LOWEST:g} of the mean). Right: root "
        f"mean square distance of all nodes' metrics from their mean. {trials} trials."
        + (early if highest > _OVERSHOT * start else ""),
        sheet,
    )


def weights_picture(measured: Measures) -> Picture:
    """Draw how much of its weight a metric has on every dimension."""
    sheet = Sheet(1, size=(8.8, 3.5))
    (panel,) = sheet.panels
    best = np.array(measured.central["model"])
    dimension = np.arange(1.0, len(best) + 1)
    panel.axes.axvspan(0.5, INFORMATIVE + 0.5, color="#999999", alpha=0.15, lw=0)
    panel.bars(dimension, best / best.sum(), "central minimum", "#999999")
    for shift, (graph, fit) in zip((-0.25, 0.0, 0.25), measured.fits.items(), strict=True):
        share = fit.models / fit.models.sum(axis=-1, keepdims=True)
        mean, error = share.mean(axis=(0, 1)), share.std(axis=(0, 1))
        x, color, style = dimension + shift, COLORS[graph], _MARKERS[graph]
        panel.plot(x, mean, graph, color, style, error=error, markersize=3, elinewidth=0.8)
    panel.level(1 / len(best), "equal weights", _REFERENCE, ":", lw=1)
    panel.finish("dimension", "share of the metric's weight", x_log=False, y_log=False, legend=True)
    panel.axes.set_xlim(0.3, len(best) + 0.7)
    return Picture(
        "weights",
        f"Where the learned metrics look: classes differ in the first {INFORMATIVE} dimensions "
        "only (shaded). Means and standard deviations over nodes and trials.",
        sheet,
    )


def images_picture(measured: Measures) -> Picture:
    """Draw the weights of the pixels as images, with one scale of gray."""
    sheet = Sheet(4, size=(12.0, 3.2))
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
    """Draw the held-out accuracy of every trial beside that of metrics without a network."""
    sheet = Sheet(1)
    (panel,) = sheet.panels
    for place, (graph, accuracies) in enumerate(measured.accuracies.items()):
        spots = place + np.linspace(-0.2, 0.2, len(accuracies))
        label, color, style = f"{graph}: single trials", COLORS[graph], _MARKERS[graph]
        panel.plot(spots, 100 * accuracies, label, color, style, markersize=4, legend=False)
    lines = {
        "accuracy": ("--", "central minimum"),
        "euclidean": (":", "Euclidean, scaled"),
        "unscaled": ("-.", "Euclidean, data as they are"),
    }
    for key, (style, label) in lines.items():
        panel.level(100 * measured.central[key], label, _REFERENCE, style, lw=1)
    panel.finish("", "held-out accuracy (%)", x_log=False, y_log=False)
    panel.name_places(x=list(measured.accuracies))
    panel.axes.set_xlim(-0.5, len(measured.accuracies) - 0.5)
    sheet.add_legend(columns=2, fontsize="small")
    return Picture(
        "accuracy",
        "Nearest neighbors on held-out points, with the metrics of nodes (one mark per trial: "
        "mean over a few nodes) and with metrics that need no network (lines).",
        sheet,
    )
