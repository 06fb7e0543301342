"""Results of a run: tables for people, one JSON object for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.cli.console import format_value, new_table, write_line, write_rows, write_table
from pairgossip.cli.graph import describe_graph
from pairgossip.cli.outputs.facts import (
    Facts,
    as_count,
    field_facts,
    field_rows,
    format_interval,
    format_mean,
    format_sampling_error,
    format_site_error,
    privacy_rows,
    shared_facts,
    shared_rows,
    write_guarantee,
)
from pairgossip.graphs.laws import name_law
from pairgossip.results import Run

if TYPE_CHECKING:
    from pairgossip.cli.data.observations import Observations

_LEAST_WIDENING = 1.005
"""Least factor of widening that is printed; a smaller one is left out."""


def run_summary(run: Run, observations: Observations) -> Facts:
    """Return the results of a run by name, curves included; unknown values are NaN or None.

    If rows are grouped by a column, the graph is that of the sites.
    """
    # U1-gossip has one target per node; their mean is the statistic.
    exact, estimate = float(np.mean(run.target)), float(run.mean[-1])
    answer, measured = run.answer, field_facts(run)
    return {
        "columns": observations.columns,
        "label": observations.label,
        "classes": observations.classes,
        "positive": run.positive,
        "factors": dict(observations.factor_columns),
        "statistic": run.kernel or "mean",
        "target": run.target_kind,
        "exact": exact,
        "estimate": estimate,
        "relative_error": abs(estimate - exact) / abs(exact) if exact else math.nan,
        "rms_error": float(run.error[-1]),
        "level": run.level,
        "interval": None if answer is None else (answer.low, answer.high),
        "widening": measured.pop("widening"),
        **measured,
        "spread": float(run.spread[-1]),
        "iterations": int(run.iterations[-1]),
        "exchanges": as_count(float(run.exchanges[-1])),
        "time": None if run.times is None else float(run.times.mean(axis=0)[-1]),
        **shared_facts(run, observations.group_by),
        "method": run.method,
        "clock": run.clock,
        "order": run.order,
        "law": name_law(run.law),
        "schedule": run.schedule,
        "relaxation": run.relaxation,
        "sketch": _sketch_facts(run),
        "graph": describe_graph(run.sites),
        "curve": {name: getattr(run, name) for name in ("iterations", "mean", "spread", "error")},
    }


def print_run(run: Run, summary: Facts, columns: str) -> None:
    """Print the summary of a run and a few rows of its convergence curve."""
    from pairgossip.results.curves import describe

    kinds = {"v": "all pairs", "u": "pairs of different rows", "mean": "mean"}
    percent = summary["relative_error"] * 100
    relaxed = "" if run.relaxation is None else f", relaxation {run.relaxation:.3g}"
    rows = (
        *_honest_rows(run),
        (f"exact value ({kinds[run.target_kind]})", format_value(summary["exact"], 8)),
        ("mean estimate", format_value(summary["estimate"], 8)),
        *privacy_rows(summary["privacy"]),
        *_sketch_rows(summary["sketch"]),
        ("relative error", "unknown" if math.isnan(percent) else f"{percent:.3g} %"),
        ("RMS error over nodes and trials", format_value(summary["rms_error"], 4)),
        ("spread over nodes", format_value(summary["spread"], 4)),
        *field_rows(run),
        ("iterations", format_value(summary["iterations"])),
        ("schedule", run.schedule + relaxed),
        ("exchanges", format_mean(summary["exchanges"])),
        *([("time", format_value(summary["time"]))] if run.times is not None else []),
        *shared_rows(run, summary),
        ("seed", str(run.seed)),
    )
    write_rows(("result", ""), rows, f"{describe(run)}; {columns}")
    curve = new_table(("iterations", "mean estimate", "spread over nodes", "RMS error"))
    curve.columns[0].justify = "right"
    for row in np.unique(np.linspace(0, len(run.iterations) - 1, 6).round().astype(int)):
        values = (run.mean[row], run.spread[row], run.error[row])
        curve.add_row(f"{run.iterations[row]:,}", *(format_value(float(value)) for value in values))
    write_table(curve)
    for line in _error_lines(run, summary):
        write_line(line)
    write_guarantee(summary["privacy"], run.seed)


def _honest_rows(run: Run) -> list[tuple[str, str]]:
    """Return the lines of a table that come first if nodes lie or crash."""
    if run.honest is None or not run.has_dishonest:
        return []
    estimate = float(run.estimates[:, run.honest].mean())
    return [
        ("honest nodes", f"{len(run.honest):,} of {run.nodes:,}"),
        ("mean estimate of honest nodes", format_value(estimate, 8)),
    ]


def _error_lines(run: Run, summary: Facts) -> Iterator[str]:
    """Yield a line for each error of a run; none if no interval was asked for."""
    answer = run.answer
    if answer is None:
        return
    noise = run.privacy_error
    yield format_sampling_error(answer, shows_interval=noise is None)
    if (summary["widening"] or 1.0) > _LEAST_WIDENING:
        yield (
            f"widened by {100 * (summary['widening'] - 1):.0f} %: allows for rows that have not "
            "come around to all nodes yet; falls with messages"
        )
    if summary["site_error"] is not None:
        yield format_site_error(summary["site_error"])
    yield (
        f"gossip error {format_value(summary['gossip_error'], 3)}: how far nodes still are from "
        "the value of these rows; falls with messages"
    )
    if noise is not None:
        yield (
            f"noise of private reports {format_value(noise.standard_error, 3)}: how far reports "
            "alone put the value off; falls with rows and a larger epsilon"
        )
        yield f"sampling error and noise together, {format_interval(answer)}"
    if run.enough is not None and run.enough.all():
        yield f"enough after {np.median(run.enough):,.0f} iterations (median over trials)"


def _sketch_facts(run: Run) -> Facts | None:
    """Return by name the value and error of the sketch that nodes averaged; None without one."""
    if run.sketch is None:
        return None
    return {
        "name": run.sketch,
        "value": run.sketch_value,
        "error": run.sketch_error,
        "bracket": run.bracket,
    }


def _sketch_rows(facts: Facts | None) -> list[tuple[str, str]]:
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
