"""The fast reader of CSV: blocks of lines by NumPy's C reader, where it reads them correctly.

Each block ends at its last line end. Its structure is checked: quotes may only enclose whole
fields within a line, and lines must end as usual. NumPy then reads all columns, because with
chosen columns it would accept rows of any length. If NumPy refuses a block, the block is read
again with missing entries as NaN, and then by the careful reader (`lines`). Where lines cannot be
separated, the careful reader reads from there to the end of the file, also in batches.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import IntArray
from pairgossip.rows.columns import may_be_rounded
from pairgossip.rows.csv.lines import (
    Head,
    Row,
    is_rounded,
    not_text,
    parse_numbers,
    parse_rows,
    pick_fields,
    split_lines,
)
from pairgossip.rows.names import Book

BLOCK = 1 << 18
"""Bytes read at once; larger blocks take more memory and are hardly faster."""
_BATCH = 1 << 15
"""Rows of a batch that is read row by row."""
_NARROW, _WIDEST = 8, 32
"""Characters of a text entry that the fast reader keeps: first width and largest width."""
_SIGNED_NAN = re.compile(rb"[-+]nan", re.IGNORECASE)
"""Text that NumPy reads as NaN, but which is not a missing entry."""


class Batch(NamedTuple):
    """Some consecutive rows."""

    columns: dict[str, NDArray[Any]]
    """Numbers as float64, NaN where missing; for columns of text, the codes in their book."""
    lines: range | IntArray
    """The line on which each row begins."""


class _UnusualError(Exception):
    """Raised for a block that only the careful reader can read."""


class _EntangledError(Exception):
    """Raised where lines cannot be separated without the quotes or line ends before them."""


class _CutError(Exception):
    """Raised where text may have been cut: try again with wider fields."""


class Blocks:
    """One pass over the rows of a CSV file, after its header.

    A column of ``numbers`` that turns out to hold other entries is removed from that list, and
    from the batches after it.
    """

    def __init__(
        self,
        stream: BinaryIO,
        head: Head,
        file: Path,
        numbers: Collection[str],
        texts: Collection[str],
    ) -> None:
        self._stream, self._head, self._file = stream, head, file
        self.numbers = [name for name in head.header if name in numbers]
        self.books = {name: Book() for name in head.header if name in texts}
        self.rounded: set[str] = set()
        """Columns removed from the numbers because floating point would round their integers."""
        self._fields = {name: f"c{place}" for place, name in enumerate(head.header)}
        self._width = _NARROW

    def __iter__(self) -> Iterator[Batch]:
        """Yield batches of rows."""
        line = self._head.start
        blocks = _cut_blocks(self._stream)
        for data in blocks:
            try:
                _check_structure(data, self._head.delimiter)
                batch, line = self._read_block(data, line)
            except _EntangledError:
                yield from self._read_on(itertools.chain((data,), blocks), line)
                return
            if len(batch.lines):
                yield batch

    @property
    def position(self) -> int:
        """The number of bytes read so far; for a compressed file, bytes on the disk."""
        return int(getattr(self._stream, "fileobj", self._stream).tell())

    def _read_block(self, data: bytes, line: int) -> tuple[Batch, int]:
        """Return the rows of a block, and the number of the line after it."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise not_text(self._file) from None
        try:
            table = self._load(data, text)
        except _UnusualError:
            parsed = list(self._parse(split_lines(text), line))
            after = line + text.count("\n") + (not text.endswith("\n"))
            return self._convert([row for _, row in parsed]), after
        columns = {name: table[self._fields[name]].copy() for name in self.numbers}
        for name, book in self.books.items():
            columns[name] = book.code(table[self._fields[name]].tolist())
        lines = range(line, line + len(table))
        return Batch(columns, lines), lines.stop

    def _read_on(self, blocks: Iterable[bytes], line: int) -> Iterator[Batch]:
        """Read the rest of the file row by row."""
        stream = io.BufferedReader(_Joined(blocks), BLOCK)
        rows = self._parse(io.TextIOWrapper(stream, "utf-8", newline=None), line)
        while some := [row for _, row in itertools.islice(rows, _BATCH)]:
            yield self._convert(some)

    def _parse(self, lines: Iterable[str], line: int) -> Iterator[tuple[int, Row]]:
        header, delimiter, _ = self._head
        return parse_rows(lines, delimiter, self._file, line, len(header))

    def _convert(self, rows: Sequence[Row]) -> Batch:
        """Return rows of text as a batch of columns."""
        columns: dict[str, NDArray[Any]] = {}
        for name, entries in self._pick(rows, tuple(self.numbers)):
            numbers = parse_numbers(entries)
            if numbers is not None and not (
                may_be_rounded(numbers) and any(map(is_rounded, entries))
            ):
                columns[name] = numbers
                continue
            self.numbers.remove(name)
            if numbers is not None:
                self.rounded.add(name)
        for name, entries in self._pick(rows, tuple(self.books)):
            columns[name] = self.books[name].code(entries)
        return Batch(columns, np.array([row.line for row in rows], dtype=np.int64))

    def _pick(self, rows: Sequence[Row], names: Sequence[str]) -> Iterable[tuple[str, list[str]]]:
        places = [self._head.header.index(name) for name in names]
        return zip(names, pick_fields(rows, places), strict=True)

    def _load(self, data: bytes, text: str) -> NDArray[Any]:
        """Read a block with NumPy; raise `_UnusualError` if the result may be wrong."""
        if "\0" in text or not text[: text.find("\n")].strip():
            raise _UnusualError
        try:
            table = self._load_wide(text)
        except ValueError:
            if self.books or "\n\n" in text or "\n\r\n" in text:
                raise _UnusualError from None
            try:
                filled = _gap_pattern(self._head.delimiter).sub("nan", text.removesuffix("\n"))
                table = self._load_wide(filled)
            except ValueError:
                raise _UnusualError from None
        # A line with one empty field is blank, and blank lines are not rows.
        is_text = len(self._fields) == 1 and not self.numbers
        if is_text and not all(map(str.strip, table["c0"].tolist())):
            raise _UnusualError
        numbers = [table[self._fields[name]] for name in self.numbers]
        if any(map(may_be_rounded, numbers)):  # infinity is
            raise _UnusualError
        if any(np.isnan(column).any() for column in numbers) and _SIGNED_NAN.search(data):
            raise _UnusualError
        return table

    def _load_wide(self, text: str) -> NDArray[Any]:
        """Read text with fields wide enough for it."""
        while True:
            try:
                texts = [self._fields[name] for name in self.books]
                return _load_text(text, self._head.delimiter, self._layout(), texts)
            except _CutError:
                if self._width == _WIDEST:
                    raise _UnusualError from None
                self._width *= 2

    def _layout(self) -> np.dtype[Any]:
        kinds = dict.fromkeys(self.numbers, "f8") | dict.fromkeys(self.books, f"U{self._width}")
        return np.dtype([(field, kinds.get(name, "U1")) for name, field in self._fields.items()])


def _load_text(
    text: str, delimiter: str, layout: np.dtype[Any], texts: Sequence[str]
) -> NDArray[Any]:
    lines = text.removesuffix("\n").split("\n")  # faster than a stream
    table = np.loadtxt(lines, layout, delimiter=delimiter, comments=None, quotechar='"', ndmin=1)
    if len(table) != len(lines):
        raise _UnusualError
    for name in texts:
        width = layout[name].itemsize // 4
        # The last character of every entry, without a copy.
        place = layout.fields[name][1] + 4 * (width - 1)  # type: ignore[index]
        if np.ndarray(len(table), np.uint32, table, place, table.strides).any():
            raise _CutError
    return table


def _cut_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield blocks that end with a line; very long lines, and the last block, as they are."""
    rest = b""
    while more := stream.read(BLOCK):
        data = rest + more
        end = data.rfind(b"\n") + 1 or (len(data) if len(data) > 2 * BLOCK else 0)
        rest = data[end:]
        if end:
            yield data[:end]
    if rest:
        yield rest


def _check_structure(data: bytes, delimiter: str) -> None:
    """Raise `_EntangledError` unless line ends are usual and quotes enclose fields of one line."""
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        raise _EntangledError
    if b"\n" not in data and len(data) > 2 * BLOCK:
        raise _EntangledError
    if b'"' not in data:
        return
    raw = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(raw == ord('"'))
    if len(quotes) % 2 or not delimiter.isascii():
        raise _EntangledError
    opens, closes = quotes[::2], quotes[1::2]
    ends = np.flatnonzero(raw == ord("\n"))
    before, after = raw[np.maximum(opens - 1, 0)], raw[np.minimum(closes + 1, len(raw) - 1)]
    is_field = (opens == 0) | (before == ord(delimiter)) | (before == ord("\n"))
    is_field &= (
        (closes == len(raw) - 1)
        | (after == ord(delimiter))
        | ((after == ord("\r")) | (after == ord("\n")))
    )
    if not is_field.all() or (ends.searchsorted(opens) != ends.searchsorted(closes)).any():
        raise _EntangledError


@cache
def _gap_pattern(delimiter: str) -> re.Pattern[str]:
    """Return a pattern that matches whole fields that count as missing."""
    sides = re.escape(delimiter)
    return re.compile(
        rf"(?:(?<=[{sides}\n])|\A)(?:nan?|n/a|null|none|\?|)(?=[{sides}\r\n]|\Z)", re.IGNORECASE
    )


class _Joined(io.RawIOBase):
    """Blocks joined into one stream."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            following = next(self._blocks, None)
            if following is None:
                return 0
            self._rest = following
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
