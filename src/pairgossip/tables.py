"""Reading columns of numbers from a CSV file with a header line."""

from __future__ import annotations

import csv
import difflib
import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError

DELIMITERS = (",", ";", "\t")
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
SNIFFED_LINES = 20


@dataclass(frozen=True)
class Table:
    """The columns read from a file.

    Attributes
    ----------
    path
        Where it was read.
    header
        The names of all columns of the file, in its order.
    columns
        The columns of numbers asked for, by name, in the order asked for.
    cells, lines
        The raw text of every row, and the line of the file each row begins on.
    """

    path: Path
    header: tuple[str, ...]
    columns: dict[str, FloatArray]
    cells: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, name: str) -> FloatArray:
        return self.columns[self._known(name)]

    def matrix(self) -> FloatArray:
        """Return the columns of numbers side by side, shape (rows, columns)."""
        return np.column_stack(list(self.columns.values()))

    def text(self, name: str) -> list[str]:
        """Return one column as text, for labels; a missing entry is an error."""
        place = self._position(name)
        for row, line in zip(self.cells, self.lines, strict=True):
            if row[place].lower() in MISSING:
                raise _missing(self.path, name, line)
        return [row[place] for row in self.cells]

    def numbers(self, name: str) -> FloatArray:
        """Return one column as numbers; anything else in it is an error."""
        place = self._position(name)
        return np.array(
            [
                _number(row[place], self.path, name, line)
                for row, line in zip(self.cells, self.lines, strict=True)
            ]
        )

    def _known(self, name: str) -> str:
        if name not in self.columns:
            raise _no_column(self.path, name, tuple(self.columns))
        return name

    def _position(self, name: str) -> int:
        if name not in self.header:
            raise _no_column(self.path, name, self.header)
        return self.header.index(name)

    def holds_numbers(self, name: str) -> bool:
        """Tell whether every entry of a column that is not missing reads as a number."""
        place = self.header.index(name)
        texts = (row[place] for row in self.cells if row[place].lower() not in MISSING)
        readable = [_parsed(text) is not None for text in texts]
        return bool(readable) and all(readable)


def read_columns(
    path: str | PathLike[str],
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Table:
    """Read columns of numbers from a CSV file (UTF-8) whose first line names its columns.

    Parameters
    ----------
    path
        The file.
    columns
        The columns to read as numbers; None for all that hold nothing but numbers.
    delimiter
        What separates fields; None for whichever of comma, semicolon and tab fits.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"The delimiter is {delimiter!r}: give one character.")
    file = Path(path)
    lines = _text_lines(file)
    rows, starts = _rows(lines, delimiter or _sniffed(lines), file)
    header = tuple(rows[0])
    _check_shape(rows, starts, file)
    table = Table(file, header, {}, tuple(map(tuple, rows[1:])), tuple(starts[1:]))
    names = [columns] if isinstance(columns, str) else columns
    if names is None:
        names = [name for name in header if table.holds_numbers(name)]
        if not names:
            raise InputError(f"{file} has no column of numbers: name the columns to read.")
    return replace(table, columns={name: table.numbers(name) for name in names})


def _text_lines(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"There is no file {file}: check the path.") from None
    except IsADirectoryError:
        raise InputError(f"{file} is a directory: give a CSV file in it.") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text: save it as CSV in UTF-8.") from None
    except OSError as failure:
        raise InputError(f"{file} cannot be read: {failure.strerror}.") from failure
    if not text.strip():
        raise _empty(file)
    # Unlike str.splitlines, this leaves rare separators inside fields alone.
    return io.StringIO(text).readlines()


def _sniffed(lines: list[str]) -> str:
    """Choose the delimiter that splits the first lines alike, into most fields."""

    sample = [line for line in lines if line.strip()][:SNIFFED_LINES]

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


def _check_shape(rows: list[list[str]], starts: list[int], file: Path) -> None:
    header = rows[0]
    repeated = [name for name, count in Counter(header).items() if count > 1]
    if repeated:
        raise InputError(f"{file} has two columns named '{repeated[0]}': rename one of them.")
    if len(rows) == 1:
        raise InputError(f"{file} has a header line only: it needs rows.")
    for row, start in zip(rows, starts, strict=True):
        if len(row) != len(header):
            raise InputError(
                f"{file}, line {start}, has {len(row)} fields but the header has "
                f"{len(header)}: make every row as long as the header."
            )


def _parsed(text: str) -> float | None:
    # float() would also take digit groups such as 1_000, which are names more often than numbers.
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _number(text: str, file: Path, column: str, line: int) -> float:
    if text.lower() in MISSING:
        raise _missing(file, column, line)
    number = _parsed(text)
    if number is None or not math.isfinite(number):
        raise InputError(
            f"Column '{column}' of {file}, line {line}, is not a number: {text[:40]!r}."
        )
    return number


def _empty(file: Path) -> InputError:
    return InputError(f"{file} is empty: it needs a header line and rows.")


def _missing(file: Path, column: str, line: int) -> InputError:
    return InputError(
        f"Column '{column}' of {file}, line {line}, is missing: fill it in or drop the line."
    )


def _no_column(file: Path, name: str, names: Sequence[str]) -> InputError:
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(names)}."
    return InputError(f"There is no column '{name}' in {file}: {hint}")
