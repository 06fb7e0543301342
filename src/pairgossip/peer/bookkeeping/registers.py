"""Registers of releases, and their files."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from pairgossip.peer.bookkeeping.places import REGISTER_VARIABLE
from pairgossip.peer.bookkeeping.row_names import ColumnNames
from pairgossip.peer.bookkeeping.sealed import SealedFiles, sync_file

Outcome = Literal["prepared", "bit", "no table", "table"]
"""The outcome of a release so far; after "bit" it is unknown whether more than a bit was sent."""
OUTCOMES: Mapping[Outcome, str] = {
    "prepared": "nothing yet",
    "bit": "a table, unless only the first bit of it was told",
    "no table": "a table that was not made",
    "table": "a table",
}
"""The outcomes in words, in the order in which one follows another."""
Reason = Literal["columns", "totals", "function"]
"""The reason why two releases of the same rows reveal single people: they share columns, their
totals differ by few rows, or a class of one is a function of a column of the other."""


class Neighbor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release of the same rows that was only prepared when another was."""

    key: str
    columns: tuple[str, ...]
    rows: int | None
    reason: Reason


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The entry of a release."""

    key: str
    """The key of the entry, which is also in the folder of the peer."""
    columns: tuple[str, ...]
    """The columns that are counted in cells."""
    has_noise: bool
    study: str
    peer: str
    """The id of the peer that releases it; empty for a file to mail."""
    when: str
    outcome: Outcome
    table: str
    """The place where the pooled table is kept."""
    is_visible: bool
    """Whether the operator accepts that others can subtract."""
    source: str
    """The file's path, as a keyed hash; empty for standard input."""
    ids: bytes
    values: dict[str, ColumnNames]
    """The names of the values of all columns, labels, groups and strata."""
    lines: ColumnNames
    """The names of whole lines of the file."""
    totals: tuple[int, ...]
    """The number of rows in each combination of classes."""
    combinations: bytes
    """The names of these combinations, in the same order."""
    least_cell: int
    beside: tuple[Neighbor, ...] = ()
    """The releases of the same rows that were only prepared when this one was."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels, groups and strata."""
        return tuple(name for name in self.values if name not in self.columns)

    @property
    def remedy(self) -> str:
        """The advice to read its table."""
        how = "peer result --reading" if self.peer else "pairgossip answer"
        return f"read the kept table {self.table} ({how})"

    @property
    def is_told(self) -> bool:
        """Whether anything of it left the site."""
        return self.outcome != "prepared"


class Register(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The contents of a register."""

    format: str = "pairgossip-releases"
    version: int = 2
    secret: bytes
    """The key for the names of rows."""
    releases: tuple[Release, ...] = ()

    def with_release(self, release: Release) -> Register:
        """Return the register with a release, which replaces its earlier entry."""
        others = (old for old in self.releases if old.key != release.key)
        return msgspec.structs.replace(self, releases=(*others, release))


_FILES = SealedFiles(
    kind=Register,
    what="the register of releases",
    elsewhere=f"give --register, or {REGISTER_VARIABLE} for a user's own, with",
    format="pairgossip-releases",
    version=2,
    outdated="{} is a register of releases of a version before this one was released, which named "
    "rows otherwise: what it notes is not found again. Move it away if you know what it notes.",
    largest=1 << 30,
    foreign="{} is not a register of releases, or what is left of one, and is left as it is: put "
    "the latest copy of the register in its place, as another one does not know what was told.",
    damaged="The register of releases {} is damaged or was edited, and nothing is released: put "
    "back the copy that was written last.",
    encode=msgspec.msgpack.encode,
    decode=msgspec.msgpack.decode,
)


@contextlib.contextmanager
def hold_registers(places: Sequence[Path]) -> Iterator[dict[Path, Register]]:
    """Lock registers, in the same order in all processes; yield those that exist."""
    reached = [place for place in places if os.path.isdir(place.parent)]
    with contextlib.ExitStack() as stack:
        for _, place in sorted({place.parent: place for place in reached}.items()):
            stack.enter_context(_FILES.hold(place))
        loaded = {place: _FILES.load(place) for place in reached}
        yield {place: one for place, one in loaded.items() if one is not None}


def check_registers(places: Sequence[Path]) -> None:
    """Refuse registers that cannot be read, before the long work of reading rows."""
    with hold_registers(places):
        pass


def begin_registers(places: Sequence[Path], registers: dict[Path, Register]) -> None:
    """Begin the registers that do not exist, with the secret of another if there is one.

    With one secret, rows are named only once.
    """
    others = [one.secret for one in registers.values()]
    new = Register(secret=others[-1] if others else secrets.token_bytes(32))
    for place in places:
        registers.setdefault(place, new)


def store_registers(registers: Mapping[Path, Register]) -> None:
    """Write locked registers to the disk; equal ones in a row are sealed once."""
    last: Register | None = None
    for place, one in registers.items():
        if one != last:
            last, content = one, _FILES.seal(one)
        _FILES.write(place, content)


def store_release(place: Path, register: Register, release: Release) -> None:
    """Make sure that a release is in a locked register, and on the disk."""
    if release in register.releases:
        sync_file(place)
    else:
        _FILES.store(place, register.with_release(release))
