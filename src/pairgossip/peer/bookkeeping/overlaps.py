"""How rows of an earlier release are found again: by ids, whole lines, or values of columns."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.registers import OUTCOMES, Register, Release
from pairgossip.peer.bookkeeping.row_names import (
    NamedColumn,
    Names,
    hash_names,
    name_column,
    name_lines,
)
from pairgossip.tables import STANDARD_INPUT
from pairgossip.text import join_names


@dataclass(frozen=True)
class Snapshot:
    """The rows that a site would release, complete in all columns."""

    source: Path
    """The operator's data file, whatever copy of it the rows were read from."""
    columns: Mapping[str, FloatArray]
    """Those that are counted in cells."""
    classes: Mapping[str, FloatArray] = field(default_factory=dict)
    """Labels, groups and strata, in their agreed codes."""
    ids: Sequence[str] | None = None
    """Of people, if the operator names a column of them."""
    same: Sequence[Sequence[str]] = ()
    """Columns that are functions of one another and count as one."""
    lines: Sequence[bytes] = ()
    """Whole lines of the file, where there are no ids."""
    least_cell: int = 3
    """Least number of rows that is counted."""
    _named: dict[bytes, NamedRows] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """By secret, since a million rows take seconds to name."""

    def name(self, secret: bytes) -> NamedRows:
        """Name the rows, once for each secret."""
        if secret not in self._named:
            self._named[secret] = NamedRows.of(secret, self)
        return self._named[secret]

    @property
    def totals(self) -> tuple[int, ...]:
        """How many rows there are, and how many of each class, group and stratum together."""
        rows = len(next(iter(self.columns.values())))
        if not self.classes or not rows:
            return (rows,)
        codes = np.stack(list(self.classes.values()))
        return (rows, *np.unique(codes, axis=1, return_counts=True)[1].tolist())

    def names_alike(self, name: str) -> set[str]:
        """Return all names under which a column may have been released."""
        return {name}.union(*(group for group in self.same if name in group))


class Overlap(NamedTuple):
    """A release of columns of the same rows."""

    release: Release
    columns: tuple[str, ...]
    """As they are called now; none where other columns of nearly the same rows were released."""
    rows: int | None
    """About how many of these rows; None where that cannot be told, so that it may be all."""
    is_same_file: bool
    """Whether they were read from the same file, which has one ledger."""

    def sentence(self) -> str:
        """Say what was released."""
        rows = "these rows" if self.rows is None else f"{self.rows:,} of these rows"
        old = self.release
        if not self.columns:
            return (
                f"Other columns of {rows} went out on {old.when[:10]} to study {old.study[:12]}, "
                f"but one or a few rows differ"
            )
        noun = "Column" if len(self.columns) == 1 else "Columns"
        names = join_names([f"'{name}'" for name in self.columns])
        if not old.is_told:
            return f"{noun} {names} of {rows} will be told by this peer already"
        return (
            f"{noun} {names} of {rows} went out on {old.when[:10]} to study {old.study[:12]} as "
            f"{OUTCOMES[old.outcome]}"
        )

    @property
    def remedy(self) -> str:
        """What to do instead of a second release."""
        if not self.columns:
            return "take the same rows"
        if self.release.outcome in ("table", "bit"):
            return f"read the kept table {self.release.table} (peer result --reading)"
        return "take rows that were not asked for before"

    def refusal(self) -> str:
        """Say why not again, and what to do instead."""
        is_unsure = self.rows is None and self.release.ids
        by_ids = ", or --id if they are other rows: then they are known by ids" if is_unsure else ""
        return (
            f"{self.sentence()}, and with a second release others can subtract: {self.remedy}, or "
            f"give --visible{by_ids}."
        )


@dataclass(frozen=True)
class NamedRows:
    """A snapshot under the names of one secret."""

    snapshot: Snapshot
    columns: Mapping[str, NamedColumn]
    ids: Names
    lines: NamedColumn
    source: str

    @classmethod
    def of(cls, secret: bytes, snapshot: Snapshot) -> NamedRows:
        """Name the rows of a snapshot."""
        every = {**snapshot.columns, **snapshot.classes}
        ids = {one.strip().encode() for one in snapshot.ids or ()} - {b""}
        source = ""
        if snapshot.source != STANDARD_INPUT:
            path = os.fsencode(snapshot.source.resolve())
            source = hashlib.blake2b(path, key=secret, digest_size=16).hexdigest()
        return cls(
            snapshot,
            {name: name_column(secret, values) for name, values in every.items()},
            np.sort(hash_names(secret, ids)),
            name_lines(secret, snapshot.lines),
            source,
        )

    def find(self, register: Register) -> list[Overlap]:
        """Return releases of columns of these rows."""
        found = (
            Overlap(old, *self._compare(old), old.source == self.source != "")
            for old in register.releases
        )
        return [one for one in found if one.columns or self._differs_by_few(one)]

    def _differs_by_few(self, one: Overlap) -> bool:
        """Return whether rows of another table are missing, so few that its totals tell of them."""
        old, mine = one.release, self.snapshot
        if one.rows is None or old.has_noise:
            return False
        least = max(old.least_cell, mine.least_cell)
        theirs, own = old.totals, mine.totals
        both = zip(theirs, own, strict=True) if len(theirs) == len(own) else [(theirs[0], own[0])]
        return any(0 < abs(a - b) < least for a, b in both)

    def _compare(self, old: Release) -> tuple[tuple[str, ...], int | None]:
        """Return which columns are in a release, of how many of these rows.

        Where neither ids nor a column of the same name tells rows apart, all rows of one file may
        be the same. Once rows are, their columns of the same name count whatever they hold, since
        values are corrected and computed anew.
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
        return tuple(dict.fromkeys(columns)), rows or None


def name_rows(
    places: Sequence[Path], registers: Mapping[Path, Register], snapshot: Snapshot
) -> dict[Path, NamedRows]:
    """Name a snapshot as each register does; refuse if one is missing that another speaks of."""
    named = {place: snapshot.name(one.secret) for place, one in registers.items()}
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
