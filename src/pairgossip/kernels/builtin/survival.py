"""Harrell's concordance index, of outcomes that may be censored."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels.builtin.classes import check_ties
from pairgossip.kernels.kernel import Formula, Ratio, register
from pairgossip.kernels.orders import count_ascending_pairs, weigh_beyond, weights_or_ones
from pairgossip.text import format_rows

__all__ = ["concordance"]


def comparable(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where one outcome is known to be smaller: it is an event, if events are given."""
    smaller_first, smaller_second = _comparable_sides(first, second)
    return (smaller_first | smaller_second).astype(np.float64)


def concordant(first: FloatArray, second: FloatArray, ties: float) -> FloatArray:
    """Return 1 where a comparable pair's predictions agree with the outcomes, `ties` if tied."""
    smaller_first, smaller_second = _comparable_sides(first, second)
    p, q = first[:, 0], second[:, 0]
    agree = (smaller_first & (p < q)) | (smaller_second & (p > q))
    tied = (smaller_first | smaller_second) & (p == q)
    return np.asarray(agree + ties * tied)


def _comparable_sides(first: FloatArray, second: FloatArray) -> tuple[BoolArray, BoolArray]:
    smaller_first = first[:, 1] < second[:, 1]
    smaller_second = first[:, 1] > second[:, 1]
    if first.shape[1] == 3:
        tied, events, others = first[:, 1] == second[:, 1], first[:, 2] != 0, second[:, 2] != 0
        # A censored outcome is known to exceed an event at the same time.
        smaller_first = (smaller_first | (tied & ~others)) & events
        smaller_second = (smaller_second | (tied & ~events)) & others
    return smaller_first, smaller_second


def comparable_total(data: FloatArray) -> float:
    """Sum 1 at pairs of which one outcome is known to be smaller, being an event."""
    return 2.0 * _pairs_above_at_ties(_outcomes(data), np.zeros(len(data)), _events(data))


def _comparable_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count for every row the others of which one outcome is known to be smaller."""
    weights = weights_or_ones(data, weights)
    return _comparable_where_tied(_outcomes(data), np.zeros(len(data)), _events(data), weights)


def concordant_total(data: FloatArray, ties: float) -> float:
    """Sum 1 at comparable pairs predicted in order and `ties` at those predicted equal."""
    prediction, outcome, events = data[:, 0], _outcomes(data), _events(data)
    agree = count_ascending_pairs(outcome, prediction, events)
    return 2.0 * (agree + ties * _pairs_above_at_ties(outcome, prediction, events))


def _concordant_rows(
    data: FloatArray, weights: FloatArray | None = None, *, ties: float
) -> FloatArray:
    """Sum 1 and `ties` as `concordant_total` does, over the pairs of every row."""
    prediction, outcome, events = data[:, 0], _outcomes(data), _events(data)
    weights = weights_or_ones(data, weights)
    above, below = weigh_beyond(outcome, prediction, weights, events * weights)
    tied = _comparable_where_tied(outcome, prediction, events, weights)
    return np.asarray(events * above + below + ties * tied)


def _comparable_where_tied(
    outcome: FloatArray, tied: FloatArray, events: BoolArray, weights: FloatArray
) -> FloatArray:
    """Weigh for every row the comparable ones of equal `tied`."""
    order = np.lexsort((outcome, tied))
    run, tie = _run_ends(tied[order]), _run_ends(tied[order], outcome[order])
    everyone, failed = (
        np.concatenate(([0.0], np.cumsum(part[order]))) for part in (weights, events * weights)
    )
    above = everyone[run] - everyone[tie]
    below = failed[_run_starts(tie)] - failed[_run_starts(run)]
    counts = np.empty(len(outcome))
    counts[order] = events[order] * above + below
    return counts


def _pairs_above_at_ties(values: FloatArray, tied: FloatArray, marked: BoolArray) -> int:
    """Count the pairs (i, j) with values[i] < values[j], tied[i] = tied[j] and i marked."""
    order = np.lexsort((values, tied))
    above = _run_ends(tied[order]) - _run_ends(tied[order], values[order])
    return int(above[marked[order]].sum())


def _run_ends(*columns: FloatArray) -> IntArray:
    """For sorted columns, give every position the end of its run of equal rows."""
    differs = np.zeros(len(columns[0]) - 1, dtype=np.bool_)
    for column in columns:
        differs |= column[1:] != column[:-1]
    ends = np.append(np.flatnonzero(differs), len(columns[0]) - 1) + 1
    return np.repeat(ends, np.diff(ends, prepend=0))


def _run_starts(ends: IntArray) -> IntArray:
    """Give every position the start of its run of equal rows, from the ends of the runs."""
    places = np.arange(len(ends))
    is_first = np.append(True, ends[1:] != ends[:-1])
    return np.maximum.accumulate(np.where(is_first, places, 0))


def _outcomes(data: FloatArray) -> FloatArray:
    """Return the outcomes, or their ranks where an event comes before what is censored then."""
    if data.shape[1] == 2:
        return data[:, 1]
    order = np.lexsort((-data[:, 2], data[:, 1]))
    ranks = np.empty(len(data))
    ranks[order] = _run_ends(data[order, 1], data[order, 2])
    return ranks


def _events(data: FloatArray) -> BoolArray:
    return data[:, 2] != 0 if data.shape[1] == 3 else np.ones(len(data), dtype=np.bool_)


CONCORDANT = Formula("CONCORDANT", 4, concordant, concordant_total, _concordant_rows, takes="ties")
COMPARABLE = Formula("COMPARABLE", 5, comparable, comparable_total, _comparable_rows)


def _check_events(data: FloatArray) -> None:
    """Raise `InputError` unless the third column, if any, holds 0 and 1 only."""
    if data.shape[1] != 3:
        return
    wrong = np.flatnonzero((data[:, 2] != 0) & (data[:, 2] != 1))
    if len(wrong):
        raise InputError(
            f"Kernel 'concordance' needs events of 0 (censored) or 1 (observed): "
            f"recode {format_rows(wrong)} (counting from 0)."
        )


@register
def concordance(ties: float = 0.5) -> Ratio:
    """Harrell's C: of the comparable pairs, how many are predicted in the order of outcomes.

    The columns are prediction, outcome and, for censored data, event (1 if the outcome was
    observed, 0 if it is only known to be larger). A pair is comparable if the smaller outcome is
    an event; at equal outcomes an event comes before a censored one, while two events, or two
    censored ones, are not compared. A higher prediction should go with a larger outcome.

    Parameters
    ----------
    ties
        What a comparable pair with equal predictions counts.
    """
    ties = check_ties(ties)
    facts: dict[str, Any] = {
        "columns": ("prediction", "outcome", "event?"),
        "label_sizes": True,
        "association": True,
        "validate": _check_events,
    }
    return Ratio(
        CONCORDANT.kernel(ties, name="concordance numerator", **facts),
        COMPARABLE.kernel(name="concordance denominator", **facts),
        name="concordance",
        expression="1{comparable} (1{concordant} + ties 1{p = q}) / 1{comparable}",
        description="survival and ranking: Harrell's concordance index",
        same_as="lifelines.utils.concordance_index",
        interval_scale="logit",
        null=0.5,
    )
