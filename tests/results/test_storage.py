from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

import pairgossip as pg
from pairgossip import InputError
from pairgossip.results import storage as archive_module
from tests.problems import rows

GRAPH = pg.graphs.watts_strogatz(12, 4, 0.3, seed=1)


def example(**settings: Any) -> pg.Run:
    chosen: dict[str, Any] = {"kernel": "gini", "graph": GRAPH, "iterations": 200, "trials": 2}
    return pg.estimate(rows(12), seed=0, **(chosen | settings))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"clock": "async"},
        {"method": "u1"},
        {"record": "summary"},
        {"graph": "complete"},
        {"graph": pg.Graph.from_networkx(networkx.relabel_nodes(networkx.cycle_graph(12), str))},
        {"graph": pg.Graph.complete_on(12, names=[f"n{k}" for k in range(12)])},
        {"graph": pg.graphs.random_geometric(12, 0.7, seed=0)},
        {"kernel": None, "method": "averaging"},
    ],
    ids=str,
)
def test_a_saved_run_comes_back_whole(settings: dict[str, Any], tmp_path: Path) -> None:
    run = example(**settings)
    if run.clock == "sync":
        run.theory()
    run.save(tmp_path / "run.npz")
    back = pg.load(tmp_path / "run.npz")
    for name in ("kernel", "method", "clock", "order", "law", "target_kind", "seed", "status"):
        assert getattr(back, name) == getattr(run, name), name
    for name in ("iterations", "estimates", "trial_mean", "trial_spread", "trial_error", "target"):
        np.testing.assert_array_equal(getattr(back, name), getattr(run, name), err_msg=name)
    for name in ("history", "times"):
        mine, theirs = getattr(run, name), getattr(back, name)
        assert (mine is None) == (theirs is None), name
        if mine is not None:
            np.testing.assert_array_equal(mine, theirs)
    assert back.graph == run.graph
    assert back.graph.family == run.graph.family
    assert back.graph.parameters == run.graph.parameters
    assert back.graph.names == run.graph.names
    assert (back.graph.positions is None) == (run.graph.positions is None)
    if run.clock == "sync":
        np.testing.assert_array_equal(back.theory().expected_mean, run.theory().expected_mean)


def test_the_data_is_not_in_the_file(tmp_path: Path) -> None:
    example().save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as stored:
        assert not any(np.isin(rows(12), stored[name]).any() for name in stored.files)


def test_a_loaded_run_without_theory_says_so(tmp_path: Path) -> None:
    example().save(tmp_path / "run.npz")
    with pytest.raises(InputError, match=r"call run\.theory\(\) before run\.save\(\)"):
        pg.load(tmp_path / "run.npz").theory()


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"other\.npz is not a run .*, or is damaged\.$"):
        pg.load(path)


def forge(path: Path, header: dict[str, Any], **arrays: Any) -> None:
    """Change a file's description of itself, and arrays in it."""
    with np.load(path) as stored:
        content = {**stored} | arrays
    said = json.loads(content["header"].tobytes()) | header
    content["header"] = np.frombuffer(json.dumps(said).encode(), dtype=np.uint8)
    np.savez(path, **content)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "run.npz"
    example().save(path)
    return path


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(99, "in a newer format: upgrade pairgossip"), (2, "in an older format: run it again")],
)
def test_another_format_is_not_guessed_at(saved: Path, number: int, sentence: str) -> None:
    forge(saved, {"format": number})
    with pytest.raises(InputError, match=sentence):
        pg.load(saved)


@pytest.mark.parametrize(
    "forged",
    [
        *({"bracket": [1, 2, 3]}, {"relaxation": "much"}, {"bracket": 4}),
        {"privacy_error": [0.1, 0.1]},
    ],
)
def test_forged_facts_are_refused(forged: dict[str, Any], saved: Path) -> None:
    forge(saved, forged)
    with pytest.raises(InputError, match="or is damaged"):
        pg.load(saved)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.npz"
    example().save(path)
    before = path.read_bytes()

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.savez_compressed", full_disk)
    with pytest.raises(InputError, match="The disk is full"):
        example().save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_huge_complete_graph_comes_back(tmp_path: Path) -> None:
    data = np.arange(25_000.0)
    run = pg.estimate(data, "gini", iterations=10, checkpoints=2, seed=0)
    run.save(tmp_path / "run.npz")
    assert pg.load(tmp_path / "run.npz").graph.is_complete


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    example().save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), 4):
            damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            pg.load(path)
        except InputError:
            refused += 1
    assert refused > 50  # some bytes do not matter; others must not raise other errors


def test_a_file_with_missing_columns_is_refused(saved: Path) -> None:
    forge(saved, {}, estimates=np.zeros((2, 3)))
    with pytest.raises(InputError, match="or is damaged"):
        pg.load(saved)


def repacked(path: Path, **members: bytes) -> None:
    """Replace members of an archive by other bytes."""
    with zipfile.ZipFile(path) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    kept |= {f"{name}.npy": content for name, content in members.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in kept.items():
            archive.writestr(name, content)


def packed(array: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array)
    return file.getvalue()


LITTLE = 1 << 24


@contextmanager
def little_memory() -> Iterator[None]:
    """Fail if the block takes more memory than a small file needs."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < LITTLE
    finally:
        tracemalloc.stop()


def refuse(path: Path, why: str = "or is damaged", **options: Any) -> None:
    with little_memory(), pytest.raises(InputError, match=why):
        pg.load(path, **options)


def test_a_file_that_unfolds_to_too_much_is_refused(saved: Path) -> None:
    repacked(saved, more=packed(np.zeros(1 << 22)))
    assert saved.stat().st_size < 1 << 18
    refuse(saved, r"run\.npz unfolds to 0\.0 GiB, and at most 0\.0 are read", largest=1 << 20)


def test_what_is_trusted_may_be_larger(saved: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        size = sum(member.file_size for member in archive.infolist())
    assert pg.load(saved, largest=size).trials == 2
    refuse(saved, f"pass largest={size} to pairgossip.load", largest=size - 1)


@pytest.mark.parametrize("promised", ["(50000000,)", "(2, 50000000)"])
def test_an_array_that_promises_more_than_there_is(saved: Path, promised: str) -> None:
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {promised}, }}".ljust(117) + "\n"
    header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    repacked(saved, estimates=header + bytes(64))
    refuse(saved)


def test_objects_are_not_unpickled(saved: Path, tmp_path: Path) -> None:
    repacked(saved, estimates=packed(np.array([Trap(tmp_path / "sprung")], dtype=object)))
    refuse(saved)
    assert not (tmp_path / "sprung").exists()


class Trap:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_a_header_that_is_too_long(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"[" + b"[]," * (1 << 20) + b"[]]"
    repacked(saved, header=packed(np.frombuffer(text, dtype=np.uint8)))
    monkeypatch.setattr(archive_module, "_LARGEST_HEADER", 1 << 20)
    refuse(saved)


@pytest.mark.parametrize("wide", [None, "|V0", "|u1"])
def test_a_graph_of_more_nodes_than_numbers_is_not_built(saved: Path, wide: str | None) -> None:
    nodes = 1 << 20
    with zipfile.ZipFile(saved) as archive, archive.open("header.npy") as member:
        header = json.loads(np.lib.format.read_array(member).tobytes())
    header["graph"] |= {"n": nodes, "complete": False}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    repacked(saved, header=packed(text), graph_edges=packed(np.array([[0, 1]])))
    if wide is not None:
        repacked(saved, more=packed(np.zeros(nodes, dtype=wide)))
    refuse(saved)


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_without_a_limit_are_refused(saved: Path, packing: int) -> None:
    with zipfile.ZipFile(saved) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(saved, "w", packing) as archive:
        for name, content in kept.items():
            archive.writestr(name, content)
    refuse(saved)
