from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import sqlite3
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.protocol.messages import (
    Growth,
    Notice,
    Record,
    Reject,
    encode,
    generations_before,
)
from pairgossip.peer.protocol.state import Node, Outcome, Pending, Save, State
from pairgossip.peer.storage import witness
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.journal_file import VERSION, export
from pairgossip.peer.storage.rows import digest
from pairgossip.peer.storage.witness import witness_of

GROWN = (Growth("ann", 1, 3, b"\xff" * 64),)
AWKWARD = (0.1 + 0.2, -0.0, 5e-324, 1.7976931348623157e308, -1 / 3, math.pi)


def record(origin: str, row: int, value: tuple[float, ...] = (1.5,)) -> Record:
    return Record(origin, row, 7, value, bytes(range(64)))


def some_state(rows: int = 3) -> State:
    nodes = tuple(Node(record("ann", row, AWKWARD), AWKWARD, AWKWARD[::-1]) for row in range(rows))
    return State(
        generation=(1 << 62) + 5,
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
        notice=encode(Notice((1 << 62) + 5, ("cid", "dan"), "bob", b"\x00\xff", GROWN)),
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
        return journal.load()


# What is saved comes back


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
    notice = encode(Notice(1 << 32, (), "bob", b"", ()))
    fresh = State(1 << 32, (), 12, some_state(2).nodes, {}, {}, 0, notice)
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


@pytest.mark.parametrize("notice", [b"junk", encode(Reject(0, 1, "busy"))])
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
        assert journal.about() == {"peer": "me", "data": digest(rows), "draw_seed": "3"}


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


def test_the_level_is_set_before_the_transaction_begins(path: Path) -> None:
    # Inside of one, sqlite ignores it.
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


CALLS = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from pairgossip.peer.protocol.state import Save
from pairgossip.peer.storage.journal import SqliteJournal
from tests.peer.test_journal import some_state
from msgspec.structs import replace
journal = SqliteJournal(Path(sys.argv[1]))
state = some_state()
journal.save(Save(state, sync=True, everything=True))
os.write(1, b"ready\\n")
for step in range(1, 1_000_000):
    node = replace(state.nodes[0], mass=(step / 7,) * 6)
    state = replace(state, seq=100 + step, exchanges=step, nodes=(node, *state.nodes[1:]))
    journal.save(Save(state, sync=step % 3 == 0, nodes=(0,)))
    os.write(1, b"%d\\n" % step)
"""


def test_a_process_killed_while_saving_leaves_a_saved_state(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    for attempt in range(5):
        path = tmp_path / f"{attempt}.sqlite"
        process = subprocess.Popen(
            [sys.executable, "-c", CALLS, str(path), str(root)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        for _ in range(1 + 13 * attempt):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        told = process.stdout.read().decode().split("\n")
        process.stdout.close()
        process.wait()
        finished = [int(line) for line in told[:-1] if line.isdigit()]
        found = loaded(path)
        assert found is not None
        step = found.exchanges if found.seq > 12 else 0
        assert step >= max(finished, default=0)  # what was told as saved is there
        if step:
            assert found.seq == 100 + step
            assert found.nodes[0].mass == (step / 7,) * 6
        expected = some_state()
        assert found.nodes[1:] == expected.nodes[1:]
        assert found.outcomes == expected.outcomes


def test_a_power_failure_keeps_a_prefix_with_all_that_was_synced(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut the log anywhere behind the last sync: what is left is one of the states since."""
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
    # Of the witness any version may be on the disk, whatever there is of the log.
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


# What is wrong with the file


def test_a_missing_database_is_never_replaced(path: Path) -> None:
    with pytest.raises(
        InputError, match=r"There is no .*state\.sqlite: put it back if it was moved"
    ):
        SqliteJournal(path, create=False)
    assert not path.exists()
    with pytest.raises(InputError, match=r"There is no .*state\.sqlite"):
        export(path)
    assert not path.exists()


def damaged(path: Path, kind: str) -> None:
    saved(path, some_state(300))
    content = path.read_bytes()
    size = len(content)
    assert size > 5 * 4096
    chance = random.Random(3)
    if kind == "noise":
        path.write_bytes(chance.randbytes(size))
    elif kind == "truncated":
        path.write_bytes(content[: size // 2])
    elif kind == "truncated within a page":
        path.write_bytes(content[: size - 100])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "header":
        path.write_bytes(b"x" + content[1:])
    elif kind == "pages of noise":
        path.write_bytes(content[:4096] + chance.randbytes(size - 4096))
    elif kind == "text":
        path.write_text("This is not a database, it is a letter. " * 200)


@pytest.mark.parametrize(
    "kind",
    ["noise", "truncated", "truncated within a page", "empty", "header", "pages of noise", "text"],
)
def test_a_damaged_database_is_refused_and_left_alone(path: Path, kind: str) -> None:
    damaged(path, kind)
    before = path.read_bytes()
    for attempt in (lambda: SqliteJournal(path, create=False), lambda: export(path)):
        with pytest.raises(InputError, match=r"state\.sqlite is damaged .* was left as it is") as e:
            attempt()
        assert "\n" not in str(e.value)
    assert path.read_bytes() == before


def test_records_that_do_not_read_are_damage(path: Path) -> None:
    for statement in (
        "UPDATE nodes SET record = x'00' WHERE row = 1",
        "UPDATE nodes SET mass = x'0011' WHERE row = 1",
        "UPDATE nodes SET mass = zeroblob(48) WHERE row = 1",
        "UPDATE outcomes SET crc = crc + 1",
        "DELETE FROM nodes WHERE row = 1",
        "DELETE FROM nodes",
        "UPDATE peer SET pending = x'c0'",
        f"UPDATE peer SET pending = x'{packed({'bob': Pending(1, 9)})}'",
        f"UPDATE peer SET pending = x'{packed({'bob': Pending(1, 0), 'carl': Pending(2, 0)})}'",
        "UPDATE peer SET generation = 'x'",
        "UPDATE outcomes SET outcome = x'93'",
        "DELETE FROM nodes WHERE row = 2",
        "DELETE FROM outcomes WHERE neighbor = 'eve'",
        "DELETE FROM about WHERE key = 'data'",
        "UPDATE about SET value = 'other'",
        "UPDATE about SET key = 'date' WHERE key = 'data'",
        "UPDATE outcomes SET neighbor = 'fay' WHERE neighbor = 'eve'",
        "UPDATE nodes SET row = -1 - row",
        "UPDATE peer SET seq = seq - 1",
        "UPDATE peer SET exchanges = 98",
        "UPDATE peer SET evicted = x'90'",
        "UPDATE peer SET notice = x''",
        "UPDATE peer SET total = total + 1",
        "UPDATE peer SET left_out = 0",
    ):
        for file in (path, witness_of(path)):
            file.unlink(missing_ok=True)
        with opened(path) as journal:
            journal.note({"peer": "me", "data": "rows"})
            journal.save(Save(some_state(), sync=True, everything=True))
        base = sqlite3.connect(path)
        assert base.execute(statement).rowcount > 0
        base.commit()
        base.close()
        with opened(path, create=False) as journal, pytest.raises(InputError, match="is damaged"):
            journal.load()


def test_a_newer_database_is_refused_and_left_alone(path: Path) -> None:
    saved(path, some_state())
    base = sqlite3.connect(path)
    base.execute(f"PRAGMA user_version = {VERSION + 1}")
    base.close()
    before = path.read_bytes()
    with pytest.raises(
        InputError,
        match=rf"written by a newer version of pairgossip \(its format is {VERSION + 1}, this one "
        rf"knows {VERSION}\): update pairgossip",
    ):
        SqliteJournal(path)
    assert path.read_bytes() == before


def test_not_even_the_log_of_a_newer_database_is_touched(path: Path, tmp_path: Path) -> None:
    """Whoever closes a database last writes its log back, unless it was opened for reading."""
    copy = tmp_path / "copy.sqlite"
    with opened(path) as journal:
        journal.save(Save(some_state(), sync=True, everything=True))
        journal._base.execute(f"PRAGMA user_version = {VERSION + 1}")
        files = {copy: path.read_bytes()}
        files[Path(f"{copy}-wal")] = Path(f"{path}-wal").read_bytes()
    for file, content in files.items():
        file.write_bytes(content)
    with pytest.raises(InputError, match="newer version"):
        SqliteJournal(copy)
    assert {file: file.read_bytes() for file in files} == files


def test_a_database_of_something_else_is_refused(path: Path) -> None:
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE letters (text)")
    base.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="it is not a peer's state"):
        SqliteJournal(path)
    assert path.read_bytes() == before


def test_a_full_disk_is_told_and_loses_nothing(path: Path) -> None:
    state = some_state()
    saved(path, state)
    with opened(path) as journal:
        (pages,) = journal._base.execute("PRAGMA page_count").fetchone()
        journal._base.execute(f"PRAGMA max_page_count = {pages}")
        large = tuple(Node(record("bob", row), (1.0,) * 6, ()) for row in range(2000))
        with pytest.raises(InputError, match=r"The disk is full: .* intact, so free some space"):
            journal.save(Save(replace(state, nodes=large, seq=50), sync=True, everything=True))
        # The peer's memory is ahead of its disk now: nothing of it may be written any more.
        with pytest.raises(InputError, match="The disk is full"):
            journal.save(Save(replace(state, seq=51), sync=True))
    assert loaded(path) == state
    with opened(path) as journal:
        journal.save(Save(replace(state, seq=52), sync=True))
    assert loaded(path) == replace(state, seq=52)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux")
def test_a_folder_that_cannot_be_written_is_told(path: Path) -> None:
    state = some_state()
    saved(path, state)
    with opened(path) as journal:
        journal._base.execute("PRAGMA query_only = ON")
        with pytest.raises(InputError, match=r"state\.sqlite cannot be written: make the folder"):
            journal.save(Save(replace(state, seq=50), sync=True))
    assert loaded(path) == state
    with pytest.raises(InputError, match=r"Cannot write .*: No such file or directory"):
        SqliteJournal(path.parent / "absent" / "state.sqlite")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not hold for root")
def test_a_read_only_folder_is_told(path: Path) -> None:
    saved(path, some_state())
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with (
            pytest.raises(InputError, match=r"state\.sqlite cannot be written: make the folder"),
            opened(path, create=False) as journal,
        ):
            journal.save(Save(some_state(), sync=True))
    finally:
        path.parent.chmod(0o700)
        path.chmod(0o600)
    assert loaded(path) == some_state()


# What may be shown


def test_an_export_tells_no_values_unless_asked(path: Path) -> None:
    state = some_state()
    with opened(path) as journal:  # exports are made while the peer runs
        journal.note({"peer": "me", "draw_seed": "secret"})
        journal.save(Save(state, sync=True, everything=True))
        shown, all_of_it = export(path), export(path, private=True)
    assert shown["peer"] == "me"
    assert shown["generation"] == 1 + generations_before(state.generation)
    assert shown["pending"] == {"bob": {"seq": 12, "node": 1}}
    assert shown["nodes"][2]["holds"] == {"origin": "ann", "row": 2, "generation": 1}
    assert shown["nodes"][2]["mass"] == list(AWKWARD)
    assert shown["outcomes"]["eve"] == {"seq": 4, "rejected": "busy"}
    assert "value" not in repr(shown)
    assert "private" not in repr(shown)
    assert "secret" not in repr(all_of_it)
    assert all_of_it["nodes"][0]["holds"]["value"] == list(AWKWARD)
    assert all_of_it["nodes"][0]["private"] == list(AWKWARD[::-1])


def test_an_export_of_nothing_says_so(path: Path) -> None:
    with opened(path):
        pass
    with pytest.raises(InputError, match="holds no state yet"):
        export(path)
