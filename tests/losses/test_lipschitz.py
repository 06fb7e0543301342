"""Lipschitz constants: true bounds, reached, finite only where they exist."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.losses import CATALOG, Loss
from pairgossip.losses import loss as lipschitz
from tests.losses.test_loss import built_in, labeled


def all_gradients(loss: Loss, theta: FloatArray, data: FloatArray) -> FloatArray:
    n = len(data)
    rows = loss.gradient(theta, np.repeat(data, n, axis=0), np.tile(data, (n, 1)))
    return np.asarray(np.linalg.norm(rows, axis=1))


@pytest.mark.parametrize("name", sorted(CATALOG))
@pytest.mark.parametrize("radius", [0.3, 4.0, math.inf])
def test_no_gradient_is_longer_and_some_is_as_long(name: str, radius: float) -> None:
    loss, data, rng = built_in(name), labeled(15, classes=2), np.random.default_rng(3)
    bound = loss.lipschitz(data, radius)
    if name.endswith("squared-hinge") and math.isinf(radius):
        assert bound == math.inf
        return
    assert math.isfinite(bound)
    longest = 0.0
    a, w, _ = loss.pairs(np.repeat(data, 15, axis=0), np.tile(data, (15, 1)))
    steepest = a[np.argmax(w * np.linalg.norm(a, axis=1))]
    size = 1e6 if math.isinf(radius) else radius
    for theta in (-steepest, *rng.normal(size=(60, loss.dimension(4)))):
        model = theta * size / np.linalg.norm(theta)
        longest = max(longest, float(all_gradients(loss, model, data).max()))
    assert longest <= bound * (1 + 1e-12)
    assert longest > 0.999 * bound


@pytest.mark.parametrize("name", sorted(CATALOG))
@pytest.mark.parametrize("radius", [2.0, math.inf])
def test_cheap_bounds_are_bounds(name: str, radius: float, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, data = built_in(name), labeled(30) * 3 + 1e3
    exact = loss.lipschitz(data, radius)
    monkeypatch.setattr(lipschitz, "EXACT_UP_TO", 0)
    cheap = loss.lipschitz(data, radius)
    assert exact <= cheap
    if math.isfinite(exact):
        assert cheap < 12 * exact


def test_many_observations_take_the_cheap_way() -> None:
    data = labeled(60_000)
    assert built_in("auc-logistic").lipschitz(data) < 20.0


def test_nothing_moves_where_all_features_are_equal() -> None:
    data = np.column_stack((np.ones((6, 2)), np.arange(6.0) % 2))
    for name in ("auc-squared-hinge", "metric-hinge"):
        assert built_in(name).lipschitz(data) == 0.0


def test_a_negative_radius_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        built_in("auc-hinge").lipschitz(labeled(4), -1.0)
    assert (
        str(caught.value) == "The radius is the largest norm of a model, not -1.0: give one >= 0."
    )
