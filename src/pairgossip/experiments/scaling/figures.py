"""The figures of scaling: bias and error against the number of nodes, and against time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from pairgossip.experiments.framework.drawing import finish_panel, legend_below, panels
from pairgossip.experiments.framework.section import Picture
from pairgossip.experiments.networks import COLORS, FRANCS
from pairgossip.experiments.scaling.fits import Point

CLEAR = 0.1
"""A disagreement of less than this share of the error is not drawn."""
TICKS = (20, 50, 100, 200, 500, 1000)
"""Numbers of nodes."""


def nodes_picture(families: Mapping[str, Mapping[int, Point]]) -> Picture:
    """Draw t x bias and the error at the end, with their bounds, against the number of nodes."""
    figure, (left, right) = panels(2)
    for name, points in families.items():
        color, nodes, found = COLORS[name], list(points), list(points.values())
        left.plot(nodes, [p.exact["late"] for p in found], "o-", color=color, label=name)
        bound = f"_{name}: bound"
        left.plot(nodes, [p.exact["late_bound"] for p in found], ":", color=color, label=bound)
        right.plot(nodes, [p.run.error[-1] for p in found], "o-", color=color, label=name)
        bounds = [p.exact["error_bound"][-1] for p in found]
        right.plot(nodes, bounds, ":", color=color, label=bound)
    run = families["complete"][next(iter(families["complete"]))].run
    finish_panel(left, "nodes", f"t x bias ({FRANCS})", "bias, t to infinity", legend=False)
    title = f"error after {run.iterations[-1]:,} iterations"
    finish_panel(right, "nodes", f"RMS error ({FRANCS})", title, legend=False)
    for axes in (left, right):
        axes.set_yscale("log")
        low, high = axes.get_xlim()
        ticks = [tick for tick in TICKS if low <= tick <= high]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.set_xticks([], minor=True)
    legend_below(figure, left, columns=4)
    figure.set_size_inches(9.6, 4.0)
    return Picture(
        "nodes",
        "Left: the limit of t x bias, exact (dots), and the corrected bound (dotted). Right: root "
        f"mean square error over nodes and {run.trials} trials (dots), and the bound (dotted). "
        "Root mean squares over nodes.",
        figure,
    )


def time_picture(families: Mapping[str, Mapping[int, Point]]) -> Picture:
    """Draw bias and error of the largest network of every family against time in units 1/x."""
    figure, (left, right) = panels(2)
    for name, points in families.items():
        nodes = max(points)
        run, exact = points[nodes].run, points[nodes].exact
        units = run.iterations * exact["gap"]
        label, color = f"{name}, {nodes} nodes", COLORS[name]
        left.plot(units, exact["bias"], color=color, label=label)
        right.plot(units, run.error, color=color, label=f"_{name}: error")
        parts = points[nodes].parts
        # What is small beside the bias it is found by subtracting is noise.
        clear = parts.disagreement > CLEAR * run.error
        apart, label = parts.disagreement[clear], f"_{name}: disagreement"
        right.plot(units[clear], apart, "--", color=color, label=label)
        label = f"_{name}: fluctuation of the mean"
        right.plot(units, parts.mean_fluctuation, ":", color=color, label=label)
    _guide(left, -1.0, "slope -1")
    _guide(right, -0.5, "slope -1/2")
    unit = "iterations / (|E|/lambda)"
    finish_panel(left, unit, f"bias ({FRANCS})", "exact bias", legend=False)
    finish_panel(right, unit, f"RMS error ({FRANCS})", "error and parts of it", legend=False)
    for axes in (left, right):
        axes.set_yscale("log")
    legend_below(figure, left, columns=4)
    figure.set_size_inches(9.6, 4.0)
    return Picture(
        "time",
        "The largest network of every family, against iterations in units of its time scale "
        "|E|/lambda. Left: exact bias. Right: measured error of a node (solid), the "
        "nodes' disagreement (dashed, where it can be told from noise) and the fluctuation of the "
        "network's mean about its exact expectation (dotted). Black: slopes -1 and -1/2.",
        figure,
    )


def _guide(axes: Axes, slope: float, label: str) -> None:
    x = np.array([3.0, 300.0])
    drawn = [line.get_data() for line in axes.get_lines()]
    low = min(float(np.interp(3.0, *curve)) for curve in drawn if len(curve[0]))  # type: ignore[arg-type]
    axes.plot(x, 0.4 * low * (x / x[0]) ** slope, "k-", linewidth=0.9, label=f"_{label}")
    axes.annotate(label, (x[0], 0.4 * low), ha="right", va="center", fontsize="small")
