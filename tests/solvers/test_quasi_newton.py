"""The solver of every node against scipy and against conditions of optimality."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from pairgossip.arrays import FloatArray
from pairgossip.losses import L1, Ball, Box, Proximal, as_proximal
from pairgossip.solvers.moments import Metric
from pairgossip.solvers.quasi_newton import Evaluation, QuasiNewton, split_penalty

_X = np.random.default_rng(0).normal(size=(80, 5)) * np.array([1.0, 0.5, 2.0, 0.2, 1.0])
_Y = np.sign(_X @ np.array([1.0, -2.0, 0.0, 3.0, 0.5]) + np.random.default_rng(1).normal(size=80))


def logistic(theta: FloatArray) -> tuple[float, FloatArray]:
    """Return a smooth convex function of five numbers, and its gradient."""
    margins = _Y * (_X @ theta)
    value = float(np.logaddexp(0.0, -margins).mean())
    return value, -(_X * (_Y / (1.0 + np.exp(margins)))[:, None]).mean(axis=0)


def evaluate(thetas: FloatArray) -> Evaluation:
    parts = [logistic(theta) for theta in thetas]
    return Evaluation(thetas, np.array([v for v, _ in parts]), np.array([g for _, g in parts]))


def run(start: FloatArray, proximal: Proximal, half: FloatArray, steps: int = 60) -> QuasiNewton:
    """Minimize in coordinates theta times half, as the solver of rows does."""
    _, penalty = split_penalty(proximal, half)
    metric = Metric(np.tile(_X.T @ _X / 320, (len(start), 1, 1)), np.zeros(1))

    def at(w: FloatArray) -> Evaluation:
        found = evaluate(w / half)
        return Evaluation(w, found.value, found.gradient / half)

    solver = QuasiNewton(at(start * half), metric, penalty, 0.0)
    for _ in range(steps):
        solver = solver.advance(at(solver.propose()))
    return solver


def test_nodes_reach_the_optimum_of_scipy_from_wherever_they_start() -> None:
    best = scipy_minimize(logistic, np.zeros(5), jac=True, options={"gtol": 1e-10}).x
    starts = np.random.default_rng(2).normal(size=(3, 5))
    solver = run(starts, as_proximal(), np.ones(5))
    np.testing.assert_allclose(solver.best.theta, np.tile(best, (3, 1)), rtol=1e-5, atol=1e-6)
    assert (solver.promised < 1e-10).all()


@pytest.mark.parametrize("proximal", [L1(0.05), Ball(0.7), Box(-0.5, 0.4)], ids=repr)
@pytest.mark.parametrize("half", [np.ones(5), np.array([1.0, 10.0, 0.1, 3.0, 0.5])])
def test_a_model_under_a_penalty_is_a_fixed_point_of_its_map(
    proximal: Proximal, half: FloatArray
) -> None:
    found = run(np.zeros((1, 5)), proximal, half).best.theta[0] / half
    _, gradient = logistic(found)
    # theta = argmin of gradient . theta + |theta - found|^2 / 2 + psi: the optimality condition.
    again = proximal.map(gradient - found, 1.0, 1.0)
    np.testing.assert_allclose(again, found, atol=2e-6)


def test_a_strong_enough_l1_penalty_leaves_nothing() -> None:
    largest = np.abs(logistic(np.zeros(5))[1]).max()
    found = run(np.ones((1, 5)), L1(1.01 * largest), np.ones(5)).best.theta
    np.testing.assert_allclose(found, 0.0, atol=1e-9)
    some = run(np.ones((1, 5)), L1(0.99 * largest), np.ones(5)).best.theta
    assert np.count_nonzero(np.abs(some) > 1e-9) == 1


def test_a_step_that_makes_things_worse_is_shortened() -> None:
    solver = run(np.zeros((1, 5)), as_proximal(), np.ones(5), steps=0)
    far = evaluate(np.full((1, 5), 50.0))
    shorter = solver.advance(far)
    assert shorter.length[0] < solver.length[0]
    assert shorter.best is solver.best


def test_the_scale_is_that_of_the_new_metric() -> None:
    curvature, center = np.diag([1.0, 4.0, 9.0]), np.array([1.0, -2.0, 3.0])

    def at(theta: FloatArray) -> Evaluation:
        pull = (theta - center) @ curvature
        return Evaluation(theta, np.einsum("nd,nd->n", theta - center, pull) / 2.0, pull)

    exact = Metric(curvature[None], np.zeros(1))
    solver = QuasiNewton(at(np.zeros((1, 3))), Metric(np.eye(3)[None] * 50.0, np.zeros(1)), None, 0)
    ahead = solver.advance(at(solver.propose()), exact)
    np.testing.assert_allclose(ahead.propose()[0], center, rtol=1e-12)
