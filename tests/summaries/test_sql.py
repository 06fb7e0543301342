"""Summaries that SQL engines count: the same counts as in memory, and nothing is lost."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairgossip as pg

from .engines import Engine, Postgres, ask_duckdb, ask_sqlite

c = pg.cells

CELLS = [
    c.Even(0, 1, 1024),
    c.Even(0, 1, 10),
    c.Even(0, 1, 1),
    c.Even(-8, 8, 64),
    c.Even(-8, 8, 3),
    c.Even(-1 / 3, 2 / 3, 100),
    c.Even(0, 4096, 256),
    c.Log(1e-3, 1e5, 37),
    c.Logit(1e-4, 64),
    c.Whole(-3, 12),
    c.Edges([0.1, 0.2, 0.30000000000000004, 1e300]),
    c.Edges([-1e300, -5e-324, 5e-324, 1 / 3, 1e22, 1e23]),
    c.Float(12),
]


def on_edges(cells: Any) -> list[float]:
    """Return numbers on edges, next to them, and between them."""
    places = cells.lay().places
    if isinstance(cells, c.Whole):
        return [*places.tolist(), -0.0]
    some = places[np.unique(np.linspace(0, len(places) - 1, 80).astype(int))]
    with np.errstate(over="ignore"):
        below, above = np.nextafter(some, -np.inf), np.nextafter(some, np.inf)
    near = np.concatenate([some, below, above, [-0.0]])
    middle = some[:-1] / 2 + some[1:] / 2
    every = np.concatenate([near, middle])
    return every[(every >= places[0]) & (every <= places[-1])].tolist()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    import tempfile

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = Postgres(Path(folder))
        try:
            yield server.ask
        finally:
            server.stop()


@pytest.fixture(params=["sqlite", "duckdb", "postgres"])
def ask(request: pytest.FixtureRequest) -> Engine:
    """Return an engine that counts; without it, the test is skipped."""
    engines: dict[str, Engine] = {"sqlite": ask_sqlite, "duckdb": ask_duckdb}
    return engines.get(request.param) or request.getfixturevalue(request.param)


@pytest.mark.parametrize("cells", CELLS, ids=str)
def test_engines_count_as_we_do_on_edges_and_beside_them(cells: Any, ask: Engine) -> None:
    values = on_edges(cells)
    died = [k % 2 for k in range(len(values))]
    empty = pg.Summary.of("auc", cells=cells, classes=[0, 1])
    answer = ask(
        {"risk": values, "died": died},
        lambda dialect: empty.sql("rows", "risk", "died", dialect=dialect),
    )
    expected = pg.summarize(values, "auc", labels=died, cells=cells, classes=[0, 1])
    assert empty.from_counts(answer) == expected


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=20),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_any_edges(edges: list[float], data: st.DataObject) -> None:
    places = np.unique(edges)
    if len(places) < 2:
        return
    cells = c.Edges(places.tolist())
    near = st.sampled_from(on_edges(cells))
    between = st.floats(float(places[0]), float(places[-1]))
    values = data.draw(st.lists(near | between, min_size=2, max_size=30))
    empty = pg.Summary.of("gini", cells=cells)
    expected = pg.summarize(values, "gini", cells=cells)
    for ask in (ask_sqlite, ask_duckdb):
        answer = ask({"x": values}, lambda dialect: empty.sql("rows", "x", dialect=dialect))
        assert empty.from_counts(answer) == expected


RNG = np.random.default_rng(5)
N = 300
ROWS: dict[str, list[Any]] = {
    "x": np.round(RNG.normal(size=N), 3).tolist(),
    "y": np.round(RNG.normal(size=N), 3).tolist(),
    "died": RNG.integers(0, 2, N).tolist(),
    "outcome": np.array(["well", 'it\'s "ill"'])[RNG.integers(0, 2, N)].tolist(),
    "sex": np.array(["f", "m"])[RNG.integers(0, 2, N)].tolist(),
    "ward": RNG.integers(7, 10, N).tolist(),
    "often": RNG.integers(1, 4, N).tolist(),
}
OUTCOMES = ["well", 'it\'s "ill"']
WIDE = c.Even(-6, 6, 48)
QUESTIONS: dict[str, tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    # the kernel, what Summary.of takes, the columns, what from_counts takes
    "one column": ("gini", {}, {"columns": "x"}, {}),
    "statistic of order": ("median", {}, {"columns": "x"}, {}),
    "two columns": ("kendall", {}, {"columns": ["x", "y"]}, {}),
    "graded": ("kendall", {"classes": [0, 1]}, {"columns": "x", "labels": "died"}, {}),
    "counted apart": (
        "auc-difference",
        {"classes": [0, 1]},
        {"columns": ["x", "y"], "labels": "died"},
        {},
    ),
    "event": (
        "concordance",
        {"classes": [0, 1]},
        {"columns": ["x", "y"], "labels": "died"},
        {},
    ),
    "text": (
        "auc",
        {"classes": OUTCOMES},
        {"columns": "x", "labels": "outcome"},
        {"classes": OUTCOMES},
    ),
    "test by ranks": (
        "mann-whitney",
        {"classes": [0, 1], "groups": ["f", "m"]},
        {"columns": "x", "labels": "died", "by": "sex"},
        {},
    ),
    "all factors": (
        "auc",
        {"classes": [0, 1], "groups": ["f", "m"], "strata": [7, 8, 9], "weights": [1, 2, 3]},
        {"columns": "x", "labels": "died", "by": "sex", "within": "ward", "weights": "often"},
        {},
    ),
    "blocks": (
        "auc",
        {"classes": [0, 1], "weights": [1, 2, 3], "least_cell": 5},
        {"columns": "x", "labels": "died", "weights": "often"},
        {},
    ),
}


@pytest.mark.filterwarnings("ignore:Left out")
@pytest.mark.parametrize("question", QUESTIONS)
def test_all_that_a_summary_counts(question: str, ask: Engine) -> None:
    kernel, head, names, more = QUESTIONS[question]
    empty = pg.Summary.of(kernel, cells=WIDE, **head)
    answer = ask(ROWS, lambda dialect: empty.sql("rows", **names, dialect=dialect))
    columns = names["columns"]
    every = [columns] if isinstance(columns, str) else columns
    data = np.column_stack([ROWS[name] for name in every])
    given: Any = {argument: ROWS[name] for argument, name in names.items() if name != columns}
    told: Any = {key: value for key, value in head.items() if key != "weights"}
    expected = pg.summarize(data, kernel, cells=WIDE, **given, **told)
    found = empty.from_counts(answer, **more)
    assert found == expected
    assert str(found.answer()) == str(expected.answer()) if expected.strata is None else True


MISSING: dict[str, Any] = {
    "x": [*ROWS["x"][3:], None, None, 9.0],
    "died": [*ROWS["died"][:-4], None, 0, 1, 0],
}


def test_what_cannot_be_counted_is_not_lost(ask: Engine) -> None:
    empty = pg.Summary.of("auc", cells=WIDE, classes=[0, 1])

    def read(**more: Any) -> pg.Summary:
        answer = ask(MISSING, lambda dialect: empty.sql("rows", "x", "died", dialect=dialect))
        return empty.from_counts(answer, **more)

    with pytest.raises(pg.InputError, match=r"^Values are missing in 3 of 300 rows: fill them in"):
        read()
    with (
        pytest.warns(pg.RowsDropped, match=r"^Left out 3 of 300 rows, which have missing values"),
        pytest.raises(pg.InputError, match=r"^Even\(-6, 6, 48\) leaves out 1 of 297 rows: give"),
    ):
        read(missing="drop")


def test_missing_rows_are_left_out_of_columns_that_are_counted_apart(ask: Engine) -> None:
    empty = pg.Summary.of("auc-difference", cells=WIDE, classes=[0, 1])
    rows: dict[str, Any] = {
        "x": [0.5, 0.25, None, 1.0, 2.0],
        "y": [0.5, None, 0.25, 1.0, 3.0],
        "died": [0, 1, 0, 1, 1],
    }
    answer = ask(rows, lambda dialect: empty.sql("rows", ["x", "y"], "died", dialect=dialect))
    with pytest.warns(pg.RowsDropped, match=r"^Left out 2 of 5 rows"):
        found = empty.from_counts(answer, missing="drop")
    data = np.column_stack([[0.5, 1, 2], [0.5, 1, 3]])
    told: dict[str, Any] = {"labels": [0, 1, 1], "classes": [0, 1], "cells": WIDE}
    assert found == pg.summarize(data, "auc-difference", **told)


def test_nan_is_missing_and_infinity_is_outside() -> None:
    empty = pg.Summary.of("gini", cells=WIDE)
    rows = {"x": [1.0, float("nan"), float("inf")]}
    answer = ask_duckdb(rows, lambda dialect: empty.sql("rows", "x", dialect=dialect))
    assert sorted(answer.fetchall(), key=str) == [(-1, 1), (28, 1), (None, 1)]


def test_names_are_quoted(ask: Engine) -> None:
    empty = pg.Summary.of("auc", cells=WIDE, classes=[0, 1])
    names = ['x" FROM rows; DROP TABLE rows; --', "di`ed', \"x"]
    rows = dict(zip(names, (ROWS["x"], ROWS["died"]), strict=True))

    def write(dialect: str) -> str:
        return empty.sql("rows", names[0], names[1], dialect=dialect)

    answer = ask(rows, write)
    expected = pg.summarize(ROWS["x"], "auc", labels=ROWS["died"], cells=WIDE, classes=[0, 1])
    assert empty.from_counts(answer) == expected


def test_an_unknown_column_is_no_text_to_sqlite() -> None:
    empty = pg.Summary.of("gini", cells=WIDE)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        ask_sqlite({"x": [1.0]}, lambda dialect: empty.sql("rows", "riks", dialect=dialect))


def test_text_is_no_number_to_sqlite() -> None:
    empty = pg.Summary.of("gini", cells=WIDE)
    answer = ask_sqlite({"x": [1.0, "many"]}, lambda one: empty.sql("rows", "x", dialect=one))
    with pytest.raises(pg.InputError, match=r"leaves out 1 of 2 rows"):
        empty.from_counts(answer)


def test_paths_of_tables() -> None:
    empty = pg.Summary.of("gini", cells=WIDE)
    assert 'FROM "hospital"."adm""issions"' in empty.sql(("hospital", 'adm"issions'), "x")
    assert "FROM `a\\`b\\\\`.`c`" in empty.sql(["a`b\\", "c"], "x", dialect="bigquery")
    assert "FROM `a``b`" in empty.sql("a`b", "x", dialect="spark")


def test_parquet_files_are_tables_to_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table(ROWS), path)
    empty = pg.Summary.of("auc", cells=WIDE, classes=[0, 1])
    found = empty.from_counts(duckdb.sql(empty.sql(str(path), "x", "died")))
    told: dict[str, Any] = {"labels": ROWS["died"], "classes": [0, 1], "cells": WIDE}
    assert found == pg.summarize(ROWS["x"], "auc", **told)


STAND_INS = """
CREATE TYPE FLOAT64 AS DOUBLE;
CREATE MACRO IS_NAN(x) AS isnan(x);
CREATE MACRO RANGE_BUCKET(x, edges) AS len([edge for edge in edges if edge <= x]);
"""


@pytest.mark.parametrize("dialect", ["spark", "bigquery"])
@pytest.mark.parametrize("cells", [c.Even(0, 1, 10), c.Log(1e-3, 1e5, 37), WIDE], ids=str)
def test_what_other_engines_are_asked(cells: Any, dialect: str) -> None:
    """DuckDB runs them: with its quotes and lists, and functions as in the manuals of others."""
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    empty, values = pg.Summary.of("gini", cells=cells), on_edges(cells)
    query = empty.sql("rows", "x", dialect=dialect).replace("`", '"')
    query = query.replace("[place_x1 + ", "[1 + place_x1 + ")
    if "ARRAY(" in query:
        first, rest = query.split("ARRAY(", 1)
        query = f"{first}[{rest.replace(') AS edges', '] AS edges', 1)}"
    database = duckdb.connect()
    database.execute(STAND_INS)
    database.register("rows", pa.table({"x": values}))
    found = empty.from_counts(database.sql(query).fetchall())
    assert found == pg.summarize(values, "gini", cells=cells)


def test_an_answer_is_read_through_every_door(tmp_path: Path) -> None:
    pa, pandas, polars = map(pytest.importorskip, ("pyarrow", "pandas", "polars"))
    kernel, head, names, _ = QUESTIONS["all factors"]
    empty = pg.Summary.of(kernel, cells=WIDE, **head)
    rows = ask_sqlite(ROWS, lambda dialect: empty.sql("rows", **names, dialect=dialect))
    header = ["cell", "label", "group", "stratum", "weight", "count"]
    table = {name: [row[at] for row in rows] for at, name in enumerate(header)}
    path = tmp_path / "answer.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    expected = empty.from_counts(rows)
    assert expected.rows == N
    doors = [table, pandas.DataFrame(table), polars.DataFrame(table), pa.table(table), path]
    for door in (*doors, iter(rows), np.array(rows, dtype=object)):
        assert empty.from_counts(door) == expected


AUC = pg.Summary.of("auc", cells=c.Even(0, 1, 4), classes=[0, 1], groups=["f", "m"])
GOOD: list[list[Any]] = [[0, 0, "f", 3], [3, 1, "m", 4]]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ([4, 0, "f", 1], "The answer has the cell 4, which the query does not give"),
        ([-2, 0, "f", 1], "The answer has the cell -2, which the query does not"),
        ([0.5, 0, "f", 1], r"The answer has the cell 0\.5, which the query does not"),
        ([1, 0, "f", -1], "The answer has the count -1, which the query does not"),
        ([1, 0, "f", 1.5], r"The answer has the count 1\.5, which the query does not"),
        ([1, 0, "f", None], "The answer has the count nan, which the query does not"),
        ([0, 0, "f", 1], "The answer counts the same cell twice"),
        ([0, 2, "f", 7], r"The answer has the label 2 \(7 rows\), but the summary lists 0 and"),
        ([0, "x", "f", 7], r"The answer has the label 'x' \(7 rows\), but"),
        ([0, 0, "F", 7], r"The answer has the group 'F' \(7 rows\), but the summary lists 'f' and"),
        ([0, 0, None, 7], "Values are missing in 7 of 14 rows"),
        ([0, None, "f", 7], "Values are missing in 7 of 14 rows"),
        ([None, 0, "f", 7], "Values are missing in 7 of 14 rows"),
        ([0, 0, " ", 7], "Values are missing in 7 of 14 rows"),
        ([-1, 0, "f", 7], r"Even\(0, 1, 4\) leaves out 7 of 14 rows: give wider cells="),
        ([0, 0, "f"], "The answer of the query has the columns cell, label, group and count: give"),
        (["a", 0, "f", 1], "Column 'cell' holds text, not numbers"),
    ],
)
def test_wrong_answers(row: list[Any], sentence: str) -> None:
    with pytest.raises(pg.InputError, match=f"^{sentence}"):
        AUC.from_counts([*GOOD, row])


def test_classes_are_not_guessed() -> None:
    empty = pg.Summary.of("auc", cells=c.Even(0, 1, 4), classes=["well", "ill"])
    with pytest.raises(
        pg.InputError, match=r"^A summary stores its classes as numbers: give class"
    ):
        empty.from_counts([[0, "well", 3]])
    with pytest.raises(pg.InputError, match="has 2 classes, and the last is 'ill': correct"):
        empty.from_counts([[0, "well", 3]], classes=["ill", "well"])
    three = pg.Summary.of("kendall", cells=[c.Even(0, 1, 4)], classes=[1, 2, 3])
    with pytest.raises(pg.InputError, match=r"the labels of the 3 classes from the lowest"):
        three.from_counts([[0, 1, 3]])
    assert three.from_counts([[0, 1, 3]], classes=[1, 2, 3]).counts[0, 0] == 3
    numbers = pg.summarize([0.1, 0.9], "auc", labels=[1, 2], cells=c.Even(0, 1, 4))
    assert numbers.from_counts([[0, 1, 1], [3, 2, 1]]) == numbers
    with pytest.raises(pg.InputError, match=r"^The summary has no classes: leave classes= out"):
        pg.Summary.of("gini", cells=c.Even(0, 1)).from_counts([[0, 1]], classes=[0, 1])


def test_wrong_queries() -> None:
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: AUC.sql("t", "x", "y"), "The summary has groups: name their column with by="),
        (lambda: AUC.sql("t", "x", by="g"), "The summary has classes: name their column with la"),
        (lambda: AUC.sql("t", "x", "y", by="g", within="w"), "The summary has no strata: leave wi"),
        (lambda: AUC.sql("t", ["x", "y"], "z", by="g"), "The summary has cells of 1 column: name"),
        (lambda: AUC.sql("t", "x", "y", by="g", dialect="duckbd"), "Unknown dialect of SQL 'duckb"),
        (lambda: AUC.sql("", "x", "y", by="g"), "Tables and columns are named by text, not ''"),
        (lambda: AUC.sql(3, "x", "y", by="g"), "Tables and columns are named by text, not 3"),  # type: ignore[arg-type]
        (lambda: AUC.sql("t", "a\0b", "y", by="g"), "Tables and columns are named by text"),
        (
            lambda: pg.Summary.of("gini", cells=c.Float(20)).sql("t", "x"),
            "A query would list 1,044,480 edges",
        ),
    ]
    for call, sentence in calls:
        with pytest.raises(pg.InputError, match=f"^{sentence}"):
            call()


def test_wrong_heads() -> None:
    cells = c.Even(0, 1, 4)
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: pg.Summary.of("auc", cells=cells), "'auc' needs classes: give classes=, all"),
        (lambda: pg.Summary.of("gini", cells=3), "cells= is 3: give cells such as"),  # type: ignore[arg-type]
        (lambda: pg.Summary.of("gini", cells=[cells] * 2), "'gini' takes 1 column .value., but"),
        (lambda: pg.Summary.of("gini", cells=cells, classes=[0, 1]), "'gini' takes 1 column"),
        (lambda: pg.Summary.of("gini", "w", cells=cells), "Unknown kind of statistic 'w'"),
        (lambda: pg.Summary.of("gini", cells=c.Quantiles(4)), "Quantiles.4. has no edges before"),
        (lambda: pg.Summary.of("gini", cells=cells, weights=[0, 1]), "A weight"),
        (lambda: pg.Summary.of("gini", cells=cells, least_cell=2), "Two rows in a cell reveal"),
        (lambda: pg.Summary.of("gini", cells=cells, groups=["f"]), "Labels need at least two gro"),
        (lambda: pg.Summary.of("kendall", cells=c.Even(0, 1, 2000)), "A summary has at most 1,04"),
    ]
    for call, sentence in calls:
        with pytest.raises(pg.InputError, match=f"^{sentence}"):
            call()
