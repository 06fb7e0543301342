"""Every algorithm reaches an optimum found by scipy."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from pairgossip.algorithms.descent import dual_averaging
from pairgossip.arrays import FloatArray
from pairgossip.graphs import complete, cycle, star
from pairgossip.losses import SquaredL2, inverse_sqrt
from pairgossip.losses.learning import LearningProblem
from pairgossip.minimization import minimize
from pairgossip_paper.errata.erratum import clique_with_pendant, mean_gradient

STRENGTH = 0.025
GRAPHS = {
    "star": star(8),
    "pendant": clique_with_pendant(8),
    "cycle": cycle(9),
    "complete": complete(10),
}


@cache
def ranking(n: int) -> LearningProblem:
    """Return two classes to rank; the last node's observation contradicts the others."""
    labels = np.arange(n) % 2
    labels[-1] = 1
    features = np.random.default_rng(0).normal(size=(n, 3)) + 0.8 * np.outer(labels, [1, -0.5, 0.3])
    features[-1] = [-2.0, 2.0, 0.0]
    return LearningProblem(np.column_stack([features, labels]), "auc-logistic")


def objectives(problem: LearningProblem, models: FloatArray) -> FloatArray:
    """Return F plus the penalty."""
    return problem.objectives(models) + STRENGTH * np.square(models).sum(axis=1)


def gap(problem: LearningProblem, models: FloatArray) -> float:
    """Return the mean over models of the objective above its minimum."""

    def value(theta: FloatArray) -> float:
        return float(objectives(problem, theta[None])[0])

    best = scipy_minimize(value, np.zeros(problem.dimension), tol=1e-12).fun
    return float(objectives(problem, models).mean() - best)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("clock", ["sync", "async"])
def test_gossip_reaches_the_optimum_like_one_over_t(name: str, clock: str) -> None:
    graph = GRAPHS[name]
    problem = ranking(graph.n)
    gaps = []
    for T in (1_000, 10_000, 100_000):
        fit = minimize(
            problem.data, None, "auc-logistic", graph, clock=clock, iterations=T,
            step=inverse_sqrt(1.0), penalty=SquaredL2(STRENGTH), seed=0, bias=False,
            n_jobs=1, progress=False,
        )  # fmt: skip
        gaps.append(gap(problem, fit.models[0]))
    assert 0 < gaps[2] < gaps[1] / 4 < gaps[0] / 16
    assert gaps[2] < 3e-4 < gap(problem, np.zeros((1, 3))) / 100


def test_centralized_dual_averaging_reaches_the_optimum() -> None:
    problem, prox, gaps = ranking(10), SquaredL2(STRENGTH), []
    state = dual_averaging.init(3)
    for t in range(1, 3_001):
        gradient = partial(mean_gradient, problem)
        state = dual_averaging.step(state, gradient, prox.map, inverse_sqrt(1.0)(t))
        if t in (300, 3_000):
            gaps.append(gap(problem, state.mean[None]))
    assert 0 < gaps[1] < gaps[0] / 4 and gaps[1] < 3e-3
