"""The register of releases: which columns of which rows this site has told, to whom and how.

A column of the same rows told twice, in other cells, by other groups or to other members, lets
others subtract. So a release is looked for here when a peer is made, and is prepared; it is noted
as told before the first bit of it is, and stays, whatever came of it. There is a register beside
the data, and one of this user on this machine, which also knows copies in other folders.

It keeps an honest operator from a mistake. Rows are found by an id if the operator names one, else
by their values (see `row_names`): not those that were recomputed, rescaled other than by tens, or
written with fewer digits, nor some of the rows by columns of few different values.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.overlaps import Overlap, Snapshot, name_rows
from pairgossip.peer.bookkeeping.places import make_folders
from pairgossip.peer.bookkeeping.registers import (
    Outcome,
    Register,
    Release,
    begin_registers,
    hold_registers,
    store_release,
)
from pairgossip.peer.bookkeeping.row_names import rank_correlation
from pairgossip.text import join_names

_ALIKE = 0.99
"""Rank correlation from which one column tells the other."""
_FEWEST = 10
"""Rows of which that can be said."""


def find_releases(
    places: Sequence[Path], snapshot: Snapshot, own: Collection[str] = ()
) -> list[Overlap]:
    """Return what was told before of these columns of these rows; own keys count as told."""
    with hold_registers(places) as registers:
        named = name_rows(places, registers, snapshot)
        found = (one for place in registers for one in named[place].find(registers[place]))
        return _told(found, own)


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
        Keys of releases of the same peer, which will be told.
    """
    return _permit(find_releases(places, snapshot, own), has_noise, is_visible)


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
    """Note what a peer will release, and return the key by which it is told then.

    What was told before is refused as by `check_release`. Another release of the same rows that is
    only prepared, by a peer that may never run, is remembered: only one of the two will be told.
    """
    make_folders(places)
    key = secrets.token_hex(16)
    with hold_registers(places) as registers:
        begin_registers(places, registers)
        named = name_rows(places, registers, snapshot)
        found = {place: named[place].find(registers[place]) for place in places}
        _permit(_told((one for some in found.values() for one in some), own), has_noise, is_visible)
        for place, rows in named.items():
            release = Release(
                key=key,
                columns=tuple(snapshot.columns),
                has_noise=has_noise,
                study=study,
                peer=peer,
                when=_now(),
                outcome="prepared",
                table=str(table),
                is_visible=is_visible,
                source=rows.source,
                ids=rows.ids.astype("<u8").tobytes(),
                values={name: one.kept for name, one in rows.columns.items()},
                lines=rows.lines.kept,
                totals=snapshot.totals,
                least_cell=snapshot.least_cell,
                beside=tuple(one.release.key for one in found[place]),
            )
            store_release(place, registers[place], release)
    return key


def tell_release(
    places: Sequence[Path],
    key: str,
    outcome: Outcome = "bit",
    *,
    own: Collection[str] = (),
    members: Collection[str] = (),
) -> None:
    """Note that a release is told, or what came of it: it is on the disk when this returns.

    Once is enough, after a restart too. What was told meanwhile of the same rows is refused, unless
    by this peer itself, whose keys are ``own``, or by members of the same study, such as on one
    machine: their rows are in one table. Nothing comes of a release that is not told, and what came
    of one stays. One of the registers may be out of reach, such as that beside data on another
    disk.
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
        for place, one in mine.items():
            told = one
            if outcome == "bit" and not one.is_told:
                others = _told_meanwhile(registers[place], one, own, members)
                _permit(others, one.has_noise, one.is_visible)
                told = msgspec.structs.replace(one, outcome="bit", when=_now())
            elif one.outcome == "bit":
                told = msgspec.structs.replace(one, outcome=outcome)
            mine[place] = told
        for place, one in mine.items():
            store_release(place, registers[place], one)


def refuse_functions(snapshot: Snapshot) -> None:
    """Refuse columns of which one tells the other; functions that go up and down are not found.

    For columns that are counted in tables of their own.
    """
    if min(map(len, snapshot.columns.values())) < _FEWEST:
        return  # of few rows, columns agree by chance
    for (one, values), (other, others) in combinations(snapshot.columns.items(), 2):
        correlation = rank_correlation(values, others)
        if abs(correlation) > _ALIKE and other not in snapshot.names_alike(one):
            raise InputError(
                f"Columns '{one}' and '{other}' have a rank correlation of {correlation:.3f}, so "
                f"their tables are two of one column: leave one out, "
                f"or declare them with --same {one},{other} (same in peer.toml)."
            )


def _told(overlaps: Iterable[Overlap], own: Collection[str] = ()) -> list[Overlap]:
    """Return releases that were told or will be, each once."""
    by_key = {one.release.key: one for one in overlaps}
    return [one for key, one in by_key.items() if one.release.is_told or key in own]


def _told_meanwhile(
    register: Register, mine: Release, own: Collection[str], members: Collection[str]
) -> list[Overlap]:
    """Return releases of others that were only prepared when this one was."""
    return _told(
        Overlap(old, mine.columns, None, old.source == mine.source != "")
        for old in register.releases
        if (old.key in mine.beside or mine.key in old.beside)
        and old.key not in own
        and not (old.study == mine.study and old.peer in members)
    )


def _permit(overlaps: Iterable[Overlap], has_noise: bool, is_visible: bool) -> list[str]:
    """Refuse releases after others, unless the operator accepts it; return what is accepted.

    Noise after noise is a matter of the ledger of a file, which adds up what rows have spent.
    """
    accepted = []
    for one in overlaps:
        if not one.columns and has_noise:
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
            raise InputError(one.refusal())
        accepted.append(f"{one.sentence()}: members of both studies can subtract.")
    return accepted


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
