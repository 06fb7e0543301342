"""`pg.minimize(..., privacy=...)`: debiased gradients, judged on the raw data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.losses.learning import LearningProblem
from pairgossip.privacy import RandomizedResponse

N = 30
RNG = np.random.default_rng(2)
LABELS = np.arange(N) % 2
SCORES = np.clip(0.5 + 0.15 * (2 * LABELS - 1) + 0.2 * RNG.normal(size=N), 0, 1)[:, None]
MECHANISM = RandomizedResponse(5.0, 4, (0, 1), classes=(0, 1))
BALL = pg.Ball(3.0)


def learned(**options: Any) -> pg.Fit:
    settings: dict[str, Any] = {
        "privacy": MECHANISM, "iterations": 60, "trials": 2, "seed": 1, "constraint": BALL,
    }  # fmt: skip
    return pg.minimize(SCORES, LABELS, "auc-logistic", **{**settings, **options})


@pytest.mark.parametrize(
    "how",
    [
        {"clock": "sync", "iterations": 1000, "step": pg.steps.inverse_sqrt(60)},
        {"clock": "async", "iterations": 6000, "trials": 1},  # the step that theory allows is small
    ],
    ids=["sync", "async"],
)
def test_models_come_near_the_optimum_without_privacy(how: dict[str, Any]) -> None:
    fit = learned(**how, checkpoints=[how["iterations"]], bias=False, judged=5)
    problem = LearningProblem(SCORES, "auc-logistic", LABELS)
    grid = np.linspace(-3, 3, 121)[:, None]
    best, start = problem.objectives(grid).min(), problem.objectives(np.zeros((1, 1)))[0]
    reached = problem.objectives(fit.model[None, :])[0]
    assert reached - best < 0.15 * (start - best)
    assert (fit.models.mean(axis=1) > 0).all()


def test_two_features_and_few_bins() -> None:
    features = np.column_stack((SCORES[:, 0], RNG.random(N)))
    mechanism = RandomizedResponse(6.0, (3, 2), ((0, 1), (0, 1)), classes=(0, 1))
    fit = pg.minimize(
        features, LABELS, "auc-hinge", privacy=mechanism, iterations=1500, checkpoints=[1500],
        trials=3, seed=0, constraint=BALL, bias=False, judged=5,
    )  # fmt: skip
    assert fit.model[0] > abs(fit.model[1])


def test_objectives_are_those_of_the_raw_data() -> None:
    fit = learned(checkpoints=[60])
    problem = LearningProblem(SCORES, "auc-logistic", LABELS)
    for trial in range(2):
        objectives = problem.objectives(fit.models[trial])
        assert fit.trial_objective[trial, -1] == pytest.approx(objectives.mean())


def test_seeds_repeat_and_trials_have_reports_of_their_own() -> None:
    one, again, other = learned(), learned(), learned(seed=2)
    assert (one.models == again.models).all()
    assert one.reports is not None and other.reports is not None
    assert one.reports.shape == (2, N, 2)
    assert (one.reports[0] != one.reports[1]).any()
    assert (one.reports != other.reports).any()
    secure = learned(seed=None)
    redrawn = learned(seed=secure.seed)
    assert secure.reports is not None and redrawn.reports is not None
    assert (secure.reports != redrawn.reports).any()
    assert "epsilon 5" in repr(one) and one.privacy == MECHANISM


@pytest.mark.parametrize("seed", [1, None])
def test_a_fit_goes_on_with_its_reports(tmp_path: Path, seed: int | None) -> None:
    first = learned(seed=seed, iterations=30)
    first.save(tmp_path / "fit.npz")
    longer = learned(start=tmp_path / "fit.npz")
    assert first.reports is not None and longer.reports is not None
    assert (longer.reports == first.reports).all()
    if seed is not None:
        assert longer.models == pytest.approx(learned().models, rel=1e-12)
    with pytest.raises(pg.InputError, match="has other privacy than this run"):
        learned(start=first, privacy=RandomizedResponse(4.0, 4, (0, 1), classes=(0, 1)))
    with pytest.raises(pg.InputError, match="has other privacy than this run"):
        learned(start=first, privacy=None)


def test_the_bias_of_gradients_is_that_of_the_walk() -> None:
    fit = learned(iterations=400, checkpoints=[400], trials=1, seed=0)
    assert fit.bias is not None and fit.reports is not None
    problem = pg.privacy.PrivateLearning(SCORES, "auc-logistic", MECHANISM, LABELS)
    reported = problem.with_reports(fit.reports[0])
    before = learned(iterations=399, checkpoints=[399], trials=1, seed=0, bias=False).state
    taken = reported.gradient(before.theta[0], np.arange(N), fit.state.held[0])
    table = [
        [reported.gradient(before.theta[0, k], np.array([k]), np.array([other]))[0]
         for other in range(N)]
        for k in range(N)
    ]  # fmt: skip
    meant = np.array(table).mean(axis=1)
    assert fit.bias.gradient[0, 0] == pytest.approx((taken - meant).mean(axis=0), abs=1e-12)


@pytest.mark.parametrize("construction", ["lexicographic", "blow-up", "whole-sets"])
def test_groups(construction: str) -> None:
    groups = np.arange(N) % 5
    fit = learned(groups=groups, construction=construction, iterations=300, checkpoints=[300])
    assert fit.reports is not None and fit.reports.shape == (2, N, 2)
    alone = learned(iterations=5)
    assert alone.reports is not None and (fit.reports == alone.reports).all()
    again = learned(groups=groups, construction=construction, start=fit, iterations=310)
    assert again.reports is not None and (again.reports == fit.reports).all()
    with pytest.raises(pg.InputError, match="had other groups"):
        learned(groups=np.arange(N) // 6, construction=construction, start=fit, iterations=310)


def test_a_general_loss_has_a_step() -> None:
    def value(theta: Any, x: Any, y: Any) -> Any:
        return (x[:, 1] > y[:, 1]) * (1 - (x[:, 0] - y[:, 0]) * theta[..., 0]) ** 2

    def gradient(theta: Any, x: Any, y: Any) -> Any:
        apart = x[:, 0] - y[:, 0]
        return ((x[:, 1] > y[:, 1]) * -2 * apart * (1 - apart * theta[..., 0]))[:, None]

    loss = pg.losses.GeneralLoss(value, gradient, name="squares", dimension=1)
    fit = pg.minimize(SCORES, LABELS, loss, privacy=MECHANISM, iterations=20, seed=0,
                      constraint=BALL)  # fmt: skip
    assert np.isfinite(fit.model).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"privacy": "strong"}, "Privacy is a mechanism such as .* not str"),
        ({"privacy": RandomizedResponse(1.0, 200, (0, 1), classes=(0, 1))},
         "no affordable debiased gradient here: reports have 400 cells"),
        ({"privacy": RandomizedResponse(1.0, 4, (0, 1))}, "declares no classes"),
        ({"privacy": RandomizedResponse(1.0, 4, (0.4, 1), classes=(0, 1))}, "as nothing is clipp"),
        ({"engine": "vectors"}, "use engine='plain'"),
    ],
)  # fmt: skip
def test_refusals(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        learned(**options)
