"""SQL files: the user's own query, answered by DuckDB; no other module imports duckdb.

Only a file that the user names is run. Relative paths in it start in the folder where the command
runs, or else in the folder of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pairgossip.errors import InputError, needed_for
from pairgossip.files import read_bytes
from pairgossip.rows.arrow import open_stream
from pairgossip.rows.batches import Piece

_LARGEST = 1 << 20
"""Largest size of a query, in bytes; a longer file is refused."""
_ABOUT_QUERIES = ("Parser Error", "Binder Error", "Catalog Error", "IO Error")
"""DuckDB errors that quote queries and paths; other errors may quote entries of tables."""
_ABOUT_LOGINS = re.compile(r"connect|attach|passw|secret|://\S*@", re.IGNORECASE)
"""Matches errors that may quote a database login, which must not end up in logs."""


class Query:
    """A query that runs again for each pass over its answer, until the whole answer is kept."""

    def __init__(self, file: Path, connection: Any, answer: Any) -> None:
        """Keep the database open."""
        self._file, self._connection = file, connection
        with _explaining(file):
            self._table = open_stream(answer)
        self._columns: list[Any] | None = None
        self.names = self._table.names

    def load(self, places: Sequence[int]) -> list[Any]:
        """Return columns, all of one run, as runs may differ in rows; then close the database."""
        if self._columns is None:
            with _explaining(self._file):
                self._columns = self._table.load(range(len(self.names)))
            self._connection.close()
        return [self._columns[place] for place in places]

    def read(self, places: Sequence[int]) -> list[Piece]:
        """Return the only piece of the columns."""
        return [Piece(0, partial(self._read, places))]

    def _read(self, places: Sequence[int]) -> Iterator[Sequence[Any]]:
        if self._columns is not None:
            yield self.load(places)
            return
        with _explaining(self._file):
            for piece in self._table.read(places):
                yield from piece.read()


def open_query(file: Path) -> Query:
    """Run the statements before the last query of a file, and open that query."""
    try:
        text = read_bytes(file, _LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text: save it as SQL in UTF-8.") from None
    with needed_for(f"The query in {file}", "pairgossip[sql]"):
        import duckdb
    with _explaining(file):
        # Names in a query are names of tables, not of variables of this program.
        settings: dict[str, Any] = {
            "python_enable_replacements": "false",
            "file_search_path": str(file.parent),
        }
        connection = duckdb.connect(config=settings)
        answer = connection.sql(text)
    if answer is None:
        raise InputError(f"{file} has no query: write one, such as SELECT * FROM 'rows.parquet'.")
    return Query(file, connection, answer)


@contextmanager
def _explaining(file: Path) -> Iterator[None]:
    import duckdb

    try:
        yield
    except (duckdb.Error, OSError) as problem:  # amid a stream DuckDB's error is an OSError
        raise _not_run(file, str(problem)) from None


def _not_run(file: Path, problem: str) -> InputError:
    kind, _, detail = problem.partition("\n")[0].partition(": ")
    is_login = _ABOUT_LOGINS.search(detail) is not None
    if kind not in _ABOUT_QUERIES or is_login:
        what = "a password" if is_login else "an entry"
        return InputError(
            f"DuckDB cannot answer the query in {file} ({kind}; what it says may quote {what}, "
            "so it is not shown): try the query in DuckDB itself."
        )
    return InputError(
        f"DuckDB cannot run the query in {file}: {detail.rstrip('.!')} ({kind}): correct the query."
    )
