"""What a peer's folder keeps of its releases: where they are noted, and under which keys.

Rows that a peer begins with are one release, and so is each batch that is added. They are prepared
in the register when the operator gives them, and told when the peer first contributes.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.registers import Outcome
from pairgossip.peer.bookkeeping.releases import (
    check_release,
    describe_register,
    find_releases,
    prepare_release,
    tell_release,
)
from pairgossip.peer.bookkeeping.snapshots import (
    Snapshot,
    check_same,
    read_beside,
    refuse_functions,
)
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.storage.folder import Home, OperatorSettings
from pairgossip.peer.storage.row_keeping import count_latest
from pairgossip.peer.storage.rows import SiteRows

_LARGEST = 1 << 20
"""Bytes of the list of a peer's releases."""


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    registers: tuple[str, ...]
    rows: int = 0
    """How many the peer has with these; if it has fewer, `peer add` was killed before it was done.
    """


class _List(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    releases: tuple[_Kept, ...]


@dataclass(frozen=True)
class ReleaseOptions:
    """The choices of an operator about a release."""

    register: Path | None = None
    """In place of the register beside the data."""
    is_visible: bool = False
    """Whether rows are released once more, so that members of both studies can subtract."""
    is_rehearsal: bool = False
    """Whether all members are on this machine, so that the register of this user is left alone."""


class PlannedRelease:
    """The release of the rows of a data file, which is checked, and then prepared."""

    def __init__(
        self, spec: Spec, data: Path, settings: OperatorSettings, options: ReleaseOptions
    ) -> None:
        self.spec, self.data, self.settings, self.options = spec, data, settings, options
        self._snapshot: Snapshot | None = None
        """The rows that were checked."""

    def check(self, given: SiteRows, home: Home | None = None, before: int = 0) -> list[str]:
        """Refuse rows that may not be released; return sentences for the operator.

        Rows that are added to a peer in a folder, which has ``before`` rows, are compared with its
        own, too.
        """
        if not releases_tables(self.spec):
            self._refuse_options()
            return self._name_told(given)
        check_same(self.settings.same, self.spec.observed)
        snapshot = self._snapshot = self._name_rows(given)
        if self._has_several_tables:
            refuse_functions(snapshot)
        accepted = check_release(
            self._places,
            snapshot,
            has_noise=self._has_noise,
            is_visible=self.options.is_visible,
            own=() if home is None else [one.key for one in _read_kept(home, before)],
        )
        return [*accepted, describe_register(self._places[0], self.settings.row_id)]

    def _name_told(self, given: SiteRows) -> list[str]:
        """Say what was released before, where registers can be read: this run needs none."""
        with contextlib.suppress(InputError):
            places = [place for place in self._places if place.exists()]
            told = find_releases(places, self._name_rows(given))
            return [
                f"{one.sentence()}: what this run tells comes on top of it."
                for one in told
                if one.reason != "totals"  # there is no second table
            ]
        return []

    def prepare(self, home: Home, folder: Path, before: int = 0) -> None:
        """Note in the registers and in a peer's folder what will be released: the checked rows.

        ``folder`` is the name that the folder will have, and ``before`` how many rows the peer has
        already.
        """
        if self._snapshot is None:
            return
        kept = _read_kept(home, before)
        key = prepare_release(
            self._places,
            self._snapshot,
            self.spec.hash,
            table=folder / "tables",
            has_noise=self._has_noise,
            is_visible=self.options.is_visible,
            peer=load_identity(home.folder).id,
            own=[one.key for one in kept],
        )
        new = _Kept(key, tuple(map(str, self._places)), before + len(self._snapshot))
        files.write_json_file(home.releases, msgspec.to_builtins(_List((*kept, new))))

    def _refuse_options(self) -> None:
        settings, options = self.settings, self.options
        for option, is_given in (
            ("--register", options.register is not None),
            ("--visible", options.is_visible),
            ("--id", settings.row_id is not None),
            ("--same", bool(settings.same)),
        ):
            if is_given:
                raise InputError(
                    f"{option} is for tables of counts, and this specification has none: leave it "
                    "out."
                )

    @property
    def _has_noise(self) -> bool:
        return self.spec.has_noise

    @property
    def _places(self) -> tuple[Path, ...]:
        places = registers_of(self.data, self.options.register)
        return places[:1] if self.options.is_rehearsal else places

    def _name_rows(self, given: SiteRows) -> Snapshot:
        every = dict(zip(self.spec.observed, given.matrix.T, strict=True))
        columns = {name: every.pop(name) for name in self.spec.columns}
        least = self.spec.algorithm.least_cell or 1
        known = Snapshot(self.data, columns, every, same=self.settings.same, least_cell=least)
        return read_beside(known, self.settings.row_id, table=given.table)

    @property
    def _has_several_tables(self) -> bool:
        from pairgossip.peer.sums.statistics import cells_of

        return len(cells_of(self.spec).tables) > 1


def releases_tables(spec: Spec) -> bool:
    """Return whether a run releases tables of counts."""
    return spec.rounds_sizes


def _read_kept(home: Home, most: int | None = None) -> tuple[_Kept, ...]:
    """Return releases of a peer, of rows up to the number that it has."""
    if not home.releases.exists():
        return ()
    description = "a list of releases: put it back"
    kept = files.read_struct(home.releases, _LARGEST, _List, description).releases
    return tuple(one for one in kept if most is None or one.rows <= most)


def noted_registers(home: Home) -> list[Path]:
    """Return the registers in which a peer's releases are noted."""
    return [Path(place) for one in _read_kept(home) for place in one.registers]


def tell_releases(home: Home) -> None:
    """Note that all rows of a peer are released, before anything of them is told."""
    kept = _read_kept(home)
    if not kept:
        raise InputError(f"There is no {home.releases}, by which releases are noted: put it back.")
    if len(kept) > 1:
        kept = _read_kept(home, count_latest(home))
    own, members = [one.key for one in kept], home.read_members().names()
    for one in kept:
        tell_release(tuple(map(Path, one.registers)), one.key, own=own, members=members)


def settle_release(home: Home, outcome: Outcome) -> None:
    """Note what came of rows of which something was told."""
    for one in _read_kept(home):
        tell_release(tuple(map(Path, one.registers)), one.key, outcome)


def catch_up_releases(home: Home) -> None:
    """Let registers that were out of reach learn what another knows to be told."""
    with contextlib.suppress(InputError):  # whatever is wrong with one is said before the next card
        settle_release(home, "prepared")
