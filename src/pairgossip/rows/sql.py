"""Files of SQL: a query of whoever runs this, answered by DuckDB. The one importer of duckdb.

Nothing but a file that the user names is ever run, and relative paths in it start where the
command runs.
"""

from __future__ import annotations

from pathlib import Path

from pairgossip.errors import InputError, needed_for
from pairgossip.files import read_bytes
from pairgossip.rows.arrow import Columns, read_stream

_LARGEST = 1 << 20
"""Bytes of a query; a longer file is refused."""
_ABOUT_QUERIES = ("Parser Error", "Binder Error", "Catalog Error", "IO Error")
"""Kinds of DuckDB's errors that quote queries and paths; others may quote entries of tables."""


def read_query(file: Path) -> Columns:
    """Run the query in a file, and read its answer."""
    try:
        text = read_bytes(file, _LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text: save it as SQL in UTF-8.") from None
    with needed_for(f"The query in {file}", "pairgossip[sql]"):
        import duckdb
    try:
        # Names in a query are those of tables, not of variables of this program.
        with duckdb.connect(config={"python_enable_replacements": "false"}) as connection:
            answer = connection.sql(text)
            if answer is not None:
                return read_stream(answer)
    except (duckdb.Error, OSError) as problem:  # in the midst of a stream it is an OSError
        raise _not_run(file, str(problem)) from None
    raise InputError(f"{file} has no query: write one, such as SELECT * FROM 'rows.parquet'.")


def _not_run(file: Path, problem: str) -> InputError:
    kind, _, detail = problem.partition("\n")[0].partition(": ")
    if kind not in _ABOUT_QUERIES:
        return InputError(
            f"DuckDB cannot answer the query in {file} ({kind}; what it says may quote an entry, "
            "so it is not shown): try the query in DuckDB itself."
        )
    return InputError(
        f"DuckDB cannot run the query in {file}: {detail.rstrip('.!')} ({kind}): correct the query."
    )
