"""Where rows stand in a file, and how messages name them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import IntArray
from pairgossip.text import format_rows


class Numbering(NamedTuple):
    """What messages call the rows of a file."""

    noun: str
    start: str = ""
    """What must be said of where rows are counted from."""

    def name(self, numbers: Sequence[int]) -> str:
        """Name rows by their numbers: "lines 3 and 17", or "rows 3 and 17 (counting from 0)"."""
        return f"{format_rows(numbers, self.noun)}{f' ({self.start})' if self.start else ''}"


LINES, ROWS = Numbering("line"), Numbering("row", "counting from 0")


class Places:
    """The line that every row of a file begins on, kept as stretches of lines.

    Most rows follow each other line by line, some do not.
    """

    def __init__(self) -> None:
        self._stretches: list[range | IntArray] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, lines: range | IntArray) -> None:
        """Note the lines of the rows that follow."""
        self._count += len(lines)
        last = self._stretches[-1] if self._stretches else None
        if isinstance(lines, range) and isinstance(last, range) and last.stop == lines.start:
            self._stretches[-1] = range(last.start, lines.stop)
        else:
            self._stretches.append(lines)

    def lines(self) -> IntArray:
        """Return the line of every row."""
        parts = [np.asarray(part, dtype=np.int64) for part in self._stretches]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
