"""Risks of ranking losses for any number of labels and models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.losses import MARGINS, margin
from pairgossip.losses import sums as ranking_risk
from pairgossip.losses.sums import ordered_sums, ranking_risks
from tests.losses.reference import brute_ranking, relative_error


@pytest.mark.parametrize("name", sorted(MARGINS))
@pytest.mark.parametrize("classes", [2, 3, 7, 400])
@pytest.mark.parametrize("models", [1, 40])
def test_graded_labels(name: str, classes: int, models: int) -> None:
    rng = np.random.default_rng(classes)
    labels = np.sort(rng.integers(0, classes, 260)).astype(float)
    scores = rng.normal(size=(models, 260)) * 10.0 ** rng.uniform(-2, 2, size=(models, 1))
    sums = ordered_sums(scores, labels, margin(name))
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
        patch.setattr(ranking_risk, "PAIRS_PER_MODEL", few)
        patch.setattr(ranking_risk, "PAIRS_IN_ALL", few)
        sums = ordered_sums(scores, ordered, margin(name))
    exact = [float(brute_ranking(row, ordered, name)) for row in scores]
    np.testing.assert_allclose(sums, exact, rtol=1e-12, atol=1e-13)


def test_most_observations_may_share_a_label() -> None:
    labels = np.array([0.0] * 300 + [1.0, 2.0, 3.0])
    scores = np.random.default_rng(0).normal(size=(1, 303))
    exact = brute_ranking(scores[0], labels, "logistic")
    assert relative_error(ordered_sums(scores, labels, margin("logistic")), exact) < 1e-12


def test_models_come_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    data = np.column_stack((rng.normal(size=(90, 2)), rng.integers(0, 2, 90).astype(float)))
    thetas = rng.normal(size=(11, 2))
    whole = ranking_risks(thetas, data, margin("logistic"))
    monkeypatch.setattr(ranking_risk, "NUMBERS_PER_CHUNK", 200)
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
