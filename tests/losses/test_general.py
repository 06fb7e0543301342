"""Losses given by value and gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.losses import GeneralLoss, as_loss, risk
from tests.losses.test_loss import built_in, labeled


def square(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    return np.asarray(((first - second) @ theta - 1.0) ** 2)


def square_slope(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    apart = first - second
    return np.asarray(2.0 * (apart @ theta - 1.0)[:, None] * apart)


def hinge(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    return built_in("auc-hinge").value(theta, first, second)


def hinge_slope(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    return built_in("auc-hinge").gradient(theta, first, second)


def test_two_functions_are_enough() -> None:
    loss, data = GeneralLoss(square, square_slope), labeled(7)
    loss.check(data)
    assert loss.dimension(4) == 4
    theta = np.array([1.0, 0.5, 0.0, 2.0])
    pairs = square(theta, np.repeat(data, 7, axis=0), np.tile(data, (7, 1)))
    assert risk(theta, data, loss) == pytest.approx(pairs.mean(), rel=1e-14)
    assert as_loss(loss) is loss
    with pytest.raises(AttributeError):
        loss.name = "other"  # type: ignore[misc]


def test_kinks_are_forgiven() -> None:
    labels = ("features...", "label")
    loss = GeneralLoss(hinge, hinge_slope, columns=labels)
    loss.check(labeled(20))
    assert loss.dimension(4) == 3
    data = labeled(9)
    assert risk(np.ones(3), data, loss) == pytest.approx(risk(np.ones(3), data, "auc-hinge"))


def test_one_model_per_pair_goes_pair_by_pair() -> None:
    data, rng = labeled(6), np.random.default_rng(0)
    first, second, theta = data, data[::-1], rng.normal(size=(6, 4))
    loss = GeneralLoss(square, square_slope)
    single = [loss.value(theta[k], first[k : k + 1], second[k : k + 1])[0] for k in range(6)]
    np.testing.assert_array_equal(loss.value(theta, first, second), single)
    assert loss.gradient(theta, first, second).shape == (6, 4)
    batched = GeneralLoss(hinge, hinge_slope, dimension=3, batched=True)
    np.testing.assert_array_equal(
        batched.gradient(theta[:, :3], first, second), hinge_slope(theta[:, :3], first, second)
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"gradient": lambda t, x, y: 0.5 * square_slope(t, x, y)},
            "The gradient of loss 'mine' disagrees with differences of its value: "
            "it must be the derivative of the value in theta, one row per pair.",
        ),
        (
            {"gradient": lambda t, x, y: -square_slope(t, x, y)},
            "The gradient of loss 'mine' disagrees with differences of its value: "
            "it must be the derivative of the value in theta, one row per pair.",
        ),
        (
            {"gradient": lambda t, x, y: square_slope(t, x, y)[:, :2]},
            "Loss 'mine' returns rows of 2 numbers but declares the dimension 4: "
            "correct the dimension.",
        ),
        (
            {"value": lambda t, x, y: square(t, x, y)[:, None]},
            "The value of loss 'mine' returned shape (64, 1) for 64 pairs: "
            "it must return one value per pair, shape (64,).",
        ),
        (
            {"value": lambda t, x, y: square(t, x, y) / (x != y).sum(axis=1)},
            "Loss 'mine' is NaN or infinite for observations 0 and 0 (counting from 0): "
            "it must be finite for every pair.",
        ),
        (
            {"value": lambda t, x, y: square(t, x, y) + len(x)},
            "Loss 'mine' gives other values for a pair alone than for the same pair among others: "
            "make its value depend on that pair only.",
        ),
        (
            {"columns": ("a", "b", "c", "d", "label"), "dimension": {5: 4}.__getitem__},
            "Loss 'mine' takes 5 columns (a, b, c, d, label), but the data has 4 columns: "
            "give the labels as the last column or with labels=.",
        ),
    ],
)
def test_functions_are_tried_on_a_few_pairs(options: dict[str, Any], sentence: str) -> None:
    parts = {"value": square, "gradient": square_slope, "name": "mine", **options}
    with pytest.raises(InputError) as caught:
        GeneralLoss(**parts).check(labeled(20))
    assert str(caught.value) == sentence


def test_both_functions_are_needed() -> None:
    with pytest.raises(InputError, match=r"^The gradient of a loss must be a function of a model"):
        GeneralLoss(square, 3)  # type: ignore[arg-type]


def test_a_loss_that_says_batched_takes_one_model_per_pair() -> None:
    def value(theta: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
        return np.sum((np.atleast_2d(theta)[0] - x + y) ** 2, axis=1)  # for the first model only

    def gradient(theta: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
        return 2 * (np.atleast_2d(theta)[0] - x + y)

    data = np.random.default_rng(0).normal(size=(10, 2))
    GeneralLoss(value, gradient).check(data)
    with pytest.raises(
        InputError, match="declares batched=True, but with one model per pair it gives"
    ):
        GeneralLoss(value, gradient, batched=True).check(data)
