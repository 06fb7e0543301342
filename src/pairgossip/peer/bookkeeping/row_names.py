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
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

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
"""Times the root of the rows: a value that more of them have, and at least five, is left out, as it
says little of a row."""
_CROWD = 3.0
"""Rows that share a row's value by chance; from here on a column cannot tell rows apart."""
_VARIED = 10
"""Different values from which two columns do not have the same number of each by chance."""
_DEVIATIONS = 3.0
"""Standard deviations above what chance explains."""


class ColumnNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept of a column to find its rows again; no names where its values are few."""

    rows: int = 0
    """Rows whose values have names."""
    chance: float = 1.0
    """How probable it is that two different rows have equal values."""
    names: bytes = b""
    """In ascending order, each once."""
    whole: str = ""
    """A name of all values together, which finds a whole copy again even if they are few."""

    @property
    def error(self) -> float:
        """The relative standard error of the chance, which is a count of pairs; at most 1."""
        return min(1.0, 1.0 / math.sqrt(max(1.0, self.chance * self.rows**2 / 2)))


@dataclass(frozen=True)
class NamedColumn:
    """A column whose rows are to be looked for."""

    kept: ColumnNames
    names: Words
    """The same names in another order."""
    counts: IntArray
    """How many rows have each of them."""
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
        rows = self.kept.rows
        if rows == 0 or before.rows == 0:
            return None
        chance = math.sqrt(self.kept.chance * before.chance)
        met = before.rows * chance
        alike = -math.expm1(-met)
        drawn = rows * alike * (1.0 - alike) * (1.0 + rows * chance)
        estimated = rows * met * (1.0 - alike) * math.hypot(self.kept.error, before.error) / 2
        most = rows * alike + _DEVIATIONS * math.sqrt(drawn + estimated**2) + 1.0
        if rows <= most:
            return None
        others = np.frombuffer(before.names, "<u8")
        places = np.minimum(np.searchsorted(others, self.names), len(others) - 1)
        found = int(self.counts[others[places] == self.names].sum())
        if found <= most:
            return 0
        return max(1, round((found / rows - alike) / (1.0 - alike) * rows))


def name_column(secret: bytes, column: Entries) -> NamedColumn:
    """Name the numbers of a column."""
    size, every = len(column), column.count_digits()
    codes = np.flatnonzero(every > 0)
    counts = every[codes]
    whole = ""
    if len(codes) >= _VARIED:
        keyed = hashlib.blake2b(codes.astype("<i8", copy=False).data, key=secret, digest_size=16)
        keyed.update(counts.astype("<i8", copy=False).data)
        whole = keyed.hexdigest()
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
    """Name whole lines of a file, by which rows are found again if columns cannot tell them apart.

    How probable it is that lines of two people are equal is bounded by the pairs of equal lines,
    and three more: with none among all pairs, the bound holds with 95 %.
    """
    size = len(columns[0]) if columns else 0
    if not size:
        return _unnamed(0)
    names, counts = _count_names(name_rows(secret, columns))
    chance = min(1.0, (_equal_pairs(counts) + 3.0) / max(size * (size - 1) / 2, 1.0))
    if size * chance > _CROWD:
        return _unnamed(size)
    kept = ColumnNames(size, chance, _pack_names(names))
    return NamedColumn(kept, names, counts, size)


def _count_names(names: Words) -> tuple[Words, IntArray]:
    """Return the different names in order, and how many rows have each; most are of one row."""
    names.sort()
    is_first = np.append(True, names[1:] != names[:-1])
    if is_first.all():
        return names, np.broadcast_to(np.intp(1), len(names))
    starts = np.flatnonzero(is_first)
    return names[starts], np.diff(starts, append=len(names))


def _pack_names(names: Words) -> bytes:
    return names.astype("<u8", copy=False).tobytes()


def _unnamed(size: int, whole: str = "") -> NamedColumn:
    """Return a column that cannot tell rows apart."""
    none = np.empty(0, dtype=np.intp)
    return NamedColumn(ColumnNames(whole=whole), none.astype(np.uint64), none, size)


def _chance_of_equal(every: IntArray, counts: IntArray) -> float:
    """Estimate how probable it is that two rows have equal digits.

    In few rows no two are equal; then it is the product of what the first three digits and the last
    three say, which are independent wherever values lie densely or have few decimals. How many rows
    there are is told of all digits, and of those that some have.
    """
    rows = int(counts.sum())
    pairs, table = rows * (rows - 1) / 2, every.reshape(1000, 1000)
    first, last = ((_equal_pairs(table.sum(axis=at)) + 1) / (pairs + 1) for at in (1, 0))
    return max(_equal_pairs(counts) / max(pairs, 1.0), first * last)


def _equal_pairs(counts: IntArray) -> float:
    return (int(counts @ counts) - int(counts.sum())) / 2


def rank_correlation(one: FloatArray, other: FloatArray) -> float:
    """Return Spearman's correlation, or Goodman and Kruskal's gamma where that is larger.

    Gamma is 1 for a score and its thirds. Between columns that both have few values it says little,
    and is left out; NaN where a column is constant.
    """
    ranks = [Distribution.of(values).middle_ranks(values) for values in (one, other)]
    with np.errstate(all="ignore"):
        correlation = float(np.asarray(np.corrcoef(np.stack(ranks)))[0, 1])
    if math.isnan(correlation) or max(len(distinct(one)) for one in ranks) < _VARIED:
        return correlation
    gamma = statistic(np.column_stack(ranks), as_kernel("goodman-kruskal-gamma"), "v")
    return max(correlation, gamma, key=abs)
