"""The file of a privacy ledger: read whole or not at all, replaced at once, held by one process."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import refuse_open_link

FORMAT = "pairgossip-ledger"
VERSION = 1
LARGEST_LEDGER = 1 << 30
"""Bytes: twenty mechanisms for as many rows as a peer may have."""
PATIENCE = 60.0
"""Seconds to wait for another process that draws reports."""


class Drawn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All reports of one mechanism."""

    columns: tuple[str, ...]
    mechanism: str
    """Everything that decides what a report means and how likely it is."""
    epsilon: str
    """As a decimal number, so that sums are exact."""
    reports: dict[str, tuple[int, ...]]
    """By the name of the observation."""


class Book(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a ledger holds."""

    secret: str
    """The key under which observations have their names, in hexadecimal."""
    cap: str
    """How much epsilon an observation may spend in all, as a decimal number."""
    drawn: tuple[Drawn, ...] = ()
    format: str = FORMAT
    version: int = VERSION


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a ledger's folder, so that no two processes draw reports at once.

    The folder and not the file, because the file is replaced; and it leaves nothing behind.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as problem:
        raise InputError(
            f"Cannot keep the ledger {path}: {problem.strerror}; give --ledger with a place for it."
        ) from None
    try:
        _lock(folder, path)
        yield
    finally:
        os.close(folder)


def _lock(folder: int, path: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            if problem.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                raise InputError(
                    f"The ledger {path} lies on a disk that cannot be locked: give --ledger with "
                    f"a path on a local disk."
                ) from None
        if time.monotonic() > end:
            raise InputError(
                f"Another process is using the ledger {path}: wait until it is done, and try again."
            )
        time.sleep(0.05)


def load(path: Path) -> Book | None:
    """Return what a ledger holds, None if there is none; whatever is not one is left as it is."""
    try:
        with open(path, "rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                refuse_open_link("The ledger", path)
                raise InputError(f"Others can read the ledger {path}: run chmod 600 {path}")
            content = file.read(LARGEST_LEDGER + 1)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise InputError(f"Cannot read the ledger {path}: {problem.strerror}.") from None
    if len(content) > LARGEST_LEDGER:
        raise _foreign(path)
    body, _, seal = content.rstrip(b"\n").rpartition(b"\n")
    try:
        told = msgspec.json.decode(body, type=_Head)
        if told.format != FORMAT:
            raise _foreign(path)
        if told.version > VERSION:
            raise InputError(
                f"The ledger {path} was written by a newer version of pairgossip: update this one."
            )
        if seal != _seal(body):
            raise _damaged(path)
        return msgspec.json.decode(body, type=Book)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise (_damaged(path) if FORMAT.encode() in content else _foreign(path)) from None


def store(path: Path, book: Book) -> None:
    """Replace a ledger, on the disk for good before this returns; to be called while it is held."""
    body = msgspec.json.encode(book)
    draft = path.parent / f".{path.name}.new"
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)  # of a process that was killed: nothing has used what it drew
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)
            file.write(body + b"\n" + _seal(body) + b"\n")
            file.flush()
            os.fsync(descriptor)
        os.replace(draft, path)
        settle(path)
    except OSError as problem:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise InputError(
            f"Cannot write the ledger {path}: {problem.strerror}; give --ledger with a place for "
            f"it that stays."
        ) from None


def settle(path: Path) -> None:
    """Make sure that a ledger is on the disk under its name, whoever has put it there."""
    for name, flags in ((path, os.O_RDONLY), (path.parent, os.O_RDONLY | os.O_DIRECTORY)):
        descriptor = os.open(name, flags | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Head(msgspec.Struct, frozen=True):
    format: str
    version: int


def _seal(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _foreign(path: Path) -> InputError:
    return InputError(
        f"{path} is no privacy ledger, or what is left of one, and is left as it is: put the "
        f"latest copy of the ledger in its place, as with another one the rows would be reported "
        f"anew."
    )


def _damaged(path: Path) -> InputError:
    return InputError(
        f"The ledger {path} is damaged or was edited, and nothing is drawn anew: put back the copy "
        f"that was written last."
    )
