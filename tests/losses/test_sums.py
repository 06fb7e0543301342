"""Sums over all pairs of scores against extended precision, and risks of ranking losses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.arrays import FloatArray
from pairgossip.losses import MARGINS, builtin, margin
from pairgossip.losses.builtin import _ordered_sums, ranking_risks
from pairgossip.losses.sums import logistic_sums
from tests.losses.reference import brute_ranking, brute_sums, hard_scores, relative_error


@pytest.mark.pairs
@pytest.mark.parametrize("name", sorted(MARGINS))
@pytest.mark.parametrize("classes", [2, 3, 7, 400])
@pytest.mark.parametrize("models", [1, 40])
def test_graded_labels(name: str, classes: int, models: int) -> None:
    rng = np.random.default_rng(classes)
    labels = np.sort(rng.integers(0, classes, 260)).astype(float)
    scores = rng.normal(size=(models, 260)) * 10.0 ** rng.uniform(-2, 2, size=(models, 1))
    sums = _ordered_sums(scores, labels, margin(name))
    for row in range(min(models, 2)):
        exact = brute_ranking(scores[row], labels, name)
        assert relative_error(sums[row], exact) < 1e-12


@pytest.mark.parametrize("name", sorted(MARGINS))
@settings(deadline=None, max_examples=40)
@given(
    labels=st.lists(st.integers(-2, 4).map(float), min_size=1, max_size=40),
    seed=st.integers(0, 1000),
    few=st.sampled_from([0, 4, 2**11]),
)
def test_any_labels(name: str, labels: list[float], seed: int, few: int) -> None:
    rng = np.random.default_rng(seed)
    ordered = np.sort(labels)
    scores = np.round(rng.normal(size=(2, len(labels))) * 4) / 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtin, "_PAIRS_PER_MODEL", few)
        patch.setattr(builtin, "_PAIRS_IN_ALL", few)
        sums = _ordered_sums(scores, ordered, margin(name))
    exact = [float(brute_ranking(row, ordered, name)) for row in scores]
    np.testing.assert_allclose(sums, exact, rtol=1e-12, atol=1e-13)


def test_models_come_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    data = np.column_stack((rng.normal(size=(90, 2)), rng.integers(0, 2, 90).astype(float)))
    thetas = rng.normal(size=(11, 2))
    whole = ranking_risks(thetas, data, margin("logistic"))
    monkeypatch.setattr(builtin, "_NUMBERS_PER_CHUNK", 200)
    np.testing.assert_allclose(ranking_risks(thetas, data, margin("logistic")), whole, rtol=1e-14)
    assert ranking_risks(thetas[:0], data, margin("hinge")).shape == (0,)


def test_a_model_that_is_not_finite_has_no_risk() -> None:
    rng = np.random.default_rng(0)
    data = np.column_stack((rng.normal(size=(90, 2)), rng.integers(0, 2, 90).astype(float)))
    thetas = np.array([[1.0, 0.0], [np.nan, 0.0], [np.inf, 0.0], [1e300, 1.0]])
    with np.errstate(invalid="ignore"):
        found = ranking_risks(thetas, data, margin("logistic"))
    np.testing.assert_array_equal(np.isnan(found), [False, True, True, False])


def test_a_common_offset_of_the_features_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    features, labels = np.round(rng.normal(size=(200, 3)), 3), rng.integers(0, 2, 200).astype(float)
    theta = rng.normal(size=(1, 3))
    near, far = (
        ranking_risks(theta, np.column_stack((features + offset, labels)), margin("logistic"))
        for offset in (0.0, 2.0**30)
    )
    # The offset itself rounds the features to 1e-7.
    np.testing.assert_allclose(near, far, rtol=1e-6)


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


def test_long_rows_are_read_in_blocks() -> None:
    rng = np.random.default_rng(0)
    x, y = 3 * rng.normal(size=(1, 50_000)) + 1, rng.normal(size=(1, 20))
    exact = np.logaddexp(0.0, y.T - x).sum()  # extended precision takes minutes
    np.testing.assert_allclose(logistic_sums(x, y), exact, rtol=1e-12)


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


def pair_sums(name: str, above: FloatArray, below: FloatArray) -> FloatArray:
    sums = margin(name).pair_sums
    assert sums is not None
    return sums(above, below)


HINGES = ("hinge", "squared-hinge", "smoothed-hinge")
mild = st.one_of(st.integers(-3, 3).map(lambda k: k / 2), st.floats(-3, 3), st.floats(-1e9, 1e9))


@pytest.mark.parametrize("name", HINGES)
@pytest.mark.parametrize("case", sorted(HARD))
def test_hard_scores_of_hinges(name: str, case: str) -> None:
    above, below = HARD[case]
    exact = brute_sums(above, below, name)
    assert relative_error(pair_sums(name, above, below), exact) < 1e-12


@pytest.mark.parametrize("name", HINGES)
@settings(deadline=None, max_examples=40)
@given(above=st.lists(mild, min_size=1, max_size=12), below=st.lists(mild, min_size=1))
def test_any_scores_of_hinges(name: str, above: list[float], below: list[float]) -> None:
    x, y = np.array([above]), np.array([below])
    exact = brute_sums(x, y, name).astype(float)
    # If all margins are just below 1, the result is only the rounding of the scores.
    given_sums = pair_sums(name, x, y)
    np.testing.assert_allclose(given_sums, exact, rtol=1e-12, atol=1e-14 * x.size * y.size)


@pytest.mark.parametrize("name", HINGES)
def test_huge_scores_give_huge_sums(name: str) -> None:
    x, y = np.array([[-1e200, 0.0], [0.0, 1.0]]), np.array([[1e200, 0.0, 0.5], [0.5, 0.25, -9.0]])
    with np.errstate(over="ignore"):
        sums = pair_sums(name, x, y)
    assert sums[0] == np.inf if name == "squared-hinge" else sums[0] == pytest.approx(5e200)
    assert sums[1] == pytest.approx(float(brute_sums(x[1:], y[1:], name)[0]))
