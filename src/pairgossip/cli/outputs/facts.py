"""Facts of runs and trainings alike: sites, traffic, privacy, sampling errors, the gap."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from pairgossip.cli.console import format_value, optional_work, write_line
from pairgossip.errors import PairgossipError
from pairgossip.graphs import GroupedGraph
from pairgossip.inference.answer import Answer
from pairgossip.results import Fit, Run
from pairgossip.results.fields import JSON, TABLE, shown_facts
from pairgossip.text import format_alike

Facts = dict[str, Any]
_LARGEST_UNASKED_GAP = 20_000
"""Nodes; in larger networks a gap without a formula is left out: it may outlast the run."""


def shared_facts(result: Run | Fit, group_by: str | None) -> Facts:
    """Return by name the facts that runs and trainings share; `shared_rows` shows them."""
    return {
        "rows_dropped": result.rows_dropped,
        # With groups, means over the trials.
        "network_exchanges": as_count(float(result.network_exchanges[:, -1].mean())),
        "local_exchanges": as_count(float(result.local_exchanges[:, -1].mean())),
        "messages": as_count(float(result.messages[-1])),
        "bytes": as_count(float(result.bytes[-1])),
        "normalized_gap": _find_gap(result),
        "groups": _group_facts(result, group_by),
        "privacy": _privacy_facts(result),
        "trials": result.trials,
        "seed": result.seed,
        "status": result.status,
    }


def shared_rows(result: Run | Fit, facts: Facts) -> list[tuple[str, str]]:
    """Return the lines of a table about what was sent, the network, and the rows."""
    gap, dropped = facts["normalized_gap"], facts["rows_dropped"]
    is_skipped = gap is None and result.nodes > 1
    sent = {"messages": "messages", "bytes": "bytes sent"}
    if facts["groups"] is not None:
        apart = {"network_exchanges": "between sites", "local_exchanges": "within sites, free"}
        sent = {name: f"exchanges {where}" for name, where in apart.items()} | sent
    return [
        *((label, format_mean(facts[name])) for name, label in sent.items()),
        ("normalized gap", "not computed" if is_skipped else format_value(gap, 4)),
        *_group_rows(facts["groups"]),
        *([("rows left out, entries missing", format_value(dropped))] if dropped else []),
    ]


def field_facts(result: Run | Fit) -> Facts:
    """Return by name the facts that fields of a result declare; None for unknown ones."""
    return {name: value for name, _, value in shown_facts(result, JSON)}


def field_rows(result: Run | Fit) -> list[tuple[str, str]]:
    """Return the lines of a table about the known facts that fields of a result declare."""
    return [
        (fact.label, format_value(value, fact.digits))
        for _, fact, value in shown_facts(result, TABLE)
        if value is not None
    ]


def _group_facts(result: Run | Fit, column: str | None) -> Facts | None:
    """Return by name the sizes of the sites; None without groups."""
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


def _group_rows(facts: Facts | None) -> list[tuple[str, str]]:
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


def as_count(number: float) -> int | float:
    """Return a whole number without its point, a mean as it is."""
    return int(number) if number.is_integer() else number


def format_mean(number: float) -> str:
    """Format a mean of counts without its fraction."""
    return f"{round(number):,}"


def _privacy_facts(result: Run | Fit) -> Facts | None:
    """Return by name the guarantee of privacy and its cost; None without privacy."""
    mechanism = result.privacy
    if mechanism is None:
        return None
    facts: Facts = {
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


def privacy_rows(facts: Facts | None) -> list[tuple[str, str]]:
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


def write_guarantee(facts: Facts | None, seed: int) -> None:
    """Write the guarantee of reports, and that a seed makes simulated ones only."""
    if facts is None:
        return
    write_line(facts["guarantee"])
    write_line(
        f"Here reports are simulated: whoever knows the seed, {seed}, can undo them. Peers draw "
        "theirs from the operating system."
    )


def format_sampling_error(answer: Answer, *, shows_interval: bool = True) -> str:
    """Explain the error of an answer, with its interval."""
    interval = f" ({format_interval(answer)})" if shows_interval else ""
    return (
        f"sampling error {format_value(answer.error, 3)}{interval}: how far these rows may be from "
        "the population; falls with rows only"
    )


def format_site_error(error: float | Answer) -> str:
    """Explain the error if whole sites are drawn, with the interval of an answer."""
    size, interval = error, ""
    if isinstance(error, Answer):
        size, interval = error.error, f" ({format_interval(error)})"
    return (
        f"sampling error by site {format_value(size, 3)}{interval}: the same if sites are drawn "
        "whole, whose rows may be alike; falls with sites only"
    )


def format_interval(answer: Answer) -> str:
    """Format the level and the ends of an interval, if there is one."""
    if not math.isfinite(answer.low + answer.high):
        return "no interval: it is not defined, or the value is unknown or at an end of its range"
    _, *ends = format_alike((answer, answer.low, answer.high), answer.error)
    return "{:g} %: {} to {}".format(100 * answer.level, *ends)


def _find_gap(run: Run | Fit) -> float | None:
    """Return the gap that governs a run; None if it is undefined or was not computed."""
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
