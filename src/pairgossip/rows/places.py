"""The names of rows and columns in messages; rows are on lines or have numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import IntArray
from pairgossip.errors import InputError
from pairgossip.text import format_rows

UNNAMED = "(unnamed)"
"""The name in messages for a column with an empty name, such as an index that pandas wrote."""


class Numbering(NamedTuple):
    """The noun for the rows of a file in messages, and where counting starts."""

    noun: str
    start: str = ""
    """Where rows are counted from, if messages must state it."""

    def name(self, numbers: Sequence[int]) -> str:
        """Name rows by their numbers: "lines 3 and 17", or "rows 3 and 17 (counting from 0)"."""
        return f"{format_rows(numbers, self.noun)}{f' ({self.start})' if self.start else ''}"


LINES, ROWS = Numbering("line"), Numbering("row", "counting from 0")


class Places:
    """The line on which each row of a file begins, kept as runs of lines.

    Most rows are on consecutive lines, but some are not.
    """

    def __init__(self) -> None:
        self._stretches: list[range | IntArray] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, lines: range | IntArray) -> None:
        """Append the lines of the rows that follow."""
        self._count += len(lines)
        last = self._stretches[-1] if self._stretches else None
        if isinstance(lines, range) and isinstance(last, range) and last.stop == lines.start:
            self._stretches[-1] = range(last.start, lines.stop)
        else:
            self._stretches.append(lines)

    def lines(self) -> IntArray:
        """Return the line of each row."""
        parts = [np.asarray(part, dtype=np.int64) for part in self._stretches]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def column_name(name: str) -> str:
    """Return the name of a column in messages."""
    return name or UNNAMED


def list_columns(names: Sequence[str]) -> str:
    """List columns by their names in messages."""
    return ", ".join(map(column_name, names))


def no_column(file: Path | str, name: str, names: Sequence[str]) -> InputError:
    """Build the error for a column that does not exist."""
    import difflib  # which a device at work does not need

    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"it has {list_columns(names)}."
    return InputError(f"There is no column '{column_name(name)}' in {file}: {hint}")
