"""A file whose columns have types, such as Parquet: its numbers are numbers, its text is text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import suppress
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, Self

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.rows.batches import Piece
from pairgossip.rows.columns import (
    Coded,
    Ordered,
    is_missing,
    is_number,
    read_numbers,
    refuse_unnamed,
)
from pairgossip.rows.names import Names
from pairgossip.rows.places import ROWS, column_name

_EXACT = Context(prec=100)
"""Context for Arrow's decimals, which have up to 76 digits; Python's default keeps 28."""


class ArrowFile:
    """The rows of a Parquet or Arrow file, of a folder of these, or of the answer of a query.

    A column is read when it is first needed. Rows are counted from 0, as in other programs.
    """

    numbering, delimiter = ROWS, None

    def __init__(
        self,
        file: Path,
        names: Sequence[str],
        load: Callable[[Sequence[int]], Sequence[Any]],
        count: int | None = None,
        read: Callable[[Sequence[int]], Sequence[Piece]] | None = None,
    ) -> None:
        """Keep the functions that read columns.

        Parameters
        ----------
        file
            The name of the file in messages.
        names, load
            The names of all columns, and a function that returns the columns at given indices.
        count
            The number of rows; None to count them in the columns.
        read
            A function that returns the pieces of columns; None if the file was read at once.
        """
        self.file, self.header, self.count = file, tuple(names), count
        self._read_columns, self._read_pieces = load, read
        self._columns: dict[str, Any] = {}
        self._floats: dict[str, FloatArray | None] = {}
        self._texts: dict[str, Names] = {}
        repeated = next((name for name in names if self.header.count(name) > 1), None)
        if repeated is not None:
            raise InputError(f"{file} has two columns named '{repeated}': rename one of them.")
        if not names:
            raise InputError(f"{file} has no columns: it needs one at least.")

    def read(self, columns: Collection[str] | None = None) -> Self:
        """Read these columns together; by default each column is read when it is needed."""
        self.load(columns or ())
        if not len(self):
            raise InputError(f"{self.file} has no rows: it needs some.")
        return self

    def __len__(self) -> int:
        if self.count is None:
            self.count = len(self._column(self.header[0]))
        return self.count

    def has_more(self, rows: int) -> bool:
        """Return whether there are more rows than this number."""
        return len(self) > rows

    def pieces(self, places: Sequence[int]) -> Sequence[Piece]:
        """Return the pieces of columns, to be read in batches."""
        if self._read_pieces is not None:
            return self._read_pieces(places)
        return [Piece(0, lambda: [self._read_columns(places)])]

    def floats(self, name: str) -> FloatArray | None:
        """Return a column of numbers, NaN for missing entries; None for other columns."""
        if name not in self._floats:
            self._floats[name] = self._find_floats(self._column(name), name)
        return self._floats[name]

    def _find_floats(self, column: Any, name: str) -> FloatArray | None:
        first = _first_entry(column)
        if first is not None and not is_number(first):
            return None
        with suppress(InputError):
            return read_numbers(column, self._owner(name))
        return None

    def load(self, names: Collection[str]) -> None:
        """Read these columns together instead of one by one later."""
        unread = [name for name in dict.fromkeys(names) if name not in self._columns]
        if unread:
            columns = self._read_columns([self.header.index(name) for name in unread])
            self._columns |= dict(zip(unread, columns, strict=True))

    def has_text(self, name: str) -> bool:
        """Return whether a column has already been read as text."""
        return name in self._texts

    def texts(self, names: Collection[str]) -> dict[str, Names]:
        """Return columns as text, whatever their types."""
        self.load(names)
        for name in names:
            if name not in self._texts:
                self._texts[name] = _code_entries(self._columns[name])
        return {name: self._texts[name] for name in names}

    def lines(self) -> IntArray:
        """Return the number of each row."""
        return np.arange(len(self))

    @staticmethod
    def is_gap(entry: Any) -> bool:
        """Return whether an entry is missing; text such as "NA" is text."""
        return entry is None

    @staticmethod
    def parse_number(_: Any) -> None:
        """Return None: a numeral in a column of text is text."""

    def explain(self, name: str) -> InputError | None:
        """Return an error that explains why a column holds no numbers; None if it does."""
        column, owner = self._column(name), self._owner(name)
        if isinstance(_first_entry(column), str):
            return InputError(
                f"{owner} holds text, not numbers: choose columns of numbers, and give classes as "
                "labels."
            )
        try:
            read_numbers(column, owner)
        except InputError as problem:
            return problem
        return None

    def refuse_rounded(self, name: str) -> None:
        """Raise `InputError` for a column whose whole numbers floating point would round."""
        if self.floats(name) is None and is_number(_first_entry(self._column(name))):
            read_numbers(self._column(name), self._owner(name))

    def refuse_unnamed(self, name: str) -> None:
        """Raise `InputError` for a column whose entries cannot name a class, site or stratum."""
        refuse_unnamed(self._column(name), self._owner(name))

    def ordered(self, name: str) -> Ordered | None:
        """Return a column of ordered classes; None for other columns."""
        column = self._column(name)
        return column if isinstance(column, Ordered) else None

    def _owner(self, name: str) -> str:
        return f"Column '{column_name(name)}' of {self.file}"

    def _column(self, name: str) -> Any:
        self.load([name])
        return self._columns[name]


def _first_entry(column: Any) -> Any:
    """Return the first entry of a column that is not missing; None if there is none."""
    entries = column.categories if isinstance(column, Coded) else column
    return next((entry for entry in entries if not is_missing(entry)), None)


def _code_entries(column: Any) -> Names:
    """Return a column as text, with None for missing entries."""
    if isinstance(column, Coded):
        listed, places = column.list_entries()
        names = _code_entries(listed)
        return Names(np.append(names.codes, -1)[places][column.codes].astype(np.int32), names.book)
    array = np.asarray(column)
    if array.dtype.kind in "mM":
        array = np.array([None if one == "NaT" else one for one in array.astype(str)], object)
    entries = [None if is_missing(entry) else entry for entry in array.tolist()]
    if not all(isinstance(entry, Hashable) for entry in entries):
        entries = [None if entry is None else str(entry) for entry in entries]
    codes = {entry: code for code, entry in enumerate(dict.fromkeys(entries))}
    coded = np.fromiter(map(codes.__getitem__, entries), np.int32, len(entries))
    return Names(coded, [None if entry is None else _write(entry) for entry in codes])


def _write(entry: Any) -> str:
    """Write an entry as text; numbers with all digits, 1.0 as 1, and minus zero as 0."""
    if not is_number(entry):
        return str(entry)
    number = _EXACT.create_decimal(str(entry if isinstance(entry, Decimal) else +entry))
    return f"{_EXACT.plus(number).normalize(_EXACT):f}" if number.is_finite() else str(entry)
