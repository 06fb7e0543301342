"""Which saved results are found, and what is said of those that are none."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.watch.results import files
from pairgossip.watch.results.files import ResultFile, find_results


def save_run(path: Path, seed: int = 0) -> pg.Run:
    data = np.array([1.0, 2.0, 4.0, 7.0, 11.0])
    run = pg.estimate(data, "gini", pg.graphs.cycle(5), iterations=300, trials=3, seed=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    run.save(path)
    return run


def only(path: Path) -> ResultFile:
    (file,) = find_results([path]).files.values()
    return file


def test_files_and_folders(tmp_path: Path) -> None:
    save_run(tmp_path / "alone.npz")
    save_run(tmp_path / "folder" / "results" / "auc" / "ring.npz")
    save_run(tmp_path / "folder" / "results" / "auc" / "ring.unfinished.npz")
    (tmp_path / "folder" / "settings.json").write_text("{}")
    (tmp_path / "folder" / "report.html").write_text("<p>")
    found = find_results([tmp_path / "alone.npz"], [tmp_path / "folder"])
    assert [(one.group, one.name) for one in found.files.values()] == [
        ("", "alone.npz"),
        ("auc", "ring"),
    ]
    assert found.reproductions == [tmp_path / "folder"]
    assert list(found.reports.values()) == [tmp_path / "folder" / "report.html"]
    again = find_results([tmp_path / "alone.npz"], [tmp_path / "folder"])
    assert list(again.files) == list(found.files)  # a shared link finds the same


def test_a_run_is_read(tmp_path: Path) -> None:
    run = save_run(tmp_path / "run.npz")
    file = only(tmp_path / "run.npz")
    assert np.array_equal(file.load().error, run.error)
    assert file.header()["kernel"] == "gini"


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^There is no file .*none\.npz: check the path\.$"):
        find_results([tmp_path / "none.npz"])
    with pytest.raises(InputError, match=r"^There is no folder .*none: check the path\.$"):
        find_results([], [tmp_path / "none"])
    with pytest.raises(InputError, match="holds no saved run: give a folder"):
        find_results([], [tmp_path])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text", b"\x00" * 500])
def test_damaged_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.npz").write_bytes(content)
    file = only(tmp_path / "run.npz")
    for read in (file.load, file.header):
        with pytest.raises(InputError, match="is not a run saved by pairgossip, or is damaged"):
            read()


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    np.savez(tmp_path / "run.npz", numbers=np.arange(3))
    file = only(tmp_path / "run.npz")
    for read in (file.load, file.header):
        with pytest.raises(InputError, match="is not a run saved by pairgossip, or is damaged"):
            read()


def test_a_cut_file(tmp_path: Path) -> None:
    save_run(tmp_path / "run.npz")
    whole = (tmp_path / "run.npz").read_bytes()
    (tmp_path / "run.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="is damaged"):
        only(tmp_path / "run.npz").load()


def test_a_small_file_that_unfolds_to_a_large_one(tmp_path: Path) -> None:
    save_run(tmp_path / "run.npz")
    with (
        zipfile.ZipFile(tmp_path / "run.npz", "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("more.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(129):
            member.write(bytes(1 << 24))
    file = only(tmp_path / "run.npz")
    assert file.path.stat().st_size < 1 << 22
    for read in (file.load, file.header):
        with pytest.raises(InputError, match=r"unfolds to 2\.0 GiB, and at most 2\.0 are read"):
            read()


def test_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 2)
    for number in range(3):
        (tmp_path / f"{number}.npz").write_bytes(b"")
    with pytest.raises(InputError, match="more than 2 saved runs: give fewer at once"):
        find_results([], [tmp_path])


def test_names_are_harmless(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J.npz").write_bytes(b"")
    (file,) = find_results([], [tmp_path]).files.values()
    assert file.name == "a\\x1b[2J"
