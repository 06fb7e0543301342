"""Tests of the rule of differences against linear algebra."""

import itertools

import numpy as np
import pytest

from pairgossip.study.protocol.differences import Pieces, choose, find_lone, members_of

MEMBERS = "abcdef"
PIECES = [(member, batch) for member in MEMBERS for batch in (1, 2, 3)]


def tells_few(releases: list[Pieces], least: int) -> bool:
    """Return whether a combination of sums refers to pieces of fewer members.

    There is one if the sums have a larger rank than their restriction to all other members.
    """
    matrix = np.array([[piece in release for piece in PIECES] for release in releases], float)
    whole = np.linalg.matrix_rank(matrix)
    for few in itertools.combinations(MEMBERS, least - 1):
        others = [k for k, (member, _) in enumerate(PIECES) if member not in few]
        if np.linalg.matrix_rank(matrix[:, others]) < whole:
            return True
    return False


def draw(rng: np.random.Generator, batches: int) -> Pieces:
    members = [one for one in MEMBERS if rng.random() < 0.8]
    return frozenset(
        piece for piece in PIECES if piece[0] in members and rng.integers(batches) + 1 >= piece[1]
    )


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("least", [3, 4])
def test_what_is_allowed_tells_of_no_few_members(seed: int, least: int) -> None:
    rng = np.random.default_rng([seed, least])
    released: list[Pieces] = []
    for turn in range(30):
        new = draw(rng, batches=1 + turn // 10)
        if rng.random() < 0.5:
            new = choose(new, released, least)
        if new and find_lone(new, released, least) is None:
            released.append(new)
    assert len(set(released)) > 1 or least > 3
    assert not tells_few(released, least)


def test_the_algebra_finds_what_is_told() -> None:
    """Subsets that pairwise have two members in common reveal one member together."""
    sums = [frozenset((one, 1) for one in subset) for subset in ("abc", "ade", "bcde")]
    assert tells_few(sums, 3)
    assert find_lone(sums[1], sums[:1], 3) == frozenset([("a", 1)])
    assert find_lone(sums[2], sums[:2], 3) is not None
    assert all(find_lone(one, [], 3) is None for one in sums)


def test_a_newcomer_waits_until_enough_come_with_it() -> None:
    old = frozenset((one, 1) for one in "abc")
    new = old | {("d", 1)}
    assert find_lone(new, [old], 3) == frozenset([("d", 1)])
    assert choose(new, [old], 3) == old
    three = new | {("e", 1), ("a", 2)}
    assert choose(three, [old], 3) == three


def test_what_would_leave_few_behind_waits_as_a_whole() -> None:
    old = frozenset((one, 1) for one in "abcd")
    fresh = frozenset((one, 2) for one in "abc")
    assert choose(fresh | (old - {("d", 1)}), [old], 3) == fresh


def test_rows_whose_totals_may_be_visible_can_be_told_apart_but_not_alone() -> None:
    old = frozenset((one, 1) for one in "abc")
    mine = ("d", 1)
    assert find_lone(old | {mine}, [old], 3, visible=[mine]) is None
    assert find_lone(frozenset([mine]), [old], 3, visible=[mine]) == frozenset([mine])
    assert members_of(old) == {"a", "b", "c"}
