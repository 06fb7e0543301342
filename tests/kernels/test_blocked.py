"""Tiles: they cover every pair once, stay small, and report as they go."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.kernels import Kernel, distance
from pairgossip.kernels.kernel import (
    NUMBERS_PER_BLOCK,
    blocked_rows,
    blocked_total,
    diagonal_total,
    tile_side,
    tiles,
)


@pytest.mark.parametrize(("n", "side"), [(1, 1), (1, 5), (5, 1), (7, 3), (9, 3), (4, 100)])
def test_tiles_cover_every_pair_once(n: int, side: int) -> None:
    whole, half = np.zeros((n, n)), np.zeros((n, n))
    for rows, columns in tiles(n, side, half=False):
        whole[rows, columns] += 1
    np.testing.assert_array_equal(whole, 1)
    for rows, columns in tiles(n, side, half=True):
        half[rows, columns] += 1
        if rows != columns:
            half.T[rows, columns] += 1
    np.testing.assert_array_equal(half, 1)


@pytest.mark.parametrize("columns", [1, 2, 7, 10**6])
def test_tiles_are_bounded(columns: int) -> None:
    data = np.empty((2, columns)) if columns > 1 else np.empty(2)
    assert tile_side(data) ** 2 * columns <= max(NUMBERS_PER_BLOCK, columns)


def test_sums_across_several_tiles() -> None:
    data = np.random.default_rng(0).normal(size=1200)
    skew = Kernel(lambda a, b: a * a * b - b)
    values = data[:, None] ** 2 * data - data
    assert blocked_total(skew, data) == pytest.approx(values.sum(), rel=1e-11)
    np.testing.assert_allclose(blocked_rows(skew, data), values.sum(axis=1), rtol=1e-9)
    assert diagonal_total(skew, data) == pytest.approx(np.trace(values), rel=1e-11)
    mirrored = np.abs(data[:, None] - data)
    assert blocked_total(distance(), data) == pytest.approx(mirrored.sum(), rel=1e-12)
    np.testing.assert_allclose(blocked_rows(distance(), data), mirrored.sum(axis=1), rtol=1e-12)


def test_a_diagonal_longer_than_a_block() -> None:
    data = np.arange(NUMBERS_PER_BLOCK + 10, dtype=float)
    assert diagonal_total(Kernel(lambda a, b: a + b), data) == 2 * data.sum()


def test_memory_is_bounded() -> None:
    data = np.random.default_rng(0).normal(size=(3000, 4))
    tracemalloc.start()
    blocked_total(distance(), data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All pairs at once would take 3000^2 * 4 * 8 bytes = 288 MB for one side.
    assert peak < 16e6


@pytest.mark.parametrize("symmetric", [True, False])
def test_progress_rises_to_one(symmetric: bool) -> None:
    seen: list[float] = []
    kernel = Kernel(lambda a, b: a + b, symmetric=symmetric)
    blocked_total(kernel, np.zeros(1300), seen.append)
    assert seen == sorted(seen)
    assert len(seen) == (6 if symmetric else 9)
    assert seen[-1] == 1.0


def test_where_a_kernel_is_not_finite() -> None:
    pole = Kernel(lambda a, b: np.where((a == 700) & (b == 3), np.nan, 1.0), name="pole")
    with pytest.raises(InputError) as caught:
        blocked_total(pole, np.arange(1000.0))
    assert str(caught.value) == (
        "Kernel 'pole' is NaN or infinite for observations 700 and 3 (counting from 0): "
        "it must be finite for every pair."
    )
