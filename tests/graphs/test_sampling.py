from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pairgossip.errors import InputError
from pairgossip.graphs import random_families

PATH = np.array([[0, 1], [1, 2]])


@settings(deadline=None)
@given(st.integers(1, 3_000_000_000), st.data())
def test_numbers_name_pairs(j: int, data: st.DataObject) -> None:
    i = data.draw(st.integers(0, min(j - 1, 2**31)))
    number = np.array([j * (j - 1) // 2 + i])
    assert random_families.pairs_from_numbers(number).tolist() == [[i, j]]


def test_all_pairs_in_order() -> None:
    expected = [[i, j] for j in range(1, 30) for i in range(j)]
    assert random_families.pairs_from_numbers(np.arange(len(expected))).tolist() == expected


def test_the_first_connected_draw_is_taken() -> None:
    draws = iter([PATH[:1], PATH[:1], PATH, PATH[:1]])
    found = random_families.draw_until_connected(3, lambda: next(draws), 2, "It", "do better")
    assert np.array_equal(found, PATH)
    assert len(list(draws)) == 1


@pytest.mark.parametrize(("expected_edges", "draws"), [(2, 100), (5e6, 11), (1e9, 3)])
def test_giving_up_is_bounded(expected_edges: float, draws: int) -> None:
    asked: list[int] = []

    def draw() -> NDArray[Any]:
        asked.append(1)
        return PATH[:1]

    with pytest.raises(InputError) as refusal:
        random_families.draw_until_connected(3, draw, expected_edges, "It", "do better")
    assert str(refusal.value) == f"It stayed disconnected in {draws} draws: do better."
    assert len(asked) == draws


def test_seeds() -> None:
    given_generator = np.random.default_rng(3)
    assert random_families.generator(given_generator) is given_generator
    assert random_families.record_seed(3) == 3
    assert random_families.record_seed(given_generator) is None
    bad: Any = "lucky"
    for seed in (-1, bad):
        with pytest.raises(InputError, match=r"^The seed must be a whole number >= 0, "):
            random_families.generator(seed)
