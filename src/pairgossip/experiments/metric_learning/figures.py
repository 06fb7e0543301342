"""The figures of metric learning: convergence, the weights that were learned, accuracy."""

from __future__ import annotations

import numpy as np

from pairgossip.experiments.framework.drawing import finish_panel, panels
from pairgossip.experiments.framework.section import Picture
from pairgossip.experiments.metric_learning.claims import Measures
from pairgossip.experiments.setting import COLORS

REFERENCE = "#000000"
LOWEST = 3.0
"""Bands end at the mean divided by this: a logarithmic axis has no place for less than 0."""
OVERSHOT = 1.5
"""Objectives this many times the zero metric's, above the minimum, deserve a word."""
MARKERS = {"complete": "o", "watts-strogatz": "s", "torus": "^"}


def convergence_picture(measured: Measures) -> Picture:
    """Draw the objective with its spread over nodes, and that spread by itself."""
    figure, (left, right) = panels(2)
    central = measured.central
    for graph, fit in measured.fits.items():
        x, color, marker = fit.iterations, COLORS[graph], MARKERS[graph]
        excess = measured.excess(graph)
        left.plot(x, excess, color=color, marker=marker, markersize=3, label=graph)
        low = np.maximum(excess - fit.spread, excess / LOWEST)
        left.fill_between(x, low, excess + fit.spread, color=color, alpha=0.15, linewidth=0)
        right.plot(x, fit.disagreement, color=color, marker=marker, markersize=3, label=graph)
    start = central["objective_of_zero"] - central["objective"]
    left.axhline(start, color=REFERENCE, ls=":", lw=1, label="zero metric")
    for axes in (left, right):
        axes.set_yscale("log")
    finish_panel(left, "iterations", "objective above the minimum", "nodes' metrics")
    finish_panel(right, "iterations", "root mean square distance", "their distance from their mean")
    trials = next(iter(measured.fits.values())).trials
    highest = max(float(measured.excess(graph).max()) for graph in measured.fits)
    early = " Early steps overshoot: asynchronous nodes weigh gradients by about n/2."
    return Picture(
        "objective",
        "Left: logistic objective above its centralized minimum, mean over nodes and trials, with "
        f"the standard deviation over nodes (bands, cut at 1/{LOWEST:g} of the mean). Right: root "
        f"mean square distance of all nodes' metrics from their mean. {trials} trials."
        + (early if highest > OVERSHOT * start else ""),
        figure,
    )


def weights_picture(measured: Measures, informative: int) -> Picture:
    """Draw the share of every dimension in the learned metrics and in the best one."""
    figure, axes = panels(1, squeeze=True)
    figure.set_figwidth(2 * figure.get_figwidth())
    best = np.array(measured.central["model"])
    dimension = np.arange(1, len(best) + 1)
    axes.axvspan(0.5, informative + 0.5, color="#999999", alpha=0.15, lw=0)
    axes.bar(dimension, best / best.sum(), color="#999999", width=0.8, label="central minimum")
    for shift, (graph, fit) in zip((-0.25, 0.0, 0.25), measured.fits.items(), strict=True):
        share = fit.models / fit.models.sum(axis=-1, keepdims=True)
        axes.errorbar(
            dimension + shift,
            share.mean(axis=(0, 1)),
            share.std(axis=(0, 1)),
            fmt=MARKERS[graph],
            markersize=3,
            color=COLORS[graph],
            elinewidth=0.8,
            label=graph,
        )
    axes.axhline(1 / len(best), color=REFERENCE, ls=":", lw=1, label="equal weights")
    finish_panel(axes, "dimension", "share of the metric's weight")
    axes.set_xscale("linear")
    axes.set_xlim(0.3, len(best) + 0.7)
    return Picture(
        "weights",
        f"Where the learned metrics look: classes differ in the first {informative} dimensions "
        "only (shaded). Means and standard deviations over nodes and trials.",
        figure,
    )


def images_picture(measured: Measures) -> Picture:
    """Draw the weights of the pixels as images, with one scale of gray."""
    figure, row = panels(4)
    figure.set_size_inches(12.0, 3.2)
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
    figure.colorbar(shown, ax=list(row), label="weight of the scaled pixel", shrink=0.8)
    return Picture(
        "weights",
        "Which pixels the metrics look at: mean over nodes and trials of the learned weights, on "
        "each graph, and the weights of the centralized minimum.",
        figure,
    )


def accuracy_picture(measured: Measures) -> Picture:
    """Draw the held-out accuracy of every trial beside those of metrics without gossip."""
    figure, axes = panels(1, squeeze=True)
    for place, (graph, scores) in enumerate(measured.accuracies.items()):
        spots = place + np.linspace(-0.2, 0.2, len(scores))
        color, label = COLORS[graph], f"_{graph}: single trials"
        axes.plot(spots, 100 * scores, MARKERS[graph], color=color, markersize=4, label=label)
    central = measured.central
    lines = {
        "accuracy": ("--", "central minimum"),
        "euclidean": (":", "Euclidean, scaled"),
        "unscaled": ("-.", "Euclidean, data as they are"),
    }
    for key, (style, label) in lines.items():
        axes.axhline(100 * central[key], color=REFERENCE, ls=style, lw=1, label=label)
    finish_panel(axes, "", "held-out accuracy (%)", legend=False)
    axes.set_xscale("linear")
    axes.set_xticks(range(len(measured.accuracies)), list(measured.accuracies))
    axes.set_xlim(-0.5, len(measured.accuracies) - 0.5)
    figure.legend(loc="outside lower center", ncols=2, fontsize="small", frameon=False)
    return Picture(
        "accuracy",
        "Nearest neighbors on held-out points, with the metrics of nodes (one mark per trial: "
        "mean over a few nodes) and with metrics that need no network (lines).",
        figure,
    )
