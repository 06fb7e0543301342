"""Names with which a site recognizes rows that it has released, without keeping the rows.

A row with an id is recognized by a keyed hash of it. Other rows are recognized by the values of
each column, rounded to six significant digits, without the decimal point, the sign and the column's
name. So another program may have written them, under another column name, with other labels, or in
percent. Two people may have equal values by chance. The number of such rows is estimated from the
column itself, and only rows beyond it count as the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray, distinct
from pairgossip.kernels import as_kernel
from pairgossip.kernels.exact import statistic
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.peer.bookkeeping.entries import (
    Entries,
    Words,
    name_digits,
    name_rows,
)

Names = Words
_HEAP = 0.2
"""Largest number of rows with one value, over the square root of all rows; a value with more, and
with five rows or more, is left out, as it says little about a row."""
_CROWD = 3.0
"""Largest number of rows with a row's value by chance; with more, a column has no names."""
_VARIED = 10
"""Least number of distinct values, or lines, whose counts recognize a copy of them all."""
_DEVIATIONS = 3.0
"""Number of standard deviations above which equal values are not due to chance."""


class ColumnNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names of a column's values in a register; none where they do not distinguish rows."""

    rows: int = 0
    """The number of rows whose values have names."""
    chance: float = 1.0
    """The probability that two different rows have equal values."""
    names: bytes = b""
    """The names in ascending order, each once."""
    whole: str = ""
    """The name of all values together, which recognizes a whole copy without other names."""

    @property
    def error(self) -> float:
        """The relative standard error of the chance, an average over pairs; at most 1."""
        return min(1.0, 1.0 / math.sqrt(max(1.0, self.chance * self.rows**2 / 2)))


@dataclass(frozen=True)
class NamedColumn:
    """A column whose rows are compared with earlier releases."""

    kept: ColumnNames
    names: Words
    """The same names, in any order."""
    counts: IntArray
    """The number of rows with each name."""
    size: int
    """The number of all rows."""

    def count_shared(self, before: ColumnNames) -> int | None:
        """Return the number of rows that an earlier column had, beyond what chance explains.

        None if chance explains even equal values in all rows. With p and q the probabilities of
        each value then and now, a row's value is among m others with probability at most
        1 - exp(-m sum pq), by Jensen's inequality, and sum pq is at most the geometric mean of the
        chances, by Schwarz's. The variance is larger where several rows share a value.
        """
        if self.kept.whole and self.kept.whole == before.whole:
            return self.size
        rows = self.kept.rows
        if rows == 0 or before.rows == 0:
            return None
        chance = math.sqrt(self.kept.chance * before.chance)
        pairs = before.rows * chance
        alike = -math.expm1(-pairs)
        variance = rows * alike * (1.0 - alike) * (1.0 + rows * chance)
        error = rows * pairs * (1.0 - alike) * math.hypot(self.kept.error, before.error) / 2
        most = rows * alike + _DEVIATIONS * math.sqrt(variance + error**2) + 1.0
        if rows <= most:
            return None
        others = np.frombuffer(before.names, "<u8")
        places = np.minimum(np.searchsorted(others, self.names), len(others) - 1)
        matches = int(self.counts[others[places] == self.names].sum())
        if matches <= most:
            return 0
        return max(1, round((matches / rows - alike) / (1.0 - alike) * rows))


def name_column(secret: bytes, column: Entries) -> NamedColumn:
    """Return a column with names for its numbers."""
    size, every = len(column), column.count_digits()
    codes = np.flatnonzero(every > 0)
    counts = every[codes]
    whole = _name_whole(secret, codes.astype("<i8", copy=False), counts)
    is_heap = (counts > max(4.0, _HEAP * math.sqrt(size))) | (codes == 0)
    if is_heap.any():
        every[codes[is_heap]] = 0
        codes, counts = codes[~is_heap], counts[~is_heap]
    rows, chance = int(counts.sum()), _chance_of_equal(every, counts)
    if rows == 0 or rows * chance > _CROWD:
        return _unnamed(size, whole)
    names = name_digits(secret, codes)
    kept = ColumnNames(rows, chance, _pack_names(np.sort(names)), whole)
    return NamedColumn(kept, names, counts, size)


def name_lines(secret: bytes, columns: Sequence[Entries]) -> NamedColumn:
    """Return names of whole lines of a file, for rows that no single column distinguishes.

    Where too many lines are equal to distinguish rows, a copy of them all is still recognized.

    The number of pairs of equal lines, plus three, bounds the probability that the lines of two
    people are equal: without such pairs, the bound holds with 95 % confidence.
    """
    size = len(columns[0]) if columns else 0
    if not size:
        return _unnamed(0)
    names, counts = _count_names(name_rows(secret, columns))
    chance = min(1.0, (_equal_pairs(counts) + 3.0) / max(size * (size - 1) / 2, 1.0))
    whole = _name_whole(secret, names.astype("<u8", copy=False), counts)
    if size * chance > _CROWD:
        return _unnamed(size, whole)
    kept = ColumnNames(size, chance, _pack_names(names), whole)
    return NamedColumn(kept, names, counts, size)


def _name_whole(secret: bytes, values: NDArray[Any], counts: IntArray) -> str:
    """Return a name of all values with their counts; "" if these are too few to recognize rows."""
    if len(values) < _VARIED:
        return ""
    keyed = hashlib.blake2b(values.data, key=secret, digest_size=16)
    keyed.update(counts.astype("<i8").data)
    return keyed.hexdigest()


def _count_names(names: Words) -> tuple[Words, IntArray]:
    """Return the distinct names in order, and the number of rows with each, usually one."""
    names.sort()
    is_first = np.append(True, names[1:] != names[:-1])
    if is_first.all():
        return names, np.broadcast_to(np.intp(1), len(names))
    starts = np.flatnonzero(is_first)
    return names[starts], np.diff(starts, append=len(names))


def _pack_names(names: Words) -> bytes:
    return names.astype("<u8", copy=False).tobytes()


def _unnamed(size: int, whole: str = "") -> NamedColumn:
    """Return a column without names, which does not distinguish rows."""
    none = np.empty(0, dtype=np.intp)
    return NamedColumn(ColumnNames(whole=whole), none.astype(np.uint64), none, size)


def _chance_of_equal(every: IntArray, counts: IntArray) -> float:
    """Return an estimate of the probability that two rows have equal digits.

    No two of few rows may be equal. So the estimate is at least the product of those for the first
    three digits and the last three, which are independent for dense values and few decimals.
    ``every`` has the number of rows for all digits, and ``counts`` for those that occur.
    """
    rows = int(counts.sum())
    pairs, table = rows * (rows - 1) / 2, every.reshape(1000, 1000)
    first, last = ((_equal_pairs(table.sum(axis=at)) + 1) / (pairs + 1) for at in (1, 0))
    return max(_equal_pairs(counts) / max(pairs, 1.0), first * last)


def _equal_pairs(counts: IntArray) -> float:
    return (int(counts @ counts) - int(counts.sum())) / 2


def rank_correlation(one: FloatArray, other: FloatArray) -> float:
    """Return Spearman's correlation, or Goodman and Kruskal's gamma if that is larger in size.

    Gamma is 1 for a score and its tertiles. For two columns of few values it says little, and is
    left out. The result is NaN if a column is constant.
    """
    ranks = [Distribution.of(values).middle_ranks(values) for values in (one, other)]
    with np.errstate(all="ignore"):
        correlation = float(np.asarray(np.corrcoef(np.stack(ranks)))[0, 1])
    if math.isnan(correlation) or max(len(distinct(one)) for one in ranks) < _VARIED:
        return correlation
    gamma = statistic(np.column_stack(ranks), as_kernel("goodman-kruskal-gamma"), "v")
    return max(correlation, gamma, key=abs)
