"""Where columns with names come from: frames, dicts, records, lazy frames, streams and files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.rows.columns import as_array, as_ordered, read_numbers, refuse_unnamed
from pairgossip.rows.csv_lines import column_name
from pairgossip.rows.csv_table import Table, no_column
from pairgossip.rows.doors import open_table
from pairgossip.text import MOST_NAMED, format_rows, join_first


class Source(ABC):
    """Columns with names, one entry of each per row; they are asked for by their places."""

    title: str
    """What messages call it."""
    names: Sequence[Any]
    """The names of all columns."""
    counting = ", counting from 0"
    """What a message adds that names rows."""

    def owner(self, place: int) -> str:
        """Return what messages call a column, at the beginning of a sentence."""
        return f"Column '{column_name(str(self.names[place]))}'"

    def find(self, name: Any) -> int:
        """Return the place of a column; raise `InputError` unless there is one of that name."""
        names = list(self.names)
        if name not in names:
            raise no_column(self.title, str(name), [str(one) for one in names])
        if names.count(name) > 1:
            raise InputError(f"{self.title} has two columns named '{name}': rename one of them.")
        return names.index(name)

    def describe(self, rows: Sequence[int] | Any, *, alone: bool = True) -> str:
        """Name rows where they are."""
        return f"{format_rows(rows)}{' (counting from 0)' if alone else ''}"

    @abstractmethod
    def load(self, places: Sequence[int]) -> None:
        """Read columns together that will be asked for one by one."""

    @abstractmethod
    def read_numbers(self, places: Sequence[int]) -> list[FloatArray]:
        """Return columns as numbers, NaN for what is missing."""

    @abstractmethod
    def read_entries(self, place: int, role: str, words: Sequence[Any] | None) -> Any:
        """Return a column for an argument such as labels, where ``words`` are known labels."""


class Frame(Source):
    """A table with names and types."""

    def __init__(
        self,
        title: str,
        names: Sequence[Any],
        read: Callable[[Sequence[int]], Sequence[Any]],
    ) -> None:
        """Keep how columns are read: by a function of their places."""
        self.title, self.names, self._read = title, names, read
        self._columns: dict[int, Any] = {}

    def load(self, places: Sequence[int]) -> None:
        """Read columns, all of the same length."""
        self._columns |= dict(zip(places, self._read(places), strict=True))
        sizes = {
            f"'{self.names[k]}' ({len(column)})": len(column)
            for k, column in self._columns.items()
            if hasattr(column, "__len__") and not isinstance(column, str)
        }
        if len({*sizes.values()}) > 1:
            named = join_first(list(sizes)[:MOST_NAMED], len(sizes))
            raise InputError(f"Columns have different lengths, {named}: give one entry per row.")

    def read_numbers(self, places: Sequence[int]) -> list[FloatArray]:
        """Return columns as numbers, NaN for what is missing."""
        columns = [read_numbers(self._columns[k], self.owner(k)) for k in places]
        for place, column in zip(places, columns, strict=True):
            if column.ndim != 1:
                raise InputError(
                    f"{self.owner(place)} has {column.ndim} dimensions: give one entry per row."
                )
        return columns

    def read_entries(self, place: int, role: str, words: Sequence[Any] | None) -> Any:
        """Return a column as it is, unless it cannot say what an argument needs."""
        column = self._columns[place]
        refuse_unnamed(column, self.owner(place))
        if role == "weights":
            return read_numbers(column, self.owner(place))
        if (ordered := as_ordered(column)) is not None:
            return ordered
        array = as_array(column, self.owner(place), objects=True)
        if role == "labels" and array.dtype.kind in "iu":
            read_numbers(array, self.owner(place))  # refuses what is too large
        return array


class CsvSource(Source):
    """A file; entries of CSV have no types: numerals are numbers."""

    def __init__(self, table: Table) -> None:
        """Keep the table."""
        self._table = table
        self.title, self.names = str(table.path), table.header
        start = table.file.numbering.start
        self.counting = start and f", {start}"

    def owner(self, place: int) -> str:
        """Return what messages call a column, at the beginning of a sentence."""
        return f"{super().owner(place)} of {self.title}"

    def describe(self, rows: Sequence[int] | Any, *, alone: bool = True) -> str:
        """Name the lines of rows."""
        if alone:
            return f"{self._table.describe(rows)} of {self.title}"
        lines = self._table.lines[np.asarray(rows, dtype=np.int64)]
        return format_rows(lines.tolist(), self._table.file.numbering.noun)

    def load(self, places: Sequence[int]) -> None:
        """Read columns in one pass, or two if some are text."""
        names = [self.names[k] for k in places]
        self._table.file.read(names)
        self._table.load(names)

    def read_numbers(self, places: Sequence[int]) -> list[FloatArray]:
        """Return columns as numbers, NaN for what is missing."""
        return self._table.numbers_and_gaps([self.names[k] for k in places])

    def read_entries(self, place: int, role: str, words: Sequence[Any] | None) -> Any:
        """Return numbers if all entries are, else text; names such as 007 are text."""
        name = self.names[place]
        if role == "weights":
            return self._table.numbers_and_gaps([name])[0]
        listed = words if isinstance(words, list | tuple) else ()
        texts = [word for word in listed if isinstance(word, str)]
        table = replace(self._table, words={name: texts})
        is_name = role != "labels" and table.holds_names(name)
        return table.entries(name, as_text=is_name or bool(texts))


def open_source(data: Any, name: str) -> Source | None:
    """Return the columns of data that have names; None for lists and arrays without names."""
    if isinstance(data, str | os.PathLike):
        return _open_path(Path(data))
    title = f"the {name}" if name == "data" else name
    if isinstance(data, Mapping):
        return Frame(title, list(data), lambda places: [list(data.values())[k] for k in places])
    if isinstance(data, np.ndarray):
        fields = data.dtype.names
        if fields is None:
            return None
        return Frame(title, fields, lambda places: [data[fields[k]] for k in places])
    return _open_frame(data, title)


def _open_frame(data: Any, title: str) -> Source | None:
    library = type(data).__module__.partition(".")[0]
    if library in ("dask", "dask_expr") and hasattr(data, "compute"):
        raise InputError(
            f"{title} is a table of Dask's, on its workers: give what its compute() returns, or "
            "count its rows there with pg.summarize."
        )
    if library == "pandas":
        if getattr(data, "ndim", 1) != 2:
            return None
        return Frame(title, list(data.columns), lambda at: [data.iloc[:, k] for k in at])
    if library == "polars":
        return _open_polars(data, title)
    if isinstance(names := getattr(data, "columns", None), tuple):  # a Dataset
        return Frame(title, names, lambda places: [data[names[k]] for k in places])
    has_columns = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    if has_columns and not hasattr(data, "to_numpy"):
        from pairgossip.rows.arrow import read_stream

        return Frame(title, *read_stream(data))
    return None


def _open_polars(data: Any, title: str) -> Source | None:
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):
        names = data.collect_schema().names()
        return Frame(
            title,
            names,
            lambda places: data.select([names[k] for k in places]).collect().get_columns(),
        )
    if not hasattr(data, "get_columns"):
        return None
    return Frame(title, data.columns, lambda places: [data.to_series(k) for k in places])


def _open_path(path: Path) -> Source:
    return CsvSource(Table(open_table(path)))
