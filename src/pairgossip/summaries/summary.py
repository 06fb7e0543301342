"""A table of counts, which adds up over parts of the rows and from which statistics are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import msgspec
import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError, canonical
from pairgossip.inference.answer import check_level
from pairgossip.kernels import CATALOG, Combination, Kernel, as_kernel
from pairgossip.summaries.axes import Labels
from pairgossip.summaries.bounds import Blocks, Ends
from pairgossip.summaries.cells import KINDS, MOST_CELLS, Cells
from pairgossip.summaries.layouts import (
    OrderQuestion,
    check_name,
    find_kind,
    find_order_question,
    lay_out,
)
from pairgossip.summaries.readings import Estimate
from pairgossip.summaries.summary_reading import SummaryAnswer
from pairgossip.summaries.tables import Columns, Layout, Sums
from pairgossip.text import format_count, join_names

LEAST_BLOCK = 3
"""The least number of rows in a block that hides any: 2 would tell each of two about the other."""
_MOST_ROWS = 1 << 40
"""Largest number of rows in a cell; sums of more could leave the whole numbers of 64 bits."""
_VERSION = 1
"""Version of the bytes of a summary."""
OF_CLASSES = ("label", "cluster")
"""Names of the column that says which class a row is of."""
EVENT = "event?"
"""Name of the column that says whether an event was seen."""


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
        Whole numbers, by class and cell; with a larger ``least_cell``, by class and block. Columns
        that are counted apart follow one another.
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
        return int(self.counts.sum()) // len(self._layout.tables)

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
        summary.check()
        return summary

    def check(self) -> None:
        """Raise `InputError` if no rows have these counts."""
        numbers, least = self.counts[self.counts != 0], self.least_cell
        if not (
            (least == 1 or least >= LEAST_BLOCK)
            and self.kind in ("u", "v")
            and math.prod(one.lay().bins for one in self.cells) <= MOST_CELLS
            and self.counts.shape == self._shape
            and ((numbers >= least) & (numbers < _MOST_ROWS)).all()
            and len({one.by_class.sum(axis=1).tobytes() for one in self._tables}) == 1
        ):
            raise InputError("The counts of this summary do not fit its cells: ask for it again.")

    @classmethod
    def of_rows(cls, head: Sequence[Any], rows: FloatArray) -> Self:
        """Count rows, the label last, in the cells of a summary with this head."""
        empty = cls(*(*head, np.zeros(0, dtype=np.int64)))
        return cls.of_counts(head, empty._layout.count(rows))

    @classmethod
    def of_counts(cls, head: Sequence[Any], counts: IntArray) -> Self:
        """Return the summary with this head and these counts of all tables, flat."""
        empty = cls(*(*head, counts))
        return replace(empty, counts=counts.reshape(empty._shape))

    @property
    def _shape(self) -> tuple[int, ...]:
        """The shape of the only table; several tables lie one after the other."""
        first, *others = self._layout.tables
        return (self._layout.counts,) if others else first.shape_of(self.least_cell)

    def __reduce__(self) -> tuple[Any, ...]:
        return Summary.from_bytes, (self.to_bytes(),)

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
        measure = find_measure(self.reading if reading is None else reading)
        found, positive = self._read(measure, column, kind or self.kind, level)
        kernel = measure if isinstance(measure, Kernel | Combination) else None
        scale = "plain" if kernel is None else kernel.interval_scale
        ends = (found.bracket, found.p, found.p_bracket, self.least_cell)
        return SummaryAnswer(
            found.value, found.error, found.low, found.high, level, scale, positive, *ends
        )

    def bracket(
        self, reading: str | None = None, *, column: int | None = None, kind: str | None = None
    ) -> Ends:
        """Return the two values between which a statistic of the counted rows lies for certain."""
        return self.answer(0.95, reading, column=column, kind=kind).bracket

    def _read(
        self, measure: Measure, column: int | None, kind: str, level: float
    ) -> tuple[Estimate, str | None]:
        """Return a statistic, and the name of the positive class if it is of two classes."""
        if not self.rows > 0:
            raise InputError("No rows are counted, so there is nothing to read: add summaries.")
        names = name_columns(measure)
        takes = [one for one in names if one not in (*OF_CLASSES, EVENT)]
        is_open = any(one.endswith("...") for one in takes)  # any number of columns
        columns = self._choose_columns(measure, takes, column, is_open=is_open)
        needs_label = names[-1] in OF_CLASSES or len(takes) > len(columns)  # or it is a column
        if needs_label and (self.classes is None or self.has_events):
            raise self._refuse(measure, "labels")
        has_classes = needs_label or (self.has_events and EVENT in names)
        label = self._classes if has_classes and not self.has_events else None
        self._check(measure, label)
        events = [Labels(np.arange(2.0))] if has_classes and label is None else []
        laid = [self.cells[at].lay() for at in columns]
        layout = lay_out(Columns.of([*laid, *events], label, kind), measure.name)
        tables = [tuple(columns[at] for at in table.columns) for table in layout.tables]
        found = tuple(self._find_table(one, has_classes) for one in tables)
        for places, blocks in zip(tables, found, strict=True):
            for at, axis in zip(places, blocks.axes, strict=False):
                laid[columns.index(at)] = axis  # without cells beyond all rows
        layout = lay_out(Columns.of([*laid, *events], label, kind), measure.name)
        positive = self.positive if label is not None else None
        return layout.find(Sums(self.rows, found), level=level), positive

    def _choose_columns(
        self, measure: Measure, takes: Sequence[str], column: int | None, *, is_open: bool
    ) -> list[int]:
        """Return which columns a statistic is of."""
        count = len(self.cells)
        if is_open:
            return list(range(count)) if column is None else [int(column)]
        has_label = self.classes is not None and not self.has_events
        is_graded = len(takes) == 2 and count == 1 and has_label  # the label is the second column
        if len(takes) > count and not is_graded:
            raise self._refuse(measure, f"{len(takes)} columns")
        if len(takes) == 1 and count > 1:
            if column is None or column not in range(count):
                raise InputError(
                    f"'{measure.name}' is of one column, but the summary has {count}: give "
                    f"{{argument}}, 0 to {count - 1}.",
                    "column",
                )
            return [column]
        return list(range(min(len(takes), count)))

    def _check(self, measure: Measure, label: Labels | None) -> None:
        two = isinstance(measure, OrderQuestion) or any(
            part.two_classes for part in measure.components
        )
        if two and label is not None and label.bins != 2:
            raise InputError(
                f"'{measure.name}' is of two classes, but the summary has {label.bins}: read "
                "another statistic."
            )
        least = self._tables[0].trim().axes[0].places[0]
        if measure.name == "gini-coefficient" and least < 0:
            raise InputError(
                f"'gini-coefficient' is for amounts that are not negative, but the cells begin at "
                f"{least:g}: give {{argument}} from 0 on.",
                "cells",
            )

    def _refuse(self, measure: Measure, what: str) -> InputError:
        return InputError(
            f"'{measure.name}' takes {what}, which this summary does not have: read another "
            "statistic, or summarize the rows for this one."
        )

    def _find_table(self, columns: tuple[int, ...], has_classes: bool) -> Blocks:
        """Return the counts of some columns; raise `InputError` if they are counted apart."""
        for table, blocks in zip(self._layout.tables, self._tables, strict=True):
            if set(columns) <= set(table.columns):
                found = blocks.choose(columns[0]) if len(columns) == 1 else blocks
                return (found if has_classes else found.drop_classes()).trim()
        raise InputError(
            f"'{self.reading}' counts every column by itself, so nothing is known of two together: "
            "read another statistic, or summarize the rows for this one."
        )

    @property
    def _classes(self) -> Labels | None:
        return None if self.classes is None else Labels(np.array(self.classes))

    @cached_property
    def _layout(self) -> Layout:
        laid = [one.lay() for one in self.cells]
        label = None if self.has_events else self._classes
        laid += [Labels(np.arange(2.0))] if self.has_events else []
        return lay_out(Columns.of(laid, label, self.kind, self.least_cell), self.reading)

    @cached_property
    def _tables(self) -> tuple[Blocks, ...]:
        """The counts of every table, in blocks."""
        return self._layout.read_sums(np.append(self.rows, self.counts.ravel())).tables


_HEAD = tuple(each.name for each in fields(Summary) if each.name != "counts")
"""All that a summary is beside its counts."""
Measure = Kernel | Combination | OrderQuestion


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


def find_measure(name: Any) -> Measure:
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
    kind = find_kind(kernel)
    if kind is None or kind == "distance":
        known = (one for one in sorted(CATALOG) if one != "distance")
        others = [one for one in known if find_kind(as_kernel(one)) is not None]
        raise InputError(
            f"'{kernel.name}' is not read from counts: use exact, or one of {join_names(others)}."
        )
    return kernel


def name_columns(measure: Measure) -> tuple[str, ...]:
    """Return the names of the columns that a statistic takes."""
    columns = measure.columns
    assert columns is not None
    return columns
