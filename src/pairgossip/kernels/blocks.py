"""Kernel values over all ordered pairs, tile by tile, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels.calling import find_sweeps
from pairgossip.kernels.data import column_count
from pairgossip.kernels.kernel import Kernel, evaluate

NUMBERS_PER_BLOCK = 2**18
"""The largest count of numbers in one side of a block of pairs: 2 MB."""

Progress = Callable[[float], None]


def tiles(n: int, side: int, half: bool) -> Iterator[tuple[slice, slice]]:
    """Cut the n x n pairs into squares; with `half` leave out those below the diagonal."""
    for row in range(0, n, side):
        for column in range(row if half else 0, n, side):
            yield slice(row, min(row + side, n)), slice(column, min(column + side, n))


def tile_side(numbers_per_pair: int) -> int:
    """Return the side of square tiles for which blocks of pairs are within the limit."""
    return max(1, math.isqrt(NUMBERS_PER_BLOCK // numbers_per_pair))


def tile_pairs(data: FloatArray, rows: slice, columns: slice) -> tuple[FloatArray, FloatArray]:
    """Return the pairs (x_k, x_l) for k in rows and l in columns as two blocks, row by row."""
    left, above = data[rows], data[columns]
    return np.repeat(left, len(above), axis=0), np.concatenate([above] * len(left))


def tile_values(kernel: Kernel, data: FloatArray, rows: slice, columns: slice) -> FloatArray:
    """Return h(x_k, x_l) for k in rows and l in columns, as a matrix of finite numbers."""
    values = evaluate(kernel, *tile_pairs(data, rows, columns))
    values = values.reshape(rows.stop - rows.start, -1)
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        k, other = np.argwhere(~np.isfinite(values))[0]
        raise infinite_value(
            f"Kernel '{kernel.name}'", rows.start + int(k), columns.start + int(other)
        )
    return values


def infinite_value(owner: str, k: int, other: int) -> InputError:
    """Build the error for a kernel or loss that is NaN or infinite at a pair."""
    return InputError(
        f"{owner} is NaN or infinite for observations {k} and {other} (counting from 0): "
        f"it must be finite for every pair."
    )


def blocked_total(kernel: Kernel, data: FloatArray, progress: Progress | None = None) -> float:
    """Sum a kernel over all ordered pairs, own pairs included; not finite where it overflows."""
    sweeps = find_sweeps(len(data), kernel.symmetric)
    swept = None if sweeps is None else sweeps.sum_pairs(kernel, data, progress)
    if swept is not None:
        return float(swept)

    parts = [
        float(values.sum()) * (2.0 if kernel.symmetric and rows != columns else 1.0)
        for rows, columns, values in _evaluate_tiles(kernel, data, progress)
    ]
    try:
        return math.fsum(parts)
    except (OverflowError, ValueError):  # ValueError where parts are infinite with both signs
        return math.nan


def blocked_rows(kernel: Kernel, data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Sum a kernel over its second observation, each by its weight, for every first one."""
    sweeps = find_sweeps(len(data), kernel.symmetric)
    swept = None if sweeps is None else sweeps.sum_rows(kernel, data, weights)
    if swept is not None:
        return np.asarray(swept)
    sums = np.zeros(len(data))
    for rows, columns, values in _evaluate_tiles(kernel, data):
        sums[rows] += values.sum(axis=1) if weights is None else values @ weights[columns]
        if kernel.symmetric and rows != columns:
            sums[columns] += values.sum(axis=0) if weights is None else weights[rows] @ values
    return sums


def diagonal_total(kernel: Kernel, data: FloatArray, share: FloatArray | float = 1.0) -> float:
    """Sum a kernel over the own pairs (k, k), each by its share."""
    if kernel.zero_diagonal:
        return 0.0
    step = max(1, NUMBERS_PER_BLOCK // column_count(data))
    shares = np.broadcast_to(share, len(data))
    sums = (
        shares[at : at + step] @ evaluate(kernel, data[at : at + step], data[at : at + step])
        for at in range(0, len(data), step)
    )
    return math.fsum(sums)


def _evaluate_tiles(
    kernel: Kernel, data: FloatArray, progress: Progress | None = None
) -> Iterator[tuple[slice, slice, FloatArray]]:
    n, side = len(data), tile_side(column_count(data))
    per_row = math.ceil(n / side)
    count = per_row * (per_row + 1) // 2 if kernel.symmetric else per_row**2
    for done, (rows, columns) in enumerate(tiles(n, side, half=kernel.symmetric), start=1):
        yield rows, columns, tile_values(kernel, data, rows, columns)
        if progress is not None:
            progress(done / count)


# Pairs of rows of sites that swap their whole sets.


class _RowPairs(NamedTuple):
    """Pairs of rows, and the position of each one's pair of sites."""

    owner: IntArray
    first: IntArray
    second: IntArray


_MOST_PAIRS_WITHIN_SITES = 2**32
"""The largest number of pairs of rows within sites; beyond, whole sets take minutes to start."""


class SiteSets:
    """The rows of n sites: the site of every row, and the sites' sizes."""

    def __init__(self, site_of: IntArray) -> None:
        self.site_of = np.asarray(site_of, dtype=np.int64)
        self.sizes = np.bincount(self.site_of)
        self.n = len(self.sizes)
        own = float(np.square(self.sizes, dtype=np.float64).sum())
        if own > _MOST_PAIRS_WITHIN_SITES:
            raise InputError(
                f"Swapping whole sets of up to {self.sizes.max():,} rows takes {own:.0e} pairs of "
                "rows before the first exchange: use {argument}.",
                "construction",
                "lexicographic",
            )
        self._order = np.argsort(self.site_of, kind="stable")
        self._starts = np.cumsum(self.sizes) - self.sizes

    def row_pairs(self, first: IntArray, second: IntArray, at_once: int) -> Iterator[_RowPairs]:
        """Yield all pairs of rows of each pair of sites, about `at_once` at a time.

        A pair of sites is cut only if it alone has more, and then always at the same places: sums
        over its rows do not depend on the other pairs of the call.
        """
        widths = self.sizes[second]
        counts = self.sizes[first] * widths
        ends = np.cumsum(counts)
        begins = ends - counts
        start = 0
        while start < len(counts):
            within = np.searchsorted(ends, begins[start] + at_once, side="right")
            stop = max(start + 1, int(within))
            group = np.arange(start, stop)
            total = int(ends[stop - 1] - begins[start])
            for low in range(0, total, at_once):
                high = min(low + at_once, total)
                if stop == start + 1:
                    owner, offset = np.full(high - low, start), np.arange(low, high)
                else:  # a group of several is never cut
                    owner = np.repeat(group, counts[group])
                    offset = np.arange(total) - (begins[owner] - begins[start])
                row, column = np.divmod(offset, widths[owner])
                yield _RowPairs(
                    owner,
                    self._order[self._starts[first[owner]] + row],
                    self._order[self._starts[second[owner]] + column],
                )
            start = stop
