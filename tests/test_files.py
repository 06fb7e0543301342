from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pairgossip import InputError
from pairgossip.files import read_bytes, write_text


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
    assert str(refusal.value) == f"Cannot write {file}: No space left on device."
    assert file.read_text() == "precious"
    assert list(file.parent.iterdir()) == [file]


def test_others_may_read_what_is_written(file: Path) -> None:
    write_text(file, ["new"])
    plain = file.with_name("plain")
    plain.write_text("")
    assert file.stat().st_mode == plain.stat().st_mode


def test_a_missing_file_is_named(file: Path) -> None:
    with pytest.raises(InputError) as refusal:
        read_bytes(file)
    assert str(refusal.value) == f"Cannot read {file}: No such file or directory."
