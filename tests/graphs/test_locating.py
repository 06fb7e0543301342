from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.graphs.grouped.laws import EvenParts, GuidedParts, locator


def laid_out(lengths: list[int]) -> list[tuple[int, int]]:
    """List the part of every number and how far into it, one by one."""
    return [(part, into) for part, length in enumerate(lengths) for into in range(length)]


@settings(deadline=None)
@given(st.lists(st.one_of(st.integers(1, 3), st.integers(1, 300)), min_size=1, max_size=40))
def test_every_number_falls_into_its_part(lengths: list[int]) -> None:
    expected = laid_out(lengths)
    part, into = locator(np.array(lengths, dtype=np.int64)).locate(np.arange(len(expected)))
    assert list(zip(part.tolist(), into.tolist(), strict=True)) == expected


def test_equal_lengths_need_no_table() -> None:
    found = locator(np.full(5, 6))
    assert isinstance(found, EvenParts)
    part, into = found.locate(np.arange(30))
    assert list(zip(part.tolist(), into.tolist(), strict=True)) == laid_out([6] * 5)


def test_tiny_parts_beside_a_huge_one_are_told_apart() -> None:
    """All the tiny parts share one entry of the table."""
    lengths = np.ones(10_001, dtype=np.int64)
    lengths[5000] = 10**12
    found = locator(lengths)
    assert isinstance(found, GuidedParts)
    numbers = np.concatenate([np.arange(6000), 10**12 + np.arange(4990, 10_000)])
    part, into = found.locate(numbers)
    expected = np.searchsorted(np.cumsum(lengths), numbers, side="right")
    assert np.array_equal(part, expected)
    assert np.array_equal(into[:5001], np.zeros(5001))
    assert into[5999] == 999
