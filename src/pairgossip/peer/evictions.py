"""Requests to evict a member: left in the peer's folder, carried out by the peer when it runs.

A request stays until the new generation is safely on the disk, so it survives whatever happens in
between, and one path serves peers that run and peers that do not.
"""

from __future__ import annotations

import os
from pathlib import Path

from pairgossip.errors import InputError
from pairgossip.peer.certificates import is_id
from pairgossip.peer.folder import Home
from pairgossip.peer.members import Members


def find_member(members: Members, me: str, name_or_id: str) -> str:
    """Return the id of the member called so, or say that there is none."""
    matching = [
        member.id
        for member in members.listed
        if member.name == name_or_id or (len(name_or_id) >= 8 and member.id.startswith(name_or_id))
    ]
    if len(matching) == 1:
        return matching[0]
    if name_or_id == me:
        raise InputError("A peer does not evict itself: stop it, and let another evict it.")
    known = ", ".join(sorted(members.names().values())) or "nobody"
    raise InputError(f"No member is called '{name_or_id[:64]}': the members are {known}.")


def request_eviction(home: Home, member: str) -> Path:
    """Ask for a member's eviction; return the file that goes away once it is done."""
    folder = _folder(home)
    file = folder / member
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
        for place in (folder, home.folder):
            _sync(place)
    except OSError as problem:
        raise InputError(f"Cannot write {file}: {problem.strerror}.") from None
    return file


def requested_evictions(home: Home) -> tuple[str, ...]:
    """Return the members to evict."""
    try:
        return tuple(sorted(name for name in os.listdir(_folder(home)) if is_id(name)))
    except OSError:
        return ()


def forget_request(home: Home, member: str) -> None:
    """Remove a request that was carried out."""
    (_folder(home) / member).unlink(missing_ok=True)


def _folder(home: Home) -> Path:
    return home.folder / "evict"


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
