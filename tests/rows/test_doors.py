"""The table of doors by functions: the same rows through every door give the same answer."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.storage.rows import read_rows
from tests.cli.running import main

ROWS = 120
RNG = np.random.default_rng(3)
DIED = RNG.integers(0, 2, ROWS)
TABLE: dict[str, Any] = {
    "risk": np.round(RNG.beta(2 + DIED, 3), 6),
    "age": RNG.integers(20, 90, ROWS),
    "died": DIED,
    "outcome": np.array(["well", "ill"])[DIED],
    "ward": np.array(["cork", "derry", "kerry"])[RNG.integers(0, 3, ROWS)],
    "often": RNG.integers(1, 4, ROWS),
}

Door = Callable[[Path], Any]


def _library(name: str) -> ModuleType:
    return pytest.importorskip(name)


def _write_csv(path: Path) -> str:
    lines = [",".join(map(str, row)) for row in zip(*TABLE.values(), strict=True)]
    text = "\n".join([",".join(TABLE), *lines, ""])
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


def _records(_: Path) -> Any:
    kinds = [(name, column.dtype) for name, column in TABLE.items()]
    return np.array(list(zip(*TABLE.values(), strict=True)), dtype=kinds)


def _arrow(_: Path) -> Any:
    return _library("pyarrow").table(TABLE)


def _write_parquet(path: Path) -> Path:
    _library("pyarrow.parquet").write_table(_arrow(path), path, row_group_size=50)
    return path


def _write_arrow(path: Path) -> Path:
    table = _arrow(path)
    with _library("pyarrow").ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    return path


def _write_folder(folder: Path) -> Path:
    table = _arrow(folder)
    for part in range(3):
        rows = table.slice(40 * part, 40)
        _library("pyarrow.parquet").write_table(rows, folder / f"part-{part}.parquet")
    return folder


def _write_query(folder: Path) -> Path:
    _library("duckdb")
    _write_parquet(folder / "b.parquet")
    query = folder / "a.sql"
    query.write_text(f"SELECT * FROM '{folder}/b.parquet' WHERE died IS NOT NULL")
    return query


def _ask_duckdb(_: Path) -> Any:
    _library("pyarrow")
    return _library("duckdb").from_arrow(_arrow(_))


DOORS: dict[str, Door] = {
    "dict": lambda _: TABLE,
    "dict of lists": lambda _: {name: column.tolist() for name, column in TABLE.items()},
    "records": _records,
    "pandas": lambda _: _library("pandas").DataFrame(TABLE),
    "polars": lambda _: _library("polars").DataFrame(TABLE),
    "polars lazy": lambda _: _library("polars").DataFrame(TABLE).lazy(),
    "csv": lambda folder: Path(_write_csv(folder / "a.csv")),
    "csv by text": lambda folder: _write_csv(folder / "a.csv"),
    "csv.gz": lambda folder: _write_csv(folder / "a.csv.gz"),
    "arrow table": _arrow,
    "arrow reader": lambda _: _arrow(_).to_reader(max_chunksize=17),
    "arrow batch": lambda _: _arrow(_).combine_chunks().to_batches()[0],
    "duckdb": _ask_duckdb,
    "parquet": lambda folder: _write_parquet(folder / "a.parquet"),
    "arrow file": lambda folder: _write_arrow(folder / "a.arrow"),
    "folder": _write_folder,
    "sql": _write_query,
}
FILES = ("csv", "csv.gz", "parquet", "arrow file", "folder", "sql")
NUMBERS, CLASSES = ["risk"], {"labels": "died"}
WORDS = {"labels": "outcome", "positive": "ill"}
RUN = {"iterations": 200, "seed": 1, "n_jobs": 1}
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "exact": (pg.exact, {"kernel": "auc", "columns": NUMBERS, **CLASSES}),
    "exact, text": (pg.exact, {"kernel": "auc", "columns": NUMBERS, **WORDS}),
    "exact, weights": (
        pg.exact,
        {"kernel": "auc", "columns": "risk", "weights": "often", "within": "ward", **WORDS},
    ),
    "exact, interval": (
        pg.exact,
        {"kernel": "gini", "columns": "risk", "groups": "ward", "interval": 0.9},
    ),
    "exact, between": (pg.exact, {"kernel": "gini", "columns": ["risk"], "between": "ward"}),
    "exact, two columns": (pg.exact, {"kernel": "kendall", "columns": ["age", "risk"]}),
    "test": (pg.test, {"kernel": "auc", "columns": NUMBERS, **CLASSES}),
    "test on a graph": (
        pg.test,
        {"kernel": "mann-whitney", "columns": NUMBERS, "graph": "complete", "seed": 1, **CLASSES},
    ),
    "estimate": (pg.estimate, {"kernel": "auc", "columns": NUMBERS, **CLASSES, **RUN}),
    "estimate, sites": (
        pg.estimate,
        {"kernel": "auc", "columns": NUMBERS, "groups": "ward", **WORDS, **RUN},
    ),
    "minimize": (pg.minimize, {"columns": ["risk", "age"], **CLASSES, **RUN}),
    "plan": (pg.plan, {"kernel": "gini", "columns": NUMBERS, "groups": "ward", "error": 0.1}),
    "quantile": (pg.quantile, {"columns": "risk", "weights": "often"}),
    "trimmed mean": (pg.trimmed_mean, {"columns": "risk"}),
    "winsorized mean": (pg.winsorized_mean, {"columns": "risk"}),
    "hodges-lehmann": (pg.hodges_lehmann, {"columns": "risk", **WORDS}),
    "ranks": (pg.ranks, {"columns": "risk"}),
}


def _without_names(how: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return arrays in place of names."""
    columns = [how["columns"]] if isinstance(how["columns"], str) else how["columns"]
    data = np.column_stack([TABLE[name] for name in columns]).astype(float)
    roles = ("labels", "groups", "weights", "within", "between")
    arrays = {name: TABLE[how[name]] for name in roles if name in how}
    others = {name: value for name, value in how.items() if name != "columns"}
    return data[:, 0] if len(columns) == 1 else data, others | arrays


def _numbers(answer: Any) -> str:
    """Return the numbers of an answer, for comparison."""
    for name in ("p_value", "estimates", "model"):
        if getattr(answer, name, None) is not None:
            answer = getattr(answer, name)
    return repr(answer.tolist() if isinstance(answer, np.ndarray) else answer)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    answers = {}
    for name, (function, how) in FUNCTIONS.items():
        data, others = _without_names(how)
        answers[name] = _numbers(function(data, **others))
    return answers


@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_answer(
    door: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    for name, (function, how) in FUNCTIONS.items():
        (folder := tmp_path / name.replace(" ", "-")).mkdir()
        assert _numbers(function(DOORS[door](folder), **how)) == expected[name], name


COMMANDS = {
    "exact": "--column risk --label died --kernel auc",
    "exact, text": "--column risk --label outcome --positive ill --kernel auc",
    "exact, weights": "--column risk --label outcome --classes well,ill --kernel auc "
    "--weight often --within ward",
    "exact, between": "--column risk --between ward --kernel gini",
    "exact, two columns": "--column age,risk --kernel kendall",
}


@pytest.mark.parametrize("door", FILES)
def test_every_file_gives_the_same_answer_to_commands(
    door: str, expected: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = DOORS[door](tmp_path)
    for name, options in COMMANDS.items():
        assert main(["exact", str(file), *options.split()]) == 0
        assert capsys.readouterr().out.strip() == expected[name], name


OTHERS = (
    "test FILE --column risk --label died --kernel auc",
    "estimate FILE --column risk --kernel gini --group-by ward --trials 1 --iterations 200",
    "train FILE --column risk,age --label outcome --classes well,ill --method sketch --model M",
    "score M FILE --label outcome --interval 0.9",
    "plan FILE --column risk --kernel gini --group-by ward --error 0.1",
)


def _answer(file: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    answers = []
    for command in OTHERS:
        places = {"FILE": str(file), "M": str(folder / "model.json")}
        assert main([places.get(word, word) for word in command.split()]) == 0
        answers.append(capsys.readouterr().out)
    return answers


@pytest.mark.parametrize("door", [name for name in FILES if name != "csv"])
def test_other_commands_take_every_file(
    door: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = _answer(DOORS["csv"](tmp_path), tmp_path, capsys)
    (folder := tmp_path / "other").mkdir()
    assert _answer(DOORS[door](folder), tmp_path, capsys) == expected


SPEC = """
kernel = "auc"
columns = ["risk"]
label = "outcome"
classes = ["well", "ill"]
by = "ward"
groups = ["cork", "derry", "kerry"]
weight = "often"
weights = [1, 2, 3]
whole = []

[ranges]
risk = [0, 1]
"""


@pytest.mark.parametrize("door", FILES)
def test_every_file_gives_peers_the_same_rows(door: str, tmp_path: Path) -> None:
    file = DOORS[door](tmp_path)
    wards = ["cork", "derry", "kerry"]
    places = [wards.index(ward) for ward in TABLE["ward"]]
    rows = zip(TABLE["risk"].tolist(), DIED.tolist(), places, TABLE["often"].tolist(), strict=True)
    assert read_rows(file, parse_spec(SPEC)) == tuple(rows)


def test_peers_name_rows_of_a_file_with_types(tmp_path: Path) -> None:
    file = _write_parquet(tmp_path / "a.parquet")
    low = parse_spec(SPEC.replace("[0, 1]", f"[{np.sort(TABLE['risk'])[1]}, 1]"))
    with pytest.raises(pg.InputError) as refused:
        read_rows(file, low)
    assert f"in row {TABLE['risk'].argmin()} (counting from 0): correct" in str(refused.value)
    few = parse_spec(SPEC.replace(', "kerry"]', "]"))
    with pytest.raises(pg.InputError) as refused:
        read_rows(file, few)
    first = TABLE["ward"].tolist().index("kerry")
    assert f"Column 'ward' of {file} holds 'kerry' in rows {first}, " in str(refused.value)


def test_datasets_have_names() -> None:
    data = pg.datasets.engel()
    assert pg.exact(data, "gini", columns="income") == pg.exact(data["income"], "gini")
    assert pg.exact(data, "kendall") == pg.exact(data.values, "kendall")
    whole = pg.exact(data, "kendall", columns=["income"], labels="foodexp")
    assert whole == pg.exact(data, "kendall")


def test_columns_that_no_other_argument_names() -> None:
    some = {name: TABLE[name] for name in ("risk", "outcome", "often")}
    answer = pg.exact(some, "auc", labels="outcome", positive="ill", weights="often")
    data = TABLE["risk"]
    how = {"labels": TABLE["outcome"], "positive": "ill", "weights": TABLE["often"]}
    assert answer == pg.exact(data, "auc", **how)
