"""Files that are uploaded to the page."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import pairgossip as pg
from pairgossip.cli import main
from pairgossip.rows.csv.file import CsvFile
from pairgossip.watch.simulation import observations
from pairgossip.watch.simulation.observations import _MOST_UPLOADS, LARGEST_UPLOAD, Uploads

from .serving import Served, until_status

HOSTILE = '<img src=x onerror="alert(1)">'


def test_an_upload_is_watched(served: Served) -> None:
    values = np.random.default_rng(0).normal(size=30).round(3)
    content = "\n".join(["name,height", *(f"n{k},{value}" for k, value in enumerate(values))])
    found = served.upload(content.encode(), "people.csv").json()
    assert (found["name"], found["rows"]) == ("people.csv", 30)
    assert found["columns"] == [
        {"name": "name", "numbers": False},
        {"name": "height", "numbers": True},
    ]
    key = served.open(
        data=found["id"], column="height", kernel="variance", iterations="500", speed="max"
    )
    with served.watching(key) as events:
        served.control(key, "start")
        newest = until_status(events, "done")
    run = pg.estimate(values, "variance", "complete", iterations=500, seed=0)
    assert newest["frame"]["runs"][0]["error"] == pytest.approx(run.error[-1], rel=1e-12)


@pytest.mark.parametrize(
    ("header", "row", "label"),
    [
        ("name,score,state", "n{k},{k},{s}", "state"),
        ("state,score", "{s},{k}", "state"),
        ("score,sex,state", "{k},{t},{s}", "state"),
        ("score,state,constant", "{k},{s},1", "state"),
        ("name,score", "n{k},{k}", None),
        ("score,state,", "{k},{k},{s}", None),  # a label cannot be a column without a name
    ],
)
def test_the_label_is_guessed_by_its_values(
    served: Served, header: str, row: str, label: str | None
) -> None:
    rows = [row.format(k=k, s="ill" if k > 5 else "well", t=k % 2) for k in range(12)]
    assert served.upload("\n".join([header, *rows]).encode()).json()["label"] == label


def test_text_labels_of_an_upload(served: Served) -> None:
    rows = [f"{k},{'ill' if k > 5 else 'well'}" for k in range(12)]
    found = served.upload("\n".join(["score,state", *rows]).encode()).json()
    shared = {"data": found["id"], "column": "score", "label": "state"}
    for what in ({"kernel": "auc"}, {"kernel": "ranking-risk"}, {"loss": "auc-logistic"}):
        served.open(**shared, **what, positive="ill")
        refusal = served.read_refusal(**shared, **what)
        assert refusal["argument"] == "positive"
        assert str(refusal["error"]).endswith(
            "but the labels are 'ill' and 'well': give positive class ill, or the other."
        )
    served.open(**shared, kernel="within-cluster-scatter")
    assert "'sick', but the labels are" in served.refuse(**shared, kernel="auc", positive="sick")
    more = served.upload("\n".join(["score,state", *rows, "1,neither"]).encode()).json()
    assert served.refuse(**{**shared, "data": more["id"]}, kernel="ranking-risk") == (
        "'ranking-risk' compares labels by size, but column 'state' holds text such as 'well': "
        "choose a column of numbers."
    )


def _parquet(table: dict[str, Any], **how: Any) -> bytes:
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table(table), stream, **how)
    return stream.getvalue()


def test_a_file_of_parquet_is_watched_as_csv_is(served: Served) -> None:
    values = np.random.default_rng(0).normal(size=30).round(3)
    table = {"height": values, "name": [f"n{k}" for k in range(30)], "site": [1, 2, 3] * 10}
    lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    text = "\n".join([",".join(table), *lines])
    files = {"p.csv": text.encode(), "p.parquet": _parquet(table)}
    frames = []
    for name, content in files.items():
        found = served.upload(content, name).json()
        assert (found.pop("name"), found["rows"]) == (name, 30)
        how = {"column": "height", "kernel": "variance", "group-by": "site"}
        key = served.open(data=found.pop("id"), iterations="200", speed="max", **how)
        with served.watching(key) as events:
            served.control(key, "start")
            frames.append((found, until_status(events, "done")["frame"]["runs"][0]["error"]))
    assert frames[0] == frames[1]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.parquet", b"a,b\n1,2\n", "a.parquet is not a file of Parquet, or is damaged: check"),
        ("a.parquet", _parquet({"a": []}), "a.parquet has no rows: it needs some."),
        (
            "a.parquet",
            _parquet({"a": [1.0] * 20_001}),
            "a.parquet has more than 20,000 rows, and every row is a node: give a file with fewer",
        ),
        (
            "a.parquet",
            _parquet({"a": ["x" * 9_000_000, "y"]}),
            "a.parquet takes more than 8 MiB unpacked: leave columns out.",
        ),
        ("a.arrow", b"", "a.arrow is not taken here: save the table as CSV or Parquet."),
        ("a.sql", b"SELECT 1", "a.sql is not taken here: save the table as CSV or Parquet."),
    ],
)
def test_files_with_types_that_are_refused(
    served: Served, name: str, content: bytes, sentence: str
) -> None:
    answer = served.upload(content, name)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "bad.csv is empty: it needs a header line and rows."),
        (b"a,b\n", "bad.csv has a header line only: it needs rows."),
        (b"a,b\n1\n", "bad.csv, line 2, has 1 field but the header has 2"),
        (b"\xff\xfe\x00", "bad.csv is not UTF-8 text: save it as CSV in UTF-8."),
        (b"1,2\n3,4\n", "The first line of bad.csv looks like data: it must name the columns."),
        (b"a\n" + b"1\n" * 20_001, "bad.csv has more than 20,000 rows, and every row is a node"),
    ],
)
def test_bad_uploads(served: Served, content: bytes, sentence: str) -> None:
    answer = served.upload(content, "../../tmp/bad.csv")
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]
    assert "/" not in answer.json()["error"]


def test_hostile_names_stay_text(served: Served) -> None:
    found = served.upload(f"'{HOSTILE}\n1\n2\n3\n".replace("'", "").encode(), HOSTILE).json()
    assert found["columns"][0]["name"] == HOSTILE
    served.open(data=found["id"], column=HOSTILE, kernel="gini")
    problem = served.refuse(data=found["id"], column="other", kernel="gini")
    assert problem.startswith("There is no column 'other' in ")


def test_an_upload_may_not_be_too_large(served: Served) -> None:
    sentence = "That is too large: at most 8 MiB are accepted."
    answer = served.upload(b"a\n" + b"1" * LARGEST_UPLOAD)
    assert (answer.status_code, answer.json()["error"]) == (413, sentence)

    def pieces() -> Any:
        for _ in range(LARGEST_UPLOAD // 2**20 + 1):
            yield b"1" * 2**20

    headers = {"Content-Type": "application/octet-stream"}
    answer = served.ask("/api/uploads", "POST", content=pieces(), headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (413, sentence)
    huge = {"settings": {"label": "x" * 70_000}}
    assert served.ask("/api/sessions", "POST", json=huge).status_code == 413


def test_only_the_newest_uploads_are_kept() -> None:
    uploads = Uploads()
    keys = [uploads.add(b"a\n1\n2\n", "a.csv")[0] for _ in range(_MOST_UPLOADS + 1)]
    assert len(set(keys)) == len(keys)
    assert len(uploads.find(keys[1])) == 2
    with pytest.raises(pg.InputError, match="no longer here"):
        uploads.find(keys[0])


def test_uploads_are_kept_within_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "_LARGEST_UPLOADS", 15)
    uploads = Uploads()
    first, second, third = [uploads.add(b"a\n1\n2\n", "a.csv")[0] for _ in range(3)]
    assert len(uploads.find(second)) == len(uploads.find(third)) == 2
    with pytest.raises(pg.InputError, match="no longer here"):
        uploads.find(first)


def test_rows_are_counted_by_rows_and_not_by_lines() -> None:
    # Cells with several lines, in a file whose delimiter is not the comma.
    content = b"a;b\n" + b'1;"' + b"x\n" * 30_000 + b'"\n2;y\n'
    assert len(Uploads().add(content, "a.csv")[1]) == 2


def test_millions_of_rows_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise AssertionError("all of the file was read")

    monkeypatch.setattr(CsvFile, "read", read)
    with pytest.raises(pg.InputError, match=r"a\.csv has more than 20,000 rows"):
        Uploads().add(b"a\n" + b"1\n" * 4_000_000, "a.csv")


def test_an_upload_may_not_be_too_wide(served: Served) -> None:
    names = ",".join(f"c{number}" for number in range(2_001))
    answer = served.upload(f"{names}\n{'1,' * 2_000}1\n".encode(), "wide.csv")
    assert answer.status_code == 400
    assert answer.json()["error"] == "wide.csv has 2,001 columns: leave all but 2,000 out."


def test_a_file_named_at_the_start_stays(tmp_path: Path) -> None:
    file = tmp_path / "heights.csv"
    file.write_text("height\n1\n2\n3\n")
    uploads = Uploads([file])
    for number in range(20):
        uploads.add(b"a\n1\n2\n", f"{number}.csv")
    assert len(uploads.find(str(file))) == 3 and "engel" not in uploads
    (known,) = uploads.describe_given()
    assert (known["id"], known["rows"]) == (str(file), 3)


def test_a_file_named_at_the_start_is_watched_in_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "heights.csv"
    file.write_text("height\n" + "\n".join(str(k % 11) for k in range(30)) + "\n")
    options = ["--graph", "complete", "--iterations", "50", "--speed", "max"]
    assert main(["watch", "--text", "--data", str(file), "--kernel", "gini", *options]) == 0
    shown = capsys.readouterr().out
    exact = pg.exact(np.arange(30) % 11, "gini")
    assert f"exact value {exact:.4g}" in shown
