"""The record of disclosures: everything that has left this machine, in chained lines.

Each line holds the digest of the line before. A line is in the database in the same transaction as
the record that it is about, and in the file before anything after that transaction is sent.
"""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_bytes, sync, sync_descriptor, unwritable
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.text import format_count

_ROOM = "record"
_LARGEST = 1 << 30
"""Largest size of a record, in bytes; a longer one is refused."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the record."""

    before: str
    """The digest of the line before; 64 zeros for the first."""
    when: str
    """The time, in UTC, by the clock of this machine."""
    event: str
    """"accepted", "shown", "answered", "not answered" or "read"."""
    question: str
    """The name of the question."""
    about: dict[str, Any] = {}
    """The text, the list, the member that accepted, contributions as keyed digests, and so on."""


class Disclosures:
    """A record to which lines are added and in which no line is changed.

    Parameters
    ----------
    path
        The file.
    journal
        The journal that keeps lines until they are in the file; None for readers.
    """

    def __init__(self, path: Path, journal: StudyJournal | None = None) -> None:
        self.path, self._journal = path, journal
        self._waiting: dict[int, bytes] = {}
        """Lines that are not in the file yet, by their numbers."""
        self._head, self._count = bytes(32).hex(), 0
        if journal is not None:
            self._begin(journal)

    def __len__(self) -> int:
        return self._count

    def _begin(self, journal: StudyJournal) -> None:
        """Continue from the last line, and bring the file up to it."""
        _cut_torn_line(self.path)
        kept = {int(number): line for number, line in journal.notes(_ROOM).items()}
        written = len(_read_lines(self.path))
        if kept:
            self._count = max(kept)
            self._head = hashlib.sha256(kept[self._count]).hexdigest()
        if written < min(kept, default=1) - 1 or written > self._count:
            raise InputError(
                f"{self.path} has {format_count(written, 'line')}, and {self._count:,} were "
                "written: put the latest copy of it back."
            )
        self._waiting = {number: line for number, line in kept.items() if number > written}
        journal.on_saved(self._write)
        self._write()

    def add(self, event: str, question: bytes, **about: Any) -> None:
        """Add a line, with the journal's next save."""
        assert self._journal is not None
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        entry = Entry(
            before=self._head, when=when, event=event, question=question.hex(), about=about
        )
        line = msgspec.json.encode(entry, order="sorted")
        self._head, self._count = hashlib.sha256(line).hexdigest(), self._count + 1
        self._waiting[self._count] = line
        self._journal.stage(_ROOM, f"{self._count:09}", line)

    def entries(self) -> Sequence[Entry]:
        """Return all lines; raise `InputError` for the first that was changed."""
        head, entries = bytes(32).hex(), []
        for number, line in enumerate(_read_lines(self.path), 1):
            try:
                entry = msgspec.json.decode(line, type=Entry)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                raise self._changed(number) from None
            if entry.before != head:
                raise self._changed(max(number - 1, 1))
            head = hashlib.sha256(line).hexdigest()
            entries.append(entry)
        return entries

    def verify(self) -> int:
        """Return the number of lines; raise `InputError` for the first that was changed."""
        return len(self.entries())

    def _changed(self, number: int) -> InputError:
        return InputError(
            f"{self.path} was changed in line {number:,}, or before it: put the latest copy of it "
            "back."
        )

    def _write(self) -> None:
        """Add the database's new lines to the file; the database then keeps only the last one."""
        if not self._waiting:
            return
        assert self._journal is not None
        content = b"".join(line + b"\n" for line in self._waiting.values())
        try:
            is_new = not self.path.exists()
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with open(descriptor, "ab") as file:
                file.write(content)
                file.flush()
                sync_descriptor(descriptor)
            if is_new:
                sync(self.path.parent)
        except OSError as problem:
            raise unwritable(self.path, problem) from None
        for number in [*self._waiting, self._count - 1]:
            if 0 < number < self._count:
                self._journal.stage(_ROOM, f"{number:09}", None)
        self._waiting = {}


def _cut_torn_line(path: Path) -> None:
    """Remove the part of a line that a loss of power has left."""
    if path.exists():
        content = read_bytes(path, _LARGEST)
        if _find_end(content) < len(content):
            os.truncate(path, _find_end(content))


def _find_end(content: bytes) -> int:
    """Return the end of the last whole line."""
    return content.rfind(b"\n") + 1


def _read_lines(path: Path) -> list[bytes]:
    """Return the whole lines of a record; empty if it does not exist."""
    if not path.exists():
        return []
    content = read_bytes(path, _LARGEST)
    return content[: _find_end(content)].splitlines()
