"""Reading a journal: the state as it was saved, and what of it may be shown."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path
from typing import Any

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer import generations
from pairgossip.peer.journal_file import (
    added_up,
    explained,
    fingerprint,
    inspected,
    reading,
)
from pairgossip.peer.messages import BadFrame, Notice, decode
from pairgossip.peer.records import Record
from pairgossip.peer.state import Node, Outcome, Pending, State
from pairgossip.peer.vector import Vector


def read_state(base: sqlite3.Connection, path: Path) -> State | None:
    """Read the state from an open database; what does not fit together is damage."""
    base.execute("BEGIN")  # all tables as they were at one moment
    try:
        row = base.execute(
            "SELECT one, generation, evicted, seq, pending, exchanges, left_out, notice, saves, "
            "total, crc FROM peer"
        ).fetchone()
        nodes = list(base.execute("SELECT row, record, mass, private, crc FROM nodes ORDER BY row"))
        outcomes = list(base.execute("SELECT neighbor, outcome, crc FROM outcomes"))
        about = list(base.execute("SELECT key, value, crc FROM about"))
    finally:
        base.rollback()
    if row is None:
        return None
    try:
        _check("peer", *row)
        _, generation, evicted, seq, pending, exchanges, left_out, notice, _, total, _ = row
        for table, rows in (("nodes", nodes), ("outcomes", outcomes), ("about", about)):
            for columns in rows:
                _check(table, *columns)
        if added_up(columns[-1] for rows in (nodes, outcomes, about) for columns in rows) != total:
            raise ValueError("a row is missing, or is not the latest")
        if [node[0] for node in nodes] != list(range(len(nodes))) or not nodes:
            raise ValueError("a node is missing")
        return State(
            generation=int(generation),
            evicted=msgspec.msgpack.decode(evicted, type=tuple[str, ...]),
            seq=seq,
            nodes=Vector(_node(*columns) for _, *columns, _ in nodes),
            pending=_pending(pending, len(nodes)),
            outcomes={who: msgspec.msgpack.decode(it, type=Outcome) for who, it, _ in outcomes},
            exchanges=exchanges,
            left_out=left_out,
            notice=notice,
            grown=_notice(notice).grown if notice else (),
        )
    except (msgspec.MsgspecError, ValueError, TypeError, struct.error) as problem:
        raise explained(sqlite3.DatabaseError(str(problem)), path) from None


def noted_about(base: sqlite3.Connection, path: Path) -> dict[str, str]:
    """Return what is noted in an open database about the peer."""
    rows = list(base.execute("SELECT key, value, crc FROM about"))
    try:
        for columns in rows:
            _check("about", *columns)
    except ValueError as problem:
        raise explained(sqlite3.DatabaseError(str(problem)), path) from None
    return {key: value for key, value, _ in rows}


def read_about(path: Path) -> dict[str, str]:
    """Return what is noted in a database about the peer, also while it runs."""
    inspected(path)
    with reading(path) as base:
        return noted_about(base, path)


def export(path: Path, private: bool = False) -> dict[str, Any]:
    """Return a peer's state for inspection, also while it runs.

    Whose records it holds is told, the records' values only if ``private`` is asked for.
    """
    inspected(path)
    with reading(path) as base:
        state, about = read_state(base, path), noted_about(base, path)
    if state is None:
        raise InputError(f"{path} holds no state yet: start the peer first.")
    about.pop("draw_seed", None)
    return {
        **about,
        "generation": generations.ordinal(state.generation),
        "evicted": list(state.evicted),
        "grown": {one.member: one.rows for one in state.grown},
        "seq": state.seq,
        "exchanges": state.exchanges,
        "left_out": state.left_out,
        "pending": msgspec.to_builtins(state.pending),
        "nodes": [_shown_node(node, private) for node in state.nodes],
        "outcomes": {who: _shown_outcome(it, private) for who, it in state.outcomes.items()},
    }


def _shown_node(node: Node, private: bool) -> dict[str, Any]:
    shown = {"holds": _shown_record(node.record, private), "mass": list(node.mass)}
    return shown | {"private": list(node.private)} if private else shown


def _shown_outcome(outcome: Outcome, private: bool) -> dict[str, Any]:
    if outcome.record is None:
        return {"seq": outcome.seq, "rejected": outcome.reason}
    given = _shown_record(outcome.record, private)
    return {"seq": outcome.seq, "gave": given, "mass": list(outcome.mass)}


def _shown_record(record: Record, private: bool) -> dict[str, Any]:
    generation = generations.ordinal(record.generation)
    shown = {"origin": record.origin, "row": record.row, "generation": generation}
    return shown | {"value": list(record.value)} if private else shown


def _notice(frame: bytes) -> Notice:
    """The notice that began the generation; it also tells who has grown."""
    try:
        notice = decode(frame)
    except BadFrame:
        raise ValueError("its notice is none") from None
    if not isinstance(notice, Notice):
        raise ValueError("its notice is none")
    return notice


def _pending(packed: bytes, rows: int) -> dict[str, Pending]:
    """The offers in doubt; each concerns a row of its own."""
    pending = msgspec.msgpack.decode(packed, type=dict[str, Pending])
    frozen = [one.node for one in pending.values()]
    if len(set(frozen)) < len(frozen) or not all(0 <= row < rows for row in frozen):
        raise ValueError("its offers do not fit its rows")
    return pending


def _check(table: str, *columns: Any) -> None:
    """Compare a row with its fingerprint, which is its last column."""
    if columns[-1] != fingerprint(table, *columns[:-1]):
        raise ValueError("a checksum is wrong")


def _node(record: bytes, mass: bytes, private: bytes) -> Node:
    return Node(msgspec.msgpack.decode(record, type=Record), _unpacked(mass), _unpacked(private))


def _unpacked(packed: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(packed) // 8}d", packed)
