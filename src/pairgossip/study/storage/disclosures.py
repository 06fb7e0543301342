"""The record of disclosures: everything that has left this machine, in chained lines.

Each line holds the digest of the line before. A line is in the database in the same transaction as
the record that it is about, and in the file before anything after that transaction is sent.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import time
from collections.abc import Mapping, Sequence
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

_ATTEMPTS, _PAUSE = 10, 0.05
"""Number of looks at the last line, and seconds between two of them: a peer may just write it."""


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
        self._noted: set[int] = set()
        """Numbers of the lines in the database: it keeps the last one, and those that wait."""
        self._head, self._count = bytes(32).hex(), 0
        if journal is not None:
            self._begin(journal)

    def __len__(self) -> int:
        return self._count

    def _begin(self, journal: StudyJournal) -> None:
        """Continue from the last line, and bring the file up to it."""
        _cut_torn_line(self.path)
        notes, lines = _read_notes(journal), _read_lines(self.path)
        self._check_end(lines, notes)
        if notes:
            self._count = max(notes)
            self._head = hashlib.sha256(notes[self._count]).hexdigest()
        self._waiting = {number: line for number, line in notes.items() if number > len(lines)}
        self._noted = set(notes)
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
        self._noted.add(self._count)
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

    def verify(self, journal: StudyJournal) -> int:
        """Return the number of lines; raise `InputError` if one was changed or is missing.

        The chain shows this for all lines but the last ones, which are compared with those in the
        database of the same folder, whose peer may be running: a line is there a moment earlier.
        """
        for attempt in reversed(range(_ATTEMPTS)):
            notes, count = _read_notes(journal), len(self.entries())
            if count == max(notes, default=0) or not attempt:
                break
            time.sleep(_PAUSE)
        if count < max(notes, default=0):
            raise self._incomplete(count, notes)
        self._check_end(_read_lines(self.path)[:count], notes)
        return count

    def _check_end(self, lines: Sequence[bytes], kept: Mapping[int, bytes]) -> None:
        """Refuse a file that is not the one that the database has the last lines of.

        Lines at its end may be missing: the database has those that a crash has left out.
        """
        count = len(lines)
        if not min(kept, default=1) - 1 <= count <= max(kept, default=0):
            raise self._incomplete(count, kept)
        for number, line in kept.items():
            if number <= count and lines[number - 1] != line:
                raise self._changed(number)

    def _incomplete(self, count: int, kept: Mapping[int, bytes]) -> InputError:
        return InputError(
            f"{self.path} has {format_count(count, 'line')}, and {max(kept, default=0):,} were "
            "written, as study.sqlite beside it says: put the latest copies of both back."
        )

    def _changed(self, number: int) -> InputError:
        return InputError(
            f"{self.path} was changed in line {number:,}, or before it: put the latest copy of it "
            "back."
        )

    def _write(self) -> None:
        """Add the database's new lines to the file; the database then keeps only the last one."""
        assert self._journal is not None
        if self._waiting:
            self._append(b"".join(line + b"\n" for line in self._waiting.values()))
            self._waiting = {}
        for number in sorted(self._noted - {self._count}):
            self._journal.stage(_ROOM, f"{number:09}", None)
        self._noted &= {self._count}

    def _append(self, content: bytes) -> None:
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


def _read_notes(journal: StudyJournal) -> dict[int, bytes]:
    """Return the lines in the database, by their numbers."""
    return {int(number): line for number, line in journal.notes(_ROOM).items()}


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
