"""The register of releases: which columns of which rows this site has told, to whom and how.

A column of the same rows told twice, in other cells, by other groups or to other members, lets
others subtract. So every release is noted here before the first bit of it is told, and is looked
for here first: in a register beside the data, and in one of this user on this machine, which also
knows copies in other folders. A release that was noted stays, whatever came of it.

It keeps an honest operator from a mistake. Rows are found by an id if the operator names one, else
by their values (see `row_names`): not those that were recomputed, rescaled other than by tens, or
written with fewer digits, nor some of the rows by columns of few different values.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from pairgossip.errors import InputError
from pairgossip.peer.storage.folder import REGISTER_VARIABLE
from pairgossip.peer.storage.registers import (
    LookUp,
    Outcome,
    Snapshot,
    hold_registers,
    look_up,
)
from pairgossip.peer.storage.row_names import rank_correlations
from pairgossip.tables import STANDARD_INPUT
from pairgossip.text import format_count, join_names

__all__ = [
    "Outcome",
    "Overlap",
    "Snapshot",
    "check_release",
    "find_releases",
    "layout_text",
    "note_release",
    "registers_of",
]

_ALIKE = 0.99
"""Rank correlation from which one column tells the other."""
_FEWEST = 10
"""Rows of which that can be said."""
_OUTCOMES: Mapping[Outcome, str] = {
    "bit": "a table, unless only the first bit of it was told",
    "zeros": "zeros, its rows left out",
    "no table": "a table that was not made",
    "table": "a table",
}


@dataclass(frozen=True)
class Overlap:
    """A release of columns of these rows that was noted before."""

    columns: tuple[str, ...]
    """As they are called now."""
    rows: int | None
    """About how many of these rows; None where that cannot be told, so that it may be all."""
    layout: str
    study: str
    when: str
    outcome: Outcome
    table: str

    def sentence(self) -> str:
        """Say what was released."""
        noun = "column" if len(self.columns) == 1 else "columns"
        names = join_names([f"'{name}'" for name in self.columns])
        rows = "rows of this file" if self.rows is None else format_count(self.rows, "row")
        return (
            f"{noun} {names} of {rows} went out on {self.when[:10]} to study {self.study[:12]} as "
            f"{_OUTCOMES[self.outcome]}"
        )

    def refusal(self) -> str:
        """Say why not again, and what to do instead."""
        way = (
            f"read the kept table {self.table} (peer result --reading)"
            if self.outcome in ("table", "bit")
            else "take rows that were not asked for before"
        )
        unsure = "" if self.rows is not None else ", or name a column of ids if these are others"
        return (
            f"In this data {self.sentence()}, and with a second release others can subtract: "
            f"{way}, or give --visible{unsure}."
        )


def layout_text(**parts: Any) -> str:
    """Write a layout so that equal ones are equal texts: cells, classes, groups, and k or epsilon.

    With noise there is a part called ``epsilon``.
    """
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)


def registers_of(data: Path, register: Path | None = None) -> tuple[Path, ...]:
    """Return the registers of a data file, links followed: beside it, and the user's own.

    One that lies beside the data is the right one, wherever else another is asked for.
    """
    own = _users_register()
    if data == STANDARD_INPUT:
        return tuple(dict.fromkeys(place.resolve() for place in (register or own, own)))
    file = data.resolve()
    beside = file.with_name(f"{file.name}.releases").resolve()
    if register is not None and beside.exists() and register.resolve() != beside:
        raise InputError(
            f"{beside} is the register of what was released of {data}: leave --register out, or "
            f"move it there."
        )
    first = beside if register is None else register.resolve()
    return tuple(dict.fromkeys((first, own.resolve())))


def _users_register() -> Path:
    named, state = os.environ.get(REGISTER_VARIABLE), os.environ.get("XDG_STATE_HOME")
    try:
        folder = Path(state) if state else Path.home() / ".local" / "state"
    except RuntimeError:
        raise InputError(
            f"This user has no folder for a register of releases: set {REGISTER_VARIABLE}."
        ) from None
    return Path(named) if named else folder / "pairgossip" / "releases"


def find_releases(places: Sequence[Path], snapshot: Snapshot) -> list[Overlap]:
    """Return what was released before of these columns of these rows."""
    with hold_registers(places) as registers:
        return _overlaps(look_up(registers, snapshot), snapshot)


def check_release(
    places: Sequence[Path],
    snapshot: Snapshot,
    layout: str,
    *,
    is_visible: bool = False,
    noted: Iterable[Path] = (),
) -> list[str]:
    """Refuse rows that may not be released, and note nothing; return what the operator accepts.

    Parameters
    ----------
    places, snapshot, layout
        The registers, the rows, and how they would be counted, by `layout_text`.
    is_visible
        Whether the operator accepts that others can subtract.
    noted
        The registers that the folder of a peer knows of, which must be there.
    """
    _refuse_functions(snapshot)
    with hold_registers(places, noted) as registers:
        return _permit(_overlaps(look_up(registers, snapshot), snapshot), layout, is_visible)


def note_release(
    places: Sequence[Path],
    snapshot: Snapshot,
    layout: str,
    study: str,
    *,
    table: Path | str,
    outcome: Outcome = "bit",
    is_visible: bool = False,
    noted: Iterable[Path] = (),
) -> list[str]:
    """Note a release before anything of it is told: it is on the disk when this returns.

    The same release again, after a crash or from a backup, is no other one; its outcome is noted.
    What else was released before is refused as by `check_release`, which an operator has passed:
    here only what another process has released meanwhile.
    """
    when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with hold_registers(places, noted) as registers:
        looked_up = look_up(registers, snapshot)
        mine = [
            one.release(snapshot, (layout, study, when, outcome, str(table))) for one in looked_up
        ]
        is_known = any(map(LookUp.has, looked_up, mine))
        accepted = [] if is_known else _permit(_overlaps(looked_up, snapshot), layout, is_visible)
        for one in looked_up:  # all are there before one has an entry: then none is missing
            one.begin()
        for one, release in zip(looked_up, mine, strict=True):
            one.store(release)
        return accepted


def _overlaps(looked_up: Sequence[LookUp], snapshot: Snapshot) -> list[Overlap]:
    """Return what all registers know, each release once."""
    found = (
        Overlap(columns, rows, old.layout, old.study, old.when, old.outcome, old.table)
        for one in looked_up
        for old, columns, rows in one.find(snapshot)
    )
    return list(dict.fromkeys(found))


def _permit(overlaps: Iterable[Overlap], layout: str, is_visible: bool) -> list[str]:
    """Refuse releases after others, unless the operator accepts it; return what is accepted."""
    accepted = []
    for one in overlaps:
        if ("epsilon" in json.loads(one.layout)) != ("epsilon" in json.loads(layout)):
            raise InputError(
                f"In this data {one.sentence()} by the other rule, and noise bounds nothing beside "
                f"exact counts: read the kept table {one.table} (peer result --reading)."
            )
        if not is_visible:
            raise InputError(one.refusal())
        accepted.append(f"In this data {one.sentence()}: members of both studies can subtract.")
    return accepted


def _refuse_functions(snapshot: Snapshot) -> None:
    """Refuse columns of which one tells the other; functions that go up and down are not found."""
    if min(map(len, snapshot.columns.values())) < _FEWEST:
        return  # of few rows, columns agree by chance
    correlations = rank_correlations(list(snapshot.columns.values()))
    for (place, one), (row, other) in combinations(enumerate(snapshot.columns), 2):
        correlation = correlations[place, row]
        if abs(correlation) > _ALIKE and other not in snapshot.names_alike(one):
            raise InputError(
                f"Columns '{one}' and '{other}' have a rank correlation of {correlation:.3f}, so "
                f"their tables are two of one column: leave one out, or declare them as the same."
            )
