"""Sources of peers that compute sums: read where they are, never copied, and not changed unseen."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.protocol.state import SumsState
from pairgossip.peer.service.assembly import assemble, read_snapshot
from pairgossip.peer.storage import journal_file
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.growth import (
    finish_interrupted_growth,
    request_growth,
    rows_waiting,
    take_up_rows,
)
from pairgossip.peer.storage.home import create_home
from pairgossip.peer.storage.journal_file import read_saved_state
from pairgossip.peer.storage.kept_releases import ReleaseOptions
from pairgossip.peer.storage.kept_results import list_kept
from pairgossip.peer.sums.results import Result
from tests.peer.homes import introduce_each_other
from tests.peer.test_service import Switchboard, running
from tests.peer.test_sums_service import is_complete, run_all
from tests.peer.zenoh_people import until

AUC = """
kernel = "auc"
columns = ["score"]
label = "died"
[ranges]
score = [0, 1]
died = [0, 1]
[algorithm]
name = "sums"
least_cell = 1
"""
MODEL = AUC.replace('kernel = "auc"', 'loss = "auc-logistic"').replace("least_cell = 1\n", "")
NOISY = AUC.replace("least_cell = 1\n", "") + "[privacy]\nepsilon = 4.0\n"
RNG = np.random.default_rng(5)
PLANTED = 0.6173205080756887
SPECS = {"auc": AUC, "model": MODEL, "noise": NOISY}


def draw(rows: int) -> np.ndarray:
    labels = np.arange(rows) % 2
    return np.column_stack([(RNG.random(rows) + labels) / 2, labels])


def write_csv(path: Path, rows: np.ndarray) -> Path:
    lines = "".join(f"{score!r},{died:g}\n" for score, died in rows.tolist())
    path.write_text("score,died\n" + lines)
    return path


def write_gzip(path: Path, rows: np.ndarray) -> Path:
    path.write_bytes(gzip.compress(write_csv(path.with_suffix(""), rows).read_bytes()))
    path.with_suffix("").unlink()
    return path


def write_parquet(path: Path, rows: np.ndarray) -> Path:
    pa = pytest.importorskip("pyarrow", reason="needs the extra tables")
    from pyarrow import parquet

    parquet.write_table(pa.table({"score": rows[:, 0], "died": rows[:, 1].astype(int)}), path)
    return path


def write_query(path: Path, rows: np.ndarray) -> Path:
    pytest.importorskip("duckdb", reason="needs duckdb")
    data = write_csv(path.with_suffix(".kept.csv"), rows)
    path.write_text(f"SELECT score, died FROM read_csv('{data}')")
    return path


WRITERS: dict[str, Callable[[Path, np.ndarray], Path]] = {
    "rows.csv": write_csv,
    "rows.csv.gz": write_gzip,
    "rows.parquet": write_parquet,
    "rows.sql": write_query,
}


def make(folder: Path, name: str, source: Path, spec: str = AUC, **more: Any) -> Home:
    text = folder / f"{name}.toml"
    text.write_text(spec)
    listen = f"tls/127.0.0.1:{7460 + len(list(folder.glob('*.toml')))}"
    allow = ("auc-logistic",)
    if "kernel" in spec:
        more["release"] = ReleaseOptions(folder / f"{name}.releases", is_rehearsal=True)
    return create_home(folder / name, name, text, source, listen, least_rows=1, allow=allow, **more)


def make_peers(folder: Path, tables: list[np.ndarray], spec: str = AUC) -> list[Home]:
    homes = [
        make(folder, f"clinic-{k}", write_csv(folder / f"{k}.csv", rows), spec)
        for k, rows in enumerate(tables)
    ]
    introduce_each_other(homes)
    return homes


def state_of(home: Home) -> SumsState:
    state, _ = read_saved_state(home.state)
    assert isinstance(state, SumsState)
    return state


def result_of(home: Home) -> Result:
    kept, _ = list_kept(home)
    return kept[-1].signed.result


def contents(home: Home) -> bytes:
    return b"".join(file.read_bytes() for file in home.folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("spec", SPECS)
def test_no_row_is_in_the_folder(tmp_path: Path, spec: str) -> None:
    rows = draw(40)
    rows[7, 0] = PLANTED
    home = make(tmp_path, "ann", write_csv(tmp_path / "rows.csv", rows), SPECS[spec])
    held = contents(home)
    for value in (str(PLANTED).encode(), struct.pack("<d", PLANTED), struct.pack(">d", PLANTED)):
        assert (
            value
            in (tmp_path / "rows.csv").read_bytes() + rows.tobytes() + rows.astype(">f8").tobytes()
        ), "the search finds what is there"
        assert value not in held
    assert not home.data.exists()
    assert home.read_settings().sources == (str(tmp_path / "rows.csv"),)


@pytest.mark.parametrize("name", WRITERS)
def test_a_peer_reads_whatever_the_one_door_opens(tmp_path: Path, name: str) -> None:
    tables = [draw(30) for _ in range(3)]
    homes = make_peers(tmp_path, tables[:2])
    homes.append(make(tmp_path, "clinic-2", WRITERS[name](tmp_path / name, tables[2])))
    introduce_each_other(homes)
    run_all(homes)
    whole = np.concatenate(tables)
    order = whole[whole[:, 1] == 1][:, :1] - whole[whole[:, 1] == 0][:, 0]
    exact = np.mean((order > 0) + (order == 0) / 2)
    found = result_of(homes[2])
    assert found.rows == 90 and found.bracket is not None
    assert found.bracket[0] <= exact <= found.bracket[1]


@pytest.mark.parametrize("spec", ["auc", "model"])
def test_the_kind_of_source_changes_no_bit(tmp_path: Path, spec: str) -> None:
    tables, found = [draw(30) for _ in range(3)], []
    for kind in ("rows.csv", "rows.parquet"):
        folder = tmp_path / kind
        folder.mkdir()
        homes = make_peers(folder, tables[:2], SPECS[spec])
        source = WRITERS[kind](folder / kind, tables[2])
        homes.append(make(folder, "clinic-2", source, SPECS[spec]))
        introduce_each_other(homes)
        run_all(homes)
        found.append(result_of(homes[0]))
    names = ("value", "bracket", "interval", "sampling_error", "model", "objective", "rows")
    first, second = ([getattr(one, name) for name in names] for one in found)
    assert first == second and any(first)


CHANGES: dict[str, tuple[Callable[[np.ndarray], np.ndarray | None], str]] = {
    "value": (lambda rows: np.where(rows == rows[3, 0], 0.25, rows), "its rows hold other values"),
    "added": (lambda rows: np.vstack([rows, rows[:1]]), "it has 41 rows now, and had 40"),
    "removed": (lambda rows: rows[:-1], "it has 39 rows now, and had 40"),
    "outside": (lambda rows: np.vstack([rows[:-1], [7.0, 1.0]]), "it cannot be read as it was ("),
    "gone": (lambda _: None, "it cannot be read as it was (There is no file"),
}


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("how", CHANGES)
def test_a_source_that_has_changed_is_refused(tmp_path: Path, how: str, spec: str) -> None:
    source, rows = tmp_path / "0.csv", draw(40)
    home, *_ = make_peers(tmp_path, [rows, draw(40), draw(40)], SPECS[spec])
    before = source.read_bytes()
    change, sentence = CHANGES[how]
    changed = change(rows)
    if changed is None:
        source.unlink()
    else:
        write_csv(source, changed)
    with pytest.raises(InputError) as caught:
        assemble(home)
    said = str(caught.value)
    assert said.startswith(f"The source {source} is not what it was when its rows were taken: ")
    assert sentence in said and "peer add" in said and "--visible" in said
    source.write_bytes(before)  # as the sentence says
    with contextlib.closing(assemble(home)) as parts:
        assert len(parts.context.own) == 40 and not parts.problems


@pytest.mark.parametrize("spec", SPECS)
def test_the_order_of_rows_is_nothing_to_go_by(tmp_path: Path, spec: str) -> None:
    """A database answers in any order; what is added up and drawn is the same to the bit."""
    rows = draw(40)
    rows[5] = rows[9]
    home, *_ = make_peers(tmp_path, [rows, draw(40), draw(40)], SPECS[spec])
    held = []
    for order in (np.arange(40), np.arange(40)[::-1], RNG.permutation(40)):
        write_csv(tmp_path / "0.csv", rows[order])
        with contextlib.closing(assemble(home)) as parts:
            assert not parts.problems
            held.append(parts.context.held)
    if spec == "auc":
        assert all(one.matrix is None for one in held)
    else:
        assert sorted(held[0].rows.tolist()) == sorted(rows.tolist())
        assert all(np.array_equal(one.rows, held[0].rows) for one in held)


@pytest.mark.parametrize("entry", ["Mueller", "0.7,", "nan"])
def test_what_is_said_of_a_changed_source_quotes_no_entry(tmp_path: Path, entry: str) -> None:
    home, *_ = make_peers(tmp_path, [draw(40) for _ in range(3)])
    source = tmp_path / "0.csv"
    text = source.read_text()
    for changed in (f"{text}{entry},1\n", f"{entry},0.7331\n{text}"):
        source.write_text(changed)
        with pytest.raises(InputError, match="it cannot be read as it was") as caught:
            assemble(home)
        assert "Mueller" not in str(caught.value) and "0.7331" not in str(caught.value)


def test_a_peer_that_has_contributed_finishes_without_its_source(tmp_path: Path) -> None:
    homes = make_peers(tmp_path, [draw(40) for _ in range(3)])
    with running(*homes[:2], board=Switchboard()):
        pass
    first, board = homes[0], Switchboard()
    with running(*homes, board=board) as peers:
        assert until(lambda: all(map(is_complete, peers)))
    (tmp_path / "0.csv").unlink()
    with contextlib.closing(assemble(first)) as parts:
        (problem,) = parts.problems
        assert "cannot be read" in problem and "finishes what it has begun" in problem
    with running(first, board=Switchboard()) as (peer,):
        assert until(lambda: is_complete(peer))


def test_batches_come_from_sources_of_different_kinds(tmp_path: Path) -> None:
    homes = make_peers(tmp_path, [draw(40) for _ in range(3)])
    more = [draw(30) for _ in homes]
    with running(*homes, board=Switchboard()) as peers:
        assert until(lambda: all(map(is_complete, peers)))
    sources = [
        write_parquet(tmp_path / "more.parquet", more[0]),
        write_gzip(tmp_path / "more.csv.gz", more[1]),
        write_csv(tmp_path / "more.csv", more[2]),
    ]
    for home, source in zip(homes, sources, strict=True):
        asked = request_growth(home, source)
        assert (asked.added, asked.rows) == (30, 70)
        assert rows_waiting(home, 40) == 30
    with running(*homes, board=Switchboard()):
        assert until(lambda: all(state_of(one).rows == 70 for one in homes))
        assert until(lambda: not any(one.next_sources.exists() for one in homes))
    for k, (home, source) in enumerate(zip(homes, sources, strict=True)):
        assert home.read_settings().sources == (str(tmp_path / f"{k}.csv"), str(source))
        assert [one.rows for one in state_of(home).batches] == [40, 30]
        with contextlib.closing(assemble(home)) as parts:
            assert not parts.problems


def test_a_batch_that_has_changed_is_named(tmp_path: Path) -> None:
    home, *_ = make_peers(tmp_path, [draw(40) for _ in range(3)], MODEL)
    more = write_csv(tmp_path / "more.csv", draw(30))
    request_growth(home, more)
    with running(home, board=Switchboard()):
        assert until(lambda: state_of(home).rows == 70)
        assert until(lambda: not home.next_sources.exists())
    write_csv(more, draw(30))
    with pytest.raises(InputError, match=rf"The source {re.escape(str(more))} is not what it was"):
        assemble(home)
    home.peer.write_text("".join(home.peer.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(InputError, match="names 1 source, and the peer's rows came from 2: name"):
        assemble(home)


def test_a_source_is_not_added_again(tmp_path: Path) -> None:
    home, *_ = make_peers(tmp_path, [draw(40) for _ in range(3)], MODEL)
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "0.csv")
    for source in (tmp_path / "0.csv", link):
        with pytest.raises(InputError, match="is a source of this peer already, and must stay"):
            request_growth(home, source)
    more = write_csv(tmp_path / "more.csv", draw(30))
    request_growth(home, more)
    with pytest.raises(InputError, match="is a source of this peer already"):
        request_growth(home, more)


def test_what_a_crash_left_half_done_is_finished(tmp_path: Path) -> None:
    """The state has the added rows, and the settings do not name their source yet."""
    home, *_ = make_peers(tmp_path, [draw(40) for _ in range(3)])
    request_growth(home, write_csv(tmp_path / "more.csv", draw(30)))
    asked, settings = home.next_sources.read_bytes(), home.peer.read_text()
    with running(home, board=Switchboard()):
        assert until(lambda: state_of(home).rows == 70)
        assert until(lambda: not home.next_sources.exists())
    home.next_sources.write_bytes(asked)
    for left in (settings, home.peer.read_text()):
        home.peer.write_text(left)
        home.next_sources.write_bytes(asked)
        assert read_snapshot(home).context.told_size == 70
        finish_interrupted_growth(home)
        assert not home.next_sources.exists()
        assert home.read_settings().sources[1:] == (str(tmp_path / "more.csv"),)
        assemble(home).close()


def test_a_request_whose_source_has_changed_can_be_withdrawn(tmp_path: Path) -> None:
    home, *_ = make_peers(tmp_path, [draw(40) for _ in range(3)], MODEL)
    more = write_csv(tmp_path / "more.csv", draw(30))
    request_growth(home, more)
    more.unlink()
    with contextlib.closing(assemble(home)) as parts:
        own = parts.context.own
    with (
        pytest.raises(InputError, match=rf"Or remove {re.escape(str(home.next_sources))}, which"),
        take_up_rows(home, own),
    ):
        pass
    home.next_sources.unlink()
    with take_up_rows(home, own) as rows:
        assert rows is None


def test_a_million_rows_and_one_more_are_counted(tmp_path: Path) -> None:
    labels = np.arange(1_000_001) % 2
    scores = np.round((RNG.random(len(labels)) + labels) / 2, 3)
    source = tmp_path / "rows.csv"
    np.savetxt(
        source, np.column_stack([scores, labels]), "%.3f,%d", header="score,died", comments=""
    )
    home = make(tmp_path, "ann", source)
    (batch,) = state_of(home).batches
    counts = np.frombuffer(batch.counts, "<i8").reshape(2, 256)
    expected, *_ = np.histogram2d(labels, scores, (2, np.linspace(0, 1, 257)))
    assert batch.rows == 1_000_001 and (counts == expected).all()


def test_a_digest_tells_nothing_without_the_key(tmp_path: Path) -> None:
    """Two peers with the same rows have different digests of them."""
    source = write_csv(tmp_path / "rows.csv", draw(40))
    homes = [make(tmp_path, name, source, MODEL) for name in ("ann", "bob")]
    first, second = (state_of(one).batches[0] for one in homes)
    assert first.rows == second.rows and first.digest != second.digest


def test_a_folder_with_a_copy_says_what_to_do(tmp_path: Path) -> None:
    home = make(tmp_path, "ann", write_csv(tmp_path / "rows.csv", draw(40)))
    with contextlib.closing(sqlite3.connect(home.state)) as base:
        base.execute(f"PRAGMA user_version = {journal_file.VERSION - 1}")
    with pytest.raises(InputError, match="kept a copy of all rows: make a new folder with"):
        read_snapshot(home)
    assert os.path.exists(home.state)
