"""The figure of separable and pairwise estimation: geometric beside polynomial decay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pairgossip.experiments.error_parts import ErrorParts
from pairgossip.experiments.framework.drawing import finish_panel, legend_below, panels
from pairgossip.experiments.framework.section import Picture
from pairgossip.experiments.setting import COLORS
from pairgossip.results import Run

FLOOR = 1e-14
"""Relative errors below this are rounding."""


def rates_picture(
    averaging: Mapping[str, Run],
    gosta: Mapping[str, Run],
    exact: Mapping[str, Any],
    parts: Mapping[str, ErrorParts],
) -> Picture:
    """Draw averaging on a linear axis of time, GoSta on a logarithmic one."""
    figure, (left, right) = panels(2)
    for name, run in averaging.items():
        color, start = COLORS[name], exact[name]["start"]
        error, bound = run.error / start, np.array(exact[name]["averaging_bound"]) / start
        shown = error > FLOOR
        left.plot(run.iterations[shown], error[shown], color=color, label=name)
        left.plot(run.iterations, bound, ":", color=color, label=f"_{name}: bound")
        pairs = gosta[name]
        target = float(np.mean(pairs.target))
        t, part, label = pairs.iterations, parts[name], f"_{name}: error of a node"
        right.plot(t, pairs.error / target, color=color, label=label)
        right.plot(t, part.bias / target, "--", color=color, label=f"_{name}: exact bias")
        # At t = 1 all trials agree: the fluctuation is rounding.
        moved, label = part.mean_fluctuation[1:] / target, f"_{name}: fluctuation of the mean"
        right.plot(t[1:], moved, ":", color=color, label=label)
    finish_panel(left, "iterations", "error / its start", "mean: averaging", legend=False)
    left.set_xscale("linear")
    finish_panel(right, "iterations", "relative error", "Gini mean difference: GoSta", legend=False)
    for axes in (left, right):
        axes.set_yscale("log")
    left.set_ylim(FLOOR, 2)
    legend_below(figure, left, columns=3)
    figure.set_size_inches(9.6, 4.0)
    trials = next(iter(gosta.values())).trials
    return Picture(
        "convergence",
        "Left, linear time: averaging, root mean square error (solid) and bound (dotted), "
        "straight lines on this axis. Right, logarithmic time: GoSta on the same networks and "
        "incomes, error of a node (solid), exact bias (dashed) and fluctuation of the network's "
        f"mean about its expectation (dotted). {trials} trials.",
        figure,
    )
