"""Counts made by a database engine, as the counts of a summary."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.checks import DROP, MISSING, choice
from pairgossip.errors import InputError, RowsDropped, notify
from pairgossip.kernels.data import format_label
from pairgossip.kernels.rows import check_classes, find_gaps
from pairgossip.rows.columns import as_array
from pairgossip.rows.frames import Source
from pairgossip.rows.sources import open_source
from pairgossip.summaries.sql import CELLS, COUNT, FACTORS, OUTSIDE, PART
from pairgossip.summaries.summary_bytes import MOST_ROWS
from pairgossip.text import MOST_NAMED, format_count, join_first, join_names

if TYPE_CHECKING:
    from pairgossip.summaries.summary import Summary

_TITLE = "The answer"
_UNKNOWN = -2
"""The place of a value that is not listed."""
_NUMBERS = ("1", "True")
"""The names of the second class where labels count as the numbers 0 and 1 that they are."""


def read_counts(
    summary: Summary, frame: Any, classes: Sequence[Any] | None, missing: str
) -> IntArray:
    """Return the counts of all tables of a summary, flat, from the answer of its query."""
    tables, known = summary.layout.tables, _list_known(summary, classes)
    cells = CELLS[: len(tables[0].axes)]
    are_several = len(tables) > 1
    source = _open(frame, [*[PART] * are_several, *cells, *known, COUNT])
    counts = _read_numbers(source, COUNT, 0.0, MOST_ROWS - 1.0)
    parts = np.zeros(len(counts))
    if are_several:
        parts = _read_numbers(source, PART, 0.0, len(tables) - 1.0)
    factors = [_find_places(source, key, names, counts) for key, names in known.items()]
    most = max(bins for table in tables for bins in table.shape) - 1.0
    columns = [_read_numbers(source, name, OUTSIDE, most, has_gaps=True) for name in cells]
    places = np.column_stack([*factors, *columns])
    gaps = np.asarray(np.isnan(places).any(axis=1))
    kept = _leave_out_gaps(gaps, counts * (parts == 0), missing)
    parts, places, counts = parts[kept], places[kept], counts[kept]
    _refuse_outside(np.asarray((places == OUTSIDE).any(axis=1)), counts * (parts == 0), summary)
    found = [
        _fill(table.shape, places[parts == at], counts[parts == at])
        for at, table in enumerate(tables)
    ]
    return np.concatenate(found)


def _open(frame: Any, names: Sequence[str]) -> Source:
    """Return the columns of an answer; those without names are in the query's order."""
    source = open_source(frame, _TITLE)
    if source is None:
        try:
            rows = [tuple(row) for row in frame]
        except TypeError:
            rows = [()]
        if any(len(row) != len(names) for row in rows):
            raise InputError(
                f"{_TITLE} of the query has the columns {join_names(names)}: give a table with "
                f"these names, or rows of {len(names)} entries."
            )
        columns = zip(*rows, strict=True) if rows else ((),) * len(names)
        source = open_source(dict(zip(names, map(list, columns), strict=True)), _TITLE)
        assert source is not None  # a dict has names
    source.load([source.find(name) for name in names])
    return source


def _read_numbers(
    source: Source, name: str, least: float, most: float, *, has_gaps: bool = False
) -> FloatArray:
    """Return a column of whole numbers within limits; missing entries are NaN if allowed."""
    numbers = source.read_numbers([source.find(name)])[0]
    is_right = (numbers == np.rint(numbers)) & (numbers >= least) & (numbers <= most)
    if has_gaps:
        is_right |= np.isnan(numbers)
    if not is_right.all():
        wrong = numbers[~is_right][0]
        raise InputError(
            f"{_TITLE} has the {name} {wrong:g}, which the query does not give: run the query of "
            "this summary again."
        )
    return numbers


def _list_known(
    summary: Summary, classes: Sequence[Any] | None
) -> dict[str, Mapping[Hashable, int]]:
    """Return the place of every possible value of each factor, as rows hold it."""
    known: dict[str, Mapping[Hashable, int]] = {}
    for key, name in FACTORS.items():
        values = getattr(summary, name)
        if values is not None:
            named = _name_classes(summary, classes) if name == "classes" else values
            known[key] = {one: place for place, one in enumerate(named)}
    if classes is not None and summary.classes is None:
        raise InputError("The summary has no classes: leave {argument} out.", "classes")
    return known


def _name_classes(summary: Summary, classes: Sequence[Any] | None) -> Sequence[Any]:
    """Return the labels of classes; a summary stores their numbers and the name of the positive."""
    numbers, positive = summary.classes or (), summary.positive
    are_coded = numbers == tuple(range(len(numbers)))
    if classes is None:
        if are_coded and (len(numbers) > 2 or (positive is not None and positive not in _NUMBERS)):
            raise InputError(
                "A summary stores its classes as numbers: give {argument}, the labels of the "
                f"{len(numbers)} classes from the lowest to the highest.",
                "classes",
            )
        return numbers
    labels = check_classes(classes)
    is_other = positive is not None and len(labels) == 2 and format_label(labels[1]) != positive
    if len(labels) != len(numbers) or is_other:
        named = "" if positive is None else f", and the last is '{positive}'"
        raise InputError(
            f"The summary has {len(numbers)} classes{named}: correct {{argument}}.", "classes"
        )
    return labels


def _find_places(
    source: Source, key: str, known: Mapping[Hashable, int], counts: FloatArray
) -> FloatArray:
    """Return the place of every entry of a factor, NaN for missing entries."""
    role = {"label": "labels", "weight": "weights"}.get(key, key)
    column = source.read_entries(source.find(key), role, list(known))
    gaps = find_gaps(column, key)
    entries = as_array(column, key, objects=True).tolist()
    if key in ("group", "stratum"):
        entries = [format_label(one) for one in entries]
    places = np.array([known.get(one, _UNKNOWN) for one in entries], dtype=np.float64)
    places[gaps] = np.nan
    if (places == _UNKNOWN).any():
        rows: dict[Hashable, int] = {}
        for at in np.flatnonzero(places == _UNKNOWN).tolist():
            rows[entries[at]] = rows.get(entries[at], 0) + int(counts[at])
        named = [f"{_show(one)} ({format_count(n, 'row')})" for one, n in rows.items()]
        raise InputError(
            f"{_TITLE} has the {key} {join_first(named[:MOST_NAMED], len(named))}, but the summary "
            f"lists {join_names([_show(one) for one in known])}: list all values, or select "
            "only rows with these."
        )
    return places


def _show(value: Hashable) -> str:
    """Return the name of a label, a group or a weight in messages."""
    return repr(value)[:42] if isinstance(value, str) else format_label(value)


def _leave_out_gaps(gaps: BoolArray, rows: FloatArray, missing: str) -> BoolArray:
    """Return which counts are of rows without gaps; warn about others, or raise `InputError`."""
    lost, total = int(rows[gaps].sum()), int(rows.sum())
    if choice("treatment of missing values", missing, MISSING) != DROP and lost:
        raise InputError(
            f"Values are missing in {lost:,} of {total:,} rows: fill them in, or leave these rows "
            "out with {argument}.",
            "missing",
            DROP,
        )
    if lost:
        notify(RowsDropped(f"Left out {lost:,} of {total:,} rows, which have missing values."))
    return ~gaps


def _refuse_outside(outside: BoolArray, rows: FloatArray, summary: Summary) -> None:
    """Raise `InputError` for rows that lie in no cell."""
    if outside.any():
        cells = join_names([str(one) for one in summary.cells])
        raise InputError(
            f"{cells} leaves out {int(rows[outside].sum()):,} of {int(rows.sum()):,} rows: give "
            "wider {argument}.",
            "cells",
        )


def _fill(shape: tuple[int, ...], places: FloatArray, counts: FloatArray) -> IntArray:
    """Return the counts of one table, flat."""
    table = np.zeros(shape, dtype=np.int64)
    at = tuple(places.astype(np.int64).T)
    if any((one >= bins).any() for one, bins in zip(at, shape, strict=True)):
        raise InputError(f"{_TITLE} has cells that the summary lacks: run its own query again.")
    if len(np.unique(places, axis=0)) < len(places):
        raise InputError(f"{_TITLE} counts the same cell twice: add up such rows, or run it again.")
    table[at] = counts
    return table.ravel()
