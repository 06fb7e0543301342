"""A saved run or fit as curves: what was measured, what is expected, what is guaranteed."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.results.fit import Fit
from pairgossip.results.plots import network_of
from pairgossip.results.run import AGAINST, Run
from pairgossip.theory import TheoryCurves

MEASURED, EXPECTED, BOUND = "solid", "dashed", "dotted"
AXIS_NAMES = {
    "exchanges": "exchanges",
    "iterations": "iterations",
    "messages": "messages sent",
    "bytes": "bytes sent (payload)",
    "time": "time (one exchange per node and unit)",
}


def result_content(result: Run | Fit) -> dict[str, Any]:
    """Everything a page needs to draw a result in several ways."""
    charts = _run_charts(result) if isinstance(result, Run) else _fit_charts(result)
    return {
        "title": title_of(result),
        "facts": _facts(result),
        "axes": _axes(result),
        "charts": charts,
    }


def title_of(result: Run | Fit) -> str:
    """Say in a few words what ran where."""
    if isinstance(result, Fit):
        return f"{result.loss}, {result.clock}, {network_of(result)}"
    statistic = f" of {result.kernel}" if result.kernel else ""
    return f"{result.method}-{result.clock}{statistic}, {network_of(result)}"


def _facts(result: Run | Fit) -> list[tuple[str, Any]]:
    facts: list[tuple[str, Any]] = [
        ("trials", result.trials),
        ("iterations", int(result.iterations[-1])),
        ("messages", float(result.messages[-1])),
        ("law", result.law),
        ("seed", str(result.seed)),
        ("status", result.status),
    ]
    if isinstance(result, Fit):
        facts[:0] = [("last objective", float(result.objective[-1]))]
        facts.append(("step", result.step))
        return facts
    exact = "one per node" if np.ndim(result.target) else float(result.target)
    facts[:0] = [
        ("last mean", float(result.mean[-1])),
        ("exact value", exact),
        ("last error", float(result.error[-1])),
    ]
    return facts


def _axes(result: Run | Fit) -> dict[str, dict[str, Any]]:
    """The x axes that the result has."""
    axes = {}
    for name in AGAINST:
        try:
            axes[name] = {"label": AXIS_NAMES.get(name, name), "values": result.axis(name)}
        except InputError:  # a synchronous run has no times, an old one no bytes
            continue
    return axes


def _run_charts(run: Run) -> dict[str, dict[str, Any]]:
    theory = run.known_theory
    mean, spread = run.mean, run.spread
    estimate = [
        _curve("mean over nodes", mean, band=(mean - spread, mean + spread), of="± spread"),
        *([] if theory is None else [_curve("exact expectation", theory.expected_mean, EXPECTED)]),
    ]
    if np.isfinite(np.mean(run.target)):
        exact = np.full(len(mean), float(np.mean(run.target)))
        estimate.append(_curve("exact value", exact, BOUND))
    statistic = run.kernel or "mean"
    charts = {
        "error": _chart("RMS error over nodes", _errors(run, theory), log=True),
        "estimate": _chart(f"estimate ({statistic})", estimate, log=False),
        "spread": _chart(
            "standard deviation over nodes",
            [_curve("spread", spread, band=_band(run.trial_spread))],
            log=True,
        ),
    }
    if not np.isfinite(run.error).any():
        del charts["error"]  # because the exact value is unknown
    return charts


def _errors(run: Run, theory: TheoryCurves | None) -> list[dict[str, Any]]:
    curves = [_curve("error", run.error, band=_band(run.trial_error))]
    if theory is None:
        return curves
    # In the separable case the exact bias falls to rounding error; below that it is noise.
    noise = 1e-14 * np.nanmax(theory.expected_error, initial=0.0)
    bias = np.where(theory.expected_error > noise, theory.expected_error, np.nan)
    curves += [
        _curve("exact bias", bias, EXPECTED, aside=True),
        _curve("bound on the bias", theory.expectation_bound, BOUND, aside=True),
    ]
    if np.isfinite(theory.deviation_bound).any():
        bound = theory.deviation_bound
        curves.append(_curve("bound on the error", bound, BOUND, aside=True))
    return curves


def _fit_charts(fit: Fit) -> dict[str, dict[str, Any]]:
    middle, spread = fit.objective, fit.spread
    objective = _curve(
        "objective of the nodes' models", middle, band=(middle - spread, middle + spread),
        of="± spread over nodes",
    )  # fmt: skip
    apart = _curve("disagreement", fit.disagreement, band=_band(fit.trial_disagreement))
    charts = {
        "objective": _chart("objective", [objective], log=False),
        "disagreement": _chart("distance of models from their mean", [apart], log=True),
        "spread": _chart(
            "standard deviation of the objective over nodes",
            [_curve("spread", spread, band=_band(fit.trial_spread))],
            log=True,
        ),
    }
    if fit.bias is not None:
        size = _curve("size of the gradient bias", fit.bias.norm.mean(axis=0))
        term = _curve("|bias . network model|", np.abs(fit.bias.plotted).mean(axis=0), EXPECTED)
        charts["bias"] = _chart("gradient bias", [size, term], log=True)
    return charts


def _chart(label: str, curves: list[dict[str, Any]], *, log: bool) -> dict[str, Any]:
    return {"label": label, "log": log, "curves": curves}


def _curve(
    label: str,
    values: FloatArray,
    dash: str = MEASURED,
    *,
    band: tuple[FloatArray, FloatArray] | None = None,
    of: str = "10 % to 90 % of the trials",
    aside: bool = False,
) -> dict[str, Any]:
    """Describe a curve; the axis makes no room for one aside, such as a bound far above."""
    return {
        "label": label,
        "values": values,
        "dash": dash,
        "aside": aside,
        "band": band,
        "band_label": None if band is None else of,
    }


def _band(per_trial: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """The 10th and 90th percentile over trials; none for a single trial, or if all is unknown."""
    known = ~np.isnan(per_trial).all(axis=0)
    if len(per_trial) < 2 or not known.any():
        return None
    low, high = np.full((2, per_trial.shape[1]), np.nan)
    low[known], high[known] = np.nanpercentile(per_trial[:, known], (10, 90), axis=0)
    return low, high
