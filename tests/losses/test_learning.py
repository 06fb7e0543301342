"""Risks over all pairs against a double loop, and problems of data and loss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from pairgossip.errors import InputError
from pairgossip.losses import (
    CATALOG,
    GeneralLoss,
    Loss,
    auc_loss,
    auc_of_scores,
    risk,
    risks,
)
from pairgossip.losses.learning import LearningProblem
from tests.losses.test_general import square, square_slope
from tests.losses.test_loss import built_in, labeled


def double_loop(theta: Any, data: Any, loss: Any) -> float:
    values = [loss.value(theta, x[None, :], y[None, :])[0] for x in data for y in data]
    return float(np.mean(values))


@pytest.mark.parametrize("name", sorted(CATALOG))
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_risks_are_averages_over_all_pairs(name: str, seed: int) -> None:
    loss, rng = built_in(name), np.random.default_rng(seed)
    data = labeled(6, d=2, seed=seed, classes=2 if name.startswith("auc") else 3)
    data[:, :-1] = np.round(data[:, :-1])
    theta = rng.normal(size=loss.dimension(3))
    assert risk(theta, data, name) == pytest.approx(double_loop(theta, data, loss), rel=1e-12)


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_closed_forms_agree_with_blocks(name: str) -> None:
    loss = built_in(name)
    data = labeled(300, classes=2 if name.startswith("auc") else 4)
    thetas = np.random.default_rng(0).normal(size=(3, loss.dimension(4)))
    blocked = LearningProblem(data, replace(loss, risk=None)).objectives(thetas)
    np.testing.assert_allclose(risks(thetas, data, loss), blocked, rtol=1e-12)
    assert risk(thetas[1], data[:, :-1], name, labels=data[:, -1]) == pytest.approx(blocked[1])


def test_users_losses_go_in_blocks() -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(9, 2))
    loss = Loss(
        lambda x, y: x * y,
        "smoothed-hinge",
        weights=lambda x, y: (x[:, 0] > 0).astype(float),
        offsets=lambda x, y: y[:, 1],
    )
    theta = rng.normal(size=2)
    assert risk(theta, data, loss) == pytest.approx(double_loop(theta, data, loss), rel=1e-13)
    general = GeneralLoss(square, square_slope)
    many = risks(rng.normal(size=(3, 2)), data, general)
    assert many.shape == (3,)
    assert risk(theta, data, general) == pytest.approx(double_loop(theta, data, general))


@pytest.mark.parametrize(
    ("theta", "data", "sentence"),
    [
        ([1.0, 2.0], [[0.5, 1.0], [0.2, 0.0]], "A model for loss 'auc-logistic' has 1 parameter"),
        ([1.0], [[0.5, 1.0], [0.2, 1.0]], "An AUC loss needs two classes, but the labels hold one"),
        ([1.0], [[0.5, 1.0], [np.nan, 0.0]], "data has NaN or infinite values in row 1"),
    ],
)
def test_bad_input_gets_a_sentence(theta: Any, data: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        risk(theta, data, "auc-logistic")
    assert str(caught.value).startswith(sentence)


def test_auc_of_scores_counts_ties_one_half() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 6, 80), np.repeat(["no", "yes"], 40)
    expected = roc_auc_score(labels == "yes", scores)
    assert auc_of_scores(scores, labels, "yes") == pytest.approx(expected)
    labels = (labels == "yes").astype(float)
    with pytest.raises(InputError, match="The AUC needs two classes"):
        auc_of_scores([1.0, 2.0], [1, 1])
    with pytest.raises(InputError, match=r"^The AUC takes 2 columns \(score, label\)"):
        auc_of_scores(np.column_stack((scores, scores)), labels)
    with pytest.raises(InputError, match="give the labels as the last column or with labels="):
        auc_of_scores(scores, None)


@pytest.mark.parametrize("loss", ["auc-logistic", "auc-hinge", "metric-diagonal-logistic"])
def test_own_gradients_are_means_over_all_pairs(loss: str) -> None:
    rng = np.random.default_rng(0)
    n = 70
    problem = LearningProblem(rng.normal(size=(n, 3)), loss, np.arange(n) % 2)
    theta = rng.normal(size=(n, 3))
    got = problem.own_gradients(theta)
    for k in range(0, n, 7):
        models = np.tile(theta[k], (n, 1))
        gradients = problem.gradient(models, np.full(n, k), np.arange(n))
        np.testing.assert_allclose(got[k], gradients.mean(axis=0), rtol=1e-12, atol=1e-14)


def test_closed_forms_of_another_function_of_the_margin_are_refused() -> None:
    data = np.column_stack([np.linspace(-1, 1, 12), np.arange(12) % 2])
    mixed = replace(auc_loss("hinge"), phi="logistic")
    with pytest.raises(InputError, match="closed form risk="):
        LearningProblem(data, mixed)
    assert LearningProblem(data, auc_loss("hinge")).dimension == 1
