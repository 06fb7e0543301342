"""The entries that arguments hold for every row, in parts: as they come, or checked in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels import check_data
from pairgossip.kernels.data import as_array
from pairgossip.kernels.rows import code_labels, keep_complete, refuse_other_indexes
from pairgossip.rows.batches import LARGEST_BATCH
from pairgossip.rows.frames import Cut, Frame, cut
from pairgossip.rows.rows import AskedColumns, Chosen, Describe, ask_columns
from pairgossip.text import format_count, format_rows

Roles = Mapping[str, Any]
"""The entries of some rows, by the names of arguments such as labels."""


class Rows(NamedTuple):
    """Some rows, complete if they were checked."""

    columns: list[FloatArray]
    """The columns of the data."""
    roles: Roles
    describe: Describe
    """Return the places of rows in the data, before some were left out."""
    owners: Mapping[str, str] = {}
    """The names in messages of columns that arguments name."""


class Lost(NamedTuple):
    """Rows that were left out."""

    rows: int
    places: str


class Part:
    """Some rows of the data."""

    def __init__(
        self, incoming: Incoming, frame: Frame | None, given: Roles, first: int, size: int
    ) -> None:
        """Keep the rows of a table with names, if there is one, and of arrays."""
        self._incoming, self._frame, self._given = incoming, frame, given
        self.first, self.size = first, size
        self.steps = size if frame is None else frame.steps

    def read(self) -> Rows | None:
        """Return rows as they came, which the count will check; None if only a full check can."""
        asked = self._incoming.asked
        if asked is None or self._frame is None:
            return None
        frame = self._frame
        roles = {name: frame.read_codes(place, name) for name, place in asked.roles.items()}
        given = {name: one for name, one in self._given.items() if name not in asked.roles}
        return Rows(frame.read_numbers(asked.places), given | roles, frame.describe)

    def read_with_care(self, missing: str, classes: Any) -> tuple[Rows, Lost]:
        """Return complete rows; raise `InputError` for errors in others."""
        read = self._choose()
        if classes is not None and "labels" in read.columns:
            owner = f"{name} holds" if (name := read.owners.get("labels")) else "labels hold"
            code_labels(read.columns["labels"], classes, owner, read.describe)
        given, lost, count = keep_complete(read.columns, read, missing)
        kept = np.delete(np.arange(count), lost)
        if len(lost) == count and count:
            return self._select([], given, kept, read), Lost(count, read.describe(lost))
        table = check_data(given["data"])
        columns = list(table.reshape(len(table), -1).T)
        places = read.describe(lost) if len(lost) else ""
        return self._select(columns, given, kept, read), Lost(len(lost), places)

    def _choose(self) -> Chosen:
        asked = self._incoming.asked
        if asked is not None and self._frame is not None:
            return asked.read(self._frame, self._given)
        return Chosen(self._given, {}, {}, self._describe)

    def _describe(self, rows: Sequence[int] | Any, *, alone: bool = True) -> str:
        numbers = np.asarray(rows, dtype=np.int64) + self.first
        return f"{format_rows(numbers.tolist())}{' (counting from 0)' if alone else ''}"

    def _select(
        self, columns: list[FloatArray], given: Roles, kept: IntArray, read: Chosen
    ) -> Rows:
        def describe(rows: Sequence[int] | Any, *, alone: bool = True) -> str:
            return read.describe(kept[np.asarray(rows, dtype=np.intp)], alone=alone)

        roles = {name: one for name, one in given.items() if name != "data"}
        return Rows(columns, roles, describe, read.owners)


class Incoming:
    """All entries that arguments hold for every row.

    Parameters
    ----------
    given
        The arguments by name, the data first; text is the name of a column of the data.
    columns
        The columns of the data itself; None for all columns that no other argument names.
    words
        Known labels.
    """

    def __init__(self, given: Roles, columns: Any, words: Sequence[Any] | None) -> None:
        refuse_other_indexes(given)
        self.asked: AskedColumns | None = ask_columns("data", given, columns)
        self._words = words
        if self.asked is None:
            self._given = dict(given)
            self._given["data"] = data = as_array(given["data"], "data")
            self.columns = int(data.shape[1]) if data.ndim == 2 else 1
            self.total: int | None = len(data) if data.ndim else 1
            self.title, self.is_once = "rows", False
            self._check_lengths(self._given, self.total)
            return
        names = ("data", *self.asked.roles)
        self._given = {name: one for name, one in given.items() if name not in names}
        self.columns = len(self.asked.places)
        source = self.asked.source
        self.total, self.title, self.is_once = source.total, source.title, source.is_once

    def owner(self, at: int) -> str:
        """Return a column's name in messages, as the beginning of a sentence."""
        if self.asked is None:
            return f"Column {at}"
        # Without the file, which stands beside the numbers of lines.
        return Frame.owner(self.asked.source, self.asked.places[at])

    def pieces(self) -> Sequence[Callable[[], Iterator[Part]]]:
        """Return pieces of the rows, each of which can be read by itself."""
        if self.asked is None:
            return [self._cut_arrays]
        return [partial(self._cut_piece, one) for one in self.asked.pieces(self._words)]

    def _cut_arrays(self) -> Iterator[Part]:
        data = self._given["data"]
        for first in range(0, max(self.total or 0, 1), LARGEST_BATCH):
            rows = slice(first, first + LARGEST_BATCH)
            is_whole = (self.total or 0) <= LARGEST_BATCH
            given = self._given if is_whole else _cut_all(self._given, rows)
            yield Part(self, None, given, first, len(data[rows]) if data.ndim else 1)

    def _cut_piece(self, piece: Cut) -> Iterator[Part]:
        for frame in piece():
            rows = slice(frame.first, frame.first + len(frame))
            given = _cut_all(self._given, rows)
            self._check_lengths(given, len(frame))
            yield Part(self, frame, given, frame.first, len(frame))

    def check_length(self, rows: int) -> None:
        """Raise `InputError` if arrays beside a table have more entries than there are rows."""
        if self.asked is not None:
            self._check_lengths(self._given, rows)

    def _check_lengths(self, given: Roles, count: int) -> None:
        """Raise `InputError` if a role does not have one entry per row."""
        for name, column in given.items():
            if name == "data":
                continue
            shape = np.shape(column)
            if shape[:1] == (count,) and (len(shape) == 1 or name == "labels"):
                continue
            if name == "labels":
                check_data(np.zeros(count), column)
            if name == "weights":
                raise InputError(
                    f"weights have shape {shape} but there are {format_count(count, 'row')}: give "
                    "one weight per row."
                )
            raise InputError(
                f"The shape of {name} is {shape} but there are {format_count(count, 'row')}: give "
                "one entry per row."
            )


def _cut_all(given: Roles, rows: slice) -> dict[str, Any]:
    return {name: cut(column, rows) for name, column in given.items()}
