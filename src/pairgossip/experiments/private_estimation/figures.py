"""The figures of private estimation: error against epsilon, people and bins, and over time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pairgossip.experiments.framework.drawing import finish_panel, panels
from pairgossip.experiments.framework.section import Picture
from pairgossip.experiments.networks import FRANCS
from pairgossip.experiments.private_estimation.claims import (
    ByEpsilon,
    BySize,
    Drawn,
    error_at,
    is_judged,
    squared_error,
)
from pairgossip.results import Run
from pairgossip.results.plots import COLORS


def epsilon_picture(statistics: Mapping[str, ByEpsilon]) -> Picture:
    """Draw measured errors and the parts of their prediction against epsilon."""
    figure, axes = panels(len(statistics))
    for ax, (name, cases) in zip(np.atleast_1d(axes), statistics.items(), strict=True):
        epsilons, found = np.array(list(cases)), list(cases.values())
        predicted = [np.hypot(c["standard_error"], c["binning_bias"]) for c in found]
        noise, bias = ([c[k] for c in found] for k in ("standard_error", "binning_bias"))
        ax.plot(epsilons, predicted, "-", color=COLORS[0], label="predicted error")
        ax.plot(epsilons, noise, ":", color=COLORS[2], label="of it, noise of the reports")
        ax.plot(epsilons, np.abs(bias), "--", color=COLORS[4], label="of it, bias of the bins")
        judged = np.array([is_judged(c, is_ratio=name == "AUC") for c in found])
        mean, uncertain, _ = np.array([squared_error(c) for c in found]).T
        root = np.sqrt(mean)
        ax.errorbar(
            epsilons[judged], root[judged], yerr=(2 * uncertain / (2 * root))[judged], fmt="o",
            color=COLORS[1], markersize=5, capsize=2, label="measured, ± 2 standard errors",
        )  # fmt: skip
        if not judged.all():
            ax.plot(
                epsilons[~judged], root[~judged], "o", color=COLORS[1], markersize=5,
                markerfacecolor="none", label="measured, too noisy to be judged",
            )  # fmt: skip
        size = abs(found[0]["exact"])
        ax.axhline(size, color="#888888", linewidth=0.8, label="_the value itself")
        ax.annotate("the value itself", (epsilons[-1], size), ha="right", va="bottom",
                    fontsize="small", color="#666666")  # fmt: skip
        unit = FRANCS if name == "Gini" else "AUC"
        people = f"{name}, {found[0]['n']} people"
        finish_panel(ax, "epsilon", f"root mean square error ({unit})", people, legend=False)
        ax.set_yscale("log")
        ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        ax.set_xticks([], minor=True)
    handles, labels = np.atleast_1d(axes)[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.set_size_inches(9.6, 4.6)
    draws = len(next(iter(next(iter(statistics.values())).values()))["values"])
    return Picture(
        "epsilon",
        f"Error of the debiased statistic of all reports against epsilon: {draws} draws of the "
        "reports (dots) and what is predicted from the data before any draw (lines).",
        figure,
    )


def size_picture(by_size: BySize) -> Picture:
    """Draw the error against the number of people, as measured and predicted."""
    figure, ax = panels(1)
    for color, (epsilon, cases) in zip(COLORS, by_size.items(), strict=False):
        sizes, found = list(cases), list(cases.values())
        predicted = [c["standard_error"] for c in found]
        measured = [np.std(c["values"]) for c in found]
        ax.plot(sizes, predicted, "-", color=color, label=f"predicted, epsilon {epsilon:g}")
        ax.plot(sizes, measured, "o", color=color, label=f"measured, epsilon {epsilon:g}")
    ends = np.array([sizes[0], sizes[-1]], dtype=float)
    guide = 0.5 * predicted[-1] * np.sqrt(ends[-1] / ends)
    ax.plot(ends, guide, "k-", linewidth=0.9, label="slope -1/2")
    finish_panel(ax, "people n", f"standard error ({FRANCS})", "Gini's mean difference")
    ax.set_yscale("log")
    figure.set_size_inches(6.0, 4.2)
    return Picture(
        "people",
        "Standard deviation of the debiased statistic over draws of the reports (dots) and its "
        "exact prediction (lines), for n quantiles of the incomes. Where people are few, a part "
        "in 1/n adds to the one in 1/sqrt(n).",
        figure,
    )


def bins_picture(choices: Mapping[float, Drawn]) -> Picture:
    """Draw the predicted error against the number of bins, with what was advised."""
    figure, ax = panels(1)
    for color, (epsilon, choice) in zip(COLORS, choices.items(), strict=False):
        ax.plot(
            choice["candidates"], choice["errors"], "-", color=color, label=f"epsilon {epsilon:g}"
        )
        known, blind = choice["by_sample"], choice["by_uniform"]
        for bins, marker, size, how in ((known, "o", 7, "by a sample"), (blind, "x", 8, "without")):
            ax.plot(
                [bins], [error_at(choice, bins)], marker, color=color, markersize=size,
                label=f"_epsilon {epsilon:g}: advised {how}",
            )  # fmt: skip
    ax.plot([], [], "o", color="gray", markersize=7, label="advised by a sample")
    ax.plot([], [], "x", color="gray", markersize=8, label="advised without")
    finish_panel(ax, "bins", f"predicted error ({FRANCS})", "Gini's mean difference", legend=False)
    ax.set_yscale("log")
    ticks = (2, 4, 8, 16, 32, 64, 128, 256)
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.legend(fontsize="small", framealpha=0.8, edgecolor="none")
    figure.set_size_inches(6.0, 4.2)
    people = next(iter(choices.values()))["n"]
    return Picture(
        "bins",
        f"Error predicted for {people} households against the number of bins; advised by the "
        "incomes of other households (dots), and for values spread evenly over the range "
        "(crosses).",
        figure,
    )


def gossip_picture(runs: Mapping[str, Run]) -> Picture:
    """Draw how the nodes' mean approaches the statistic of the reports, and not the truth."""
    figure, ax = panels(1)
    for color, (name, run) in zip(COLORS, runs.items(), strict=False):
        assert run.private_values is not None
        apart = np.sqrt(np.mean((run.trial_mean - run.private_values[:, None]) ** 2, axis=0))
        ax.plot(run.iterations, run.error, "-", color=color, label=f"{name}: from the true value")
        ax.plot(run.iterations, apart, "--", color=color, label=f"{name}: mean from the reports'")
    first = next(iter(runs.values()))
    assert first.privacy_error is not None
    ax.axhline(first.privacy_error.size, color="#444444", linewidth=1, linestyle="-.",
               label="predicted error of the reports")  # fmt: skip
    finish_panel(ax, "iterations", f"root mean square distance ({FRANCS})", "gossip on reports")
    ax.set_yscale("log")
    figure.set_size_inches(6.0, 4.2)
    return Picture(
        "gossip",
        f"{first.trials} trials, each with reports of its own: errors of the nodes to the true "
        "value (solid) end at what the reports are off, while the network's mean goes on towards "
        "the statistic of the reports (dashed).",
        figure,
    )
