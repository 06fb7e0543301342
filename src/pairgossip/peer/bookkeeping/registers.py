"""The files in which releases are noted."""

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
"""What came of a release: nothing was told yet; only its first bit, as far as is known; ..."""
OUTCOMES: Mapping[Outcome, str] = {
    "prepared": "nothing yet",
    "bit": "a table, unless only the first bit of it was told",
    "no table": "a table that was not made",
    "table": "a table",
}
"""In words, and in the order in which one comes after the other."""
Reason = Literal["columns", "totals", "function"]
"""Why two releases of the same rows tell of single people: columns of both are the same, or their
totals differ by few rows, or a class of one is a function of a column of the other."""


class Neighbor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release of the same rows that was only prepared when another was."""

    key: str
    columns: tuple[str, ...]
    rows: int | None
    reason: Reason


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is noted of a release."""

    key: str
    """By which the folder of a peer knows it."""
    columns: tuple[str, ...]
    """Those that were counted in cells."""
    has_noise: bool
    study: str
    peer: str
    """The id of the peer that releases them; empty for a file to mail."""
    when: str
    outcome: Outcome
    table: str
    """Where the pooled table is kept."""
    is_visible: bool
    """Whether the operator accepts that others can subtract."""
    source: str
    """The file's path, as a keyed hash; empty for standard input."""
    ids: bytes
    values: dict[str, ColumnNames]
    """Of all columns, with labels, groups and strata."""
    lines: ColumnNames
    """Of whole lines of the file."""
    totals: tuple[int, ...]
    """How many rows there are of each combination of classes."""
    combinations: bytes
    """The names of these, in the same order."""
    least_cell: int
    beside: tuple[Neighbor, ...] = ()
    """Releases of the same rows that were only prepared, as this one was then."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Labels, groups and strata."""
        return tuple(name for name in self.values if name not in self.columns)

    @property
    def remedy(self) -> str:
        """How its table is read."""
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
    """The key under which rows have their names."""
    releases: tuple[Release, ...] = ()

    def with_release(self, release: Release) -> Register:
        """Return the register with a release, in the place of what was noted of it before."""
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
    """Hold registers, in an order that is the same for all; give those that are there."""
    reached = [place for place in places if os.path.isdir(place.parent)]
    with contextlib.ExitStack() as stack:
        for _, place in sorted({place.parent: place for place in reached}.items()):
            stack.enter_context(_FILES.hold(place))
        loaded = {place: _FILES.load(place) for place in reached}
        yield {place: one for place, one in loaded.items() if one is not None}


def check_registers(places: Sequence[Path]) -> None:
    """Refuse registers that cannot be read, before the work of reading rows is done in vain."""
    with hold_registers(places):
        pass


def begin_registers(places: Sequence[Path], registers: dict[Path, Register]) -> None:
    """Begin those that are not there, with the key of another where there is one.

    Then rows are named once for all.
    """
    known = [one.secret for one in registers.values()]
    new = Register(secret=known[-1] if known else secrets.token_bytes(32))
    for place in places:
        registers.setdefault(place, new)


def store_registers(registers: Mapping[Path, Register]) -> None:
    """See that registers are on the disk, which are held; those that are equal are sealed once."""
    last: Register | None = None
    for place, one in registers.items():
        if one != last:
            last, content = one, _FILES.seal(one)
        _FILES.write(place, content)


def store_release(place: Path, register: Register, release: Release) -> None:
    """See that a release is in a register on the disk, which is held."""
    if release in register.releases:
        sync_file(place)
    else:
        _FILES.store(place, register.with_release(release))
