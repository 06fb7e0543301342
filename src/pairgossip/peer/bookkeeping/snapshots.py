"""The rows that a site would release, and what their classes tell beside those of another study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.entries import Entries
from pairgossip.peer.bookkeeping.row_names import rank_correlation
from pairgossip.tables import STANDARD_INPUT, Table, read_columns

if TYPE_CHECKING:
    from pairgossip.peer.bookkeeping.overlaps import NamedRows

_ALIKE = 0.99
"""Rank correlation from which one column tells the other."""
_FEWEST = 10
"""Rows of which that can be said."""
_MOST_COMBINATIONS = 256
"""Of classes of a study; what has more is not compared by them, which takes the cube of it."""


class Combined(NamedTuple):
    """Rows by the combination of their classes."""

    entries: list[bytes]
    """What rows of each combination hold."""
    of_rows: IntArray
    totals: IntArray


@dataclass(frozen=True)
class Snapshot:
    """The rows that a site would release, complete in all columns."""

    source: Path
    """The operator's data file, whatever copy of it the rows were read from."""
    columns: Mapping[str, FloatArray]
    """Those that are counted in cells."""
    classes: Mapping[str, FloatArray] = field(default_factory=dict)
    """Labels, groups, strata and weights, in their agreed codes."""
    ids: Sequence[str] | None = None
    """Of people, if the operator names a column of them."""
    same: Sequence[Sequence[str]] = ()
    """Columns that are functions of one another and count as one."""
    lines: Sequence[Entries] = ()
    """All columns of the file, where there are no ids."""
    least_cell: int = 3
    """Least number of rows that is counted."""
    read: Callable[[str], Entries | None] = lambda _: None
    """Gives any column of the file; None if there is no such column."""
    named: dict[bytes, NamedRows] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """By the secret of names, since a million rows take seconds to name."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def names_alike(self, name: str) -> set[str]:
        """Return all names under which a column may have been released."""
        return {name}.union(*(group for group in self.same if name in group))

    def combine_all(self) -> Combined:
        """Return all rows together."""
        return Combined([b""], np.zeros(len(self), dtype=np.intp), np.array([len(self)]))

    def combine(self, names: Sequence[str]) -> Combined | None:
        """Return rows by what these columns hold together; None if they are no classes."""
        entries, of_rows, _ = self.combine_all()
        for name in names if len(self) else ():
            column = self._code(name)
            if column is None or len(column.entries) > _MOST_COMBINATIONS:
                return None
            both = column.of_rows
            if len(entries) > 1:
                both = of_rows * len(column.entries) + both
            used = np.bincount(both) > 0
            pairs = np.flatnonzero(used)
            of_rows = both if len(pairs) == len(used) else (np.cumsum(used) - 1)[both]
            if len(pairs) > _MOST_COMBINATIONS:
                return None
            entries = [
                entries[one] + b"\0" + column.entries[other]
                for one, other in zip(*np.divmod(pairs, len(column.entries)), strict=True)
            ]
        return Combined(entries, of_rows, np.bincount(of_rows, minlength=len(entries)))

    def find(self, name: str, values: FloatArray) -> Entries:
        """Return a column as entries: those of the file, if they are these numbers."""
        column = self.read(name)
        return column if column is not None and column.hold(values) else Entries(values)

    def _code(self, name: str) -> Combined | None:
        """Return rows by the entries of a column, as the file has them if it can be read."""
        column = self.read(name)
        if column is None and name in self.classes:
            column = Entries(self.classes[name])
        if column is None:
            return None
        entries, of_rows = column.code()
        return Combined(entries, of_rows, np.bincount(of_rows, minlength=len(entries)))

    def read_numbers(self, name: str) -> FloatArray | None:
        """Return a column of the file, NaN where it holds no number; None if it is not there."""
        column = self.read(name)
        return None if column is None else column.numbers

    def follows(self, name: str, column: FloatArray) -> bool:
        """Return whether classes are intervals of a column, so that their totals are its law's."""
        classes = self._code(name)
        if classes is None or not 1 < len(classes.entries) < len(self):
            return False
        is_number = np.isfinite(column)
        of_rows = classes.of_rows[is_number]
        totals = np.bincount(of_rows, minlength=len(classes.entries))
        sums = np.bincount(of_rows, weights=column[is_number], minlength=len(totals))
        order = np.argsort(np.argsort(sums / np.maximum(totals, 1))).astype(np.float64)
        return are_functions(column, order[classes.of_rows])


def check_same(same: Sequence[Sequence[str]], observed: Sequence[str]) -> None:
    """Raise `InputError` for columns declared as the same of which none is observed."""
    for names in same:
        if len(set(names)) < 2 or not set(names) & set(observed):
            raise InputError(
                f"--same {','.join(names)} must name two columns or more that are functions of one "
                f"another, one of them among those used ({', '.join(observed)})."
            )


def read_beside(
    known: Snapshot,
    row_id: str | None = None,
    dropped: Sequence[int] = (),
    table: Table | None = None,
) -> Snapshot:
    """Return a snapshot with what its file holds beside its columns, and the ids of its rows.

    Rows without ids are known by their whole lines. Those that are ``dropped`` are not among them.
    The file may have been read already, as a ``table``.
    """
    if known.source == STANDARD_INPUT:
        if row_id is None:
            return known
        raise InputError(
            "--id reads the data a second time, which standard input cannot: name a file."
        )
    table = read_columns(known.source, ()) if table is None else table
    if len(dropped):
        table = table.without(dropped)
    known = replace(known, read=partial(_read_column, table))
    if row_id is None:
        table.load(table.header)
        columns = {name: _read_entries(table, name) for name in table.header}
        return replace(known, lines=list(columns.values()), read=columns.get)
    table.refuse_unknown([row_id])
    return replace(known, ids=table.text(row_id))


def _read_column(table: Table, name: str) -> Entries | None:
    return _read_entries(table, name) if name in table.header else None


def _read_entries(table: Table, name: str) -> Entries:
    numbers = table.floats(name)
    return Entries(None, *table.names(name)) if numbers is None else Entries(numbers)


def are_functions(one: FloatArray, other: FloatArray) -> bool:
    """Return whether one column tells the other, by the rows where both are numbers.

    Few rows agree by chance.
    """
    is_number = np.isfinite(one) & np.isfinite(other)
    if np.count_nonzero(is_number) < _FEWEST:
        return False
    return abs(rank_correlation(one[is_number], other[is_number])) > _ALIKE


def refuse_functions(snapshot: Snapshot) -> None:
    """Refuse columns of which one tells the other; functions that go up and down are not found.

    For columns that are counted in tables of their own.
    """
    for (one, values), (other, others) in combinations(snapshot.columns.items(), 2):
        if are_functions(values, others) and other not in snapshot.names_alike(one):
            correlation = rank_correlation(values, others)
            raise InputError(
                f"Columns '{one}' and '{other}' have a rank correlation of {correlation:.3f}, so "
                f"their tables are two of one column: leave one out, "
                f"or declare them with --same {one},{other} (same in peer.toml)."
            )


def count_difference(old: IntArray, classes: Combined, others: Combined) -> int:
    """Return the least number of rows, 0 aside, by which sums of totals of two studies differ.

    Totals of one study (``old``, by the classes ``others``) and of another are known exactly. A sum
    of some of the first less one of some of the second counts the rows that are in one of the two
    sets alone. In a graph whose nodes are the classes of both, joined by the rows that they have in
    common, and by those that only one study has to a node of its own, such rows are a cut.
    """
    first, second = len(others.entries), len(classes.entries)
    joined = np.zeros((first + second + 1,) * 2, dtype=np.int64)
    np.add.at(joined, (others.of_rows, first + classes.of_rows), 1)
    joined[:first, -1] = abs(old - others.totals)
    return _find_least_cut(joined + joined.T)


def _find_least_cut(joined: IntArray) -> int:
    """Return the least weight of a cut that separates connected nodes.

    The last node of an order, in which each is the one most joined to those before, is cut off from
    the node before it by its own weight at least; the two are merged then. So are nodes that are
    not connected at all: every cut of connected ones stays one.
    """
    joined, least = joined.copy(), 0
    while len(joined) > 1:
        is_left, weights, last = np.ones(len(joined), dtype=bool), joined[0].copy(), 0
        is_left[0] = False
        before = 0
        while is_left.any():
            before, last = last, int(np.argmax(np.where(is_left, weights, -1)))
            is_left[last] = False
            cut = int(weights[last])
            weights += joined[last]
        if cut and (cut < least or not least):
            least = cut
        joined[before] += joined[last]
        joined[:, before] = joined[before]
        joined[before, before] = 0
        joined = np.delete(np.delete(joined, last, axis=0), last, axis=1)
    return least
