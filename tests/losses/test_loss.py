"""Losses of the form w phi(theta . a + b)."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.losses import CATALOG, Loss, as_loss
from pairgossip.losses.builtin import difference


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


def test_one_column_of_data_comes_as_vectors() -> None:
    loss = Loss(lambda x, y: x - y, "hinge")
    data = np.array([1.0, 2.0, 4.0])
    loss.check(data)
    assert loss.dimension(1) == 1
    np.testing.assert_array_equal(loss.value(np.array([0.5]), data, data[::-1]), [2.5, 1.0, 0.0])


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
        (
            {"features": 3},
            "The features of a loss must be a function of two blocks of observations, but got int.",
        ),
        (
            {"features": difference, "weights": 2.0},
            "The weights of a loss must be a function of two blocks of observations, "
            "but got float.",
        ),
        (
            {"features": difference, "phi": "square"},
            "Unknown phi 'square': did you mean 'squared-hinge'?",
        ),
        (
            {"features": difference, "shape": "cube"},
            "The shape of a loss is one of vector, matrix, diagonal, not 'cube'.",
        ),
        (
            {"features": difference, "dimension": 0},
            "The dimension of a loss is its number of parameters, but got 0: "
            "give a whole number >= 1.",
        ),
    ],
)
def test_a_loss_that_cannot_be_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Loss(**options)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"features": lambda x, y: x - y.mean(axis=0)},
            "Loss 'custom' treats the same pair differently alone and among others: "
            "what it returns for a pair must depend on that pair only.",
        ),
        (
            {"features": lambda x, y: 1 / (x - y)},
            "Loss 'custom' is NaN or infinite for observations 0 and 0 (counting from 0): "
            "it must be finite for every pair.",
        ),
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
        (
            {"features": difference, "dimension": 5},
            "Loss 'custom' returns rows of 3 numbers but says that its dimension is 5: "
            "correct the dimension.",
        ),
    ],
)
def test_a_loss_is_tried_on_a_few_pairs(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Loss(**options).check(labeled(20))
    assert str(caught.value) == sentence


def test_models_of_another_dimension_are_refused() -> None:
    data = labeled(5)
    with pytest.raises(InputError) as caught:
        built_in("auc-hinge").value(np.ones(4), data, data)
    assert str(caught.value) == (
        "A model for loss 'auc-hinge' has 3 parameters here, but got an array of shape (4,): "
        "give shape (3,) or one row each."
    )
    with pytest.raises(InputError) as caught:
        built_in("auc-hinge").value(np.ones((4, 3)), data, data)
    assert str(caught.value) == (
        "Loss 'auc-hinge' was given 4 models for 5 pairs: give one model, or one per pair."
    )


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_closed_forms_are_probed(name: str) -> None:
    loss, data = built_in(name), labeled(20, classes=2)
    loss.check(data)
    wrong = dataclasses.replace(loss, risk=lambda models, rows: np.full(len(models), 7.0))
    with pytest.raises(InputError, match="closed form risk= that gives 7 for a model whose loss"):
        wrong.check(data)
    short = dataclasses.replace(loss, bounds=lambda rows: (1e-3, 0.0))
    with pytest.raises(InputError, match=r"bounds= that say w \|\|a\|\| <= 0.001"):
        short.check(data)
    high = dataclasses.replace(loss, bounds=lambda rows: (1e9, 2.0))
    with pytest.raises(InputError, match="and b >= 2, but they reach"):
        high.check(data)
