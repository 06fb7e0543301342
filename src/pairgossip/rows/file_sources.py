"""Files as columns with names, read whole or in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.rows.arrow_file import ArrowFile
from pairgossip.rows.batches import Piece, RereadNeeded
from pairgossip.rows.columns import Coded
from pairgossip.rows.csv.blocks import Batch, Blocks
from pairgossip.rows.csv.file import CsvFile
from pairgossip.rows.csv.lines import MISSING, is_name, parse_number
from pairgossip.rows.frames import Cut, Frame, Source
from pairgossip.rows.table import Table
from pairgossip.text import format_rows


class FileSource(Source):
    """A file with named columns; its subclasses read it in batches."""

    def __init__(self, table: Table) -> None:
        """Keep the table."""
        self.table = table
        self.title, self.names = str(table.path), table.header
        start = table.file.numbering.start
        self.counting = start and f", {start}"

    def owner(self, place: int) -> str:
        """Return the name of a column in messages, to begin a sentence."""
        return f"{super().owner(place)} of {self.title}"

    def describe(self, rows: Sequence[int] | Any, *, alone: bool = True) -> str:
        """Name rows by their lines or numbers, and the file."""
        return self.describe_lines(self.table.lines[np.asarray(rows, dtype=np.int64)], alone=alone)

    def describe_lines(self, lines: IntArray, *, alone: bool) -> str:
        """Name rows by their lines or numbers."""
        numbering = self.table.file.numbering
        if alone:
            return f"{numbering.name(lines.tolist())} of {self.title}"
        return format_rows(lines.tolist(), numbering.noun)

    def load(self, places: Sequence[int]) -> None:
        """Read columns in one pass, or in two if some are text."""
        names = [self.names[k] for k in places]
        self.table.file.read(names)
        self.table.load(names)

    def read_numbers(self, places: Sequence[int]) -> list[FloatArray]:
        """Return columns as numbers, NaN for missing entries."""
        return self.table.numbers_and_gaps([self.names[k] for k in places])

    def read_entries(self, place: int, role: str, words: Sequence[Any] | None) -> Any:
        """Return numbers if all entries are numbers, else text; names such as 007 are text."""
        name = self.names[place]
        if role == "weights":
            return self.table.numbers_and_gaps([name])[0]
        texts = find_texts(words)
        table = replace(self.table, words={name: texts})
        has_names = role != "labels" and table.holds_names(name)
        return table.entries(name, as_text=has_names or bool(texts))


class FilePart(Frame):
    """Some rows of a file."""

    def __init__(
        self, source: FileSource, first: int, lines: range | NDArray[Any], size: int
    ) -> None:
        """Keep the number of the first row, the lines of all, and their share of the total."""
        super().__init__(source.title, source.names)
        self.first, self.counting = first, source.counting
        self._source, self._lines, self._size = source, lines, size

    @property
    def steps(self) -> int:
        """The share of the total that these rows take, in its units."""
        return self._size

    def owner(self, place: int) -> str:
        """Return the name of a column in messages, to begin a sentence."""
        return self._source.owner(place)

    def describe(self, rows: Sequence[int] | Any, *, alone: bool = True) -> str:
        """Name the lines of rows."""
        lines = np.asarray(self._lines, dtype=np.int64)[np.asarray(rows, dtype=np.int64)]
        return self._source.describe_lines(lines, alone=alone)


class ArrowSource(FileSource):
    """A Parquet or Arrow file, or a folder, whose columns have types."""

    def __init__(self, table: Table) -> None:
        """Keep the table."""
        super().__init__(table)
        assert isinstance(table.file, ArrowFile)
        self._file = table.file
        self.total = self._file.count

    def pieces(
        self, places: Sequence[int], roles: Mapping[str, int], words: Sequence[Any] | None
    ) -> Sequence[Cut]:
        """Return the pieces of columns, such as row groups of Parquet."""
        every = list(dict.fromkeys([*places, *roles.values()]))
        return [partial(self._cut, piece, every) for piece in self._file.pieces(every)]

    def _cut(self, piece: Piece, places: Sequence[int]) -> Iterator[Frame]:
        first = piece.first
        for columns in piece.read():
            count = len(columns[0])
            whole = FilePart(self, first, range(first, first + count), count)
            whole.keep(places, columns)
            yield whole
            first += len(whole)


class CsvSource(FileSource):
    """A CSV file; its entries have no types, and numerals are numbers."""

    def __init__(self, table: Table) -> None:
        """Keep the table."""
        super().__init__(table)
        assert isinstance(table.file, CsvFile)
        self._file = table.file
        self.total = self._file.size
        self.texts: set[int] = set()
        """The columns, other than those of the data, that were found to hold text."""

    def pieces(
        self, places: Sequence[int], roles: Mapping[str, int], words: Sequence[Any] | None
    ) -> Sequence[Cut]:
        """Return the only piece of the columns."""
        return [partial(self._cut, places, roles, find_texts(words))]

    def _cut(
        self, places: Sequence[int], roles: Mapping[str, int], words: Sequence[str]
    ) -> Iterator[Frame]:
        """Yield batches of rows; raise `RereadNeeded` if a column turns out to be text."""
        every = list(dict.fromkeys([*places, *roles.values()]))
        named = {k: role for role, k in roles.items() if role != "weights" and k not in places}
        is_text = {k for k, role in named.items() if role != "labels" or words} | self.texts
        numbers = [self.names[k] for k in every if k not in is_text]
        first = position = 0
        with self._file.reading(numbers, [self.names[k] for k in is_text]) as blocks:
            for batch in blocks:
                if len(blocks.numbers) < len(numbers):
                    self._note_text(every, named, blocks)
                columns = [
                    self._decode(k, named[k], batch, blocks, words)
                    if k in is_text
                    else batch.columns[self.names[k]]
                    for k in every
                ]
                part = FilePart(self, first, batch.lines, blocks.position - position)
                part.keep(every, columns)
                yield part
                first, position = first + len(part), blocks.position
        if not first:
            self.load([])  # raises the error that there are no rows

    def _note_text(self, every: Sequence[int], named: Mapping[int, str], blocks: Blocks) -> None:
        """Raise `RereadNeeded` for labels that are text, `InputError` for text in the data."""
        read = {*blocks.numbers, *blocks.books}
        texts = [place for place in every if self.names[place] not in read]
        if blocks.rounded:
            self.load(texts)
            self.table.refuse_rounded([self.names[k] for k in texts])
        if not named.keys() >= {*texts}:
            self.load(every)
            self.read_numbers([place for place in texts if place not in named])
        self.texts |= {*texts}
        raise RereadNeeded

    def _decode(
        self, place: int, role: str, batch: Batch, blocks: Blocks, words: Sequence[str]
    ) -> Any:
        """Return codes of entries; or numbers, if all entries are numbers and none is like 007."""
        codes, name = batch.columns[self.names[place]], self.names[place]
        entries: list[str | None] = [
            None if one.lower() in MISSING and (role != "labels" or one not in words) else one
            for one in blocks.books[name].entries
        ]
        if role == "labels" or place in self.texts:
            return Coded(codes, entries)
        numbers = [np.nan if one is None else _as_number(one) for one in entries]
        if None not in numbers:
            return np.array(numbers, dtype=np.float64)[codes]
        self.texts.add(place)
        raise RereadNeeded


def find_texts(words: Sequence[Any] | None) -> list[str]:
    """Return the known labels that are text."""
    listed = words if isinstance(words, list | tuple) else ()
    return [word for word in listed if isinstance(word, str)]


def _as_number(text: str) -> float | None:
    """Return the number of a numeral; None for other text, and for names such as 007."""
    return None if is_name(text) else parse_number(text)
