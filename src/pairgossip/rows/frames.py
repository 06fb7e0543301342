"""Named columns, read whole or some rows at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.rows.batches import LARGEST_BATCH, Piece
from pairgossip.rows.columns import (
    Coded,
    as_array,
    as_coded,
    as_ordered,
    join_columns,
    read_numbers,
    refuse_unnamed,
)
from pairgossip.rows.places import column_name, no_column
from pairgossip.text import MOST_NAMED, format_rows, join_first


class Source(ABC):
    """Named columns with one entry per row; they are selected by their indices."""

    title: str
    """The name of the data in messages."""
    names: Sequence[Any]
    """The names of all columns."""
    counting = ", counting from 0"
    """Text that a message adds after the numbers of rows."""
    total: int | None = None
    """The number of rows, or of bytes for a text file; None if not known."""
    is_once = False
    """Whether it can be read only once."""

    def owner(self, place: int) -> str:
        """Return the name of a column in messages, to begin a sentence."""
        return f"Column '{column_name(str(self.names[place]))}'"

    def find(self, name: Any) -> int:
        """Return the index of a column; raise `InputError` unless exactly one has that name."""
        names = list(self.names)
        if name not in names:
            raise no_column(self.title, str(name), [str(one) for one in names])
        if names.count(name) > 1:
            raise InputError(f"{self.title} has two columns named '{name}': rename one of them.")
        return names.index(name)

    def describe(self, rows: Sequence[int] | Any, *, alone: bool = True) -> str:
        """Name rows by their positions."""
        return f"{format_rows(rows)}{' (counting from 0)' if alone else ''}"

    @abstractmethod
    def pieces(
        self, places: Sequence[int], roles: Mapping[str, int], words: Sequence[Any] | None
    ) -> Sequence[Cut]:
        """Return the pieces of columns; each can be read separately, in batches.

        Parameters
        ----------
        places
            The indices of the data's columns.
        roles
            The indices of the columns of other arguments, such as labels, by argument.
        words
            The known labels.
        """

    @abstractmethod
    def load(self, places: Sequence[int]) -> None:
        """Read these columns together instead of one by one later."""

    @abstractmethod
    def read_numbers(self, places: Sequence[int]) -> list[FloatArray]:
        """Return columns as numbers, NaN for missing entries."""

    @abstractmethod
    def read_entries(self, place: int, role: str, words: Sequence[Any] | None) -> Any:
        """Return the column of an argument such as labels; ``words`` are the known labels."""


class Frame(Source):
    """A table with names and types, or some of its rows."""

    first = 0
    """The number of the first row."""

    def __init__(
        self,
        title: str,
        names: Sequence[Any],
        read: Callable[[Sequence[int]], Sequence[Piece]] | None = None,
        total: int | None = None,
        *,
        is_once: bool = False,
    ) -> None:
        """Keep a function that returns the pieces of columns, given their indices."""
        self.title, self.names, self._read = title, names, read
        self.total, self.is_once = total, is_once
        self._columns: dict[int, Any] = {}

    def __len__(self) -> int:
        """Return the number of rows read."""
        column = next(iter(self._columns.values()))
        return len(column) if hasattr(column, "__len__") else 1

    @property
    def steps(self) -> int:
        """The share of the total that these rows take, in its units."""
        return len(self)

    def describe(self, rows: Sequence[int] | Any, *, alone: bool = True) -> str:
        """Name rows by their positions."""
        return super().describe(np.asarray(rows, dtype=np.int64) + self.first, alone=alone)

    def load(self, places: Sequence[int]) -> None:
        """Read columns, all of the same length."""
        assert self._read is not None
        batches = [columns for piece in self._read(places) for columns in piece.read()]
        joined = (
            join_columns(parts, self.owner(place))
            for place, parts in zip(places, zip(*batches, strict=True), strict=True)
        )
        self.keep(places, list(joined))

    def pieces(
        self, places: Sequence[int], roles: Mapping[str, int], words: Sequence[Any] | None
    ) -> Sequence[Cut]:
        """Return the pieces of columns."""
        assert self._read is not None
        every = list(dict.fromkeys([*places, *roles.values()]))
        return [partial(self._cut, piece, every) for piece in self._read(every)]

    def _cut(self, piece: Piece, places: Sequence[int]) -> Iterator[Frame]:
        """Yield the rows of a piece, at most `LARGEST_BATCH` at once."""
        first = piece.first
        for columns in piece.read():
            whole = Frame(self.title, self.names)
            whole.keep(places, columns)
            for start in range(0, max(len(whole), 1), LARGEST_BATCH):
                part = whole.cut(slice(start, start + LARGEST_BATCH))
                part.first = first + start
                yield part
            first += len(whole)

    def cut(self, rows: slice) -> Frame:
        """Return some of the rows read."""
        if rows.start == 0 and len(self) <= rows.stop:
            return self
        part = Frame(self.title, self.names)
        part._columns = {place: cut(column, rows) for place, column in self._columns.items()}
        return part

    def keep(self, places: Sequence[int], columns: Sequence[Any]) -> None:
        """Keep columns; raise `InputError` unless all have the same length."""
        self._columns |= dict(zip(places, columns, strict=True))
        sizes = {
            f"'{self.names[k]}' ({len(column)})": len(column)
            for k, column in self._columns.items()
            if hasattr(column, "__len__") and not isinstance(column, str)
        }
        if len({*sizes.values()}) > 1:
            named = join_first(list(sizes)[:MOST_NAMED], len(sizes))
            raise InputError(f"Columns have different lengths, {named}: give one entry per row.")

    def read_numbers(self, places: Sequence[int]) -> list[FloatArray]:
        """Return columns as numbers, NaN for missing entries."""
        columns = [read_numbers(self._columns[k], self.owner(k), self.first) for k in places]
        for place, column in zip(places, columns, strict=True):
            if column.ndim != 1:
                raise InputError(
                    f"{self.owner(place)} has {column.ndim} dimensions: give one entry per row."
                )
        return columns

    def read_entries(self, place: int, role: str, words: Sequence[Any] | None) -> Any:
        """Return a column unchanged; raise `InputError` if it is unfit for the argument."""
        column = self._columns[place]
        refuse_unnamed(column, self.owner(place))
        if role == "weights":
            return read_numbers(column, self.owner(place))
        if (ordered := as_ordered(column)) is not None:
            return ordered
        array = as_array(column, self.owner(place), objects=True)
        if role == "labels" and array.dtype.kind in "iu":
            read_numbers(array, self.owner(place))  # refuses integers that are too large
        return array

    def read_codes(self, place: int, role: str) -> Coded | NDArray[Any]:
        """Return a column as `read_entries` does, or as codes of its different entries."""
        coded = as_coded(self._columns[place])
        if coded is None:
            return np.asarray(self.read_entries(place, role, None))
        refuse_unnamed(np.array([*coded.categories, None], dtype=object)[:-1], self.owner(place))
        return coded


Cut = Callable[[], Iterator[Frame]]
"""A function that reads a piece of a table, some rows at a time."""


def cut(column: Any, rows: slice) -> Any:
    """Return some rows of a column."""
    return column.iloc[rows] if hasattr(column, "iloc") else column[rows]
