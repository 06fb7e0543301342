"""Convergence curves: what was measured, what is expected exactly, what is guaranteed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.extras import needed_for
from pairgossip.results.fit import Fit
from pairgossip.results.run import Run
from pairgossip.theory import TheoryCurves

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Okabe and Ito's palette: distinct for color-blind readers.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MEASURED, EXPECTED, BOUND, EXACT = COLORS[0], COLORS[1], COLORS[2], "#444444"
LARGEST_UNASKED_THEORY = 1_000
"""Up to this many nodes a plot adds theory unasked: it takes seconds."""

_AXIS_LABELS = {
    "exchanges": "exchanges",
    "iterations": "iterations",
    "messages": "messages sent",
    "bytes": "bytes sent (payload)",
    "time": "time (one exchange per node and unit)",
}
_THEORY_STYLES = {
    "exact expectation": "--",
    "exact bias": "--",
    "bound on the bias": ":",
    "bound on the error": "-.",
}
_GROUPED_LABELS = {
    "exchanges": "exchanges, local ones included",
    "messages": "messages sent between sites",
    "bytes": "bytes sent between sites (payload)",
    "time": "time (one exchange per row and unit)",
}


def plot_run(
    run: Run,
    what: str = "error",
    *,
    against: str = "exchanges",
    theory: bool | None = None,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one run; see `Run.plot`."""
    if what not in ("error", "estimate"):
        raise InputError(f"A run is drawn as 'error' or 'estimate', not '{what}'.")
    x = run.axis(against)
    curves = _theory_for(run, theory)
    if what == "error" and not np.isfinite(run.error).any():
        raise InputError(
            "The errors of this run are unknown, because its exact value is: draw "
            "{argument}, or estimate again with a reference.",
            "what",
            "estimate",
        )
    ax = new_axes(ax)
    if what == "error":
        _draw_errors(ax, x, run, curves, label or "measured")
    else:
        _draw_estimates(ax, x, run, curves, label or "mean over nodes and trials")
    set_axis(ax, run, against)
    ax.set_title(describe(run), fontsize="medium")
    ax.grid(alpha=0.25, which="major")
    ax.legend(fontsize="small", framealpha=0.8, edgecolor="none")
    return ax


def compare(
    runs: Mapping[str, Run | Fit] | Sequence[Run | Fit],
    *,
    what: str | None = None,
    against: str = "exchanges",
    theory: bool | None = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw several runs on the same axes, for instance one statistic on several graphs.

    ``runs`` maps labels to runs, or to fits; a plain list is labeled by graph, method and kernel.
    Runs are compared by ``what="error"``, ``"spread"`` or ``"mean"``, fits by ``"objective"``,
    ``"spread"`` or ``"disagreement"``; by the first of these unless given. ``theory=True`` adds
    each run's exact expectation, and to errors the bounds, in the color of the run;
    ``theory=None`` where they are known and cheap, as in `Run.plot`.
    """
    labeled = dict(runs) if isinstance(runs, Mapping) else _labeled(runs)
    what = _compared(list(labeled.values()), what)
    curves = _compared_theory(labeled, what, theory)
    ax = new_axes(ax)
    for number, (label, run) in enumerate(labeled.items()):
        color, x = COLORS[number % len(COLORS)], run.axis(against)
        ax.plot(x, getattr(run, what), _line_style(x), color=color, label=label)
        if run.trials > 1:
            low, high = _band(getattr(run, f"trial_{what}"))
            ax.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
        for name, curve in curves[label].items():
            ax.plot(x, curve, _THEORY_STYLES[name], color=color, linewidth=1)
    for name in {name: None for known in curves.values() for name in known}:
        ax.plot([], [], _THEORY_STYLES[name], color=EXACT, linewidth=1, label=name)
    set_axis(ax, next(iter(labeled.values())), against)
    is_size = what not in ("mean", "objective")
    if is_size and any(np.nanmax(getattr(run, what)) > 0 for run in labeled.values()):
        ax.set_yscale("log")
    names = {
        "error": "RMS error over nodes",
        "spread": "standard deviation over nodes",
        "mean": "mean estimate",
        "objective": "objective of the nodes' models",
        "disagreement": "distance of the nodes' models from their mean",
    }
    ax.set_ylabel(names[what])
    ax.grid(alpha=0.25, which="major")
    ax.legend(fontsize="small", framealpha=0.8, edgecolor="none")
    return ax


def set_axis(ax: Axes, result: Run | Fit, against: str) -> None:
    """Draw against exchanges, messages, bytes, time or iterations, with their name and unit."""
    label = _AXIS_LABELS[against]
    if result.construction in ("lexicographic", "blow-up"):
        label = _GROUPED_LABELS.get(against, label)
    # Where all exchanges of the first checkpoints were local, nothing was sent yet.
    silent = against in ("messages", "bytes") and result.axis(against)[0] == 0
    ax.set_xscale("symlog" if silent else "log")
    ax.set_xlabel(label)


def network_of(result: Run | Fit) -> str:
    """Name the network in a few words."""
    family = result.sites.family or "graph"
    if result.groups is None:
        return f"{family} of {result.nodes:,} nodes"
    places = f"a {family} of {result.sites.n:,} sites" if result.sites.n > 1 else "one site"
    return f"{len(result.groups):,} rows at {places}"


def describe(run: Run) -> str:
    """Say in a line what was run where."""
    statistic = f" of {run.kernel}" if run.kernel else ""
    trials = "1 trial" if run.trials == 1 else f"{run.trials} trials"
    private = "" if run.privacy is None else f", epsilon {run.privacy.epsilon:g}"
    return f"{run.method}-{run.clock}{statistic}, {network_of(run)}{private}, {trials}"


def _draw_errors(
    ax: Axes, x: np.ndarray, run: Run, curves: TheoryCurves | None, label: str
) -> None:
    if run.trials > 1:
        low, high = _band(run.trial_error)
        shown = "10 % to 90 % of the trials"
        ax.fill_between(x, low, high, color=MEASURED, alpha=0.2, linewidth=0, label=shown)
    style = _line_style(x)
    ax.plot(x, run.error, style, color=MEASURED, label=f"{label}: RMS error over nodes")
    if curves is not None:
        label = "exact: bias of the expected estimate"
        ax.plot(x, _visible_bias(curves), "--", color=EXPECTED, label=label)
        ax.plot(x, curves.expectation_bound, ":", color=EXPECTED, label="bound on the bias")
        if np.isfinite(curves.deviation_bound).any():
            ax.plot(x, curves.deviation_bound, ":", color=BOUND, label="bound on the error")
    if run.privacy_error is not None and run.privacy_error.size > 0:
        label = "predicted: error of the reports"
        ax.axhline(run.privacy_error.size, color=EXACT, linewidth=1, linestyle="-.", label=label)
    if np.nanmax(run.error) > 0:
        ax.set_yscale("log")
    else:  # constant data: every estimate is exact
        ax.set_ylim(-1, 1)
    ax.set_ylabel("error to the exact value")


def _draw_estimates(
    ax: Axes, x: np.ndarray, run: Run, curves: TheoryCurves | None, label: str
) -> None:
    low, high = run.mean - run.spread, run.mean + run.spread
    ax.fill_between(
        x,
        low,
        high,
        color=MEASURED,
        alpha=0.2,
        linewidth=0,
        label="± standard deviation over nodes",
    )
    ax.plot(x, run.mean, _line_style(x), color=MEASURED, label=label)
    if curves is not None:
        ax.plot(x, curves.expected_mean, "--", color=EXPECTED, label="exact expectation")
    exact = float(np.mean(run.target))
    if np.isfinite(exact):
        ax.axhline(exact, color=EXACT, linewidth=1, label="exact value")
    ax.set_ylabel(f"estimate ({run.kernel})" if run.kernel else "estimate (mean)")


def _visible_bias(curves: TheoryCurves) -> np.ndarray:
    """In the separable case the exact bias falls to rounding error; below that it is noise."""
    noise = 1e-14 * np.nanmax(curves.expected_error)
    return np.where(curves.expected_error > noise, curves.expected_error, np.nan)


def _compared_theory(
    labeled: Mapping[str, Run | Fit], what: str, wanted: bool | None
) -> dict[str, dict[str, np.ndarray]]:
    """Return for every label what theory says of the run, by the name of the curve."""
    found: dict[str, dict[str, np.ndarray]] = {label: {} for label in labeled}
    if wanted and what not in ("error", "mean"):
        raise InputError(
            f"Theory says nothing of '{what}': compare runs by 'error' or 'mean', or leave "
            "theory= out."
        )
    for label, run in labeled.items():
        if not isinstance(run, Run) or what not in ("error", "mean"):
            continue
        try:
            curves = _theory_for(run, wanted)
        except InputError as reason:
            raise InputError(f"There is no theory of '{label}': {reason}") from None
        if curves is not None:
            found[label] = _shown_theory(curves, what)
    return found


def _shown_theory(curves: TheoryCurves, what: str) -> dict[str, np.ndarray]:
    if what == "mean":
        return {"exact expectation": curves.expected_mean}
    shown = {
        "exact bias": _visible_bias(curves),
        "bound on the bias": curves.expectation_bound,
        "bound on the error": curves.deviation_bound,
    }
    return {name: curve for name, curve in shown.items() if np.isfinite(curve).any()}


def _theory_for(run: Run, wanted: bool | None) -> TheoryCurves | None:
    if wanted is False:
        return None
    if wanted is None and run.known_theory is None and run.nodes > LARGEST_UNASKED_THEORY:
        return None
    try:
        return run.theory()
    except InputError:
        if wanted:
            raise
        return None


def _line_style(x: np.ndarray) -> str:
    """A line through one checkpoint would be invisible."""
    return "-" if len(x) > 1 else "o"


def _band(per_trial: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The 10th and 90th percentile over trials, NaN where no trial is defined."""
    low, high = np.full((2, per_trial.shape[1]), np.nan)
    known = ~np.isnan(per_trial).all(axis=0)
    low[known], high[known] = np.nanpercentile(per_trial[:, known], (10, 90), axis=0)
    return low, high


def _compared(runs: list[Run | Fit], what: str | None) -> str:
    """Return by what runs, or fits, are compared."""
    if not runs:
        raise InputError("There is nothing to compare: give at least one run.")
    kinds = {type(run) for run in runs}
    if len(kinds) > 1:
        raise InputError("A Run and a Fit share no axes: compare results of one kind.")
    is_run = kinds == {Run}
    choices = ("error", "spread", "mean") if is_run else ("objective", "spread", "disagreement")
    what = choices[0] if what is None else what
    if what not in choices:
        plural, last = ("Runs" if is_run else "Fits"), choices[-1]
        listed = ", ".join(f"'{choice}'" for choice in choices[:-1])
        raise InputError(f"{plural} are compared by {listed} or '{last}', not '{what}'.")
    return what


def _labeled(runs: Sequence[Run | Fit]) -> dict[str, Run | Fit]:
    """Label runs by what they are, numbering those that are alike."""
    labeled: dict[str, Run | Fit] = {}
    for run in runs:
        family = run.sites.family or "graph"
        construction = f", {run.construction}" if run.construction else ""
        label = f"{family} ({run.nodes:,}){construction}, {_what_ran(run)}"
        alike = sum(known.partition(" #")[0] == label for known in labeled)
        labeled[f"{label} #{alike + 1}" if alike else label] = run
    return labeled


def _what_ran(result: Run | Fit) -> str:
    if isinstance(result, Fit):
        return f"{result.loss}, {result.clock}"
    statistic = f" of {result.kernel}" if result.kernel else ""
    return f"{result.method}-{result.clock}{statistic}"


def new_axes(ax: Axes | None) -> Axes:
    """Return the axes given, or new ones."""
    if ax is not None:
        return ax
    with needed_for("Drawing"):
        from matplotlib import pyplot
    _, created = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    return created


# Curves of a fit: the objective with its spread over nodes, and the gradient bias.


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
