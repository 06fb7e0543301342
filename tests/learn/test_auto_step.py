from __future__ import annotations

import math

import numpy as np
import pytest

from pairgossip.learn.base import curvature, default_step
from pairgossip.losses.learning import LearningProblem


def test_the_curvature_of_all_pairs_is_found_from_a_sample() -> None:
    random = np.random.default_rng(0)
    features, labels = random.normal(size=(100, 4)) * [3.0, 1.0, 1.0, 0.5], np.arange(100) % 2
    problem = LearningProblem(features, "auc-logistic", labels)
    apart = (features[labels == 1][:, None] - features[labels == 0][None]).reshape(-1, 4)
    exact = 0.25 * np.linalg.eigvalsh(apart.T @ apart / 100**2)[-1]
    assert curvature(problem, seed=0) == pytest.approx(exact, rel=0.05)
    assert default_step(problem, "sync", 0).scale == pytest.approx(1 / exact, rel=0.05)
    slower = default_step(problem, "async", 0).scale
    assert slower == pytest.approx(0.3 / (exact * math.sqrt(100)), rel=0.05)


def test_equal_observations_have_no_curvature() -> None:
    problem = LearningProblem(np.ones((4, 2)), "auc-logistic", [0, 0, 1, 1])
    assert curvature(problem, 0) == 0
    assert default_step(problem, "async", 0).scale == 1
