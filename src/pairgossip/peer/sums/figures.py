"""The figures of a result that follow from a table of exact counts, as peers state them.

Anybody with the table can compute them again, and need not trust those who stated them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from pairgossip.arrays import IntArray
from pairgossip.counts.readings import Estimate
from pairgossip.peer.protocol.program import Disagreement
from pairgossip.peer.reports.catalog import has_statistic
from pairgossip.peer.sums.results import (
    CROWDED,
    Result,
    follow_result,
    rounded_bracket,
    rounded_interval,
    rounded_or_none,
)
from pairgossip.peer.sums.statistics import summary_of
from pairgossip.summaries.summary import Summary

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec


def find_estimate(spec: Spec, numbers: IntArray) -> tuple[Summary, Estimate]:
    """Return the summary and the statistic of a table, which begins with the number of rows."""
    summary = summary_of(spec, numbers[1:])
    if not has_statistic(spec):
        return summary, Estimate(math.nan, math.nan)
    if spec.groups or spec.strata or spec.weights:
        return summary, summary.find()
    return summary, summary.layout.find(summary.layout.read_sums(numbers))


def round_estimate(estimate: Estimate) -> dict[str, Any]:
    """Return the fields of a result that hold a statistic with its errors."""
    return {
        "value": rounded_or_none(estimate.value),
        "sampling_error": rounded_or_none(estimate.error),
        "interval": rounded_interval(estimate.low, estimate.high),
        "p": rounded_or_none(estimate.p),
        "bracket": rounded_bracket(*estimate.bracket),
        "p_bracket": rounded_bracket(*estimate.p_bracket),
        "crowded_cells": _round_crowded(estimate.fullest_cells),
    }


def find_other_figure(result: Result, estimate: Estimate) -> str | None:
    """Describe a figure of a result that differs from its table; return None if there is none."""
    computed = msgspec.structs.replace(result, **round_estimate(estimate))
    try:
        follow_result(computed, result.state())
    except Disagreement as problem:
        return str(problem)
    return None


def _round_crowded(shares: tuple[float, ...]) -> tuple[float, ...] | None:
    """Return the shares of rows in crowded cells alone; other shares are not published."""
    crowded = tuple(rounded_or_none(one) or 0.0 if one > CROWDED else 0.0 for one in shares)
    return crowded if any(crowded) else None
