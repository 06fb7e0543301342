"""The catalog of charts of runs and fits.

Figures (`plots`), the command line and the page of `pairgossip watch` draw the charts listed here,
so that a result reads the same in all of them, and a new chart is one entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairgossip.errors import InputError
from pairgossip.pictures.picture import Area, Line, Part, Picture
from pairgossip.results.curves import (
    BOUND,
    EXACT,
    EXPECTED,
    SAMPLING,
    Chart,
    Curve,
    axis_label,
    curve_with_band,
    error_theory,
    mean_theory,
)
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.results.fit import Fit
    from pairgossip.results.run import Run
    from pairgossip.theory import TheoryCurves


class Comparison(NamedTuple):
    """The curve by which several results are compared."""

    name: str
    """The attribute of results that holds the curve; with `trial_` before it, that of all trials.
    """
    label: str
    log: bool = True


class ChartKind(NamedTuple):
    """A chart of a result."""

    title: str
    make: Callable[[Any, TheoryCurves | None], Chart]
    refuse: Callable[[Any], InputError | None] = lambda result: None
    """Return the reason why a result cannot be drawn; None if it can."""
    compared: Comparison | None = None
    """None if the chart is only drawn of single results."""


def find_chart(kind: str, what: str) -> ChartKind:
    """Return a chart of a kind of results, "run" or "fit"; refuse an unknown one."""
    if what not in CHARTS[kind]:
        named = join_names([f"'{name}'" for name in CHARTS[kind]], "or")
        raise InputError(f"A {kind} is drawn as {named}, not '{what}'.")
    return CHARTS[kind][what]


def make_charts(result: Run | Fit, theory: TheoryCurves | None = None) -> dict[str, Chart]:
    """Return all charts of a result, by name."""
    return {
        name: chart.make(result, theory)
        for name, chart in CHARTS[result.kind].items()
        if chart.refuse(result) is None
    }


def draw_chart(result: Run | Fit) -> Picture | None:
    """Return a small picture of the estimates, or the objective; None where none is known."""
    name = "estimate" if result.kind == "run" else "objective"
    chart, x = CHARTS[result.kind][name].make(result, None), result.axis("exchanges")
    if not any(np.isfinite(curve.y).any() for curve in chart.curves):
        return None
    parts: list[Part] = []
    for curve in chart.curves:
        if curve.band is not None:
            parts.append(Area(x, *curve.band, curve.band_label, curve.color))
        if curve.label:
            parts.append(Line(x, curve.y, curve.label, curve.color, curve.style))
    is_log = bool(x[0] > 0) and len(x) > 1 and not (result.kind == "fit" and result.has_rounds)
    return Picture(tuple(parts), axis_label(result, "exchanges"), chart.label, x_log=is_log)


def _errors(run: Run, theory: TheoryCurves | None) -> Chart:
    curves = [curve_with_band("measured error", run.error, run.trial_error)]
    if run.has_dishonest and run.honest_error is not None and run.trial_honest_error is not None:
        honest = curve_with_band("error of honest nodes", run.honest_error, run.trial_honest_error)
        curves = [honest, Curve("error of all nodes", run.error, SAMPLING, ":", aside=True)]
    if theory is not None:
        curves += error_theory(theory)
    if run.sketch_error:
        remaining = np.full(len(run.iterations), run.sketch_error)
        curves.append(Curve("error of the sketch", remaining, EXACT, "-."))
    if run.privacy_error is not None and run.privacy_error.size > 0:
        reports = np.full(len(run.iterations), run.privacy_error.size)
        curves.append(Curve("predicted error of the reports", reports, EXACT, "-."))
    if (answer := run.answer) is not None and np.isfinite(answer.error):
        rows = np.full(len(run.iterations), answer.error)
        curves.append(Curve("sampling error", rows, SAMPLING, "-."))
    # The errors of constant data are all zero.
    return Chart("RMS error over nodes", bool(np.nanmax(run.error) > 0), tuple(curves))


def _estimates(run: Run, theory: TheoryCurves | None) -> Chart:
    band = (run.mean - run.spread, run.mean + run.spread)
    label = "± standard deviation over nodes"
    curves = [Curve("mean over nodes and trials", run.mean, band=band, band_label=label)]
    if theory is not None:
        curves += mean_theory(theory)
    exact = float(np.mean(run.target))
    if np.isfinite(exact):
        curves.append(Curve("exact value", np.full(len(run.mean), exact), EXACT, ":"))
        if run.answer is not None and np.isfinite(run.answer.error):
            curves.append(_sampling_band(run, exact))
    return Chart(f"estimate ({run.kernel or 'mean'})", False, tuple(curves))


def _sampling_band(run: Run, exact: float) -> Curve:
    """Return the interval around the exact value, from the nodes' sampling errors; no line."""
    answer, count = run.answer_about(exact), len(run.iterations)
    band = (np.full(count, answer.low), np.full(count, answer.high))
    label = f"sampling error, {100 * answer.level:g} % interval"
    return Curve("", np.full(count, np.nan), SAMPLING, band=band, band_label=label)


def _bias(fit: Fit, theory: TheoryCurves | None) -> Chart:
    assert fit.bias is not None
    term = np.abs(fit.bias.plotted).mean(axis=0)
    curves = (
        Curve("size of the gradient bias", fit.bias.norm.mean(axis=0)),
        Curve("|bias . network model|, as in the paper", term, EXPECTED, "--"),
        Curve("objective", fit.objective, BOUND, ":"),
    )
    return Chart("gradient bias", True, curves)


def _deviations(run: Run, theory: TheoryCurves | None) -> Chart:
    spread = curve_with_band("spread", run.spread, run.trial_spread)
    return Chart("standard deviation over nodes", True, (spread,))


def _refuse_errors(run: Run) -> InputError | None:
    if np.isfinite(run.error).any():
        return None
    reason, remedy = ("its exact value is", "a reference")
    if np.isfinite(run.target).all():
        reason, remedy = ("no node has an estimate yet", "more iterations")
    return InputError(
        f"The errors of this run are unknown, because {reason}: draw {{argument}}, or estimate "
        f"again with {remedy}.",
        "what",
        "estimate",
    )


def _objective(fit: Fit, theory: TheoryCurves | None) -> Chart:
    middle, spread = fit.objective, fit.spread
    # Along a tree all nodes have the same model.
    band = (middle - spread, middle + spread) if np.nanmax(spread, initial=0.0) > 0 else None
    label = "± standard deviation over judged nodes"
    objective = Curve("objective of the nodes' models", middle, band=band, band_label=label)
    return Chart(f"objective ({fit.loss})", False, (objective,))


def _chart_of_trials(name: str, label: str) -> ChartKind:
    """Return the chart of a curve over trials, by which several fits are compared, too."""

    def make(fit: Fit, theory: TheoryCurves | None) -> Chart:
        curve = curve_with_band(name, getattr(fit, name), getattr(fit, f"trial_{name}"))
        return _spread_chart(label, curve)

    title = "spread over nodes" if name == "spread" else name
    return ChartKind(title, make, compared=Comparison(name, label))


def _spread_chart(label: str, curve: Curve) -> Chart:
    """Return a chart on a logarithmic axis, or a plain one if all nodes agree, as along a tree."""
    return Chart(label, bool((curve.y > 0).any()), (curve,))


def _gradient_error(fit: Fit, theory: TheoryCurves | None) -> Chart:
    """Return the possible error of sketched slopes of pairs; unknown before the first."""
    assert fit.gradient_error is not None
    curve = curve_with_band("gradient error", fit.gradient_error.mean(axis=0), fit.gradient_error)
    return _spread_chart("how far slopes of pairs may be off, relatively", curve)


def _refuse_gradient_error(fit: Fit) -> InputError | None:
    if fit.has_rounds:
        return None
    return InputError(
        "This fit has no gradient error, as its gradients are those of single pairs: minimize "
        "again with {argument}.",
        "method",
        "sketch",
    )


def _refuse_bias(fit: Fit) -> InputError | None:
    if fit.has_rounds:
        return InputError("Sketched gradients are over all pairs and have no bias.")
    if fit.bias is None:
        return InputError("This fit has no gradient bias: minimize again with bias=True.")
    return None


CHARTS: dict[str, dict[str, ChartKind]] = {
    "run": {
        "error": ChartKind(
            "error", _errors, _refuse_errors, Comparison("error", "RMS error over nodes")
        ),
        "estimate": ChartKind(
            "estimate", _estimates, compared=Comparison("mean", "mean estimate", log=False)
        ),
        "spread": ChartKind(
            "spread over nodes",
            _deviations,
            compared=Comparison("spread", "standard deviation over nodes"),
        ),
    },
    "fit": {
        "objective": ChartKind(
            "objective",
            _objective,
            compared=Comparison("objective", "objective of the nodes' models", log=False),
        ),
        "disagreement": _chart_of_trials("disagreement", "RMS distance of models from their mean"),
        "spread": _chart_of_trials("spread", "standard deviation over judged nodes"),
        "gradient-error": ChartKind("gradient error", _gradient_error, _refuse_gradient_error),
        "bias": ChartKind("gradient bias", _bias, _refuse_bias),
    },
}
"""The charts by kind of result and name; the first one is the default."""
