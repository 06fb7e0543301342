"""What a run or training found: tables for people, one object for programs, a figure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray, root_mean_square
from pairgossip.cli.console import (
    format_value,
    new_table,
    optional_work,
    write_line,
    write_rows,
    write_table,
)
from pairgossip.cli.graph import describe_graph
from pairgossip.errors import InputError, PairgossipError
from pairgossip.graphs import GroupedGraph
from pairgossip.inference import Answer
from pairgossip.privacy.estimation import as_record
from pairgossip.results import Fit, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pairgossip.cli.data import Observations
    from pairgossip.cli.options import DescentOptions
    from pairgossip.cli.train import LossOptions


_Facts = dict[str, Any]
_LARGEST_UNASKED_GAP = 20_000
"""Above this many nodes a gap without formula may take longer than the run."""


def _group_facts(result: Run | Fit, column: str | None) -> _Facts | None:
    """Return by name how the rows lie at the sites; None without groups."""
    if result.groups is None:
        return None
    sizes, graph = np.bincount(result.groups, minlength=result.sites.n), result.graph
    return {
        "column": column,
        "construction": result.construction,
        "rows": len(result.groups),
        "sites": result.sites.n,
        "size_min": int(sizes.min()),
        "size_median": float(np.median(sizes)),
        "size_max": int(sizes.max()),
        # With whole sets, all exchanges are between sites.
        "network_share": graph.network_fraction(result.law)
        if isinstance(graph, GroupedGraph)
        else 1.0,
    }


def _traffic_facts(result: Run | Fit) -> _Facts:
    """Return by name what was exchanged and sent in all; with groups, means over the trials."""
    return {
        "network_exchanges": _whole(float(result.network_exchanges[:, -1].mean())),
        "local_exchanges": _whole(float(result.local_exchanges[:, -1].mean())),
        "messages": _whole(float(result.messages[-1])),
        "bytes": _whole(float(result.bytes[-1])),
    }


def _group_rows(facts: _Facts | None) -> list[tuple[str, str]]:
    """Return the lines of a table about the sites; none without groups."""
    if facts is None:
        return []
    low, high = facts["size_min"], facts["size_max"]
    return [
        ("rows", format_value(facts["rows"])),
        ("sites", format_value(facts["sites"])),
        ("rows per site: min, median, max", f"{low:,}, {facts['size_median']:,g}, {high:,}"),
        ("construction", facts["construction"]),
        ("share of exchanges between sites", format_value(facts["network_share"], 4)),
    ]


def _dropped_rows(found: _Facts) -> list[tuple[str, str]]:
    """Return the line of a table about rows with missing entries; none if there were none."""
    count = found["rows_dropped"]
    return [("rows left out, entries missing", format_value(count))] if count else []


def _traffic_rows(found: _Facts) -> list[tuple[str, str]]:
    """Return the lines of a table about what was sent, local exchanges apart if there are sites."""
    sent = [
        ("messages", _format_mean(found["messages"])),
        ("bytes sent", _format_mean(found["bytes"])),
    ]
    if found["groups"] is None:
        return sent
    return [
        ("exchanges between sites", _format_mean(found["network_exchanges"])),
        ("exchanges within sites, free", _format_mean(found["local_exchanges"])),
        *sent,
    ]


def _whole(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def _format_mean(number: float) -> str:
    """Format a mean of counts without its fraction."""
    return f"{round(number):,}"


def _privacy_facts(result: Run | Fit) -> _Facts | None:
    """Return by name what is promised and what it costs; None without privacy."""
    mechanism = result.privacy
    if mechanism is None:
        return None
    facts: _Facts = {
        "epsilon": mechanism.epsilon,
        "bins": list(mechanism.bins),
        "guarantee": mechanism.guarantee(),
    }
    if isinstance(result, Run) and result.privacy_error and result.private_values is not None:
        facts |= {
            "reports_value": float(result.private_values.mean()),
            "standard_error": result.privacy_error.standard_error,
            "binning_bias": result.privacy_error.binning_bias,
            "predicted_error": result.privacy_error.size,
        }
    return facts


def _privacy_rows(facts: _Facts | None) -> list[tuple[str, str]]:
    """Return the lines of a table about private reports; none without privacy."""
    if facts is None:
        return []
    rows = [
        ("epsilon", format_value(facts["epsilon"])),
        ("bins", ", ".join(map(str, facts["bins"]))),
    ]
    if "reports_value" in facts:
        rows += [
            ("value of the reports, mean over trials", format_value(facts["reports_value"], 8)),
            ("predicted error of the reports", format_value(facts["predicted_error"], 4)),
            ("of it, standard error", format_value(facts["standard_error"], 4)),
            ("of it, bias of the bins", format_value(facts["binning_bias"], 4)),
        ]
    return rows


def _error_facts(run: Run) -> _Facts:
    """Return by name the two errors of a run, over nodes and trials; None unless asked for."""
    answer = run.answer
    errors = {
        name: None if getattr(run, name) is None else root_mean_square(getattr(run, name))
        for name in ("sampling_error", "site_error", "gossip_error")
    }
    interval = None if answer is None else (answer.low, answer.high)
    return {"level": run.level, "interval": interval, **errors, "enough": run.enough}


def _error_lines(run: Run, found: _Facts) -> Iterator[str]:
    """Say each error of a run in its own words; nothing unless they were asked for."""
    answer = run.answer
    if answer is None:
        return
    noise = run.privacy_error
    yield format_sampling_error(answer, shows_interval=noise is None)
    if found["site_error"] is not None:
        yield format_site_error(found["site_error"])
    yield (
        f"gossip error {format_value(found['gossip_error'], 3)}: how far nodes still are from the "
        "value of these rows; falls with messages"
    )
    if noise is not None:
        yield (
            f"noise of private reports {format_value(noise.standard_error, 3)}: how far reports "
            "alone put the value off; falls with rows and a larger epsilon"
        )
        yield f"sampling error and noise together, {_format_interval(answer)}"
    if run.enough is not None and run.enough.all():
        yield f"enough after {np.median(run.enough):,.0f} iterations (median over trials)"


def format_sampling_error(answer: Answer, *, shows_interval: bool = True) -> str:
    """Say what the error of an answer means, with its interval."""
    interval = f" ({_format_interval(answer)})" if shows_interval else ""
    return (
        f"sampling error {format_value(answer.error, 3)}{interval}: how far these rows may be from "
        "the population; falls with rows only"
    )


def format_site_error(error: float | Answer) -> str:
    """Say what the error is if whole sites are drawn, with the interval of an answer."""
    size, interval = error, ""
    if isinstance(error, Answer):
        size, interval = error.error, f" ({_format_interval(error)})"
    return (
        f"sampling error by site {format_value(size, 3)}{interval}: the same if sites are drawn "
        "whole, whose rows may be alike; falls with sites only"
    )


def _format_interval(answer: Answer) -> str:
    """Format the level and the ends of an interval, if there is one."""
    if not math.isfinite(answer.low + answer.high):
        return "no interval: the value is unknown, or at the end of what it can be"
    return str(answer).partition("(")[2].removesuffix(")")


def _sketch_facts(run: Run) -> _Facts | None:
    """Return by name what the sketch that nodes averaged is worth; None without a sketch."""
    if run.sketch is None:
        return None
    return {
        "name": run.sketch,
        "value": run.sketch_value,
        "error": run.sketch_error,
        "bracket": run.bracket,
    }


def _sketch_rows(facts: _Facts | None) -> list[tuple[str, str]]:
    """Return the lines of a table about the sketch; none without one."""
    if facts is None:
        return []
    rows = [
        ("sketch", facts["name"]),
        ("value of the averaged sketch", format_value(facts["value"], 8)),
        ("its error", format_value(facts["error"], 4)),
    ]
    if facts["bracket"] is not None:
        low, high = (format_value(end, 8) for end in facts["bracket"])
        rows.append(("the exact value lies for sure between", f"{low} and {high}"))
    return rows


def _format_schedule(run: Run) -> str:
    relaxed = "" if run.relaxation is None else f", relaxation {run.relaxation:.3g}"
    return f"{run.schedule}{relaxed}"


def _write_guarantee(facts: _Facts | None, seed: int) -> None:
    """Say what reports promise, and that those of a seed are for simulation only."""
    if facts is None:
        return
    write_line(facts["guarantee"])
    write_line(
        f"Here reports are simulated: whoever knows the seed, {seed}, undoes them. Peers draw "
        "theirs from the operating system."
    )


def run_summary(run: Run, observations: Observations) -> _Facts:
    """Return what a run found by name, curves included; what is unknown is NaN or None.

    The graph is that of the sites where rows are grouped by a column.
    """
    # U1-gossip has one target per node; their mean is the statistic.
    exact, estimate = float(np.mean(run.target)), float(run.mean[-1])
    return {
        "columns": observations.columns,
        "label": observations.label,
        "classes": observations.classes,
        "rows_dropped": run.rows_dropped,
        "factors": dict(observations.factor_columns),
        "statistic": run.kernel or "mean",
        "target": run.target_kind,
        "exact": exact,
        "estimate": estimate,
        "relative_error": abs(estimate - exact) / abs(exact) if exact else math.nan,
        "rms_error": float(run.error[-1]),
        **_error_facts(run),
        "spread": float(run.spread[-1]),
        "iterations": int(run.iterations[-1]),
        "exchanges": _whole(float(run.exchanges[-1])),
        **_traffic_facts(run),
        "time": None if run.times is None else float(run.times.mean(axis=0)[-1]),
        "normalized_gap": _known_gap(run),
        "seed": run.seed,
        "trials": run.trials,
        "status": run.status,
        "method": run.method,
        "clock": run.clock,
        "order": run.order,
        "law": run.law,
        "schedule": run.schedule,
        "relaxation": run.relaxation,
        "sketch": _sketch_facts(run),
        "graph": describe_graph(run.sites),
        "groups": _group_facts(run, observations.group_by),
        "privacy": _privacy_facts(run),
        "curve": {name: getattr(run, name) for name in ("iterations", "mean", "spread", "error")},
    }


def print_run(run: Run, found: _Facts, columns: str) -> None:
    """Print the summary of a run and a few rows of its convergence curve."""
    from pairgossip.results.curves import describe

    kinds = {"v": "all pairs", "u": "pairs of different rows", "mean": "mean"}
    percent = found["relative_error"] * 100
    rows = (
        (f"exact value ({kinds[run.target_kind]})", format_value(found["exact"], 8)),
        ("mean estimate", format_value(found["estimate"], 8)),
        *_privacy_rows(found["privacy"]),
        *_sketch_rows(found["sketch"]),
        ("relative error", "unknown" if math.isnan(percent) else f"{percent:.3g} %"),
        ("RMS error over nodes and trials", format_value(found["rms_error"], 4)),
        ("spread over nodes", format_value(found["spread"], 4)),
        ("iterations", format_value(found["iterations"])),
        ("schedule", _format_schedule(run)),
        ("exchanges", _format_mean(found["exchanges"])),
        *_traffic_rows(found),
        *([("time", format_value(found["time"]))] if run.times is not None else []),
        ("normalized gap", _format_gap(run, found["normalized_gap"])),
        *_group_rows(found["groups"]),
        *_dropped_rows(found),
        ("seed", str(run.seed)),
    )
    write_rows(("result", ""), rows, f"{describe(run)}; {columns}")
    curve = new_table(("iterations", "mean estimate", "spread over nodes", "RMS error"))
    curve.columns[0].justify = "right"
    for row in np.unique(np.linspace(0, len(run.iterations) - 1, 6).round().astype(int)):
        values = (run.mean[row], run.spread[row], run.error[row])
        curve.add_row(f"{run.iterations[row]:,}", *(format_value(float(value)) for value in values))
    write_table(curve)
    for line in _error_lines(run, found):
        write_line(line)
    _write_guarantee(found["privacy"], run.seed)


def _known_gap(run: Run | Fit) -> float | None:
    """Return the rate that governs a run; None where there is none or it was not computed."""
    from pairgossip.graphs.laws import is_uniform
    from pairgossip.graphs.spectrum import closed_form

    graph = run.graph
    has_formula = is_uniform(graph, run.law) and closed_form(graph) is not None
    # The gap on the rows of all sites comes from a matrix of sites by sites.
    if run.sites.n > _LARGEST_UNASKED_GAP and not has_formula:
        return None
    # A lone node has no gap, and the gap of others may need a missing library.
    with suppress(PairgossipError), optional_work("Normalized gap", "the normalized gap was"):
        return graph.normalized_gap(run.law)
    return None


def _format_gap(run: Run | Fit, gap: float | None) -> str:
    """Format the normalized gap of a run for a table."""
    return "not computed" if gap is None and run.nodes > 1 else format_value(gap, 4)


def fit_summary(fit: Fit, observations: Observations) -> _Facts:
    """Return what was found by name; refuse a model that is not finite."""
    theta = fit.model
    if not np.isfinite(theta).all():
        raise InputError("Training diverged: give a smaller --step, or a --radius.")
    classes, codes = np.unique(np.asarray(observations.labels), return_inverse=True)
    found: list[Any] = classes.tolist()
    if (declared := observations.classes) is not None:
        found = [declared[int(code)] for code in found]
    return {
        "loss": fit.loss,
        "columns": list(observations.columns),
        "label": observations.label,
        "classes": found,
        "rows_dropped": fit.rows_dropped,
        "theta": theta.tolist(),
        "auc": ordered_share(observations.values @ theta, codes.astype(np.float64)),
        "objective": float(fit.objective[-1]),
        "spread": float(fit.spread[-1]),
        "disagreement": float(fit.disagreement[-1]),
        "iterations": int(fit.iterations[-1]),
        "exchanges": int(fit.exchanges[-1]),
        **_traffic_facts(fit),
        "normalized_gap": _known_gap(fit),
        "groups": _group_facts(fit, observations.group_by),
        "privacy": _privacy_facts(fit),
        "trials": fit.trials,
        "seed": fit.seed,
        "status": fit.status,
        "curve": {
            name: getattr(fit, name)
            for name in ("iterations", "objective", "spread", "disagreement")
        },
    }


def describe_settings(fit: Fit, what: LossOptions, how: DescentOptions) -> _Facts:
    """Return how a model was learned, for its file."""
    return {
        "graph": describe_graph(fit.sites),
        **({} if fit.groups is None else {"construction": fit.construction}),
        "clock": fit.clock,
        "law": fit.law,
        **({} if what.spec is None else {"spec": what.spec.name}),
        **({} if fit.privacy is None else {"privacy": as_record(fit.privacy)}),
        # Of a specification it is what peers are told, which the simulator's time rescales.
        "step": {"kind": fit.step, "scale": fit.step_scale if how.step is None else how.step},
        "radius": what.radius,
        "l1": what.l1,
        "l2": what.l2,
        "iterations": int(fit.iterations[-1]),
        "trials": fit.trials,
        "seed": fit.seed,
        "status": fit.status,
    }


def print_fit(fit: Fit, found: _Facts, columns: str) -> None:
    """Print what was found, and the coefficients."""
    from pairgossip.results.curves import describe

    judged = "AUC on these rows" if len(found["classes"]) == 2 else "pairs in order on these rows"
    rows = (
        (judged, format_value(found["auc"], 5)),
        ("objective, mean over nodes", format_value(found["objective"])),
        ("spread of the objective over nodes", format_value(found["spread"], 4)),
        ("disagreement of the models", format_value(found["disagreement"], 4)),
        ("iterations", format_value(found["iterations"])),
        *_traffic_rows(found),
        ("normalized gap", _format_gap(fit, found["normalized_gap"])),
        *_group_rows(found["groups"]),
        *_dropped_rows(found),
        *_privacy_rows(found["privacy"]),
        ("seed", str(found["seed"])),
    )
    write_rows(("result", ""), rows, f"{describe(fit)} ({columns})")
    named = zip(found["columns"], map(format_value, found["theta"]), strict=True)
    write_rows(("column", "coefficient"), named)
    _write_guarantee(found["privacy"], found["seed"])


def draw(fit: Fit, against: str) -> Figure:
    """Draw the objective of the nodes' models, and how far they are from each other."""
    from matplotlib.figure import Figure

    from pairgossip.results.curves import describe

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    for axes, what in zip(figure.subplots(1, 2), ("objective", "disagreement"), strict=True):
        fit.plot(what, against=against, ax=axes).set_title("")
    figure.suptitle(describe(fit), fontsize="medium")
    return figure


def ordered_share(scores: FloatArray, labels: FloatArray) -> float:
    """Return the share of pairs of different labels scored in order, ties half: of two, the AUC."""
    from pairgossip.kernels.closed_forms import comparable_total, concordant_total

    data = np.column_stack((scores, labels))
    return concordant_total(data, 0.5) / comparable_total(data)
