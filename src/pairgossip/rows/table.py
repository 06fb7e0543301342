"""The columns of a file, and checks of them: numbers, text, missing and wrong entries."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import BoolArray, FloatArray, IntArray, distinct
from pairgossip.checks import DROP
from pairgossip.errors import InputError
from pairgossip.rows.columns import Ordered
from pairgossip.rows.csv.lines import is_name, parse_number
from pairgossip.rows.names import Names
from pairgossip.rows.places import column_name, list_columns, no_column
from pairgossip.rows.table_file import TableFile, open_table
from pairgossip.text import MOST_NAMED, join_first

_DECIMAL_COMMA = re.compile(r"[-+]?[\d.]*,\d+([eE][-+]?\d+)?")


class _BadCell(NamedTuple):
    """An entry that is not a number, and its position."""

    column: str
    line: int
    text: str

    def quote(self) -> str:
        """Quote the entry, with a guess why it is not a number."""
        return f"{self.text[:40]!r}{_guess(self.column, self.text)}"


@dataclass(frozen=True)
class Table:
    """Columns read from a file."""

    file: TableFile
    columns: dict[str, FloatArray] = field(default_factory=dict)
    """The requested columns of numbers, in the order of the request."""
    words: Mapping[str, Collection[str]] = field(default_factory=dict)
    """By column, entries that only look missing, such as the class "none"."""
    kept: IntArray | None = None
    """The rows of the file in use; None for all."""

    @property
    def path(self) -> Path:
        """The name of the file in messages."""
        return self.file.file

    @property
    def header(self) -> tuple[str, ...]:
        """The names of all columns of the file, in its order."""
        return self.file.header

    @property
    def delimiter(self) -> str | None:
        """The separator of the fields; None for files without one."""
        return self.file.delimiter

    @cached_property
    def lines(self) -> IntArray:
        """The number of each row in messages: the line on which it begins, or its index."""
        lines = self.file.lines()
        return lines if self.kept is None else lines[self.kept]

    def describe(self, rows: Sequence[int] | IntArray) -> str:
        """Name rows by their positions, such as "lines 3 and 17"."""
        return self.file.numbering.name(self.lines[np.asarray(rows, dtype=np.int64)].tolist())

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The text of each row; empty where an entry is missing."""
        columns = [self._names(name).map(_or_empty, object) for name in self.load(self.header)]
        return list(zip(*columns, strict=True))

    def __len__(self) -> int:
        return len(self.file) if self.kept is None else len(self.kept)

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self.columns:
            raise no_column(self.path, name, tuple(self.columns))
        return self.columns[name]

    def matrix(self) -> FloatArray:
        """Return the columns of numbers side by side, shape (rows, columns)."""
        return np.column_stack(list(self.columns.values()))

    def text(self, name: str) -> list[str]:
        """Return one column as text, for labels; a missing entry is an error."""
        self.refuse_unknown([name])
        self.file.refuse_unnamed(name)
        self.refuse_gaps([name])
        return self._names(name).texts()

    def numbers(self, name: str) -> FloatArray:
        """Return one column as numbers; any other entry is an error."""
        return self.with_columns([name]).columns[name]

    def labels(self, name: str) -> FloatArray | list[str]:
        """Return numbers if all entries are numbers, else text: as text, 10 would sort before 2."""
        self.refuse_gaps([name])
        return self.numbers(name) if self.holds_numbers(name) else self.text(name)

    def numbers_and_gaps(self, names: Sequence[str]) -> list[FloatArray]:
        """Return columns as numbers, NaN where an entry is missing; other text is an error."""
        self.refuse_rounded(names)
        cells = self._bad_cells(names)
        if cells:
            self._refuse_kinds(names)
        texts = (name for name in names if self.is_text(name))
        if cells and (text := next(texts, None)) is not None:
            raise InputError(
                f"Column '{column_name(text)}' of {self.path} holds text such as "
                f"{self._filled(text)[0][:40]!r}, not numbers: choose columns of numbers with "
                "{argument}, and give classes as labels.",
                "columns",
                tuple(name for name in names if not self.is_text(name)),
            )
        if cells:
            raise _not_numbers(self.file, cells)
        return [self._floats(name) for name in names]

    def floats(self, name: str) -> FloatArray | None:
        """Return a column with only numbers and missing entries, which are NaN; None for others."""
        return self._numbers(name)

    def names(self, name: str) -> Names:
        """Return a column as text, stored as codes."""
        return self._names(name)

    def entries(self, name: str, *, as_text: bool) -> NDArray[Any] | Ordered:
        """Return numbers, NaN where missing, if all other entries are numbers, else text with None.

        Ordered classes keep their order.
        """
        if (ordered := self.ordered(name)) is not None:
            return ordered
        if not as_text:
            self.refuse_rounded([name])
            if self.holds_numbers(name):
                return self._floats(name)
        self.file.refuse_unnamed(name)
        texts, gaps = self._names(name).map(_or_empty, object), self._gaps(name)
        texts[gaps] = None
        return texts

    def ordered(self, name: str) -> Ordered | None:
        """Return a column of ordered classes; None for other columns."""
        self.refuse_unknown([name])
        column = self.file.ordered(name)
        return column if column is None or self.kept is None else column.take(self.kept)

    def holds_names(self, name: str) -> bool:
        """Return whether some entry is a numeral that is exact only as text, such as 007.

        Ids of more than 15 digits are another case: as numbers, two neighbors may be equal.
        """
        return any(map(is_name, self._filled(name)))

    def is_text(self, name: str) -> bool:
        """Return whether a column has entries, and none of them resembles a number."""
        return not self._gaps(name).all() and not self.resembles_numbers(name)

    def refuse_unknown(self, names: Sequence[str]) -> None:
        """Raise `InputError` for the first of these columns that does not exist."""
        for name in names:
            if name not in self.header:
                raise no_column(self.path, name, self.header)

    def refuse_rounded(self, names: Sequence[str]) -> None:
        """Raise `InputError` for columns whose whole numbers floating point would round."""
        for name in names:
            self.file.refuse_rounded(name)

    def refuse_gaps(self, names: Sequence[str], *, may_drop: bool = False) -> None:
        """Raise one `InputError` for all missing entries of these columns.

        With ``may_drop`` the message says how to leave their rows out.
        """
        gaps = {name: np.flatnonzero(self._gaps(name)) for name in self.load(names)}
        lines = {name: self.lines[rows].tolist() for name, rows in gaps.items() if len(rows)}
        if lines:
            raise _missing(self.file, lines, may_drop=may_drop)

    def gaps(self, names: Sequence[str]) -> list[int]:
        """Return the rows in which an entry of these columns is missing."""
        gaps = [self._gaps(name) for name in self.load(names)]
        found: list[int] = np.flatnonzero(np.logical_or.reduce(gaps)).tolist() if gaps else []
        return found

    def without(self, rows: Sequence[int]) -> Table:
        """Return the table without these rows; its columns must be read again."""
        kept = np.arange(len(self.file)) if self.kept is None else self.kept
        return replace(self, columns={}, kept=np.delete(kept, rows))

    def holds_numbers(self, name: str) -> bool:
        """Return whether every entry of a column that is not missing is a number."""
        numbers = self._numbers(name)
        if numbers is not None:
            return not np.isnan(numbers).all()
        entries = self._filled(name)
        return bool(entries) and None not in map(self.file.parse_number, entries)

    def count_values(self, name: str, most: int) -> int:
        """Count the different entries of a column, without missing ones, up to ``most``."""
        numbers = self._numbers(name)
        if numbers is None:
            return min(most, len(self._filled(name)))
        return min(most, len(distinct(numbers[~np.isnan(numbers)])))

    def resembles_numbers(self, name: str) -> bool:
        """Return whether some entry is a number, or would be with a decimal point for its comma."""
        numbers = self._numbers(name)
        if numbers is not None:
            return not np.isnan(numbers).all()
        return any(
            self.file.parse_number(entry) is not None or _DECIMAL_COMMA.fullmatch(entry)
            for entry in self._filled(name)
        )

    def describe_first_bad(self, name: str) -> str:
        """Describe the first entry of a column that is neither missing nor a number, if any."""
        bad = (one for one in self._bad(name) if self.file.parse_number(one.text) is None)
        for cell in bad:
            place = f"column '{column_name(name)}', {self.file.numbering.name([cell.line])}"
            return f"{place}, is not a number: {cell.quote()}"
        return ""

    def bad_lines(self, name: str) -> list[int]:
        """Return the lines on which a column holds an entry that is neither missing nor a number.

        Infinity counts as such an entry.
        """
        return [cell.line for cell in self._bad(name)]

    def with_columns(self, names: Sequence[str]) -> Table:
        """Return the table with these columns read as numbers; any other entry is an error."""
        columns = {name: self._floats(name) for name in self.load(names)}
        self.refuse_rounded(names)
        if not all(np.isfinite(column).all() for column in columns.values()):
            self.refuse_gaps(names)
            self._refuse_kinds(names)
            raise _not_numbers(self.file, self._bad_cells(names))
        return replace(self, columns=columns)

    def _floats(self, name: str) -> FloatArray:
        """Return a column as numbers, NaN for anything else."""
        numbers = self._numbers(name)
        return self._names(name).map(self._or_nan, float) if numbers is None else numbers

    def _or_nan(self, entry: Any) -> float:
        number = self.file.parse_number(entry)
        return math.nan if number is None else number

    def load(self, names: Sequence[str]) -> Sequence[str]:
        """Read these columns together instead of one by one later."""
        self.refuse_unknown(names)
        self.file.load(names)
        self.file.texts([name for name in names if self._numbers(name) is None])
        return names

    def _numbers(self, name: str) -> FloatArray | None:
        """Return a column with only numbers and missing entries; None for other columns."""
        self.refuse_unknown([name])
        if any(map(self.file.is_gap, self.words.get(name, ()))):
            return None
        numbers = self.file.floats(name)
        return numbers if numbers is None or self.kept is None else numbers[self.kept]

    def _names(self, name: str) -> Names:
        names = self.file.texts([name])[name]
        return names if self.kept is None else names.take(self.kept)

    def _is_gap(self, name: str, entry: Any) -> bool:
        return self.file.is_gap(entry) and entry not in self.words.get(name, ())

    def _gaps(self, name: str) -> BoolArray:
        """Return for each row whether its entry is missing."""
        numbers = self._numbers(name)
        if numbers is not None:
            return np.isnan(numbers)
        return self._names(name).map(lambda entry: self._is_gap(name, entry), bool)

    def _filled(self, name: str) -> list[str]:
        """Return the different entries of a column that are not missing."""
        if not self.file.has_text(name):  # read all columns: the others will be needed as well
            self.load(self.header)
        return [entry for entry in self._names(name).used() if not self._is_gap(name, entry)]

    def _bad(self, name: str) -> list[_BadCell]:
        """Return the entries of a column that are neither missing nor finite numbers."""
        is_bad = ~np.isfinite(self._floats(name)) & ~self._gaps(name)
        if not is_bad.any():
            return []
        names = self._names(name).take(is_bad)
        lines = self.lines[is_bad].tolist()
        return [_BadCell(name, *one) for one in zip(lines, names.texts(), strict=True)]

    def _bad_cells(self, names: Sequence[str]) -> list[_BadCell]:
        return [cell for name in self.load(names) for cell in self._bad(name)]

    def _refuse_kinds(self, names: Sequence[str]) -> None:
        """Raise `InputError` for a column whose type is not numeric."""
        reason = next(filter(None, map(self.file.explain, names)), None)
        if reason is not None:
            raise reason


def read_columns(
    path: str | PathLike[str],
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Table:
    """Read columns of numbers from a Parquet or Arrow file, a folder of Parquet files, or CSV.

    CSV is UTF-8 text whose first line names the columns; the path "-" is standard input, and files
    whose names end in .gz are decompressed. By default all columns that hold only numbers are read,
    and the separator is the one of comma, semicolon and tab that fits.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"The delimiter is {delimiter!r}: give one character.")
    return _choose_columns(Table(open_table(path, delimiter).read()), columns)


def _choose_columns(table: Table, columns: Sequence[str] | None) -> Table:
    if columns is None:
        columns = [name for name in table.header if table.holds_numbers(name)]
        if not columns:
            raise no_numbers(table, table.header)
    return table.with_columns([columns] if isinstance(columns, str) else columns)


def _or_empty(entry: Any) -> str:
    return entry or ""


def no_numbers(table: Table, names: Sequence[str]) -> InputError:
    """Build the error for a file in which none of these columns holds numbers."""
    bad = next(filter(None, map(table.describe_first_bad, names)), "")
    reason = bad or "their entries are all missing"
    return InputError(
        f"{table.path} has no column of numbers among {list_columns(names)}: {reason}."
    )


def _not_numbers(file: TableFile, cells: Sequence[_BadCell]) -> InputError:
    if len(cells) == 1:
        ((column, line, _),) = cells
        return InputError(
            f"Column '{column_name(column)}' of {file.file}, {file.numbering.name([line])}, is not "
            f"a number: {cells[0].quote()}."
        )
    named = [
        f"column '{column_name(cell.column)}', {file.numbering.name([cell.line])}: {cell.quote()}"
        for cell in cells[:MOST_NAMED]
    ]
    places = join_first(named, len(cells), "; ")
    return InputError(f"{file.file} has {len(cells):,} entries that are not numbers: {places}.")


def _guess(column: str, text: str) -> str:
    """Guess why an entry is not a number: a hint in brackets, or nothing."""
    if _DECIMAL_COMMA.fullmatch(text):
        return " (decimal comma?)"
    # Spaces must separate numbers only: '12 kg' in a column 'weight kg' is one field.
    for delimiter, name, enough in (("|", "'|'", any), (None, "spaces", all)):
        fields, names = text.split(delimiter), column.split(delimiter)
        if len(fields) == len(names) > 1 and enough(
            parse_number(field) is not None for field in fields
        ):
            return f" (fields separated by {name}? use commas)"
    return ""


def _missing(file: TableFile, gaps: Mapping[str, Sequence[int]], *, may_drop: bool) -> InputError:
    argument = ("missing", DROP) if may_drop else ()
    count = sum(map(len, gaps.values()))
    remedy = "leave {what} out with {argument}" if may_drop else "drop {what}"
    if count == 1:
        ((column, lines),) = gaps.items()
        return InputError(
            f"Column '{column_name(column)}' of {file.file}, {file.numbering.name(lines)}, is "
            f"missing: fill it in, or {remedy.replace('{what}', 'the row')}.",
            *argument,
        )
    places = [
        f"column '{column_name(column)}' on {file.numbering.name(lines)}"
        for column, lines in list(gaps.items())[:MOST_NAMED]
    ]
    return InputError(
        f"{file.file} has {count:,} missing entries, in "
        f"{join_first(places, len(gaps), '; ', ' columns')}: fill them in, or "
        f"{remedy.replace('{what}', 'the rows')}.",
        *argument,
    )
