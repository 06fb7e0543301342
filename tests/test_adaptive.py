"""The adaptive step: exact in its metric, without units, and the same objective on any graph."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import minimize as scipy_minimize

from pairgossip import InputError, NotEnough, SlowRun, datasets, graphs
from pairgossip.arrays import FloatArray
from pairgossip.losses import (
    L1,
    PSD,
    Ball,
    Box,
    GeneralLoss,
    Loss,
    SquaredL2,
    adaptive,
    as_proximal,
    inverse_sqrt,
    risk,
)
from pairgossip.losses.learning import LearningProblem, WholeSetsLearning
from pairgossip.minimization import minimize
from pairgossip.privacy import RandomizedResponse

N = 24
LABELS = (np.arange(N) % 3 == 0).astype(float)
FEATURES = np.random.default_rng(4).normal(size=(N, 3)) + 0.7 * LABELS[:, None]
DATA = np.column_stack([FEATURES, LABELS])
STRENGTH = 0.02
LOLLIPOP = graphs.Graph(
    N, [*((i, j) for j in range(N // 2) for i in range(j)), *((k - 1, k) for k in range(N // 2, N))]
)
LIMITS: list[tuple[Any, Any]] = [
    (None, None),
    (Ball(0.3), None),
    (Box(-0.1, 0.2), None),
    (None, L1(0.2)),
    (None, SquaredL2(0.3)),
    (Ball(0.3), L1(0.1)),
    (Ball(0.3), SquaredL2(0.3)),
    (Box(-0.1, 0.2), L1(0.1)),
]
NUMBERS = st.floats(-50, 50, allow_subnormal=False)
SIZES = st.floats(1e-3, 1e3)


def gossip(**options: Any) -> Any:
    chosen: dict[str, Any] = {"graph": "complete", "iterations": 400, "seed": 0, "n_jobs": 1}
    return minimize(FEATURES, LABELS, **(chosen | options))


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@settings(deadline=None, max_examples=40)
@given(
    z=arrays.arrays(float, (2, 4), elements=NUMBERS), h=arrays.arrays(float, (2, 4), elements=SIZES)
)
def test_no_model_nearby_is_better_in_the_metric(
    limits: tuple[Any, Any], z: FloatArray, h: FloatArray
) -> None:
    proximal, t = as_proximal(*limits), 3.0

    def value(theta: FloatArray) -> FloatArray:
        return (z * theta + h * theta**2 / 2).sum(axis=1) + t * proximal.psi(theta)

    theta = proximal.map_in_metric(z, h, np.full(2, t))
    best = value(theta)
    assert np.isfinite(best).all()
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-3, 0.1, 1.0):
        other = proximal.project(theta + size * rng.normal(size=theta.shape))
        assert (value(other) >= best - 1e-9 * (1 + np.abs(best))).all()


def test_a_ball_is_reached_to_the_last_bits_and_features_without_metric_stay_zero() -> None:
    # The last feature is so small that its squares vanish.
    z, h = np.array([[5.0, -1e-3, 0.0, 1e-170]]), np.array([[1e-3, 1e3, 0.0, 0.0]])
    theta = Ball(0.5).map_in_metric(z, h, np.ones(1))
    assert np.linalg.norm(theta) == pytest.approx(0.5, rel=1e-15)
    assert not theta[0, 2:].any()
    shift = -z[0, :2] / theta[0, :2] - h[0, :2]
    assert shift[0] == pytest.approx(shift[1], rel=1e-9)


def test_matrices_have_one_number_for_a_metric() -> None:
    z, h = np.array([[-3.0, 1.0, 1.0, 2.0]]), np.array([[1.0, 2.0, 2.0, 4.0]])
    theta = PSD().map_in_metric(z, h, np.ones(1))
    np.testing.assert_allclose(theta, PSD().map(z, 1 / np.sqrt(np.mean(h**2)), 1.0), rtol=1e-14)


@pytest.mark.pairs
@pytest.mark.parametrize("engine", ["auto", "plain"])
@pytest.mark.parametrize("clock", ["sync", "async"])
@pytest.mark.parametrize("loss", ["auc-logistic", "metric-diagonal-logistic"])
def test_models_do_not_depend_on_the_units_of_features(loss: str, clock: str, engine: str) -> None:
    units = np.array([1e-6, 1.0, 1e6])
    power = 1 if loss == "auc-logistic" else 2
    how: dict[str, Any] = {"loss": loss, "clock": clock, "engine": engine}
    how["iterations"] = 400 if engine == "auto" else 100
    plain = gossip(**how)
    scaled = minimize(FEATURES * units, LABELS, graph="complete", seed=0, n_jobs=1, **how)
    np.testing.assert_allclose(scaled.models * units**power, plain.models, rtol=1e-9)


@pytest.mark.parametrize(
    ("graph", "law", "clock"),  # every pair of them occurs
    [
        (graphs.star(N), "uniform-edges", "sync"),
        (graphs.star(N), "node-clocks", "async"),
        (LOLLIPOP, "uniform-edges", "async"),
        (LOLLIPOP, "node-clocks", "sync"),
    ],
    ids=["star-uniform", "star-clocks", "lollipop-uniform", "lollipop-clocks"],
)
def test_hubs_do_not_count_more(graph: Any, law: str, clock: str) -> None:
    def objective(theta: FloatArray) -> float:
        return risk(theta, DATA, "auc-logistic") + STRENGTH * float(theta @ theta)

    optimum = scipy_minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    fit = gossip(graph=graph, law=law, clock=clock, iterations=60_000, penalty=SquaredL2(STRENGTH))
    assert objective(fit.model) - optimum.fun < 2e-4
    np.testing.assert_allclose(fit.model, optimum.x, atol=0.1)


def test_messages_carry_a_row_and_all_that_is_averaged() -> None:
    fit = gossip(iterations=10, checkpoints=[10])
    assert int(fit.traffic.bytes[0, -1]) == 2 * 10 * 8 * (4 + 3 * 3 + 1)


@pytest.mark.parametrize("clock", ["sync", "async"])
def test_sites_that_swap_whole_sets_learn_from_pairs_of_rows(clock: str) -> None:
    alone = gossip(clock=clock)
    one_each = gossip(clock=clock, groups=np.arange(N), construction="whole-sets", engine="plain")
    np.testing.assert_allclose(one_each.models, alone.models, rtol=1e-9)
    few = gossip(
        clock=clock, graph=graphs.cycle(4), groups=np.arange(N) % 4, construction="whole-sets"
    )
    assert few.objective[-1] < 0.6 * risk(np.zeros(3), DATA, "auc-logistic")


def test_sites_weigh_gradients_and_squares_by_their_rows() -> None:
    rows = LearningProblem(DATA, "auc-logistic")
    sites = WholeSetsLearning(rows, np.repeat([0, 1, 2], [2, 5, N - 7]))
    theta = np.array([0.3, -0.2, 0.1])
    means = []
    for problem in (rows, sites):
        nodes, held = (index.ravel() for index in np.indices((problem.n, problem.n)))
        models = np.broadcast_to(theta, (len(nodes), 3))
        means.append([part.mean(axis=0) for part in problem.pull(models, nodes, held)])
    np.testing.assert_allclose(means[1], means[0], rtol=1e-12)


def test_rows_that_differ_late_have_something_to_learn() -> None:
    values = np.column_stack([np.zeros(80), np.arange(80) >= 70])
    loss = Loss(lambda first, second: first - second, "logistic")
    assert minimize(values, loss=loss, iterations=10, seed=0).step == "adaptive"
    with pytest.raises(InputError, match="there is nothing to learn"):
        minimize(values[:70], loss=loss, iterations=10)


def test_a_general_loss_has_features_of_one() -> None:
    def value(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        return np.square(first[:, 0] * second[:, 0] - theta[0])

    def gradient(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        return -2 * (first[:, :1] * second[:, :1] - theta[0])

    general = GeneralLoss(value, gradient, dimension=1)
    fit = minimize(FEATURES, loss=general, clock="async", iterations=20_000, seed=0, engine="plain")
    assert fit.model[0] == pytest.approx(FEATURES[:, 0].mean() ** 2, abs=0.05)


def test_private_reports_and_wrong_scales_are_refused() -> None:
    reports = RandomizedResponse(4.0, 3, (-4, 4), classes=(0, 1))
    with pytest.raises(
        InputError, match="mistakes the noise of private reports for slopes: use step="
    ):
        minimize(FEATURES[:, :1], LABELS, privacy=reports, step=adaptive())
    private = minimize(FEATURES[:, :1], LABELS, privacy=reports, iterations=50, seed=0)
    assert private.step == "inverse-sqrt"
    with pytest.raises(InputError, match="The scale of the adaptive step is -1: give a finite num"):
        adaptive(-1)


def test_a_step_that_cannot_arrive_is_told_and_the_adaptive_one_never() -> None:
    x, y = datasets.breast_cancer_wisconsin()
    how: dict[str, Any] = {
        "clock": "async",
        "checkpoints": 1,
        "judged": 1,
        "bias": False,
        "seed": 0,
    }
    with pytest.warns(NotEnough) as told:
        minimize(x, y, iterations=100_000, step=inverse_sqrt(1e-3), **how)
    assert str(told[0].message) == (
        "The step is too short to arrive: in 100,000 iterations the mean margin of pairs grows to "
        "6.3 at most, and these rows ask for about 20: leave step= out, or give one that is 4 "
        "times as long."
    )
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        minimize(x, y, iterations=100_000, step=inverse_sqrt(1e-2), **how)
        for limit in (Ball(0.1), Box(-1e-3, np.inf)):
            minimize(x, y, iterations=100_000, step=inverse_sqrt(1e-3), constraint=limit, **how)
        minimize(x, y, iterations=10_000, step=inverse_sqrt(1e-3), **how)
        minimize(x, y, iterations=100_000, step=adaptive(1e-4), **how)


@pytest.mark.parametrize("clock", ["sync", "async"])
def test_many_eigendecompositions_are_told(clock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairgossip.results.notices._WARN_COUNT", 400)
    monkeypatch.setattr("pairgossip.results.notices._WARN_SIDE", 3)
    how: dict[str, Any] = {"clock": clock, "iterations": 200, "seed": 0, "checkpoints": 1}
    with pytest.warns(SlowRun) as told:
        gossip(loss="metric-hinge", constraint=PSD(), **how)
    count, remedy = (400, "") if clock == "async" else (
        4_800, "use clock='async', where only two nodes move at a time, or "
    )  # fmt: skip
    assert str(told[0].message) == (
        "Keeping matrices positive semidefinite takes an eigendecomposition of a 3 x 3 matrix for "
        f"every node that moves, {count:,} in all: {remedy}learn a diagonal metric."
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gossip(loss="metric-hinge", **how)


def test_a_general_loss_that_takes_one_model_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairgossip.results.notices._WARN_COUNT", 20)

    def value(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        return np.square(first[:, 0] + second[:, 0] - theta[..., 0])

    def gradient(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        return -2 * (first[:, :1] + second[:, :1] - theta[..., :1])

    how: dict[str, Any] = {"clock": "async", "iterations": 10, "seed": 0, "engine": "plain"}
    for shape, limit in (("vector", None), ("matrix", PSD())):
        loss = GeneralLoss(value, gradient, dimension=1, shape=shape)
        with pytest.warns(SlowRun) as told:
            minimize(FEATURES, loss=loss, constraint=limit, **how)
        assert str(told[0].message) == (
            "Loss 'custom' is called for every node that moves, 20 in all, far slower than "
            "compiled steps: let it take one model per pair, batched=True."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        minimize(FEATURES, loss=GeneralLoss(value, gradient, dimension=1, batched=True), **how)
