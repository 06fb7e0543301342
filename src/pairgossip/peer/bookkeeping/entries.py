"""Entries of a column, as other programs may have written them: numbers to six digits, and text.

An entry becomes a word of 64 bits, and words become names, which tell nothing without the secret.
Names are AES-256 in place of a hash: the same for the same word, as unpredictable, and made of a
million words in the time in which a hash makes those of thousands.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray, distinct
from pairgossip.tables import parse_number

Words = NDArray[np.uint64]
_DIGITS = 10**6
_EXPONENTS = 400
"""Added to the power of ten of a number, which is then positive."""
_LEAST, _MOST = 1e-290, 1e290
"""Smaller values are 0, and larger ones are cut."""
_POWERS = 10.0 ** np.arange(-300.0, 301.0)
"""Of ten, which are looked up, as computing them for every number takes longer than all else."""
_GAP, _INFINITE, _TEXT = (np.uint64(1 << place) for place in (61, 62, 63))
"""Marks of words that are no finite numbers."""
_OF_ENTRIES, _OF_LINES, _OF_DIGITS = range(3)
"""What names are of: equal words of two kinds have different names."""
_BLOCKS = 1 << 14
"""Rows that are worked on at once."""
_SAMPLE = 1000
"""Rows by which a column is judged, at most."""


class Entries:
    """A column of a file: numbers with NaN for what is missing, or texts."""

    def __init__(
        self,
        numbers: FloatArray | None = None,
        codes: IntArray | None = None,
        book: Sequence[str | None] = (),
    ) -> None:
        """Keep numbers; or the place of every row's text in a book, None for what is missing."""
        self._numbers, self._codes = numbers, codes
        self._book = ["" if text is None else text for text in book]

    def __len__(self) -> int:
        return len(self._codes if self._numbers is None else self._numbers)  # type: ignore[arg-type]

    def hold(self, values: FloatArray) -> bool:
        """Return whether these are the entries, all of them numbers."""
        return self._numbers is not None and np.array_equal(self._numbers, values)

    @classmethod
    def of(cls, texts: Sequence[str]) -> Entries:
        """Return the entries of rows that are given as text."""
        places: dict[str, int] = {}
        codes = np.array([places.setdefault(one, len(places)) for one in texts], dtype=np.intp)
        return cls(codes=codes, book=list(places))

    @cached_property
    def numbers(self) -> FloatArray:
        """The entries as numbers, NaN where they are none."""
        values, places = self._different
        return values[places]

    def count_digits(self) -> IntArray:
        """Return how many rows have each of the six digits of numbers, as whole numbers."""
        (_, places), (digits, _) = self._different, self._digits
        rows = 1 if isinstance(places, slice) else np.bincount(places, minlength=len(digits))
        counts = np.zeros(_DIGITS, dtype=np.intp)
        np.add.at(counts, digits, rows)
        return counts

    @cached_property
    def _digits(self) -> tuple[NDArray[np.int32], NDArray[np.int16]]:
        """Six significant digits of each of the different numbers, 0 for 0, and its power."""
        return split_digits(self._different[0])

    @cached_property
    def _different(self) -> tuple[FloatArray, IntArray | slice]:
        """Numbers, NaN for what is none, and which of them each row has.

        Where these are few, as of classes, what is made of a number is made once for all its rows.
        """
        if self._numbers is None:
            assert self._codes is not None
            return np.array([_number_of(text) for text in self._book], np.float64), self._codes
        some = _find_few(self._numbers)
        return (self._numbers, slice(None)) if some is None else _code(self._numbers, some)

    def code(self) -> tuple[list[bytes], IntArray]:
        """Return the different entries, and which of them each row has."""
        (values, places), texts = self._different, self._book
        if isinstance(places, slice):
            values, places = _code(values)
        if self._numbers is not None:
            texts = ["" if math.isnan(one) else repr(one) for one in values.tolist()]
        entries, merged = np.unique([normalize(one) for one in texts], return_inverse=True)
        counts = np.bincount(places, minlength=len(texts))
        used = np.bincount(merged, weights=counts, minlength=len(entries)) > 0
        order = (np.cumsum(used) - 1)[merged]
        is_same = np.array_equal(order, np.arange(len(order)))
        return entries[used].tolist(), places if is_same else order[places]

    def words(self, secret: bytes) -> Words:
        """Return a word for every row's entry; numbers have the same one whatever their form."""
        words, places = self._find_words(secret)
        return words[places]

    def add_names(self, secret: bytes, total: Words) -> None:
        """Add the name of every row's entry to a number of the row, part by part of the rows."""
        cipher = _NameCipher(secret, _OF_ENTRIES)
        values, places = self._different
        if isinstance(places, slice):
            digits, powers = self._digits
            for part in _blocks(len(total)):
                total[part] += cipher.name(_pack(values[part], digits[part], powers[part]))
            return
        names = cipher.name(self._find_words(secret)[0])
        for part in _blocks(len(total)):
            total[part] += names[places[part]]

    def _find_words(self, secret: bytes) -> tuple[Words, IntArray | slice]:
        """Return a word for each of some entries, and which of them each row has."""
        values, places = self._different
        words = _pack(values, *self._digits)
        if self._numbers is not None:
            return words, places
        is_text = [place for place, text in enumerate(self._book) if _is_text(text)]
        hashed = hash_names(secret, (self._book[place].strip().encode() for place in is_text))
        words[is_text] = hashed | _TEXT
        return words, places


def _find_few(numbers: FloatArray) -> FloatArray | None:
    """Return the numbers that some rows of a column have, if these seem to be all or most."""
    some = numbers[:: len(numbers) // _SAMPLE + 1]
    values = distinct(some[~np.isnan(some)])
    is_few = len(some) > _SAMPLE // 2 and len(values) < _SAMPLE // 20
    return values if is_few else None


def _code(numbers: FloatArray, some: FloatArray | None = None) -> tuple[FloatArray, IntArray]:
    """Return the different numbers, and which of them each row has; they may be known."""
    if some is not None and len(some):
        places = np.zeros(len(numbers), dtype=np.uint8)
        for value in some[1:]:  # fewer than a byte tells, and a search takes longer
            places += numbers >= value
        if np.array_equal(some[places], numbers):
            return some, places.astype(np.intp)
    is_gap = np.isnan(numbers)
    values = distinct(numbers[~is_gap])
    if is_gap.any():
        values = np.append(values, np.nan)
    return values, np.searchsorted(values, numbers)


def _number_of(text: str) -> float:
    number = parse_number(text)
    return np.nan if number is None else number


def _is_text(text: str) -> bool:
    return bool(text.strip()) and parse_number(text) is None


def normalize(entry: str) -> bytes:
    """Write an entry as other programs would: numbers to six digits, whatever their form."""
    number = parse_number(entry)
    return (entry.strip() if number is None else f"{number:.6g}").encode()


def normalize_id(entry: str) -> bytes:
    """Write an id as other programs would: they give whole numbers a decimal point."""
    return re.sub(r"^(\d+)\.0+$", r"\1", entry.strip()).encode()


def split_digits(values: FloatArray) -> tuple[NDArray[np.int32], NDArray[np.int16]]:
    """Return six significant digits of each value as a whole number, 0 for 0, and its power."""
    digits, powers = np.empty(len(values), np.int32), np.empty(len(values), np.int16)
    for part in _blocks(len(values)):
        size = np.minimum(np.abs(values[part]), _MOST)
        size[~((size >= _LEAST) & np.isfinite(values[part]))] = 0.0
        power = np.floor(np.log10(size + (size == 0.0))).astype(np.int16)
        found = np.rint(size / _POWERS[power + 300] * (_DIGITS // 10))
        is_next = found == _DIGITS
        found[is_next] = _DIGITS // 10
        digits[part] = found
        powers[part] = power + is_next
    return digits, powers


def _pack(values: FloatArray, digits: NDArray[np.int32], powers: NDArray[np.int16]) -> Words:
    """Return numbers to six digits, with sign and power, each as a word."""
    words = np.empty(len(values), dtype=np.uint64)
    for part in _blocks(len(values)):
        packed = powers[part].astype(np.uint64) + np.uint64(_EXPONENTS)
        packed |= np.signbit(values[part]).astype(np.uint64) << np.uint64(10)
        packed <<= np.uint64(20)
        packed |= digits[part].astype(np.uint64)
        packed[digits[part] == 0] = 0
        packed[np.isinf(values[part])] = _INFINITE
        packed[np.isnan(values[part])] = _GAP
        words[part] = packed
    return words


def _blocks(size: int) -> Iterator[slice]:
    """Yield parts of rows that fit into a processor's memory."""
    return (slice(start, start + _BLOCKS) for start in range(0, size, _BLOCKS))


def hash_names(secret: bytes, contents: Iterable[bytes]) -> Words:
    """Return a name of 64 bits for each content; without the secret it tells nothing of it."""
    keyed = hashlib.blake2b(key=secret, digest_size=8)

    def digest(content: bytes) -> bytes:
        one = keyed.copy()
        one.update(content)
        return one.digest()

    return np.frombuffer(b"".join(map(digest, contents)), "<u8").astype(np.uint64)


def name_digits(secret: bytes, digits: IntArray) -> Words:
    """Return a name for the digits of each number."""
    return _NameCipher(secret, _OF_DIGITS).name(digits)


def name_rows(secret: bytes, columns: Sequence[Entries]) -> Words:
    """Return a name for each row's entries, in whatever order its columns are."""
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for one in columns:
        one.add_names(secret, total)
    # Named once more: else names of lines would tell which names of entries go together.
    return _NameCipher(secret, _OF_LINES).name(total, total)


class _NameCipher:
    """Encrypts words into names of one kind."""

    def __init__(self, secret: bytes, kind: int) -> None:
        key = hashlib.blake2b(b"names of rows", key=secret, digest_size=32).digest()
        self._cipher = Cipher(AES(key), ECB()).encryptor()
        self._blocks = np.full((_BLOCKS, 2), kind, dtype="<u8")

    def name(self, words: Words | IntArray, names: Words | None = None) -> Words:
        """Return the first half of each word's encrypted block, whose second half is the kind.

        Names may take the place of the words.
        """
        names = np.empty(len(words), dtype=np.uint64) if names is None else names
        for part in _blocks(len(words)):
            some = self._blocks[: len(words[part])]
            some[:, 0] = words[part]
            names[part] = np.frombuffer(self._cipher.update(some.data.cast("B")), "<u8")[::2]
        return names
