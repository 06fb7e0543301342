from __future__ import annotations

import contextlib
import math
import os
import random
import stat
import struct
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    Growth,
    Notice,
    Record,
    Reject,
    digest_rows,
    encode,
    generation_name,
)
from pairgossip.peer.protocol.state import (
    Node,
    Outcome,
    Pending,
    Save,
    State,
)
from pairgossip.peer.storage import witness
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.witness import witness_of

GROWN = (Growth("ann", 1, 3, b"\xff" * 64),)
LATER = generation_name((1 << 30) - 1, ("cid", "dan"), GROWN)
AWKWARD = (0.1 + 0.2, -0.0, 5e-324, 1.7976931348623157e308, -1 / 3, math.pi)


def record(origin: str, row: int, value: tuple[float, ...] = (1.5,)) -> Record:
    return Record(origin, row, LATER, value, bytes(range(64)))


def some_state(rows: int = 3) -> State:
    nodes = tuple(Node(record("ann", row, AWKWARD), AWKWARD, AWKWARD[::-1]) for row in range(rows))
    return State(
        generation=LATER,
        evicted=("cid", "dan"),
        seq=12,
        nodes=nodes,
        pending={"bob": Pending(12, 1)},
        outcomes={
            "bob": Outcome((1 << 64) - 1, record("ann", 0), AWKWARD),
            "eve": Outcome(4, None, reason="busy"),
        },
        exchanges=99,
        left_out=7,
        notice=encode(Notice(LATER, ("cid", "dan"), "bob", b"\x00\xff", GROWN)),
        grown=GROWN,
    )


def packed(pending: dict[str, Pending]) -> str:
    return msgspec.msgpack.encode(pending).hex()


def bits(state: State) -> list[bytes]:
    numbers = [numbers for node in state.nodes for numbers in (node.mass, node.private)]
    numbers += [outcome.mass for _, outcome in sorted(state.outcomes.items())]
    numbers += [node.record.value for node in state.nodes]
    return [struct.pack(f"<{len(each)}d", *each) for each in numbers]


@contextlib.contextmanager
def opened(path: Path, power_safe: bool = True, create: bool = True) -> Iterator[SqliteJournal]:
    journal = SqliteJournal(path, power_safe, create)
    try:
        yield journal
    finally:
        journal.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.sqlite"


def saved(path: Path, state: State) -> None:
    with opened(path) as journal:
        journal.save(Save(state, sync=True, everything=True))


def loaded(path: Path) -> State | None:
    with opened(path, create=False) as journal:
        state = journal.load()
    assert state is None or isinstance(state, State)
    return state


# What is saved is loaded again


def test_a_new_journal_holds_nothing_and_is_for_its_owner_only(path: Path) -> None:
    before = os.umask(0)
    try:
        with opened(path) as journal:
            assert journal.load() is None
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)
    assert loaded(path) is None


@pytest.mark.parametrize(
    "pending", [{}, {"bob": Pending(12, 1)}, {"bob": Pending(12, 1), "carl": Pending(11, 0)}]
)
def test_a_state_comes_back_bit_for_bit(path: Path, pending: dict[str, Pending]) -> None:
    state = replace(some_state(), pending=pending)
    saved(path, state)
    found = loaded(path)
    assert found == state
    assert found is not None
    assert bits(found) == bits(state)
    assert all(math.copysign(1, node.mass[1]) == -1 for node in found.nodes)


def test_a_save_writes_what_changed_and_nothing_else(path: Path) -> None:
    state = some_state()
    saved(path, state)
    moved = Node(record("bob", 1), (9.0,) * 6, (8.0,) * 6)
    later = replace(
        state,
        seq=13,
        pending={},
        exchanges=100,
        nodes=(moved, moved, moved),
        outcomes={
            **state.outcomes,
            "eve": Outcome(5, record("bob", 2), (1.0,)),
            "fay": Outcome(1, None),
        },
    )
    with opened(path) as journal:
        assert journal.load() == state
        journal.save(Save(state, sync=False))
        written: list[str] = []
        journal._base.set_trace_callback(written.append)
        journal.save(Save(later, sync=False, nodes=(2,), outcome_of="eve"))
        journal._base.set_trace_callback(None)
    assert sum("nodes" in statement for statement in written) == 1
    assert sum("outcomes" in statement for statement in written) == 1
    found = loaded(path)
    assert found == replace(
        later,
        nodes=(state.nodes[0], state.nodes[1], moved),
        outcomes={"bob": state.outcomes["bob"], "eve": later.outcomes["eve"]},
    )


def test_a_new_generation_forgets_the_one_before(path: Path) -> None:
    saved(path, some_state(rows=5))
    notice = encode(Notice(LATER, (), "bob", b"", ()))
    fresh = State(
        LATER,
        notice=notice,
        seq=12,
        nodes=some_state(2).nodes,
        pending={},
        outcomes={},
        exchanges=0,
    )
    saved(path, fresh)
    assert loaded(path) == fresh


def test_a_random_history_comes_back_at_every_step(path: Path) -> None:
    chance = random.Random(5)
    state = some_state(4)
    with opened(path) as journal:
        journal.save(Save(state, sync=True, everything=True))
        for step in range(200):
            touched = tuple(chance.sample(range(4), chance.randint(0, 2)))
            nodes = list(state.nodes)
            for row in touched:
                nodes[row] = Node(record("bob", step), (chance.gauss(0, 1),) * 6, (step / 7,) * 6)
            who = chance.choice([None, "bob", "eve", "fay"])
            outcomes = dict(state.outcomes)
            if who is not None:
                outcomes[who] = Outcome(step, record("ann", step), (step / 3,))
            pending = chance.choice([{}, {"bob": Pending(step, 0)}])
            state = replace(
                state, seq=state.seq + 1, nodes=tuple(nodes), outcomes=outcomes, pending=pending
            )
            journal.save(Save(state, chance.random() < 0.5, touched, who))
            assert journal.load() == state
    assert loaded(path) == state


@pytest.mark.parametrize("notice", [b"junk", encode(Reject(FIRST_GENERATION, 1, "busy"))])
def test_a_notice_that_is_none_is_damage(path: Path, notice: bytes) -> None:
    saved(path, replace(some_state(), notice=notice))
    with pytest.raises(InputError, match="is damaged"):
        loaded(path)


@pytest.mark.parametrize("power_safe", [True, False])
def test_added_rows_are_noted_with_the_state_and_always_synced(
    path: Path, power_safe: bool
) -> None:
    rows = ((1.0,), (2.0,))
    with opened(path, power_safe) as journal:
        journal.note({"peer": "me", "data": "before", "draw_seed": "3"})
        journal.save(Save(some_state(), sync=True, everything=True, own=rows))
        assert syncing(journal) == FULL
        assert journal.about() == {"peer": "me", "data": digest_rows(rows), "draw_seed": "3"}


def test_what_is_noted_stays(path: Path) -> None:
    with opened(path) as journal:
        journal.note({"peer": "me", "draw_seed": "3"})
        journal.save(Save(some_state(), sync=True, everything=True))
    with opened(path) as journal:
        assert journal.about() == {"peer": "me", "draw_seed": "3"}
        with pytest.raises(InputError):
            journal.note({"peer": "other"})
        assert journal.about()["peer"] == "me"


# What must be on the disk is


def syncing(journal: SqliteJournal) -> int:
    (level,) = journal._base.execute("PRAGMA synchronous").fetchone()
    return int(level)


FULL, NORMAL = 2, 1


def test_only_what_must_be_is_synced(path: Path) -> None:
    state = some_state()
    with opened(path) as journal:
        assert journal._base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        for sync in (True, False, True, True, False):
            journal.save(Save(state, sync=sync, everything=True))
            assert syncing(journal) == (FULL if sync else NORMAL)


def test_macos_is_asked_to_wait_for_the_disk_itself(path: Path) -> None:
    """SQLite keeps these settings on every system, though they have an effect only there."""
    with opened(path) as journal:
        for setting in ("fullfsync", "checkpoint_fullfsync"):
            assert journal._base.execute(f"PRAGMA {setting}").fetchone() == (1,)


def test_the_level_is_set_before_the_transaction_begins(path: Path) -> None:
    # SQLite ignores it inside of a transaction.
    with opened(path) as journal:
        journal.save(Save(some_state(), sync=False, everything=True))
        told: list[str] = []
        journal._base.set_trace_callback(told.append)
        journal.save(Save(some_state(), sync=True))
        journal._base.set_trace_callback(None)
    assert told.index("PRAGMA synchronous = FULL") < told.index("BEGIN IMMEDIATE")
    assert told[-1] == "COMMIT"


def test_power_safety_can_be_traded_for_speed(path: Path) -> None:
    with opened(path, power_safe=False) as journal:
        journal.save(Save(some_state(), sync=True, everything=True))
        assert syncing(journal) == NORMAL


def test_a_power_failure_keeps_a_prefix_with_all_that_was_synced(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is cut anywhere after the last sync: what remains is one of the states since."""
    state, states, notes = some_state(2), [], list[bytes]()
    log = Path(f"{path}-wal")
    with opened(path) as journal:
        journal.save(Save(state, sync=True, everything=True))
        for step in range(12):
            state = replace(state, seq=20 + step, exchanges=step)
            journal.save(Save(state, sync=step == 5))
            states.append(state)
            if step == 5:
                synced = log.stat().st_size
            notes.append(witness_of(path).read_bytes())
        base, content = path.read_bytes(), log.read_bytes()
    assert synced < len(content)
    monkeypatch.setattr(witness, "_running_system", lambda: b"started anew".ljust(16))
    found = []
    # Any version of the witness may be on the disk, with any part of the log.
    for length, note in product(range(synced, len(content) + 1, 997), (*notes[::3], notes[-1])):
        copy = tmp_path / "copy.sqlite"
        for old in tmp_path.glob("copy.sqlite*"):
            old.unlink()
        copy.write_bytes(base)
        Path(f"{copy}-wal").write_bytes(content[:length])
        witness_of(copy).write_bytes(note)
        found.append(loaded(copy))
    assert all(one in states[5:] for one in found)
    assert found[0] == states[5]
    assert len({one.seq for one in found if one is not None}) > 3
