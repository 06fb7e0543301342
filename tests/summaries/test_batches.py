"""Rows in batches: the same counts from every door, and no row is kept."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError, RowsDropped
from pairgossip.rows import arrow, batches
from pairgossip.rows.csv import blocks as csv_blocks
from pairgossip.summaries.counting.incoming import Incoming
from pairgossip.summaries.row_digest import RowDigest
from pairgossip.summaries.summary_request import SummaryRequest
from tests.rows.test_doors import DOORS, TABLE

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
CELLS, SECRET = pg.cells.Even(0, 1, 64), bytes(32)
HOW: dict[str, dict[str, Any]] = {
    "numbers": {"kernel": "auc", "columns": "risk", "labels": "died", "cells": CELLS},
    "text": {"kernel": "auc", "columns": "risk", "labels": "outcome", "positive": "ill"}
    | {"by": "ward", "within": "ward", "weights": "often", "cells": CELLS},
    "listed": {"kernel": "auc", "columns": "risk", "labels": "outcome", "cells": CELLS}
    | {"classes": ["well", "ill"], "by": "ward", "groups": ["kerry", "cork", "derry", "x"]}
    | {"least_cell": 3},
    "two columns": {"kernel": "kendall", "columns": ["age", "risk"], "within": "ward"},
    "apart": {"kernel": "spearman", "columns": ["age", "risk"]},
    "quantiles": {"kernel": "median", "columns": "age", "cells": pg.cells.Quantiles(9)},
}
ROLES = ("labels", "by", "within", "weights")


@pytest.fixture(params=[1 << 16, 7], ids=["large batches", "small batches"])
def _batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut rows into batches of a few, or into none."""
    monkeypatch.setattr(arrow, "_BATCH", request.param)
    monkeypatch.setattr(arrow, "_PIECE", request.param)
    for module in ("frames", "sources"):
        monkeypatch.setattr(f"pairgossip.rows.{module}.LARGEST_BATCH", request.param)
    monkeypatch.setattr("pairgossip.summaries.counting.incoming.LARGEST_BATCH", request.param)
    monkeypatch.setattr(csv_blocks, "BLOCK", max(64, request.param))


def summarize_arrays(how: dict[str, Any]) -> pg.Summary:
    """Count arrays, by the names of the requested columns."""
    columns = [how["columns"]] if isinstance(how["columns"], str) else how["columns"]
    data = np.column_stack([TABLE[name] for name in columns])
    arrays = {name: TABLE[how[name]] for name in ROLES if name in how}
    return pg.summarize(data, **{**{k: v for k, v in how.items() if k != "columns"}, **arrays})


def count_by_hand() -> Any:
    """Count by numpy.histogram."""
    return np.stack(
        [np.histogram(TABLE["risk"][TABLE["died"] == k], CELLS.lay().places)[0] for k in (0, 1)]
    )


@pytest.mark.usefixtures("_batches")
@pytest.mark.filterwarnings("ignore::pairgossip.errors.RowsDropped")
@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_counts(door: str, tmp_path: Path) -> None:
    for name, how in HOW.items():
        (folder := tmp_path / name.replace(" ", "-")).mkdir()
        data = DOORS[door](folder)
        if door == "arrow reader" and not isinstance(how.get("cells"), pg.cells.Even):
            with pytest.raises(InputError, match="can be read only once, and cells follow"):
                pg.summarize(data, **how)
            continue
        summary = pg.summarize(data, **how)
        assert summary == summarize_arrays(how), name
        if name == "numbers":
            assert (summary.counts == count_by_hand()).all()


def digest_by_hand(how: dict[str, Any]) -> bytes:
    """Return the digest of all rows as arrays, column by column."""
    columns = [how["columns"]] if isinstance(how["columns"], str) else how["columns"]
    digest = RowDigest(SECRET)
    digest.add(
        [np.asarray(TABLE[name]) for name in (*columns, *(how[k] for k in ROLES if k in how))]
    )
    return digest.finish()


def count_digest(data: Any, how: dict[str, Any], **more: Any) -> bytes:
    """Return the digest that the count computes."""
    counter = SummaryRequest(data=data, kind="v", **how, **more).count_rows(RowDigest(SECRET))
    assert counter.digest is not None
    return counter.digest.finish()


@pytest.mark.usefixtures("_batches")
@pytest.mark.parametrize("door", DOORS)
def test_a_count_digests_the_rows_as_they_are(door: str, tmp_path: Path) -> None:
    for name in ("numbers", "text", "listed"):
        (folder := tmp_path / name).mkdir()
        assert count_digest(DOORS[door](folder), HOW[name]) == digest_by_hand(HOW[name]), name


def test_rows_that_are_not_counted_are_not_digested() -> None:
    how: dict[str, Any] = {"kernel": "auc", "columns": "x", "labels": "y", "cells": CELLS}
    both: dict[str, Any] = {"x": [0.1, 0.2, 0.3], "y": [0, 1, 1], "site": ["q", "r", None]}
    left = {name: entries[:2] for name, entries in both.items()}
    with pytest.warns(RowsDropped):
        dropped = count_digest(both, how, by="site", missing="drop")
    assert dropped == count_digest(left, how, by="site") != count_digest(both, how)


@pytest.mark.parametrize("n_jobs", [1, 2, -1, None])
def test_threads_give_the_same_counts(
    n_jobs: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "_BATCH", 7)
    monkeypatch.setattr(arrow, "_PIECE", 10)
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table(TABLE), path, row_group_size=11)
    for how in HOW.values():
        if "least_cell" not in how:
            assert pg.summarize(path, n_jobs=n_jobs, **how) == summarize_arrays(how)
            assert count_digest(path, how, n_jobs=n_jobs) == digest_by_hand(how)


class Stream:
    """A stream that makes batches on request, and records the memory in use."""

    def __init__(self, make: Callable[[int], Any], count: int) -> None:
        self._make, self._count = make, count
        self.schema = make(0).schema
        self.made = self.most = 0

    def _batches(self) -> Iterator[Any]:
        for number in range(self._count):
            batch = self._make(number)
            self.made += 1
            if number % 4 == 0:  # garbage is collected where it is weighed, which takes most of it
                gc.collect()
                self.most = max(self.most, pa.total_allocated_bytes())
            yield batch

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self.schema, self._batches())
        return reader.__arrow_c_stream__(requested)


def test_batches_are_not_kept() -> None:
    rows, count = 1 << 16, 40

    def make(number: int) -> Any:
        random = np.random.default_rng(number)
        columns = [random.random(rows), random.random(rows) < 0.3]
        return pa.record_batch([pa.array(one) for one in columns], names=["risk", "died"])

    stream, before = Stream(make, count), pa.total_allocated_bytes()
    how: dict[str, Any] = HOW["numbers"]
    summary = pg.summarize(stream, **how)
    assert summary.rows == rows * count and stream.made == count
    size = make(0).nbytes
    assert stream.most - before < 8 * size < count * size / 4
    assert pg.summarize(stream, **{**how, "cells": None}).rows == rows * count


def make_reader(parts: list[dict[str, Any]]) -> Any:
    tables = [pa.record_batch(part) for part in parts]
    return pa.RecordBatchReader.from_batches(tables[0].schema, tables)


GOOD = {"x": [0.1, 0.2, 0.3], "y": [0, 1, 0], "g": ["a", "b", "a"], "w": [1, 2, 1]}
BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"x": [0.1, None, 0.3]}, {}, r"missing in column 'x' \(row 4\), counting from 0"),
    ({"x": [0.1, np.inf, 0.3]}, {}, r"Column 'x' has infinite values in row 4 \(counting"),
    ({"x": [0.1, 0.2, 7]}, {}, r"leaves out values of column 'x' in row 5 \(counting from 0\)"),
    ({"y": [0, None, 1]}, {}, r"missing in column 'y' \(row 4\)"),
    ({"y": [0, 1, 5]}, {"classes": [0, 1]}, r"Column 'y' holds 5 in row 5 \(counting from 0\)"),
    ({"y": [0, 1, 5]}, {}, "needs two classes, but the labels hold 3"),
    ({"g": ["a", "b", "c"]}, {"groups": ["a", "b"]}, "holds 'c' in row 5 .counting from 0."),
    ({"w": [1, 1, 17]}, {}, r"a row 1 to 16 times: .* in row 5 \(counting from 0\)"),
]


@pytest.mark.parametrize(("change", "more", "sentence"), BAD)
def test_what_is_wrong_is_named_by_the_rows_of_the_whole(
    change: dict[str, Any], more: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "_BATCH", 1)
    how: dict[str, Any] = {"labels": "y", "by": "g", "weights": "w", "cells": CELLS, **more}
    with pytest.raises(InputError, match=sentence):
        pg.summarize(make_reader([GOOD, GOOD | change]), "auc", columns="x", **how)


def test_lines_of_csv_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_blocks, "BLOCK", 64)
    path = tmp_path / "a.csv"

    def write(*entries: str) -> None:
        lines = [f"0.{k % 10},{k % 2}" for k in range(60)]
        path.write_text("\n".join(["x,y", *lines, *entries, ""]))

    how: dict[str, Any] = {"columns": "x", "labels": "y", "cells": CELLS}
    for entry, sentence in (
        ("NA,1", f"column 'x' of {path} .line 62."),
        ("1.5,1", f"leaves out values of column 'x' in line 62 of {path}:"),
        ("abc,1", f"Column 'x' of {path}, line 62, is not a number: 'abc'"),
        ("0.5,", f"column 'y' of {path} .line 62."),
    ):
        write(entry)
        with pytest.raises(InputError, match=sentence):
            pg.summarize(path, "auc", **how)


def test_labels_that_are_text_from_some_line_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They then count as text from the first line on, so 1 and 01 differ."""
    monkeypatch.setattr(csv_blocks, "BLOCK", 64)
    path, labels = tmp_path / "a.csv", ["1"] * 50 + ["01"] * 5 + ["b"] * 5
    lines = [f"0.{k % 10},{label},{k % 3:02d}" for k, label in enumerate(labels)]
    path.write_text("\n".join(["x,y,site", *lines, ""]))
    how: dict[str, Any] = {"columns": "x", "labels": "y", "classes": ["01", "1", "b"]}
    summary = pg.summarize(path, "kendall", by="site", cells=CELLS, **how)
    assert summary.counts.sum(axis=(1, 2)).tolist() == [5, 50, 5]
    assert summary.groups == ("00", "01", "02")
    both = pg.summarize(path, "gini", columns="x", by="y", cells=CELLS)
    assert both.count_groups() == {"01": 5, "1": 50, "b": 5}


def test_rows_that_are_left_out_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "_BATCH", 1)
    gaps = GOOD | {"x": [0.1, None, 0.3]}
    how: dict[str, Any] = {"columns": "x", "labels": "y", "cells": CELLS, "missing": "drop"}
    with pytest.warns(RowsDropped, match=r"Left out 2 of 9 rows, .* row 1 .*, and others after th"):
        summary = pg.summarize(make_reader([gaps, GOOD, gaps]), "auc", **how)
    assert summary.rows == 7
    every = GOOD | {"x": [None] * 3}
    with pytest.raises(InputError, match="All 6 rows have missing values"):
        pg.summarize(
            pa.concat_tables([pa.table(every).cast(pa.table(GOOD).schema)] * 2), "auc", **how
        )


def test_arrays_beside_a_table() -> None:
    table = pa.table({"x": TABLE["risk"]})
    summary = pg.summarize(table, "auc", labels=TABLE["died"], cells=CELLS)
    assert summary == summarize_arrays(HOW["numbers"])
    for count in (119, 121):
        with pytest.raises(InputError, match=f"labels have {count} entries but data has 120 rows"):
            pg.summarize(table, "auc", labels=np.arange(count) % 2, cells=CELLS)


def test_a_source_that_changes_between_two_passes() -> None:
    lengths = iter([3, 2])

    class Changing:
        def __arrow_c_stream__(self, requested: Any = None) -> Any:
            return pa.table({"x": [0.1, 0.2, 0.3][: next(lengths)]}).__arrow_c_stream__(requested)

    with pytest.raises(InputError, match="had 3 rows, and 2 as it was read again: give cells="):
        pg.summarize(Changing(), "gini")


@pytest.mark.parametrize("door", ["csv", "csv.gz", "parquet", "arrow file", "folder"])
@pytest.mark.parametrize("when", ["before", "within"])
def test_a_file_that_changes_during_a_pass(
    door: str, when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds even if all of it can be read: some rows may be old, and others new."""
    monkeypatch.setattr(arrow, "_BATCH", 7)
    monkeypatch.setattr(csv_blocks, "BLOCK", 64)
    path = Path(DOORS[door](tmp_path))
    file = path / "part-1.parquet" if path.is_dir() else path
    incoming = Incoming({"data": path}, ["risk"], None)
    if when == "before":
        file.write_bytes(file.read_bytes())
    with pytest.raises(InputError) as refused:
        for piece in incoming.pieces():
            for part in piece():
                part.read()
                file.write_bytes(file.read_bytes())
    assert str(refused.value) == f"{file} changed while it was being read: read it again."


def test_files_of_a_folder_have_the_same_columns(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"x": [0.1]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"y": [0.1]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match="Files of a folder have the same columns, but"):
        pg.summarize(tmp_path, "gini")


def test_progress_tells_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "_BATCH", 1)
    told: list[int] = []
    how: dict[str, Any] = {"columns": "x", "labels": "y", "progress": told.append}
    pg.summarize(make_reader([GOOD] * 4), "auc", cells=CELLS, **how)
    assert told == [3] * 4
    told.clear()
    pg.summarize(pa.table(GOOD), "auc", **how)  # the first pass does not count rows
    assert told == [3]


def test_an_interrupt_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "_BATCH", 1)

    def stop(_: int) -> None:
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt

    seen: list[int] = []
    how: dict[str, Any] = {"columns": "x", "labels": "y", "cells": CELLS, "progress": stop}
    with pytest.raises(KeyboardInterrupt, match="Stopped counting the data after 6 rows"):
        pg.summarize(make_reader([GOOD] * 4), "auc", **how)


def test_many_threads_stop_at_the_first_problem() -> None:
    def piece(number: int) -> Callable[[], Iterator[int]]:
        return lambda: iter([number])

    def work(state: list[int], number: int) -> None:
        if number in (3, 5):
            raise ValueError(number)
        state.append(number)

    with pytest.raises(ValueError, match="3"):
        batches.visit([piece(k) for k in range(9)], work, [[], []])
    states: list[list[int]] = [[], []]
    batches.visit([piece(k) for k in range(3)], work, states)
    assert sorted(states[0] + states[1]) == [0, 1, 2]
