"""The bounds on gossip dual averaging, against real runs and against each other."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.graphs import Graph, complete, cycle, path, star, torus
from pairgossip.losses import Ball, constant, inverse_sqrt, power
from pairgossip.losses.learning import LearningProblem
from pairgossip.minimization import minimize
from pairgossip.theory.bounds import claimed_pairwise_lower_bound, separable_lower_bound
from pairgossip.theory.optimization import (
    DescentConstants,
    _mixing_time,
    descent_constants,
    disagreement_constant,
    dispersion_bound,
    ergodic_bound,
    ergodic_corollary,
    general_rate,
    leading_constant,
    mixing_horizon,
    optimal_step_constant,
    readout,
)
from pairgossip_paper.errata.erratum import (
    Path,
    biased_problem,
    exchanges,
    ranking_problem,
    run_path,
    steepness,
)

GRAPHS = {
    "complete": complete(10),
    "cycle": cycle(9),
    "star": star(10),
    "torus": torus(4, 4),
}
UNIT = DescentConstants(n=10, gap=complete(10).normalized_gap(), lipschitz=1.0, optimum_norm=1.0)


@cache
def best_in_ball(problem: LearningProblem, radius: float) -> FloatArray:
    def objective(theta: FloatArray) -> float:
        return float(problem.objectives(theta[None])[0])

    def room(theta: FloatArray) -> float:
        return float(radius**2 - theta @ theta)

    found = scipy_minimize(
        objective,
        np.full(problem.dimension, 0.01),
        method="SLSQP",
        tol=1e-12,
        constraints={"type": "ineq", "fun": room},
    )
    return Ball(radius).project(found.x)


def path_and_rates(
    problem: LearningProblem, graph: Graph, T: int, seed: int
) -> tuple[Path, float, float, float]:
    """Return a run, its gap, and the general rate with the corrected and the printed sign."""
    ball, L = Ball(1.0), steepness(problem)
    optimum, step = best_in_ball(problem, 1.0), inverse_sqrt(1 / L)
    run = run_path(problem, graph, T, step, ball, seed)
    rate = general_rate(
        descent_constants(graph, optimum, L, 1.0), T, step,
        bias=run.bound_term(optimum), disagreement=run.disagreement,
    )  # fmt: skip
    gap = run.objective - float(problem.objectives(optimum[None])[0])
    return run, gap, rate.total, rate.total - 2 * rate.C3


@pytest.mark.parametrize("name", GRAPHS)
def test_general_rate_holds_on_every_path_and_the_printed_sign_does_not(name: str) -> None:
    graph, violated = GRAPHS[name], 0
    for seed in range(4):
        for problem in (
            biased_problem(graph.n, seed, "smoothed-hinge"),
            biased_problem(graph.n, seed, "logistic"),
            ranking_problem(graph.n, seed),
        ):
            for T in (1, 3, 25):
                _, gap, corrected, printed = path_and_rates(problem, graph, T, seed)
                assert gap <= corrected + 1e-9
                violated += gap > printed + 1e-9
    assert violated >= 4  # of 36 runs


def test_measured_disagreement_lies_below_its_bound_on_average() -> None:
    graph, step = cycle(9), inverse_sqrt(0.3)
    problem = ranking_problem(graph.n)
    runs = [run_path(problem, graph, 200, step, Ball(1.0), seed) for seed in range(10)]
    c = descent_constants(graph, np.ones(3), steepness(problem))
    measured = np.array([run.disagreement for run in runs])
    assert general_rate(c, 200, step, disagreement=measured).C2 < general_rate(c, 200, step).C2


def test_general_rate_takes_the_bias_of_a_fit() -> None:
    graph, T, step = star(10), 50, inverse_sqrt(0.3)
    problem = ranking_problem(graph.n)
    optimum = best_in_ball(problem, 1.0)
    fit = minimize(
        problem.data, None, "auc-logistic", graph, iterations=T, step=step, trials=5, seed=0,
        checkpoints=range(1, T + 1), constraint=Ball(1.0), n_jobs=1, progress=False,
        engine="plain",
    )  # fmt: skip
    assert fit.bias is not None
    term = fit.bias.bound_term(optimum)
    c = descent_constants(graph, optimum, steepness(problem), 1.0)
    rate = general_rate(c, T, step, bias=term)
    assert pytest.approx(term.mean()) == rate.C3
    # The fit averages the models after each update; the bound those before.
    gap = fit.objective[-1] - problem.objectives(optimum[None])[0]
    assert 0 < gap < general_rate(c, T + 1, step).total * (T + 1) / T + rate.C3
    printed = general_rate(c, T, step, bias=term, printed=True)
    assert printed.C3 == -rate.C3 and printed.C2 < rate.C2 and printed.C1 < rate.C1
    alone = general_rate(c, T, step, single_node=True)
    assert math.isclose(alone.C2 / rate.C2, (2 + math.sqrt(10)) / 3)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("radius", [2.0, math.inf])
def test_ergodic_bounds_hold_on_real_runs(name: str, radius: float) -> None:
    graph = GRAPHS[name]
    problem = ranking_problem(graph.n, seed=2)
    optimum = best_in_ball(problem, 2.0)
    L = steepness(problem)
    step = inverse_sqrt(1 / L)
    fit = minimize(
        problem.data, None, "auc-logistic", graph, iterations=10_000, step=step, trials=3, seed=0,
        constraint=Ball(2.0) if math.isfinite(radius) else None, bias=False, n_jobs=1,
        checkpoints=[1_000, 10_000], progress=False,
    )  # fmt: skip
    c = descent_constants(graph, optimum, L, radius)
    gaps = fit.objective - problem.objectives(optimum[None])[0]
    for T, gap in zip(fit.iterations.tolist(), gaps, strict=True):
        corollary = ergodic_corollary(c, T, 1 / L)
        assert gap <= corollary < math.inf
        assert readout(corollary, max(gap, 1e-9)) > 50
        if math.isfinite(radius):
            theorem = ergodic_bound(c, T, step, 1 / T)
            assert gap <= theorem.total <= corollary
            assert theorem.total == pytest.approx(theorem.C1 + theorem.C2 + theorem.C3)


def test_printed_theorem_is_negative_and_so_violated() -> None:
    c = DescentConstants(10, complete(10).normalized_gap(), 1.0, 1.0, 1.0)
    for T in (1_000, 10_000, 100_000):
        assert ergodic_bound(c, T, inverse_sqrt(1.0), 1 / T, printed=True).total < 0
        assert ergodic_corollary(c, T, 1.0, printed=True) > 0


@pytest.mark.parametrize("exponent", [0.3, 0.5, 0.8])
def test_ergodic_bound_for_other_step_sizes(exponent: float) -> None:
    c = DescentConstants(10, complete(10).normalized_gap(), 2.0, 1.0, 3.0)
    T, eps, step = 5_000, 1e-3, power(0.5, exponent)
    gammas = step(np.arange(1.0, T))
    S = gammas[0] + gammas.sum()
    K = 1 / (1 - math.sqrt(1 - c.gap / 2))
    tau = complete(10).mixing_time(eps)
    expected = 1 / (2 * T * step(float(T))) + 4 * S / T * (0.5 + (1 + exponent) * tau + 5 * K)
    expected += 4 * 2 * 3 * (eps + tau / T)
    assert ergodic_bound(c, T, step, eps).total == pytest.approx(expected)


@pytest.mark.parametrize("radius", [1.0, math.inf])
def test_optimal_step_constant_minimizes_the_corollary(radius: float) -> None:
    c, T = DescentConstants(10, UNIT.gap, 2.0, 0.7, radius), 10_000
    best = optimal_step_constant(c, T)
    at_best = ergodic_corollary(c, T, best)
    assert all(at_best < ergodic_corollary(c, T, best * factor) for factor in (0.9, 1.1))
    assert optimal_step_constant(c, T, printed=True) == pytest.approx(0.35)
    assert ergodic_corollary(c, T, 0.35) > at_best
    C = leading_constant(c, T)
    assert 0.7**2 / (2 * best) + best * 4 * C == pytest.approx(math.sqrt(2 * C) * 2 * 0.7)


@pytest.mark.parametrize("graph", [*GRAPHS.values(), path(3), complete(3), path(30)])
def test_mixing_time_agrees_with_the_graph(graph: Graph) -> None:
    c = DescentConstants(graph.n, graph.normalized_gap(), 1.0, 1.0)
    for T in (2, 100, 10_000):
        assert mixing_horizon(c, T) == graph.mixing_time(1 / T)
    assert _mixing_time(c, 0.01) == graph.mixing_time(0.01)


def test_bounds_say_nothing_before_observations_have_mixed() -> None:
    slow = DescentConstants(30, path(30).normalized_gap(), 1.0, 1.0, 1.0)
    assert ergodic_corollary(slow, 100, 1.0) == math.inf
    assert ergodic_bound(slow, 100, inverse_sqrt(1.0), 0.01).total == math.inf


def test_disagreement_constant() -> None:
    assert disagreement_constant(2 / 3) == pytest.approx(1 / (1 - math.sqrt(2 / 3)))
    assert disagreement_constant(2 / 3, printed=True) == pytest.approx(2.366, abs=1e-3)
    for gap in (1e-12, 1e-3, 0.5, 1.0, 2.0):
        assert 2 / gap <= disagreement_constant(gap) <= 4 / gap
    assert dispersion_bound(2.0, 0.5) == 2 * disagreement_constant(0.5)
    assert dispersion_bound(2.0, 0.5, single_node=9) == pytest.approx(
        3 * dispersion_bound(2.0, 0.5)
    )


@pytest.mark.parametrize("name", GRAPHS)
def test_dispersion_stays_below_its_bound(name: str) -> None:
    graph = GRAPHS[name]
    gradients = np.where(np.arange(graph.n) < graph.n // 2, 1.0, -1.0)
    z, apart = np.zeros(graph.n), []
    for i, j in exchanges(graph, 5_000):
        z[i] = z[j] = (z[i] + z[j]) / 2
        z += gradients
        apart.append(np.abs(z - z.mean()).mean())
    assert np.mean(apart) < dispersion_bound(1.0, graph.normalized_gap())


def test_lower_bounds() -> None:
    t = np.array([0, 1, 10, 1_000])
    separable = separable_lower_bound(t, 2.0, 3.0, 1)
    assert separable[0] == pytest.approx(math.sqrt(2) * 6 / 36)
    assert (np.diff(separable) < 0).all()
    claimed = claimed_pairwise_lower_bound(t, 2.0, 3.0, 2.0)
    np.testing.assert_allclose(separable_lower_bound(t, 2.0, 3.0, 2), claimed)
    printed = claimed_pairwise_lower_bound(t, 2.0, 3.0, 2.0, printed=True)
    np.testing.assert_allclose(printed, separable)
    assert separable_lower_bound([3, 4], 1.0, 1.0, 1, dimension=9)[1] == 0 < separable[0]


def test_readout() -> None:
    np.testing.assert_array_equal(readout([2.0, 3.0, 1.0], [1.0, 0.5, 0.0]), [2, 6, np.inf])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: disagreement_constant(0.0), "gap must be positive"),
        (lambda: disagreement_constant(3.0), "at most 2"),
        (lambda: dispersion_bound(0.0, 0.5), "Lipschitz"),
        (lambda: DescentConstants(10, 0.5, 0.0, 1.0), "Lipschitz"),
        (lambda: DescentConstants(10, 0.5, 1.0, 2.0, 1.0), "norm 2"),
        (lambda: general_rate(UNIT, 0, constant(1.0)), "horizon"),
        (lambda: general_rate(UNIT, 5, constant(1.0), bias=np.zeros(4)), "each of the 5"),
        (lambda: general_rate(UNIT, 5, constant(1.0), disagreement=np.zeros(4)), "disagreement"),
        (
            lambda: general_rate(
                UNIT, 5, constant(1.0), disagreement=np.zeros(5), single_node=True
            ),
            "single_node",
        ),
        (lambda: ergodic_bound(UNIT, 5, inverse_sqrt(1.0), 0.1), "needs a ball"),
        (lambda: ergodic_bound(UNIT, 5, constant(1.0), 0.1), "beta"),
        (lambda: ergodic_corollary(UNIT, 5, 0.0), "step constant"),
        (lambda: _mixing_time(UNIT, 0.0), "eps"),
        (lambda: _mixing_time(DescentConstants(2, 2.0, 1.0, 1.0), 0.1), "at least 3 nodes"),
        (lambda: optimal_step_constant(DescentConstants(9, 0.2, 1.0, 0.0), 5), "zero model"),
        (lambda: separable_lower_bound(-1, 1.0, 1.0, 1), "t >= 0"),
        (lambda: separable_lower_bound(1, 0.0, 1.0, 1), "radius"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_one_sentence(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert str(caught.value).endswith(".")
