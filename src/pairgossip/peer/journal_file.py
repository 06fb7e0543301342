"""The database file of a journal: its tables, and what is said when it is not as it must be."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.witness import check_witnessed, read_note

VERSION = 5
APPLICATION = 0x70676F31
"""By this number in its header a file is known as a peer's state."""
SCHEMA = (
    "CREATE TABLE peer (one INTEGER PRIMARY KEY CHECK (one = 1), generation TEXT NOT NULL, "
    "evicted BLOB NOT NULL, seq INTEGER NOT NULL, pending BLOB NOT NULL, "
    "exchanges INTEGER NOT NULL, left_out INTEGER NOT NULL, notice BLOB NOT NULL, "
    "saves INTEGER NOT NULL, total INTEGER NOT NULL, crc INTEGER NOT NULL)",
    "CREATE TABLE nodes (row INTEGER PRIMARY KEY, record BLOB NOT NULL, mass BLOB NOT NULL, "
    "private BLOB NOT NULL, crc INTEGER NOT NULL)",
    "CREATE TABLE outcomes (neighbor TEXT PRIMARY KEY, outcome BLOB NOT NULL, "
    "crc INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) "
    "WITHOUT ROWID",
)

LARGEST_SUM = 1 << 63
_FULL = "database or disk is full"
_READ_ONLY = ("attempt to write a readonly database", "unable to open database file")


def fingerprint(table: str, *columns: object) -> int:
    """Return a number that changes with any bit of a row, which sqlite itself would not notice.

    The row's key is among its columns, so that a row that stands in another's place is noticed.
    """
    return zlib.crc32(msgspec.msgpack.encode((table, columns)))


def added_up(fingerprints: Iterable[int]) -> int:
    """Add up the fingerprints of all rows: a row that is missing, or is an old one, is noticed."""
    return sum(fingerprints) % LARGEST_SUM


def inspected(path: Path) -> tuple[int, int]:
    """Refuse a file that is damaged, behind its witness, newer than this program, or another.

    It is never touched. Returns how many saves it holds, and the fingerprint of the last one.
    """
    with reading(path) as base:
        (application,) = base.execute("PRAGMA application_id").fetchone()
        (version,) = base.execute("PRAGMA user_version").fetchone()
        if application == APPLICATION and version > VERSION:
            raise InputError(
                f"{path} was written by a newer version of pairgossip (its format is {version}, "
                f"this one knows {VERSION}): update pairgossip."
            )
        (found,) = base.execute("PRAGMA quick_check(1)").fetchone()
        (page,) = base.execute("PRAGMA page_size").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        if path.stat().st_size % page:  # sqlite takes what is missing of a page for zeros
            raise sqlite3.DatabaseError("its end is missing")
        if application != APPLICATION or version != VERSION:
            raise sqlite3.DatabaseError("it is no state of a peer")
        note = read_note(path)  # before the database: a running peer saves, then notes
        row = base.execute("SELECT saves, crc FROM peer").fetchone() or (0, 0)
        if not all(isinstance(number, int) for number in row):
            raise sqlite3.DatabaseError("its count of saves is not a number")
    saves, digest = row
    check_witnessed(path, note, saves, digest)
    return saves, digest


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database so that nothing can be written to it."""
    if not path.is_file():
        raise InputError(
            f"There is no {path}: put it back if it was moved, for a peer that has run must not "
            "begin again; or run peer init for a new one."
        )
    with explaining(path):
        if not path.stat().st_size:  # sqlite would delete the log of an empty database
            raise sqlite3.DatabaseError("it is empty")
        place = f"file:{quote(str(path))}?mode=ro"
        base = sqlite3.connect(place, uri=True, timeout=10.0, isolation_level=None)
        with contextlib.closing(base):
            base.text_factory = as_text
            yield base


@contextlib.contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Say of every failure of a database what it means and what to do."""
    try:
        yield
    except sqlite3.Error as problem:
        raise explained(problem, path) from problem
    except UnicodeDecodeError as problem:  # names and messages that quote what is damaged
        raise explained(sqlite3.DatabaseError("its text is not UTF-8"), path) from problem


def as_text(content: bytes) -> str:
    """Read text of a database; what is damaged need not be UTF-8, and is found out later."""
    return content.decode(errors="replace")


def explained(problem: sqlite3.Error, path: Path) -> InputError:
    """Say what a failure of the database means and what to do."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(problem)[:200])
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
