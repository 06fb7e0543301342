"""A digest that recognizes the same rows, and reveals nothing else about them.

A plain hash of few rows can be guessed: an attacker who tries all possible rows finds them. So the
digest is keyed by a secret that stays where the rows are. It depends on neither the cells, the
order of the rows, nor their division into batches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.rows.columns import Coded, is_number
from pairgossip.tables import parse_number

DIGEST_BYTES = 16
_LANES = 2
"""The number of sums of 64 bits that are kept of all rows: different rows have the same two sums by
chance with a probability of 2^-128."""
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Multipliers of a mixing function (Stafford's variant 13)."""
_Words = NDArray[np.uint64]


class RowDigest:
    """The digest of rows that are added batch by batch.

    >>> digest = RowDigest(bytes(32))
    >>> digest.add([np.array([0.5, 0.25]), np.array(["ill", "well"])])
    >>> digest.finish().hex()
    'cf1b830b6a338094f504c8adc04bb270'
    """

    def __init__(self, secret: bytes) -> None:
        """Begin with no rows; the secret has 32 bytes or more."""
        self._secret = secret
        self._starts = np.frombuffer(self._hash(b"lanes", 8 * _LANES), "<u8").astype(np.uint64)
        self._sums = np.zeros(_LANES, dtype=np.uint64)
        self._rows = 0

    def restart(self) -> RowDigest:
        """Return a digest with the same secret and no rows."""
        return RowDigest(self._secret)

    def add(self, columns: Sequence[Any]) -> None:
        """Add rows: columns of numbers or text, of the same length and in the same order."""
        words = [self._as_words(one) for one in columns]
        for lane, start in enumerate(self._starts):
            mixed = np.full(len(words[0]), start, dtype=np.uint64)
            for one in words:
                mixed = _mix(mixed ^ one) + start
            self._sums[lane : lane + 1] += _mix(mixed).sum(dtype=np.uint64)  # modulo 2^64
        self._rows += len(words[0])

    def merge(self, other: RowDigest) -> None:
        """Add the rows of a digest with the same secret."""
        self._sums += other._sums
        self._rows += other._rows

    def finish(self) -> bytes:
        """Return the digest of all rows."""
        whole = self._rows.to_bytes(8, "little") + self._sums.astype("<u8").tobytes()
        return self._hash(whole, DIGEST_BYTES)

    def _as_words(self, given: Any) -> _Words:
        """Return a word for each entry; the word of a number does not depend on its type.

        If the different entries of a column are known, only these are read.
        """
        if isinstance(given, Coded):
            return self._name(given.categories)[given.codes]
        column = np.asarray(given)
        if column.dtype.kind not in "fiub":
            entries, places = np.unique(column.astype(str), return_inverse=True)
            return self._name(entries.tolist())[places]
        return (column.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0

    def _name(self, entries: Sequence[Any]) -> _Words:
        """Return a word for each of different entries; numerals may be text elsewhere."""
        numbers = [one if is_number(one) else parse_number(str(one)) for one in entries]
        words = self._as_words(np.array(numbers, dtype=np.float64))  # None is NaN
        for place, number in enumerate(numbers):
            if number is None:
                text = self._hash(b"text" + str(entries[place]).encode(), 8)
                words[place] = int.from_bytes(text, "little")
        return words

    def _hash(self, content: bytes, size: int) -> bytes:
        keyed = hashlib.blake2b(content, key=self._secret, digest_size=size, person=b"row digest")
        return keyed.digest()


def _mix(words: _Words) -> _Words:
    """Return words whose every bit depends on all bits of the given ones."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))
