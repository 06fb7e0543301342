"""Summaries that SQL engines count: the same counts as in memory, and nothing lost on the way."""

from __future__ import annotations

import csv
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairgossip as pg

c = pg.cells
Table = Mapping[str, Sequence[Any]]
Engine = Callable[[Table, Callable[[str], str]], Any]
"""Counts a table by the query of a dialect, and returns the answer."""

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
    near = np.concatenate([some, np.nextafter(some, -np.inf), np.nextafter(some, np.inf), [-0.0]])
    middle = (some[:-1] + some[1:]) / 2
    every = np.concatenate([near, middle])
    return every[(every >= places[0]) & (every <= places[-1])].tolist()


def ask_sqlite(table: Table, write: Callable[[str], str]) -> Any:
    names = ", ".join(f'"{name}"' for name in table)
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE rows ({names})")
        marks = ", ".join("?" * len(table))
        rows = zip(*table.values(), strict=True)
        database.executemany(f"INSERT INTO rows VALUES ({marks})", rows)
        answer = database.execute(write("sqlite"))
        return answer.fetchall()


def ask_duckdb(table: Table, write: Callable[[str], str]) -> Any:
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    database = duckdb.connect()
    database.register("rows", pa.table({name: list(column) for name, column in table.items()}))
    return database.sql(write("duckdb"))


class Postgres:
    """A server of its own, in a folder, that listens to nobody else."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        tools = shutil.which("initdb"), shutil.which("pg_ctl"), shutil.which("psql")
        if None in tools:
            pytest.skip("PostgreSQL is not installed: no initdb, pg_ctl or psql")
        self._who: dict[str, Any] = {}
        if os.geteuid() == 0:  # it does not run as root
            self._who = {"user": "nobody"}
            shutil.chown(folder, "nobody")
        self._run("initdb", "-D", "data", "-A", "trust", "-U", "test", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        self._run("pg_ctl", "-D", "data", "-w", "-t", "30", "-l", "log", "-o", options, "start")

    def _run(self, *command: str, text: str = "") -> str:
        done = subprocess.run(
            command,
            cwd=self._folder,
            input=text,
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
            **self._who,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self) -> None:
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "stop")

    def ask(self, table: Table, write: Callable[[str], str]) -> Any:
        kinds = [
            "double precision" if isinstance(column[0], float) else "text"
            for column in table.values()
        ]
        names = ", ".join(f'"{name}" {kind}' for name, kind in zip(table, kinds, strict=True))
        lines = [
            ",".join("" if one is None else repr(one) for one in row)
            for row in zip(*table.values(), strict=True)
        ]
        self._number += 1
        answer = self._folder / f"answer-{self._number}.csv"
        script = [
            "DROP TABLE IF EXISTS rows;",
            f"CREATE TABLE rows ({names});",
            "COPY rows FROM STDIN (FORMAT csv);",
            *lines,
            "\\.",
            f"\\o {answer}",
            write("postgres") + ";",
        ]
        psql = ("psql", "-h", str(self._folder), "-U", "test", "-d", "postgres", "--csv", "-q")
        self._run(*psql, "-v", "ON_ERROR_STOP=1", text="\n".join(script))
        return answer


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
    """An engine that counts; without it the test is skipped."""
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
