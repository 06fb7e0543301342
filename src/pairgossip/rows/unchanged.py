"""Detect files that change while they are read, in one pass or several."""

from __future__ import annotations

from pathlib import Path

from pairgossip.errors import InputError
from pairgossip.files import unreadable


class Unchanged:
    """The state of a file when it was opened; readers compare before and after each pass."""

    def __init__(self, file: Path) -> None:
        """Record the state."""
        self.file = file
        self._first = self._look()

    def check(self) -> None:
        """Raise `InputError` if the file has changed since."""
        if self._look() != self._first:
            raise InputError(f"{self.file} changed while it was being read: read it again.")

    def _look(self) -> tuple[int, int, int]:
        try:
            status = self.file.stat()
        except OSError as problem:
            raise unreadable(self.file, problem) from None
        return status.st_size, status.st_mtime_ns, status.st_ino
