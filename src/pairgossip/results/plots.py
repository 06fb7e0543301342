"""Figures of runs and fits, drawn from the catalog in `charts`, and pictures of networks."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError, needed_for
from pairgossip.graphs.layout import place_nodes, visible_edges
from pairgossip.results.charts import CHARTS, Comparison, find_chart
from pairgossip.results.curves import (
    EXACT,
    ROUNDS,
    Chart,
    Curve,
    axis_label,
    compared_look,
    describe,
    error_theory,
    mean_theory,
    percentile_band,
    wall,
    what_ran,
)
from pairgossip.text import format_count, join_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pairgossip.results.fit import Fit
    from pairgossip.results.run import Run
    from pairgossip.theory import TheoryCurves

LARGEST_UNASKED_THEORY = 1_000
"""Largest number of nodes for which a plot adds theory by default: it takes seconds."""
LARGEST_PICTURE = 20_000
_MOST_EDGES_DRAWN = 20_000
_COLORED_SHARE = 0.95
_FEW_POINTS = 20
"""Largest number of points that are all marked: rounds are few, and a line alone hides them."""
_MARKS = 8
"""Approximate number of marks on a longer curve where markers distinguish curves."""
_TITLE_WIDTH = 80
"""Number of letters in a line of a title."""
_MOST_IN_LEGEND = 8
"""Largest number of results whose legend is inside the axes; a longer one is beside them."""
_WIDTH, _WIDTH_WITH_LEGEND, _HEIGHT = 7.0, 10.0, 4.5
"""Width and height of a figure, in inches."""


def plot_result(
    result: Run | Fit,
    what: str,
    *,
    against: str,
    theory: bool | None = None,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one run or fit; see `Run.plot` and `Fit.plot`."""
    chart = find_chart(result.kind, what)
    if (problem := chart.refuse(result)) is not None:
        raise problem
    known = _theory_for(result, theory) if result.kind == "run" else None
    ax = _draw_chart(result, chart.make(result, known), against, label, ax)
    if what == "error":
        _draw_wall(ax, result, against)
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
    ``"spread"`` or ``"disagreement"``; by default by the first of these. ``theory=True`` adds
    each run's exact expectation, and to errors the bounds, in the color of the run;
    ``theory=None`` where they are known and cheap, as in `Run.plot`.
    """
    labeled = dict(runs) if isinstance(runs, Mapping) else _label_results(runs)
    what, quantity_label, is_log = _find_comparison(list(labeled.values()), what)
    theories = _theory_by_label(labeled, what, theory)
    are_many = len(labeled) > _MOST_IN_LEGEND
    ax = _new_axes(ax, _WIDTH_WITH_LEGEND if are_many else _WIDTH)
    for number, (label, run) in enumerate(labeled.items()):
        (color, marker), x = compared_look(number), run.axis(against)
        band = percentile_band(getattr(run, f"trial_{what}"))
        curve = Curve(label, getattr(run, what), color, band=band)
        _draw_curve(ax, x, curve, alpha=0.15, marker=marker)
        for theory_curve in theories[label]:
            _draw_curve(ax, x, theory_curve._replace(label="", color=color), linewidth=1)
    for name, style in {c.label: c.style for curves in theories.values() for c in curves}.items():
        ax.plot([], [], style, color=EXACT, linewidth=1, label=name)
    _set_axis(ax, list(labeled.values()), against)
    if is_log and any((getattr(run, what) > 0).any() for run in labeled.values()):
        ax.set_yscale("log")
    ax.set_ylabel(quantity_label)
    _add_grid_and_legend(ax, beside=are_many)
    return ax


def _draw_curve(
    ax: Axes,
    x: np.ndarray,
    curve: Curve,
    *,
    alpha: float = 0.2,
    linewidth: float | None = None,
    marker: str = "",
) -> None:
    """Draw a curve with its band; one without a label is not in the legend."""
    if curve.band is not None:
        ax.fill_between(
            x, *curve.band, color=curve.color, alpha=alpha, linewidth=0, label=curve.band_label
        )
    style = curve.style if len(x) > 1 else "o"  # a line through one point would be invisible
    (line,) = ax.plot(x, curve.y, style, color=curve.color, linewidth=linewidth, label=curve.label)
    few = len(x) <= _FEW_POINTS and curve.style == "-"
    if marker or few:
        line.set(marker=marker or "o", markersize=4, markevery=1 if few else len(x) // _MARKS)


def _draw_wall(ax: Axes, result: Run | Fit, against: str) -> None:
    """Mark the region where no method can have an answer yet, if the run got that far."""
    limit = wall(result, against)
    if limit is None:
        return
    left = ax.get_xlim()[0]
    span = ax.axvspan(left, limit[0], color=EXACT, alpha=0.08, linewidth=0)
    span.sticky_edges.x.append(left)  # no margin beside it: there is no answer there either
    ax.axvline(limit[0], color=EXACT, linewidth=1, label=limit[1])
    _add_grid_and_legend(ax)


def _set_axis(ax: Axes, results: Sequence[Run | Fit], against: str) -> None:
    """Draw against exchanges, messages, bytes, time or iterations, with their name and unit."""
    # If all exchanges are local, nothing is sent, and a lone node has no exchanges.
    silent = any(result.axis(against)[0] == 0 for result in results)
    label = axis_label(results[0], against)
    are_rounds = all(result.kind == "fit" and result.has_rounds for result in results)
    ax.set_xscale("linear" if are_rounds else "symlog" if silent else "log")
    if are_rounds and label == ROUNDS:
        ax.locator_params("x", integer=True)
    ax.set_xlabel(label)


def _new_axes(ax: Axes | None, width: float = _WIDTH) -> Axes:
    """Return the axes given, or new ones."""
    if ax is not None:
        return ax
    with needed_for("Drawing"):
        from matplotlib import pyplot
    _, created = pyplot.subplots(figsize=(width, _HEIGHT), layout="constrained")
    return created


def _draw_chart(
    result: Run | Fit, chart: Chart, against: str, label: str | None, ax: Axes | None
) -> Axes:
    x = result.axis(against)
    ax = _new_axes(ax)
    first, *others = chart.curves
    named = first if label is None else first._replace(label=f"{label}: {first.label}")
    for curve in (named, *others):
        _draw_curve(ax, x, curve)
    if chart.log:
        ax.set_yscale("log")
    elif not np.any(first.y):  # constant data: every estimate is exact
        ax.set_ylim(-1, 1)
    _set_axis(ax, [result], against)
    ax.set_ylabel(chart.label)
    ax.set_title(_title(result), fontsize="medium")
    _add_grid_and_legend(ax)
    return ax


def _add_grid_and_legend(ax: Axes, *, beside: bool = False) -> None:
    ax.grid(alpha=0.25, which="major")
    place: Any = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if beside else {}
    ax.legend(fontsize="small", framealpha=0.8, edgecolor="none", **place)


def _theory_by_label(
    labeled: Mapping[str, Run | Fit], what: str, asked: bool | None
) -> dict[str, tuple[Curve, ...]]:
    """Return for every label the curves of theory."""
    curves: dict[str, tuple[Curve, ...]] = dict.fromkeys(labeled, ())
    if what not in ("error", "mean"):
        if asked:
            raise InputError(
                f"There is no theory for '{what}': compare runs by 'error' or 'mean', or leave "
                "theory= out."
            )
        return curves
    for label, run in labeled.items():
        assert run.kind == "run"  # fits are not compared by these
        try:
            theory = _theory_for(run, asked)
        except InputError as reason:
            raise InputError(f"There is no theory for '{label}': {reason}") from None
        if theory is not None:
            curves[label] = error_theory(theory) if what == "error" else mean_theory(theory)
    return curves


def _theory_for(run: Run, asked: bool | None) -> TheoryCurves | None:
    if asked is False:
        return None
    if asked is None and run.known_theory is None and run.nodes > LARGEST_UNASKED_THEORY:
        return None
    try:
        return run.theory()
    except InputError:
        if asked:
            raise
        return None


def _find_comparison(results: list[Run | Fit], what: str | None) -> Comparison:
    """Return the curve by which runs, or fits, are compared."""
    if not results:
        raise InputError("There is nothing to compare: give at least one run.")
    kinds = {result.kind for result in results}
    if len(kinds) > 1:
        raise InputError("A Run and a Fit share no axes: compare results of one kind.")
    catalog = CHARTS[results[0].kind].values()
    choices = {chart.compared.name: chart.compared for chart in catalog if chart.compared}
    what = next(iter(choices)) if what is None else what
    if what not in choices:
        plural = f"{results[0].kind.capitalize()}s"
        named = join_names([f"'{choice}'" for choice in choices], "or")
        raise InputError(f"{plural} are compared by {named}, not '{what}'.")
    return choices[what]


def _title(result: Run | Fit) -> str:
    return textwrap.fill(describe(result), _TITLE_WIDTH)


def _label_results(results: Sequence[Run | Fit]) -> dict[str, Run | Fit]:
    """Label results by family, size and method, and number those with the same label."""
    labeled: dict[str, Run | Fit] = {}
    for result in results:
        family = result.sites.family or "graph"
        construction = f", {result.construction}" if result.construction else ""
        of = "" if result.positive is None else f" (positive: {result.positive})"
        of += "" if result.faults is None else f", {result.faults}"
        label = f"{family} ({result.nodes:,}){construction}, {what_ran(result)}{of}"
        alike = sum(other.partition(" #")[0] == label for other in labeled)
        labeled[f"{label} #{alike + 1}" if alike else label] = result
    return labeled


def plot_graph(run: Run, *, trial: int = 0, checkpoint: int = -1, ax: Axes | None = None) -> Axes:
    """Draw one trial's network at one checkpoint; see `Run.plot_graph`."""
    graph = run.sites
    if graph.n > LARGEST_PICTURE:
        raise InputError(
            f"A picture of {graph.n:,} nodes would show nothing: the limit is {LARGEST_PICTURE:,}."
        )
    estimates = run.by_site(_estimates_at(run, trial, checkpoint))
    positions = place_nodes(graph)
    center = float(np.mean(run.target))
    if not np.isfinite(center):
        center = float(np.nanmean(estimates))
    reach = _reach(estimates - center)
    ax = _new_axes(ax)
    if graph.edge_count <= _MOST_EDGES_DRAWN:
        from matplotlib.collections import LineCollection

        edges = visible_edges(graph, positions)
        # Many edges overlap: if they are faint, their density still shows.
        alpha = float(np.clip(400 / max(len(edges), 1), 0.03, 0.6))
        look: Any = {"colors": "#777777", "linewidths": 0.6, "alpha": alpha}
        ax.add_collection(LineCollection(list(positions[edges]), **look))
    points = ax.scatter(
        positions[:, 0],
        positions[:, 1],
        c=estimates,
        cmap="RdBu_r",
        vmin=center - reach,
        vmax=center + reach,
        s=float(np.clip(4_000 / graph.n, 3, 120)),
        edgecolors="#444444",
        linewidths=0.3,
        zorder=2,
    )
    bar = ax.figure.colorbar(points, ax=ax, shrink=0.8, extend="both")
    bar.set_label("estimate (white: exact value)" if np.ndim(run.target) == 0 else "estimate")
    ax.set_aspect("equal")
    ax.set_axis_off()
    after = format_count(run.iterations[checkpoint], "iteration")
    number = trial % run.trials
    which = f"trial {number}, " if run.trials > 1 else ""
    ax.set_title(f"{_title(run)}\n{which}after {after}", fontsize="medium")
    return ax


def _reach(deviations: FloatArray) -> float:
    """Return the ends of the color scale, which one far-off node must not stretch."""
    sizes = np.abs(deviations[~np.isnan(deviations)])
    return float(np.quantile(sizes, _COLORED_SHARE)) or 1.0 if sizes.size else 1.0


def _estimates_at(run: Run, trial: int, checkpoint: int) -> FloatArray:
    if not -run.trials <= trial < run.trials:
        raise InputError(f"There is no trial {trial}: the run has {run.trials}.")
    count = len(run.iterations)
    if not -count <= checkpoint < count:
        raise InputError(f"There is no checkpoint {checkpoint}: the run has {count}.")
    if checkpoint in (-1, count - 1):
        return run.estimates[trial]
    if run.history is None:
        raise InputError(
            "This run kept summaries only: estimate again with {argument} to draw "
            "checkpoints before the last.",
            "record",
            "nodes",
        )
    estimates: FloatArray = run.history[trial, checkpoint]
    return estimates
