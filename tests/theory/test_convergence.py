"""Every algorithm reaches an optimum found by scipy; with the printed mistakes none does."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from pairgossip.algorithms.descent import dual_averaging
from pairgossip.algorithms.descent import gossip_dual_averaging_async as asynchronous
from pairgossip.arrays import FloatArray
from pairgossip.graphs import Graph, complete, cycle, star
from pairgossip.losses import SquaredL2, inverse_sqrt
from pairgossip.losses.learning import LearningProblem
from pairgossip.minimization import minimize
from pairgossip_paper.errata.erratum import clique_with_pendant, exchanges, mean_gradient
from pairgossip_paper.errata.optimization import gradient_weights
from tests.theory.printed_descent import FLAWS, flawed_run

STRENGTH = 0.025
GRAPHS = {
    "star": star(8),
    "pendant": clique_with_pendant(8),
    "cycle": cycle(9),
    "complete": complete(10),
}


@cache
def ranking(n: int) -> LearningProblem:
    """Two classes to rank; the last node's observation contradicts the others."""
    labels = np.arange(n) % 2
    labels[-1] = 1
    features = np.random.default_rng(0).normal(size=(n, 3)) + 0.8 * np.outer(labels, [1, -0.5, 0.3])
    features[-1] = [-2.0, 2.0, 0.0]
    return LearningProblem(np.column_stack([features, labels]), "auc-logistic")


def objectives(problem: LearningProblem, models: FloatArray) -> FloatArray:
    """F plus the penalty."""
    return problem.objectives(models) + STRENGTH * np.square(models).sum(axis=1)


def optimum(problem: LearningProblem, weights: FloatArray | None = None) -> FloatArray:
    """The minimizer of the penalized objective, or of one that weighs the nodes' shares."""
    n = problem.n
    shares = np.full(n, 1 / n) if weights is None else weights
    nodes, held = np.divmod(np.arange(n * n), n)
    first, second = problem.data[nodes], problem.data[held]

    def value(theta: FloatArray) -> float:
        own = problem.loss.value(theta, first, second).reshape(n, n).mean(axis=1)
        return float(own @ shares + STRENGTH * theta @ theta)

    found = scipy_minimize(value, np.zeros(problem.dimension), tol=1e-12)
    return np.asarray(found.x)


def gap(problem: LearningProblem, models: FloatArray) -> float:
    """Mean over models of the objective above its minimum."""
    best = objectives(problem, optimum(problem)[None])[0]
    return float(objectives(problem, np.atleast_2d(models)).mean() - best)


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
    problem = ranking(10)

    def gradient(theta: FloatArray) -> FloatArray:
        return mean_gradient(problem, theta)

    early, late = _baseline(problem, dual_averaging.init(3), gradient, 300, 3_000)
    assert 0 < late < early / 4 and late < 3e-3


def test_stochastic_dual_averaging_reaches_the_optimum() -> None:
    problem, rng = ranking(10), np.random.default_rng(0)

    def gradient(theta: FloatArray) -> FloatArray:
        k, held = rng.integers(problem.n, size=(2, 1))
        return problem.gradient(theta[None], k, held)[0]

    early, late = _baseline(problem, dual_averaging.init(3), gradient, 1_000, 10_000)
    assert 0 < late < early / 4 and late < 1.5e-3


@pytest.mark.parametrize("name", GRAPHS)
def test_distributed_dual_averaging_reaches_the_optimum(name: str) -> None:
    graph = GRAPHS[name]
    problem, W = ranking(graph.n), metropolis(graph)
    state, prox, gaps = dual_averaging.init(graph.n, 3), SquaredL2(STRENGTH), []
    for t in range(1, 3_001):
        gradient, size = problem.own_gradients, inverse_sqrt(1.0)(t)
        state = dual_averaging.accumulate(state, W @ state.z, gradient, prox.map, size)
        if t in (300, 3_000):
            gaps.append(gap(problem, state.mean))
    assert 0 < gaps[1] < gaps[0] / 4 and gaps[1] < 3e-3


def metropolis(graph: Graph) -> FloatArray:
    """The doubly stochastic matrix W_ij = 1/(1 + max(d_i, d_j))."""
    W = np.zeros((graph.n, graph.n))
    for i, j in graph.edges:
        W[i, j] = W[j, i] = 1 / (1 + max(graph.degrees[i], graph.degrees[j]))
    return W + np.diag(1 - W.sum(axis=1))


def _baseline(
    problem: LearningProblem,
    state: dual_averaging.State,
    gradient: dual_averaging.Gradient,
    *checkpoints: int,
) -> list[float]:
    prox, gaps = SquaredL2(STRENGTH), []
    for t in range(1, checkpoints[-1] + 1):
        state = dual_averaging.step(state, gradient, prox.map, inverse_sqrt(1.0)(t))
        if t in checkpoints:
            gaps.append(gap(problem, state.mean))
    return gaps


PENDANT = GRAPHS["pendant"]
SHORT, LONG = 2_000, 20_000


@cache
def flawed_gap(flaw: str | None, iterations: int) -> float:
    """The gap after a run with a flaw."""
    problem = ranking(PENDANT.n)
    drawn = exchanges(PENDANT, iterations)
    return gap(problem, flawed_run(problem, PENDANT, drawn, 1.0, STRENGTH, flaw))


@cache
def start_gap() -> float:
    """The gap of the zero model."""
    return gap(ranking(PENDANT.n), np.zeros((1, 3)))


def test_without_a_flaw_the_loop_below_is_the_algorithm() -> None:
    problem, drawn = ranking(PENDANT.n), exchanges(PENDANT, 200)
    state = asynchronous.init(problem.n, problem.dimension)
    for pair in drawn[:, None]:
        state = asynchronous.step(
            state, pair, problem.gradient, SquaredL2(STRENGTH).map, inverse_sqrt(1.0),
            PENDANT.pick_probabilities("uniform-edges"),
        )  # fmt: skip
    ours = flawed_run(problem, PENDANT, drawn, 1.0, STRENGTH)
    np.testing.assert_allclose(ours, state.mean, atol=1e-12)
    assert all(
        np.abs(flawed_run(problem, PENDANT, drawn, 1.0, STRENGTH, flaw) - ours).max() > 1e-3
        for flaw in FLAWS
    )


def test_without_a_flaw_it_converges() -> None:
    assert flawed_gap(None, LONG) < flawed_gap(None, SHORT) / 4
    assert flawed_gap(None, LONG) < 1e-3


def test_the_printed_sign_diverges() -> None:
    assert flawed_gap("ascent sign", LONG) > flawed_gap("ascent sign", SHORT) > 5 * start_gap()


@pytest.mark.parametrize("flaw", ["overwritten", "no mean term"])
def test_forgetting_what_came_before_goes_nowhere(flaw: str) -> None:
    assert flawed_gap(flaw, LONG) > 0.95 * start_gap()


@pytest.mark.parametrize("flaw", ["averaging inside", "no weights"])
def test_wrong_weights_stall_at_the_optimum_of_another_objective(flaw: str) -> None:
    problem = ranking(PENDANT.n)
    degrees = PENDANT.degrees / PENDANT.degrees.sum()
    weights = (
        gradient_weights(PENDANT, PENDANT.edges, sequential=True)
        if flaw == "averaging inside"
        else degrees
    )
    floor = gap(problem, optimum(problem, weights)[None])
    assert floor > 5e-3
    assert flawed_gap(flaw, LONG) == pytest.approx(floor, rel=0.25)
    assert flawed_gap(flaw, LONG) > 5 * flawed_gap(None, LONG)


def test_averaging_inside_the_loop_does_no_harm_on_a_star() -> None:
    """By luck: there the two distortions cancel."""
    np.testing.assert_allclose(gradient_weights(star(8), star(8).edges, sequential=True), 1 / 8)
