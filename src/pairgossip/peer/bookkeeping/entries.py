"""Entries of a column, in a form that all programs share: numbers to six digits, and text.

An entry becomes a word of 64 bits, and a word becomes a name, which reveals nothing without the
secret. Names are made by AES-256, not by a hash: equal words still have equal names, and these are
as unpredictable, but a million of them take the time of some thousand hashes.
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
"""Offset that makes the power of ten of every number positive."""
_LEAST, _MOST = 1e-290, 1e290
"""Least and largest absolute value; smaller ones count as 0, and larger ones as the largest."""
_POWERS = 10.0 ** np.arange(-300.0, 301.0)
"""Powers of ten; to compute them for every number would take longer than everything else."""
_GAP, _INFINITE, _TEXT = (np.uint64(1 << place) for place in (61, 62, 63))
"""Marks of words for missing entries, infinite numbers, and text."""
_OF_ENTRIES, _OF_LINES, _OF_DIGITS = range(3)
"""Kinds of names; equal words of two kinds have different names."""
_BLOCKS = 1 << 14
"""Number of rows to process at once."""
_SAMPLE = 1000
"""Largest number of rows in a sample of a column."""


class Entries:
    """A column of a file: numbers with NaN for missing entries, or texts."""

    def __init__(
        self,
        numbers: FloatArray | None = None,
        codes: IntArray | None = None,
        book: Sequence[str | None] = (),
    ) -> None:
        """Keep numbers; or texts, None for missing ones, and the place of each row's text."""
        self._numbers, self._codes = numbers, codes
        self._book = ["" if text is None else text for text in book]

    def __len__(self) -> int:
        return len(self._codes if self._numbers is None else self._numbers)  # type: ignore[arg-type]

    def hold(self, values: FloatArray) -> bool:
        """Return whether the entries are exactly these numbers."""
        return self._numbers is not None and np.array_equal(self._numbers, values)

    @classmethod
    def of(cls, texts: Sequence[str]) -> Entries:
        """Return a column of these texts."""
        places: dict[str, int] = {}
        codes = np.array([places.setdefault(one, len(places)) for one in texts], dtype=np.intp)
        return cls(codes=codes, book=list(places))

    @cached_property
    def numbers(self) -> FloatArray:
        """The entries as numbers, with NaN for all others."""
        values, places = self._different
        return values[places]

    def count_digits(self) -> IntArray:
        """Return the number of rows for each value of the six digits, from 0 to 999,999."""
        (_, places), (digits, _) = self._different, self._digits
        rows = 1 if isinstance(places, slice) else np.bincount(places, minlength=len(digits))
        counts = np.zeros(_DIGITS, dtype=np.intp)
        np.add.at(counts, digits, rows)
        return counts

    @cached_property
    def _digits(self) -> tuple[NDArray[np.int32], NDArray[np.int16]]:
        """The six significant digits of each of the numbers, 0 for 0, and its power of ten."""
        return split_digits(self._different[0])

    @cached_property
    def _different(self) -> tuple[FloatArray, IntArray | slice]:
        """Numbers, with NaN for other entries, and the place of each row's number among them.

        If few are distinct, such as classes, each is processed once for all its rows.
        """
        if self._numbers is None:
            assert self._codes is not None
            return np.array([_number_of(text) for text in self._book], np.float64), self._codes
        some = _find_few(self._numbers)
        return (self._numbers, slice(None)) if some is None else _code(self._numbers, some)

    def code(self) -> tuple[list[bytes], IntArray]:
        """Return the distinct entries in order, and the place of each row's entry among them."""
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
        """Return the word of each row's entry; it does not depend on the form of a number."""
        words, places = self._find_words(secret)
        return words[places]

    def add_names(self, secret: bytes, total: Words) -> None:
        """Add the name of each row's entry to the row's total, block by block."""
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
        """Return words of entries, and the place of each row's word among them."""
        values, places = self._different
        words = _pack(values, *self._digits)
        if self._numbers is not None:
            return words, places
        is_text = [place for place, text in enumerate(self._book) if _is_text(text)]
        hashed = hash_names(secret, (self._book[place].strip().encode() for place in is_text))
        words[is_text] = hashed | _TEXT
        return words, places


def _find_few(numbers: FloatArray) -> FloatArray | None:
    """Return the distinct numbers in a sample of rows; None if these are many."""
    some = numbers[:: len(numbers) // _SAMPLE + 1]
    values = distinct(some[~np.isnan(some)])
    is_few = len(some) > _SAMPLE // 2 and len(values) < _SAMPLE // 20
    return values if is_few else None


def _code(numbers: FloatArray, some: FloatArray | None = None) -> tuple[FloatArray, IntArray]:
    """Return the distinct numbers, which may be ``some``, and each row's place among them."""
    if some is not None and len(some):
        places = np.zeros(len(numbers), dtype=np.uint8)
        for value in some[1:]:  # fewer than 256, so this is faster than a search
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
    """Return an entry in the form that all programs share: numbers to six digits, or text."""
    number = parse_number(entry)
    return (entry.strip() if number is None else f"{number:.6g}").encode()


def normalize_id(entry: str) -> bytes:
    """Return an id without the decimal point that some programs add to whole numbers."""
    return re.sub(r"^(\d+)\.0+$", r"\1", entry.strip()).encode()


def split_digits(values: FloatArray) -> tuple[NDArray[np.int32], NDArray[np.int16]]:
    """Return the six significant digits of each value, 0 for 0, and its power of ten."""
    digits, powers = np.empty(len(values), np.int32), np.empty(len(values), np.int16)
    for part in _blocks(len(values)):
        size = np.minimum(np.abs(values[part]), _MOST)
        size[~((size >= _LEAST) & np.isfinite(values[part]))] = 0.0
        power = np.floor(np.log10(size + (size == 0.0))).astype(np.int16)
        rounded = np.rint(size / _POWERS[power + 300] * (_DIGITS // 10))
        is_next = rounded == _DIGITS
        rounded[is_next] = _DIGITS // 10
        digits[part] = rounded
        powers[part] = power + is_next
    return digits, powers


def _pack(values: FloatArray, digits: NDArray[np.int32], powers: NDArray[np.int16]) -> Words:
    """Return a word for each number, of its six digits, its power of ten and its sign."""
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
    """Yield blocks of rows that fit into a processor's cache."""
    return (slice(start, start + _BLOCKS) for start in range(0, size, _BLOCKS))


def hash_names(secret: bytes, contents: Iterable[bytes]) -> Words:
    """Return a name of 64 bits for each content; it reveals nothing without the secret."""
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
    """Return a name for each row's entries, which does not depend on the order of columns."""
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for one in columns:
        one.add_names(secret, total)
    # Named once more, since the totals would show which names of entries belong together.
    return _NameCipher(secret, _OF_LINES).name(total, total)


class _NameCipher:
    """A cipher that turns words into names of one kind."""

    def __init__(self, secret: bytes, kind: int) -> None:
        key = hashlib.blake2b(b"names of rows", key=secret, digest_size=32).digest()
        self._cipher = Cipher(AES(key), ECB()).encryptor()
        self._blocks = np.full((_BLOCKS, 2), kind, dtype="<u8")

    def name(self, words: Words | IntArray, names: Words | None = None) -> Words:
        """Return the first half of each encrypted block, which consists of the word and the kind.

        ``names`` is where they are written; it may be the array of the words.
        """
        names = np.empty(len(words), dtype=np.uint64) if names is None else names
        for part in _blocks(len(words)):
            some = self._blocks[: len(words[part])]
            some[:, 0] = words[part]
            names[part] = np.frombuffer(self._cipher.update(some.data.cast("B")), "<u8")[::2]
        return names
