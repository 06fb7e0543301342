"""The witness beside a database: what it detects, and what it must not take for damage."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.protocol.state import Save, State
from pairgossip.peer.service import descriptors
from pairgossip.peer.storage import witness
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.journal_file import export
from pairgossip.peer.storage.witness import _PLACES, _SIZE, Witness, create_witness, witness_of
from tests.peer.damage import contents, put
from tests.peer.test_journal import loaded, opened, some_state

ADVICE = "have the other members evict this peer, and join again from a new folder"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.sqlite"


def start_machine_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restart the machine, however it was stopped."""
    monkeypatch.setattr(witness, "_running_system", lambda: b"started anew".ljust(16))


def saved(path: Path, syncs: list[bool]) -> list[State]:
    """Save states, synced or not, until the process is killed; return them."""
    states = [some_state()]
    with opened(path) as journal:
        journal.save(Save(states[0], sync=True, everything=True))
        files = [contents(path.parent)]
        for sync in syncs:
            states.append(replace(states[-1], seq=states[-1].seq + 1))
            journal.save(Save(states[-1], sync=sync))
            files.append(contents(path.parent))
    put(path.parent, files[-1])
    (path.parent / "logs").mkdir()
    for number, each in enumerate(files):
        (path.parent / "logs" / str(number)).write_bytes(each["state.sqlite-wal"])
    return states


def lose_saves(path: Path, left: int) -> None:
    """Let the log end after this many of the saves that followed the first."""
    Path(f"{path}-wal").write_bytes((path.parent / "logs" / str(left)).read_bytes())


@pytest.mark.parametrize(
    "syncs", [[True] * 3, [False] * 3, [True, False, True], [True, True, False]]
)
def test_a_log_that_lost_its_last_save_is_refused(path: Path, syncs: list[bool]) -> None:
    states = saved(path, syncs)
    assert export(path)["seq"] == states[-1].seq
    for left in range(3):
        lose_saves(path, left)
        before = contents(path.parent)
        for attempt in (lambda: SqliteJournal(path, create=False), lambda: export(path)):
            with pytest.raises(InputError) as caught:
                attempt()
            assert str(caught.value) == (
                f"{path} is older than what state.witness beside it knows ({left + 1} saves of 4): "
                f"its log was lost or damaged, or it was restored from a backup. It was left as it "
                f"is: {ADVICE}."
            )
        assert contents(path.parent)["state.sqlite-wal"] == before["state.sqlite-wal"]


def test_a_power_failure_may_undo_what_was_not_synced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes from before the restart do not count; counting continues from what is left."""
    states = saved(path, [True, False, False, False])
    start_machine_again(monkeypatch)
    lose_saves(path, 1)
    assert loaded(path) == states[1]
    later = replace(states[1], seq=100)
    with opened(path, create=False) as journal:
        for step in range(5):  # beyond the number that was noted before
            later = replace(later, seq=100 + step)
            journal.save(Save(later, sync=True))
            assert export(path)["seq"] == 100 + step
    assert loaded(path) == later


def test_a_power_failure_never_undoes_what_was_synced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(path, [True, True, False])
    start_machine_again(monkeypatch)
    lose_saves(path, 1)
    with pytest.raises(InputError, match=r"is older than what state.witness .*2 saves of 4"):
        loaded(path)


def test_a_second_power_failure_meets_no_note_of_before_the_first(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note of a start is on the disk before the first save, in both places."""
    saved(path, [True, False, False])
    lose_saves(path, 1)
    start_machine_again(monkeypatch)
    on_the_disk: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda _: on_the_disk.append(witness_of(path).read_bytes()))
    with opened(path, create=False):
        (content,) = on_the_disk
    notes = [witness._unpack(content[place:]) for place in _PLACES]
    assert [note.saves for note in notes if note is not None] == [2, 2]


def test_a_save_that_was_not_noted_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kill is between commit and note: nobody was told, so either state is acceptable."""
    states = saved(path, [True])
    journal = SqliteJournal(path, create=False)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(journal._witness, "note", killed)
    with pytest.raises(KeyboardInterrupt):
        journal.save(Save(replace(states[-1], seq=50), sync=True))
    monkeypatch.undo()
    files = contents(path.parent)
    journal.close()
    put(path.parent, files)
    assert loaded(path) == replace(states[-1], seq=50)


def test_the_note_follows_the_commit_and_precedes_what_is_sent(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    with opened(path) as journal:
        journal._base.set_trace_callback(order.append)
        monkeypatch.setattr(journal._witness, "note", lambda *_, **__: order.append("note"))
        journal.save(Save(some_state(), sync=True, everything=True))
        order.append("sent")
    assert order[order.index("COMMIT") :] == ["COMMIT", "note", "sent"]


def test_a_note_costs_no_sync(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as journal:
        synced: list[int] = []
        monkeypatch.setattr(os, "fsync", synced.append)
        monkeypatch.setattr(os, "fdatasync", synced.append)
        for sync in (True, False, True):
            journal.save(Save(some_state(), sync=sync, everything=True))
        assert synced == [] and witness_of(path).stat().st_size == _SIZE
        monkeypatch.undo()


def test_another_state_after_as_many_saves_is_refused(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / path.name
    other.parent.mkdir()
    for place, seq in ((path, 50), (other, 51)):
        with opened(place) as journal:
            journal.save(Save(replace(some_state(), seq=seq), sync=True, everything=True))
    path.write_bytes(other.read_bytes())
    with pytest.raises(InputError, match=r"is not the state that state\.witness beside it knows"):
        loaded(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "There is no "),
        (b"", "is damaged, so nobody knows"),
        (b"x" * _SIZE, "is damaged, so"),
    ],
)
def test_without_a_witness_nobody_vouches(path: Path, content: bytes | None, sentence: str) -> None:
    saved(path, [True])
    witness_of(path).unlink()
    if content is not None:
        witness_of(path).write_bytes(content)
    with pytest.raises(InputError, match=sentence) as caught:
        loaded(path)
    assert ADVICE in str(caught.value) and "state.witness" in str(caught.value)


def test_a_note_that_power_has_cut_leaves_the_one_before(path: Path) -> None:
    states = saved(path, [True, True])
    for place in _PLACES:
        file = witness_of(path)
        content = bytearray(file.read_bytes())
        content[place + 20 : place + 60] = bytes(40)
        kept = file.read_bytes()
        file.write_bytes(content)
        files = contents(path.parent)
        assert loaded(path) == states[-1]
        put(path.parent, {**files, "state.witness": kept})


def test_where_the_system_has_no_name_only_what_was_synced_counts(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witness, "_BOOT", path / "nowhere")
    states = saved(path, [True, False])
    lose_saves(path, 1)
    assert loaded(path) == states[1]


def test_a_witness_that_cannot_be_synced_leaves_no_descriptor_open(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_witness(path)
    before = descriptors.count_descriptors()

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(InputError, match="The disk is full"):
        Witness(path, 0, 0)
    assert descriptors.count_descriptors() == before
