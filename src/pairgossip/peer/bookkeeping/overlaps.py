"""Earlier releases of the same rows, and the risk that two releases reveal single people.

Rows are recognized by ids, whole lines, or values of columns. Two releases of them reveal single
people if a column is in both, if totals of both differ by few rows, or if a class of one is a
function of a column of the other, since its totals are points of that column's distribution.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.entries import hash_names, normalize_id
from pairgossip.peer.bookkeeping.registers import OUTCOMES, Neighbor, Reason, Register, Release
from pairgossip.peer.bookkeeping.row_names import NamedColumn, Names, name_column, name_lines
from pairgossip.peer.bookkeeping.snapshots import (
    Combined,
    Snapshot,
    are_functions,
    count_difference,
)
from pairgossip.tables import STANDARD_INPUT


class Overlap(NamedTuple):
    """An earlier release of some of the same rows."""

    release: Release
    columns: tuple[str, ...]
    """For the reason "columns", the present names of the columns; for "totals", the other study's
    classes that are not in this file; for "function", this study's column and the other's."""
    rows: int | None
    """The approximate number of rows in both releases; None if unknown, so that it may be all."""
    is_same_file: bool
    """Whether both were read from the same file, which has one ledger."""
    reason: Reason = "columns"

    @property
    def neighbor(self) -> Neighbor:
        """The entry for this overlap in another release."""
        return Neighbor(self.release.key, self.columns, self.rows, self.reason)

    def sentence(self) -> str:
        """Return a sentence on what was released."""
        old, names = self.release, [f"'{name}'" for name in self.columns]
        rows = "these rows" if self.rows is None else f"{self.rows:,} of these rows"
        subject, clause = f"Column{'s' * (len(names) > 1)} {', '.join(names)}", ""
        if self.reason == "totals":
            subject = "Other columns"
            clause = ", and totals of the two tables differ by one or a few rows"
        elif self.reason == "function":
            subject = f"Column {names[1]}"
            clause = f", and it and {names[0]} tell each other"
        elif old.is_told:
            clause = f" as {OUTCOMES[old.outcome]}"
        if not old.is_told:
            return f"{subject} of {rows} will be told by this peer already{clause}"
        when, study = old.when[:10], old.study[:12]
        if not old.peer:
            return f"{subject} of {rows} went out on {when} to file {old.table}{clause}"
        return f"{subject} of {rows} went out on {when} to study {study}{clause}"

    @property
    def observers(self) -> str:
        """The people who can subtract if there are two releases."""
        return "members of both studies" if self.release.peer else "who has both files"

    @property
    def remedy(self) -> str:
        """The advice in place of a second release."""
        if not self.release.is_told:
            return "leave them out"
        if self.reason == "function":
            return f"leave '{self.columns[0]}' out"
        if self.reason == "totals":
            names = ", ".join(f"'{name}'" for name in self.columns)
            compare = f", or put {names} of that study into this file to be compared"
            return f"take the same rows and classes{compare if names else ''}"
        if self.release.outcome != "no table":
            return self.release.remedy
        return "take rows that were not asked for before"

    def refusal(self, *, is_late: bool = False) -> str:
        """Return the refusal of a second release, with advice; late if the peer exists already."""
        is_unsure = self.rows is None and self.release.ids and not is_late
        by_ids = ", or --id if they are other rows: then they are known by ids" if is_unsure else ""
        accept = "make this peer again with peer init --visible" if is_late else "give --visible"
        return (
            f"{self.sentence()}, and with a second release others can subtract: {self.remedy}, or "
            f"{accept}{by_ids}."
        )


@dataclass(frozen=True)
class NamedRows:
    """A snapshot with the names of its rows under one secret."""

    snapshot: Snapshot
    secret: bytes
    combined: Combined
    columns: Mapping[str, NamedColumn]
    ids: Names
    lines: NamedColumn
    source: str
    overlaps: dict[str, tuple[Overlap, ...]] = field(default_factory=dict)
    """The overlaps by the key of a release, as a million rows take seconds to compare."""

    @classmethod
    def of(cls, secret: bytes, snapshot: Snapshot) -> NamedRows:
        """Return a snapshot with names for its rows."""
        every = {**snapshot.columns, **snapshot.classes}
        ids = {normalize_id(one) for one in snapshot.ids or ()} - {b""}
        source = ""
        if snapshot.source != STANDARD_INPUT:
            path = os.fsencode(snapshot.source.resolve())
            source = hashlib.blake2b(path, key=secret, digest_size=16).hexdigest()
        return cls(
            snapshot,
            secret,
            snapshot.combine(list(snapshot.classes)) or snapshot.combine_all(),
            {name: name_column(secret, snapshot.find(name, one)) for name, one in every.items()},
            np.sort(hash_names(secret, ids)),
            name_lines(secret, snapshot.lines),
            source,
        )

    def find(self, register: Register) -> list[Overlap]:
        """Return the releases that reveal single people together with a release of these rows."""
        for old in register.releases:
            if old.key not in self.overlaps:
                self.overlaps[old.key] = tuple(self._find(old))
        return [
            one._replace(release=old) for old in register.releases for one in self.overlaps[old.key]
        ]

    def _find(self, old: Release) -> Iterator[Overlap]:
        columns, rows, is_near = self._compare(old)
        is_same_file = old.source == self.source != ""
        if columns:
            yield Overlap(old, columns, rows, is_same_file)
        elif (rows is not None or is_same_file) and not old.has_noise:
            least = max(old.least_cell, self.snapshot.least_cell)
            difference, missing = self._compare_totals(old)
            if 0 < difference < least and is_near:
                yield Overlap(old, missing, rows, is_same_file, "totals")
            elif function := self._find_function(old):
                yield Overlap(old, function, rows, is_same_file, "function")

    def _compare_totals(self, old: Release) -> tuple[int, tuple[str, ...]]:
        """Return the least positive difference of totals, and the classes that this file lacks.

        If there are such classes, or no equal combinations, all totals are compared with all.
        Combinations without rows here are compared, too, as a later batch may fill them.
        """
        missing = tuple(name for name in old.classes if self.snapshot.combine([name]) is None)
        others = None if missing else self.snapshot.combine(old.classes)
        totals = np.array(old.totals)
        if others is not None:
            names = np.frombuffer(old.combinations, "<u8").tolist()
            by_name = dict(zip(names, old.totals, strict=True))
            here = hash_names(self.secret, others.entries).tolist()
            if set(here) & set(names):
                lost = [by_name[name] for name in names if name not in here]
                counts = np.array([*(by_name.get(name, 0) for name in here), *lost])
                padded = Combined(
                    [*others.entries, *[b""] * len(lost)],
                    others.of_rows,
                    np.append(others.totals, np.zeros(len(lost), dtype=np.intp)),
                )
                return count_difference(counts, self.combined, padded), ()
        own = self.combined.totals
        differences = abs(np.append(totals, totals.sum())[:, None] - np.append(own, own.sum()))
        return int(np.min(differences[differences > 0], initial=len(self.snapshot) + 1)), missing

    def _find_function(self, old: Release) -> tuple[str, ...]:
        """Return a column or class of each study, functions of one another; () if there are none.

        Classes that the other study counted together with the column reveal nothing new.
        """
        mine = self.snapshot
        for name, other in product(mine.columns, old.columns):
            column = mine.read_numbers(other)
            if column is not None and are_functions(mine.columns[name], column):
                return name, other
        for name, other in product(mine.classes, old.columns):
            column = None if name in old.values else mine.read_numbers(other)
            if column is not None and mine.follows(name, column):
                return name, other
        for name, other in product(mine.columns, old.classes):
            if other not in mine.classes and mine.follows(other, mine.columns[name]):
                return name, other
        return ()

    def _compare(self, old: Release) -> tuple[tuple[str, ...], int | None, bool]:
        """Return the columns in a release, the number of shared rows, and whether there are any.

        If neither ids nor a column of the same name distinguishes rows, all rows of one file may
        be the same. Once some rows are shared, so are all columns of the same name, with any
        values, since values may have been corrected or computed again.
        """
        shared = {
            (name, other): one.count_shared(values)
            for name, one in self.columns.items()
            for other, values in old.values.items()
        }
        ids = np.frombuffer(old.ids, "<u8")
        by_id = len(np.intersect1d(self.ids, ids, assume_unique=True))
        by_line = self.lines.count_shared(old.lines) or 0
        rows = max(by_id, by_line, *(count or 0 for count in shared.values()))
        is_told_apart = (len(self.ids) > 0 and len(ids) > 0) or any(
            count is not None for (name, other), count in shared.items() if name == other
        )
        is_near = rows > 0 or (old.source == self.source != "" and not is_told_apart)
        columns = (
            name
            for (name, other), count in shared.items()
            if (name in self.snapshot.columns or other in old.columns)
            and (count or (is_near and other in self.snapshot.names_alike(name)))
        )
        return tuple(dict.fromkeys(columns)), rows or None, is_near


def name_rows(
    places: Sequence[Path], registers: Mapping[Path, Register], snapshot: Snapshot
) -> dict[Path, NamedRows]:
    """Return a snapshot under each register's names; refuse if the first register is lost."""
    for one in registers.values():
        if one.secret not in snapshot.named:
            snapshot.named[one.secret] = NamedRows.of(one.secret, snapshot)
    named = {place: snapshot.named[one.secret] for place, one in registers.items()}
    is_known = any(
        old.source == named[place].source != "" and old.is_told
        for place, one in registers.items()
        for old in one.releases
    )
    if is_known and places[0] not in registers:
        raise InputError(
            f"There is no register of releases {places[0]} any more, and what was told would be "
            f"told again: put it back, or give --register as before."
        )
    return named
