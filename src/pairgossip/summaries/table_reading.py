"""A statistic read from the tables of a summary: the columns and classes that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pairgossip.counts.axes import Axis, Labels
from pairgossip.counts.bounds import Blocks
from pairgossip.counts.layouts import OrderQuestion, lay_out
from pairgossip.counts.readings import Estimate
from pairgossip.counts.tables import Columns, Sums
from pairgossip.errors import InputError
from pairgossip.summaries.summary_reading import EVENT, OF_CLASSES, Measure, name_columns
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.summaries.summary import Summary


def read_table(
    summary: Summary,
    tables: Sequence[Blocks],
    measure: Measure,
    column: int | None,
    kind: str,
    level: float,
) -> tuple[Estimate, str | None]:
    """Return a statistic, and the name of the positive class if it compares two classes.

    ``tables`` are the counts of the summary, in blocks.
    """
    if not summary.rows > 0:
        raise InputError("No rows are counted, so there is nothing to read: add summaries.")
    names = name_columns(measure)
    takes = [one for one in names if one not in (*OF_CLASSES, EVENT)]
    is_open = any(one.endswith("...") for one in takes)  # any number of columns
    columns = _choose_columns(summary, measure, takes, column, is_open=is_open)
    needs_label = names[-1] in OF_CLASSES or len(takes) > len(columns)  # the label is a column
    if needs_label and (summary.classes is None or summary.has_events):
        raise _refuse(measure, "labels")
    has_classes = needs_label or (summary.has_events and EVENT in names)
    classes = summary.layout.columns.classes if has_classes else None
    _check(summary, measure, classes)
    laid = [summary.cells[at].lay() for at in columns]
    read = Columns(tuple(laid), classes, kind, strata=summary.layout.columns.strata)
    layout = lay_out(read, measure.name)
    parts = [tuple(columns[at] for at in table.columns) for table in layout.tables]
    found = tuple(find_table(summary, tables, one, has_classes) for one in parts)
    for places, blocks in zip(parts, found, strict=True):
        for at, axis in zip(places, blocks.axes, strict=False):
            laid[columns.index(at)] = axis  # without cells beyond all rows
    _check_amounts(measure, laid[0])
    layout = lay_out(replace(read, axes=tuple(laid)), measure.name)
    positive = summary.positive if has_classes and not summary.has_events else None
    return layout.find(Sums(summary.rows, found), level=level), positive


def _choose_columns(
    summary: Summary,
    measure: Measure,
    takes: Sequence[str],
    column: int | None,
    *,
    is_open: bool,
) -> list[int]:
    """Return the numbers of the columns that a statistic takes."""
    count = len(summary.cells)
    if is_open and column is None:
        return list(range(count))
    has_one = count == 1 and summary.classes is not None and not summary.has_events
    is_kernel = not isinstance(measure, OrderQuestion)  # the label may be its second column
    takes_grades = is_kernel and name_columns(measure)[-1] not in OF_CLASSES
    is_graded = len(takes) == 2 and has_one and takes_grades
    if len(takes) > count and not is_graded:
        raise _refuse(measure, f"{len(takes)} columns")
    if len(takes) == 1 and (count > 1 or column is not None):
        if column is None or column not in range(count):
            raise InputError(
                f"'{measure.name}' takes one column, and the summary has {count}: give "
                f"{{argument}}, {'0' if count == 1 else f'0 to {count - 1}'}.",
                "column",
            )
        return [int(column)]
    return list(range(min(len(takes), count)))


def _check(summary: Summary, measure: Measure, classes: Labels | None) -> None:
    """Raise `InputError` for strata or classes that a statistic cannot have."""
    if summary.strata is not None and isinstance(measure, OrderQuestion):
        raise InputError(
            f"'{measure.name}' uses all rows, not pairs within strata: read it with {{argument}}.",
            "within",
            False,
        )
    two = isinstance(measure, OrderQuestion) or any(part.two_classes for part in measure.components)
    if two and classes is not None and not summary.has_events and classes.bins != 2:
        raise InputError(
            f"'{measure.name}' compares two classes, but the summary has {classes.bins}: read "
            "another statistic."
        )


def _refuse(measure: Measure, what: str) -> InputError:
    """Return the error that names what a summary lacks for a statistic."""
    return InputError(
        f"'{measure.name}' takes {what}, which this summary does not have: read another "
        "statistic, or summarize the rows for this one."
    )


def refuse_empty(measure: Measure, rows: int) -> InputError:
    """Return the error for a statistic without a value for these rows."""
    return InputError(
        f"'{measure.name}' has no value for {format_count(rows, 'counted row')}: a class is "
        "empty, no two rows form a pair, or all values are equal; add summaries of other rows, "
        "or read another statistic."
    )


def find_table(
    summary: Summary, tables: Sequence[Blocks], columns: tuple[int, ...], has_classes: bool
) -> Blocks:
    """Return the counts of some columns; raise `InputError` if no table has all of them."""
    for table, blocks in zip(summary.layout.tables, tables, strict=True):
        if set(columns) <= set(table.columns):
            found = blocks.choose(columns[0]) if len(columns) == 1 else blocks
            if summary.classes is not None and not has_classes:
                axes = [one for at, one in enumerate(found.axes) if at != len(columns)]
                found = Blocks(tuple(axes), found.tree, found.counts.sum(axis=0))
            return found.trim()
    raise InputError(
        f"'{summary.reading}' counts every column separately, so nothing is known about two "
        f"together: "
        "read another statistic, or summarize the rows for this one."
    )


def _check_amounts(measure: Measure, axis: Axis) -> None:
    """Raise `InputError` if a statistic needs amounts, and some could be negative."""
    least = axis.places[0]
    if measure.name == "gini-coefficient" and least < 0:
        raise InputError(
            f"'gini-coefficient' is for amounts that are not negative, but the cells begin at "
            f"{least:g}: give {{argument}} from 0 on.",
            "cells",
        )
