"""Every engine of gossip dual averaging gives the plain algorithm's numbers on one schedule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pairgossip import graphs
from pairgossip.arrays import FloatArray
from pairgossip.engine.descent.engines import Descent
from pairgossip.engine.descent.loops import logistic_slopes, onto_cone
from pairgossip.engine.descent.trial import build_descent
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.losses import (
    L1,
    PSD,
    Ball,
    Box,
    GeneralLoss,
    Loss,
    SquaredL2,
    as_proximal,
    inverse_sqrt,
)
from pairgossip.losses.learning import LearningProblem
from pairgossip.losses.steps import adaptive

N = 14
GRAPH = graphs.barabasi_albert(N, 2, seed=3)


def two_classes(features: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(features)
    labels = (np.arange(N) % 3 == 0).astype(float)
    return rng.normal(size=(N, features)) + labels[:, None], labels


def scaled_sums(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return a user's own features: own pairs move too, and nothing is symmetric."""
    return np.column_stack([first[:, 0] + 0.5 * second[:, 0], first[:, 1] * second[:, 1]])


LOSSES: dict[str, Any] = {
    "auc-logistic": "auc-logistic",
    "auc-hinge": "auc-hinge",
    "ranking-squared-hinge": "ranking-squared-hinge",
    "auc-squared": "auc-squared",
    "auc-smoothed-hinge": "auc-smoothed-hinge",
    "metric-diagonal-logistic": "metric-diagonal-logistic",
    "metric-hinge": "metric-hinge",
    "user's": Loss(
        scaled_sums, "logistic", offsets=lambda a, b: a[:, 0], weights=lambda a, b: b[:, 0] ** 2
    ),
}
PROXIMALS: dict[str, tuple[Any, Any]] = {
    "none": (None, None),
    "ball, inactive": (Ball(50.0), None),
    "ball, active": (Ball(0.05), None),
    "l2": (None, SquaredL2(0.02)),
    "l2 and ball": (Ball(0.05), SquaredL2(0.02)),
    "l1": (None, L1(0.02)),
    "box": (Box(-0.05, 0.1), None),
    "l1 and ball": (Ball(0.05), L1(0.02)),
    "l1 and box": (Box(-0.05, 0.1), L1(0.02)),
}
CONES: dict[str, tuple[Any, Any]] = {
    "psd": (PSD(), None),
    "psd and ball": (PSD(0.05), None),
    "psd and l2": (PSD(), SquaredL2(0.02)),
}
# Loops take gradients and proximal steps one after the other: every loss occurs without and with
# two proximal maps, and every proximal map with two losses, except cones, which are for matrices
# only.
TWINS = [
    (loss, proximal)
    for loss in LOSSES
    for proximal in PROXIMALS
    if loss in ("auc-logistic", "user's") or proximal in ("none", "l2 and ball", "l1 and box")
] + [("metric-hinge", cone) for cone in CONES]


STEPS: dict[str, Any] = {"inverse-sqrt": inverse_sqrt(0.05), "adaptive": adaptive()}
TOLERANCES = {"inverse-sqrt": 1e-11, "adaptive": 1e-12}


def descent(
    loss: Any, proximal: str, clock: str, law: str = "uniform-edges", step: str = "inverse-sqrt"
) -> Descent:
    features, labels = two_classes(3)
    problem = LearningProblem(features, loss, labels)
    prox = as_proximal(*(PROXIMALS | CONES)[proximal])
    return Descent(problem, prox, STEPS[step], clock, GRAPH.pick_probabilities(law))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("clock", ["sync", "async"])
@pytest.mark.parametrize(("loss", "proximal"), TWINS)
def test_fast_engines_equal_the_plain_algorithm(
    loss: str, proximal: str, clock: str, step: str
) -> None:
    setup = descent(LOSSES[loss], proximal, clock, step=step)
    snapshots = []
    for engine in ("plain", "auto", "vectors"):
        network = build_descent(engine, setup)
        schedule = Schedule(GRAPH, "uniform-edges", root_seed(5))
        for block in (1, 2, 20, 77):
            network.advance(schedule.draw(block)[0])
            network.snapshot()  # reading must not disturb the run
        snapshots.append(network.snapshot())
    plain, *fast = snapshots
    for snapshot in fast:
        np.testing.assert_array_equal(snapshot.held, plain.held)
        for name in ("z", "theta", "mean", "metric"):
            right = getattr(plain, name)
            near = TOLERANCES[step] * np.abs(right).max(initial=0.0)
            np.testing.assert_allclose(
                getattr(snapshot, name), right, rtol=TOLERANCES[step], atol=near
            )


@pytest.mark.parametrize("clock", ["sync", "async"])
@pytest.mark.parametrize("proximal", ["none", "ball, active"])
@pytest.mark.parametrize("engine", ["plain", "auto"])
def test_a_feature_whose_squares_vanish_has_no_coefficient(
    engine: str, proximal: str, clock: str
) -> None:
    features, labels = two_classes(3)
    problem = LearningProblem(features * [1.0, 1e-100, 1.0], "auc-logistic", labels)
    setup = descent("auc-logistic", proximal, clock, step="adaptive")._replace(problem=problem)
    network = build_descent(engine, setup)
    network.advance(Schedule(GRAPH, "uniform-edges", root_seed(5)).draw(100)[0])
    state = network.snapshot()
    assert state.z[:, 1].any()
    assert not state.theta[:, 1].any()
    assert np.abs(state.theta[:, [0, 2]]).min() > 0
    assert np.isfinite(state.theta).all()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("clock", ["sync", "async"])
@pytest.mark.parametrize("loss", ["auc-logistic", "user's"])
def test_long_blocks_equal_many_short_ones(loss: str, clock: str, step: str) -> None:
    setup = descent(LOSSES[loss], "ball, active", clock, step=step)
    means = []
    for sizes in ([20_000], [100] * 200):
        network = build_descent("auto", setup)
        schedule = Schedule(GRAPH, "uniform-edges", root_seed(5))
        for size in sizes:
            network.advance(schedule.draw(size)[0])
        means.append(network.snapshot().mean)
    np.testing.assert_allclose(means[0], means[1], rtol=1e-10)


def test_either_law_weighs_by_its_own_probabilities() -> None:
    uniform, clocks = (
        build_descent("auto", descent("auc-logistic", "none", "async", law)) for law in graphs.LAWS
    )
    exchanges = Schedule(GRAPH, "uniform-edges", root_seed(5)).draw(200)[0]
    for network in (uniform, clocks):
        network.advance(exchanges)
    assert not np.allclose(uniform.snapshot().mean, clocks.snapshot().mean)


@pytest.mark.parametrize("side", [1, 2, 5, 16])
def test_the_compiled_cone_is_the_nearest_positive_matrix(side: int) -> None:
    rng = np.random.default_rng(side)
    for scale in (1e-8, 1.0, 1e8):
        given = scale * rng.normal(size=side * side)
        nearest = given.copy()
        onto_cone(nearest, side)
        np.testing.assert_allclose(nearest, PSD().project(given), atol=1e-13 * side * scale)
        again = nearest.copy()
        onto_cone(again, side)
        np.testing.assert_allclose(again, nearest, atol=1e-13 * side * scale)


@pytest.mark.parametrize("diverged", [np.nan, np.inf, -np.inf, 1e200])
def test_the_compiled_cone_has_no_matrix_for_one_that_diverged(diverged: float) -> None:
    matrix = np.array([1.0, 0.0, 0.0, diverged])
    onto_cone(matrix, 2)
    assert np.isnan(matrix).all()


def test_a_general_loss_agrees_with_the_same_loss_in_parts() -> None:
    features, labels = two_classes(2)
    data = np.column_stack([features, labels])

    # By loops, which numba compiles in a seventh of the time.
    def value(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        losses = np.zeros(len(first))
        for pair in range(len(first)):
            margin = theta[0] * (first[pair, 0] - second[pair, 0])
            margin += theta[1] * (first[pair, 1] - second[pair, 1])
            if first[pair, 2] > second[pair, 2]:
                losses[pair] = np.log1p(np.exp(-margin))
        return losses

    def gradient(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        slopes = np.zeros((len(first), 2))
        for pair in range(len(first)):
            margin = theta[0] * (first[pair, 0] - second[pair, 0])
            margin += theta[1] * (first[pair, 1] - second[pair, 1])
            if first[pair, 2] > second[pair, 2]:
                for c in range(2):
                    slopes[pair, c] = (second[pair, c] - first[pair, c]) / (1 + np.exp(margin))
        return slopes

    general = LearningProblem(data, GeneralLoss(value, gradient, dimension=2))
    parts = LearningProblem(data, "auc-logistic")
    probabilities = GRAPH.pick_probabilities("uniform-edges")
    means = []
    for problem in (general, parts):
        setup = Descent(problem, as_proximal(None, None), inverse_sqrt(0.1), "sync", probabilities)
        network = build_descent("auto", setup)
        network.advance(Schedule(GRAPH, "uniform-edges", root_seed(0)).draw(60)[0])
        means.append(network.snapshot().mean)
    np.testing.assert_allclose(means[0], means[1], rtol=1e-10, atol=1e-14)


def test_logistic_slopes_are_accurate_over_the_whole_range() -> None:
    u = np.concatenate([np.linspace(-40, 40, 4001), [-800.0, 800.0, 0.0, 1e-300]])
    bits = np.zeros(len(u), dtype=np.int64)
    slopes = u.copy()
    logistic_slopes(slopes, len(u), np.empty(len(u)), bits, bits.view(np.float64))
    right = np.array([-1 / (1 + math.exp(min(v, 700))) for v in u])
    np.testing.assert_allclose(slopes, right, rtol=1e-15)
