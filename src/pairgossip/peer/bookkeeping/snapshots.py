"""The rows that a site would release, and comparisons of their classes with another study's."""

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
"""Rank correlation above which columns count as functions of one another."""
_FEWEST = 10
"""Least number of rows for such a statement; columns with fewer are never such functions."""
_MOST_COMBINATIONS = 256
"""Largest number of combinations of classes; more are not compared, which takes cubic time."""


class Combined(NamedTuple):
    """The rows in each combination of classes."""

    entries: list[bytes]
    """The entries of each combination."""
    of_rows: IntArray
    totals: IntArray


@dataclass(frozen=True)
class Snapshot:
    """The rows that a site would release, complete in all columns."""

    source: Path
    """The operator's data file, even if the rows were read from a copy."""
    columns: Mapping[str, FloatArray]
    """The columns that are counted in cells."""
    classes: Mapping[str, FloatArray] = field(default_factory=dict)
    """The labels, groups, strata and weights, in their agreed codes."""
    ids: Sequence[str] | None = None
    """The ids of people, if the operator names a column of them."""
    same: Sequence[Sequence[str]] = ()
    """The groups of columns that are functions of one another and count as one."""
    lines: Sequence[Entries] = ()
    """All columns of the file, if there are no ids."""
    least_cell: int = 3
    """The least number of rows to count in a block."""
    read: Callable[[str], Entries | None] = lambda _: None
    """The function that returns a column of the file; None if there is no such column."""
    named: dict[bytes, NamedRows] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """The rows' names by their secret, as a million rows take seconds to name."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def names_alike(self, name: str) -> set[str]:
        """Return all names under which a column may have been released."""
        return {name}.union(*(group for group in self.same if name in group))

    def combine_all(self) -> Combined:
        """Return all rows as one combination."""
        return Combined([b""], np.zeros(len(self), dtype=np.intp), np.array([len(self)]))

    def combine(self, names: Sequence[str]) -> Combined | None:
        """Return rows by their entries of these columns; None if one is missing or has too many."""
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
        """Return the entries of a column: those of the file, if they are these numbers."""
        column = self.read(name)
        return column if column is not None and column.hold(values) else Entries(values)

    def _code(self, name: str) -> Combined | None:
        """Return rows by their entries of a column of the file, or by the codes of a class."""
        column = self.read(name)
        if column is None and name in self.classes:
            column = Entries(self.classes[name])
        if column is None:
            return None
        entries, of_rows = column.code()
        return Combined(entries, of_rows, np.bincount(of_rows, minlength=len(entries)))

    def read_numbers(self, name: str) -> FloatArray | None:
        """Return the numbers of a column of the file, NaN for other entries; None if unknown."""
        column = self.read(name)
        return None if column is None else column.numbers

    def follows(self, name: str, column: FloatArray) -> bool:
        """Return whether classes are intervals of a column, and show points of its distribution."""
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
    """Raise `InputError` for a group of equivalent columns that has one, or none observed."""
    for names in same:
        if len(set(names)) < 2 or not set(names) & set(observed):
            raise InputError(
                f"--same {','.join(names)} must name two columns or more that are functions of one "
                f"another, one of them among those used ({', '.join(observed)})."
            )


def read_beside(
    snapshot: Snapshot,
    row_id: str | None = None,
    dropped: Sequence[int] = (),
    table: Table | None = None,
) -> Snapshot:
    """Return a snapshot with access to all columns of its file, and the ids or lines of its rows.

    Rows are recognized by their whole lines if there are no ids. ``dropped`` are rows of the file
    that the snapshot does not have. The file may have been read already, as a ``table``.
    """
    if snapshot.source == STANDARD_INPUT:
        if row_id is None:
            return snapshot
        raise InputError(
            "--id reads the data a second time, which standard input cannot: name a file."
        )
    table = read_columns(snapshot.source, ()) if table is None else table
    if len(dropped):
        table = table.without(dropped)
    snapshot = replace(snapshot, read=partial(_read_column, table))
    if row_id is None:
        table.load(table.header)
        columns = {name: _read_entries(table, name) for name in table.header}
        return replace(snapshot, lines=list(columns.values()), read=columns.get)
    table.refuse_unknown([row_id])
    return replace(snapshot, ids=table.text(row_id))


def _read_column(table: Table, name: str) -> Entries | None:
    return _read_entries(table, name) if name in table.header else None


def _read_entries(table: Table, name: str) -> Entries:
    numbers = table.floats(name)
    return Entries(None, *table.names(name)) if numbers is None else Entries(numbers)


def are_functions(one: FloatArray, other: FloatArray) -> bool:
    """Return whether one column is a function of the other, by rows where both are numbers.

    With few rows the answer is no, since these agree by chance.
    """
    is_number = np.isfinite(one) & np.isfinite(other)
    if np.count_nonzero(is_number) < _FEWEST:
        return False
    return abs(rank_correlation(one[is_number], other[is_number])) > _ALIKE


def refuse_functions(snapshot: Snapshot) -> None:
    """Refuse columns of which one is a function of another; only monotone ones are recognized.

    This is for columns that are counted in separate tables.
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
    """Return the least positive number of rows by which sums of totals of two studies differ.

    Totals of one study (``old``, by the classes ``others``) and of another are known exactly. The
    difference of two sums of totals counts the rows that are in only one of two sets. Such rows are
    a cut of a graph: its nodes are the classes of both studies, joined by the rows that they share,
    and one further node, joined to each old class by the number of rows that came or went.
    """
    first, second = len(others.entries), len(classes.entries)
    joined = np.zeros((first + second + 1,) * 2, dtype=np.int64)
    np.add.at(joined, (others.of_rows, first + classes.of_rows), 1)
    joined[:first, -1] = abs(old - others.totals)
    return _find_least_cut(joined + joined.T)


def _find_least_cut(joined: IntArray) -> int:
    """Return the least positive weight of a cut; 0 if there is none.

    Nodes are put in an order: the next is the one with most weight to those before it. The weight
    of the last is then the least cut between it and the one before it, and the two are merged.
    Nodes that are not connected at all are merged, too: every cut of connected ones stays one.
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
