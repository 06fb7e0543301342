"""Requests of an operator to contribute to a further sum, which the peer takes up when it runs.

A request names the generation that the operator saw. It is a file in the peer's folder, so that it
survives a crash, and is there whether or not the peer runs.
"""

from __future__ import annotations

import os
from pathlib import Path

from pairgossip.errors import InputError
from pairgossip.files import sync
from pairgossip.peer.protocol.messages import is_generation
from pairgossip.peer.storage.folder import Home


def _folder(home: Home) -> Path:
    return home.folder / "agree"


def request_agreement(home: Home, generation: str) -> Path:
    """Agree to all changes of a generation; return the file that goes away once it is done."""
    folder = _folder(home)
    file = folder / generation
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
        for place in (folder, home.folder):
            sync(place)
    except OSError as problem:
        raise InputError(f"Cannot write {file}: {problem.strerror}.") from None
    return file


def requested_agreements(home: Home) -> tuple[str, ...]:
    """Return the generations that were agreed to."""
    try:
        return tuple(sorted(name for name in os.listdir(_folder(home)) if is_generation(name)))
    except OSError:
        return ()


def forget_agreement(home: Home, generation: str) -> None:
    """Remove a request that was taken up, or came too late."""
    (_folder(home) / generation).unlink(missing_ok=True)
