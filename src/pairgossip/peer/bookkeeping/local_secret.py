"""A secret of this user on this machine, with which files of counts recognize the same rows.

It is in the folder of the user's register of releases, and never leaves the machine. Anyone who had
it could test guesses of the rows behind a file.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
import tempfile
from pathlib import Path

from pairgossip.errors import InputError
from pairgossip.files import read_bytes, refuse_open_link, sync, unwritable
from pairgossip.peer.bookkeeping.places import make_folders, users_register

_BYTES = 32


def keep_secret() -> bytes:
    """Return the secret; make it if there is none."""
    register = users_register()
    place = register.with_name(f"{register.name}.key")
    if not place.exists():
        make_folders([place])
        _make(place)
    secret = read_bytes(place, _BYTES)
    if sys.platform != "win32" and stat.S_IMODE(os.stat(place).st_mode) & 0o077:
        refuse_open_link("The secret", place)
        raise InputError(f"Others can read the secret {place}: run chmod 600 {place}")
    if len(secret) != _BYTES:
        raise InputError(
            f"The secret {place} is damaged: put back a copy, or remove it; then rows of earlier "
            "files are not known again."
        )
    return secret


def _make(place: Path) -> None:
    """Make a secret, unless another process was faster: a link never replaces a file."""
    try:
        descriptor, draft = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_BYTES))
                file.flush()
                os.fsync(descriptor)
            with contextlib.suppress(FileExistsError):
                _link(draft, place)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft)
        sync(place.parent)
    except OSError as problem:
        raise unwritable(place, problem) from None


def _link(draft: str, place: Path) -> None:
    try:
        os.link(draft, place)
    except FileExistsError:
        raise
    except OSError:  # a disk without links
        os.replace(draft, place)
