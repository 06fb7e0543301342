from __future__ import annotations

import numpy as np
import pytest

from pairgossip.losses.learning import LearningProblem, risks


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


def test_objectives_are_risks() -> None:
    rng = np.random.default_rng(0)
    problem = LearningProblem(rng.normal(size=(9, 2)), "auc-logistic", np.arange(9) % 2)
    models = rng.normal(size=(4, 2))
    np.testing.assert_array_equal(
        problem.objectives(models), risks(models, problem.data, problem.loss)
    )
