"""Moments of pairs against brute force, and the models that start from them."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.losses.margins import MARGINS
from pairgossip.solvers.moments import GradeMoments, Metric, PairMoments


def pairs_of(x: np.ndarray, grades: np.ndarray) -> np.ndarray:
    higher, lower = np.nonzero(grades[:, None] > grades[None, :])
    return x[higher] - x[lower]


def moments_of(x: np.ndarray, grades: np.ndarray, full: bool = True) -> PairMoments:
    layout = GradeMoments(int(grades.max()) + 1, x.shape[1], full)
    return layout.read(layout.add_up(x, grades, np.ones(len(x)), None, 1) / len(x))


@pytest.mark.parametrize("grades", [2, 4])
@pytest.mark.parametrize("full", [True, False])
def test_moments_are_those_of_all_pairs(grades: int, full: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(25, 3)), rng.integers(grades, size=25)
    apart = pairs_of(x, y)
    read = moments_of(x, y, full)
    assert read.weight[0] == pytest.approx(len(apart) / 25**2)
    np.testing.assert_allclose(read.apart[0], apart.sum(axis=0) / 25**2, rtol=1e-12)
    products = apart.T @ apart / 25**2
    expected = products if full else np.diag(products)
    np.testing.assert_allclose(read.products[0], expected, rtol=1e-12, atol=1e-15)


def test_owners_bring_what_all_rows_bring() -> None:
    rng = np.random.default_rng(1)
    x, y, w = rng.normal(size=(12, 2)), rng.integers(2, size=12), rng.uniform(size=12)
    layout, owner = GradeMoments(2, 2, True), np.repeat(np.arange(4), 3)
    each = layout.add_up(x, y, w, owner, 4)
    assert each.shape == (4, layout.size)
    np.testing.assert_allclose(each.sum(axis=0), layout.add_up(x, y, w, None, 1)[0], rtol=1e-12)


def test_many_rows_are_added_up_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    x, y, owner = rng.normal(size=(20, 3)), np.arange(20) % 2, np.repeat([0, 1, 3], [9, 9, 2])
    layout = GradeMoments(2, 3, True)
    at_once = layout.add_up(x, y, np.ones(20), owner, 4)
    monkeypatch.setattr("pairgossip.solvers.moments._BLOCK", 30)  # three rows
    np.testing.assert_allclose(layout.add_up(x, y, np.ones(20), owner, 4), at_once, rtol=1e-12)


def test_the_squared_loss_has_its_minimum_in_closed_form() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=40)
    x = rng.normal(size=(40, 3)) + y[:, None]
    apart = pairs_of(x, y)
    fitted, *_ = np.linalg.lstsq(apart, np.ones(len(apart)), rcond=None)
    np.testing.assert_allclose(moments_of(x, y).solve_squared(np.zeros(1))[0], fitted, rtol=1e-9)


@pytest.mark.parametrize("name", sorted(MARGINS))
def test_the_start_has_nearly_the_best_length_along_its_direction(name: str) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=400)
    x = rng.normal(size=(400, 2)) + 0.7 * y[:, None]
    start = moments_of(x, y).start(MARGINS[name], np.zeros(1))
    margins = pairs_of(x, y) @ start[0]
    losses = [MARGINS[name].value(c * margins).mean() for c in np.geomspace(0.2, 5.0, 200)]
    assert MARGINS[name].value(margins).mean() <= 1.03 * min(losses)


def test_a_metric_and_its_inverse() -> None:
    rng = np.random.default_rng(4)
    roots = rng.normal(size=(3, 5, 4))
    products = np.einsum("nij,nik->njk", roots, roots)
    metric, v = Metric(products, np.full(4, 0.1)), rng.normal(size=(3, 4))
    np.testing.assert_allclose(metric.solve(metric.times(v)), v, rtol=1e-9)
    full = products + 0.1 * np.eye(4)
    np.testing.assert_allclose(metric.times(v), np.einsum("nij,nj->ni", full, v), rtol=1e-12)
    np.testing.assert_allclose(metric.diagonal(), np.einsum("nii->ni", full), rtol=1e-12)


@pytest.mark.parametrize("full", [True, False])
def test_a_strong_penalty_of_one_feature_leaves_the_others_alone(full: bool) -> None:
    products = np.array([[[1.0, 0.5], [0.5, 2.0]]]) if full else np.array([[1.0, 2.0]])
    metric = Metric(products, np.array([1e20, 0.0]))
    np.testing.assert_allclose(metric.solve(np.ones((1, 2)))[0], [0.0, 0.5], rtol=1e-9, atol=1e-19)


def test_no_start_is_longer_than_is_worth_while() -> None:
    x, y = np.array([[0.0], [0.01], [1.0]]), np.array([0, 0, 1])
    start = moments_of(x, y).start(MARGINS["logistic"], np.zeros(1))
    assert 10.0 < start[0, 0] < 17.0


def test_features_that_never_differ_are_left_alone() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=30)
    x = np.column_stack([rng.normal(size=30) + y, np.zeros(30)])
    start = moments_of(x, y).start(MARGINS["logistic"], np.zeros(1))
    assert start[0, 1] == 0
    assert start[0, 0] > 0


@pytest.mark.parametrize("least", [1e-3, 1e-14, 0.0])
def test_a_metric_lifts_negligible_directions_and_solves_what_it_multiplies(least: float) -> None:
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    matrix = (turn * np.array([least, 1.0, 2.0, 3.0])) @ turn.T
    metric, v = Metric(matrix[None], np.zeros(4)), rng.normal(size=(1, 4))
    roots = np.sqrt(np.diag(matrix))
    sizes, vectors = np.linalg.eigh(matrix / np.outer(roots, roots))
    lifted = (vectors * np.maximum(sizes, 1e-10)) @ vectors.T * np.outer(roots, roots)
    np.testing.assert_allclose(metric.times(v)[0], lifted @ v[0], rtol=1e-9)
    np.testing.assert_allclose(metric.diagonal()[0], np.diag(lifted), rtol=1e-9)
    np.testing.assert_allclose(metric.times(metric.solve(v)), v, atol=1e-4)
