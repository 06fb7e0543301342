"""A site's rows: read from their source, checked against the specification, and copied.

All errors in rows are found before anything is written for them. If rows travel, or under privacy
a report of each, the peer's folder has a copy of them.
"""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.checks import DROP
from pairgossip.errors import InputError
from pairgossip.kernels.rows import code_labels
from pairgossip.peer.protocol.messages import MOST_TRAVELING, Rows
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.storage.accounting import accounting_of
from pairgossip.tables import Table, read_columns
from pairgossip.text import format_count

_BLOCK = 1 << 16
"""Number of rows that are counted at once."""


@dataclass(frozen=True)
class SiteRows:
    """The rows of a site, read from a source at once, or their reports."""

    spec: Spec
    table: Table
    """All columns of the source, without the rows that were left out."""
    matrix: FloatArray
    """The columns that the specification names: columns, label, group, stratum and weight."""
    dropped: int = 0
    """The number of rows of the source that were left out, since an agreed column has no entry."""

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def rows(self) -> Rows:
        """The rows as they travel."""
        return tuple(map(tuple, self.matrix.tolist()))

    @cached_property
    def cells(self) -> IntArray:
        """The number of rows in each cell, for a specification that contributes counts."""
        from pairgossip.peer.sums.statistics import cells_of

        starts = range(0, len(self) or 1, _BLOCK)
        parts = (self.matrix[start : start + _BLOCK] for start in starts)
        return functools.reduce(np.add, map(cells_of(self.spec).count_cells, parts))


def contributed_rows(
    data_path: str | PathLike[str],
    spec: Spec,
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
    noted: Collection[str] | None = None,
    approve: Callable[[SiteRows], None] = lambda _: None,
) -> SiteRows:
    """Read the rows of a source that may be contributed.

    Under privacy these are reports. Each row is reported once, and its report is on the disk before
    this returns; the same file gives the same reports again.

    Parameters
    ----------
    data_path, spec
        The source, and the specification that names its columns.
    ledger, budget
        The ledger that accounts for spending under privacy, and the largest epsilon to spend.
    noted
        The ledgers in the list of a peer's folder, which must exist; None for a new peer.
    approve
        A function of the rows, called before anything is written; it may refuse them.
    """
    data = Path(data_path)
    accounting = accounting_of(spec, data, ledger, budget)
    accounting.open()
    rows = read_site_rows(data, spec)
    if len(rows) > MOST_TRAVELING:
        raise InputError(
            f"{data} has {len(rows):,} rows: a peer holds at most {MOST_TRAVELING:,} that travel."
        )
    approve(rows)
    return accounting.spend(rows, noted)


def describe_dropped(rows: SiteRows, what: str = "This site") -> list[str]:
    """Describe the number of rows that were left out; return nothing if none were."""
    if not rows.dropped:
        return []
    count = format_count(len(rows) + rows.dropped, "row")
    return [
        f"{what} leaves out {rows.dropped:,} of its {count}, since an agreed column has no entry "
        "there: they stay at home, and nobody is told how many they are."
    ]


def read_rows(path: str | PathLike[str], spec: Spec, delimiter: str | None = None) -> Rows:
    """Read the specification's columns as rows that travel."""
    return read_site_rows(path, spec, delimiter).rows


def read_site_rows(
    path: str | PathLike[str],
    spec: Spec,
    delimiter: str | None = None,
    *,
    is_private: bool = False,
    table: Table | None = None,
) -> SiteRows:
    """Read the specification's columns; refuse, and never correct, invalid entries.

    Under privacy, or with ``is_private``, errors name lines and quote no entries: messages end up
    in terminals, logs and mails. ``table`` is the file's content, if it was read already.
    """
    is_private = is_private or spec.is_private
    table = read_columns(path, (), delimiter) if table is None else table
    table, dropped = _choose_rows(table, spec, is_private=is_private)
    for name, words in spec.words.items():
        table = _with_codes(table, spec, name, words, is_private=is_private)
    for name in spec.measured:
        low, high = spec.ranges[name]
        is_inside = (low <= table[name]) & (table[name] <= high)
        agreed = f"the agreed range [{low:g}, {high:g}]"
        _check_inside(table, name, is_inside, agreed, "another range")
    for name in spec.whole or ():
        is_inside = table[name] == np.floor(table[name])
        _check_inside(
            table, name, is_inside, "the whole numbers", "a specification without it in whole"
        )
    if (classes := spec.reported_classes) is not None and spec.label is not None:
        allowed = f"privacy.classes ({', '.join(f'{one:g}' for one in classes)})"
        is_inside = np.isin(table[spec.label], classes)
        _check_inside(table, spec.label, is_inside, allowed, "other classes")
    if spec.weight is not None:
        is_inside = np.isin(table[spec.weight], spec.weights or ())
        _check_inside(table, spec.weight, is_inside, "the listed weights", "others")
    matrix = np.column_stack([table[name] for name in spec.observed])
    matrix += 0.0  # minus zero would be signed as another number
    spec.check_rows(matrix[:, : len(spec.measured)])
    return SiteRows(spec, table, matrix, dropped)


def _choose_rows(table: Table, spec: Spec, *, is_private: bool) -> tuple[Table, int]:
    """Read the columns and refuse bad entries; return the table and the number of rows left out."""
    table = replace(table, words=spec.words)
    numbers = [name for name in spec.observed if name not in spec.words]
    if is_private:
        _refuse_unshown(table, spec.observed, numbers)
    table.refuse_unknown(spec.observed)
    gaps = table.gaps(spec.observed) if spec.missing == DROP else []
    if gaps:
        if len(gaps) == len(table):
            raise InputError(
                f"In every row of {table.path} an agreed column has no entry, so that missing = "
                '"drop" leaves none: check the columns of the file.'
            )
        table = table.without(gaps)
    table.refuse_gaps(spec.observed)
    return table.with_columns(numbers), len(gaps)


def _refuse_unshown(table: Table, names: Sequence[str], numbers: Sequence[str]) -> None:
    """Raise `InputError` for columns that are missing or hold no numbers, and quote nothing."""
    for name in names:
        if name not in table.header:
            raise InputError(
                f"There is no column '{name}' in {table.path}: check the names of its columns."
            )
    for name in numbers:
        bad = table.bad_lines(name)
        if bad:
            lines = table.file.numbering.name(bad)
            raise InputError(
                f"Column '{name}' of {table.path}, {lines}, is not a number "
                "(the entry is private, so it is not shown): correct it."
            )


def _with_codes(
    table: Table, spec: Spec, name: str, words: Sequence[str], *, is_private: bool
) -> Table:
    """Return the table with a column of words as 0, 1, ... in their agreed order."""
    codes = code_labels(
        table.text(name),
        words,
        f"Column '{name}' of {table.path} holds",
        table.describe,
        is_private=is_private,
        what={spec.by: "groups", spec.within: "strata"}.get(name, "classes"),
    )
    return replace(table, columns={**table.columns, name: codes})


def rows_text(rows: Rows, spec: Spec) -> str:
    """Write rows as CSV that reads back bit for bit, words as words."""
    words = [spec.words.get(name) for name in spec.observed]
    lines = (
        [
            repr(entry) if one is None else one[int(entry)]
            for entry, one in zip(row, words, strict=True)
        ]
        for row in rows
    )
    return _csv_text(spec.observed, lines)


def copy_text(rows: Rows, spec: Spec) -> str:
    """Write the copy of rows in a peer's folder: under privacy the reports alone."""
    if not spec.is_private:
        return rows_text(rows, spec)
    return _csv_text(_report_columns(spec), ([int(entry) for entry in row] for row in rows))


def _csv_text(header: Iterable[str], lines: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue()


def read_copy(path: Path, spec: Spec) -> Rows:
    """Read back what `copy_text` has written."""
    if not spec.is_private:
        return read_rows(path, spec, ",")
    table = read_columns(path, _report_columns(spec), ",")
    matrix = table.matrix() + 0.0
    for column, (low, high) in zip(matrix.T, spec.limits, strict=True):
        if not np.all((low <= column) & (column <= high) & (column == np.floor(column))):
            raise InputError(
                f"{path} holds numbers that are not reports of this run: put the old file back."
            )
    return tuple(tuple(map(float, row)) for row in matrix)


def _check_inside(table: Table, name: str, is_inside: BoolArray, allowed: str, remedy: str) -> None:
    """Raise `InputError` if a column has values that are not allowed."""
    rows = np.flatnonzero(~is_inside)
    if len(rows):
        raise InputError(
            f"Column '{name}' of {table.path} has {format_count(len(rows), 'value')} outside "
            f"{allowed}, in {table.describe(rows)}: correct the file, or agree on {remedy}."
        )


def _report_columns(spec: Spec) -> tuple[str, ...]:
    """Return names of reports, which differ from those of rows so that nobody confuses them."""
    return tuple(f"report of {name}" for name in spec.observed)
