"""The database file of a journal: its tables, and what is said when it is not as it must be."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from pathlib import Path
from urllib.parse import quote

from pairgossip.errors import InputError

VERSION = 3
GROWN_VERSION = 4
"""Of a database in which members have more rows than at first; its tables are the same."""
APPLICATION = 0x70676F31
"""By this number in its header a file is known as a peer's state."""
SCHEMA = (
    "CREATE TABLE peer (one INTEGER PRIMARY KEY CHECK (one = 1), generation TEXT NOT NULL, "
    "evicted BLOB NOT NULL, seq INTEGER NOT NULL, pending BLOB NOT NULL, "
    "exchanges INTEGER NOT NULL, left_out INTEGER NOT NULL, notice BLOB NOT NULL)",
    "CREATE TABLE nodes (row INTEGER PRIMARY KEY, record BLOB NOT NULL, mass BLOB NOT NULL, "
    "private BLOB NOT NULL, crc INTEGER NOT NULL)",
    "CREATE TABLE outcomes (neighbor TEXT PRIMARY KEY, outcome BLOB NOT NULL, "
    "crc INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)

_FULL = "database or disk is full"
_READ_ONLY = ("attempt to write a readonly database", "unable to open database file")


def fingerprint(*blobs: bytes) -> int:
    """Return a number that changes with any bit, which sqlite itself would not notice."""
    return zlib.crc32(b"".join(blobs))


def inspected(path: Path) -> None:
    """Refuse a file that is damaged, newer than this program, or something else; never touch it."""
    base = opened_for_reading(path)
    try:
        with contextlib.closing(base):
            (application,) = base.execute("PRAGMA application_id").fetchone()
            (version,) = base.execute("PRAGMA user_version").fetchone()
            if application == APPLICATION and version > GROWN_VERSION:
                raise InputError(
                    f"{path} was written by a newer version of pairgossip (its format is "
                    f"{version}, this one knows {GROWN_VERSION}): update pairgossip."
                )
            (found,) = base.execute("PRAGMA quick_check(1)").fetchone()
            (page,) = base.execute("PRAGMA page_size").fetchone()
    except sqlite3.Error as problem:
        raise explained(problem, path) from problem
    if found != "ok":
        raise explained(sqlite3.DatabaseError(found.replace("\n", " ")), path)
    if path.stat().st_size % page:  # sqlite takes what is missing of the last page for zeros
        raise explained(sqlite3.DatabaseError("its end is missing"), path)
    if application != APPLICATION or version not in (VERSION, GROWN_VERSION):
        raise explained(sqlite3.DatabaseError("it is no state of a peer"), path)


def opened_for_reading(path: Path) -> sqlite3.Connection:
    """Open a database so that nothing can be written to it."""
    if not path.is_file():
        raise InputError(
            f"There is no {path}: put it back if it was moved, for a peer that has run must not "
            "begin again; or run peer init for a new one."
        )
    try:
        return sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro", uri=True, timeout=10.0, isolation_level=None
        )
    except sqlite3.Error as problem:
        raise explained(problem, path) from problem


def explained(problem: sqlite3.Error, path: Path) -> InputError:
    """Say what a failure of the database means and what to do."""
    text = str(problem)
    if text == _FULL:
        return InputError(
            f"The disk is full: {path} could not be written; what it held is intact, so free "
            f"some space and start the peer again."
        )
    if text in _READ_ONLY:
        return InputError(
            f"{path} cannot be written: make the folder and the file writable for this user, and "
            f"start the peer again."
        )
    if isinstance(problem, sqlite3.OperationalError):
        return InputError(f"{path} could not be used ({text}): mend that and start the peer again.")
    return InputError(
        f"{path} is damaged ({text}) and was left as it is: have the other members evict this "
        f"peer, and join again from a new folder."
    )
