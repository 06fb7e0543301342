"""Kernel values over all ordered pairs, tile by tile, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.data import column_count
from pairgossip.kernels.kernel import Kernel, evaluate

NUMBERS_PER_BLOCK = 2**18
"""How many numbers one side of a block of pairs may hold: 2 MB."""

Progress = Callable[[float], None]


def tiles(n: int, side: int, half: bool) -> Iterator[tuple[slice, slice]]:
    """Cut the n x n pairs into squares; if `half`, leave out those below the diagonal."""
    for row in range(0, n, side):
        for column in range(row if half else 0, n, side):
            yield slice(row, min(row + side, n)), slice(column, min(column + side, n))


def tile_side(data: FloatArray) -> int:
    """Return the side of square tiles whose blocks of pairs hold a bounded amount of numbers."""
    return max(1, math.isqrt(NUMBERS_PER_BLOCK // column_count(data)))


def tile_values(kernel: Kernel, data: FloatArray, rows: slice, columns: slice) -> FloatArray:
    """Return h(x_k, x_l) for k in rows and l in columns, as a matrix of finite numbers."""
    above, left = data[columns], data[rows]
    # Both blocks are copies: a user's function may write into them.
    first = np.repeat(left, len(above), axis=0)
    second = np.concatenate([above] * len(left))
    values = evaluate(kernel, first, second).reshape(len(left), len(above))
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        k, other = np.argwhere(~np.isfinite(values))[0]
        raise infinite_value(kernel, rows.start + int(k), columns.start + int(other))
    return values


def infinite_value(kernel: Kernel, k: int, other: int) -> InputError:
    """Build the error for a kernel that is NaN or infinite at a pair."""
    return InputError(
        f"Kernel '{kernel.name}' is NaN or infinite for observations {k} and {other} "
        f"(counting from 0): it must be finite for every pair."
    )


def blocked_total(kernel: Kernel, data: FloatArray, progress: Progress | None = None) -> float:
    """Sum a kernel over all ordered pairs, own pairs included."""

    def weighted() -> Iterator[float]:
        for rows, columns, values in _reported(kernel, data, progress):
            mirrored = kernel.symmetric and rows != columns
            yield float(values.sum()) * (2.0 if mirrored else 1.0)

    return math.fsum(weighted())


def blocked_rows(kernel: Kernel, data: FloatArray, progress: Progress | None = None) -> FloatArray:
    """Sum a kernel over its second observation, for every first one."""
    sums = np.zeros(len(data))
    for rows, columns, values in _reported(kernel, data, progress):
        sums[rows] += values.sum(axis=1)
        if kernel.symmetric and rows != columns:
            sums[columns] += values.sum(axis=0)
    return sums


def diagonal_total(kernel: Kernel, data: FloatArray) -> float:
    """Sum a kernel over the own pairs (k, k)."""
    if kernel.zero_diagonal:
        return 0.0
    step = max(1, NUMBERS_PER_BLOCK // column_count(data))
    starts = range(0, len(data), step)
    blocks = (data[start : start + step] for start in starts)
    return math.fsum(float(evaluate(kernel, x.copy(), x.copy()).sum()) for x in blocks)


def _reported(
    kernel: Kernel, data: FloatArray, progress: Progress | None
) -> Iterator[tuple[slice, slice, FloatArray]]:
    n, side = len(data), tile_side(data)
    per_row = math.ceil(n / side)
    count = per_row * (per_row + 1) // 2 if kernel.symmetric else per_row**2
    for done, (rows, columns) in enumerate(tiles(n, side, half=kernel.symmetric), start=1):
        yield rows, columns, tile_values(kernel, data, rows, columns)
        if progress is not None:
            progress(done / count)
