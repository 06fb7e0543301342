"""Engines that answer SQL queries: SQLite, DuckDB, and a separate PostgreSQL server."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

Table = Mapping[str, Sequence[Any]]
Engine = Callable[[Table, Callable[[str], str]], Any]
"""Counts a table by the query of a dialect, and returns the answer."""


def quote(name: str) -> str:
    """Return a column's name as it is quoted in the table of a test."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def ask_sqlite(table: Table, write: Callable[[str], str]) -> Any:
    names = ", ".join(map(quote, table))
    with closing(sqlite3.connect(":memory:")) as database, database:
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
    """A separate server, in a folder, that accepts no other connections."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        tools = shutil.which("initdb"), shutil.which("pg_ctl"), shutil.which("psql")
        if None in tools:
            pytest.skip("PostgreSQL is not installed: no initdb, pg_ctl or psql")
        self._who: dict[str, Any] = {}
        if os.geteuid() == 0:  # it refuses to run as root
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
        kinds = {float: "double precision", int: "bigint", str: "text"}
        names = ", ".join(f"{quote(name)} {kinds[type(table[name][0])]}" for name in table)
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\n").writerows(zip(*table.values(), strict=True))
        self._number += 1
        answer = self._folder / f"answer-{self._number}.csv"
        script = [
            "DROP TABLE IF EXISTS rows;",
            f"CREATE TABLE rows ({names});",
            "COPY rows FROM STDIN (FORMAT csv);",
            f"{lines.getvalue()}\\.",
            f"\\o {answer}",
            write("postgres") + ";",
        ]
        psql = ("psql", "-h", str(self._folder), "-U", "test", "-d", "postgres", "--csv", "-q")
        self._run(*psql, "-v", "ON_ERROR_STOP=1", text="\n".join(script))
        return answer
