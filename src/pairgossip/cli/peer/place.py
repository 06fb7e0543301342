"""Which folder a command is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.peer.folder import Home

MARK = "peer.toml"


def found_home(folder: Path | None) -> Home:
    """Return the peer in the folder given, in this one, or else in the only one below."""
    from pairgossip.peer.folder import open_home

    return open_home(_only_one() if folder is None else folder)


def _only_one() -> Path:
    here = Path(".")
    if (here / MARK).is_file():
        return here
    below = sorted(found.parent for found in here.glob(f"[!.]*/{MARK}"))
    if len(below) == 1:
        return below[0]
    if not below:
        raise InputError("There is no peer in this folder: run peer init, or give --home.")
    names = ", ".join(map(str, below[:5])) + (", ..." if len(below) > 5 else "")
    raise InputError(f"There are several peers in this folder: give --home with one of {names}.")
