"""Rows, counted per cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairgossip.arguments.argument import check_declared
from pairgossip.arguments.summarize import SummarizeArguments
from pairgossip.arrays import FloatArray
from pairgossip.checks import REFUSE
from pairgossip.errors import InputError
from pairgossip.kernels import Combination, Kernel, check_data
from pairgossip.kernels.data import as_array, check_columns, column_count, format_label
from pairgossip.kernels.rows import check_classes, code_labels, name_positive, prepare_rows
from pairgossip.kernels.weighing import check_weights
from pairgossip.summaries.bounds import Ends
from pairgossip.summaries.cells import MOST_CELLS, Cells, Quantiles, default_cells
from pairgossip.summaries.layouts import OrderQuestion
from pairgossip.summaries.partitions import is_partitioned, summarize_partitions
from pairgossip.summaries.summary import ALL_WEIGHTS, MOST_WEIGHT, Summary, check_least_cell
from pairgossip.summaries.summary_reading import EVENT, OF_CLASSES, find_measure, name_columns
from pairgossip.text import format_count

_MOST_CLASSES = 64
"""Largest number of different labels; more are a column, which has cells."""
_MOST_COLUMNS = 2
"""Largest number of columns that are counted together."""


def summarize(
    data: Any,
    kernel: Kernel | Combination | str,
    kind: str = "v",
    labels: Any = None,
    *,
    columns: Sequence[Any] | str | None = None,
    cells: Cells | Sequence[Cells] | None = None,
    least_cell: int = 1,
    missing: str = REFUSE,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    by: Any = None,
    groups: Sequence[Any] | None = None,
    within: Any = None,
    strata: Sequence[Any] | None = None,
    weights: Any = None,
) -> Summary:
    """Count rows per cell, so that statistics can be read and parts be added up.

    Parameters
    ----------
    data, labels, columns, kind, missing, classes, positive
        As in `exact`. Parts of the rows need the same ``classes``, if not all labels are in each.
        A DataFrame of Dask's is counted on its workers; cells and classes that are not given take
        a pass of their own.
    kernel
        What is read first: the name of a kernel, of a statistic of order, such as ``"median"`` or
        ``"quantile-0.9"``, or of a test by ranks. It says which columns there are, one or two
        beside a label.
    cells
        Those of every column, or of all: see `pairgossip.cells`. Without any they are fine ones
        over the range of the values, which other rows do not share: parts that are to be added up
        need cells.
    least_cell
        1 to keep counts as they are; from 3 on, every count is 0 or at least this number, because
        rows are counted in blocks of cells of a public tree. Give cells then: those that follow
        from the values tell about them.
    by, groups
        The group of every row, such as the sex of patients, and all groups that there may be: those
        of the rows unless given. Statistics are read of all rows, or of one group
        (``s.answer(0.95, group="f")``).
    within, strata
        The stratum of every row, and all that there may be. Only pairs of rows in the same stratum
        are compared, as with ``exact(..., within=)``.
    weights
        How often each row counts: whole numbers, 1 to 16. Intervals are those of the rows repeated
        as often.

    Every combination of class, group, stratum and weight is counted by itself, and there are at
    most 64. With a larger ``least_cell`` one that has fewer rows counts as empty: list few.

    Examples
    --------
    >>> import pairgossip as pg
    >>> score, ill = [0.1, 0.3, 0.4, 0.2, 0.5, 0.7, 0.6, 0.9], [0, 0, 0, 0, 1, 1, 0, 1]
    >>> s = summarize(score, "auc", labels=ill, cells=pg.cells.Even(0, 1, 10))
    >>> s
    <Summary for auc: 8 rows in Even(0, 1, 10), 2 classes; 301 bytes>
    >>> print(s.answer(0.95))
    0.933 (95 %: 0.020 to 1.000; positive: 1); certain: 0.933 to 0.933
    """
    request = _SummarizeRequest(
        data=data,
        kernel=kernel,
        kind=kind,
        labels=labels,
        columns=columns,
        cells=cells,
        least_cell=least_cell,
        missing=missing,
        classes=classes,
        positive=positive,
        by=by,
        groups=groups,
        within=within,
        strata=strata,
        weights=weights,
    )
    if is_partitioned(data):
        given = {
            name: one for name, one in vars(request).items() if name not in ("data", "measure")
        }
        return summarize_partitions(data, summarize, given)
    return request.summarize()


@dataclass(kw_only=True)
class _SummarizeRequest(SummarizeArguments):
    """What `summarize` is asked for; creating one checks the arguments that need no data."""

    def __post_init__(self) -> None:
        check_declared(self)
        self.measure = find_measure(self.kernel)
        order = self.measure if isinstance(self.measure, OrderQuestion) else None
        if self.within is not None and order is not None:
            raise InputError(
                f"'{order.name}' compares no pairs of rows: leave {{argument}} out.", "within"
            )
        if self.weights is not None and order is not None and order.is_test:
            raise InputError(
                f"Test '{order.name}' is of rows that count once: leave {{argument}} out.",
                "weights",
            )
        check_least_cell(self.least_cell)

    def summarize(self) -> Summary:
        """Return the rows, counted."""
        arguments = ("data", "labels", "by", "within", "weights")
        given = {name: getattr(self, name) for name in arguments}
        rows, _, positive = prepare_rows(
            self.missing, self.classes, given, self.positive, self.columns
        )
        labels = rows.get("labels")
        table = check_data(rows["data"], labels)
        model = self.measure
        kernel = model.column_model if isinstance(model, OrderQuestion) else model
        names = name_columns(model)
        if self.classes is None:
            kernel.check(table, labels)
        else:  # a part of the rows need not hold all classes
            check_columns(f"'{model.name}'", names, table)
        named = name_positive(kernel, table, positive, has_labels=labels is not None)
        if self.classes is not None:  # whichever of them this part of the rows holds
            named = format_label(self.classes[1]) if len(self.classes) == 2 else None
        table = table.reshape(len(table), -1)
        has_events = names[-1] == EVENT and table.shape[1] == len(names)
        has_classes = has_events or names[-1] in OF_CLASSES or labels is not None
        columns = table[:, :-1] if has_classes else table
        known = self._find_classes(table[:, -1], has_events) if has_classes else None
        cells = self._lay_cells(columns)
        factors = self._find_factors(rows, len(table))
        empty = Summary.empty(
            reading=model.name,
            kind=self.kind,
            cells=cells,
            classes=None if known is None else tuple(known.tolist()),
            has_events=has_events,
            positive=named,
            least_cell=1,
            follows_rows=self._follows(has_labels=has_classes and not has_events),
            **{name: values for name, (values, _) in factors.items()},
        )
        counted = empty.with_rows(np.column_stack([table, *(one for _, one in factors.values())]))
        return counted.hide(self.least_cell)

    def _follows(self, *, has_labels: bool) -> bool:
        """Return whether cells, classes, groups or strata follow from the rows."""
        cells = self.cells if isinstance(self.cells, list | tuple) else [self.cells]
        given = [(has_labels, self.classes), (self.by is not None, self.groups)]
        given.append((self.within is not None, self.strata))
        return any(is_there and values is None for is_there, values in given) or any(
            one is None or isinstance(one, Quantiles) for one in cells
        )

    def _find_factors(
        self, rows: Mapping[str, Any], count: int
    ) -> dict[str, tuple[tuple[Any, ...], FloatArray]]:
        """Return all groups, strata and weights, and the number of each row's."""
        found: dict[str, tuple[tuple[Any, ...], FloatArray]] = {}
        for name, key in (("by", "groups"), ("within", "strata")):
            values = getattr(self, key)
            if name in rows:
                found[key] = self._number_rows(rows[name], name, key, values, count)
            elif values is not None:
                raise InputError(f"The {key} are those of rows: give {{argument}}, too.", name)
        weights = check_weights(rows.get("weights"), count)
        if weights is not None:
            if not (np.isin(weights, np.arange(1, MOST_WEIGHT + 1))).all():
                raise InputError(
                    f"A summary counts rows 1 to {MOST_WEIGHT} times: give {{argument}} that are "
                    "such whole numbers.",
                    "weights",
                )
            listed = ALL_WEIGHTS if self.least_cell > 1 else np.unique(weights)
            found["weights"] = (tuple(map(int, listed)), weights)
        return found

    def _number_rows(
        self, column: Any, name: str, key: str, values: Sequence[Any] | None, count: int
    ) -> tuple[tuple[str, ...], FloatArray]:
        """Return the names of all groups or strata, and the number of each row's."""
        array = as_array(column, name, objects=True)
        if array.shape != (count,):
            raise InputError(
                f"The shape of {name} is {array.shape} but there are {format_count(count, 'row')}: "
                "give one entry per row."
            )
        entries = [format_label(one) for one in array.tolist()]
        if not all(one.isprintable() for one in entries):
            raise InputError(f"{name} holds text that cannot be printed in a line: rename it.")
        if values is None and self.least_cell > 1:
            raise InputError(
                f"The {key} of the rows tell about them: give {{argument}}, all that there may be.",
                key,
            )
        if values is None:
            found, numbers = np.unique(entries, return_inverse=True)
            return tuple(found.tolist()), numbers.astype(np.float64)
        listed = tuple(map(format_label, check_classes(values, key)))
        return listed, code_labels(entries, listed, f"{name} holds", what=key)

    def _find_classes(self, labels: FloatArray, has_events: bool) -> FloatArray:
        """Return the classes as numbers, from the lowest to the highest."""
        if has_events:
            return np.arange(2.0)
        if self.classes is not None:
            return np.arange(float(len(check_classes(self.classes))))
        if self.least_cell > 1:
            raise InputError(
                "Classes that follow from the labels tell about them: give {argument}, all that "
                "there may be.",
                "classes",
            )
        found = np.unique(labels)
        if len(found) > _MOST_CLASSES:
            raise InputError(
                f"The labels hold {len(found):,} different values, but a summary counts at most "
                f"{_MOST_CLASSES} classes: give them as a column, which has cells."
            )
        return found

    def _lay_cells(self, columns: FloatArray) -> tuple[Cells, ...]:
        """Return the cells of every column, in which all values are."""
        count = column_count(columns)
        if count > _MOST_COLUMNS:
            raise InputError(
                f"The data has {count} columns beside labels, but a summary counts one or two "
                "together: choose them."
            )
        if self.cells is None:
            ranges = [_pad(one) for one in columns.T]
            are_whole = [bool((one == np.rint(one)).all()) for one in columns.T]
            cells = default_cells(ranges, are_whole, is_own=True)
        else:
            is_list = isinstance(self.cells, list | tuple)
            cells = tuple(self.cells) if is_list else (self.cells,) * count
        if len(cells) != count or not all(isinstance(one, Cells) for one in cells):
            raise InputError(
                f"The data has {format_count(count, 'column')} beside labels, but {{argument}} is "
                f"{self.cells!r}: give cells such as pg.cells.Even(0, 1), for all columns or one "
                "for each.",
                "cells",
            )
        follows = self.cells is None or any(isinstance(one, Quantiles) for one in cells)
        if follows and self.least_cell > 1:
            raise InputError(
                "Cells that follow from the values tell about them: give {argument} that do not, "
                "such as pg.cells.Even(0, 1).",
                "cells",
            )
        fitted = tuple(one.fit(column) for one, column in zip(cells, columns.T, strict=True))
        for at, (one, column) in enumerate(zip(fitted, columns.T, strict=True)):
            one.check(column, at)
        if math.prod(one.lay().bins for one in fitted) > MOST_CELLS:
            raise InputError(f"A summary has at most {MOST_CELLS:,} cells: give fewer.")
        return fitted


def _pad(column: FloatArray) -> Ends:
    """Return the range of values; of one value alone, a range about it."""
    low, high = float(column.min()), float(column.max())
    return (low, high) if low < high else (low, low + max(abs(low), 1.0))
