"""Curves of a fit: the objective with its spread over nodes, and the gradient bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.results.fit import Fit
from pairgossip.results.plots import COLORS, network_of, new_axes, set_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_fit(
    fit: Fit, what: str = "objective", *, against: str = "exchanges", ax: Axes | None = None
) -> Axes:
    """Draw one fit; see `Fit.plot`."""
    if what not in ("objective", "bias"):
        raise InputError(f"A fit is drawn as 'objective' or 'bias', not '{what}'.")
    if what == "bias" and fit.bias is None:
        raise InputError("This fit has no gradient bias: minimize again with bias=True.")
    x = fit.axis(against)
    ax = new_axes(ax)
    if what == "objective":
        _draw_objective(ax, x, fit)
    else:
        _draw_bias(ax, x, fit)
    set_axis(ax, fit, against)
    trials = "1 trial" if fit.trials == 1 else f"{fit.trials} trials"
    ax.set_title(f"{fit.loss}, {fit.clock}, {network_of(fit)}, {trials}", fontsize="medium")
    ax.grid(alpha=0.25, which="major")
    ax.legend(fontsize="small", framealpha=0.8, edgecolor="none")
    return ax


def _draw_objective(ax: Axes, x: FloatArray, fit: Fit) -> None:
    low, high = fit.objective - fit.spread, fit.objective + fit.spread
    label = "± standard deviation over nodes"
    ax.fill_between(x, low, high, color=COLORS[0], alpha=0.2, linewidth=0, label=label)
    ax.plot(x, fit.objective, color=COLORS[0], label="objective of the nodes' models")
    ax.set_ylabel("objective")


def _draw_bias(ax: Axes, x: FloatArray, fit: Fit) -> None:
    assert fit.bias is not None
    ax.plot(x, fit.bias.norm.mean(axis=0), color=COLORS[0], label="size of the gradient bias")
    plotted = np.abs(fit.bias.plotted).mean(axis=0)
    ax.plot(x, plotted, "--", color=COLORS[1], label="|bias . network model|, as in the paper")
    ax.plot(x, fit.objective, ":", color=COLORS[2], label="objective")
    ax.set_yscale("log")
    ax.set_ylabel("gradient bias")
