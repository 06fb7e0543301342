"""Compiled judges agree with the plain ones, for every ranking loss, any scores, any pairs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from pairgossip import graphs, minimize
from pairgossip.arrays import FloatArray
from pairgossip.engine.descent import judge as judging
from pairgossip.engine.descent.judge import (
    PairsJudge,
    RankingJudge,
    _spans,
    build_judge,
    default_judged,
)
from pairgossip.losses import MARGINS, GeneralLoss, Loss, auc_loss
from pairgossip.losses.builtin import center, difference, higher_label, ranking_risks
from pairgossip.losses.learning import LearningProblem
from pairgossip.results.fit import Fit
from tests.losses.reference import brute_ranking, brute_sums, hard_scores, relative_error

COMPILED = sorted(name for name in MARGINS if name != "squared")
RANKING = sorted(f"{kind}-{phi}" for kind in ("auc", "ranking") for phi in COMPILED)
HARD = hard_scores()


def problem(loss: str, n: int = 150, classes: int = 2, d: int = 3) -> LearningProblem:
    rng = np.random.default_rng(n + classes)
    labels = rng.permutation(np.arange(n) % classes).astype(float)
    return LearningProblem(rng.normal(size=(n, d)) + 0.3 * labels[:, None] / classes, loss, labels)


def models(r: int, d: int = 3, scale: float = 1.0) -> FloatArray:
    return scale * (np.random.default_rng(r).normal(size=(r, d)) + 0.5)


def assert_twins(judged: LearningProblem, thetas: FloatArray) -> None:
    judge = build_judge("auto", judged)
    assert isinstance(judge, RankingJudge)
    plain, found = judged.objectives(thetas), judge.objectives(thetas)
    np.testing.assert_allclose(found, plain, rtol=1e-12, atol=0)
    own = np.resize(thetas, (judged.n, thetas.shape[1]))
    right = judged.own_gradients(own)
    size = float(np.abs(right).max())
    np.testing.assert_allclose(judge.own_gradients(own), right, rtol=1e-12, atol=1e-12 * size)


@pytest.mark.parametrize("scale", [0.0, 1e-6, 0.1, 1.0, 10.0, 300.0, 3e4])
@pytest.mark.parametrize("loss", RANKING)
def test_every_ranking_loss(loss: str, scale: float) -> None:
    assert_twins(problem(loss), models(40, scale=scale))


@pytest.mark.parametrize("classes", [3, 7, 40, 150])
@pytest.mark.parametrize("phi", COMPILED)
def test_graded_labels_with_and_without_ties(phi: str, classes: int) -> None:
    for scale in (0.3, 30.0, 1e4):
        assert_twins(problem(f"ranking-{phi}", classes=classes), models(20, scale=scale))


@pytest.mark.parametrize("classes", [2, 5])
def test_squared_margins_are_judged_by_their_moments(classes: int) -> None:
    judged = problem("ranking-squared", classes=classes)
    assert build_judge("auto", judged) is judged
    thetas = models(4)
    features, labels = judged.data[:, :-1], judged.data[:, -1]
    sums = np.array([brute_ranking(scores, labels, "squared") for scores in thetas @ features.T])
    np.testing.assert_allclose(judged.objectives(thetas), sums / judged.n**2, rtol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9, 33])
@pytest.mark.parametrize("phi", COMPILED)
def test_few_observations(phi: str, n: int) -> None:
    assert_twins(problem(f"auc-{phi}", n), models(5))
    assert_twins(problem(f"ranking-{phi}", n, classes=n), models(5))


@pytest.mark.parametrize("phi", COMPILED)
@pytest.mark.parametrize("case", sorted(HARD))
def test_hard_scores(case: str, phi: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # One feature and the model 1 give any scores; features are not centered.
    monkeypatch.setattr(judging, "center", lambda features: features)
    for direct in (0, 2**20):
        monkeypatch.setattr(judging, "_DIRECT_LOGISTIC", direct)
        monkeypatch.setattr(judging, "_DIRECT_HINGES", direct)
        for above, below in zip(*HARD[case], strict=True):
            labels = np.repeat([1.0, 0.0], [len(above), len(below)])
            data = np.concatenate((above, below))[:, None]
            judge = RankingJudge(LearningProblem(data, f"auc-{phi}", labels))
            exact = brute_sums(above[None], below[None], phi) / len(data) ** 2
            assert relative_error(judge.objectives(np.ones((1, 1))), exact) < 1e-12


@pytest.mark.parametrize("phi", COMPILED)
def test_outliers_and_ties_that_crowd_one_bucket(phi: str) -> None:
    rng = np.random.default_rng(0)
    labels: FloatArray = np.tile([0.0, 1.0], 200)
    cases: tuple[FloatArray, ...] = (
        np.append(rng.normal(size=399), 1e5),
        np.round(rng.normal(size=400)),
        np.append(rng.normal(size=398), [1e5, -1e5]),
        np.geomspace(1e-9, 1e5, 400)[rng.permutation(400)],
    )
    for scores in cases:
        judge = RankingJudge(LearningProblem(scores[:, None], f"auc-{phi}", labels))
        exact = brute_ranking(center(scores[:, None])[:, 0], labels, phi) / 400**2
        assert relative_error(judge.objectives(np.ones((1, 1))), np.array([exact])) < 1e-12


@pytest.mark.parametrize("loss", RANKING)
def test_models_that_are_not_finite_say_so_without_warnings(loss: str) -> None:
    judged = problem(loss, n=60)
    thetas = models(60)
    thetas[3, 0], thetas[4, 1], thetas[5, 2], thetas[6] = np.nan, np.inf, -np.inf, 1e308
    judge = build_judge("auto", judged)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        objectives, gradients = judge.objectives(thetas), judge.own_gradients(thetas)
    with np.errstate(all="ignore"):
        plain, right = judged.objectives(thetas), judged.own_gradients(thetas)
    np.testing.assert_array_equal(np.isnan(objectives), np.isnan(plain))
    assert np.isnan(objectives[3:6]).all() and np.isfinite(objectives[:3]).all()
    finite = [k for k in range(60) if k not in (3, 4, 5, 6)]
    assert np.isnan(gradients[3:6]).all()
    np.testing.assert_allclose(gradients[finite], right[finite], rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("phi", COMPILED)
def test_without_pairs_of_different_labels_nothing_is_lost(phi: str) -> None:
    loss = Loss(difference, phi, weights=higher_label)
    judged = LearningProblem(models(30), loss, np.ones(30))
    judge = build_judge("auto", judged)
    assert isinstance(judge, RankingJudge)
    np.testing.assert_array_equal(judge.objectives(models(30)), np.zeros(30))
    np.testing.assert_array_equal(judge.own_gradients(models(30)), np.zeros((30, 3)))


def test_models_come_in_chunks_and_in_any_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    judged, thetas = problem("auc-logistic", n=60), models(60)
    whole = RankingJudge(judged)
    monkeypatch.setattr(judging, "_SCORES_AT_ONCE", 300)
    parts = RankingJudge(judged)
    for layout in (thetas, np.asfortranarray(thetas), np.repeat(thetas, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(parts.objectives(layout), whole.objectives(thetas))
        np.testing.assert_array_equal(parts.own_gradients(layout), whole.own_gradients(thetas))
    assert whole.objectives(thetas[:0]).shape == (0,)


def test_spans_cover_every_pair_of_different_labels_once() -> None:
    rng = np.random.default_rng(0)
    for classes in (1, 2, 5, 200):
        labels = np.sort(rng.integers(0, classes, 90)).astype(float)
        for direct in (0, 30, 10**6):
            met = np.zeros((90, 90), dtype=int)
            for start, middle, end in _spans(labels, direct):
                if start == middle:
                    met[start:end, start:end] += labels[start:end, None] > labels[start:end]
                else:
                    met[middle:end, start:middle] += 1
            np.testing.assert_array_equal(met, labels[:, None] > labels)


def _value(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    return 0.5 * ((first[:, :3] - second[:, :3]) @ theta - 1) ** 2


def _gradient(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    apart = first[:, :3] - second[:, :3]
    return (apart @ theta - 1)[:, None] * apart


def _curved(first: FloatArray, second: FloatArray) -> FloatArray:
    apart = first[:, :-1] - 0.7 * second[:, :-1]
    return np.column_stack((apart, apart[:, :2] ** 2, first[:, 0] * second[:, 1]))


def _uneven(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.maximum(first[:, 0] - second[:, 1], 0.0)


def _shifted(first: FloatArray, second: FloatArray) -> FloatArray:
    return 0.3 * first[:, 2]


OWN: dict[str, dict[str, Any]] = {
    "one feature": {"features": lambda first, second: first[:, 0] - second[:, 1]},
    "curved": {"features": _curved},
    "AUC in other words": {
        "features": lambda first, second: first[:, :-1] - second[:, :-1],
        "weights": lambda first, second: first[:, -1] > second[:, -1],
    },
    "weights": {"features": _curved, "weights": _uneven},
    "offsets": {"features": _curved, "offsets": _shifted},
    "both": {"features": difference, "weights": _uneven, "offsets": _shifted},
    "difference of all pairs": {"features": difference},
}


def own(case: str, phi: str = "logistic", n: int = 60) -> LearningProblem:
    return LearningProblem(models(n), Loss(phi=phi, **OWN[case]), np.arange(n) % 2.0)


def brute(judged: LearningProblem, theta: FloatArray, node: int | None = None) -> Any:
    """Return the mean loss over all pairs, or the mean gradient over the pairs of a node."""
    assert isinstance(judged.loss, Loss)
    rows = judged.data if node is None else judged.data[node : node + 1]
    first, second = np.repeat(rows, judged.n, axis=0), np.tile(judged.data, (len(rows), 1))
    if node is None:
        return judged.loss.value(theta, first, second).mean()
    return judged.loss.gradient(theta, first, second).mean(axis=0)


@pytest.mark.parametrize("phi", COMPILED)
@pytest.mark.parametrize("case", sorted(OWN))
def test_every_own_loss_is_judged_by_compiled_sums(case: str, phi: str) -> None:
    judged = own(case, phi)
    judge = build_judge("auto", judged)
    assert isinstance(judge, PairsJudge)
    for scale in (0.0, 1e-3, 1.0, 30.0, 1e3):
        thetas = models(60, judged.dimension, scale)
        some = thetas[:9]
        expected = [brute(judged, theta) for theta in some]
        np.testing.assert_allclose(judge.objectives(some), expected, rtol=1e-12, atol=1e-290)
        right = np.array([brute(judged, theta, k) for k, theta in enumerate(thetas)])
        room = 1e-12 * float(np.abs(right).max())
        np.testing.assert_allclose(judge.own_gradients(thetas), right, rtol=1e-12, atol=room)
        np.testing.assert_allclose(judged.own_gradients(thetas), right, rtol=1e-12, atol=room)


def test_own_losses_of_models_that_are_not_finite() -> None:
    judged = own("curved", n=50)
    thetas = models(50, judged.dimension)
    thetas[3, 0], thetas[4] = np.nan, 1e308
    judge = build_judge("auto", judged)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        objectives, gradients = judge.objectives(thetas), judge.own_gradients(thetas)
    lost = np.isin(np.arange(50), (3, 4))
    np.testing.assert_array_equal(np.isnan(objectives), lost)
    np.testing.assert_array_equal(np.isnan(gradients).all(axis=1), lost)
    assert np.isfinite(gradients[~lost]).all()


def test_pairs_come_in_pieces_that_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = own("weights", n=50)
    thetas = models(50, judged.dimension)
    whole = PairsJudge(judged)
    for name in ("NUMBERS_PER_BLOCK", "_PAIRS_AT_ONCE"):
        monkeypatch.setattr(judging, name, 37)
    parts = PairsJudge(judged)
    for layout in (thetas, np.asfortranarray(thetas)):
        np.testing.assert_allclose(
            parts.objectives(layout), whole.objectives(thetas), rtol=1e-14, atol=0
        )
        np.testing.assert_allclose(
            parts.own_gradients(layout), whole.own_gradients(thetas), rtol=1e-12, atol=1e-15
        )


def test_other_losses_and_plain_runs_are_judged_by_numpy() -> None:
    def risk(thetas: FloatArray, data: FloatArray) -> FloatArray:
        return ranking_risks(thetas, data, MARGINS["hinge"])  # correct, but not the known function

    x, labels = models(60), np.arange(60) % 2.0
    others: list[Any] = [
        Loss(difference, "hinge", weights=higher_label, risk=risk),
        GeneralLoss(_value, _gradient, dimension=3),
    ]
    for loss in others:
        judged = LearningProblem(x, loss, labels)
        assert build_judge("auto", judged) is judged
    for loss in (auc_loss(), "metric-hinge"):
        judged = LearningProblem(x, loss, labels)
        assert build_judge("plain", judged) is judged
        assert build_judge("vectors", judged) is not judged
    few = LearningProblem(x[:20], "metric-hinge", labels[:20])
    assert build_judge("auto", few) is few


def test_a_general_loss_is_called_once_for_each_node() -> None:
    calls = []

    def counted(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        calls.append(len(first))
        return _gradient(theta, first, second)

    judged = LearningProblem(models(30), GeneralLoss(_value, counted, dimension=3))
    calls.clear()
    thetas = models(30)
    found = judged.own_gradients(thetas)
    assert calls == [30] * 30
    for node in range(30):
        own_pairs = np.repeat(judged.data[node : node + 1], 30, axis=0), judged.data
        expected = _gradient(thetas[node], *own_pairs).mean(axis=0)
        np.testing.assert_allclose(found[node], expected, rtol=1e-12)


def test_fewer_models_are_judged_where_each_takes_all_pairs() -> None:
    def count(loss: Any, n: int) -> int:
        return default_judged(LearningProblem(models(n), loss, np.arange(n) % 2.0), 2_000)

    assert count("auc-logistic", 700) == count("ranking-hinge", 700) == 2_000
    for loss in (Loss(difference), "metric-hinge", GeneralLoss(_value, _gradient, dimension=3)):
        assert count(loss, 256) >= 256
        assert count(loss, 700) == 2**24 // 700**2 == 34
        assert count(loss, 5_000) == 10


def test_minimize_judges_that_many_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "_DEFAULT_MARGINS", 12 * 50**2)
    judged = own("curved", n=50)

    def fit(**options: Any) -> Fit:
        x, labels = judged.data[:, :-1], judged.data[:, -1]
        return minimize(x, labels, judged.loss, graphs.cycle(50), iterations=200, checkpoints=1,
                        seed=1, **options)  # fmt: skip

    unasked, all_nodes = fit(), fit(judged=50)
    objectives = judged.objectives(unasked.models[0])
    evenly = np.unique(np.linspace(0, 49, 12).astype(int))
    np.testing.assert_allclose(unasked.objective[0], objectives[evenly].mean(), rtol=1e-12)
    np.testing.assert_allclose(all_nodes.objective[0], objectives.mean(), rtol=1e-12)
