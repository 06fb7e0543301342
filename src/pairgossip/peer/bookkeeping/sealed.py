"""Files beside the data that are read as a whole or not at all, replaced at once, and locked.

The ledger and the register of releases are such files. The last line of each seals everything
before it, and only the owner can read the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from pairgossip import files
from pairgossip.errors import InputError

_PATIENCE = 60.0
"""Largest wait for another process that has the file, in seconds; then this one gives up."""
_Book = TypeVar("_Book", bound=msgspec.Struct)


class _Head(msgspec.Struct, frozen=True):
    format: str
    version: int


@dataclass(frozen=True, kw_only=True)
class SealedFiles(Generic[_Book]):
    """A kind of sealed file, and the functions that read and write it."""

    kind: type[_Book]
    """The type of the contents, with the fields ``format`` and ``version``."""
    what: str
    """The name of such a file in sentences, such as "the ledger"."""
    elsewhere: str
    """The advice if it cannot stay where it is, before a path, such as "give --ledger with"."""
    format: str
    version: int
    outdated: str = ""
    """The refusal of an earlier version; {} stands for the path. Empty if it can be read."""
    largest: int
    """The largest size of a file in bytes; a longer one is refused as foreign."""
    foreign: str
    """The refusal of a file of another kind; {} stands for the path."""
    damaged: str
    """The refusal of a file whose seal does not fit; {} stands for the path."""
    encode: Callable[[Any], bytes] = msgspec.json.encode
    decode: Callable[..., Any] = msgspec.json.decode

    @contextlib.contextmanager
    def hold(self, path: Path) -> Iterator[None]:
        """Lock a file's folder, so that no two processes write the file at once.

        The file itself cannot be locked, as it is replaced. The lock leaves nothing behind.
        """
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(files.lock(path.parent, wait=_PATIENCE))
            except BlockingIOError:
                raise InputError(
                    f"Another process is using {self.what} {path}: wait until it is done, and try "
                    "again."
                ) from None
            except OSError as problem:
                raise InputError(
                    f"Cannot lock the folder of {self.what} {path}: {problem.strerror}; "
                    f"{self.elsewhere} a path on a local disk."
                ) from None
            yield

    def load(self, path: Path) -> _Book | None:
        """Return the contents of a file; None if there is none. Another file is refused."""
        try:
            with open(path, "rb") as file:
                if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                    files.refuse_open_link(f"{self.what[0].upper()}{self.what[1:]}", path)
                    raise InputError(f"Others can read {self.what} {path}: run chmod 600 {path}")
                content = file.read(self.largest + 1)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise InputError(f"Cannot read {self.what} {path}: {problem.strerror}.") from None
        if len(content) > self.largest:
            raise InputError(self.foreign.format(path))
        body, _, seal = content.rstrip(b"\n").rpartition(b"\n")
        try:
            head = self.decode(body, type=_Head)
            if head.format != self.format:
                raise InputError(self.foreign.format(path))
            if head.version > self.version:
                raise InputError(
                    f"{self.what[0].upper()}{self.what[1:]} {path} was written by a newer version "
                    "of pairgossip: update this one."
                )
            if head.version < self.version and self.outdated:
                raise InputError(self.outdated.format(path))
            if seal != seal_of(body):
                raise InputError(self.damaged.format(path))
            book: _Book = self.decode(body, type=self.kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            is_ours = self.format.encode() in content
            raise InputError((self.damaged if is_ours else self.foreign).format(path)) from None
        return book

    def store(self, path: Path, book: _Book) -> None:
        """Replace a locked file; it is on the disk when this returns."""
        self.write(path, self.seal(book))

    def seal(self, book: _Book) -> tuple[bytes, bytes]:
        """Return the content of files with this book, and the line that seals it."""
        body = self.encode(msgspec.structs.replace(book, version=self.version))
        return body, b"\n" + seal_of(body) + b"\n"

    def write(self, path: Path, content: tuple[bytes, bytes]) -> None:
        """Replace a file by sealed content, as `store` does."""
        if sum(map(len, content)) > self.largest:
            raise InputError(
                f"There is no room in {self.what} {path}: begin with another data file."
            )
        try:
            files.replace(path, *content)
        except InputError as problem:
            there = self.elsewhere[0].upper() + self.elsewhere[1:]
            raise InputError(f"{problem} {there} a path where it can stay.") from None


def sync_file(path: Path) -> None:
    """Make sure that a file is on the disk: its writer may have been killed before that."""
    files.sync(path)
    files.sync(path.parent)


def seal_of(body: bytes) -> bytes:
    """Return the last line of a file with this content."""
    return hashlib.sha256(body).hexdigest().encode()
