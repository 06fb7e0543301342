"""The built-in losses against their formulas, pair by pair."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.losses import CATALOG, as_loss, auc_loss, metric_loss, ranking_loss
from tests.losses.reference import PHIS
from tests.losses.test_loss import built_in, labeled


def formula(name: str, theta: Any, x: Any, y: Any) -> float:
    """Evaluate a built-in loss at one pair, straight from its definition."""
    kind, _, phi = name.partition("-")
    apart = x[:-1] - y[:-1]
    if kind in ("auc", "ranking"):
        return float(PHIS[phi](theta @ apart)) if x[-1] > y[-1] else 0.0
    diagonal, phi = phi.startswith("diagonal-"), phi.removeprefix("diagonal-")
    matrix = np.diag(theta) if diagonal else theta.reshape(len(apart), len(apart))
    sign = 1.0 if x[-1] == y[-1] else -1.0
    return float(PHIS[phi](np.float64(sign * (1.0 - apart @ matrix @ apart))))


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_values_follow_the_formula_at_every_pair(name: str) -> None:
    loss = built_in(name)
    data = labeled(7, classes=2 if name.startswith("auc") else 3)
    theta = np.random.default_rng(1).normal(size=loss.dimension(4))
    loss.check(data)
    for x in data:
        for y in data:
            value = loss.value(theta, x[None, :], y[None, :])[0]
            assert value == pytest.approx(formula(name, theta, x, y), rel=1e-12, abs=1e-14)


def test_the_catalog_is_complete() -> None:
    phis = ("logistic", "hinge", "squared-hinge", "smoothed-hinge", "squared")
    pairs = {f"{kind}-{phi}" for kind in ("auc", "ranking") for phi in phis}
    pairs |= {f"metric-{middle}{phi}" for middle in ("", "diagonal-") for phi in phis[:2]}
    assert set(CATALOG) == pairs
    for name in CATALOG:
        assert as_loss(name).name == name
        assert as_loss(name).description


def test_factories_take_a_phi_and_a_threshold() -> None:
    assert auc_loss("squared hinge").name == "auc-squared-hinge"
    assert ranking_loss("hinge").name == "ranking-hinge"
    one = np.array([[0.0, 1.0]])
    assert metric_loss("hinge", threshold=0.25).value(np.ones(1), one, one)[0] == 0.75
    assert as_loss("AUC_Logistic").name == "auc-logistic"


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        ("auc-logistc", "Unknown loss 'auc-logistc': did you mean 'auc-logistic'?"),
        (auc_loss, "The loss is the factory 'auc_loss' itself: call it, as in auc_loss()."),
        (3, "A loss is a name such as 'auc-logistic', a Loss or a GeneralLoss, but got int."),
        (np.ones(2), "A loss is a name such as 'auc-logistic', a Loss or a GeneralLoss"),
    ],
)
def test_what_is_no_loss_is_refused(loss: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        as_loss(loss)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("threshold", [-1.0, math.nan, math.inf])
def test_a_threshold_is_a_squared_distance(threshold: float) -> None:
    with pytest.raises(InputError) as caught:
        metric_loss(threshold=threshold)
    assert str(caught.value) == (
        f"The threshold is a squared distance, but got {threshold}: give a number >= 0."
    )


X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("name", "labels", "sentence"),
    [
        ("auc-hinge", [1.0, 1.0, 1.0], r"An AUC loss .* one class only \(1\): add"),
        ("auc-hinge", [0.0, 1.0, 2.0], "An AUC loss .* hold 3: use a ranking loss"),
        ("ranking-logistic", [4.0, 4.0, 4.0], r"A ranking loss .* one class only \(4\): add"),
        ("metric-hinge", [0.0, 0.0, 0.0], r"A metric-learning loss .* only \(0\): add"),
    ],
)
def test_labels_must_suit_the_loss(name: str, labels: list[float], sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{sentence}"):
        as_loss(name).check(np.column_stack((X, labels)))
