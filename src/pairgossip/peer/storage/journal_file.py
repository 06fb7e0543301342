"""The database file of a journal: its tables, its reading, and the causes of its failures."""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import has_space
from pairgossip.peer.protocol.messages import (
    BadFrame,
    Notice,
    Record,
    decode,
    generation_ordinal,
    is_generation,
)
from pairgossip.peer.protocol.state import Node, Outcome, Pending, State, Vector
from pairgossip.peer.storage.witness import check_witnessed, read_note

VERSION = 12
APPLICATION = 0x70676F31
"""The number in the header of a file that marks it as a peer's state."""
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


def fingerprint(table: str, *columns: object) -> int:
    """Return a number that changes with any bit of a row: sqlite itself would not notice a change.

    The row's key is among its columns, so a row in the place of another is noticed.
    """
    return zlib.crc32(msgspec.msgpack.encode((table, columns)))


def sum_fingerprints(fingerprints: Iterable[int]) -> int:
    """Add up the fingerprints of all rows; the sum reveals a missing or an outdated row."""
    return sum(fingerprints) % (1 << 63)


def check_database(path: Path) -> tuple[int, int]:
    """Return the number of saves of a database, and the fingerprint of the last one.

    Refuse, and never change, a file that is damaged, behind its witness, or of another kind.
    """
    with _reading(path) as base:
        (application,) = base.execute("PRAGMA application_id").fetchone()
        (version,) = base.execute("PRAGMA user_version").fetchone()
        if application == APPLICATION and version > VERSION:
            raise InputError(
                f"{path} was written by a newer version of pairgossip (its format is {version}, "
                f"this one knows {VERSION}): update pairgossip."
            )
        if application == APPLICATION and 0 < version < VERSION:
            raise InputError(
                f"{path} was made by an earlier version of pairgossip: make a new folder for the "
                "network with pairgossip peer init, or a member of a study with pairgossip peer "
                f"init --from {path.parent} --source FILE."
            )
        (verdict,) = base.execute("PRAGMA quick_check(1)").fetchone()
        (page,) = base.execute("PRAGMA page_size").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        if path.stat().st_size % page:  # sqlite reads the missing part of a page as zeros
            raise sqlite3.DatabaseError("its end is missing")
        if application != APPLICATION or version != VERSION:
            raise sqlite3.DatabaseError("it is not a peer's state")
        note = read_note(path)  # before the database: a running peer saves, then notes
        row = base.execute("SELECT saves, crc FROM peer").fetchone() or (0, 0)
        if not all(isinstance(number, int) for number in row):
            raise sqlite3.DatabaseError("its count of saves is not a number")
    saves, digest = row
    check_witnessed(path, note, saves, digest)
    return saves, digest


@contextlib.contextmanager
def transaction(base: sqlite3.Connection) -> Iterator[None]:
    """Commit all that is done within, or nothing."""
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
        base.execute("COMMIT")
    except BaseException:
        if base.in_transaction:
            base.rollback()
        raise


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading only."""
    if not path.is_file():
        raise InputError(
            f"There is no {path}: put it back if it was moved, for a peer that has run must not "
            "begin again; or run peer init for a new one."
        )
    with explain_failures(path):
        if not path.stat().st_size:  # sqlite would delete the log of an empty database
            raise sqlite3.DatabaseError("it is empty")
        place = f"file:{quote(str(path))}?mode=ro"
        base = sqlite3.connect(place, uri=True, timeout=10.0, isolation_level=None)
        with contextlib.closing(base):
            base.text_factory = as_text
            yield base


@contextlib.contextmanager
def explain_failures(path: Path) -> Iterator[None]:
    """Turn every failure of a database into an `InputError` with its cause and a remedy."""
    try:
        yield
    except sqlite3.Error as problem:
        raise _explain(problem, path) from problem
    except UnicodeDecodeError as problem:  # names and messages may quote damaged text
        raise _explain(sqlite3.DatabaseError("its text is not UTF-8"), path) from problem


def as_text(content: bytes) -> str:
    """Read text of a database; damaged text may not be UTF-8, and is detected later."""
    return content.decode(errors="replace")


def _explain(problem: sqlite3.Error, path: Path) -> InputError:
    """Return the error for a failure of the database, with its cause and a remedy."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(problem)[:200])
    is_usable = isinstance(problem, sqlite3.OperationalError)
    # On a full disk sqlite may also fail to open the database, or name an error of the disk.
    if text == "database or disk is full" or (is_usable and not has_space(path.parent)):
        return InputError(
            f"The disk is full: {path} could not be written; what it held is intact, so free "
            f"some space and start the peer again."
        )
    if text in ("attempt to write a readonly database", "unable to open database file"):
        return InputError(
            f"{path} cannot be written: make the folder and the file writable for this user, and "
            f"start the peer again."
        )
    if is_usable:
        return InputError(
            f"{path} could not be used ({text}): repair that and start the peer again."
        )
    return InputError(
        f"{path} is damaged ({text}) and was left as it is: have the other members evict this "
        f"peer, and join again from a new folder."
    )


def read_state(base: sqlite3.Connection, path: Path) -> State | None:
    """Read the state from an open database; raise `InputError` if its parts do not fit together."""
    base.execute("BEGIN")  # all tables as they were at one moment
    try:
        row = base.execute("SELECT * FROM peer").fetchone()
        nodes = list(base.execute("SELECT * FROM nodes ORDER BY row"))
        outcomes = list(base.execute("SELECT * FROM outcomes"))
        about = list(base.execute("SELECT * FROM about"))
    finally:
        base.rollback()
    if row is None:
        return None
    try:
        _check("peer", [row])
        _, generation, evicted, seq, pending, exchanges, left_out, notice, _, total, _ = row
        tables = {"nodes": nodes, "outcomes": outcomes, "about": about}
        if total != sum_fingerprints(_check(name, rows) for name, rows in tables.items()):
            raise ValueError("a row is missing, or is not the latest")
        if [node[0] for node in nodes] != list(range(len(nodes))) or not nodes:
            raise ValueError("a node is missing")
        return State(
            generation=_generation(generation),
            evicted=msgspec.msgpack.decode(evicted, type=tuple[str, ...]),
            notice=notice,
            grown=_notice(notice).grown if notice else (),
            seq=seq,
            nodes=Vector(_node(*columns) for _, *columns, _ in nodes),
            pending=_pending(pending, len(nodes)),
            outcomes={who: msgspec.msgpack.decode(it, type=Outcome) for who, it, _ in outcomes},
            exchanges=exchanges,
            left_out=left_out,
        )
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError, struct.error) as problem:
        raise _explain(sqlite3.DatabaseError(str(problem)), path) from None


def read_notes(base: sqlite3.Connection, path: Path) -> dict[str, str]:
    """Return the notes about the peer in an open database."""
    rows = list(base.execute("SELECT key, value, crc FROM about"))
    try:
        _check("about", rows)
    except ValueError as problem:
        raise _explain(sqlite3.DatabaseError(str(problem)), path) from None
    return {key: value for key, value, _ in rows}


def read_about(path: Path) -> dict[str, str]:
    """Return the notes about the peer in a database, also while the peer runs."""
    check_database(path)
    with _reading(path) as base:
        return read_notes(base, path)


def read_saved_state(path: Path) -> tuple[State, dict[str, str]]:
    """Return a peer's state and the notes about the peer, also while it runs."""
    check_database(path)
    with _reading(path) as base:
        state, about = read_state(base, path), read_notes(base, path)
    if state is None:
        raise InputError(f"{path} holds no state yet: start the peer first.")
    return state, about


def export(path: Path, private: bool = False) -> dict[str, Any]:
    """Return a peer's state for inspection, also while it runs.

    It names the origins of records; their values are in it only if ``private``.
    """
    state, about = read_saved_state(path)
    about.pop("draw_seed", None)
    shown = {
        **about,
        "generation": generation_ordinal(state.generation),
        "evicted": list(state.evicted),
        "grown": {one.member: one.rows for one in state.grown},
    }
    return {
        **shown,
        "seq": state.seq,
        "exchanges": state.exchanges,
        "left_out": state.left_out,
        "pending": msgspec.to_builtins(state.pending),
        "nodes": [_export_node(node, private) for node in state.nodes],
        "outcomes": {who: _export_outcome(it, private) for who, it in state.outcomes.items()},
    }


def _export_node(node: Node, private: bool) -> dict[str, Any]:
    shown = {"holds": _export_record(node.record, private), "mass": list(node.mass)}
    return shown | {"private": list(node.private)} if private else shown


def _export_outcome(outcome: Outcome, private: bool) -> dict[str, Any]:
    if outcome.record is None:
        return {"seq": outcome.seq, "rejected": outcome.reason}
    record = _export_record(outcome.record, private)
    return {"seq": outcome.seq, "gave": record, "mass": list(outcome.mass)}


def _export_record(record: Record, private: bool) -> dict[str, Any]:
    generation = generation_ordinal(record.generation)
    shown = {"origin": record.origin, "row": record.row, "generation": generation}
    return shown | {"value": list(record.value)} if private else shown


def _generation(name: str) -> str:
    """Return the name of a generation; raise `ValueError` if it is invalid."""
    if not is_generation(name):
        raise ValueError("its generation is invalid")
    return name


def _notice(frame: bytes) -> Notice:
    """Return the notice that began the generation, with the growths of members."""
    try:
        notice = decode(frame)
    except BadFrame:
        raise ValueError("its notice is invalid") from None
    if not isinstance(notice, Notice):
        raise ValueError("its notice is invalid")
    return notice


def _pending(packed: bytes, rows: int) -> dict[str, Pending]:
    """Return the offers in doubt, each with a row of its own."""
    pending = msgspec.msgpack.decode(packed, type=dict[str, Pending])
    frozen = [one.node for one in pending.values()]
    if len(set(frozen)) < len(frozen) or not all(0 <= row < rows for row in frozen):
        raise ValueError("its offers do not fit its rows")
    return pending


def _check(table: str, rows: Sequence[Sequence[Any]]) -> int:
    """Compare rows with their fingerprints, the last column, and return the sum of these."""
    for *columns, crc in rows:
        if crc != fingerprint(table, *columns):
            raise ValueError("a checksum is wrong")
    return sum_fingerprints(row[-1] for row in rows)


def _node(record: bytes, mass: bytes, private: bytes) -> Node:
    return Node(msgspec.msgpack.decode(record, type=Record), _unpack(mass), _unpack(private))


def _unpack(packed: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(packed) // 8}d", packed)
