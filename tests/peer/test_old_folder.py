"""Folders of pairgossip 0.2: what a new one takes from them, and what is refused.

`old_folder/clinic-0` was made by 0.2.0 itself: one of three members, in the second generation,
which began when another had added rows. Its specification asks for a second sum. The key in it was
made for this test alone. `result.json` is what `peer result --json` of 0.2.0 wrote there.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.service.assembly import read_snapshot
from pairgossip.peer.signed_result import check_signed
from pairgossip.peer.storage import home as founding
from pairgossip.peer.storage import old_folder
from pairgossip.peer.storage.folder import (
    Evicted,
    Home,
    OperatorSettings,
    note_eviction,
    open_home,
)
from pairgossip.peer.storage.home import make_folder
from pairgossip.peer.storage.journal_file import read_saved_state
from pairgossip.peer.storage.old_folder import read_old_folder

GIVEN = Path(__file__).parent / "old_folder"
RESULT = (GIVEN / "result.json").read_bytes()
SPEC = """
kernel = "gini"
columns = ["income"]
[ranges]
income = [0, 200]
"""


@pytest.fixture
def old(tmp_path: Path) -> Home:
    """A copy, as private as a peer's folder is."""
    home = Home(shutil.copytree(GIVEN / "clinic-0", tmp_path / "old"))
    home.folder.chmod(0o700)
    home.key.chmod(0o600)
    return home


@contextlib.contextmanager
def database(home: Home) -> Iterator[sqlite3.Connection]:
    """The old state, to be changed; nothing of that leaves its log before the end."""
    with contextlib.closing(sqlite3.connect(home.state, isolation_level=None)) as base:
        base.execute("PRAGMA wal_autocheckpoint = 0")
        yield base


def fingerprint(table: str, columns: Any) -> int:
    return zlib.crc32(msgspec.msgpack.encode((table, tuple(columns))))


def seal(base: sqlite3.Connection) -> None:
    """Give all rows the fingerprints that 0.2.0 would have given them."""
    total = 0
    for table in ("rounds", "about"):
        for *columns, _ in base.execute(f"SELECT * FROM {table}").fetchall():
            crc = fingerprint(table, columns)
            base.execute(f"UPDATE {table} SET crc = ? WHERE key = ?", (crc, columns[0]))
            total += crc
    base.execute("UPDATE peer SET total = ?", (total,))
    *columns, _ = base.execute("SELECT * FROM peer").fetchone()
    base.execute("UPDATE peer SET crc = ?", (fingerprint("peer", columns),))


def last_key(base: sqlite3.Connection) -> str:
    """The key of one member's statement of the result, in the last round."""
    return str(base.execute("SELECT max(key) FROM rounds WHERE key LIKE '3/%'").fetchone()[0])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.*")}


def make_new(tmp_path: Path, old: Home, settings: OperatorSettings | None = None) -> Home:
    (tmp_path / "new.toml").write_text(SPEC)
    (tmp_path / "rows.csv").write_text("income\n" + "".join(f"{k}\n" for k in range(30)))
    found = read_old_folder(old.folder)
    files = tmp_path / "new.toml", tmp_path / "rows.csv"
    return make_folder(tmp_path / "new", settings or found.settings, *files, old=found)


def test_the_signed_result_is_the_one_that_0_2_wrote(old: Home) -> None:
    before = contents(old.folder)
    assert read_old_folder(old.folder).results == {"v1-2.json": RESULT}
    assert contents(old.folder) == before, "the old folder is left as it is"


def test_a_new_folder_has_key_settings_and_result_and_nothing_else(
    tmp_path: Path, old: Home
) -> None:
    new = make_new(tmp_path, old)
    assert new.key.read_bytes() == old.key.read_bytes()
    assert new.cert.read_bytes() == old.cert.read_bytes()
    assert load_identity(new.folder).id == load_identity(old.folder).id
    assert [mode(file) for file in (new.folder, new.key, new.results)] == [0o700, 0o600, 0o700]
    assert {file.name: file.read_bytes() for file in new.results.iterdir()} == {"v1-2.json": RESULT}
    checked = check_signed(new.results / "v1-2.json")
    assert len(checked.signed) == 3 and not checked.missing
    assert new.read_settings().source is not None and not new.data.exists()
    assert new.read_members().listed == ()
    state, about = read_saved_state(new.state)
    assert (state.rows, state.evicted, about["spec"]) == (30, (), new.read_spec().hash)
    assert not new.ended.exists() and not new.status.exists()


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


@pytest.mark.parametrize(("least_rows", "expected"), [(0, 10), (25, 25)])
def test_settings_are_taken(old: Home, least_rows: int, expected: int) -> None:
    old.peer.write_text(
        f'name = "clinic-0"\nlisten = "tls/[::1]:99"\npower_safe = false\nleast_members = 5\n'
        f'metrics = "127.0.0.1:9464"\nbudget = 2.5\nleast_rows = {least_rows}\n'
    )
    settings = OperatorSettings(
        "clinic-0", "tls/[::1]:99", False, "127.0.0.1:9464", 5, expected, budget=2.5
    )
    assert read_old_folder(old.folder).settings == settings


def test_variables_do_not_end_up_in_settings(old: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRGOSSIP_LISTEN", "tls/elsewhere:1")
    assert read_old_folder(old.folder).settings.listen == "tls/127.0.0.1:7450"


def test_a_member_that_joined_afterward_hides_no_result(old: Home) -> None:
    """With 0.2.0 it did: the folder said that there was none."""
    table = json.loads(old.members.read_text())
    table["members"].append(table["members"][0] | {"id": "0" * 64, "name": "late"})
    old.members.write_text(json.dumps(table))
    assert read_old_folder(old.folder).results == {"v1-2.json": RESULT}


def test_a_result_that_not_all_have_signed_is_none(tmp_path: Path, old: Home) -> None:
    with database(old) as base:
        base.execute("DELETE FROM rounds WHERE key = ?", (last_key(base),))
        seal(base)
    assert read_old_folder(old.folder).results == {}
    assert list(make_new(tmp_path, old).results.iterdir()) == []


def test_what_is_in_the_log_counts(tmp_path: Path, old: Home) -> None:
    """A peer that was killed leaves its last saves there."""
    with database(old) as base:
        base.execute("DELETE FROM rounds WHERE key = ?", (last_key(base),))
        seal(base)
        killed = Path(shutil.copytree(old.folder, tmp_path / "killed"))
    assert (killed / "state.sqlite-wal").stat().st_size > 0
    assert (killed / "state.sqlite").read_bytes() == (GIVEN / "clinic-0/state.sqlite").read_bytes()
    assert read_old_folder(killed).results == {}


def test_a_proof_of_a_lie_leaves_no_result(old: Home) -> None:
    with database(old) as base:
        base.execute("INSERT INTO rounds VALUES ('proof', ?, 0)", (b"two contributions",))
        seal(base)
    assert read_old_folder(old.folder).results == {}


def test_a_peer_that_exchanged_rows_leaves_no_result(old: Home) -> None:
    in_database("DELETE FROM rounds")(old)
    found = read_old_folder(old.folder)
    assert (found.results, found.identity.name) == ({}, "clinic-0")


# Refusals


def in_database(statement: str, *values: object, is_sealed: bool = True) -> Callable[[Home], None]:
    def change(home: Home) -> None:
        with database(home) as base:
            base.execute(statement, values)
            if is_sealed:
                seal(base)

    return change


def forge_signature(home: Home) -> None:
    with database(home) as base:
        key = last_key(base)
        (content,) = base.execute("SELECT content FROM rounds WHERE key = ?", (key,)).fetchone()
        forged = content[:-1] + bytes([content[-1] ^ 1])
        base.execute("UPDATE rounds SET content = ? WHERE key = ?", (forged, key))
        seal(base)


def evict_itself(home: Home) -> None:
    evicted = msgspec.msgpack.encode((load_identity(home.folder).id,))
    in_database("UPDATE peer SET evicted = ?", evicted)(home)


def forget_member(home: Home) -> None:
    table = json.loads(home.members.read_text())
    home.members.write_text(json.dumps({"members": table["members"][1:]}))


def change_rows(home: Home) -> None:
    table = json.loads(home.members.read_text())
    for member in table["members"]:
        member["rows"] += 1
    home.members.write_text(json.dumps(table))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda home: shutil.rmtree(home.folder), r"There is no folder .*old: check the path that"),
        (lambda home: home.peer.unlink(), r"old is not the folder of a peer: let --from name one"),
        (lambda home: home.state.unlink(), r"state\.sqlite is missing in .*old: restore it"),
        (lambda home: home.key.chmod(0o644), r"Others can read the key .*: run chmod 600 "),
        (in_database("PRAGMA user_version = 10"), r"is newer than pairgossip 0\.2 \(its format is"),
        (in_database("PRAGMA user_version = 8"), r"is older than pairgossip 0\.2 .*without --from"),
        (in_database("PRAGMA application_id = 1"), r"is damaged \(it is not a peer's state\)"),
        (
            in_database("UPDATE rounds SET content = x'00'", is_sealed=False),
            r"is damaged \(a checksum is wrong\) and was left as it is: put a good copy back",
        ),
        (
            in_database("DELETE FROM rounds WHERE key LIKE '3/%'", is_sealed=False),
            r"is damaged \(a row is missing, or is not the latest\)",
        ),
        (in_database("DELETE FROM peer", is_sealed=False), "is damaged"),
        (in_database("UPDATE rounds SET content = x'00' WHERE key > '0'"), "is damaged"),
        (lambda home: home.state.write_bytes(home.state.read_bytes()[:9000]), "is damaged"),
        (lambda home: home.state.write_bytes(b"no database" * 1000), r"is damaged \(file is not"),
        (forge_signature, r"is damaged \(a signature is not that of the result\)"),
        (change_rows, r"is damaged \(the signed result is of other members, rows or another"),
        (evict_itself, "have evicted the peer in .*old, and never listen to its key again: make a"),
        (lambda home: note_eviction(home, Evicted("0", "b", 1.0)), "have evicted the peer in"),
        (lambda home: home.spec.write_text(SPEC), r"spec\.toml is not the one that state\.sqlite"),
        (forget_member, r"members\.json does not list [0-9a-f]{16}, who signed the result: put"),
        (lambda home: home.peer.write_text("listen = 3"), r"peer\.toml: listen must be text in"),
    ],
)
def test_what_cannot_be_taken_is_refused(
    old: Home, change: Callable[[Home], object], sentence: str
) -> None:
    change(old)
    with pytest.raises(InputError, match=sentence):
        read_old_folder(old.folder)


def test_a_running_peer_is_left_alone(old: Home) -> None:
    with old.lock(), pytest.raises(InputError, match=r"The peer in .*old is running: stop it"):
        read_old_folder(old.folder)


def test_another_key_is_refused(old: Home) -> None:
    with database(old) as base:
        base.execute("UPDATE about SET value = ? WHERE key = 'peer'", ("0" * 64,))
        seal(base)
    with pytest.raises(InputError, match=r"key\.pem is not the one that state\.sqlite was made"):
        read_old_folder(old.folder)


def test_an_expired_certificate_is_of_no_use(old: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_folder, "is_expired", lambda _: True)
    with pytest.raises(InputError, match=r"cert\.pem expired on 2126-.*: make a new peer, without"):
        read_old_folder(old.folder)


@pytest.mark.parametrize(
    ("module", "step"),
    [(old_folder, "write_new"), (old_folder, "sync"), (founding, "_first_journal")],
)
def test_a_failure_leaves_nothing_half_made(
    tmp_path: Path, old: Home, monkeypatch: pytest.MonkeyPatch, module: Any, step: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, step, fail)
        with pytest.raises(InputError, match=r"The disk is full: .*new could not be written"):
            make_new(tmp_path, old)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new.toml", "old", "rows.csv"]
    assert make_new(tmp_path, old).results.is_dir()


def test_an_old_folder_says_what_to_do_with_it(old: Home) -> None:
    """Its settings, as 0.2.0 wrote them, are no mistake of its operator."""
    with pytest.raises(InputError, match=r"was made by pairgossip 0\.2: make a new folder with"):
        read_snapshot(open_home(old.folder))
