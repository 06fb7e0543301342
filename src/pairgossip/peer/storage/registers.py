"""The files in which releases are noted, and how a release is found in them again."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.files import sync, unwritable
from pairgossip.peer.storage.folder import REGISTER_VARIABLE
from pairgossip.peer.storage.row_names import (
    ColumnNames,
    NamedColumn,
    Names,
    hash_names,
    name_columns,
)
from pairgossip.peer.storage.sealed import SealedFiles, sync_file
from pairgossip.tables import STANDARD_INPUT

Outcome = Literal["bit", "zeros", "no table", "table"]
"""What came of a release; only the first bit of it, as far as is known."""


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is noted of a release."""

    columns: tuple[str, ...]
    """Those that were counted in cells."""
    classes: tuple[str, ...]
    """Labels, groups and strata."""
    layout: str
    study: str
    when: str
    outcome: Outcome
    table: str
    """Where the pooled table is kept."""
    source: str
    """The file's path, as a keyed hash."""
    digest: str
    """All rows, as a keyed hash."""
    ids: bytes
    values: dict[str, ColumnNames]


class _Register(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    format: str = "pairgossip-releases"
    version: int = 1
    secret: bytes
    """The key under which rows have their names."""
    releases: tuple[Release, ...] = ()


_FILES = SealedFiles(
    _Register,
    "the register of releases",
    f"give --register, or {REGISTER_VARIABLE} for a user's own, with",
    "pairgossip-releases",
    1,
    1 << 30,
    "{} is not a register of releases, or what is left of one, and is left as it is: put the "
    "latest copy of the register in its place, as another one does not know what was told.",
    "The register of releases {} is damaged or was edited, and nothing is released: put back the "
    "copy that was written last.",
    msgspec.msgpack.encode,
    msgspec.msgpack.decode,
)


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

    def names_alike(self, name: str) -> set[str]:
        """Return all names under which a column may have been released."""
        return {name}.union(*(group for group in self.same if name in group))


@dataclass(frozen=True)
class _Names:
    """A snapshot under the names of one secret."""

    columns: Mapping[str, NamedColumn]
    ids: Names
    source: str
    digest: str

    @classmethod
    def of(cls, secret: bytes, snapshot: Snapshot) -> _Names:
        every = {**snapshot.columns, **snapshot.classes}
        named = name_columns(secret, list(every.values()))
        contents = {one.strip().encode() for one in snapshot.ids or ()} - {b""}
        return cls(
            dict(zip(every, named, strict=True)),
            np.sort(hash_names(secret, contents)),
            _keyed(secret, os.fsencode(snapshot.source.resolve())),
            _keyed(secret, _content(every)),
        )


@dataclass(frozen=True)
class LookUp:
    """A snapshot in one register."""

    place: Path
    register: _Register
    is_new: bool
    names: _Names

    def release(self, snapshot: Snapshot, about: tuple[str, str, str, Outcome, str]) -> Release:
        """Return a release as it is noted here, with the day when it was noted first."""
        release = Release(
            tuple(snapshot.columns),
            tuple(snapshot.classes),
            *about,
            source=self.names.source,
            digest=self.names.digest,
            ids=self.names.ids.astype("<u8").tobytes(),
            values={name: one.kept for name, one in self.names.columns.items()},
        )
        first = next((old for old in self.register.releases if _is_same(old, release)), release)
        is_settled = first.outcome != "bit" and release.outcome == "bit"
        outcome = first.outcome if is_settled else release.outcome
        return msgspec.structs.replace(first, outcome=outcome)

    def has(self, release: Release) -> bool:
        """Return whether this very release was noted before."""
        return any(_is_same(old, release) for old in self.register.releases)

    def begin(self) -> None:
        """See that the register is there."""
        if self.is_new:
            _FILES.store(self.place, self.register)

    def store(self, release: Release) -> None:
        """See that a release is on the disk."""
        before = self.register.releases
        if release in before:
            return sync_file(self.place)
        others = (old for old in before if not _is_same(old, release))
        after = msgspec.structs.replace(self.register, releases=(*others, release))
        return _FILES.store(self.place, after)

    def find(self, snapshot: Snapshot) -> Iterator[tuple[Release, tuple[str, ...], int | None]]:
        """Give releases of the same before, with the columns and how many rows."""
        for old in self.register.releases:
            columns, rows = self._find(snapshot, old)
            if columns:
                yield old, columns, rows

    def _find(self, snapshot: Snapshot, old: Release) -> tuple[tuple[str, ...], int | None]:
        """Return which columns were in a release, of how many of these rows."""
        shared = {
            (name, other): one.count_shared(values)
            for name, one in self.names.columns.items()
            for other, values in old.values.items()
        }
        ids = np.frombuffer(old.ids, "<u8")
        by_id = len(np.intersect1d(self.names.ids, ids, assume_unique=True))
        rows = max(by_id, *(count or 0 for count in shared.values()))
        is_told = (len(self.names.ids) > 0 and len(ids) > 0) or any(
            count is not None for (name, other), count in shared.items() if name == other
        )
        is_near = rows > 0 or (old.source == self.names.source and not is_told)
        found = (
            name
            for (name, other), count in shared.items()
            if (name in snapshot.columns or other in old.columns)
            and (count or (is_near and other in snapshot.names_alike(name)))
        )
        return tuple(dict.fromkeys(found)), rows or None


def _is_same(old: Release, new: Release) -> bool:
    """Return whether two releases tell the same: once more, nothing is learned."""
    keys = ("columns", "classes", "layout", "study", "digest")
    return all(getattr(old, key) == getattr(new, key) for key in keys)


def look_up(registers: Mapping[Path, tuple[_Register, bool]], snapshot: Snapshot) -> list[LookUp]:
    """Name a snapshot as registers do; refuse if one is missing that another speaks of."""
    names: dict[bytes, _Names] = {}
    looked_up = []
    for place, (register, is_new) in registers.items():
        secret = register.secret
        names[secret] = names.get(secret) or _Names.of(secret, snapshot)
        looked_up.append(LookUp(place, register, is_new, names[secret]))
    is_noted = any(
        old.source == one.names.source for one in looked_up[1:] for old in one.register.releases
    )
    if looked_up[0].is_new and is_noted and snapshot.source != STANDARD_INPUT:
        raise _missing(looked_up[0].place)
    return looked_up


@contextlib.contextmanager
def hold_registers(
    places: Sequence[Path], noted: Iterable[Path] = ()
) -> Iterator[Mapping[Path, tuple[_Register, bool]]]:
    """Hold registers, in an order that is the same for all; give each, and whether it is new."""
    noted = tuple(noted)
    with contextlib.ExitStack() as stack:
        for folder, place in sorted({place.parent: place for place in places}.items()):
            _make_folder(folder)
            stack.enter_context(_FILES.hold(place))
        loaded = {place: _FILES.load(place) for place in places}
        for place, register in loaded.items():
            if register is None and place in noted:
                raise _missing(place)
        # One key for both where possible: then rows are named once.
        known = [register.secret for register in loaded.values() if register is not None]
        new = _Register(secret=known[-1] if known else secrets.token_bytes(32))
        yield {place: (one or new, one is None) for place, one in loaded.items()}


def _make_folder(folder: Path) -> None:
    """Make a folder, durably, with those above it."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for place in reversed(missing):
            sync(place.parent)
    except OSError as problem:
        raise unwritable(folder, problem, "make") from None


def _missing(place: Path) -> InputError:
    return InputError(
        f"There is no register of releases {place} any more, and what was told would be told "
        f"again: put it back."
    )


def _keyed(secret: bytes, content: bytes) -> str:
    return hashlib.blake2b(content, key=secret, digest_size=16).hexdigest()


def _content(columns: Mapping[str, FloatArray]) -> bytes:
    """Write all rows, whatever their order."""
    matrix = np.stack([np.asarray(values, dtype=np.float64) for values in columns.values()])
    ordered = matrix[:, np.lexsort(matrix[::-1])] + 0.0
    return msgspec.json.encode(list(columns)) + ordered.astype("<f8").tobytes()
