"""A CSV file as columns: those of numbers are read at once, those of text when needed."""

from __future__ import annotations

import io
import itertools
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.files import read_bytes, unreadable
from pairgossip.rows.columns import rounded_integers
from pairgossip.rows.csv.blocks import Blocks
from pairgossip.rows.csv.lines import (
    MISSING,
    SNIFFED_LINES,
    Head,
    not_text,
    parse_number,
    read_head,
)
from pairgossip.rows.names import Names
from pairgossip.rows.places import LINES, Places, column_name
from pairgossip.rows.unchanged import Unchanged

STANDARD_INPUT = Path("-")
_COMPRESSED = ".gz"
_FIRST_BYTES = 1 << 13
"""Bytes read at first for the header; doubled until they hold the first lines."""
_LINE_END = re.compile(rb"\r\n|\r|\n")


class CsvFile:
    """The rows of a CSV file (UTF-8) whose first line names its columns.

    Reading it finds the columns of numbers and keeps them; text is read when it is needed. The file
    must not change in between.
    """

    numbering = LINES
    numbers: dict[str, FloatArray]
    """The columns with only finite numbers and missing entries, which are NaN."""
    places: Places

    def __init__(self, content: bytes | Path, file: Path, delimiter: str | None = None) -> None:
        """Read the header.

        Parameters
        ----------
        content
            The content of the file, or its path.
        file
            The name of the file in messages.
        delimiter
            The separator of fields; by default the one of comma, semicolon and tab that fits.
        """
        self.file = file
        self._content = content
        self._unchanged = None if isinstance(content, bytes) else Unchanged(content)
        self._texts: dict[str, Names] = {}
        self._rounded: set[str] = set()
        """Columns requested as numbers that hold integers too large for floating point."""
        self.head, self._offset = self._read_head(delimiter)

    def read(self, columns: Collection[str] | None = None) -> Self:
        """Read the rows, and the columns of numbers among these; None for all columns."""
        self.places = Places()
        with self.reading(self.head.header if columns is None else columns) as blocks:
            self.numbers = _join(self._note_places(blocks))
        if not len(self):
            raise InputError(f"{self.file} has a header line only: it needs rows.")
        return self

    def __len__(self) -> int:
        return len(self.places)

    def has_more(self, rows: int) -> bool:
        """Return whether there are more rows than this: many short rows can fill the memory."""
        count = 0
        with self.reading(()) as blocks:
            for batch in blocks:
                count += len(batch.lines)
                if count > rows:
                    return True
        return False

    @property
    def header(self) -> tuple[str, ...]:
        """The names of all columns, in their order."""
        return self.head.header

    @property
    def delimiter(self) -> str:
        """The separator of fields."""
        return self.head.delimiter

    def floats(self, name: str) -> FloatArray | None:
        """Return a column with only finite numbers and missing entries, else None."""
        return self.numbers.get(name)

    def lines(self) -> IntArray:
        """Return the line on which each row begins."""
        return self.places.lines()

    @staticmethod
    def is_gap(entry: str) -> bool:
        """Return whether an entry counts as missing."""
        return entry.lower() in MISSING

    @staticmethod
    def parse_number(entry: str) -> float | None:
        """Return the number in an entry of text, which a file without types may hold."""
        return parse_number(entry)

    def explain(self, _: str) -> None:
        """Return None: errors name single entries."""

    def refuse_rounded(self, name: str) -> None:
        """Raise `InputError` for a column whose whole numbers floating point would round."""
        if name not in self._rounded:
            return
        entries = (one for one in self.texts([name])[name].book if not self.is_gap(one))
        if None not in map(parse_number, entries):
            raise rounded_integers(f"Column '{column_name(name)}' of {self.file}")

    def refuse_unnamed(self, _: str) -> None:
        """Do nothing: all entries are text."""

    def ordered(self, _: str) -> None:
        """Return None: no column has an order."""

    def load(self, _: Collection[str]) -> None:
        """Do nothing: numbers are read already, and text may not be needed."""

    @property
    def size(self) -> int:
        """The number of bytes to read."""
        content = self._content
        return len(content) if isinstance(content, bytes) else content.stat().st_size

    def has_text(self, name: str) -> bool:
        """Return whether a column has already been read as text."""
        return name in self._texts

    def texts(self, names: Collection[str]) -> dict[str, Names]:
        """Return columns as text, whatever they hold."""
        unread = [name for name in dict.fromkeys(names) if name not in self._texts]
        if unread:
            with self.reading((), unread) as blocks:
                codes = _join(batch.columns for batch in blocks)
            self._texts |= {name: Names(codes[name], blocks.books[name].entries) for name in unread}
        return {name: self._texts[name] for name in names}

    def _note_places(self, blocks: Blocks) -> Iterator[dict[str, NDArray[Any]]]:
        for batch in blocks:
            self.places.add(batch.lines)
            yield batch.columns

    @contextmanager
    def reading(self, numbers: Collection[str], texts: Collection[str] = ()) -> Iterator[Blocks]:
        """Open the rows for one pass, in batches of numbers and of text."""
        with self._open() as stream:
            stream.read(self._offset)
            blocks = Blocks(stream, self.head, self.file, numbers, texts)
            yield blocks
            self._rounded |= blocks.rounded

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        if isinstance(self._content, bytes):
            yield io.BytesIO(self._content)
            return
        assert self._unchanged is not None
        self._unchanged.check()
        try:
            with self._content.open("rb") as stream, _decompress(stream, self._content) as plain:
                yield plain
        except OSError as problem:
            raise unreadable(self._content, problem) from None
        self._unchanged.check()

    def _read_head(self, delimiter: str | None) -> tuple[Head, int]:
        """Return the header, and the number of bytes up to its end."""
        start = b""
        with self._open() as stream:
            while more := stream.read(len(start) or _FIRST_BYTES):
                start += more
                # The last line may be cut.
                if sum(map(bool, map(bytes.strip, start.splitlines()))) > SNIFFED_LINES:
                    start = start[: max(start.rfind(b"\n"), start.rfind(b"\r")) + 1]
                    break
        try:
            head = read_head(start.decode("utf-8-sig"), self.file, delimiter)
        except UnicodeDecodeError:
            raise not_text(self.file) from None
        ends = [end.end() for end in itertools.islice(_LINE_END.finditer(start), head.start - 1)]
        return head, ends[-1] if len(ends) == head.start - 1 else len(start)


def open_csv(path: str | PathLike[str], delimiter: str | None = None) -> CsvFile:
    """Open a CSV file, or one compressed by gzip; the path "-" is standard input."""
    place = Path(path)
    if place == STANDARD_INPUT:
        return CsvFile(sys.stdin.buffer.read(), Path("standard input"), delimiter)
    # A pipe can be read only once.
    return CsvFile(place if place.is_file() else read_bytes(place), place, delimiter)


@contextmanager
def _decompress(stream: BinaryIO, file: Path) -> Iterator[BinaryIO]:
    if file.suffix != _COMPRESSED:
        yield stream
        return
    import gzip
    import zlib

    try:
        yield cast("BinaryIO", gzip.GzipFile(fileobj=stream))
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{file} is not a complete gzip file: compress it again.") from None


def _join(batches: Iterable[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Join the columns that all batches have, one at a time to limit memory."""
    parts: dict[str, list[NDArray[Any]]] | None = None
    for columns in batches:
        if parts is None or len(columns) < len(parts):
            parts = {name: [] if parts is None else parts[name] for name in columns}
        for name, column in columns.items():
            parts[name].append(column)
    parts = parts or {}
    return {name: np.concatenate(parts.pop(name)) for name in list(parts)}
