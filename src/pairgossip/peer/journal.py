"""Durable memory in one sqlite database: a change is written whole or not at all.

The write-ahead log keeps the order of commits. One that must be on the disk before a message goes
out is synced, and brings all earlier ones along; one that need not be survives the death of the
process at once, and a loss of power only together with everything before it.

Whatever a neighbor can choose is kept as bytes: its numbers may exceed what a column holds.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.actions import Save
from pairgossip.peer.journal_file import (
    APPLICATION,
    GROWN_VERSION,
    SCHEMA,
    VERSION,
    explained,
    fingerprint,
    inspected,
)
from pairgossip.peer.journal_reading import export as export
from pairgossip.peer.journal_reading import read_state
from pairgossip.peer.rows import digest
from pairgossip.peer.state import Node, Outcome, State

WAIT_FOR_READERS = 10.0
"""Seconds; a reader such as an export never holds the writer up for long."""

_UPSERT_NODE = (
    "INSERT INTO nodes (row, record, mass, private, crc) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (row) DO UPDATE SET record = excluded.record, mass = excluded.mass, "
    "private = excluded.private, crc = excluded.crc"
)
_UPSERT_OUTCOME = (
    "INSERT INTO outcomes (neighbor, outcome, crc) VALUES (?, ?, ?) ON CONFLICT (neighbor) "
    "DO UPDATE SET outcome = excluded.outcome, crc = excluded.crc"
)


class SqliteJournal:
    """The state of one peer; to be used by one thread of one process.

    Parameters
    ----------
    path
        The database.
    power_safe
        Whether what must survive a loss of power is synced to the disk. Without it, such a loss
        may undo exchanges on one side, and the peer must then be evicted; a crash of the process
        alone is safe either way.
    create
        Whether to make a database where there is none. A peer that has ever run must not: with
        an empty memory it would repeat what it did before.
    """

    def __init__(self, path: Path, power_safe: bool = True, create: bool = True) -> None:
        self.path = Path(path)
        self._power_safe = power_safe
        self._failure: InputError | None = None
        if create:
            _make(self.path)
        inspected(self.path)
        with self._explaining():
            self._base = _opened(self.path)

    def load(self) -> State | None:
        """Return the state last saved, or None if there is none."""
        with self._explaining():
            return read_state(self._base, self.path)

    def save(self, change: Save) -> None:
        """Write a change down in one transaction; after a failure nothing more is written.

        What the peer has in memory is then ahead of its disk, and must be dropped: it goes on
        from the disk once the trouble is mended.
        """
        if self._failure is not None:
            raise self._failure
        try:
            with self._explaining():
                # Once rows were added, the file with the old ones is replaced: no way back.
                self._sync(change.sync, always=change.own is not None)
                with _transaction(self._base):
                    self._write(change)
        except InputError as failure:
            self._failure = failure
            raise

    def about(self) -> Mapping[str, str]:
        """Return what is noted about the peer."""
        with self._explaining():
            return dict(self._base.execute("SELECT key, value FROM about"))

    def note(self, about: Mapping[str, str]) -> None:
        """Note for good whose state this is; only a growth changes it, by noting other rows."""
        with self._explaining():
            self._sync(True)
            with _transaction(self._base):
                self._base.executemany("INSERT INTO about VALUES (?, ?)", about.items())

    def close(self) -> None:
        """Let go of the database; what was saved stays."""
        with contextlib.suppress(sqlite3.Error):
            self._base.close()

    def _write(self, change: Save) -> None:
        state = change.state
        if change.everything:
            self._write_generation(state)
        if change.own is not None:
            noted = (digest(change.own), "data")
            self._base.execute("UPDATE about SET value = ? WHERE key = ?", noted)
        pending = msgspec.msgpack.encode(state.pending)
        self._base.execute(
            "UPDATE peer SET seq = ?, pending = ?, exchanges = ?, left_out = ?",
            (state.seq, pending, state.exchanges, state.left_out),
        )
        rows = range(len(state.nodes)) if change.everything else sorted(set(change.nodes))
        self._base.executemany(
            _UPSERT_NODE, ((row, *_node_columns(state.nodes[row])) for row in rows)
        )
        changed = state.outcomes if change.everything else (change.outcome_of,)
        self._base.executemany(
            _UPSERT_OUTCOME,
            [(who, *_outcome_columns(state.outcomes[who])) for who in changed if who],
        )

    def _write_generation(self, state: State) -> None:
        """Forget the generation before, and write down what stays the same throughout this one."""
        for table in ("peer", "nodes", "outcomes"):
            self._base.execute(f"DELETE FROM {table}")
        self._base.execute(
            "INSERT INTO peer (one, generation, evicted, seq, pending, exchanges, left_out, notice)"
            " VALUES (1, ?, ?, ?, ?, ?, ?, ?)",
            (
                str(state.generation),
                msgspec.msgpack.encode(state.evicted),
                state.seq,
                msgspec.msgpack.encode(state.pending),
                state.exchanges,
                state.left_out,
                state.notice,
            ),
        )
        if state.grown:  # which earlier versions do not understand
            self._base.execute(f"PRAGMA user_version = {GROWN_VERSION}")

    def _sync(self, sync: bool, *, always: bool = False) -> None:
        level = "FULL" if always or (sync and self._power_safe) else "NORMAL"
        self._base.execute(f"PRAGMA synchronous = {level}")

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise explained(problem, self.path) from problem


def _make(path: Path) -> None:
    """Make an empty database that only its owner can read; leave one that exists alone."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if path.stat().st_size:
            return
    except OSError as problem:
        raise InputError(f"Cannot write {path}: {problem.strerror}.") from None
    try:
        base = _opened(path)
        with contextlib.closing(base), _transaction(base):
            for statement in SCHEMA:
                base.execute(statement)
            base.execute(f"PRAGMA application_id = {APPLICATION}")
            base.execute(f"PRAGMA user_version = {VERSION}")
    except sqlite3.Error as problem:
        raise explained(problem, path) from problem


def _opened(path: Path) -> sqlite3.Connection:
    # Transactions are begun and ended here, not by the sqlite3 module.
    base = sqlite3.connect(path, timeout=WAIT_FOR_READERS, isolation_level=None)
    try:
        base.execute("PRAGMA synchronous = FULL")
        (mode,) = base.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise InputError(f"{path} lies on a disk that does not support it: use a local disk.")
    except BaseException:
        base.close()
        raise
    return base


@contextlib.contextmanager
def _transaction(base: sqlite3.Connection) -> Iterator[None]:
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
        base.execute("COMMIT")
    except BaseException:
        if base.in_transaction:
            base.rollback()
        raise


def _node_columns(node: Node) -> tuple[bytes, bytes, bytes, int]:
    record = msgspec.msgpack.encode(node.record)
    mass, private = _packed(node.mass), _packed(node.private)
    return record, mass, private, fingerprint(record, mass, private)


def _outcome_columns(outcome: Outcome) -> tuple[bytes, int]:
    packed = msgspec.msgpack.encode(outcome)
    return packed, fingerprint(packed)


def _packed(numbers: tuple[float, ...]) -> bytes:
    """Keep every bit of the numbers."""
    return struct.pack(f"<{len(numbers)}d", *numbers)
