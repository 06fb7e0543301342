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
from pairgossip.summaries.summary import Summary
from pairgossip.survival.rows import SurvivalRows, read_rows
from pairgossip.survival.uno import project_uno

_HARRELL, _UNO = "harrell", "uno"


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
    """Return how often the row of the higher risk fails first, of all pairs that tell.

    A pair tells if the earlier of its two times is an event; at equal times, an event before a
    censoring tells too. Equal risks count half.

    Parameters
    ----------
    time, event, columns, missing
        As in `kaplan_meier`.
    risk
        A number for every row, higher where it should fail earlier; or the name of a column. For a
        predicted time give its negative.
    interval
        The level of the interval of the `Answer`; None for the number alone.
    weights
        ``"harrell"`` counts all pairs alike, so that what it estimates depends on how many rows
        are censored; ``"uno"`` weighs a pair by how seldom rows are followed as long as its earlier
        time: 1 over the square of the share that is not censored before (Uno et al. 2011).
    truncation
        For Uno's, the time before which the earlier event must lie; where few rows are followed
        long, late pairs have large weights, so that it should be well before the last time.
    within
        For Harrell's, the stratum of every row: only pairs within one are compared.

    The error is that of Hoeffding's projection, as in `exact`. In Uno's it includes that weights
    are estimated.

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
        raise _refuse_summary(kind)
    if risk is None:
        raise InputError("Nothing says which rows should fail first: give {argument}.", "risk")
    given = {"within": within, "risk": risk, "columns": columns, "missing": missing}
    rows = read_rows(time, event, **given)
    if not rows.event.any():
        raise InputError("No row has an event, so that no pair tells which row failed first.")
    if kind == _HARRELL:
        if truncation is not None:
            raise InputError(
                "Harrell's index has no truncation: leave {argument} out, or choose weights='uno'.",
                "truncation",
            )
        return _find_harrell(rows, level)
    if within is not None:
        raise InputError(
            "Uno's weights are those of all rows together: leave {argument} out.", "within"
        )
    assert rows.risk is not None
    last = np.inf if truncation is None else real("The truncation time", truncation, 0.0, np.inf)
    found = project_uno(rows.time, rows.event, rows.risk, last)
    return found.value if level is None else answer(found, level)


def _find_harrell(rows: SurvivalRows, level: float | None) -> float | Answer:
    """Return the index of the kernel, whose predictions are high where times are long."""
    assert rows.risk is not None
    table = np.column_stack((-rows.risk, rows.time, rows.event))
    if level is None:
        return exact(table, "concordance", within=rows.strata)
    return exact(table, "concordance", within=rows.strata, interval=level)


def _refuse_summary(kind: str) -> InputError:
    """Say why this index is not read from a summary here."""
    if kind == _HARRELL:
        return InputError(
            "A summary has cells of predicted and of true times: read it with its own "
            "answer(reading='concordance'), where a higher prediction goes with a longer time."
        )
    return InputError(
        "Uno's index is not read from counts: its weights follow from the order of events and "
        "censorings inside the cells, and where few rows are followed they have no upper bound; "
        "give the rows, or read Harrell's with answer(reading='concordance')."
    )
