"""Rows of time, event and group, from any kind of data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import refuse_given
from pairgossip.counts.tables import MOST_COMBINATIONS
from pairgossip.errors import InputError
from pairgossip.kernels.data import as_array, check_data, format_label
from pairgossip.kernels.rows import prepare_rows
from pairgossip.kernels.weighing import number_labels
from pairgossip.rows.columns import as_ordered
from pairgossip.text import format_count, format_rows


class SurvivalRows(NamedTuple):
    """Rows that are complete and checked."""

    time: FloatArray
    event: FloatArray
    """1 if the row failed at its time, 0 if it was censored then."""
    groups: IntArray | None
    names: tuple[str, ...]
    """The names of the groups; empty without groups."""
    strata: IntArray | None
    risk: FloatArray | None


def read_rows(
    time: Any,
    event: Any,
    *,
    columns: Sequence[Any] | str | None,
    missing: str,
    by: Any = None,
    within: Any = None,
    risk: Any = None,
) -> SurvivalRows:
    """Return the rows of all columns; raise `InputError` if they are not times to events."""
    if event is None:
        raise InputError(
            "No argument says which rows failed: give {argument}, 1 for an event and 0 where the "
            "row "
            "was censored.",
            "event",
        )
    given = {"time": time, "event": event, "by": by, "within": within, "risk": risk}
    rows = prepare_rows(missing, None, given, chosen=columns).columns
    times = _check_column(rows["time"], "time", None)
    wrong = np.flatnonzero(times < 0)
    if len(wrong):
        raise InputError(
            f"Times are from 0 on, but time is negative in {format_rows(wrong)} (counting from "
            "0): correct it."
        )
    _refuse_words(rows["event"])
    events = _check_column(rows["event"], "event", len(times))
    wrong = np.flatnonzero((events != 0) & (events != 1))
    if len(wrong):
        raise InputError(
            f"Events are 1 (observed) or 0 (censored), but event is {events[wrong[0]]:g} in "
            f"{format_rows(wrong)} (counting from 0): recode it."
        )
    groups, names = _name_groups(rows.get("by"), len(times))
    strata = rows.get("within")
    return SurvivalRows(
        times,
        events,
        groups,
        names,
        None if strata is None else number_labels(strata, len(times), "within", "stratum"),
        None if risk is None else _check_column(rows["risk"], "risk", len(times)),
    )


def _refuse_words(event: Any) -> None:
    """Raise `InputError` if events are words: these have no order that says which is an event."""
    entries = as_array(event, "event", objects=True)
    plain = entries.dtype.kind in "biuf"
    word = None if plain else next((x for x in entries.ravel().tolist() if type(x) is str), None)
    if word is not None:
        raise InputError(
            f"Events are 1 (observed) or 0 (censored), but event holds text such as '{word}': "
            "recode it."
        )


def _check_column(given: Any, name: str, count: int | None) -> FloatArray:
    """Return one column of finite numbers, with this number of rows."""
    found = check_data(given, name=name)
    if found.ndim != 1:
        advice = "name it with {argument}" if name == "time" else "choose it"
        raise InputError(
            f"{name} is one column, but has {found.shape[1]} columns: {advice}.", "columns"
        )
    if count is not None and len(found) != count:
        raise InputError(
            f"{name} has {format_count(len(found), 'row')}, but time has {count:,}: give one "
            "number per row."
        )
    return found


def _name_groups(by: Any, count: int) -> tuple[IntArray | None, tuple[str, ...]]:
    """Return the number of every row's group, and the names of the groups in their order."""
    if by is None:
        return None, ()
    ordered = as_ordered(by)
    labels = as_array(by if ordered is None else ordered.codes, "by", objects=True)
    codes = number_labels(labels, count, "by", "group")
    if ordered is None:
        firsts = np.unique(codes, return_index=True)[1]
        names = tuple(format_label(one) for one in labels[firsts].tolist())
    else:
        names = tuple(map(format_label, ordered.categories))
        check_groups(names, [int((labels == at).sum()) for at in range(len(names))])
    if len(names) > MOST_COMBINATIONS:
        raise InputError(
            f"by names {len(names):,} groups, but at most {MOST_COMBINATIONS} have curves of "
            "their own: join groups."
        )
    return codes, names


def check_groups(names: Sequence[str], rows: Sequence[int]) -> None:
    """Raise `InputError` if a group is empty."""
    for name, count in zip(names, rows, strict=True):
        if not count:
            raise InputError(f"Group '{name}' has no rows: leave it out of the groups.")


def refuse_with_summary(given: dict[str, Any]) -> None:
    """Raise `InputError` for arguments that a summary already has."""
    refuse_given(given, "A summary has its events, groups and strata already")
