"""The front door `concordance`: how well risks rank the times of rows, some of them censored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pairgossip.checks import REFUSE, choice, real
from pairgossip.errors import InputError
from pairgossip.inference.answer import Answer, check_level
from pairgossip.inference.answering import answer
from pairgossip.inference.questions import exact
from pairgossip.order_statistics.laws import normal_quantile
from pairgossip.summaries.summary import Summary
from pairgossip.summaries.summary_reading import SummaryAnswer
from pairgossip.survival.rows import SurvivalRows, read_rows, refuse_with_summary
from pairgossip.survival.uno import order_times, project_uno

_HARRELL, _UNO = "harrell", "uno"
_LEVEL = 0.95
"""Level of the interval with which brackets are compared by default."""
_CHANCE = 0.5
"""The index of risks without meaning."""


def concordance(
    time: Any,
    event: Any = None,
    risk: Any = None,
    *,
    interval: float | None = 0.95,
    weights: str = _HARRELL,
    truncation: float | None = None,
    within: Any = None,
    columns: Sequence[Any] | str | None = None,
    missing: str = REFUSE,
) -> float | Answer:
    """Return how often the row of the higher risk fails first, over all pairs that can be compared.

    A pair can be compared if the earlier of its two times is an event; at equal times, so can an
    event and a censoring. Equal risks count half.

    Parameters
    ----------
    time, event, columns, missing
        As in `kaplan_meier`. Or a `Summary` for ``"concordance"`` of columns risk, time and event:
        Harrell's index has a ``bracket`` then, and is refused if the cells leave more open than
        sampling does and do not show whether it is above 1/2.
    risk
        A number for every row, higher where it should fail earlier; or the name of a column. For a
        predicted time give its negative.
    interval
        The level of the interval of the `Answer`; None for the number alone.
    weights
        ``"harrell"`` counts all pairs alike, so its estimate depends on the share of censored
        rows; ``"uno"`` weights a pair by how seldom rows are followed as long as its earlier time:
        1 over the square of the share that is not censored before (Uno et al. 2011).
    truncation
        For Uno's, the time before which the earlier event must lie; where few rows are followed for
        long, late pairs have large weights, so it should be well before the last time.
    within
        For Harrell's, the stratum of every row: only pairs within one are compared.

    The error is that of Hoeffding's projection, as in `exact`. For Uno's it includes the error of
    estimated weights.

    Examples
    --------
    >>> import pairgossip as pg
    >>> time, event = [3, 5, 5, 8, 9, 12, 15, 20], [1, 1, 0, 1, 0, 1, 1, 0]
    >>> risk = [0.9, 0.4, 0.7, 0.5, 0.2, 0.6, 0.1, 0.3]
    >>> print(pg.survival.concordance(time, event, risk))
    0.75 (95 %: 0.35 to 1.00)
    """
    kind = choice("weights", weights, (_HARRELL, _UNO))
    level = None if interval is None else check_level(interval)
    if isinstance(time, Summary):
        given = {"event": event, "risk": risk, "truncation": truncation}
        refuse_with_summary(given | {"within": within, "columns": columns})
        return _read_summary(time, kind, level)
    if risk is None:
        raise InputError("No argument says which rows should fail first: give {argument}.", "risk")
    chosen = {"within": within, "risk": risk, "columns": columns, "missing": missing}
    rows = read_rows(time, event, **chosen)
    if not rows.event.any():
        raise InputError("No row has an event, so no pair shows which row failed first.")
    if kind == _HARRELL:
        if truncation is not None:
            raise InputError(
                "Harrell's index has no truncation: leave {argument} out, or choose weights='uno'.",
                "truncation",
            )
        _check_pairs(rows)
        return _find_harrell(rows, level)
    if within is not None:
        raise InputError(
            "Uno's weights are those of all rows together: leave {argument} out.", "within"
        )
    assert rows.risk is not None
    last = np.inf if truncation is None else real("The truncation time", truncation, 0.0, np.inf)
    found = project_uno(rows.time, rows.event, rows.risk, last)
    return found.value if level is None else answer(found, level)


def _check_pairs(rows: SurvivalRows) -> None:
    """Raise `InputError` if no event has a row with a later time in its stratum."""
    ranks = order_times(rows.time, rows.event)
    strata = np.zeros(len(ranks), dtype=np.intp) if rows.strata is None else rows.strata
    last = np.zeros(int(strata.max()) + 1)
    np.maximum.at(last, strata, ranks)
    if not ((rows.event > 0) & (ranks < last[strata])).any():
        raise InputError(
            "No event has a row with a later time: no pair shows which row failed first."
        )


def _find_harrell(rows: SurvivalRows, level: float | None) -> float | Answer:
    """Return the index of the kernel, whose predictions are high where times are long."""
    assert rows.risk is not None
    table = np.column_stack((-rows.risk, rows.time, rows.event))
    if level is None:
        return exact(table, "concordance", within=rows.strata)
    return exact(table, "concordance", within=rows.strata, interval=level)


def _read_summary(summary: Summary, kind: str, level: float | None) -> float | SummaryAnswer:
    """Return Harrell's index from counts, if they show on which side of 1/2 it is.

    The kernel takes predictions that are high where times are long, so the signs are turned.
    """
    if kind != _HARRELL:
        raise InputError(
            "Uno's index cannot be read from counts: its weights follow from the order of events "
            "and censorings inside the cells, and where few rows are followed they have no upper "
            "bound; give the rows, or read Harrell's."
        )
    if not summary.has_events:
        raise InputError(
            "Harrell's index needs the risk, the time and the event of every row, which this "
            "summary does not hold: summarize these three columns for 'concordance'."
        )
    found = summary.answer(_LEVEL if level is None else level, "concordance")
    low, high = (1 - end for end in found.bracket[::-1])
    sampling = 2 * normal_quantile(found.level) * found.error
    if low < _CHANCE < high and not high - low <= sampling:
        raise InputError(
            f"Harrell's index of these rows may be anything between {low:.3f} and {high:.3f}, so "
            "their counts do not show whether higher risks fail first: take finer cells, a "
            "smaller least_cell, or more rows."
        )
    if level is None:
        return 1 - found.value
    ends = (1 - found.high, 1 - found.low, level, found.scale, found.positive)
    open_by = ((low, high), found.p, found.p_bracket, found.least_cell)
    return SummaryAnswer(1 - found.value, found.error, *ends, *open_by)
