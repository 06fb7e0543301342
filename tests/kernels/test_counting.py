"""Counts of pairs against double loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.kernels.closed_forms import (
    ascending_pairs,
    pairs_above,
    pairs_above_at_ties,
    tied_pairs,
)

ROWS = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.booleans()), min_size=1, max_size=40
)


def _columns(rows: list[tuple[int, int, bool]]) -> tuple[FloatArray, FloatArray, BoolArray]:
    first, second, marked = zip(*rows, strict=True)
    return np.array(first, float), np.array(second, float), np.array(marked, bool)


@given(ROWS)
@settings(max_examples=150, deadline=None)
def test_counts_are_double_loops(rows: list[tuple[int, int, bool]]) -> None:
    first, second, marked = _columns(rows)
    rises = first[:, None] < first
    assert ascending_pairs(first, second, marked) == np.sum(
        rises & (second[:, None] < second) & marked[:, None]
    )
    assert pairs_above(first, marked) == np.sum(rises & marked[:, None])
    level = second[:, None] == second
    assert pairs_above_at_ties(first, second, marked) == np.sum(rises & level & marked[:, None])
    both = level & (first[:, None] == first)
    assert tied_pairs(second) == (level.sum() - len(rows)) // 2
    assert tied_pairs(first, second) == (both.sum() - len(rows)) // 2


@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 65, 1000])
def test_sorted_and_reversed(n: int) -> None:
    rising = np.arange(n, dtype=float)
    everyone = np.ones(n, dtype=bool)
    assert ascending_pairs(rising, rising, everyone) == n * (n - 1) // 2
    assert ascending_pairs(rising, -rising, everyone) == 0
    assert ascending_pairs(rising, np.zeros(n), everyone) == 0
    assert ascending_pairs(rising, rising, ~everyone) == 0


def test_negative_zero_is_zero() -> None:
    assert tied_pairs(np.array([0.0, -0.0])) == 1
    everyone = np.ones(2, dtype=bool)
    assert ascending_pairs(np.array([0.0, 1.0]), np.array([-0.0, 0.0]), everyone) == 0
    assert ascending_pairs(np.array([-0.0, 0.0]), np.array([0.0, 1.0]), everyone) == 0
