"""The register of releases: the columns of rows that this site has released, to whom and how.

If a column of the same rows is released twice, in other cells, by other groups or to other members,
others can subtract. So a site searches for earlier releases, and notes a new one as prepared, when
a peer is made. It notes the release itself before the first bit leaves. There is a register beside
the data, and one of this user on this machine, which also covers copies in other folders.

It protects an honest operator from a mistake. Rows are recognized by an id if the operator names
one, otherwise by their values (see `row_names`). It does not recognize values that were recomputed,
rescaled other than by tens, or written with fewer digits, nor some rows of columns of few values.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.entries import hash_names
from pairgossip.peer.bookkeeping.overlaps import Overlap, name_rows
from pairgossip.peer.bookkeeping.places import make_folders
from pairgossip.peer.bookkeeping.registers import (
    OUTCOMES,
    Outcome,
    Register,
    Release,
    begin_registers,
    hold_registers,
    store_registers,
    store_release,
)
from pairgossip.peer.bookkeeping.snapshots import Snapshot
from pairgossip.text import join_names


def find_releases(
    places: Sequence[Path], snapshot: Snapshot, own: Collection[str] = ()
) -> list[Overlap]:
    """Return earlier releases of these columns and rows; ``own`` keys count as released."""
    with hold_registers(places) as registers:
        pass  # others need not wait while rows are compared
    named = name_rows(places, registers, snapshot)
    overlaps = (one for place in registers for one in named[place].find(registers[place]))
    return _pick(overlaps, own)


def check_release(
    places: Sequence[Path],
    snapshot: Snapshot,
    *,
    has_noise: bool = False,
    is_visible: bool = False,
    own: Collection[str] = (),
) -> list[str]:
    """Refuse rows that may not be released, and note nothing; return what the operator accepts.

    Parameters
    ----------
    places, snapshot
        The registers, and the rows.
    has_noise
        Whether noise would be added to their counts.
    is_visible
        Whether the operator accepts that others can subtract.
    own
        Keys of releases of the same peer, which will be made.
    """
    return _permit(find_releases(places, snapshot, own), has_noise, is_visible)


def describe_register(place: Path, row_id: str | None) -> str:
    """Describe where a release is noted, and how its rows are recognized."""
    known = (
        f"'{row_id}'."
        if row_id is not None
        else (
            "their lines and values: a later file of the same people may not be recognized. If a "
            "column tells people apart, name it with --id (row_id in peer.toml)."
        )
    )
    return f"{place} notes what is released of these rows, and knows them by {known}"


def prepare_release(
    places: Sequence[Path],
    snapshot: Snapshot,
    study: str,
    *,
    table: Path | str,
    has_noise: bool = False,
    is_visible: bool = False,
    peer: str = "",
    own: Collection[str] = (),
) -> str:
    """Note what a peer will release, and return the key of the entry.

    Earlier releases are refused as by `check_release`. The entry lists those of the same rows that
    are only prepared, by peers that may never run: only one of them all will be made.
    """
    make_folders(places)
    key = secrets.token_hex(16)
    with hold_registers(places) as registers:
        begin_registers(places, registers)
        named = name_rows(places, registers, snapshot)
        found = {place: named[place].find(registers[place]) for place in places}
        _permit(_pick((one for some in found.values() for one in some), own), has_noise, is_visible)
        when = _now()
        for place, rows in named.items():
            release = Release(
                key=key,
                columns=tuple(snapshot.columns),
                has_noise=has_noise,
                study=study,
                peer=peer,
                when=when,
                outcome="prepared",
                table=str(table),
                is_visible=is_visible and any(found.values()),
                source=rows.source,
                ids=rows.ids.astype("<u8").tobytes(),
                values={name: one.kept for name, one in rows.columns.items()},
                lines=rows.lines.kept,
                totals=tuple(rows.combined.totals.tolist()),
                combinations=hash_names(rows.secret, rows.combined.entries).astype("<u8").tobytes(),
                least_cell=snapshot.least_cell,
                beside=tuple(one.neighbor for one in found[place]),
            )
            registers[place] = registers[place].with_release(release)
        store_registers(registers)
    return key


def tell_release(
    places: Sequence[Path],
    key: str,
    outcome: Outcome = "bit",
    *,
    own: Collection[str] = (),
    members: Collection[str] = (),
) -> None:
    """Note that a release begins, or its outcome; the entry is on the disk when this returns.

    One call is enough, also for a restart. A release is refused if the same rows were released
    meanwhile, except by this peer itself, whose keys are ``own``, or by members of the same study,
    such as on one machine: their rows are in one table. An outcome is noted only after a release
    has begun, and never goes back. One of the registers may be out of reach, such as that beside
    data on another disk: any later call updates it, even with "prepared".
    """
    with hold_registers(places) as registers:
        mine = {
            place: one
            for place, register in registers.items()
            for one in register.releases
            if one.key == key
        }
        if not mine:
            names = join_names(list(map(str, places)))
            raise InputError(
                f"The register of releases that knows this peer's rows is not there ({names}): put "
                f"it back, since nothing is told that is not noted."
            )
        when = min((one.when for one in mine.values() if one.is_told), default="")
        if not when and outcome == "bit":
            for place, one in mine.items():
                others = _find_later(registers[place], one, own, members)
                _permit(others, one.has_noise, one.is_visible, is_late=True)
            when = _now()
        if not when:
            return
        last = max([outcome, *(one.outcome for one in mine.values())], key=list(OUTCOMES).index)
        for place, one in mine.items():
            entry = one if one.is_told else msgspec.structs.replace(one, when=when)
            entry = msgspec.structs.replace(entry, outcome=last)
            store_release(place, registers[place], entry)


def retract_release(places: Sequence[Path], key: str) -> None:
    """Note that nothing of a release has left the site after all."""
    with hold_registers(places) as registers:
        for place, register in registers.items():
            for one in register.releases:
                if one.key == key and one.outcome == "bit":
                    back = msgspec.structs.replace(one, outcome="prepared")
                    store_release(place, register, back)


def _pick(overlaps: Iterable[Overlap], own: Collection[str] = ()) -> list[Overlap]:
    """Pick overlaps with releases that have begun or will, one for each release."""
    by_key = {one.release.key: one for one in overlaps}
    return [one for key, one in by_key.items() if one.release.is_told or key in own]


def _find_later(
    register: Register, mine: Release, own: Collection[str], members: Collection[str]
) -> list[Overlap]:
    """Return overlaps with others' releases that were only prepared then, and have begun since."""
    beside = {one.key: one for one in mine.beside}
    overlaps = []
    for old in register.releases:
        if old.key in own or (old.study == mine.study and old.peer in members):
            continue
        theirs = {one.key: one for one in old.beside}
        if (one := beside.get(old.key)) is not None:
            columns = one.columns
        elif (one := theirs.get(mine.key)) is not None:
            columns = one.columns[::-1] if one.reason == "function" else one.columns
        else:
            continue
        is_same_file = old.source == mine.source != ""
        overlaps.append(Overlap(old, columns, one.rows, is_same_file, one.reason))
    return _pick(overlaps)


def _permit(
    overlaps: Iterable[Overlap], has_noise: bool, is_visible: bool, *, is_late: bool = False
) -> list[str]:
    """Refuse overlaps that the operator does not accept; return sentences on the others.

    Noise after noise in one file is left to its ledger, which adds up what rows have spent.
    """
    accepted = []
    for one in overlaps:
        if one.reason != "columns" and has_noise:
            continue
        if one.release.has_noise != has_noise:
            raise InputError(
                f"{one.sentence()} by the other rule, and noise bounds nothing beside exact "
                f"counts: {one.remedy}."
            )
        if has_noise and one.is_same_file:
            continue
        if has_noise and not is_visible:
            raise InputError(
                f"{one.sentence()}, with noise, and the ledger of another file knows what they "
                f"have spent: use that file, or give --visible to spend it once more."
            )
        if not is_visible:
            raise InputError(one.refusal(is_late=is_late))
        accepted.append(f"{one.sentence()}: {one.observers} can subtract.")
    return accepted


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
