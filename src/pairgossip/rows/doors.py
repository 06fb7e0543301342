"""The kinds of files that hold a table, told apart by their names."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from pairgossip.errors import InputError
from pairgossip.rows.arrow_file import ArrowFile
from pairgossip.rows.csv.file import CsvFile, open_csv
from pairgossip.rows.table_file import TableFile

_ARROW, _QUERY = (".parquet", ".arrow", ".feather"), ".sql"


def open_table(path: str | PathLike[str], delimiter: str | None = None) -> TableFile:
    """Open a file or folder that holds a table, by its name; the path "-" is standard input.

    Files of Parquet and Arrow, folders of Parquet, and the answer of a query in a file .sql have
    types; any other file is CSV, plain or compressed by gzip.
    """
    place = Path(path)
    if place.suffix.lower() == _QUERY:
        from pairgossip.rows.sql import open_query

        query = open_query(place)
        return ArrowFile(place, query.names, query.load, None, query.read)
    if place.is_dir() or place.suffix.lower() in _ARROW:
        from pairgossip.rows.arrow import open_path

        table = open_path(place)
        return ArrowFile(place, table.names, table.load, table.rows, table.read)
    return open_csv(place, delimiter)


def open_content(content: bytes, file: Path, largest: int) -> TableFile:
    """Open a table that somebody sent, CSV or Parquet by its name; a query is never run.

    Parquet may not take more than ``largest`` bytes unpacked.
    """
    kind = file.suffix.lower()
    if kind == ".parquet":
        from pairgossip.rows.arrow import read_content

        return ArrowFile(file, *read_content(content, file, largest))
    if kind in (*_ARROW, _QUERY):
        raise InputError(f"{file} is not taken here: save the table as CSV or Parquet.")
    return CsvFile(content, file)
