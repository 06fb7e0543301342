"""SQL files: a user's own queries, which DuckDB answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError, MissingExtra
from pairgossip.rows.sources import open_source
from pairgossip.rows.sql import _not_run
from pairgossip.tables import read_columns

SCORES = "VALUES (0.1, 0), (0.9, 1), (0.4, 1), (0.5, 0)"
EXPECTED = pg.exact([0.1, 0.9, 0.4, 0.5], "auc", labels=[0, 1, 1, 0])


@pytest.fixture(autouse=True)
def duckdb() -> ModuleType:
    return pytest.importorskip("duckdb")


def _ask(folder: Path, query: str) -> float:
    file = folder / "a.sql"
    file.write_text(query)
    return float(pg.exact(file, "auc", columns="risk", labels="died"))


def test_paths_start_where_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "queries").mkdir()
    (tmp_path / "a.csv").write_text("risk,died\n0.1,0\n0.9,1\n0.4,1\n0.5,0\n")
    monkeypatch.chdir(tmp_path)
    assert _ask(Path("queries"), "SELECT * FROM 'a.csv'") == EXPECTED


def test_a_database_of_its_own(tmp_path: Path, duckdb: Any) -> None:
    database = tmp_path / "h.db"
    with duckdb.connect(str(database)) as connection:
        connection.sql(f"CREATE TABLE patients AS SELECT * FROM ({SCORES}) t(risk, died)")
    query = f"ATTACH '{database}' AS h (READ_ONLY); SELECT * FROM h.patients;"
    assert _ask(tmp_path, query) == EXPECTED
    table = read_columns(tmp_path / "a.sql", ["risk"])
    with duckdb.connect(str(database)) as connection:  # nothing holds it any longer
        connection.sql("DROP TABLE patients")
    assert table.numbers("died").tolist() == [0, 1, 1, 0]


def test_a_query_is_streamed_and_what_stands_before_it_runs_once(tmp_path: Path) -> None:
    """The answer, with more rows than fit in one batch, is never completely in memory."""
    rows, file = 1 << 20, tmp_path / "a.sql"
    file.write_text(
        f"CREATE SEQUENCE runs; CREATE TABLE run AS SELECT nextval('runs') AS number;"
        f"SELECT (range % 4) / 4 + number AS risk FROM range({rows}), run"
    )
    source = open_source(file, "data")
    assert source is not None
    passes: list[list[int]] = []
    for _ in range(2):
        (piece,) = source.pieces([0], {}, None)
        parts = [part.read_numbers([0])[0] for part in piece()]
        passes.append(list(map(len, parts)))
        values, counts = np.unique(np.concatenate(parts), return_counts=True)
        assert values.tolist() == [1, 1.25, 1.5, 1.75]
        assert counts.tolist() == [rows // 4] * 4
    assert max(passes[0]) < rows / 4 and passes[0] == passes[1]


def test_a_query_does_not_see_variables_of_python(tmp_path: Path, duckdb: Any) -> None:
    rows = duckdb.sql("SELECT 1 AS risk, 0 AS died")
    with pytest.raises(InputError, match="Table with name rows does not exist"):
        _ask(tmp_path, "SELECT * FROM rows")
    assert rows.columns == ["risk", "died"]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELEC 1", 'syntax error at or near "SELEC" (Parser Error): correct the query.'),
        ("SELECT risk", "because the FROM clause is missing (Binder Error): correct the query."),
        ("SELECT * FROM 'no.parquet'", 'the pattern "no.parquet" (IO Error): correct the query.'),
        ("-- nothing", " has no query: write one, such as SELECT * FROM 'rows.parquet'."),
        ("SELECT 1 AS risk, 0 AS died WHERE false", " has no rows: it needs some."),
        ("SELECT 1 AS risk, 2 AS risk", " has two columns named 'risk': rename one of them."),
        (
            f"SELECT risk, 'Ann'::INT AS died FROM ({SCORES}) t(risk, died)",
            " (Conversion Error; what it says may quote an entry, so it is not shown): try the "
            "query in DuckDB itself.",
        ),
        (
            "SELECT 1 AS risk, CASE WHEN range = 2999999 THEN 'Ann' ELSE '1' END::INT AS died "
            "FROM range(3000000)",
            " (Conversion Error; what it says may quote an entry, so it is not shown): try the "
            "query in DuckDB itself.",
        ),
    ],
)
def test_what_is_wrong_is_said_without_entries(tmp_path: Path, query: str, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        _ask(tmp_path, query)
    assert str(refused.value).endswith(sentence)
    assert str(tmp_path / "a.sql") in str(refused.value)
    assert "Ann" not in str(refused.value)


def test_what_is_not_text(tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"a\.sql is not UTF-8 text: save it as SQL in UTF-8\.$"):
        pg.exact(file, "gini")


def test_without_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtra) as refused:
        _ask(tmp_path, "SELECT 1")
    assert str(refused.value) == (
        f"The query in {tmp_path / 'a.sql'} needs duckdb, which is not installed: pip install "
        "'pairgossip[sql]'."
    )


def test_csv_needs_neither_duckdb_nor_arrow(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("risk,died\n0.1,0\n0.9,1\n0.4,1\n0.5,0\n")
    program = (
        "import sys\n"
        "from pairgossip.tables import read_columns\n"
        "read_columns('a.csv').matrix()\n"
        "print([name for name in ('duckdb', 'pyarrow') if name in sys.modules])\n"
    )
    run = [sys.executable, "-c", program]
    assert subprocess.check_output(run, cwd=tmp_path, text=True) == "[]\n"


@pytest.mark.parametrize(
    "query",
    [
        "ATTACH '/nowhere/host=h password=hunter2.db' AS p; SELECT * FROM p.t",
        "SELECT * FROM 'postgres://ann:hunter2@h/rows'",
    ],
)
def test_an_error_quotes_no_password(tmp_path: Path, query: str) -> None:
    with pytest.raises(InputError, match="what it says may quote a password") as caught:
        _ask(tmp_path, query)
    assert "hunter2" not in str(caught.value)


def test_what_databases_say_of_a_login_is_not_shown() -> None:
    said = 'IO Error: Unable to connect to Postgres at "host=h password=hunter2": timeout'
    assert "hunter2" not in str(_not_run(Path("a.sql"), said))


def test_paths_that_are_not_where_the_command_runs_start_where_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "beside.csv").write_text("x\n1\n4\n")
    query = tmp_path / "ask.sql"
    query.write_text("SELECT * FROM 'beside.csv'")
    assert pg.exact(query, "gini") == pg.exact([1.0, 4.0], "gini")
