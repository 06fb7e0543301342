"""The figures of AUC maximization: the objective with its spread, and the gradient bias."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from pairgossip.arrays import FloatArray
from pairgossip.experiments.framework.drawing import finish_panel, panels
from pairgossip.experiments.framework.section import Picture
from pairgossip.experiments.setting import COLORS
from pairgossip.results import Fit


def objective_picture(fits: Mapping[str, Fit]) -> Picture:
    """Draw the objective with its spread over nodes, and that spread by itself."""
    figure, (left, right) = panels(2)
    for name, fit in fits.items():
        x, color = fit.iterations, COLORS[name]
        left.plot(x, fit.objective, color=color, label=name)
        low, high = fit.objective - fit.spread, fit.objective + fit.spread
        left.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
        right.plot(x, fit.spread, color=color, label=name)
    finish_panel(left, "iterations", "objective", "objective of the nodes' models")
    finish_panel(right, "iterations", "standard deviation over nodes", "its spread over nodes")
    right.set_yscale("log")
    trials = next(iter(fits.values())).trials
    return Picture(
        "objective",
        "Logistic AUC objective. Left: mean over nodes and trials, with the standard deviation "
        f"over nodes (bands). Right: that standard deviation alone. {trials} trials.",
        figure,
    )


def bias_picture(fits: Mapping[str, Fit], optima: Mapping[str, FloatArray]) -> Picture:
    """Draw the bias as the paper plots it, and as it enters the bound, beside the objective."""
    figure, (left, middle, right) = panels(3)
    for name, fit in fits.items():
        assert fit.bias is not None
        plotted, in_bound = fit.bias.plotted, fit.bias.bound_term(optima[name])
        x, color = fit.iterations, COLORS[name]
        mean, deviation = plotted.mean(axis=0), plotted.std(axis=0)
        left.plot(x, mean, color=color, label=name)
        left.fill_between(
            x, mean - deviation, mean + deviation, color=color, alpha=0.2, linewidth=0
        )
        _magnitudes(middle, fit, plotted, color, name)
        _magnitudes(right, fit, in_bound, color, name)
    finish_panel(left, "iterations", "bias term", "as plotted in the paper")
    finish_panel(middle, "iterations", "size of the bias term", "as plotted, size")
    finish_panel(right, "iterations", "size of the bias term", "as in the bound, size")
    for axes in (middle, right):
        axes.set_yscale("log")
    return Picture(
        "bias",
        "The bias of the gradients. Left: bias . network model, as the paper plots it, mean and "
        "standard deviation over trials. Middle: its size, |mean over trials| (solid) and root "
        "mean square of single trials (dashed), beside the objective (dotted). Right: the same of "
        "(optimum - network model) . bias, which is the term of the bound.",
        figure,
    )


def _magnitudes(axes: Axes, fit: Fit, terms: FloatArray, color: str, name: str) -> None:
    x = fit.iterations
    axes.plot(x, _positive(np.abs(terms.mean(axis=0))), color=color, label=name)
    single, label = np.sqrt((terms**2).mean(axis=0)), f"_{name}: single trials"
    axes.plot(x, _positive(single), "--", color=color, linewidth=0.9, label=label)
    axes.plot(x, fit.objective, ":", color=color, label=f"_{name}: objective")


def _positive(sizes: FloatArray) -> FloatArray:
    """Leave out zeros, which a logarithmic axis cannot show: models begin at zero."""
    return np.where(sizes > 0, sizes, np.nan)
