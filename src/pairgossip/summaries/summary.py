"""A table of counts from which statistics are read, and which adds up over parts of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import msgspec
import numpy as np

from pairgossip.arguments.argument import check_declared
from pairgossip.arguments.summarize import SummarizeArguments
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import REFUSE
from pairgossip.errors import InputError, canonical
from pairgossip.inference.answer import check_level
from pairgossip.kernels import CATALOG, Combination, Kernel, as_kernel, check_data
from pairgossip.kernels.data import check_columns, column_count, format_label
from pairgossip.kernels.rows import check_classes, name_positive, prepare_rows
from pairgossip.summaries.axes import Labels
from pairgossip.summaries.bounds import Ends
from pairgossip.summaries.cells import KINDS, MOST_CELLS, Cells, Quantiles, default_cells
from pairgossip.summaries.layouts import (
    OrderQuestion,
    check_name,
    find_layout,
    find_order_question,
    lay_out,
)
from pairgossip.summaries.readings import Estimate
from pairgossip.summaries.summary_reading import BlockCounts, LaidColumns, SummaryAnswer, read
from pairgossip.summaries.tree import Tree, lay_tree
from pairgossip.text import format_count, join_names

_VERSION = 1
"""Version of the bytes of a summary."""
_MOST_CLASSES = 64
"""Largest number of different labels; more are a column, which has cells."""
_NOT_FEW = 3
"""The least number of rows in a block that hides any: 2 would tell each of two about the other."""
_OF_CLASSES = ("label", "cluster")
_MOST_COLUMNS = 2
_EVENT = "event?"


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """Rows counted per cell: all that is kept of them, and enough for many statistics.

    `summarize` makes one. Those of parts of the rows add up (``+``) to that of all rows, if they
    have the same cells, classes and first reading.

    Attributes
    ----------
    reading, kind
        The kernel, statistic of order or test that is read unless another one is asked for, and
        "v" or "u".
    cells
        Those of every column, one or two.
    classes
        The labels as numbers; None without labels.
    has_events
        Whether the classes say that an event was seen (1) or not (0).
    positive
        The class that counts as the positive one of two, by name; None if there is none.
    least_cell
        Every count is 0 or at least this number: rows are counted in blocks of cells.
    counts
        Whole numbers, by class and cell; with a larger ``least_cell``, by class and block.
    """

    reading: str
    kind: str
    cells: tuple[Cells, ...]
    classes: tuple[float, ...] | None
    has_events: bool
    positive: str | None
    least_cell: int
    counts: IntArray

    @property
    def rows(self) -> int:
        """How many rows are counted."""
        return int(self.counts.sum())

    @cached_property
    def _tree(self) -> Tree:
        return lay_tree(tuple(one.lay().bins for one in self.cells))

    def __add__(self, other: Summary) -> Self:
        """Return the summary of the rows of both."""
        if not isinstance(other, Summary):
            return NotImplemented
        for name in _HEAD:
            own, others = getattr(self, name), getattr(other, name)
            if own != others:
                raise InputError(
                    f"Summaries add up only with the same {name}, but one has {own} and the other "
                    f"{others}: summarize both with the same arguments."
                )
        return replace(self, counts=self.counts + other.counts)

    def __radd__(self, other: object) -> Self:
        """Begin a sum: ``sum(summaries)`` adds to 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Summary) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def __repr__(self) -> str:
        cells = " x ".join(map(str, self.cells))
        classes = "" if self.classes is None else f", {len(self.classes)} classes"
        least = "" if self.least_cell == 1 else f", counts of at least {self.least_cell}"
        return (
            f"<Summary for {self.reading}: {format_count(self.rows, 'row')} in {cells}{classes}"
            f"{least}; {len(self.to_bytes()):,} bytes>"
        )

    def to_bytes(self) -> bytes:
        """Return the summary as bytes: their number follows from the cells, not from the rows."""
        head = {name: getattr(self, name) for name in _HEAD}
        head["cells"] = [[type(one).__name__, *one.numbers] for one in self.cells]
        counts = self.counts.astype("<i8")
        whole = {"version": _VERSION, **head, "shape": counts.shape, "counts": counts.tobytes()}
        return msgspec.msgpack.encode(whole)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the summary that `to_bytes` wrote; raise `InputError` for other bytes."""
        try:
            whole = msgspec.msgpack.decode(data, type=_Stored)
            counts = np.frombuffer(whole.counts, dtype="<i8").reshape(whole.shape)
            cells = tuple(_restore_cells(*one) for one in whole.cells)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, TypeError, KeyError) as why:
            raise InputError(
                "These bytes are no summary: give what Summary.to_bytes returned."
            ) from why
        if whole.version != _VERSION:
            raise InputError(
                f"These bytes are a summary of version {whole.version}, but this release reads "
                f"version {_VERSION}: install the release that wrote them."
            )
        head = {name: getattr(whole, name) for name in _HEAD if name != "cells"}
        summary = cls(**head, cells=cells, counts=counts.astype(np.int64))
        if counts.shape != summary._shape or (counts < 0).any():
            raise InputError("The counts of this summary do not fit its cells: ask for it again.")
        return summary

    def __reduce__(self) -> tuple[Any, ...]:
        return Summary.from_bytes, (self.to_bytes(),)

    @property
    def _shape(self) -> tuple[int, ...]:
        leading = () if self.classes is None else (len(self.classes),)
        shape = self._tree.shape if self.least_cell == 1 else (self._tree.size,)
        return (*leading, *shape)

    def answer(
        self,
        level: float = 0.95,
        reading: str | None = None,
        *,
        column: int | None = None,
        kind: str | None = None,
    ) -> SummaryAnswer:
        """Return a statistic with its sampling error, its interval, and what is certain.

        Parameters
        ----------
        level
            The level of the interval. It covers what rows and cells leave open.
        reading
            A kernel, a statistic of order, such as ``"median"`` or ``"quantile-0.9"``, or a test by
            ranks that takes the columns of this summary; the first reading unless given. Labels
            that it does not take are left out.
        column
            Which of two columns, 0 or 1, if the reading takes one.
        kind
            "v" or "u"; that of the summary unless given.

        Examples
        --------
        >>> import pairgossip as pg
        >>> s = pg.summarize([1, 2, 2, 5, 9], "gini", cells=pg.cells.Whole(0, 9))
        >>> float(s.answer(0.95, "median"))
        2.0
        """
        level = check_level(level)
        measure = _find_measure(self.reading if reading is None else reading)
        found, positive = self._read(measure, column, kind or self.kind, level)
        kernel = measure if isinstance(measure, Kernel | Combination) else None
        scale = "plain" if kernel is None else kernel.interval_scale
        ends = (found.bracket, found.p, found.p_bracket)
        return SummaryAnswer(
            found.value, found.error, found.low, found.high, level, scale, positive, *ends
        )

    def bracket(
        self, reading: str | None = None, *, column: int | None = None, kind: str | None = None
    ) -> Ends:
        """Return the two values between which a statistic of the counted rows lies for certain."""
        return self.answer(0.95, reading, column=column, kind=kind).bracket

    def _read(
        self, measure: _Measure, column: int | None, kind: str, level: float
    ) -> tuple[Estimate, str | None]:
        """Return a statistic, and the name of the positive class if it is of two classes."""
        rows, columns = self._choose(measure, column, kind)
        if not rows.n > 0:
            raise InputError("No rows are counted, so there is nothing to read: add summaries.")
        found = read(lay_out(columns, measure.name), rows, level)
        return found, None if columns.label is None else self.positive

    def _choose(
        self, measure: _Measure, column: int | None, kind: str
    ) -> tuple[BlockCounts, LaidColumns]:
        """Return the counts of the columns that a statistic takes."""
        names = _name_columns(measure)
        takes = [one for one in names if one not in (*_OF_CLASSES, _EVENT)]
        is_open = any(one.endswith("...") for one in takes)  # any number of columns
        has_label = self.classes is not None and not self.has_events
        needs_label = names[-1] in _OF_CLASSES
        count = len(self.cells)
        graded = len(takes) == 2 and count == 1 and has_label  # the second column is the label
        if needs_label and not has_label:
            raise self._refuse(measure, "labels")
        if not (is_open or graded) and len(takes) > count:
            raise self._refuse(measure, f"{len(takes)} columns")
        rows = self._blocks
        if not (needs_label or graded or (self.has_events and _EVENT in names)):
            rows = rows.drop_classes()
        if len(takes) == 1 and count == 2 and (not is_open or column is not None):
            if column not in (0, 1):
                raise InputError(
                    f"'{measure.name}' is of one column, but the summary has 2: give {{argument}}, "
                    "0 or 1.",
                    "column",
                )
            rows = rows.choose(column)
        rows = rows.trim()
        two = isinstance(measure, OrderQuestion) or any(
            part.two_classes for part in measure.components
        )
        if two and needs_label and rows.classes is not None and rows.classes.bins != 2:
            raise InputError(
                f"'{measure.name}' is of two classes, but the summary has {rows.classes.bins}: "
                "read another statistic."
            )
        if self.has_events and rows.classes is not None:
            return rows, LaidColumns.of((*rows.axes, rows.classes), None, kind)
        return rows, LaidColumns.of(rows.axes, rows.classes, kind)

    def _refuse(self, measure: _Measure, what: str) -> InputError:
        return InputError(
            f"'{measure.name}' takes {what}, which this summary does not have: read another "
            "statistic, or summarize the rows for this one."
        )

    @property
    def _blocks(self) -> BlockCounts:
        """The counts in every block."""
        axes, counts = tuple(one.lay() for one in self.cells), self.counts.astype(np.float64)
        classes = None if self.classes is None else Labels(np.array(self.classes))
        if self.least_cell == 1:
            return BlockCounts.of_cells(axes, classes, counts)
        return BlockCounts(axes, classes, self._tree, counts)


_HEAD = tuple(each.name for each in fields(Summary) if each.name != "counts")
"""All that a summary is beside its counts."""
_Measure = Kernel | Combination | OrderQuestion


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    """The bytes of a summary."""

    version: int
    reading: str
    kind: str
    cells: list[tuple[Any, ...]]
    classes: tuple[float, ...] | None
    has_events: bool
    positive: str | None
    least_cell: int
    shape: tuple[int, ...]
    counts: bytes


def _restore_cells(kind: str, *numbers: float) -> Cells:
    make: Callable[..., Cells] = KINDS[kind]
    return make(numbers) if kind == "Edges" else make(*numbers)


def _find_measure(name: Any) -> _Measure:
    """Return the kernel or statistic of order of this name, if it is read from counts."""
    if isinstance(name, Kernel | Combination) and name == as_kernel(name.name):
        name = name.name
    if not isinstance(name, str):
        raise InputError(
            "A summary is read by name, so that others can read it too: give the name of a kernel "
            "or statistic, such as 'auc' or 'median'."
        )
    question = find_order_question(name)
    if question is not None:
        return question
    check_name(name)
    kernel = as_kernel(canonical(name))
    kind = find_layout(kernel)
    if kind is None or kind.kind == "distance":
        known = (one for one in sorted(CATALOG) if one != "distance")
        others = [one for one in known if find_layout(as_kernel(one)) is not None]
        raise InputError(
            f"'{kernel.name}' is not read from counts: use exact, or one of {join_names(others)}."
        )
    return kernel


def _name_columns(measure: _Measure) -> tuple[str, ...]:
    columns = measure.columns
    assert columns is not None
    return columns


def summarize(
    data: Any,
    kernel: Kernel | Combination | str,
    kind: str = "v",
    labels: Any = None,
    *,
    cells: Cells | Sequence[Cells] | None = None,
    least_cell: int = 1,
    missing: str = REFUSE,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
) -> Summary:
    """Count rows per cell, so that statistics can be read and parts be added up.

    Parameters
    ----------
    data, labels, kind, missing, classes, positive
        As in `exact`. Parts of the rows need the same ``classes``, if not all labels are in each.
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
        cells=cells,
        least_cell=least_cell,
        missing=missing,
        classes=classes,
        positive=positive,
    )
    return request.summarize()


@dataclass(kw_only=True)
class _SummarizeRequest(SummarizeArguments):
    """What `summarize` is asked for; creating one checks the arguments that need no data."""

    def __post_init__(self) -> None:
        check_declared(self)
        self.measure = _find_measure(self.kernel)
        if 1 < self.least_cell < _NOT_FEW:
            raise InputError(
                "Two rows in a cell tell each of two people about the other: give {argument} of 1, "
                f"or of {_NOT_FEW} or more.",
                "least_cell",
            )

    def summarize(self) -> Summary:
        """Return the rows, counted."""
        given = {"data": self.data, "labels": self.labels}
        rows, _, positive = prepare_rows(self.missing, self.classes, given, self.positive)
        labels = rows.get("labels")
        table = check_data(rows["data"], labels)
        model = self.measure
        kernel = model.column_model if isinstance(model, OrderQuestion) else model
        names = _name_columns(model)
        if self.classes is None:
            kernel.check(table, labels)
        else:  # a part of the rows need not hold all classes
            check_columns(f"'{model.name}'", names, table)
        named = name_positive(kernel, table, positive, has_labels=labels is not None)
        if self.classes is not None and len(self.classes) == 2:
            named = format_label(self.classes[1])
        table = table.reshape(len(table), -1)
        has_events = names[-1] == _EVENT and table.shape[1] == len(names)
        has_classes = has_events or names[-1] in _OF_CLASSES or labels is not None
        columns = table[:, :-1] if has_classes else table
        known = self._find_classes(table[:, -1], has_events) if has_classes else None
        cells = self._lay_cells(columns)
        marks = None if known is None else np.searchsorted(known, table[:, -1])
        counts = _count(columns, cells, marks, 0 if known is None else len(known))
        if self.least_cell > 1:
            counts = lay_tree(counts.shape[-len(cells) :]).report(counts, self.least_cell)
        values = None if known is None else tuple(known.tolist())
        return Summary(
            model.name, self.kind, cells, values, has_events, named, self.least_cell, counts
        )

    def _find_classes(self, labels: FloatArray, has_events: bool) -> FloatArray:
        """Return the classes as numbers, from the lowest to the highest."""
        if has_events:
            return np.arange(2.0)
        if self.classes is not None:
            return np.arange(float(len(check_classes(self.classes))))
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


def _count(
    columns: FloatArray, cells: Sequence[Cells], marks: IntArray | None, classes: int
) -> IntArray:
    """Return the number of rows by class and cell."""
    axes = [one.lay() for one in cells]
    places = [axis.find_bins(column) for axis, column in zip(axes, columns.T, strict=True)]
    shape = tuple(axis.bins for axis in axes)
    if marks is not None:
        places, shape = [marks, *places], (classes, *shape)
    flat = np.ravel_multi_index(tuple(places), shape)
    return np.bincount(flat, minlength=math.prod(shape)).reshape(shape)
