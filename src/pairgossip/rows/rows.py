"""Look up the columns that arguments name, whatever kind of data has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.rows.frames import Cut, Source
from pairgossip.rows.sources import open_source
from pairgossip.text import format_rows, join_names

_NOUNS = {"within": "strata", "between": "strata", "by": "groups"}
"""The plural nouns in messages for arguments whose own names do not fit."""


class Describe(Protocol):
    """A function that names rows by position, such as "lines 3 and 17 of cork.csv"."""

    def __call__(self, rows: Sequence[int] | Any, *, alone: bool = True) -> str:
        """Return the name of rows; with ``alone`` false, the file and the counting are left out."""


def count_from_zero(rows: Sequence[int] | Any, *, alone: bool = True) -> str:
    """Name rows by their numbers: "rows 3 and 17 (counting from 0)"."""
    return f"{format_rows(rows)}{' (counting from 0)' if alone else ''}"


class Chosen(NamedTuple):
    """The values of arguments, with names of columns replaced by the columns."""

    columns: Mapping[str, Any]
    """The values by argument."""
    owners: Mapping[str, str]
    """The names in messages of arguments that are one column: "Column 'age' of a.csv"."""
    parts: Mapping[str, Sequence[str]]
    """The names in messages of the columns of the data itself."""
    describe: Describe = count_from_zero
    counting: str = ", counting from 0"
    """Text that a message adds after the numbers of rows; empty where rows are lines."""
    names: Sequence[Any] = ()
    """The names of the columns of the data, if they have any."""


class AskedColumns(NamedTuple):
    """The columns of a table that arguments name."""

    data: str
    """The name of the argument that holds the data."""
    source: Source
    places: list[int]
    """The indices of the columns of the data itself."""
    roles: dict[str, int]
    """The indices of the columns of other arguments, by argument."""

    def pieces(self, words: Sequence[Any] | None = None) -> Sequence[Cut]:
        """Return the pieces of the table; each can be read separately, in batches."""
        return self.source.pieces(self.places, self.roles, words)

    def read(
        self, source: Source, given: Mapping[str, Any], words: Sequence[Any] | None = None
    ) -> Chosen:
        """Return the values of arguments, from the whole table or from the rows read."""
        numbers = source.read_numbers(self.places)
        for place, column in zip(self.places, numbers, strict=True):
            if np.isinf(column).any():
                rows = source.describe(np.flatnonzero(np.isinf(column)))
                raise InputError(
                    f"{source.owner(place)} has infinite values in {rows}: drop or impute them "
                    "first."
                )
        table: FloatArray = numbers[0] if len(numbers) == 1 else np.column_stack(numbers)
        read = {
            name: source.read_entries(place, name, words if name == "labels" else None)
            for name, place in self.roles.items()
        }
        return Chosen(
            {**given, self.data: table, **read},
            {name: source.owner(place) for name, place in self.roles.items()},
            {self.data: [source.owner(place) for place in self.places]},
            source.describe,
            source.counting,
            [source.names[place] for place in self.places],
        )


def choose_columns(
    data: str,
    given: Mapping[str, Any],
    columns: Sequence[Any] | str | None = None,
    words: Sequence[Any] | None = None,
) -> Chosen:
    """Look up the columns that arguments name; raise `InputError` for those that do not exist.

    Parameters
    ----------
    data
        The name of the argument that holds the data.
    given
        The arguments; text is the name of a column of the data.
    columns
        The columns of the data itself; None for all columns that no other argument names.
    words
        The known labels: in a file, a label "none" among them is a class and not missing.
    """
    asked = ask_columns(data, given, columns)
    if asked is None:
        return Chosen(given, {}, {})
    places = asked.roles.values()
    asked.source.load([*asked.places, *(one for one in places if one not in asked.places)])
    return asked.read(asked.source, given, words)


def ask_columns(
    data: str, given: Mapping[str, Any], columns: Sequence[Any] | str | None = None
) -> AskedColumns | None:
    """Find the columns that arguments name; return None if the data has no named columns.

    The parameters are those of `choose_columns`.
    """
    source = open_source(given[data], data) if data in given else None
    named = {name: one for name, one in given.items() if isinstance(one, str) and name != data}
    if source is None:
        _refuse_names(data, named, columns)
        return None
    roles = {name: source.find(column) for name, column in named.items()}
    return AskedColumns(data, source, _find_columns(source, named, columns), roles)


def _refuse_names(data: str, named: Mapping[str, str], columns: Any) -> None:
    """Raise `InputError` where columns are named but the data has no names."""
    for name, column in named.items():
        raise InputError(
            f"{name} is the name '{column[:40]}', but {data} has no names of columns: give a table "
            f"that has, or the {_NOUNS.get(name, name)} themselves."
        )
    if columns is not None:
        raise InputError(
            f"{{argument}} names columns, but {data} has no names of columns: leave it out, or "
            "give a table that has.",
            "columns",
        )


def _find_columns(
    source: Source, named: Mapping[str, str], columns: Sequence[Any] | str | None
) -> list[int]:
    """Return the indices of the columns of the data itself."""
    if columns is None:
        others = named.values()
        places = [place for place, name in enumerate(source.names) if name not in others]
        if not places:
            listed = [f"the {argument} '{name}'" for argument, name in named.items()]
            besides = f" besides {join_names(listed)}" if listed else ""
            raise InputError(f"{source.title} has no column{besides}: add the data.")
        return places
    is_list = isinstance(columns, Iterable) and not isinstance(columns, str)
    wanted = list(columns) if is_list else [columns]
    if not wanted:
        raise InputError("{argument} is empty: give the name of a column.", "columns")
    repeated = next((name for name in wanted if wanted.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"Column '{repeated}' is named twice: name it once.")
    return [source.find(name) for name in wanted]
