"""Files in folders that are made when they are first needed."""

from __future__ import annotations

from pathlib import Path

from pairgossip import files
from pairgossip.files import sync


def write_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace a file, on the disk before this returns if it is durable; its folder may be missing.

    The folder above that one must exist.
    """
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if durable:
            sync(path.parent.parent)
    except OSError as problem:
        raise files.unwritable(path, problem) from None
    files.replace(path, content, durable=durable)
