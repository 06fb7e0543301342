"""Durable memory in one sqlite database: a change is written whole or not at all.

The write-ahead log keeps the order of commits. A commit that must be on the disk before a message
is sent is synced, together with all earlier ones. Any other commit survives the death of the
process at once, and a loss of power only together with everything before it.

All values that a neighbor can choose are kept as bytes: its numbers may be too large for a column.

Fingerprints reveal damage: each row has one, of its key and of all its columns; the row of the peer
has their sum and the number of saves; and a `witness` outside the database knows that number and
that row's fingerprint.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
from array import array
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import unwritable
from pairgossip.peer.protocol.messages import digest_rows
from pairgossip.peer.protocol.state import Save, State
from pairgossip.peer.storage.journal_file import (
    APPLICATION,
    SCHEMA,
    VERSION,
    as_text,
    check_database,
    explain_failures,
    fingerprint,
    read_notes,
    read_state,
    sum_fingerprints,
    transaction,
)
from pairgossip.peer.storage.witness import Witness, create_witness

_WAIT_FOR_READERS = 10.0
"""Largest time in seconds to wait for a reader, such as an export; then a save fails."""

_UPSERT_NODE = (
    "INSERT INTO nodes (row, record, mass, private, crc) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (row) DO UPDATE SET record = excluded.record, mass = excluded.mass, "
    "private = excluded.private, crc = excluded.crc"
)
_REPLACE_PEER = "INSERT OR REPLACE INTO peer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_UPSERT_OUTCOME = (
    "INSERT INTO outcomes (neighbor, outcome, crc) VALUES (?, ?, ?) ON CONFLICT (neighbor) "
    "DO UPDATE SET outcome = excluded.outcome, crc = excluded.crc"
)


class SqliteJournal:
    """The state of one peer; to be used by one thread of one process.

    Without ``power_safe`` nothing but added rows is synced: a loss of power may then undo exchanges
    on one side, and the peer must be evicted; a crash of the process alone is safe either way. A
    peer that has ever run must not ``create`` a database: with an empty memory it would repeat what
    it did.
    """

    def __init__(self, path: Path, power_safe: bool = True, create: bool = True) -> None:
        self.path = Path(path)
        self._power_safe = power_safe
        self._failure: InputError | None = None
        self._is_synced: bool | None = None
        """Whether commits wait for the disk at present."""
        if create:
            _make(self.path)
        self._saves, fingerprint = check_database(self.path)
        self._sums: _Fingerprints | None = None
        with explain_failures(self.path):
            self._base = _opened(self.path)
        try:
            self._witness = Witness(self.path, self._saves, fingerprint)
        except BaseException:
            self._base.close()
            raise

    def load(self) -> State | None:
        """Return the last saved state; None if there is none."""
        with explain_failures(self.path):
            return read_state(self._base, self.path)

    def save(self, change: Save) -> None:
        """Save a change in one transaction; after a failure nothing more is written.

        The state in memory is then ahead of the disk, and must be dropped: the peer goes on from
        the disk once the cause is repaired.
        """
        if self._failure is not None:
            raise self._failure
        try:
            with explain_failures(self.path):
                # After rows were added, their request is removed, so this must not be undone.
                is_synced = self._sync(change.sync, always=change.has_more_rows)
                with transaction(self._base):
                    fingerprint = self._write(change, self._saves + 1)
            self._saves += 1
            # After the commit, or a crash would leave a witness of a save that never was; before
            # anything is sent, or a save that others know of could be lost without notice.
            self._witness.note(self._saves, fingerprint, is_synced=is_synced)
        except InputError as failure:
            self._failure = failure
            raise

    def about(self) -> Mapping[str, str]:
        """Return the notes about the peer."""
        with explain_failures(self.path):
            return read_notes(self._base, self.path)

    def note(self, about: Mapping[str, str]) -> None:
        """Note the peer and the specification of this state, before the first save.

        Only a growth changes the notes: it notes other rows.
        """
        if self._saves:
            raise InputError(f"{self.path} says already whose state it is.")
        with explain_failures(self.path):
            self._sync(True)
            with transaction(self._base):
                self._base.executemany(
                    "INSERT INTO about VALUES (?, ?, ?)",
                    ((*entry, fingerprint("about", *entry)) for entry in about.items()),
                )

    def close(self) -> None:
        """Close the database and its witness."""
        with contextlib.suppress(sqlite3.Error):
            self._base.close()
        self._witness.close()

    def _write(self, change: Save, saves: int) -> int:
        """Write a change, and return the fingerprint of the row of the peer after it."""
        sums = self._sums = self._sums or _Fingerprints(self._base)
        if change.everything:
            for table in ("nodes", "outcomes"):
                self._base.execute(f"DELETE FROM {table}")
            sums.begin(len(change.state.nodes))
        state = change.state
        self._write_rows(change, sums)
        peer = (
            1,
            state.generation,
            msgspec.msgpack.encode(state.evicted),
            state.seq,
            msgspec.msgpack.encode(state.pending),
            state.exchanges,
            state.left_out,
            state.notice,
            saves,
            sums.total,
        )
        crc = fingerprint("peer", *peer)
        self._base.execute(_REPLACE_PEER, (*peer, crc))
        return crc

    def _write_rows(self, change: Save, sums: _Fingerprints) -> None:
        """Write nodes and outcomes, and note new rows of the peer's own."""
        state = change.state
        if change.own is not None:
            entry = ("data", digest_rows(change.own))
            columns = (*entry, sums.put("about", *entry))
            self._base.execute("INSERT OR REPLACE INTO about VALUES (?, ?, ?)", columns)
        rows = range(len(state.nodes)) if change.everything else sorted(set(change.nodes))
        if rows:
            self._base.executemany(_UPSERT_NODE, (self._node(sums, state, row) for row in rows))
        changed = state.outcomes if change.everything else (change.outcome_of,)
        packed = [(who, msgspec.msgpack.encode(state.outcomes[who])) for who in changed if who]
        if packed:
            self._base.executemany(
                _UPSERT_OUTCOME, [(*one, sums.put("outcomes", *one)) for one in packed]
            )

    def _node(
        self, sums: _Fingerprints, state: State, row: int
    ) -> tuple[int, bytes, bytes, bytes, int]:
        node = state.nodes[row]
        record = msgspec.msgpack.encode(node.record)
        mass, private = _pack(node.mass), _pack(node.private)
        return row, record, mass, private, sums.put_node(row, record, mass, private)

    def _sync(self, sync: bool, *, always: bool = False) -> bool:
        """Set whether the next commit waits for the disk; return that."""
        is_synced = always or (sync and self._power_safe)
        if is_synced is not self._is_synced:
            self._base.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
            self._is_synced = is_synced
        return is_synced


def _make(path: Path) -> None:
    """Make an empty database that only its owner can read; do not touch an existing one."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if path.stat().st_size:
            return
    except OSError as problem:
        raise unwritable(path, problem) from None
    create_witness(path)
    with explain_failures(path):
        base = _opened(path)
        with contextlib.closing(base), transaction(base):
            for statement in SCHEMA:
                base.execute(statement)
            base.execute(f"PRAGMA application_id = {APPLICATION}")
            base.execute(f"PRAGMA user_version = {VERSION}")


def _opened(path: Path) -> sqlite3.Connection:
    # Transactions are begun and ended here, not by the sqlite3 module.
    base = sqlite3.connect(path, timeout=_WAIT_FOR_READERS, isolation_level=None)
    base.text_factory = as_text
    try:
        base.execute("PRAGMA synchronous = FULL")
        for setting in ("fullfsync", "checkpoint_fullfsync"):  # see `files.sync_descriptor`
            base.execute(f"PRAGMA {setting} = ON")
        (mode,) = base.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise InputError(f"{path} lies on a disk that does not support it: use a local disk.")
    except BaseException:
        base.close()
        raise
    return base


class _Fingerprints:
    """The fingerprints of all rows but the peer's, and their sum, kept up to date."""

    def __init__(self, base: sqlite3.Connection) -> None:
        nodes = base.execute("SELECT crc FROM nodes ORDER BY row")
        self._nodes = array("q", (crc for (crc,) in nodes))  # there may be a million
        self._others: dict[tuple[str, str], int] = {}
        for table, key in (("outcomes", "neighbor"), ("about", "key")):
            rows = base.execute(f"SELECT {key}, crc FROM {table}")
            self._others |= {(table, name): crc for name, crc in rows}
        self.total = self._added_up()

    def begin(self, rows: int) -> None:
        """Begin to write all nodes and outcomes anew."""
        self._nodes = array("q", bytes(8 * rows))
        self._others = {one: crc for one, crc in self._others.items() if one[0] == "about"}
        self.total = self._added_up()

    def put_node(self, row: int, *columns: bytes) -> int:
        """Return the fingerprint of a node that is being written."""
        crc = fingerprint("nodes", row, *columns)
        self.total = sum_fingerprints((self.total, crc, -self._nodes[row]))
        self._nodes[row] = crc
        return crc

    def put(self, table: str, key: str, content: str | bytes) -> int:
        """Return the fingerprint of another row that is being written."""
        crc = fingerprint(table, key, content)
        self.total = sum_fingerprints((self.total, crc, -self._others.get((table, key), 0)))
        self._others[table, key] = crc
        return crc

    def _added_up(self) -> int:
        return sum_fingerprints(chain(self._nodes, self._others.values()))


def _pack(numbers: tuple[float, ...]) -> bytes:
    """Return numbers as bytes, bit for bit."""
    return struct.pack(f"<{len(numbers)}d", *numbers)
