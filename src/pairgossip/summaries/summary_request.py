"""A request of `summarize`: its arguments checked, cells and factors found, rows counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arguments.argument import check_declared
from pairgossip.arguments.summarize import SummarizeArguments
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import check_jobs
from pairgossip.counts.axes import Labels
from pairgossip.counts.bounds import Ends
from pairgossip.counts.cells import Cells, Quantiles, default_cells
from pairgossip.counts.layouts import OrderQuestion, lay_out
from pairgossip.counts.tables import Columns, check_combinations
from pairgossip.errors import InputError, notify
from pairgossip.kernels import check_data
from pairgossip.kernels.data import as_array, check_columns, format_label, name_higher
from pairgossip.kernels.rows import check_classes, code_labels, name_positive, order_classes
from pairgossip.kernels.weighing import check_weights
from pairgossip.rows.columns import Ordered, read_numbers
from pairgossip.summaries.counting.counter import Counter, join
from pairgossip.summaries.counting.factors import CHECKS, Factor
from pairgossip.summaries.counting.incoming import Incoming, Rows
from pairgossip.summaries.counting.tally import ROLES, Extent, Tally
from pairgossip.summaries.heads import (
    ALL_WEIGHTS,
    MOST_WEIGHT,
    check_factors,
    check_least_cell,
    check_size,
    list_names,
)
from pairgossip.summaries.partitions import Partitions
from pairgossip.summaries.row_digest import RowDigest
from pairgossip.summaries.summary import Summary
from pairgossip.summaries.summary_reading import EVENT, OF_CLASSES, find_measure, name_columns
from pairgossip.text import format_count

_ROLES = ("labels", "by", "within", "weights")
"""Arguments that hold one entry per row, or name a column of the data."""
_MOST_COLUMNS = 2
"""Largest number of columns that are counted together."""


@dataclass(kw_only=True)
class SummaryRequest(SummarizeArguments):
    """The arguments of `summarize`; creating one checks the arguments that need no data."""

    def __post_init__(self) -> None:
        check_declared(self)
        self._digest: RowDigest | None = None
        self.measure = find_measure(self.kernel)
        within = None if self.within is None else "within"
        check_factors(self.measure, within, None if self.weights is None else "weights")
        check_least_cell(self.least_cell)
        check_jobs(self.n_jobs)
        if self.classes is not None:
            check_classes(self.classes)
            if self.labels is None:
                code_labels(None, self.classes)  # raises an error
        if self.positive is not None and (self.classes is not None or self.labels is None):
            order_classes(self.positive, self.labels, self.classes)

    def summarize(self) -> Summary:
        """Return the summary of the rows."""
        return self.finish(self.count_rows())

    def count_rows(self, digest: RowDigest | None = None) -> Counter:
        """Return the counts of the rows, and add the rows to a digest if one is given."""
        self._digest = digest
        tally = self.open()

        def find_extents() -> list[Extent]:
            extents = tally.find_extents(self._columns)
            tally.check()
            return extents

        seen = self._lay_cells(find_extents)
        counter = self.count(tally)
        dropped = tally.check()
        if seen not in (None, counter.rows):
            raise InputError(
                f"{self._incoming.title} had {seen:,} rows, and {counter.rows:,} as it was "
                "read again: give {argument}, so that it is read once.",
                "cells",
            )
        if dropped is not None:
            notify(dropped)
        return counter

    def summarize_partitions(self) -> Summary:
        """Return the summary of all partitions, counted on their workers."""
        partitions = Partitions(self.data, {name: getattr(self, name) for name in _ROLES})
        self.data = partitions.example
        self.open()
        if any(isinstance(one, Quantiles) for one in self._list_cells() or ()):
            raise InputError(
                "Quantiles of rows on workers are not known: give other {argument}, such as "
                "pg.cells.Even or pg.cells.Float.",
                "cells",
            )
        partitions.choose(self._incoming.asked)
        # The workers are the threads, and counts are hidden once all rows are counted.
        changed = {"data": None, "n_jobs": 1, "progress": False, "least_cell": 1}
        given = {one.name: getattr(self, one.name) for one in fields(self)} | changed
        self._lay_cells(lambda: partitions.run(_look, _join_extents, given).found)
        part = partitions.run(_count, join, given | {"cells": self._cells})
        counter = self._start_counter(self._make_factors())
        counter.merge(part.found)
        if part.dropped:
            notify(part.warn())
        return self.finish(counter)

    def count(self, tally: Tally) -> Counter:
        """Return the counts of one pass over the rows."""
        return tally.count(self._start_counter, self._check_classes if self._has_classes else _pass)

    def open(self) -> Tally:
        """Return the reader of the rows; raise `InputError` for errors that need no rows."""
        given = {name: one for name in _ROLES if (one := getattr(self, name)) is not None}
        given = {"data": self.data, **given}
        words = self.classes if self.positive is None else [self.positive]
        self._incoming = incoming = Incoming(given, self.columns, words)
        names, has_labels = name_columns(self.measure), self.labels is not None
        self._check_columns(incoming.columns + has_labels)
        self._has_events = names[-1] == EVENT and incoming.columns + has_labels == len(names)
        self._has_classes = self._has_events or names[-1] in OF_CLASSES or has_labels
        has_label_column = self._has_classes and not has_labels
        self._columns = incoming.columns - has_label_column
        self._list_factors()
        self._check_cells(self._columns)
        return Tally(
            incoming,
            self._make_factors,
            self._refuse,
            has_label_column=has_label_column,
            missing=self.missing,
            classes=self.classes,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )

    def _check_columns(self, count: int) -> None:
        """Raise `InputError` if the columns, with the label, are not those of the statistic."""
        model = self.measure
        kernel = model.column_model if isinstance(model, OrderQuestion) else model
        nothing = np.empty((0, count))
        if self.classes is not None:
            check_columns(f"'{model.name}'", name_columns(model), nothing)
            return
        for component in kernel.components:
            check_columns(f"Kernel '{kernel.name}'", component.columns, nothing)

    def _list_factors(self) -> None:
        """Note all possible entries of factors, as far as they were listed."""
        self._listed: dict[str, tuple[Any, ...] | None] = {}
        if self._has_classes:
            self._listed["classes"] = (0.0, 1.0) if self._has_events else self._list_classes()
        for name, key in (("by", "groups"), ("within", "strata")):
            values = getattr(self, key)
            if getattr(self, name) is None:
                if values is not None:
                    raise InputError(f"The {key} belong to rows: give {{argument}}, too.", name)
                continue
            if values is None and self.least_cell > 1:
                raise InputError(
                    f"The {key} of the rows reveal something about them: give {{argument}}, all "
                    "possible ones.",
                    key,
                )
            self._listed[key] = list_names(values, key)
        if self.weights is not None:
            self._listed["weights"] = ALL_WEIGHTS if self.least_cell > 1 else None
        check_combinations([len(one) for one in self._listed.values() if one is not None])

    def _list_classes(self) -> tuple[Any, ...] | None:
        if self.classes is not None:
            return tuple(check_classes(self.classes))
        if self.least_cell > 1:
            raise InputError(
                "Classes that follow from the labels reveal something about them: give {argument}, "
                "all possible ones.",
                "classes",
            )
        return None

    def _make_factors(self) -> dict[str, Factor]:
        """Return factors that have seen no rows."""
        found = {}
        for name, listed in self._listed.items():
            spell = format_label if name in ("groups", "strata") else None
            found[name] = Factor(listed, spell, partial(CHECKS[name], ROLES[name]))
        return found

    def _start_counter(self, factors: dict[str, Factor]) -> Counter:
        axes = tuple(one.lay() for one in self._cells)
        classes = Labels(np.arange(2.0)) if self._has_classes else None
        layout = lay_out(Columns(axes, classes, self.kind), self.measure.name)
        digest = None if self._digest is None else self._digest.restart()
        return Counter(axes, [table.columns for table in layout.tables], factors, digest)

    def _refuse(
        self, rows: Rows, entries: dict[str, Any], columns: Sequence[FloatArray]
    ) -> InputError:
        """Raise `InputError` for rows that cannot be counted; return a vague one if none is
        found."""
        count = len(columns[0])
        for name, factor in self._make_factors().items():
            column = entries[name]
            wrong = np.flatnonzero(factor.code(column) < 0)
            if not len(wrong):
                continue
            where = rows.describe(wrong)
            if name == "weights":
                check_weights(read_numbers(column, "weights"), count)
                raise InputError(
                    f"A summary counts a row 1 to {MOST_WEIGHT} times: give {{argument}} as "
                    f"whole numbers from 1 to {MOST_WEIGHT}, also in {where}.",
                    "weights",
                )
            role = ROLES[name]
            owner = rows.owners.get(role, role)
            if name == "classes" and self._has_events:
                raise InputError(
                    f"Kernel '{self.measure.name}' needs events of 0 (censored) or 1 (observed): "
                    f"recode {where}."
                )
            if name == "classes":
                check_data(np.zeros(count), column)
            elif (listed := self._listed[name]) is not None:
                array = as_array(column, role, objects=True)
                entries_of_rows = [format_label(one) for one in array.tolist()]
                code_labels(entries_of_rows, listed, f"{owner} holds", rows.describe, what=name)
            return InputError(
                f"{owner} holds something other than one number or text in {where}: correct it."
            )
        for at, (one, column) in enumerate(zip(self._cells, columns, strict=True)):
            one.check(column, self._incoming.owner(at), rows.describe)
        return InputError("Some rows cannot be counted: check the data.")

    def finish(self, counter: Counter) -> Summary:
        """Return the counts in blocks of enough rows; entries of factors are in their order."""
        orders, listed = [], {}
        for at, (name, factor) in enumerate(counter.factors.items()):
            order = counter.used(at)
            if self._listed[name] is not None:
                order = list(range(len(factor)))
            elif name != "classes":
                order.sort(key=factor.items.__getitem__)
            orders.append(order)
            listed[name] = tuple(factor.items[k] for k in order)
        if "weights" in listed:
            listed["weights"] = tuple(map(int, listed["weights"]))
        classes, positive = None, None
        if self._has_classes:
            orders[0], classes, positive = self._order_classes(counter, orders[0])
        return (
            Summary.empty(
                reading=self.measure.name,
                kind=self.kind,
                cells=self._cells,
                has_events=self._has_events,
                positive=positive,
                least_cell=1,
                follows_rows=self._follows(has_labels=self._has_classes and not self._has_events),
                **{**listed, "classes": classes},
            )
            .with_counts(counter.take(orders))
            .hide(self.least_cell)
        )

    def _order_classes(
        self, counter: Counter, used: list[int]
    ) -> tuple[list[int], tuple[float, ...], str | None]:
        """Return the order of the classes, their numbers, and the name of the positive one."""
        if self.classes is not None:
            named = format_label(self.classes[1]) if len(self.classes) == 2 else None
            return used, tuple(map(float, used)), named
        if self._has_events:
            self._name_positive(counter, used, np.arange(2.0), None)
            return used, (0.0, 1.0), None
        items = counter.factors["classes"].items
        if self.positive is not None:
            both = order_classes(self.positive, np.array([*items, None], dtype=object)[:-1])
            numbers = np.array([float(both.index(items[k])) for k in used])
            higher: str | None = format_label(both[1])
        else:
            labels = self._as_labels(counter, used)
            numbers = check_data(np.zeros(len(used)), labels)[:, -1]
            higher = None if self.labels is None else name_higher(labels)
        named = self._name_positive(counter, used, numbers, higher)
        order = np.argsort(numbers)
        return [used[k] for k in order], tuple(numbers[order].tolist()), named

    def _as_labels(self, counter: Counter, used: Sequence[int]) -> Any:
        """Return classes as labels that were given."""
        factor = counter.factors["classes"]
        items = [factor.items[k] for k in used]
        if factor.order is not None:
            return Ordered(np.array([factor.order.index(one) for one in items]), factor.order)
        return np.array([*items, None], dtype=object)[:-1]

    def _name_positive(
        self, counter: Counter, used: Sequence[int], numbers: FloatArray, higher: str | None
    ) -> str | None:
        """Check that the classes can be read; return the name of the positive one in answers."""
        model = self.measure
        kernel = model.column_model if isinstance(model, OrderQuestion) else model
        table, at = self._sample(counter, used, numbers)
        labels = None
        if self.labels is not None and self.positive is None and not self._has_events:
            labels = self._as_labels(counter, used)
            labels = labels.take(at) if isinstance(labels, Ordered) else labels[at]
        kernel.check(table, labels)
        return name_positive(kernel, table, higher, has_labels=self.labels is not None)

    def _sample(
        self, counter: Counter, used: Sequence[int], numbers: FloatArray
    ) -> tuple[FloatArray, IntArray]:
        """Return some rows of every class, with its number, and the places of their classes."""
        parts = [counter.sample(number) for number in used]
        at = np.repeat(np.arange(len(used)), [len(one) for one in parts])
        return np.column_stack([np.concatenate(parts), numbers[at]]), at

    def _check_classes(self, counter: Counter) -> None:
        """Raise `InputError` if the classes that have come cannot be read."""
        used = counter.used(0)
        if self.classes is None and not self._has_events and len(used) > 1:
            self._order_classes(counter, used)

    def _check_cells(self, count: int) -> None:
        """Raise `InputError` if there are cells for some columns only."""
        if count > _MOST_COLUMNS:
            raise InputError(
                f"The data has {count} columns beside labels, but a summary counts one or two "
                "together: choose them."
            )
        cells = self._list_cells()
        if cells is None:
            follows = True
        elif len(cells) != count or not all(isinstance(one, Cells) for one in cells):
            raise InputError(
                f"The data has {format_count(count, 'column')} beside labels, but {{argument}} is "
                f"{self.cells!r}: give cells such as pg.cells.Even(0, 1), for all columns or one "
                "for each.",
                "cells",
            )
        else:
            follows = any(isinstance(one, Quantiles) for one in cells)
        if follows and self.least_cell > 1:
            raise InputError(
                "Cells that follow from the values reveal something about them: give {argument} "
                "that "
                "do not, such as pg.cells.Even(0, 1).",
                "cells",
            )
        if follows and self._incoming.is_once:
            raise InputError(
                f"{self._incoming.title} can be read only once, and cells follow from its values: "
                "give {argument} that do not, such as pg.cells.Even(0, 1).",
                "cells",
            )

    def _list_cells(self) -> tuple[Cells, ...] | None:
        if self.cells is None:
            return None
        is_list = isinstance(self.cells, list | tuple)
        return tuple(self.cells) if is_list else (self.cells,) * self._columns

    def _lay_cells(self, find_extents: Callable[[], list[Extent]]) -> int | None:
        """Lay the cells of every column; return the number of rows of a first pass, if any."""
        cells, seen = self._list_cells(), None
        if cells is None or any(isinstance(one, Quantiles) for one in cells):
            extents = find_extents()
            seen = extents[0].rows
            if cells is None:
                ranges = [_pad(one.low, one.high) for one in extents]
                cells = default_cells(ranges, [one.is_whole for one in extents], is_own=True)
            values = (one.values for one in extents)
            cells = tuple(one.fit(some) for one, some in zip(cells, values, strict=True))
        check_size(cells)
        self._cells = cells
        return seen

    def _follows(self, *, has_labels: bool) -> bool:
        """Return whether cells, classes, groups or strata follow from the rows."""
        cells = self.cells if isinstance(self.cells, list | tuple) else [self.cells]
        given = [(has_labels, self.classes), (self.by is not None, self.groups)]
        given.append((self.within is not None, self.strata))
        return any(is_there and values is None for is_there, values in given) or any(
            one is None or isinstance(one, Quantiles) for one in cells
        )


def _pad(low: float, high: float) -> Ends:
    """Return the range of values; for one value alone, a range around it."""
    return (low, high) if low < high else (low, low + max(abs(low), 1.0))


def _look(rows: Any, given: dict[str, Any]) -> tuple[list[Extent], int]:
    """Return the extents of a partition, and how many rows lack numbers; runs on a worker."""
    request = SummaryRequest(**given | {"data": rows})
    tally = request.open()
    return _join_extents([tally.find_extents(request._columns)]), tally.dropped


def _join_extents(parts: Sequence[list[Extent]]) -> list[Extent]:
    whole = [Extent() for _ in parts[0]]
    for part in parts:
        for total, one in zip(whole, part, strict=True):
            total.merge(one)
    return whole


def _count(rows: Any, given: dict[str, Any]) -> tuple[Counter, int]:
    """Return the counts of a partition, and how many rows it left out; runs on a worker."""
    request = SummaryRequest(**given | {"data": rows})
    tally = request.open()
    request._cells = given["cells"]
    return request.count(tally), tally.dropped


def _pass(_: Counter) -> None:
    """Refuse nothing."""
