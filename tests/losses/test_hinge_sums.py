"""Sums of hinge functions by sorting against extended precision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.losses.loss import margin
from pairgossip.losses.sums import hinge_sums
from tests.losses.reference import brute_sums, hard_scores, relative_error

HARD = hard_scores()
NAMES = ("hinge", "squared-hinge", "smoothed-hinge")
numbers = st.one_of(st.integers(-3, 3).map(lambda k: k / 2), st.floats(-3, 3), st.floats(-1e9, 1e9))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", sorted(HARD))
def test_hard_scores(name: str, case: str) -> None:
    above, below = HARD[case]
    exact = brute_sums(above, below, name)
    assert relative_error(hinge_sums(above, below, margin(name).code), exact) < 1e-12


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=40)
@given(above=st.lists(numbers, min_size=1, max_size=12), below=st.lists(numbers, min_size=1))
def test_any_scores(name: str, above: list[float], below: list[float]) -> None:
    x, y = np.array([above]), np.array([below])
    exact = brute_sums(x, y, name).astype(float)
    # Where all margins are just below 1, the rounding of the scores is all there is.
    given_sums = hinge_sums(x, y, margin(name).code)
    np.testing.assert_allclose(given_sums, exact, rtol=1e-12, atol=1e-14 * x.size * y.size)


@pytest.mark.parametrize("name", NAMES)
def test_huge_scores_give_huge_sums(name: str) -> None:
    x, y = np.array([[-1e200, 0.0], [0.0, 1.0]]), np.array([[1e200, 0.0, 0.5], [0.5, 0.25, -9.0]])
    with np.errstate(over="ignore"):
        sums = hinge_sums(x, y, margin(name).code)
    assert sums[0] == np.inf if name == "squared-hinge" else sums[0] == pytest.approx(5e200)
    assert sums[1] == pytest.approx(float(brute_sums(x[1:], y[1:], name)[0]))
