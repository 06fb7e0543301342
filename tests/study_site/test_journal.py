"""The journal of a study: saves are atomic, and erased secrets are gone."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import NO_DIGEST, Question, Statement, digest_of, encode
from pairgossip.study.protocol.site import Kept, Save, State
from pairgossip.study.storage import journal as journals
from pairgossip.study.storage.journal import StudyJournal


class Killed(BaseException):
    """The process is killed here."""


def begin(folder: Path) -> StudyJournal:
    return StudyJournal(folder / "study.sqlite", folder / "secrets", power_safe=False)


def question(number: int) -> Question:
    return Question(member="a", list=NO_DIGEST, number=number, text="which", expires=0)


def statement(about: bytes, member: str = "a") -> Statement:
    return Statement(member=member, question=about, attempt=0, transcript=about, public=b"1")


def test_what_was_saved_is_loaded_in_its_order(tmp_path: Path) -> None:
    journal, asked = begin(tmp_path), question(1)
    name = digest_of(asked)
    first, second = encode(asked), encode(statement(name))
    journal.save(Save((Kept(first), Kept(second, is_shown=False)), {"key": b"k"}, (), {"n": b"1"}))
    journal.save(Save((Kept(second),), {"chain": b"c", "key": None}, (), {"n": None, "m": b"2"}))
    journal.close()
    journal = begin(tmp_path)
    assert journal.load() == State((Kept(first), Kept(second)), {"chain": b"c"}, {"m": b"2"})
    assert journal.number_of(name) == 1 and journal.numbers == {1: name}
    journal.close()


def test_what_is_archived_or_forgotten_is_not_loaded(tmp_path: Path) -> None:
    journal, asked, other = begin(tmp_path), question(1), question(2)
    name = digest_of(asked)
    mine, theirs = statement(name), statement(name, "b")
    records = (asked, mine, theirs, other)
    journal.save(Save(tuple(Kept(encode(one)) for one in records)))
    journal.save(Save(forgotten=(digest_of(theirs),), archived=name))
    assert journal.load().records == (Kept(encode(other)),)
    assert journal.archived(name) == journal.records_of(name) == [encode(asked), encode(mine)]
    assert journal.numbers == {1: name, 2: digest_of(other)}
    with pytest.raises(KeyError):
        journal.number_of(b"unknown")
    journal.close()


def test_staged_notes_are_seen_and_written_with_the_next_save(tmp_path: Path) -> None:
    journal = begin(tmp_path)
    journal.stage("site", "a", b"1")
    journal.stage("site", "b", b"2")
    assert journal.notes("site") == {"a": b"1", "b": b"2"}
    assert begin(tmp_path).notes("site") == {}
    journal.save(Save())
    journal.stage("site", "a", None)
    assert journal.notes("site") == {"b": b"2"} and journal.note("site", "a") is None
    assert begin(tmp_path).note("site", "a") == b"1"
    journal.flush()
    assert begin(tmp_path).notes("site") == {"b": b"2"}
    assert begin(tmp_path).load().notes == {}


def test_secrets_are_the_owners_and_marked_against_backups(tmp_path: Path) -> None:
    journal = begin(tmp_path)
    journal.save(Save(secrets={"key": b"secret bytes"}))
    folder = tmp_path / "secrets"
    (file,) = folder.glob("*.secret")
    assert file.stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f0688")
    assert not any(b"secret bytes" in one.read_bytes() for one in tmp_path.glob("study.sqlite*"))
    with open(file, "rb") as held:
        journal.save(Save(secrets={"key": None}))
        assert held.read() == bytes(len(b"secret bytes"))  # overwritten before it is removed
    assert not list(folder.glob("*.secret"))
    journal.close()


def test_a_backup_without_secrets_is_loaded_without_them(tmp_path: Path) -> None:
    journal = begin(tmp_path)
    journal.save(Save(secrets={"key": b"1", "other": b"2"}))
    next((tmp_path / "secrets").glob("*.secret")).unlink()
    assert len(journal.load().secrets) == 1
    journal.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE records SET content = CAST(x'00' || content AS BLOB)",
        "UPDATE records SET content = 'text'",
        "UPDATE notes SET content = x'31' WHERE name = 'n'",
        "UPDATE notes SET name = 'm' WHERE name = 'n'",
    ],
)
def test_damage_is_noticed(tmp_path: Path, damage: str) -> None:
    journal = begin(tmp_path)
    journal.save(Save((Kept(encode(question(1))),), notes={"n": b"2"}))
    journal.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "study.sqlite")) as base, base:
        base.execute(damage)
    journal = begin(tmp_path)
    with pytest.raises(InputError, match="is damaged"):
        journal.load()
    journal.close()


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "study.sqlite").write_bytes(b"not a database, and longer than sixteen bytes")
    with pytest.raises(InputError):
        begin(tmp_path)
    (tmp_path / "study.sqlite").unlink()
    begin(tmp_path).close()
    with contextlib.closing(sqlite3.connect(tmp_path / "study.sqlite")) as base, base:
        base.execute("PRAGMA user_version = 2")
    with pytest.raises(InputError, match="newer version"):
        begin(tmp_path)


STEPS = (
    Save((Kept(encode(question(1))),), {"key": b"1"}, (), {"phase": b"0"}),
    Save((Kept(b"words", False),), {"key": None, "chain": b"2"}, (), {"phase": b"1"}),
    Save((Kept(b"words"),), {"chain": b"3"}, (), {"phase": b"2"}),
    Save((), {"chain": None}, (digest_of(question(1)),), {"phase": None, "end": b"1"}),
)


class Mortal:
    """Calls that change the disk, at one of which the process is killed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 0
        for place, name in (
            *((journals, "write_new"), (journals, "sync"), (journals, "_put_note")),
            *((os, "fsync"), (Path, "unlink"), (StudyJournal, "_write_record")),
        ):
            monkeypatch.setattr(place, name, self._wrap(getattr(place, name)))

    def _wrap(self, function: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise Killed
            return function(*given, **named)

        return call


def test_a_kill_at_any_point_leaves_one_save_or_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mortal = Mortal(monkeypatch)
    (tmp_path / "whole").mkdir()
    journal = begin(tmp_path / "whole")
    states = [journal.load()]
    for step in STEPS:
        journal.save(step)
        states.append(journal.load())
    journal.close()
    for at in range(1, 100):
        folder, done, mortal.left = tmp_path / str(at), 0, at
        folder.mkdir()
        with contextlib.suppress(Killed):
            journal = begin(folder)
            for step in STEPS:
                journal.save(step)
                done += 1
        if mortal.left > 0:
            break
        journal.close()
        again = begin(folder)
        state = again.load()
        assert state in states[done : done + 2]
        assert len(list((folder / "secrets").glob("*.secret"))) == len(state.secrets)
        for step in STEPS[states.index(state, done) :]:
            again.save(step)
        assert again.load() == states[-1]
        again.close()
    assert 20 < at < 99
