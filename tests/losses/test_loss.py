"""Losses of the form w phi(theta . a + b)."""

from __future__ import annotations

import dataclasses
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.losses import CATALOG, MARGINS, Loss, Phi, as_loss, margin
from pairgossip.losses import loss as lipschitz
from pairgossip.losses.builtin import difference
from tests.losses.reference import PHIS


def labeled(n: int, d: int = 3, seed: int = 0, classes: int = 2) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.column_stack((rng.normal(size=(n, d)), np.arange(n) % classes))


def built_in(name: str) -> Loss:
    loss = as_loss(name)
    assert isinstance(loss, Loss)
    return loss


@pytest.mark.parametrize("name", sorted(CATALOG))
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 1.0, 5.0]))
def test_gradients_match_finite_differences(name: str, seed: int, scale: float) -> None:
    loss, rng = built_in(name), np.random.default_rng(seed)
    data = labeled(8, seed=seed)
    first, second = data[rng.permutation(8)], data[rng.permutation(8)]
    p = loss.dimension(4)
    theta, direction = scale * rng.normal(size=(2, 8, p))
    step = 1e-6
    up = loss.value(theta + step * direction, first, second)
    down = loss.value(theta - step * direction, first, second)
    claimed = np.einsum("ij,ij->i", loss.gradient(theta, first, second), direction)
    a, _, b = loss.pairs(first, second)
    margins = np.einsum("ij,ij->i", a, theta) + b
    # A difference quotient across a kink is no derivative.
    reach = 2 * step * np.abs(np.einsum("ij,ij->i", a, direction)) + 1e-9
    smooth = (np.abs(margins - 1) > reach) & (np.abs(margins) > reach)
    size = 1 + np.abs(claimed)
    np.testing.assert_array_less(
        np.abs((up - down) / (2 * step) - claimed)[smooth], 2e-5 * size[smooth] * (1 + scale) ** 2
    )


def test_one_model_for_all_pairs_or_one_for_each() -> None:
    loss, data = built_in("metric-logistic"), labeled(6)
    theta = np.random.default_rng(0).normal(size=9)
    first, second = data[:5], data[1:]
    each = np.tile(theta, (5, 1))
    np.testing.assert_allclose(loss.value(theta, first, second), loss.value(each, first, second))
    np.testing.assert_allclose(
        loss.gradient(theta, first, second), loss.gradient(each, first, second)
    )


def test_a_user_needs_features_and_phi_only() -> None:
    loss = Loss(features=lambda x, y: x[:, :2] * y[:, :2], phi="logistic")
    data = labeled(5)
    loss.check(data)
    assert (loss.dimension(4), loss.name, loss.shape) == (2, "custom", "vector")
    a, w, b = loss.pairs(data, data)
    np.testing.assert_array_equal(a, data[:, :2] ** 2)
    np.testing.assert_array_equal(w, np.ones(5))
    np.testing.assert_array_equal(b, np.zeros(5))


def test_a_dimension_may_be_a_number_or_a_function() -> None:
    assert Loss(difference, dimension=7).dimension(3) == 7
    assert Loss(difference, dimension=lambda columns: columns - 1).dimension(3) == 2


def test_losses_survive_pickling_and_replacement() -> None:
    for name in CATALOG:
        loss = built_in(name)
        again = pickle.loads(pickle.dumps(loss))
        data = labeled(4)
        theta = np.ones(loss.dimension(4))
        np.testing.assert_array_equal(
            again.value(theta, data, data[::-1]), loss.value(theta, data, data[::-1])
        )
    assert dataclasses.replace(built_in("auc-hinge"), name="mine").name == "mine"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"features": 3}, "The features of a loss must be a function of two blocks"),
        ({"features": difference, "weights": 2.0}, "The weights of a loss must be a function"),
        ({"features": difference, "phi": "square"}, "Unknown phi 'square': did you mean 'squared'"),
        ({"features": difference, "shape": "cube"}, "The shape of a loss is one of vector, matrix"),
        ({"features": difference, "dimension": 0}, "The dimension of a loss must be a whole"),
    ],
)
def test_a_loss_that_cannot_be_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Loss(**options)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"features": lambda x, y: x - y.mean(axis=0)},
            "Loss 'custom' gives other values for a pair",
        ),
        ({"features": lambda x, y: 1 / (x - y)}, "Loss 'custom' is NaN or infinite for"),
        (
            {"features": difference, "weights": lambda x, y: x[:, -1] - y[:, -1]},
            "Loss 'custom' has a negative weight, -1, at some pair: a pair's weight must be >= 0.",
        ),
        (
            {"features": difference, "weights": lambda x, y: x},
            "The weight of loss 'custom' returned shape (64, 4) for 64 pairs: "
            "it must return one value per pair, shape (64,).",
        ),
        (
            {"features": difference, "offsets": lambda x, y: 1.0},
            "The offset of loss 'custom' returned shape () for 64 pairs: "
            "it must return one value per pair, shape (64,).",
        ),
        ({"features": difference, "dimension": 5}, "Loss 'custom' returns rows of 3 numbers"),
    ],
)
def test_a_loss_is_tried_on_a_few_pairs(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Loss(**options).check(labeled(20))
    assert str(caught.value).startswith(sentence)


def test_models_of_another_dimension_are_refused() -> None:
    data = labeled(5)
    with pytest.raises(InputError, match=r"^A model for loss 'auc-hinge' has 3 parameters here"):
        built_in("auc-hinge").value(np.ones(4), data, data)
    with pytest.raises(InputError, match=r"^Loss 'auc-hinge' was given 4 models for 5 pairs"):
        built_in("auc-hinge").value(np.ones((4, 3)), data, data)


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_closed_forms_are_probed(name: str) -> None:
    loss, data = built_in(name), labeled(20, classes=2)
    loss.check(data)
    wrong = dataclasses.replace(loss, risk=lambda models, rows: np.full(len(models), 7.0))
    with pytest.raises(InputError, match="closed form risk= that gives 7 for a model whose loss"):
        wrong.check(data)
    short = dataclasses.replace(loss, bounds=lambda rows: (1e-3, 0.0))
    with pytest.raises(InputError, match=r"bounds= that promise w \|\|a\|\| <= 0.001"):
        short.check(data)
    high = dataclasses.replace(loss, bounds=lambda rows: (1e9, 2.0))
    with pytest.raises(InputError, match="and b >= 2, but they reach"):
        high.check(data)


def all_gradients(loss: Loss, theta: FloatArray, data: FloatArray) -> FloatArray:
    n = len(data)
    rows = loss.gradient(theta, np.repeat(data, n, axis=0), np.tile(data, (n, 1)))
    return np.asarray(np.linalg.norm(rows, axis=1))


@pytest.mark.parametrize("name", sorted(CATALOG))
@pytest.mark.parametrize("radius", [0.3, 4.0, math.inf])
def test_no_gradient_is_longer_and_some_is_as_long(name: str, radius: float) -> None:
    loss, data, rng = built_in(name), labeled(15, classes=2), np.random.default_rng(3)
    bound = loss.lipschitz(data, radius)
    if "squared" in name and math.isinf(radius):
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
    monkeypatch.setattr(lipschitz, "_EXACT_UP_TO", 0)
    cheap = loss.lipschitz(data, radius)
    assert exact <= cheap
    if math.isfinite(exact):
        assert cheap < 12 * exact


def test_nothing_moves_where_all_features_are_equal() -> None:
    data = np.column_stack((np.ones((6, 2)), np.arange(6.0) % 2))
    for name in ("auc-squared-hinge", "metric-hinge"):
        assert built_in(name).lipschitz(data) == 0.0


def test_a_negative_radius_is_refused() -> None:
    with pytest.raises(InputError, match=r"^The radius is the largest norm of a model, not -1\.0:"):
        built_in("auc-hinge").lipschitz(labeled(4), -1.0)


NAMES = tuple(MARGINS)


@pytest.mark.parametrize("name", NAMES)
def test_values_follow_the_formulas(name: str) -> None:
    u = np.concatenate((np.linspace(-60, 60, 2401), [0.0, 1.0, 1e-300, -1e-300]))
    exact = PHIS[name](u.astype(np.longdouble))
    np.testing.assert_allclose(margin(name).value(u), exact.astype(float), rtol=3e-15, atol=1e-300)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=40)
@given(u=st.floats(-50, 50))
def test_derivatives_are_slopes(name: str, u: float) -> None:
    phi, step = margin(name), 1e-5
    at = np.array([u - step, u + step])
    slope = np.diff(phi.value(at))[0] / (2 * step)
    around = phi.derivative(np.array([u - step, u, u + step]))
    # Convex: the slope over an interval lies between the derivatives at its ends.
    assert around[0] - 1e-6 <= slope <= around[2] + 1e-6
    assert around[0] <= around[1] <= around[2]
    assert around[2] <= 0 or name == "squared"


@pytest.mark.parametrize("name", NAMES)
def test_extreme_margins_raise_no_warning(name: str) -> None:
    phi, u = margin(name), np.array([-1e308, -1e5, 1e5, 1e308])
    values, slopes = phi.value(u), phi.derivative(u)
    assert not np.isnan(values).any() and not np.isnan(slopes).any()
    if name != "squared":  # which grows on both sides
        np.testing.assert_array_equal(values[2:], 0.0)
        np.testing.assert_array_equal(slopes[2:], 0.0)
    if "squared" not in name:
        np.testing.assert_allclose(values[:2], -u[:2], rtol=2e-5)
        np.testing.assert_array_equal(slopes[:2], -1.0)
    else:
        assert values[0] == math.inf


@pytest.mark.parametrize("name", NAMES)
def test_slopes_come_close_to_their_bound_and_never_pass_it(name: str) -> None:
    phi = margin(name)
    steepest = np.abs(phi.derivative(-np.geomspace(1e-3, 1e300, 200))).max()
    assert steepest <= phi.slope_bound
    assert steepest > 1e300 if math.isinf(phi.slope_bound) else steepest == phi.slope_bound


def test_the_kink_of_the_hinge_has_slope_zero() -> None:
    at = np.array([np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 2.0)])
    np.testing.assert_array_equal(margin("hinge").derivative(at), [-1.0, 0.0, 0.0])


def test_codes_are_fixed() -> None:
    codes = {name: phi.code for name, phi in MARGINS.items()}
    assert codes == {
        "logistic": 0,
        "hinge": 1,
        "squared-hinge": 2,
        "smoothed-hinge": 3,
        "squared": 4,
    }
    assert margin("Squared hinge").code is Phi.SQUARED_HINGE
    assert pickle.loads(pickle.dumps(margin("hinge"))) == margin("hinge")


@pytest.mark.parametrize(
    ("phi", "sentence"),
    [
        ("logistik", "Unknown phi 'logistik': did you mean 'logistic'?"),
        (3, "Unknown phi '3': choose one of hinge, logistic, smoothed-hinge, squared, squared-"),
    ],
)
def test_unknown_functions_are_named(phi: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        margin(phi)
    assert str(caught.value).startswith(sentence)


def test_a_code_stands_for_its_function() -> None:
    hinge = MARGINS["hinge"]
    assert margin(replace(hinge, name="mine")).name == "mine"
    wrongs: list[dict[str, Any]] = [{"value": np.exp}, {"derivative": np.exp}]
    for wrong in wrongs:
        with pytest.raises(InputError, match="has the code of 'hinge' but other values"):
            margin(replace(hinge, **wrong))
