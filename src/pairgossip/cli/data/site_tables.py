"""Columns of one file, or of several files that are sites: entries, and lines of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pairgossip.cli.console import with_options
from pairgossip.errors import InputError
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.arrays import FloatArray, IntArray
    from pairgossip.rows.places import Numbering
    from pairgossip.tables import Table


class Places(NamedTuple):
    """The places of rows in one file or in several."""

    parts: list[tuple[str, IntArray, Numbering]]
    """The name of every file, the numbers of its rows, and what these numbers count."""

    def describe(self, rows: Sequence[int]) -> str:
        """Name rows of files: "lines 3 and 17 of cork.csv and line 2 of derry.csv"."""
        named, start = [], 0
        for name, lines, numbering in self.parts:
            numbers = [lines[row - start] for row in rows if 0 <= row - start < len(lines)]
            place = f" of {name}" if len(self.parts) > 1 else ""
            if numbers:
                named.append(f"{numbering.name(numbers)}{place}")
            start += len(lines)
        return join_names(named)


_Read = TypeVar("_Read")


def read_each(sources: Sequence[Any], read: Callable[[Any], _Read]) -> list[_Read]:
    """Read every file or table; raise one error for the problems of all."""
    results, problems = [], []
    for source in sources:
        try:
            results.append(read(source))
        except InputError as problem:
            problems.append(problem)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise InputError(" ".join(map(with_options, problems)))
    return results


def name_sites(files: Sequence[Path]) -> list[str] | None:
    """Return the names of the files as sites; None for a single file."""
    if len(files) == 1:
        return None
    names: dict[str, Path] = {}
    for file in files:
        if file.stem in names:
            raise InputError(
                f"{names[file.stem]} and {file} would both be the site '{file.stem}': give each "
                "file once, under a name of its own."
            )
        names[file.stem] = file
    stray = next((file for file in files if not file.suffix and not file.exists()), None)
    if stray is not None and stray != Path("-"):
        raise InputError(
            f"There is no file {stray}: leave it out, or put a name with blanks in it in quotes."
        )
    return list(names)


def repeat_sites(sites: list[str] | None, parts: Sequence[Sequence[Any] | FloatArray]) -> Any:
    """Return the site of every row if each part is a site; None without sites."""
    import numpy as np

    return None if sites is None else np.repeat(sites, [len(part) for part in parts])


def locate_rows(tables: Sequence[Table]) -> Places:
    """Return the places of all rows."""
    return Places([(table.path.name, table.lines, table.file.numbering) for table in tables])


def read_order(tables: Sequence[Table], name: str) -> list[str] | None:
    """Return the classes of a column from the lowest to the highest, if all files agree."""
    columns = [table.ordered(name) for table in tables]
    orders = [None if one is None else [*map(str, one.categories)] for one in columns]
    return orders[0] if all(order == orders[0] for order in orders) else None


def read_entries(tables: Sequence[Table], name: str) -> Any:
    """Return a column of all files: an array if all entries are numbers, else a list of text."""
    read_each(tables, lambda table: table.refuse_rounded([name]))
    if all(table.holds_numbers(name) for table in tables):
        return read_numbers(tables, name)
    return [text for table in tables for text in table.text(name)]


def read_numbers(tables: Sequence[Table], name: str) -> FloatArray:
    """Return a column of all files as numbers."""
    import numpy as np

    return np.concatenate(read_each(tables, lambda table: table.numbers(name)))


def read_names(tables: Sequence[Table], column: str) -> Any:
    """Return the site or stratum of every row, numbers or text; 007 is a name."""
    texts = [text for table in tables for text in table.text(column)]
    has_names = any(table.holds_names(column) for table in tables)
    return texts if has_names else read_entries(tables, column)
