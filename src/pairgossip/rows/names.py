"""Columns of text, stored as codes of entries in a book of different entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import BoolArray, IntArray

Codes = NDArray[np.int32]


class Names(NamedTuple):
    """A column of text."""

    codes: Codes
    """The code of each row's entry in the book."""
    book: Sequence[Any]
    """The different entries, in the order of their first rows; None for a missing one without any
    text."""

    def take(self, rows: IntArray | BoolArray) -> Names:
        """Return some of the rows."""
        return Names(self.codes[rows], self.book)

    def map(self, function: Callable[[Any], Any], kind: type) -> NDArray[Any]:
        """Return a function of each row's entry, computed once per different entry."""
        return np.array([function(entry) for entry in self.book], dtype=kind)[self.codes]

    def used(self) -> list[Any]:
        """Return the entries that at least one row has."""
        counts = np.bincount(self.codes, minlength=len(self.book))
        return [entry for entry, count in zip(self.book, counts.tolist(), strict=True) if count]

    def texts(self) -> list[str]:
        """Return the entry of each row."""
        return [self.book[code] for code in self.codes.tolist()]


class Book:
    """The different entries of a column so far, without blanks at their ends."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, texts: Sequence[str]) -> Codes:
        """Return the code of each text; new texts get new codes."""
        codes = self._codes
        for text in dict.fromkeys(texts):
            if text not in codes:
                entry = text.strip()
                if entry not in codes:
                    codes[entry] = len(self.entries)
                    self.entries.append(entry)
                codes[text] = codes[entry]
        return np.fromiter(map(codes.__getitem__, texts), np.int32, len(texts))
