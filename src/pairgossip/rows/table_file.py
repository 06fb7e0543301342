"""The interface of files to tables, and the kinds of files, which differ by their names."""

from __future__ import annotations

import re
from collections.abc import Collection
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, Self

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.rows.arrow_file import ArrowFile
from pairgossip.rows.columns import Ordered
from pairgossip.rows.csv.file import CsvFile, open_csv
from pairgossip.rows.names import Names
from pairgossip.rows.places import Numbering

_ARROW, _QUERY = (".parquet", ".arrow", ".feather"), ".sql"
_WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
_ADDRESS = re.compile(r"[a-z][a-z0-9+]+:/")
"""The beginning of an address, as a path writes it."""


class TableFile(Protocol):
    """A file with named columns."""

    file: Path
    """The name of the file in messages."""
    numbering: Numbering
    """The noun and the counting of its rows in messages."""

    @property
    def delimiter(self) -> str | None:
        """The separator of fields; None for files without one."""

    @property
    def header(self) -> tuple[str, ...]:
        """The names of all columns, in their order."""

    def read(self, columns: Collection[str] | None = None) -> Self:
        """Read the rows, and the columns of numbers among these; None for all columns."""

    def __len__(self) -> int: ...

    def has_more(self, rows: int) -> bool:
        """Return whether there are more rows than this, without reading all."""

    def floats(self, name: str) -> FloatArray | None:
        """Return a column of numbers, NaN for missing entries; None for other columns."""

    def load(self, names: Collection[str]) -> None:
        """Read these columns together instead of one by one later."""

    def has_text(self, name: str) -> bool:
        """Return whether a column has already been read as text."""

    def texts(self, names: Collection[str]) -> dict[str, Names]:
        """Return columns as text, whatever they hold."""

    def lines(self) -> IntArray:
        """Return the number of each row in messages."""

    def is_gap(self, entry: Any) -> bool:
        """Return whether an entry of a column of text counts as missing."""

    def parse_number(self, entry: Any) -> float | None:
        """Return the number in an entry of a column of text, if any."""

    def explain(self, name: str) -> InputError | None:
        """Return why a column holds no numbers; None where errors name single entries."""

    def refuse_rounded(self, name: str) -> None:
        """Raise `InputError` for a column whose whole numbers floating point would round."""

    def refuse_unnamed(self, name: str) -> None:
        """Raise `InputError` for a column whose entries cannot name a class, site or stratum."""

    def ordered(self, name: str) -> Ordered | None:
        """Return a column of ordered classes; None for other columns."""


def open_table(path: str | PathLike[str], delimiter: str | None = None) -> TableFile:
    """Open a file or folder with a table, by its name; the path "-" is standard input.

    Parquet and Arrow files, folders of Parquet files, and the answer of a query in an .sql file
    have types; any other file is CSV, plain or compressed by gzip.
    """
    place = Path(path)
    if _ADDRESS.match(address := place.as_posix()) and not place.exists():
        named = address.replace(":/", "://", 1)
        raise InputError(f"{named} is an address, not a file: download it first.")
    if place.suffix.lower() in _WORKBOOKS:
        raise InputError(f"{place} is a workbook: save its sheet as CSV or Parquet.")
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
    """Open an uploaded table, CSV or Parquet by its name; a query is never run.

    Parquet may take at most ``largest`` bytes unpacked.
    """
    kind = file.suffix.lower()
    if kind == ".parquet":
        from pairgossip.rows.arrow import read_content

        return ArrowFile(file, *read_content(content, file, largest))
    if kind in (*_ARROW, *_WORKBOOKS, _QUERY):
        raise InputError(f"{file} is not taken here: save the table as CSV or Parquet.")
    return CsvFile(content, file)
