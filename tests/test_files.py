from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairgossip import InputError
from pairgossip.files import (
    LARGEST_TOML,
    interrupts_later,
    is_locked,
    lock,
    parse_toml,
    read_bytes,
    replace,
    replacing,
    sync,
    write_text,
)

UNIX = pytest.mark.skipif(sys.platform == "win32", reason="files and signals as on Unix")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "text.txt"


def test_an_interrupted_write_leaves_the_old_file(file: Path) -> None:
    file.write_text("precious")

    def pieces() -> Iterator[str]:
        yield "half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_text(file, pieces())
    assert file.read_text() == "precious"
    assert list(file.parent.iterdir()) == [file]


def test_a_full_disk_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("precious")

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(InputError) as refusal:
        write_text(file, ["new"])
    assert str(refusal.value) == (
        f"The disk is full: {file} could not be written; what was there before is intact, so free "
        "some space."
    )
    assert file.read_text() == "precious"
    assert list(file.parent.iterdir()) == [file]


@UNIX
def test_others_may_read_what_is_written(file: Path) -> None:
    write_text(file, ["new"])
    plain = file.with_name("plain")
    plain.write_text("")
    assert file.stat().st_mode == plain.stat().st_mode


@UNIX
def test_a_file_that_is_too_long_is_refused_before_it_is_read(file: Path) -> None:
    file.write_bytes(b"12345")
    assert read_bytes(file, 5) == b"12345"
    with pytest.raises(InputError, match="is longer than 4 bytes: check that it is the right one"):
        read_bytes(file, 4)
    with pytest.raises(InputError, match="is longer than 4 bytes"):
        read_bytes(Path("/dev/zero"), 4)


NESTED = "nested too deeply: write it with fewer levels"
DEEP = {
    "a dotted key": "a" + ".a" * 50_000 + " = 1",
    "with spaces": "a" + " \t. a" * 50_000 + " = 1",
    "quoted": '"a"' + '."a"' * 40_000 + " = 1",
    "quoted by an apostrophe": "'a'" + ".'a'" * 40_000 + " = 1",
    "empty parts": '""' + '.""' * 50_000 + " = 1",
    "a table": "x = 1\n[a" + ".a" * 50_000 + "]",
    "an array of tables": "[[a" + ".a" * 50_000 + "]]",
    "an inline table": "x = {a" + ".a" * 50_000 + " = 1}",
    "after a string with an escaped quote": 'x = "\\""\na' + ".a" * 50_000 + " = 1",
    "arrays": "x = " + "[" * 10_000 + "]" * 10_000,
    "inline tables": "x = " + "{a=" * 10_000 + "1" + "}" * 10_000,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_toml_that_would_take_all_memory_is_refused_before_it_is_parsed(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loads(text: str) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr("tomllib.loads", loads)
    with pytest.raises(InputError, match=NESTED) as caught:
        parse_toml(text)
    assert len(str(caught.value)) < 100


def test_toml_that_is_too_long_is_refused() -> None:
    assert parse_toml("#" * LARGEST_TOML) == {}
    with pytest.raises(InputError, match="The file is longer than 262,144 characters: shorten it"):
        parse_toml("#" * (LARGEST_TOML + 1))


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("x = [" + "0.5, " * 10_000 + "1.5]", {"x": [0.5] * 10_000 + [1.5]}),
        ('x = "' + "a." * 1000 + '"', {"x": "a." * 1000}),
        ("# " + "a." * 1000 + "\nx = 1", {"x": 1}),
        ("x = '''\n" + "a.\n" * 1000 + "'''", {"x": "a.\n" * 1000}),
        ('x = """' + "a.\n" * 1000 + '"""', {"x": "a.\n" * 1000}),
        ('x = "' + "[" * 1000 + '"', {"x": "[" * 1000}),
        ("a.b.c.d.e.f.g.h = 1.25", {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1.25}}}}}}}}),
        ("x = {a = [[1, 2]]}", {"x": {"a": [[1, 2]]}}),
    ],
)
def test_toml_of_many_dots_that_is_not_deep(text: str, table: object) -> None:
    assert parse_toml(text) == table


@pytest.mark.parametrize("text", ["x = ", "x = " + "1" * 5000, 'x = "', 'x = """\\', "[[["])
def test_toml_that_is_not_valid(text: str) -> None:
    with pytest.raises(InputError, match=r"^This is not valid TOML: "):
        parse_toml(text)


@pytest.mark.parametrize(
    "text", ['"' * LARGEST_TOML, '"\\' * (LARGEST_TOML // 2), "a" * LARGEST_TOML]
)
def test_toml_is_looked_at_in_one_pass(text: str) -> None:
    """Scanning again from every character would take minutes."""
    with pytest.raises(InputError):
        parse_toml(text)


@UNIX
@pytest.mark.parametrize("where", ["__init__", "open", "close"])
def test_ctrl_c_in_an_archive_waits_for_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """An exception there would make `zipfile` raise or print its own errors."""
    usual = getattr(zipfile.ZipFile, where)
    printed: list[object] = []

    def interrupted(*arguments: Any, **options: Any) -> Any:
        result = usual(*arguments, **options)
        signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    with monkeypatch.context() as patched:
        patched.setattr(zipfile.ZipFile, where, interrupted)
        with pytest.raises(KeyboardInterrupt), replacing(file) as opened:
            np.savez(opened, values=np.arange(3))
            patched.undo()  # only one Ctrl-C
    assert printed == []
    assert list(file.parent.iterdir()) == [file]
    assert np.load(file)["values"].tolist() == [0, 1, 2]


@UNIX
def test_a_second_ctrl_c_does_not_wait() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), interrupts_later():
        signal.raise_signal(signal.SIGINT)
        reached.append("after the first")
        signal.raise_signal(signal.SIGINT)
        reached.append("after the second")
    assert reached == ["after the first"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@UNIX
def test_a_file_is_replaced_at_once(file: Path) -> None:
    replace(file, b"old")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"old", 0o600)
    replace(file, b"new", mode=0o644, durable=False)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o644)
    assert list(file.parent.iterdir()) == [file]


@UNIX
def test_a_replacement_that_fails_leaves_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace(file, b"old")

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(InputError, match="The disk is full"):
        replace(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(file.parent.iterdir()) == [file]


@pytest.fixture
def macos(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give this system macOS's way of syncing; return the list of calls."""
    fcntl = pytest.importorskip("fcntl")
    called: list[str] = []

    def full(descriptor: int, command: int) -> None:
        assert command == 51 and os.fstat(descriptor)
        called.append("full")

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", full)
    monkeypatch.setattr(os, "fsync", lambda _: called.append("fsync"))
    return called


def test_macos_is_asked_to_wait_for_the_disk_itself(file: Path, macos: list[str]) -> None:
    replace(file, b"new")
    assert macos == ["full", "full"]  # the file, and the folder with its name


@pytest.mark.parametrize(
    ("answer", "called"), [(errno.ENOTSUP, ["fsync"]), (errno.ENOTTY, ["fsync"]), (errno.EIO, [])]
)
def test_a_disk_without_the_way_of_macos_is_synced_as_usual(
    file: Path, macos: list[str], monkeypatch: pytest.MonkeyPatch, answer: int, called: list[str]
) -> None:
    """A disk that has failed is not asked again: it might then report success."""

    def refusing(*_: object) -> None:
        raise OSError(answer, os.strerror(answer))

    file.write_bytes(b"new")
    monkeypatch.setattr("fcntl.fcntl", refusing)
    if called:
        sync(file)
    else:
        with pytest.raises(OSError, match=os.strerror(answer)):
            sync(file)
    assert macos == called


@UNIX
def test_a_draft_of_a_killed_process_is_overwritten(file: Path) -> None:
    draft = file.with_name(f".{file.name}.new")
    draft.write_text("half of")
    replace(file, b"whole")
    assert list(file.parent.iterdir()) == [file]


@UNIX
@pytest.mark.parametrize("is_folder", [False, True])
def test_what_is_locked_cannot_be_locked_again(file: Path, is_folder: bool) -> None:
    path = file.parent if is_folder else file
    assert not is_locked(path)
    with lock(path):
        assert is_locked(path)
        with pytest.raises(BlockingIOError), lock(path, wait=0.1):
            pass
    assert not is_locked(path)
    with lock(path):
        pass


@UNIX
def test_a_lock_is_waited_for(file: Path) -> None:
    with ThreadPoolExecutor() as pool:
        with lock(file) as descriptor:
            os.write(descriptor, b"first")
            waiting = pool.submit(_read_locked, file)
            os.write(descriptor, b" and last")
        assert waiting.result() == b"first and last"


def _read_locked(path: Path) -> bytes:
    with lock(path, wait=60.0):
        return path.read_bytes()


NEW_TYPES = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Optional

import msgspec
from pairgossip.files import read_struct

sys.setswitchinterval(1e-6)
path = Path(sys.argv[1])
with ThreadPoolExecutor(8) as threads:
    for _ in range(200):
        inner = msgspec.defstruct("Inner", [(f"i{k}", Optional[int], None) for k in range(9)])
        fields = [(f"f{k}", dict[str, inner], {}) for k in range(9)]
        outer = msgspec.defstruct("Outer", fields)
        readings = threads.map(lambda _: read_struct(path, 99, outer, "one"), range(8))
        assert all(one == outer(f8={"a": inner(1)}) for one in readings)
"""


def test_threads_that_meet_a_type_at_once_read_it_whole(file: Path) -> None:
    file.write_text('{"f8": {"a": {"i0": 1}}}')
    subprocess.run([sys.executable, "-c", NEW_TYPES, file], check=True, timeout=120)
