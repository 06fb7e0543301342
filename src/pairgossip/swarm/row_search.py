"""A search of members' files for the rows of other members."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from pairgossip.arrays import FloatArray

_FEWEST_DIGITS, _FEWEST_WHOLE_DIGITS = 6, 10
"""Least number of digits of values that are searched for: files hold shorter ones by chance, and
whole numbers in ids and times."""
_LOW_BITS = np.uint64(0xFFFF_FFFF)
_NUMBER = re.compile(rb"\d[\d.]{4,30}(?:[eE][-+]?\d{1,3})?")
_WIDTH = 8
"""Number of bytes of a number in double precision."""
_Values = Mapping[str, FloatArray]


class RowSearch:
    """Searches for rows by their values that are in no other peer's rows.

    Values are searched for as text, and as the eight bytes of a double in either order. Short ones,
    such as a label or a count, are left out, and so are public ones.
    """

    def __init__(self, rows: Mapping[str, FloatArray], public: Collection[float] = ()) -> None:
        long = {name: _long_values(own) for name, own in rows.items()}
        values, counts = np.unique(np.concatenate(list(long.values())), return_counts=True)
        public_values = np.concatenate(
            [values[counts > 1], np.array(list(public), dtype=np.float64)]
        )
        self._values: _Values = {
            name: np.setdiff1d(own, public_values) for name, own in long.items()
        }

    @property
    def count(self) -> int:
        """The number of values to search for."""
        return sum(map(len, self._values.values()))

    def find(self, who: str, files: Iterable[Path]) -> list[str]:
        """Return a sentence for every other peer whose rows appear in these files of a peer."""
        others = {name: values for name, values in self._values.items() if name != who}
        sought = np.sort(np.concatenate([np.empty(0), *others.values()]))
        matches = np.array(
            [one for path in files for one in _find_numbers(path.read_bytes(), sought)]
        )
        return [
            f"The files of {who} hold a value of a row of {name}."
            for name, values in others.items()
            if np.isin(matches, values).any()
        ]


def _long_values(rows: FloatArray) -> FloatArray:
    """Return the different values of rows that no file holds by chance."""
    values = np.unique(rows)
    long = []
    for value in values[(values.view(np.uint64) & _LOW_BITS) > 0].tolist():
        digits = repr(value).partition("e")[0].replace(".", "").strip("-0")
        if len(digits) >= (_FEWEST_WHOLE_DIGITS if value.is_integer() else _FEWEST_DIGITS):
            long.append(value)
    return np.array(long, dtype=np.float64)


def _find_numbers(content: bytes, values: FloatArray) -> Iterator[float]:
    """Yield the numbers in a file that are among these values, with either sign."""
    if not len(values):
        return
    numbers = np.array(list(numbers_in(content)))
    yield from _common(numbers, values)
    yield from _common(-numbers, values)
    for start in range(min(_WIDTH, len(content))):
        count = (len(content) - start) // _WIDTH
        for order in ("<f8", ">f8"):
            yield from _common(np.frombuffer(content, order, count, start), values)


def numbers_in(content: bytes) -> Iterator[float]:
    """Yield the numbers in a text, without their signs."""
    for text in _NUMBER.findall(content):
        try:
            yield float(text)
        except ValueError:  # such as an address
            continue


def _common(numbers: FloatArray, values: FloatArray) -> list[float]:
    near = numbers[(values[0] <= numbers) & (numbers <= values[-1])]
    places = np.searchsorted(values, near)
    return np.unique(near[values[places] == near]).tolist()
