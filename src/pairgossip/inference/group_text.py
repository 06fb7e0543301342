"""Tables of groups for people: as text, and as HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pairgossip.pages.page import Paragraph, Table, show
from pairgossip.text import format_alike, format_count

if TYPE_CHECKING:
    from pairgossip.inference.group_table import Equality, GroupTable

MOST_PAIRS = 15
"""Largest number of pairs of groups whose differences are shown, those of six groups; for more,
only the joint test is shown."""
ALL_ROWS = "all rows"
_LEAST_P = 1e-4


def show_groups(table: GroupTable) -> Table:
    """Return the table of the groups, and of all rows."""
    answers = {**table.answers, ALL_ROWS: table.all}
    tests = {**table.tests, **({} if table.test is None else {ALL_ROWS: table.test})}
    rows = {**table.rows, ALL_ROWS: sum(table.rows.values())}
    head = (table.by, "rows", table.statistic, "error", _name_interval(table.level), "p")
    lines = (
        (
            name,
            f"{rows[name]:,}" if rows.get(name) else "",
            *_format_numbers(one.value, one.error, one.low, one.high),
            format_p(tests[name].p) if name in tests else "",
        )
        for name, one in answers.items()
    )
    return Table(head, tuple(lines)).drop_empty()


def show_differences(table: GroupTable) -> Table:
    """Return the table of the differences; no rows if there are too many."""
    pairs = table.differences if len(table.differences) <= MOST_PAIRS else ()
    head = ("difference", "", "error", _name_interval(table.level), "p", "p adjusted")
    lines = (
        (
            f"{one.first} - {one.second}",
            *_format_numbers(one.value, one.error, one.low, one.high),
            format_p(one.p),
            format_p(one.adjusted) if len(pairs) > 1 else "",
        )
        for one in pairs
    )
    return Table(head, tuple(lines)).drop_empty()


def list_notes(table: GroupTable) -> list[str]:
    """Return the sentences below the tables."""
    notes, count = [], len(table.differences)
    if table.equality is not None:
        notes.append(_describe_equality(table.equality, len(table)))
    if count > MOST_PAIRS:
        notes.append(f"The differences of {count:,} pairs are not shown.")
    elif count > 1 and not math.isnan(table.differences[0].adjusted):
        notes.append("Adjusted p allow for there being several pairs (Holm).")
    if any(one.bracket[0] < one.bracket[1] for one in table.differences):
        notes.append("Intervals and p of differences allow for what cells leave open.")
    return notes + [f"Group '{name}': {why}" for name, why in table.reasons.items()]


def _describe_equality(test: Equality, groups: int) -> str:
    """Return the sentence of the joint test."""
    compared = len(test.groups)
    which = "all groups" if compared == groups else f"the {compared} groups with an error"
    freedom = format_count(test.freedom, "degree")
    law = f"chi-square = {test.freedom * test.statistic:.2f} with {freedom} of freedom"
    if test.error_freedom < math.inf:
        law = f"F = {test.statistic:.2f} with {test.freedom} and {test.error_freedom:.1f} degrees"
        law += " of freedom"
    p = f"p {'' if test.p < _LEAST_P else '= '}{format_p(test.p)}"
    return f"Test that {which} are equal: {law}, {p}."


def format_groups(table: GroupTable) -> str:
    """Return the tables and the sentences below them."""
    blocks = [*(one.to_text() for one in _show(table)), "\n".join(list_notes(table))]
    return "\n\n".join(filter(None, blocks))


def write_groups(table: GroupTable) -> str:
    """Return the same as HTML, for notebooks."""
    return show((*_show(table), *map(Paragraph, list_notes(table))))


def _show(table: GroupTable) -> list[Table]:
    return [one for one in (show_groups(table), show_differences(table)) if one.rows]


def format_p(p: float) -> str:
    """Return p to four places; "" if it is not known."""
    return "" if math.isnan(p) else f"< {_LEAST_P:.4f}" if p < _LEAST_P else f"{p:.4f}"


def _format_numbers(value: float, error: float, low: float, high: float) -> list[str]:
    """Return a value, its error and its interval, to as many places as the error allows."""
    value_text, error_text, *ends = format_alike((value, error, low, high), error)
    interval = "" if math.isnan(low) else " to ".join(ends)
    return [
        "none" if math.isnan(value) else value_text,
        "" if math.isnan(error) else error_text,
        interval,
    ]


def _name_interval(level: float) -> str:
    return f"{100 * level:g} % interval"
