"""Columns of a CSV file, and questions about them: numbers, text, what is missing or wrong."""

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
from pairgossip.rows.csv_file import CsvFile, open_csv
from pairgossip.rows.csv_lines import MISSING, column_name, list_columns, parse_number
from pairgossip.rows.names import Names
from pairgossip.text import MOST_NAMED, format_rows, join_first

_DECIMAL_COMMA = re.compile(r"[-+]?[\d.]*,\d+([eE][-+]?\d+)?")


class _BadCell(NamedTuple):
    """An entry that is not a number, and where it stands."""

    column: str
    line: int
    text: str

    def __str__(self) -> str:
        place = f"column '{column_name(self.column)}', line {self.line}"
        return f"{place}, is not a number: {self.text[:40]!r}{_guess(self.column, self.text)}"


@dataclass(frozen=True)
class Table:
    """The columns read from a file."""

    file: CsvFile
    columns: dict[str, FloatArray] = field(default_factory=dict)
    """The columns of numbers asked for, in the order asked for."""
    words: Mapping[str, Collection[str]] = field(default_factory=dict)
    """By column, what is an entry although it looks as if missing, such as the class "none"."""
    kept: IntArray | None = None
    """The rows of the file that are used; None for all."""

    @property
    def path(self) -> Path:
        """What messages call the file."""
        return self.file.file

    @property
    def header(self) -> tuple[str, ...]:
        """The names of all columns of the file, in its order."""
        return self.file.head.header

    @property
    def delimiter(self) -> str:
        """What separates the fields of the file."""
        return self.file.head.delimiter

    @cached_property
    def lines(self) -> IntArray:
        """The line of the file each row begins on."""
        lines = self.file.places.lines()
        return lines if self.kept is None else lines[self.kept]

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The text of every row."""
        columns = [self._names(name).texts() for name in self.load(self.header)]
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
        self.refuse_gaps([name])
        return self._names(name).texts()

    def numbers(self, name: str) -> FloatArray:
        """Return one column as numbers; anything else in it is an error."""
        return self.with_columns([name]).columns[name]

    def labels(self, name: str) -> FloatArray | list[str]:
        """Return numbers if all entries are, else text: sorted as text, 10 would precede 2."""
        self.refuse_gaps([name])
        return self.numbers(name) if self.holds_numbers(name) else self.text(name)

    def numbers_and_gaps(self, names: Sequence[str]) -> list[FloatArray]:
        """Return columns as numbers, NaN where an entry is missing; other text is an error."""
        cells = [cell for name in self.load(names) for cell in self._bad(name)]
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
            raise _not_numbers(self.path, cells)
        return [self._floats(name) for name in names]

    def entries(self, name: str, *, as_text: bool) -> NDArray[Any]:
        """Return numbers with NaN if all entries are that are not missing, else text with None."""
        if not as_text and self.holds_numbers(name):
            return self._floats(name)
        texts, gaps = self._names(name).map(str, object), self._gaps(name)
        texts[gaps] = None
        return texts

    def has_padding(self, name: str) -> bool:
        """Tell whether some entry is a numeral after zeros, as names such as 007 are."""
        used = self._names(name).used()
        return any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in used)

    def is_text(self, name: str) -> bool:
        """Tell whether a column has entries, and none that resembles a number."""
        return not self._gaps(name).all() and not self.resembles_numbers(name)

    def refuse_unknown(self, names: Sequence[str]) -> None:
        """Raise `InputError` for the first of these columns that there is not."""
        for name in names:
            if name not in self.header:
                raise no_column(self.path, name, self.header)

    def refuse_gaps(self, names: Sequence[str], *, may_drop: bool = False) -> None:
        """Raise `InputError` for the missing entries of these columns, all of them at once.

        The sentence says how to leave them out if whoever asks may do so.
        """
        gaps = {name: np.flatnonzero(self._gaps(name)) for name in self.load(names)}
        lines = {name: self.lines[rows].tolist() for name, rows in gaps.items() if len(rows)}
        if lines:
            raise _missing(self.path, lines, may_drop=may_drop)

    def gaps(self, names: Sequence[str]) -> list[int]:
        """Return the rows in which an entry of these columns is missing."""
        gaps = [self._gaps(name) for name in self.load(names)]
        found: list[int] = np.flatnonzero(np.logical_or.reduce(gaps)).tolist() if gaps else []
        return found

    def without(self, rows: Sequence[int]) -> Table:
        """Return the table without these rows; its columns are to be read anew."""
        kept = np.arange(len(self.file)) if self.kept is None else self.kept
        return replace(self, columns={}, kept=np.delete(kept, rows))

    def holds_numbers(self, name: str) -> bool:
        """Tell whether every entry of a column that is not missing reads as a number."""
        numbers = self._numbers(name)
        if numbers is not None:
            return not np.isnan(numbers).all()
        entries = self._filled(name)
        return bool(entries) and all(parse_number(entry) is not None for entry in entries)

    def count_values(self, name: str, most: int) -> int:
        """Count the different entries of a column, missing ones aside, up to a number of them."""
        numbers = self._numbers(name)
        if numbers is None:
            return min(most, len(self._filled(name)))
        return min(most, len(distinct(numbers[~np.isnan(numbers)])))

    def resembles_numbers(self, name: str) -> bool:
        """Tell whether some entry of a column reads as a number, or would with a decimal point."""
        numbers = self._numbers(name)
        if numbers is not None:
            return not np.isnan(numbers).all()
        return any(
            parse_number(entry) is not None or _DECIMAL_COMMA.fullmatch(entry)
            for entry in self._filled(name)
        )

    def first_bad_cell(self, name: str) -> _BadCell | None:
        """Return the first entry of a column that is neither missing nor a number, if any."""
        bad = self._bad(name)
        return next((cell for cell in bad if parse_number(cell.text) is None), None)

    def bad_lines(self, name: str) -> list[int]:
        """Return the lines on which a column holds something that is neither missing nor a number.

        So does infinity.
        """
        return [cell.line for cell in self._bad(name)]

    def with_columns(self, names: Sequence[str]) -> Table:
        """Return the table with these columns read as numbers; anything else is an error."""
        columns = {name: self._floats(name) for name in self.load(names)}
        if not all(np.isfinite(column).all() for column in columns.values()):
            self.refuse_gaps(names)
            raise _not_numbers(self.path, [cell for name in names for cell in self._bad(name)])
        return replace(self, columns=columns)

    def _floats(self, name: str) -> FloatArray:
        """Return a column as numbers, NaN for anything else."""
        numbers = self._numbers(name)
        return self._names(name).map(_or_nan, float) if numbers is None else numbers

    def load(self, names: Sequence[str]) -> Sequence[str]:
        """Read columns of text together, before they are asked for one by one."""
        self.refuse_unknown(names)
        self.file.texts([name for name in names if self._numbers(name) is None])
        return names

    def _numbers(self, name: str) -> FloatArray | None:
        """Return a column without anything but numbers and missing entries; None for others."""
        self.refuse_unknown([name])
        if any(word.lower() in MISSING for word in self.words.get(name, ())):
            return None
        numbers = self.file.numbers.get(name)
        return numbers if numbers is None or self.kept is None else numbers[self.kept]

    def _names(self, name: str) -> Names:
        names = self.file.texts([name])[name]
        return names if self.kept is None else names.take(self.kept)

    def _is_gap(self, name: str, entry: str) -> bool:
        return entry.lower() in MISSING and entry not in self.words.get(name, ())

    def _gaps(self, name: str) -> BoolArray:
        """Tell of every row whether a column has no entry."""
        numbers = self._numbers(name)
        if numbers is not None:
            return np.isnan(numbers)
        return self._names(name).map(lambda entry: self._is_gap(name, entry), bool)

    def _filled(self, name: str) -> list[str]:
        """Return the different entries of a column that are not missing."""
        if not self.file.has_text(name):  # the same will be asked of others
            self.load(self.header)
        return [entry for entry in self._names(name).used() if not self._is_gap(name, entry)]

    def _bad(self, name: str) -> list[_BadCell]:
        """Return the entries of a column that are neither missing nor finite numbers."""
        if self._numbers(name) is not None:
            return []
        names = self._names(name)
        is_bad = ~np.isfinite(names.map(_or_nan, float)) & ~self._gaps(name)
        return [
            _BadCell(name, line, names.book[code])
            for line, code in zip(self.lines[is_bad].tolist(), names.codes[is_bad], strict=True)
        ]


def read_columns(
    path: str | PathLike[str],
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Table:
    """Read columns of numbers from a CSV file (UTF-8) whose first line names its columns.

    The path "-" is standard input, and files that end with .gz are decompressed. By default all
    columns are read that hold nothing but numbers, and fields are separated by whichever of comma,
    semicolon and tab fits.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"The delimiter is {delimiter!r}: give one character.")
    return _choose_columns(Table(open_csv(path, delimiter).read()), columns)


def parse_columns(
    content: bytes,
    file: Path,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Table:
    """Read columns as `read_columns` does; ``file`` is what messages call the table."""
    return _choose_columns(Table(CsvFile(content, file, delimiter).read()), columns)


def _choose_columns(table: Table, columns: Sequence[str] | None) -> Table:
    if columns is None:
        columns = [name for name in table.header if table.holds_numbers(name)]
        if not columns:
            raise no_numbers(table, table.header)
    return table.with_columns([columns] if isinstance(columns, str) else columns)


def _or_nan(text: str) -> float:
    number = parse_number(text)
    return math.nan if number is None else number


def no_numbers(table: Table, names: Sequence[str]) -> InputError:
    """Build the error for a file in which none of these columns holds numbers."""
    bad = next(filter(None, map(table.first_bad_cell, names)), None)
    reason = "their entries are all missing" if bad is None else str(bad)
    return InputError(
        f"{table.path} has no column of numbers among {list_columns(names)}: {reason}."
    )


def _not_numbers(file: Path, cells: Sequence[_BadCell]) -> InputError:
    if len(cells) == 1:
        column, line, text = cells[0]
        return InputError(
            f"Column '{column_name(column)}' of {file}, line {line}, is not a number: "
            f"{text[:40]!r}{_guess(column, text)}."
        )
    named = [
        f"column '{column_name(column)}', line {line}: {text[:40]!r}{_guess(column, text)}"
        for column, line, text in cells[:MOST_NAMED]
    ]
    places = join_first(named, len(cells), "; ")
    return InputError(f"{file} has {len(cells):,} entries that are not numbers: {places}.")


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


def _missing(file: Path, gaps: Mapping[str, Sequence[int]], *, may_drop: bool) -> InputError:
    argument = ("missing", DROP) if may_drop else ()
    count = sum(map(len, gaps.values()))
    if count == 1:
        ((column, (line,)),) = gaps.items()
        return InputError(
            f"Column '{column_name(column)}' of {file}, line {line}, is missing: fill it in"
            f"{', or leave the row out with {argument}' if may_drop else ' or drop the line'}.",
            *argument,
        )
    places = [
        f"column '{column_name(column)}' on {format_rows(lines, 'line')}"
        for column, lines in list(gaps.items())[:MOST_NAMED]
    ]
    return InputError(
        f"{file} has {count:,} missing entries, in "
        f"{join_first(places, len(gaps), '; ', ' columns')}: fill them in"
        f"{', or leave the rows out with {argument}' if may_drop else ' or drop the lines'}.",
        *argument,
    )


def no_column(file: Path | str, name: str, names: Sequence[str]) -> InputError:
    """Build the error for the name of a column that there is not."""
    import difflib  # which a device at work does not need

    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"it has {list_columns(names)}."
    return InputError(f"There is no column '{column_name(name)}' in {file}: {hint}")
