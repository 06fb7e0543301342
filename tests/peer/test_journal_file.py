"""A journal's file: how damage is refused, and what readers may show of it."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.protocol.messages import (
    generations_before,
)
from pairgossip.peer.protocol.state import Node, Pending, Save
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.journal_file import VERSION, export
from pairgossip.peer.storage.witness import witness_of
from tests.peer.test_journal import AWKWARD, loaded, opened, packed, record, saved, some_state


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.sqlite"


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


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        (
            VERSION + 1,
            rf"written by a newer version of pairgossip \(its format is {VERSION + 1}, this one "
            rf"knows {VERSION}\): update pairgossip",
        ),
        (9, r"made by an earlier version of pairgossip: .* peer init --from .* --source FILE\."),
        (11, "made by an earlier version of pairgossip: make a new folder for the network"),
    ],
)
def test_a_database_of_another_version_is_refused_and_left_alone(
    path: Path, version: int, sentence: str
) -> None:
    saved(path, some_state())
    base = sqlite3.connect(path)
    base.execute(f"PRAGMA user_version = {version}")
    base.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match=sentence):
        SqliteJournal(path)
    assert path.read_bytes() == before


def test_not_even_the_log_of_a_newer_database_is_touched(path: Path, tmp_path: Path) -> None:
    """The last process that closes a database writes its log back, unless it only reads."""
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
        # The peer's memory is now ahead of its disk: nothing of it may be written any longer.
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
    assert shown["nodes"][2]["holds"] == {"origin": "ann", "row": 2, "generation": 1 << 30}
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
