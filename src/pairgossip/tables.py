"""Reading columns of numbers from a CSV file with a header line."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import DROP
from pairgossip.errors import InputError
from pairgossip.files import read_bytes
from pairgossip.text import MOST_NAMED, format_rows, join_first

DELIMITERS = (",", ";", "\t")
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
_SNIFFED_LINES = 20
UNNAMED = "(unnamed)"
"""How messages call a column whose name is empty, such as an index that pandas wrote."""
STANDARD_INPUT = Path("-")

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

    path: Path
    header: tuple[str, ...]
    """The names of all columns of the file, in its order."""
    columns: dict[str, FloatArray]
    """The columns of numbers asked for, in the order asked for."""
    cells: tuple[tuple[str, ...], ...]
    """The raw text of every row."""
    lines: tuple[int, ...]
    """The line of the file each row begins on."""
    delimiter: str = ","
    words: Mapping[str, Collection[str]] = field(default_factory=dict)
    """By column, what is an entry although it looks as if missing, such as the class "none"."""

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self.columns:
            raise _no_column(self.path, name, tuple(self.columns))
        return self.columns[name]

    def matrix(self) -> FloatArray:
        """Return the columns of numbers side by side, shape (rows, columns)."""
        return np.column_stack(list(self.columns.values()))

    def text(self, name: str) -> list[str]:
        """Return one column as text, for labels; a missing entry is an error."""
        self.refuse_gaps([name])
        return [text for _, text in self._entries(name)]

    def numbers(self, name: str) -> FloatArray:
        """Return one column as numbers; anything else in it is an error."""
        return self.with_columns([name]).columns[name]

    def labels(self, name: str) -> FloatArray | list[str]:
        """Return numbers if all entries are, else text: sorted as text, 10 would precede 2."""
        texts = self.text(name)
        return self.numbers(name) if self.holds_numbers(name) else texts

    def refuse_unknown(self, names: Sequence[str]) -> None:
        """Raise `InputError` for the first of these columns that there is not."""
        for name in names:
            self._position(name)

    def refuse_gaps(self, names: Sequence[str], *, may_drop: bool = False) -> None:
        """Raise `InputError` for the missing entries of these columns, all of them at once.

        The sentence says how to leave them out if whoever asks may do so.
        """
        gaps = {name: self._gaps(name) for name in names}
        if any(gaps.values()):
            found = {name: lines for name, lines in gaps.items() if lines}
            raise _missing(self.path, found, may_drop=may_drop)

    def gaps(self, names: Sequence[str]) -> list[int]:
        """Return the rows in which an entry of these columns is missing."""
        lines = {line for name in names for line in self._gaps(name)}
        return [row for row, line in enumerate(self.lines) if line in lines]

    def without(self, rows: Sequence[int]) -> Table:
        """Return the table without these rows; its columns are to be read anew."""
        left_out = set(rows)
        kept = [row for row in range(len(self)) if row not in left_out]
        return replace(
            self,
            columns={},
            cells=tuple(self.cells[row] for row in kept),
            lines=tuple(self.lines[row] for row in kept),
        )

    def _position(self, name: str) -> int:
        if name not in self.header:
            raise _no_column(self.path, name, self.header)
        return self.header.index(name)

    def holds_numbers(self, name: str) -> bool:
        """Tell whether every entry of a column that is not missing reads as a number."""
        texts = self._filled(name)
        return bool(texts) and all(parse_number(text) is not None for _, text in texts)

    def count_values(self, name: str, most: int) -> int:
        """Count the different entries of a column, missing ones aside, up to a number of them."""
        seen: set[str] = set()
        for _, text in self._filled(name):
            seen.add(text)
            if len(seen) >= most:
                break
        return len(seen)

    def resembles_numbers(self, name: str) -> bool:
        """Tell whether some entry of a column reads as a number, or would with a decimal point."""
        return any(
            parse_number(text) is not None or _DECIMAL_COMMA.fullmatch(text)
            for _, text in self._filled(name)
        )

    def first_bad_cell(self, name: str) -> _BadCell | None:
        """Return the first entry of a column that is neither missing nor a number, if any."""
        bad = ((line, text) for line, text in self._filled(name) if parse_number(text) is None)
        return next((_BadCell(name, line, text) for line, text in bad), None)

    def bad_lines(self, name: str) -> list[int]:
        """Return the lines on which a column holds something that is neither missing nor a number.

        So does infinity.
        """
        return [cell.line for cell in self._bad(name)]

    def with_columns(self, names: Sequence[str]) -> Table:
        """Return the table with these columns read as numbers; anything else is an error."""
        columns = {}
        for name in names:
            parsed = (parse_number(text) for _, text in self._entries(name))
            columns[name] = np.array([math.nan if one is None else one for one in parsed])
        if not all(np.isfinite(column).all() for column in columns.values()):
            self.refuse_gaps(names)
            raise _not_numbers(self.path, [cell for name in names for cell in self._bad(name)])
        return replace(self, columns=columns)

    def _gaps(self, name: str) -> list[int]:
        """Return the lines on which a column has no entry."""
        words = self.words.get(name, ())
        entries = self._entries(name)
        return [line for line, text in entries if text.lower() in _MISSING and text not in words]

    def _bad(self, name: str) -> list[_BadCell]:
        """Return the entries of a column that are neither missing nor finite numbers."""
        return [
            _BadCell(name, line, text)
            for line, text in self._filled(name)
            if (number := parse_number(text)) is None or not math.isfinite(number)
        ]

    def _filled(self, name: str) -> list[tuple[int, str]]:
        """Return the line and the text of every entry of a column that is not missing."""
        gaps = set(self._gaps(name))
        return [(line, text) for line, text in self._entries(name) if line not in gaps]

    def _entries(self, name: str) -> list[tuple[int, str]]:
        """Return the line and the text of every entry of a column."""
        place = self._position(name)
        return [(line, row[place]) for line, row in zip(self.lines, self.cells, strict=True)]


def read_columns(
    path: str | PathLike[str],
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Table:
    """Read columns of numbers from a CSV file (UTF-8) whose first line names its columns.

    The path "-" is standard input. By default all columns are read that hold nothing but numbers,
    and fields are separated by whichever of comma, semicolon and tab fits.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"The delimiter is {delimiter!r}: give one character.")
    if Path(path) == STANDARD_INPUT:
        return parse_columns(sys.stdin.buffer.read(), Path("standard input"), columns, delimiter)
    return parse_columns(read_bytes(Path(path)), Path(path), columns, delimiter)


def parse_columns(
    content: bytes,
    file: Path,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Table:
    """Read columns as `read_columns` does; ``file`` is what messages call the table."""
    lines = _text_lines(content, file)
    delimiter = delimiter or _find_delimiter(lines)
    rows, starts = _rows(lines, delimiter, file)
    _check_header(rows[0], file)
    _check_shape(rows, starts, file)
    cells = tuple(map(tuple, rows[1:]))
    table = Table(file, tuple(rows[0]), {}, cells, tuple(starts[1:]), delimiter)
    if columns is None:
        columns = [name for name in table.header if table.holds_numbers(name)]
        if not columns:
            raise no_numbers(table, table.header)
    return table.with_columns([columns] if isinstance(columns, str) else columns)


def column_name(name: str) -> str:
    """Return the name by which messages call a column."""
    return name or UNNAMED


def list_columns(names: Sequence[str]) -> str:
    """List columns as messages call them."""
    return ", ".join(map(column_name, names))


def no_numbers(table: Table, names: Sequence[str]) -> InputError:
    """Build the error for a file in which none of these columns holds numbers."""
    bad = next(filter(None, map(table.first_bad_cell, names)), None)
    reason = "their entries are all missing" if bad is None else str(bad)
    return InputError(
        f"{table.path} has no column of numbers among {list_columns(names)}: {reason}."
    )


def _text_lines(content: bytes, file: Path) -> list[str]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text: save it as CSV in UTF-8.") from None
    if not text.strip():
        raise _empty(file)
    # Unlike str.splitlines, this leaves rare separators inside fields alone, and like a file
    # opened as text it takes every kind of line end.
    return io.StringIO(text, newline=None).readlines()


def _find_delimiter(lines: list[str]) -> str:
    """Choose the delimiter that splits the first lines alike, into most fields."""

    sample = [line for line in lines if line.strip()][:_SNIFFED_LINES]

    def fit(delimiter: str) -> tuple[bool, int]:
        try:
            rows = list(csv.reader(sample, delimiter=delimiter, skipinitialspace=True))
        except csv.Error:
            return False, 0
        widths = [len(row) for row in rows if row]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0]

    return max(DELIMITERS, key=fit)


def _rows(lines: list[str], delimiter: str, file: Path) -> tuple[list[list[str]], list[int]]:
    """Split lines into stripped fields; return the rows and the lines they begin on."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    rows: list[list[str]] = []
    starts: list[int] = []
    start = 1
    try:
        for row in reader:
            if row and row != [""]:
                rows.append([field.strip() for field in row])
                starts.append(start)
            start = reader.line_num + 1
    except csv.Error as failure:
        raise InputError(
            f"{file}, line {start}, is not valid CSV ({failure}): check its quotes."
        ) from failure
    if not rows:
        raise _empty(file)
    return rows, starts


def _check_header(header: list[str], file: Path) -> None:
    if all(parse_number(name) is not None for name in header):
        raise InputError(f"The first line of {file} looks like data: it must name the columns.")
    repeated = next((name for name, count in Counter(header).items() if count > 1), None)
    if repeated == "":
        raise InputError(f"{file} has several columns without a name: name all but one of them.")
    if repeated is not None:
        raise InputError(f"{file} has two columns named '{repeated}': rename one of them.")


def _check_shape(rows: list[list[str]], starts: list[int], file: Path) -> None:
    header = rows[0]
    if len(rows) == 1:
        raise InputError(f"{file} has a header line only: it needs rows.")
    for row, start in zip(rows, starts, strict=True):
        if len(row) != len(header):
            raise InputError(
                f"{file}, line {start}, has {len(row)} fields but the header has "
                f"{len(header)}: make every row as long as the header."
            )


def parse_number(text: str) -> float | None:
    """Return the number that an entry holds, NaN and infinity among them; None for other text."""
    # float() would also take digit groups such as 1_000, which are names more often than numbers.
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


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


def _empty(file: Path) -> InputError:
    return InputError(f"{file} is empty: it needs a header line and rows.")


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


def _no_column(file: Path, name: str, names: Sequence[str]) -> InputError:
    import difflib  # which a device at work does not need

    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"it has {list_columns(names)}."
    return InputError(f"There is no column '{column_name(name)}' in {file}: {hint}")
