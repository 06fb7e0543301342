"""The first steps of a peer's commands: the folder, invitations, a question to its operator."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pairgossip.cli.console import tell
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.peer.storage.folder import Home

T = TypeVar("T")


def is_answered_yes(sentences: Iterable[str], question: str, refusal: str) -> bool:
    """Tell sentences, ask a question about them, and return whether the answer is yes.

    Raise `InputError` with the refusal where there is no terminal to ask on.
    """
    if not sys.stdin.isatty():
        raise InputError(refusal)
    for sentence in sentences:
        tell(sentence)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def leave_out_own(by_id: dict[str, tuple[str, T]], me: str) -> list[T]:
    """Return the invitations, by ids beside their texts; the own one alone is left for a check."""
    if me in by_id and len(by_id) > 1:
        text, _ = by_id.pop(me)
        tell(f"Left out {text[:40]}: it is this peer's own invitation.")
    return [invited for _, invited in by_id.values()]


def find_home(folder: Path | None) -> Home:
    """Return the peer of a run, in the folder given, in this one, or in the only one below."""
    from pairgossip.peer.storage.folder import open_home
    from pairgossip.study.storage.folder import is_study

    place = find_folder(folder)
    if is_study(place):
        raise InputError(f"{place} is a study's: this command is for peers of single networks.")
    return open_home(place)


def find_folder(folder: Path | None) -> Path:
    """Return the folder given, this one, or else the only one of a peer below."""
    return folder or named_home() or _only_one()


def find_study_folder(folder: Path | None) -> Path | None:
    """Return the folder if it is a study's member's; many commands then act differently."""
    from pairgossip.study.storage.folder import is_study

    place = find_folder(folder)
    return place if is_study(place) else None


def named_home() -> Path | None:
    """Return the folder that the environment names."""
    from pairgossip.peer.storage.folder import HOME_VARIABLE, read_variables

    read_variables(os.environ)  # a name that is mistyped would look like no folder
    named = os.environ.get(HOME_VARIABLE)
    return Path(named) if named else None


def _only_one() -> Path:
    here = Path(".")
    if (here / "peer.toml").is_file():
        return here
    below = sorted(path.parent for path in here.glob("[!.]*/peer.toml"))
    if len(below) == 1:
        return below[0]
    if not below:
        raise InputError("There is no peer in this folder: run peer init, or give --home.")
    names = ", ".join(map(str, below[:5])) + (", ..." if len(below) > 5 else "")
    raise InputError(f"There are several peers in this folder: give --home with one of {names}.")
