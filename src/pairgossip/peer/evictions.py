"""Requests to evict a member: left in the peer's folder, carried out by the peer when it runs.

A request stays until the new generation is safely on the disk, so it survives whatever happens in
between, and one path serves peers that run and peers that do not.

A peer that learns of its own eviction keeps that too: the others no longer let it connect, so that
after a restart nobody would tell it again.
"""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_bytes, sync, write_text
from pairgossip.peer.certificates import is_id
from pairgossip.peer.folder import Home
from pairgossip.peer.members import Members

LARGEST_NOTE = 1 << 16


class Evicted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a peer has learned that it was evicted."""

    by: str
    """The id of the member that announced it."""
    name: str
    learned: float
    """Seconds since 1970, by the clock of this machine."""

    def sentence(self) -> str:
        """Say it, and what to do."""
        when = datetime.datetime.fromtimestamp(self.learned, datetime.UTC)
        return (
            f"The other members have evicted this peer: '{self.name}' announced it, which was "
            f"learned on {when:%Y-%m-%d at %H:%M:%S} UTC. Make a new peer with peer init, and "
            f"exchange invitations again."
        )


def note_eviction(home: Home, evicted: Evicted) -> None:
    """Keep for good that this peer was evicted."""
    write_text(home.evicted, [json.dumps(msgspec.to_builtins(evicted)), "\n"])
    sync(home.folder)


def noted_eviction(home: Home) -> Evicted | None:
    """Return how this peer has learned that it was evicted; None if it was not."""
    if not home.evicted.exists():
        return None
    try:
        return msgspec.json.decode(read_bytes(home.evicted, LARGEST_NOTE), type=Evicted)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(
            f"{home.evicted} says that this peer was evicted, but cannot be read: make a new peer "
            f"with peer init."
        ) from None


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
            sync(place)
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
