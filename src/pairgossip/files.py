"""Reading and writing files so that a failure says what is wrong and destroys nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from pairgossip.errors import InputError


def read_bytes(path: Path) -> bytes:
    """Return a file's content, or say that it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InputError(f"Cannot read {path}: {problem.strerror}.") from None


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` only once it is wholly written."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as problem:
        raise InputError(f"Cannot write {path}: {problem.strerror}.") from None
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _take_usual_permissions(name)
        os.replace(name, path)
    except BaseException as problem:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if isinstance(problem, OSError):
            raise InputError(f"Cannot write {path}: {problem.strerror}.") from None
        raise


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Write a text file so that a failure leaves what was there before."""
    with replacing(path) as file:
        file.writelines(piece.encode() for piece in pieces)


def _take_usual_permissions(name: str) -> None:
    """Give a temporary file, born readable by its owner only, the permissions of any other."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(name, 0o666 & ~mask)
