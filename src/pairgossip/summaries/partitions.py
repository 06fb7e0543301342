"""Rows on the workers of a Dask cluster: each partition is counted where it lies.

A task gets one partition and returns its counts, and further tasks add these up, some at a time. So
what travels, and what arrives here, is as long as the cells, however many rows there are. Whichever
scheduler Dask uses at the moment runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import DROP, REFUSE
from pairgossip.counts.cells import Quantiles, default_cells
from pairgossip.counts.tables import MOST_COMBINATIONS
from pairgossip.errors import InputError, needed_for, notify
from pairgossip.kernels.data import format_label
from pairgossip.kernels.rows import find_gaps, order_classes, prepare_rows, rows_dropped
from pairgossip.rows.columns import as_array, as_ordered, is_number
from pairgossip.rows.frames import Frame
from pairgossip.rows.rows import choose_columns
from pairgossip.summaries.summary import Summary
from pairgossip.summaries.summary_reading import EVENT, OF_CLASSES, find_measure, name_columns

_AT_ONCE = 8
"""How many partial results one task adds up."""
_FACTORS = {"labels": "classes", "by": "groups", "within": "strata"}
"""Arguments that name a column, and those that list its values."""
_COLUMNS = (*_FACTORS, "weights")

_COMPLETE = {"missing": REFUSE}
"""What is asked of rows of which none lacks anything."""
_EVERYWHERE = "in all partitions together"
"""Where rows were left out."""

Count = Callable[..., Summary]
"""`summarize`, which counts the rows of one partition."""


class _Part(NamedTuple):
    """What is known of some partitions."""

    found: Any = None
    """What was asked for; None if there are no rows."""
    rows: int = 0
    dropped: int = 0
    problem: tuple[int, InputError] | None = None
    """What is wrong, and with which partition."""


class _Facts(NamedTuple):
    """What cells and factors follow from, where they are not given."""

    low: FloatArray
    high: FloatArray
    are_whole: FloatArray
    values: dict[str, frozenset[Any]]
    """The different values of every factor."""

    def __add__(self, other: Any) -> _Facts:
        """Return what is known of the rows of both."""
        return _Facts(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            np.minimum(self.are_whole, other.are_whole),
            {name: values | other.values[name] for name, values in self.values.items()},
        )


def is_partitioned(data: Any) -> bool:
    """Return whether data is a collection of Dask's, whose rows are elsewhere."""
    return hasattr(data, "to_delayed") and hasattr(data, "__dask_graph__")


def summarize_partitions(data: Any, count: Count, arguments: Mapping[str, Any]) -> Summary:
    """Return the rows of all partitions, counted on their workers.

    ``arguments`` are those of `summarize` but the data, as it takes them.
    """
    given = dict(arguments)
    least = given.pop("least_cell")
    data = _choose(data, given)
    lacking = _list_lacking(given)
    if lacking and least > 1:
        raise InputError(
            "What follows from rows tells about them: give {argument} for all partitions.",
            lacking[0],
        )
    if lacking:
        given |= _agree(_run(data, _look, given).found, given)
    part = _run(data, count, {**given, "least_cell": 1})
    if part.dropped:
        notify(rows_dropped(part.dropped, part.rows, _EVERYWHERE))
    total: Summary = part.found
    return replace(total, follows_rows=total.follows_rows or bool(lacking)).hide(least)


def _choose(data: Any, given: dict[str, Any]) -> Any:
    """Return a collection of the columns that are asked for, so that no others are read."""
    if given["labels"] is None and name_columns(find_measure(given["kernel"]))[-1] in OF_CLASSES:
        raise InputError("Rows on workers have labels by name: give {argument}.", "labels")
    for name in _COLUMNS:
        if given[name] is not None and not isinstance(given[name], str):
            raise InputError(
                "Rows that are on workers go together by the names of their columns: give the name "
                "of one as {argument}.",
                name,
            )
    if any(blocks > 1 for blocks in getattr(data, "numblocks", ())[1:]):
        raise InputError("The columns of the data are in different blocks: rechunk them together.")
    if not hasattr(data, "columns"):
        return data
    source = Frame("the data", list(data.columns), lambda places: [])
    named = [given[name] for name in _COLUMNS if given[name] is not None]
    columns = given["columns"]
    if columns is None:
        columns = [name for name in source.names if name not in named]
    wanted = [columns] if isinstance(columns, str) else list(columns)
    places = [source.find(name) for name in dict.fromkeys([*wanted, *named])]
    return data[[source.names[place] for place in places]]


def _list_lacking(given: Mapping[str, Any]) -> list[str]:
    """Return which arguments follow from the rows of all partitions."""
    cells = given["cells"] if isinstance(given["cells"], list | tuple) else [given["cells"]]
    if any(isinstance(one, Quantiles) for one in cells):
        raise InputError(
            "Quantiles are not known of rows on workers: give other {argument}, such as "
            "pg.cells.Even or pg.cells.Float.",
            "cells",
        )
    lacking = ["cells"] if given["cells"] is None else []
    return lacking + [
        listed
        for name, listed in _FACTORS.items()
        if given[name] is not None and given[listed] is None
    ]


def _run(data: Any, work: Callable[..., Any], given: Mapping[str, Any]) -> _Part:
    """Return the sum of what work on all partitions gives."""
    with needed_for("Counting rows on workers", "pairgossip[cluster]"):
        from dask.delayed import delayed
    blocks = data.to_delayed()
    blocks = blocks.ravel().tolist() if isinstance(blocks, np.ndarray) else list(blocks)
    parts = [delayed(_work)(one, at, work, dict(given)) for at, one in enumerate(blocks)]
    while len(parts) > 1:
        groups = (parts[at : at + _AT_ONCE] for at in range(0, len(parts), _AT_ONCE))
        parts = [delayed(_merge)(one) for one in groups]
    part: _Part = parts[0].compute() if parts else _Part()
    if part.problem is not None:
        at, problem = part.problem
        raise problem.at(f"partition {at} (counting from 0)")
    if part.found is None:
        if part.dropped:
            rows_dropped(part.dropped, part.rows, _EVERYWHERE)  # refuses: there are no others
        raise InputError("The data has no rows in any partition: give some.")
    return part


def _work(rows: Any, at: int, work: Callable[..., Any], given: dict[str, Any]) -> _Part:
    """Return what work on one partition gives; this runs on a worker."""
    count = len(rows)
    try:
        if count and given["missing"] == DROP:
            kept = _find_complete(rows, given)  # told once, of all partitions
            rows, given = (rows.iloc if hasattr(rows, "iloc") else rows)[kept], given | _COMPLETE
        found = work(rows, **given) if len(rows) else None
        return _Part(found, count, count - len(rows))
    except InputError as problem:
        return _Part(problem=(at, InputError(problem.message, problem.argument, problem.value)))


def _merge(parts: Sequence[_Part]) -> _Part:
    """Return what is known of all partitions of these parts; this runs on a worker."""
    problems = [one.problem for one in parts if one.problem is not None]
    found = [one.found for one in parts if one.found is not None]
    try:
        total = reduce(add, found) if found and not problems else None
    except InputError as problem:
        problems = [(-1, problem)]
    rows, dropped = sum(one.rows for one in parts), sum(one.dropped for one in parts)
    return _Part(total, rows, dropped, min(problems, key=lambda one: one[0], default=None))


def _name_columns(rows: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    named = {name: given[name] for name in _COLUMNS if given[name] is not None}
    return {"data": rows, **named}


def _find_complete(rows: Any, given: Mapping[str, Any]) -> IntArray:
    """Return which rows of a partition have no missing values."""
    columns = choose_columns("data", _name_columns(rows, given), given["columns"]).columns
    gaps = [find_gaps(column, name) for name, column in columns.items()]
    return np.flatnonzero(~np.logical_or.reduce(gaps))


# What follows from the rows of all partitions, where it is not given.


def _look(rows: Any, **given: Any) -> _Facts:
    """Return what cells and factors of one partition follow from; this runs on a worker."""
    columns = prepare_rows(
        given["missing"], None, _name_columns(rows, given), None, given["columns"]
    ).columns
    data = as_array(columns["data"], "data").reshape(len(columns["data"]), -1)
    values = {}
    for name, listed in _FACTORS.items():
        if name in columns and given[listed] is None:
            if as_ordered(columns[name]) is not None and name == "labels":
                raise InputError("The order of labels is not known: give {argument}.", listed)
            found = frozenset(as_array(columns[name], name, objects=True).tolist())
            if len(found) > MOST_COMBINATIONS:
                raise InputError(
                    f"{given[name]} holds {len(found):,} different values, but at most "
                    f"{MOST_COMBINATIONS} {listed} are counted apart: name another column."
                )
            values[name] = found
    return _Facts(data.min(axis=0), data.max(axis=0), (data == np.rint(data)).all(axis=0), values)


def _agree(facts: _Facts, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that follow from what all rows are."""
    agreed: dict[str, Any] = {}
    if given["cells"] is None:
        ends = list(zip(facts.low.tolist(), facts.high.tolist(), strict=True))
        names = name_columns(find_measure(given["kernel"]))
        if names[-1] == EVENT and len(ends) == len(names):
            ends = ends[:-1]
        ranges = [(low, high if low < high else low + max(abs(low), 1.0)) for low, high in ends]
        agreed["cells"] = default_cells(ranges, facts.are_whole.tolist()[: len(ends)], is_own=True)
    for name, values in facts.values.items():
        if name == "labels":
            agreed |= _agree_on_classes(list(values), given["positive"])
        elif len(listed := sorted(set(map(format_label, values)))) > 1:
            agreed[_FACTORS[name]] = listed
    return agreed


def _agree_on_classes(labels: list[Any], positive: Any) -> dict[str, Any]:
    """Return the classes of all labels, from the lowest to the highest."""
    if positive is not None:
        return {"classes": order_classes(positive, labels), "positive": None}
    if not all(is_number(one) for one in labels):
        raise InputError(
            "The labels are text, whose order is not known: give {argument}, from the lowest to "
            "the highest.",
            "classes",
        )
    return {"classes": sorted(labels)} if len(labels) > 1 else {}
