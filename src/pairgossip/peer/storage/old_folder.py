"""Old folders, of a peer of a single network or of an earlier version, from which members are made.

A member takes over the peer's identity, and its operator's decisions that still apply. Releases of
the peer's rows must not be forgotten. A run on tables has noted them in registers, which the member
must use; pairgossip 0.2 had none, so its copy of the rows is noted as released. The old folder is
not changed, and its results stay there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import LARGEST_TOML, parse_toml, read_bytes
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.registers import Release, hold_registers
from pairgossip.peer.bookkeeping.releases import find_releases, prepare_release, tell_release
from pairgossip.peer.bookkeeping.snapshots import Snapshot, read_beside
from pairgossip.peer.identity.identity import Identity, load_identity, missing_file
from pairgossip.peer.identity.relays import Relay, read_relay_certificate
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.storage.folder import Home, explain_settings, read_any_spec
from pairgossip.tables import read_columns
from pairgossip.text import join_names

_KEPT = ("listen", "metrics", "power_safe", "show", "row_id", "same")
_KEPT_AS_POLICY = {
    **{"least_rows": range(1), "least_members": range(4), "least_cell": range(4)},
    "allow": ([],),
}
"""Settings that are now in a member's policy, with values that add nothing to its defaults."""
_LARGEST_LIST = 1 << 20
"""Largest number of bytes of a list of releases; a longer one is refused."""


class _Kept(msgspec.Struct):
    key: str
    registers: tuple[str, ...]


class _Releases(msgspec.Struct):
    releases: tuple[_Kept, ...]


@dataclass(frozen=True)
class OldFolder:
    """The parts of an old folder that a member of a study takes."""

    folder: Path
    identity: Identity
    spec: Spec
    settings: Mapping[str, Any]
    """The settings as in `StudySettings`, including its policy."""
    has_budget: bool
    relay: Relay | None

    @property
    def kept(self) -> tuple[_Kept, ...]:
        """The peer's releases in the list of its folder; none in one of pairgossip 0.2."""
        file = self.folder / "releases.json"
        if not file.exists():
            return ()
        what = "a list of releases: put it back"
        return files.read_struct(file, _LARGEST_LIST, _Releases, what).releases

    def find_register(self, source: Path, register: str | None) -> str | None:
        """Return the register to use in addition to this user's, so that both know all releases.

        None stands for the one next to the source. Raise `InputError` if no choice knows them all:
        otherwise rows could be released twice.
        """
        noted = {place for one in self.kept for place in one.registers}
        for choice in (register,) if register is not None else (None, *sorted(noted)):
            with contextlib.suppress(InputError):
                places = registers_of(source, None if choice is None else Path(choice))
                if {one.key for one in self.kept} <= {one.key for one in _list_releases(places)}:
                    return choice
        raise InputError(
            f"What {self.folder} has released is noted in {join_names(sorted(noted))}, and what is "
            f"released of {source} would be noted elsewhere: put that register back where it was, "
            "or name it with --register."
        )

    def describe_told(self, places: Sequence[Path]) -> list[str]:
        """Describe what others know of the peer's rows, and the effects on a study with these."""
        if not self.spec.is_sums:
            return [
                f"Rows of {self.folder} traveled: whoever has received them can subtract them from "
                "what this member tells."
            ]
        if self.spec.kernel is None:
            return [
                f"{self.folder} may have told sums over its rows, of which a model was made, and "
                "no register knows these: members of both can subtract."
            ]
        if not (columns := self._released_columns(places)):
            return []
        names = join_names([f"'{name}'" for name in columns])
        return [
            f"Others know a table of {names} that has the rows of {self.folder}: where they are "
            "among those of the source, a question about the same adds none of them, unless you "
            "accept with --visible that others can subtract."
        ]

    def note_told(self, places: Sequence[Path]) -> None:
        """Note releases of pairgossip 0.2 in registers, which it did not have."""
        is_counted = self.spec.is_sums and self.spec.kernel is not None
        if not is_counted or self.kept:
            return
        rows, study = self._read_rows(), self.spec.hash
        if any(one.release.study == study for one in find_releases(places, rows)):
            return
        key = prepare_release(
            places,
            rows,
            study,
            table=self.folder.absolute(),
            has_noise=self.spec.has_noise,
            is_visible=True,
            peer=self.identity.id,
        )
        tell_release(places, key)

    def _released_columns(self, places: Sequence[Path]) -> tuple[str, ...]:
        if not self.kept:  # pairgossip 0.2 noted nothing, and may have released them
            return self.spec.columns
        keys = {one.key for one in self.kept}
        releases = [one for one in _list_releases(places) if one.key in keys and one.is_told]
        return tuple(sorted({name for one in releases for name in one.columns}))

    def _read_rows(self) -> Snapshot:
        """Read the copy that a peer of pairgossip 0.2 kept of its rows."""
        source = self.folder / "data.csv"
        if not source.is_file():
            raise missing_file(source)
        table = read_columns(source, self.spec.observed, ",")
        every = dict(zip(self.spec.observed, table.matrix().T, strict=True))
        columns = {name: every.pop(name) for name in self.spec.columns}
        return read_beside(Snapshot(source, columns, every, least_cell=1), table=table)


def read_old_folder(folder: str | PathLike[str]) -> OldFolder:
    """Read an old folder; raise `InputError` if no member can be made of it."""
    home = Home(folder)
    if not home.folder.is_dir():
        raise InputError(f"There is no folder {home.folder}: check the path that --from names.")
    if not home.peer.is_file() or not home.spec.is_file():
        raise InputError(
            f"{home.folder} is the folder of no peer of a single network or of pairgossip 0.2: let "
            "--from name one."
        )
    if home.is_running():
        raise InputError(f"The peer in {home.folder} is running: stop it first.")
    identity = load_identity(home.folder)
    with explain_settings(home.peer):
        table = parse_toml(read_bytes(home.peer, LARGEST_TOML).decode())
        settings = {key: table[key] for key in _KEPT if key in table}
        policy = {
            key: table[key]
            for key, weak in _KEPT_AS_POLICY.items()
            if key in table and table[key] not in weak
        }
    relay = None
    if "relay" in table:
        relay = Relay(table["relay"], read_relay_certificate(home.folder / "relay.pem"))
    return OldFolder(
        home.folder,
        identity,
        read_any_spec(home.spec),
        {**settings, **({"policy": policy} if policy else {})},
        "budget" in table,
        relay,
    )


def _list_releases(places: Sequence[Path]) -> list[Release]:
    with hold_registers(places) as registers:
        return [one for register in registers.values() for one in register.releases]
