"""Counts of rows that come in batches: all that is kept of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.axes import Axis
from pairgossip.counts.tables import check_combinations
from pairgossip.kernels.calling import find_counters
from pairgossip.rows.columns import Coded
from pairgossip.summaries.counting.factors import Factor
from pairgossip.summaries.counting.placing import Placing, add_rows
from pairgossip.summaries.row_digest import RowDigest

_SAMPLE = 12
"""The number of rows of each class on which a kernel checks the classes."""


class Counter:
    """Rows by the entries of factors and by cells, which is all that is kept of them.

    Several counters, such as one per thread, are joined by `join`. A pickled counter can be joined
    but takes no more rows: both ends know the cells.

    Parameters
    ----------
    axes
        The cells of the columns.
    tables
        The columns that are counted together, table by table.
    factors
        The factors by name; every combination of their entries is counted separately.
    digest
        The digest of the rows that are counted, to recognize them; None for no digest.
    """

    def __init__(
        self,
        axes: Sequence[Axis],
        tables: Sequence[Sequence[int]],
        factors: dict[str, Factor],
        digest: RowDigest | None = None,
    ) -> None:
        self.factors, self.digest = factors, digest
        self.rows = 0
        self._placings = [Placing(axis) for axis in axes]
        self._columns = tables
        self._sizes = [math.prod(axes[at].bins for at in one) for one in tables]
        leading = tuple(map(len, factors.values()))
        self.counts = [np.zeros((*leading, size), dtype=np.int64) for size in self._sizes]

    def add(self, columns: Sequence[FloatArray], codes: Sequence[IntArray]) -> bool:
        """Add rows by their columns and the numbers of their entries; return whether all have both.

        If some have not, no row is added.
        """
        count = len(columns[0])
        loops = find_counters(self.rows + count)
        if any(one.min(initial=0) < 0 for one in codes):
            return False
        cells = [
            placing.find_cells(column, loops)
            for placing, column in zip(self._placings, columns, strict=True)
        ]
        if any(one is None for one in cells):
            return False
        self._grow()
        leading = tuple(map(len, self.factors.values()))
        code = self._combine(codes, leading, count)
        for at, counts in zip(self._columns, self.counts, strict=True):
            shape = tuple(self._placings[k].axis.bins for k in at)
            place = self._combine([cells[k] for k in at], shape, count)  # type: ignore[misc]
            add_rows(place, code, counts.reshape(-1, counts.shape[-1]), loops)
        self.rows += count
        if self.digest is not None:
            items = (factor.items for factor in self.factors.values())
            self.digest.add([*columns, *map(Coded, codes, items)])
        return True

    def _combine(self, places: Sequence[IntArray], shape: tuple[int, ...], count: int) -> IntArray:
        if not places:
            return np.zeros(count, dtype=np.uint8)
        return places[0] if len(places) == 1 else np.ravel_multi_index(tuple(places), shape)

    def _grow(self) -> None:
        """Make room for new entries."""
        leading = tuple(map(len, self.factors.values()))
        if leading == self.counts[0].shape[:-1]:
            return
        check_combinations(leading)
        grown = [np.zeros((*leading, size), dtype=np.int64) for size in self._sizes]
        for counts, before in zip(grown, self.counts, strict=True):
            counts[tuple(map(slice, before.shape))] = before
        self.counts = grown

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_placings": None}

    def restart(self) -> Counter:
        """Return a counter of the same cells and factors that has seen no rows."""
        empty = copy(self)
        empty._placings = self._placings
        empty.factors = {name: factor.restart() for name, factor in self.factors.items()}
        leading = tuple(map(len, empty.factors.values()))
        empty.counts = [np.zeros((*leading, size), dtype=np.int64) for size in self._sizes]
        empty.rows = 0
        empty.digest = None if self.digest is None else self.digest.restart()
        return empty

    def merge(self, other: Counter) -> None:
        """Add the rows of a counter with its own numbers of entries."""
        places = []
        for name, factor in other.factors.items():
            own = self.factors[name]
            own.add_order(factor.order)
            places.append([own.find(item) for item in factor.items])
        self._grow()
        for total, part in zip(self.counts, other.counts, strict=True):
            at = np.ix_(*map(np.array, places), np.arange(total.shape[-1]))
            total[at] += part[tuple(slice(len(each)) for each in places)]
        self.rows += other.rows
        if self.digest is not None and other.digest is not None:
            self.digest.merge(other.digest)

    def take(self, orders: Sequence[Sequence[int]]) -> IntArray:
        """Return the counts of all tables, flat, with the entries of factors in these orders."""
        parts = []
        for counts in self.counts:
            for axis, order in enumerate(orders):
                counts = counts.take(order, axis)
            parts.append(counts.ravel())
        return np.concatenate(parts)

    def sample(self, number: int = 0) -> FloatArray:
        """Return a few rows with the entry of this number, as if in the middle of their cells.

        The number is that of the first factor, if there is any; an entry may have no rows.
        """
        found = np.empty((_SAMPLE, len(self._placings)))
        for at, counts in zip(self._columns, self.counts, strict=True):
            some = counts[number] if counts.ndim > 1 else counts
            occupied = np.flatnonzero(some.reshape(-1, some.shape[-1]).sum(axis=0))
            if not len(occupied):
                return found[:0]
            chosen = occupied[np.linspace(0, len(occupied) - 1, _SAMPLE).astype(np.intp)]
            shape = tuple(self._placings[k].axis.bins for k in at)
            for k, cells in zip(at, np.unravel_index(chosen, shape), strict=True):
                found[:, k] = self._placings[k].axis.middles[cells]
        return found

    def entries(self, name: str) -> list[Any]:
        """Return the entries of a factor that rows have, in the order of arrival."""
        items = self.factors[name].items
        return [items[number] for number in self.used(list(self.factors).index(name))]

    def used(self, at: int) -> list[int]:
        """Return the numbers of the entries that rows have, in the order of arrival."""
        counts = self.counts[0]
        others = tuple(axis for axis in range(counts.ndim) if axis != at)
        return np.flatnonzero(counts.sum(axis=others)).tolist()


def join(counters: Sequence[Counter]) -> Counter:
    """Return the sum of counters of the same cells and factors."""
    filled = [one for one in counters if one.rows]
    if len(filled) < 2:
        return [*filled, *counters][0]
    whole = filled[0].restart()
    for one in filled:
        whole.merge(one)
    return whole
