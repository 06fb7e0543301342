"""What a run found: a short table for people, one object for programs."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.cli.console import new_table, optional_work, spelled, write_table
from pairgossip.cli.group_report import group_facts, group_rows, traffic_facts, traffic_rows
from pairgossip.cli.privacy_report import privacy_facts, privacy_rows, write_guarantee
from pairgossip.errors import PairgossipError

if TYPE_CHECKING:
    from pairgossip.results import Fit, Run

CURVE_ROWS = 6
LARGEST_UNASKED_GAP = 20_000
"""Above this many nodes a gap without formula may take longer than the run."""


def summary(run: Run, group_by: str | None = None) -> dict[str, Any]:
    """Return what a run found by name, curves included; what is unknown is NaN or None.

    The graph is that of the sites where rows are grouped by a column.
    """
    # U1-gossip has one target per node; their mean is the statistic.
    exact, estimate = float(np.mean(run.target)), float(run.mean[-1])
    graph = run.sites
    return {
        "statistic": run.kernel or "mean",
        "target": run.target_kind,
        "exact": exact,
        "estimate": estimate,
        "relative_error": abs(estimate - exact) / abs(exact) if exact else math.nan,
        "rms_error": float(run.error[-1]),
        "spread": float(run.spread[-1]),
        "iterations": int(run.iterations[-1]),
        "exchanges": int(run.exchanges[-1]),
        **traffic_facts(run),
        "time": None if run.times is None else float(run.times.mean(axis=0)[-1]),
        "normalized_gap": known_gap(run),
        "seed": run.seed,
        "trials": run.trials,
        "status": run.status,
        "method": run.method,
        "clock": run.clock,
        "order": run.order,
        "law": run.law,
        "graph": {
            "family": graph.family,
            "parameters": graph.parameters,
            "nodes": graph.n,
            "edges": graph.edge_count,
        },
        "groups": group_facts(run, group_by),
        "privacy": privacy_facts(run),
        "curve": {
            "iterations": run.iterations,
            "mean": run.mean,
            "spread": run.spread,
            "error": run.error,
        },
    }


def print_run(run: Run, found: dict[str, Any], columns: str) -> None:
    """Print the summary of a run and a few rows of its convergence curve."""
    from pairgossip.results.plots import describe

    facts = new_table(("result", ""))
    percent = found["relative_error"] * 100
    for name, value in (
        (f"exact value ({_kind(run)})", spelled(found["exact"], 8)),
        ("mean estimate", spelled(found["estimate"], 8)),
        *privacy_rows(found["privacy"]),
        ("relative error", "unknown" if math.isnan(percent) else f"{percent:.3g} %"),
        ("RMS error over nodes and trials", spelled(found["rms_error"], 4)),
        ("spread over nodes", spelled(found["spread"], 4)),
        ("iterations", spelled(found["iterations"])),
        ("exchanges", spelled(found["exchanges"])),
        *traffic_rows(found),
        *([("time", spelled(found["time"]))] if run.times is not None else []),
        ("normalized gap", spelled_gap(run, found["normalized_gap"])),
        *group_rows(found["groups"]),
        ("seed", str(run.seed)),
    ):
        facts.add_row(name, value)
    write_table(facts, f"{describe(run)}; {columns}")
    curve = new_table(("iterations", "mean estimate", "spread over nodes", "RMS error"))
    curve.columns[0].justify = "right"
    for row in np.unique(np.linspace(0, len(run.iterations) - 1, CURVE_ROWS).round().astype(int)):
        values = (run.mean[row], run.spread[row], run.error[row])
        curve.add_row(f"{run.iterations[row]:,}", *(spelled(float(value)) for value in values))
    write_table(curve)
    write_guarantee(found["privacy"], run.seed)


def _kind(run: Run) -> str:
    kinds = {"v": "all pairs", "u": "pairs of different rows", "mean": "mean"}
    return kinds[run.target_kind]


def known_gap(run: Run | Fit) -> float | None:
    """The rate that governs a run; None where there is none or it was not computed."""
    from pairgossip.graphs.laws import is_uniform
    from pairgossip.graphs.spectrum import closed_form

    graph = run.graph
    has_formula = is_uniform(graph, run.law) and closed_form(graph) is not None
    # The gap on the rows of all sites comes from a matrix of sites by sites.
    if run.sites.n > LARGEST_UNASKED_GAP and not has_formula:
        return None
    # A lone node has no gap, and the gap of others may need a missing library.
    with suppress(PairgossipError), optional_work("Normalized gap", "the normalized gap was"):
        return graph.normalized_gap(run.law)
    return None


def spelled_gap(run: Run | Fit, gap: float | None) -> str:
    """Spell the normalized gap of a run for a table."""
    return "not computed" if gap is None and run.nodes > 1 else spelled(gap, 4)
