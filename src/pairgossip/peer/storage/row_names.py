"""Names by which a site finds rows again that it has released, without keeping the rows.

A row with an id is known by a keyed hash of it. Otherwise rows are known by what each column holds,
rounded to six significant digits, without the decimal point, the sign and the column's name: so
they are found again after another program has written them, under another column name, with other
labels, or in percent. Two people may have equal values by chance. How often that is to be expected
is estimated from the column itself, and only what goes beyond it counts as the same rows.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray

Names = NDArray[np.uint64]
_DIGITS = 10**6
_HEAP = 0.2
"""Times the root of the rows: a value that more of them have, and at least five, is left out, as it
says little of a row."""
_CROWD = 3.0
"""Rows that have a row's value by chance, of as many as it is among: from here a column's values
are few, and tell nobody from others."""
_VARIED = 10
"""Different values from which two columns do not have the same number of each by chance."""
_DEVIATIONS = 3.0
"""Standard deviations above what chance explains."""
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_MOST_NAMES = 1_500_000
"""Names of values kept for one release, 12 MB; of more, those with the smallest hashes."""


class ColumnNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept of a column to find its rows again; nothing where its values are few."""

    rows: int = 0
    """Rows whose values tell something."""
    chance: float = 1.0
    """How probable it is that two different rows have equal values."""
    share: float = 1.0
    """Of all names, those that are kept."""
    names: bytes = b""
    """In ascending order, each once."""
    whole: str = ""
    """A name of all values together, which finds a whole copy again even if they are few."""

    @property
    def is_telling(self) -> bool:
        """Whether rows can be found again by this column."""
        return self.rows > 0

    @property
    def error(self) -> float:
        """The relative standard error of the chance, which is a count of pairs; at most 1."""
        return min(1.0, 1.0 / math.sqrt(max(1.0, self.chance * self.rows**2 / 2)))


@dataclass(frozen=True)
class NamedColumn:
    """A column whose rows are to be looked for."""

    kept: ColumnNames
    names: Names
    """Each once, with how many rows have it."""
    counts: NDArray[np.intp]
    size: int
    """All rows."""

    def count_shared(self, before: ColumnNames) -> int | None:
        """Return how many rows were there before, as far as chance does not explain it.

        None if all of them could be there, and it would not show. With p and q the probabilities of
        each value then and now, a row meets one of m others with probability at most
        1 - exp(-m sum pq), by Jensen's inequality, and sum pq is at most the geometric mean of the
        chances, by Schwarz's. Equal values of several rows stand together.
        """
        if self.kept.whole and self.kept.whole == before.whole:
            return self.size
        is_kept = self.names <= _limit(before.share)
        names, counts = self.names[is_kept], self.counts[is_kept]
        rows, others = int(counts.sum()), np.frombuffer(before.names, "<u8")
        if rows == 0 or len(others) == 0:
            return None
        chance = math.sqrt(self.kept.chance * before.chance)
        met = before.rows * chance
        alike = -math.expm1(-met)
        drawn = rows * alike * (1.0 - alike) * (1.0 + self.kept.rows * chance)
        estimated = rows * met * (1.0 - alike) * math.hypot(self.kept.error, before.error) / 2
        most = rows * alike + _DEVIATIONS * math.sqrt(drawn + estimated**2) + 1.0
        if rows <= most:
            return None
        places = np.minimum(np.searchsorted(others, names), len(others) - 1)
        found = int(counts[others[places] == names].sum())
        if found <= most:
            return 0
        return max(1, round((found / rows - alike) / (1.0 - alike) * self.kept.rows))


def name_columns(secret: bytes, columns: Sequence[FloatArray]) -> list[NamedColumn]:
    """Name the values of columns; as many names are kept of each as there is room for."""
    named = [_name_column(secret, values) for values in columns]
    share = min(1.0, _MOST_NAMES / max(1, sum(len(one.names) for one in named)))
    return [_with_names(one, share) for one in named]


def _name_column(secret: bytes, values: FloatArray) -> NamedColumn:
    codes, counts = count_distinct(_significant_digits(values))
    whole = ""
    if len(codes) >= _VARIED:
        content = np.stack([codes, counts]).astype("<i8").tobytes()
        whole = hashlib.blake2b(content, key=secret, digest_size=16).hexdigest()
    is_heap = (counts > max(4.0, _HEAP * math.sqrt(len(values)))) | (codes == 0)
    codes, counts = codes[~is_heap], counts[~is_heap]
    rows = int(counts.sum())
    chance = _chance_of_equal(codes, counts)
    if rows == 0 or rows * chance > _CROWD:
        none = np.empty(0, np.uint64), np.empty(0, np.intp)
        return NamedColumn(ColumnNames(whole=whole), *none, len(values))
    names = hash_names(secret, (code.to_bytes(4, "little") for code in codes.tolist()))
    order = np.argsort(names)
    kept = ColumnNames(rows, chance, whole=whole)
    return NamedColumn(kept, names[order], counts[order], len(values))


def _with_names(one: NamedColumn, share: float) -> NamedColumn:
    if not one.kept.is_telling:
        return one
    names = one.names[one.names <= _limit(share)]
    kept = msgspec.structs.replace(one.kept, share=share, names=names.astype("<u8").tobytes())
    return NamedColumn(kept, one.names, one.counts, one.size)


def _limit(share: float) -> np.uint64:
    """Return the largest name that is kept; a share of all names is below it."""
    return np.uint64(min(2**64 - 1, int(share * 2**64)))


def _significant_digits(values: FloatArray) -> NDArray[np.int64]:
    """Return six significant digits of each value as a whole number; 0 for 0."""
    size = np.where(np.isfinite(values), np.abs(values), 0.0)
    size = np.where(size < 1e-290, 0.0, np.minimum(size, 1e290))
    power = np.floor(np.log10(np.where(size == 0.0, 1.0, size)))
    digits = np.rint(size / 10.0**power * (_DIGITS // 10)).astype(np.int64)
    return np.where(digits == _DIGITS, _DIGITS // 10, digits)


def _chance_of_equal(codes: NDArray[np.int64], counts: NDArray[np.intp]) -> float:
    """Estimate how probable it is that two rows have equal digits.

    In few rows no two are equal; then it is the product of what the first three digits and the last
    three say, which are independent wherever values lie densely or have few decimals.
    """
    rows = int(counts.sum())
    pairs = rows * (rows - 1) / 2
    first, last = (
        (_equal_pairs(part, counts) + 1) / (pairs + 1) for part in np.divmod(codes, 1000)
    )
    return float(max(_pairs(counts) / max(pairs, 1.0), first * last))


def _equal_pairs(part: NDArray[np.int64], counts: NDArray[np.intp]) -> float:
    return _pairs(np.bincount(part, weights=counts)) if len(part) else 0.0


def _pairs(counts: NDArray[np.intp] | FloatArray) -> float:
    numbers = counts.astype(np.float64)
    return float(np.sum(numbers * (numbers - 1.0))) / 2


def count_distinct(
    values: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the different numbers in order, and how often each is there."""
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_first)
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


def hash_names(secret: bytes, contents: Iterable[bytes]) -> Names:
    """Return a name of 64 bits for each content; without the secret it tells nothing of it."""
    keyed = hashlib.blake2b(key=secret, digest_size=8)

    def digest(content: bytes) -> bytes:
        one = keyed.copy()
        one.update(content)
        return one.digest()

    return np.frombuffer(b"".join(map(digest, contents)), "<u8").astype(np.uint64)


def rank_correlations(columns: Sequence[FloatArray]) -> FloatArray:
    """Return Spearman's correlation of every two columns, 0 where one is constant."""
    ranks = np.stack([_middle_ranks(values) for values in columns])
    ranks -= ranks.shape[1] / 2
    sizes = np.sqrt(np.square(ranks).sum(axis=1, keepdims=True))
    ranks /= np.where(sizes == 0.0, 1.0, sizes)
    return np.asarray(ranks @ ranks.T)


def _middle_ranks(values: FloatArray) -> FloatArray:
    order = np.argsort(values)
    ordered = values[order]
    low, high = (np.searchsorted(ordered, ordered, side) for side in _SIDES)
    ranks = np.empty(len(values))
    ranks[order] = (low + high) / 2
    return ranks
