"""The auditor's own algebra, against sums whose combinations were worked out by hand."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from tests.study.algebra import tell_few

ALL = "ABCDEFG"


def lists(*members: str) -> list[frozenset[tuple[str, int]]]:
    """Return sums of these members' first pieces."""
    return [frozenset((one, 1) for one in some) for some in members]


@pytest.mark.parametrize(
    ("sums", "few"),
    [
        (["ABC"], None),
        (["ABCD", "ABC"], ("A", "D")),  # the difference is D's numbers
        (["ABCDEF", "ABC"], None),
        (["ABC", "ADE", "BCDE"], ("A", "B")),  # half of the first two less the third is A
        (["ABC", "DEF", "ABCDEF"], None),
        (["DAB", "BCE", "CDF", "DEG", "AEF", "BFG", "ACG"], ("A", "B")),  # Fano's plane
        (["ABC", "ABC"], None),
    ],
)
def test_combinations_that_tell_of_few_are_found(sums: list[str], few: object) -> None:
    assert tell_few(lists(*sums), 3) == few


def test_a_batch_of_one_member_stands_alone() -> None:
    first = frozenset((one, 1) for one in "ABC")
    assert tell_few([first, first | {("A", 2)}], 3) is not None
    assert tell_few([first, first | {(one, 2) for one in "ABC"}], 3) is None


@pytest.mark.parametrize("seed", range(20))
def test_the_algebra_agrees_with_numpy(seed: int) -> None:
    chance = random.Random(seed)
    sums = [frozenset((one, 1) for one in ALL if chance.random() < 0.6) for _ in range(4)]
    matrix = np.array([[float((one, 1) in some) for one in ALL] for some in sums])
    rank = np.linalg.matrix_rank(matrix)
    tells = any(
        np.linalg.matrix_rank(np.delete(matrix, [ALL.index(one) for one in few], axis=1)) < rank
        for few in itertools.combinations(ALL, 2)
    )
    assert (tell_few(sums, 3) is not None) == tells
