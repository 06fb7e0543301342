"""The figures of estimation: errors against iterations and messages, by method and by graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from pairgossip.experiments.estimation_comparison.measures import Found, Measured
from pairgossip.experiments.framework.drawing import finish_panel, legend_below, panels
from pairgossip.experiments.framework.section import Picture
from pairgossip.experiments.setting import COLORS as GRAPH_COLORS
from pairgossip.results.plots import COLORS

STYLES = {
    "gosta-sync": (COLORS[0], "-", "GoSta, synchronous"),
    "gosta-async": (COLORS[5], "-.", "GoSta, asynchronous"),
    "u2": (COLORS[1], "-", "U2"),
    "u1": (COLORS[3], "--", "U1, to its row means"),
}
LOW, HIGH = 10, 90
"""The percentiles over trials between which bands lie."""
GUIDES = (("u2", -0.5, 2.0), ("gosta-sync", -1.0, 0.5))
"""Lines of a given slope, at a factor from the method whose error falls so."""
FIRST = 100
"""Where x axes begin: before, all estimates are about as wrong as the answer 0."""
AXES = {"iterations": "iterations", "messages": "messages sent"}


def error_picture(found: Found, targets: Mapping[str, Any], against: str) -> Picture:
    """Draw the error of all methods, one panel per graph."""
    figure, row = panels(len(found), sharey=True)
    for axes, (graph, by_method) in zip(row, found.items(), strict=True):
        for method, m in by_method.items():
            color, line, label = STYLES[method]
            _curve(axes, getattr(m, against), m, color, line, label)
        rows = targets[graph]["row_distance"]
        axes.axhline(
            rows, color=COLORS[3], linestyle=":", linewidth=1.0, label="row means, to the statistic"
        )
        for method, power, away in GUIDES:
            m = by_method[method]
            _guide(axes, getattr(m, against), away * float(m.error[-1]), power)
        axes.set_xlim(left=FIRST)
        first = axes is row[0]
        finish_panel(axes, AXES[against], "relative error" if first else "", graph, legend=False)
        axes.set_yscale("log")
    legend_below(figure, row[0], columns=len(found["complete"]) + 1)
    trials = found["complete"]["u2"].trials
    return Picture(
        against,
        f"Root mean square error over nodes and {trials} trials, relative to the statistic, "
        f"against {AXES[against]}; bands are the {LOW}th to {HIGH}th percentiles of single trials. "
        "U1 has a target of its own, the row means, whose distance from the statistic is the "
        "dotted line. Gray lines fall like t^(-1/2) and like 1/t.",
        figure,
    )


def graphs_picture(found: Found) -> Picture:
    """Draw the error of one method on all graphs, a panel per method."""
    shown = ("gosta-sync", "u2")
    figure, row = panels(len(shown), sharey=True)
    for axes, method in zip(row, shown, strict=True):
        for graph, by_method in found.items():
            m = by_method[method]
            _curve(axes, m.iterations, m, GRAPH_COLORS[graph], "-", graph)
        first = axes is row[0]
        finish_panel(axes, "iterations", "relative error" if first else "", STYLES[method][2])
        axes.set_yscale("log")
        axes.set_xlim(left=FIRST)
        axes.legend(loc="lower left", fontsize="small", edgecolor="none")
    return Picture(
        "graphs",
        "The same errors by graph, for GoSta and U2, with bands from the "
        f"{LOW}th to the {HIGH}th percentile of single trials.",
        figure,
    )


def _curve(axes: Axes, x: Any, m: Measured, color: str, line: str, label: str) -> None:
    axes.plot(x, m.error, line, color=color, label=label, linewidth=1.4)
    low, high = np.percentile(m.trial_error, [LOW, HIGH], axis=0)
    axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)


def _guide(axes: Axes, x: Any, end: float, power: float) -> None:
    """Draw a line of some slope over the last decade of a curve, a little off it."""
    late = np.array([x[-1] / 10, x[-1]], dtype=np.float64)
    line = end * (late / late[-1]) ** power
    above = power > -1.0
    label = "$t^{-1/2}$" if above else "$t^{-1}$"
    name = "_falls like t^(-1/2)" if above else "_falls like 1/t"
    axes.plot(late, line, color="#777777", linewidth=0.9, label=name)
    middle = (np.sqrt(late[0] * late[1]), np.sqrt(line[0] * line[1]))
    axes.annotate(
        label,
        middle,
        xytext=(2, 2) if above else (-2, -2),
        textcoords="offset points",
        ha="left" if above else "right",
        va="bottom" if above else "top",
        color="#555555",
        fontsize="small",
    )
