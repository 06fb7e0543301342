"""Logistic sums in near-linear time against extended precision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.losses.sums import logistic_sums
from tests.losses.reference import brute_sums, hard_scores, relative_error

HARD = hard_scores()
numbers = st.one_of(
    st.integers(-30, 30).map(float),
    st.floats(-1e-9, 1e-9),
    st.floats(-60, 60),
    st.floats(-1e10, 1e10),
)


@pytest.mark.parametrize("case", sorted(HARD))
def test_hard_scores(case: str) -> None:
    above, below = HARD[case]
    exact = brute_sums(above, below, "logistic")
    assert relative_error(logistic_sums(above, below), exact) < 1e-12


@settings(deadline=None, max_examples=40)
@given(above=st.lists(numbers, min_size=1, max_size=12), below=st.lists(numbers, min_size=1))
def test_any_scores(above: list[float], below: list[float]) -> None:
    x, y = np.array([above]), np.array([below])
    assert relative_error(logistic_sums(x, y), brute_sums(x, y, "logistic")) < 1e-11


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), scale=st.floats(-3, 3), shift=st.floats(-40, 40))
def test_rows_do_not_mix(seed: int, scale: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, 9)) * 10.0 ** rng.uniform(-3, 6, size=(4, 1)) + shift
    y = rng.normal(size=(4, 7)) * 10.0**scale
    together = logistic_sums(x, y)
    apart = [logistic_sums(x[k : k + 1], y[k : k + 1])[0] for k in range(4)]
    np.testing.assert_allclose(together, apart, rtol=1e-12)


def test_long_rows() -> None:
    rng = np.random.default_rng(0)
    x, y = 3 * rng.normal(size=(1, 200_000)) + 1, rng.normal(size=(1, 20))
    exact = np.logaddexp(0.0, y.T - x).sum()  # extended precision takes minutes
    np.testing.assert_allclose(logistic_sums(x, y), exact, rtol=1e-12)


def test_a_million_equal_scores() -> None:
    x = np.full((1, 500_000), 0.3)
    exact = 500_000**2 * np.log(np.longdouble(2))
    assert relative_error(logistic_sums(x, x), np.array([exact])) < 1e-12


def test_many_scores_far_apart() -> None:
    # All scores are 100 apart: only pairs in the wrong order count, by their distance.
    steps = np.arange(20_000.0) * 200.0
    x, y = steps[None, :], steps[None, :] + 100.0
    n = len(steps)
    wrong = sum((100.0 + 200.0 * k) * (n - k) for k in range(n))
    np.testing.assert_allclose(logistic_sums(x, y), wrong, rtol=1e-12)


def test_scores_beyond_all_reason() -> None:
    x, y = np.array([[-1e300, 0.0]]), np.array([[1e300, 0.0, -1e300]])
    assert logistic_sums(x, y)[0] == pytest.approx(4e300, rel=1e-12)
