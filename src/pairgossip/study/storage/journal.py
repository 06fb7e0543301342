"""The records, secrets and decisions of a member of a study: a database, and files of secrets.

A save is one transaction. Secrets are kept outside of backups, each in a separate file: new ones
are on the disk before the transaction, and erased ones are removed after it. A crash in between
leaves files that the database does not name, which the next start removes.

A site's own notes, such as the rows that it has reserved for a question, are staged, and written in
the transaction of the next save: that of the very record that they belong to.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets as chance
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pairgossip.errors import InputError
from pairgossip.files import erase, sync, unwritable
from pairgossip.peer.identity.identity import write_new
from pairgossip.peer.storage.journal_file import (
    as_text,
    explain_failures,
    fingerprint,
    transaction,
)
from pairgossip.study.protocol.records import BadRecord, decode, digest_of, topic_of
from pairgossip.study.protocol.site import Kept, Save, State

_VERSION = 1
_APPLICATION = 0x70676F32
"""The number in its header that marks a file as a study's state."""
_SCHEMA = (
    "CREATE TABLE records (place INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, "
    "topic BLOB NOT NULL, content BLOB NOT NULL, is_shown INTEGER NOT NULL, "
    "is_archived INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX topics ON records (topic)",
    "CREATE TABLE notes (room TEXT NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL, "
    "crc INTEGER NOT NULL, PRIMARY KEY (room, name)) WITHOUT ROWID",
    "CREATE TABLE secrets (name TEXT PRIMARY KEY, file TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE questions (number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE)",
)
_CACHE = 256
"""Size of the database's cache, in KiB: only the latest records are read again, and few of them."""
_WAIT_FOR_OTHERS = 10.0
"""Longest wait for a reader of another process, in seconds."""
_PROTOCOL = "study"
"""The room of notes of the protocol."""
_PUT_RECORD = (
    "INSERT INTO records (digest, topic, content, is_shown) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (digest) DO UPDATE SET content = excluded.content, is_shown = excluded.is_shown"
)
_README = """Secrets of a study's questions, each of which is erased once it has served.

Leave this folder out of backups: anybody with a copy of a secret that was erased here can work out
the contributions of this site. A peer that is restored without it ends its open questions.
"""
CACHE_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Secret: not to be backed up.\n"
"""The mark by which backup programs leave a folder out (bford.info/cachedir)."""


class StudyJournal:
    """The state of one member of a study, durable when a save returns.

    Parameters
    ----------
    database
        The file; it is made if it does not exist.
    secrets
        The folder of secrets; it is made if it does not exist.
    power_safe
        Whether to wait for the disk, so that a loss of power undoes nothing.
    """

    def __init__(self, database: Path, secrets: Path, *, power_safe: bool = True) -> None:
        self.path, self._secrets, self._power_safe = Path(database), Path(secrets), power_safe
        self._staged: dict[tuple[str, str], bytes | None] = {}
        """Notes that the next save writes, by room and name; None erases."""
        self._failure: InputError | None = None
        self._followers: list[Callable[[], None]] = []
        make_secrets(self._secrets)
        with explain_failures(self.path):
            self._base = _open(self.path)
            try:
                _prepare(self._base, self.path)
                self._base.execute(f"PRAGMA synchronous = {'FULL' if power_safe else 'NORMAL'}")
            except BaseException:
                self._base.close()
                raise

    def load(self) -> State:
        """Return the protocol's saved state; raise `InputError` if it is damaged."""
        with explain_failures(self.path):
            return State(tuple(self._read_records()), self._read_secrets(), self.notes(_PROTOCOL))

    def save(self, save: Save) -> None:
        """Carry out a save of the protocol, with the staged notes.

        After a failure nothing more is written: memory is then ahead of the disk.
        """
        if self._failure is not None:
            raise self._failure
        staged, self._staged = self._staged, {}
        try:
            files = {
                name: self._write_secret(content)
                for name, content in save.secrets.items()
                if content is not None
            }
            with explain_failures(self.path), transaction(self._base):
                old = self._write(save, files)
                for place, content in staged.items():
                    self._base.execute(*_put_note(*place, content))
            for file in old:
                erase(self._secrets / file)
            for follow in self._followers:
                follow()
        except InputError as failure:
            self._failure = failure
            raise

    def flush(self) -> None:
        """Write the staged notes."""
        if self._staged:
            self.save(Save())

    def on_saved(self, follow: Callable[[], None]) -> None:
        """Let this be called after every save, before anything is sent."""
        self._followers.append(follow)

    def close(self) -> None:
        """Close the database; saved records stay."""
        with contextlib.suppress(sqlite3.Error):
            self._base.close()

    # Questions

    def number_of(self, name: bytes) -> int:
        """Return the number by which this folder knows a question; raise `KeyError` for others."""
        rows = self._select("SELECT number FROM questions WHERE name = ?", name)
        if not rows:
            raise KeyError(name.hex())
        return int(rows[0][0])

    @property
    def numbers(self) -> Mapping[int, bytes]:
        """The names of all questions by their numbers: 1, 2, 3, ... in the order of arrival
        here."""
        return dict(self._select("SELECT number, name FROM questions ORDER BY number"))

    def records_of(self, name: bytes) -> Sequence[bytes]:
        """Return the records of a question, archived or not."""
        return [
            content
            for (content,) in self._select(
                "SELECT content FROM records WHERE topic = ? ORDER BY place", name
            )
        ]

    def archived(self, name: bytes) -> Sequence[bytes]:
        """Return the remaining records of a question that has ended."""
        query = (
            "SELECT content FROM records WHERE topic = ? AND is_archived AND is_shown "
            "ORDER BY place"
        )
        return [content for (content,) in self._select(query, name)]

    # Notes of a site, in separate rooms

    def notes(self, room: str) -> dict[str, bytes]:
        """Return the notes of a room, by their names, with the staged ones."""
        query = "SELECT name, content, crc FROM notes WHERE room = ? ORDER BY name"
        notes = {row[0]: self._check(room, *row) for row in self._select(query, room)}
        for (at, name), content in self._staged.items():
            if at == room:
                notes.pop(name, None)
                notes |= {} if content is None else {name: content}
        return dict(sorted(notes.items()))

    def note(self, room: str, name: str) -> bytes | None:
        """Return one note; None if there is none."""
        if (room, name) in self._staged:
            return self._staged[room, name]
        query = "SELECT name, content, crc FROM notes WHERE room = ? AND name = ?"
        return next((self._check(room, *row) for row in self._select(query, room, name)), None)

    def stage(self, room: str, name: str, content: bytes | None) -> None:
        """Let the next save write a note, or erase it."""
        self._staged[room, name] = content

    def _check(self, room: str, name: str, content: bytes, crc: int) -> bytes:
        if crc != fingerprint("notes", room, name, content):
            raise self._damaged(f"note {name!r}")
        return content

    def _select(self, query: str, *values: Any) -> list[Any]:
        with explain_failures(self.path):
            return self._base.execute(query, values).fetchall()

    def _write(self, save: Save, files: Mapping[str, str]) -> list[str]:
        """Write a save; return the files of secrets that are not needed any more."""
        base, old = self._base, list[str]()
        for kept in save.records:
            self._write_record(kept)
        base.executemany("DELETE FROM records WHERE digest = ?", [(it,) for it in save.forgotten])
        for name, content in save.notes.items():
            base.execute(*_put_note(_PROTOCOL, name, content))
        for name in save.secrets:
            row = base.execute("SELECT file FROM secrets WHERE name = ?", (name,)).fetchone()
            old += row or ()
            if name in files:
                base.execute("INSERT OR REPLACE INTO secrets VALUES (?, ?)", (name, files[name]))
            else:
                base.execute("DELETE FROM secrets WHERE name = ?", (name,))
        if save.archived is not None:
            base.execute("UPDATE records SET is_archived = 1 WHERE topic = ?", (save.archived,))
        return old

    def _write_record(self, kept: Kept) -> None:
        digest, topic = _name_record(kept.content)
        self._base.execute(_PUT_RECORD, (digest, topic, kept.content, int(kept.is_shown)))
        if digest == topic:
            self._base.execute("INSERT OR IGNORE INTO questions (name) VALUES (?)", (topic,))

    def _read_records(self) -> Iterator[Kept]:
        for digest, content, is_shown in self._base.execute(
            "SELECT digest, content, is_shown FROM records WHERE NOT is_archived ORDER BY place"
        ):
            if not isinstance(content, bytes) or _name_record(content)[0] != digest:
                raise self._damaged("a record")
            yield Kept(content, bool(is_shown))

    def _read_secrets(self) -> dict[str, bytes]:
        """Return the existing secrets; a backup may lack some."""
        files = dict(self._base.execute("SELECT name, file FROM secrets"))
        contents = {}
        for name, file in files.items():
            with contextlib.suppress(FileNotFoundError):
                contents[name] = (self._secrets / file).read_bytes()
        for file in os.listdir(self._secrets):
            if file.endswith(".secret") and file not in files.values():
                erase(self._secrets / file)
        return contents

    def _write_secret(self, content: bytes) -> str:
        file = f"{chance.token_hex(16)}.secret"
        write_new(self._secrets / file, content, 0o600)
        if self._power_safe:
            sync(self._secrets)
        return file

    def _damaged(self, what: str) -> InputError:
        return InputError(
            f"{self.path} is damaged ({what} is not what was written): restore a backup of it, "
            "without the folder secrets."
        )


def make_secrets(folder: Path) -> None:
    """Make the folder of secrets, with a mark that leaves it out of backups."""
    if folder.is_dir():
        return
    try:
        folder.mkdir(mode=0o700)
        for name, text in (("README", _README), ("CACHEDIR.TAG", CACHE_TAG)):
            (folder / name).write_text(text)
        sync(folder.parent)
    except OSError as problem:
        raise unwritable(folder, problem, "make") from None


def _name_record(content: bytes) -> tuple[bytes, bytes]:
    """Return the digest of a record, and its question."""
    try:
        record = decode(content)
    except BadRecord:
        return hashlib.sha256(content).digest(), b""
    return digest_of(record), topic_of(record)


def _put_note(room: str, name: str, content: bytes | None) -> tuple[str, Sequence[Any]]:
    if content is None:
        return "DELETE FROM notes WHERE room = ? AND name = ?", (room, name)
    crc = fingerprint("notes", room, name, content)
    return "INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?)", (room, name, content, crc)


def _open(path: Path) -> sqlite3.Connection:
    # Transactions are begun and ended here, not by the sqlite3 module.
    if not path.exists():
        write_new(path, b"", 0o600)
    base = sqlite3.connect(path, timeout=_WAIT_FOR_OTHERS, isolation_level=None)
    base.text_factory = as_text
    for setting in ("fullfsync", "checkpoint_fullfsync", "secure_delete"):
        base.execute(f"PRAGMA {setting} = ON")
    base.execute(f"PRAGMA cache_size = -{_CACHE}")
    (mode,) = base.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        base.close()
        raise InputError(f"{path} lies on a disk that does not support it: use a local disk.")
    return base


def _prepare(base: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new database; refuse one that is damaged, newer or of another kind."""
    (application,) = base.execute("PRAGMA application_id").fetchone()
    (version,) = base.execute("PRAGMA user_version").fetchone()
    (tables,) = base.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    if not tables:
        with transaction(base):
            for statement in _SCHEMA:
                base.execute(statement)
            base.execute(f"PRAGMA application_id = {_APPLICATION}")
            base.execute(f"PRAGMA user_version = {_VERSION}")
        return
    if application == _APPLICATION and version > _VERSION:
        raise InputError(
            f"{path} was written by a newer version of pairgossip (its format is {version}, this "
            f"one knows {_VERSION}): update pairgossip."
        )
    (verdict,) = base.execute("PRAGMA quick_check(1)").fetchone()
    if (application, version) != (_APPLICATION, _VERSION) or verdict != "ok":
        raise sqlite3.DatabaseError(f"it is not a study's state: {verdict}")
