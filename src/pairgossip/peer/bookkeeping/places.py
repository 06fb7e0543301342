"""Paths of registers of releases: one beside the data, and one of this user on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pairgossip.errors import InputError
from pairgossip.files import sync, unwritable
from pairgossip.tables import STANDARD_INPUT

REGISTER_VARIABLE = "PAIRGOSSIP_RELEASES"
"""The environment variable for the user's register, if it is not in the usual folder."""


def registers_of(data: Path, register: Path | None = None) -> tuple[Path, ...]:
    """Return the paths of a data file's register and of the user's own, with links resolved.

    If there is a register in the folder of the data, any other path is refused.
    """
    own = users_register().resolve()
    if data == STANDARD_INPUT:
        return (own,) if register is None else tuple(dict.fromkeys((register.resolve(), own)))
    file = data.resolve()
    beside = file.with_name(f"{file.name}.releases").resolve()
    if register is not None and beside.exists() and register.resolve() != beside:
        raise InputError(
            f"{beside} is the register of what was released of {data}: leave --register out, or "
            f"move it there."
        )
    return tuple(dict.fromkeys((beside if register is None else register.resolve(), own)))


def users_register() -> Path:
    """Return the path of this user's register."""
    named, state = os.environ.get(REGISTER_VARIABLE), os.environ.get("XDG_STATE_HOME")
    if named:
        return Path(named)
    try:
        folder = Path(state) if state else Path.home() / ".local" / "state"
    except RuntimeError:
        raise InputError(
            f"This user has no folder for a register of releases: set {REGISTER_VARIABLE}."
        ) from None
    return folder / "pairgossip" / "releases"


def make_folders(places: Sequence[Path]) -> None:
    """Make the folders of registers, and those above them, durably."""
    for folder in (place.parent for place in places):
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for place in reversed(missing):
                sync(place.parent)
        except OSError as problem:
            raise unwritable(folder, problem, "make") from None
