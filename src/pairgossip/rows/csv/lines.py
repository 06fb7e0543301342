"""The careful reader of CSV: row by row, with a clear message for each kind of error.

It defines the correct result: the fast reader of blocks keeps only blocks that both read alike.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.rows.columns import LARGEST_EXACT
from pairgossip.text import format_count

DELIMITERS = (",", ";", "\t")
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
"""The entries that count as missing, in lower case."""
SNIFFED_LINES = 20
"""Number of lines from which the delimiter is guessed."""


def parse_number(text: str) -> float | None:
    """Return the number in an entry, also NaN and infinity; None for other text."""
    # float() would also accept digit groups such as 1_000, which are more often names.
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def is_rounded(text: str) -> bool:
    """Return whether an entry is an integer that floating point may round."""
    digits = text.lstrip("+-").lstrip("0")
    most = len(str(LARGEST_EXACT))
    return digits.isdecimal() and (len(digits) > most or int(digits) > LARGEST_EXACT)


def is_name(entry: str) -> bool:
    """Return whether an entry is a numeral that is exact only as text, such as 007."""
    has_zeros = entry[:1] == "0" != entry and entry.isascii() and entry.isdigit()
    return has_zeros or is_rounded(entry)


def parse_numbers(entries: Sequence[str]) -> FloatArray | None:
    """Return entries as numbers, NaN for missing ones; None if one is not a finite number."""
    numbers = [math.nan if one.lower() in MISSING else _parse_finite(one) for one in entries]
    return None if None in numbers else np.array(numbers, dtype=np.float64)


def _parse_finite(text: str) -> float | None:
    number = parse_number(text)
    return number if number is not None and math.isfinite(number) else None


class Head(NamedTuple):
    """The beginning of a file: its columns, and where its rows start."""

    header: tuple[str, ...]
    delimiter: str
    start: int
    """The line from which the first row after the header is read."""


def read_head(text: str, file: Path, delimiter: str | None) -> Head:
    """Read the header from the first lines of a file; ``file`` is its name in messages."""
    lines = split_lines(text)
    delimiter = delimiter or _find_delimiter(lines)
    for start, row in parse_rows(lines, delimiter, file):
        _check_header(row.fields, file)
        return Head(tuple(row.fields), delimiter, start)
    raise InputError(f"{file} is empty: it needs a header line and rows.")


def split_lines(text: str) -> list[str]:
    """Split text at every kind of line end.

    Unlike str.splitlines, this leaves rare separators inside fields alone.
    """
    return io.StringIO(text, newline=None).readlines()


class Row(NamedTuple):
    """The stripped fields of a row, and the line on which it begins."""

    fields: list[str]
    line: int


def parse_rows(
    lines: Iterable[str], delimiter: str, file: Path, line: int = 1, width: int | None = None
) -> Iterator[tuple[int, Row]]:
    """Yield each row with the number of the line after it; raise `InputError` for an invalid one.

    Parameters
    ----------
    lines, delimiter, file
        The lines of text, the separator of their fields, and the name of the file in messages.
    line
        The number of the first of these lines.
    width
        The number of fields that a row must have; None for any number.
    """
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    start = line
    try:
        for fields in reader:
            after = line + reader.line_num
            if fields and fields != [""]:
                if width not in (None, len(fields)):
                    count = format_count(len(fields), "field")
                    raise InputError(
                        f"{file}, line {start}, has {count} but the header has {width}: make every "
                        "row as long as the header."
                    )
                yield after, Row([field.strip() for field in fields], start)
            start = after
    except csv.Error as failure:
        raise InputError(
            f"{file}, line {start}, is not valid CSV ({failure}): check its quotes."
        ) from failure
    except UnicodeDecodeError:
        raise not_text(file) from None


def not_text(file: Path) -> InputError:
    """Build the error for a file in another encoding."""
    return InputError(f"{file} is not UTF-8 text: save it as CSV in UTF-8.")


def _find_delimiter(lines: Sequence[str]) -> str:
    """Choose the delimiter that splits the first lines alike, and into the most fields."""
    sample = [line for line in lines if line.strip()][:SNIFFED_LINES]

    def fit(delimiter: str) -> tuple[bool, int]:
        try:
            rows = list(csv.reader(sample, delimiter=delimiter, skipinitialspace=True))
        except csv.Error:
            return False, 0
        widths = [len(row) for row in rows if row]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0] if widths else 0

    return max(DELIMITERS, key=fit)


def _check_header(header: Sequence[str], file: Path) -> None:
    if all(parse_number(name) is not None for name in header):
        raise InputError(f"The first line of {file} looks like data: it must name the columns.")
    repeated = next((name for name, count in Counter(header).items() if count > 1), None)
    if repeated == "":
        raise InputError(f"{file} has several columns without a name: name all but one of them.")
    if repeated is not None:
        raise InputError(f"{file} has two columns named '{repeated}': rename one of them.")


def pick_fields(rows: Sequence[Row], places: Sequence[int]) -> list[list[Any]]:
    """Return the entries of some columns, column by column."""
    return [[row.fields[place] for row in rows] for place in places]
