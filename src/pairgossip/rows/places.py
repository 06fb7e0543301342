"""Where rows stand in a file: most follow each other line by line, some do not."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import IntArray


class Places:
    """The line that every row of a file begins on, kept as stretches of lines."""

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
