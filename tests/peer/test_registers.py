"""The files of the register: links, damage, crashes, and concurrent writers."""

from __future__ import annotations

import multiprocessing
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping import sealed
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.registers import hold_registers
from pairgossip.peer.bookkeeping.releases import (
    check_release,
    tell_release,
)
from tests.peer.snapshots import OTHERS, RISK, ROWS, count, note, prepare, snapshot


def test_registers_tell_nothing_and_are_their_owners_alone(data: Path) -> None:
    note(snapshot(data, ids=[f"Patient-{k}" for k in range(ROWS)]))
    for place in registers_of(data):
        content = place.read_bytes()
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        assert b"Patient" not in content
        assert os.fsencode(data) not in content
        assert RISK[:1].tobytes() not in content
        place.chmod(0o644)
        with pytest.raises(InputError, match="Others can read the register of releases"):
            count(snapshot(data))
        place.chmod(0o600)


def test_paths_are_known_by_a_secret_of_each_register(data: Path) -> None:
    sources = []
    for _ in range(2):
        prepare(snapshot(data))
        with hold_registers(registers_of(data)) as registers:
            sources += [one.releases[0].source for one in registers.values()]
        for place in registers_of(data):
            place.unlink()
    assert len(sources) == 4 and len(set(sources)) == 2  # both begin with the same secret


def test_links_and_folders_lead_to_one_register(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.touch()
    link = tmp_path / "link.csv"
    link.symlink_to(data)
    assert registers_of(link) == registers_of(data)
    assert registers_of(data)[0] == data.with_name("a.csv.releases").resolve()
    assert registers_of(Path("-")) == registers_of(data)[1:]
    elsewhere = tmp_path / "kept"
    assert registers_of(data, elsewhere)[0] == elsewhere.resolve()
    note(snapshot(data))
    with pytest.raises(InputError, match="leave --register out"):
        registers_of(data, elsewhere)
    monkeypatch.delenv("PAIRGOSSIP_RELEASES")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert registers_of(data)[1] == (tmp_path / "xdg" / "pairgossip" / "releases").resolve()
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert registers_of(data)[1] == (tmp_path / ".local/state/pairgossip/releases").resolve()


def test_a_missing_register_is_refused(data: Path) -> None:
    places = beside, own = registers_of(data)
    prepare(snapshot(data))
    beside.unlink()
    assert check_release(places, snapshot(data, OTHERS)) == []  # nothing was released yet
    key = note(snapshot(data))
    tell_release((beside, own.with_name("away")), key, "table")  # one of them suffices
    beside.unlink()
    with pytest.raises(InputError, match=rf"no register of releases {beside} any more"):
        check_release(places, snapshot(data, OTHERS))
    own.unlink()
    with pytest.raises(InputError, match=rf"knows this peer's rows is not there \({beside} and"):
        tell_release(places, key)


@pytest.mark.parametrize("place", [0, 1])
def test_a_damaged_register_is_refused_and_left(data: Path, place: int) -> None:
    key = note(snapshot(data))
    path = registers_of(data)[place]
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    for damage in (bytes(flipped), content[: len(content) // 2], content[:-9], content * 2):
        path.write_bytes(damage)
        with pytest.raises(InputError, match="damaged or was edited, and nothing is released"):
            tell_release(registers_of(data), key)
        assert path.read_bytes() == damage
    for other in (b"", b"rows\n1\n"):
        path.write_bytes(other)
        with pytest.raises(InputError, match="is not a register of releases"):
            note(snapshot(data, OTHERS))
        assert path.read_bytes() == other


def test_a_newer_register_is_refused(data: Path) -> None:
    note(snapshot(data))
    path = registers_of(data)[0]
    body = path.read_bytes()[:-66].replace(b"version\x02", b"version\x03")
    path.write_bytes(body + b"\n" + sealed.seal_of(body) + b"\n")
    with pytest.raises(InputError, match="written by a newer version"):
        note(snapshot(data))


def _end_before(last: int, act: Callable[[], object]) -> int:
    """Let a process end before its last write to the disk; return its exit code."""
    child = os.fork()
    if child == 0:
        left = iter(range(last))
        for module, name in ((os, "replace"), (files, "sync_descriptor"), (os, "open")):
            usual = getattr(module, name)

            def end_or(
                *given: object, usual: Callable[..., object] = usual, **more: object
            ) -> object:
                if next(left, None) is None:
                    os._exit(9)
                return usual(*given, **more)

            setattr(module, name, end_or)
        try:
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_crash_anywhere_leaves_registers_that_go_on(data: Path) -> None:
    places, codes = registers_of(data), list[int]()
    while not codes or codes[-1] == 9:
        key = prepare(snapshot(data))
        codes.append(_end_before(len(codes), lambda key=key: tell_release(places, key)))  # type: ignore[misc]
        if codes[-1] == 0:  # it would have revealed the bit
            with pytest.raises(InputError, match="others can subtract"):
                prepare(snapshot(data), "second")
        tell_release(places, key)
        assert count(snapshot(data)) == [ROWS]
        left = {file.name for place in places for file in place.parent.iterdir()}
        assert left <= {"a.csv.releases", "releases"}
        for place in places:
            place.unlink()
    assert codes[-1] == 0
    assert len(codes) > 10


def test_it_is_on_the_disk_before_it_returns(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Content is synced before the name, and the name before it is used; also after a restart."""
    key, calls = prepare(snapshot(data)), list[str]()
    for module, name in ((os, "replace"), (files, "sync"), (files, "sync_descriptor")):
        usual = getattr(module, name)

        def noting(
            *given: object, usual: Callable[..., object] = usual, name: str = name, **more: object
        ) -> object:
            calls.append(name)
            return usual(*given, **more)

        monkeypatch.setattr(module, name, noting)
    tell_release(registers_of(data), key)
    assert calls == ["sync_descriptor", "replace", "sync", "sync_descriptor"] * 2
    calls.clear()
    tell_release(registers_of(data), key)
    assert calls == ["sync", "sync_descriptor"] * 4


@pytest.mark.parametrize("place", [0, 1])
def test_who_waits_too_long_is_told(
    data: Path, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(snapshot(data))
    monkeypatch.setattr(sealed, "_PATIENCE", 0.1)
    with (
        files.lock(registers_of(data)[place].parent),
        pytest.raises(InputError, match="Another process is using the register of releases"),
    ):
        note(snapshot(data))


def _note_one(data: Path, study: str, told: multiprocessing.Queue[str]) -> None:
    try:
        note(snapshot(data), study)
        told.put(study)
    except InputError as problem:
        told.put(str(problem))


def test_of_two_at_once_one_is_refused(data: Path) -> None:
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    studies = ["one", "two"]
    started = [context.Process(target=_note_one, args=(data, one, told)) for one in studies]
    for process in started:
        process.start()
    answers = [told.get(timeout=60) for _ in started]
    for process in started:
        process.join()
    (won,) = [one for one in answers if one in studies]
    (refused,) = [one for one in answers if one != won]
    assert f"to study {won}" in refused
