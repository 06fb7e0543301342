"""`minimize` with method "sketch": the optimum over all pairs, from averages alone."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.engine.solver_trials.trial import SolverTrial
from pairgossip.errors import NotEnough, RowsDropped, SlowSchedule
from pairgossip.losses import risk
from pairgossip.losses.learning import LearningProblem, risks
from pairgossip.run_requests import sketched
from pairgossip.solvers.scores import Agreement, ScoreRows, ScoreSketch
from pairgossip.solvers.solver import Round

_RNG = np.random.default_rng(0)
_Y = _RNG.integers(2, size=60)
_X = _RNG.normal(size=(60, 3)) * [1.0, 5.0, 0.2] + 0.6 * _Y[:, None] * [1.0, 5.0, 0.2]
_GRAPH = pg.graphs.watts_strogatz(60, 4, 0.3, seed=0)


def fit(loss: str = "auc-logistic", **options: Any) -> pg.Fit:
    arguments: dict[str, Any] = {"graph": _GRAPH, "method": "sketch", "seed": 0, **options}
    data, labels = arguments.pop("data", _X), arguments.pop("labels", _Y)
    return pg.minimize(data, labels, loss, progress=False, **arguments)


@cache
def default_fit() -> pg.Fit:
    """Return the fit with which fits by other schedules are compared."""
    return fit()


def optimum(loss: str, penalty: float = 0.0) -> float:
    """Return the least objective over all pairs, by scipy and brute force."""

    problem = LearningProblem(_X, loss, _Y)  # checked once

    def objective(w: FloatArray) -> float:
        theta = w / [1.0, 5.0, 0.2]
        return float(problem.objectives(theta[None])[0]) + penalty * float(theta @ theta)

    found = scipy_minimize(objective, np.zeros(3), method="Nelder-Mead", options={
        "xatol": 1e-7, "fatol": 1e-12, "maxiter": 4000, "maxfev": 4000,
    })  # fmt: skip
    return float(found.fun)


@pytest.mark.parametrize(
    ("loss", "off"),
    [
        ("auc-logistic", 1e-7),
        ("auc-squared", 1e-9),
        ("auc-squared-hinge", 1e-5),
        ("auc-smoothed-hinge", 1e-5),
        ("auc-hinge", 1e-3),
    ],
)
def test_every_loss_reaches_its_optimum(loss: str, off: float) -> None:
    found = fit(loss)
    assert found.objective[-1] <= optimum(loss) * (1 + off) + 1e-9
    assert found.disagreement[-1] == 0.0
    assert found.gradient_error is not None
    assert np.nanmax(found.gradient_error) <= 1e-2


@pytest.mark.parametrize("loss", ["auc-squared", "auc-logistic"])
@pytest.mark.parametrize("constraint", [pg.Ball(0.1), pg.Box(-0.05, 0.1)], ids=repr)
def test_a_constraint_is_kept_at_the_best_model(loss: str, constraint: Any) -> None:
    found = fit(loss, constraint=constraint)
    steps = found.model + 1e-3 * np.random.default_rng(1).normal(size=(200, 3))
    around = risks(constraint.project(steps), _X, loss, _Y)
    assert risk(found.model, _X, loss, _Y) <= min(around) + 1e-8


def test_grades_are_ranked() -> None:
    grades = _Y + (np.arange(60) % 3 == 0)
    found = fit("ranking-logistic", labels=grades)

    problem = LearningProblem(_X, "ranking-logistic", grades)

    def objective(w: FloatArray) -> float:
        return float(problem.objectives((w / [1.0, 5.0, 0.2])[None])[0])

    best = scipy_minimize(objective, np.zeros(3), options={"gtol": 1e-9}).fun
    assert found.objective[-1] == pytest.approx(best, rel=1e-6)


def test_a_tree_sends_a_fixed_number_of_messages_a_round() -> None:
    found = default_fit()
    per_pass = 2 * (60 - 1)
    expected = per_pass * 2 * np.arange(1, len(found.iterations) + 1)
    assert found.messages.tolist() == expected.tolist()
    assert found.iterations.tolist() == list(range(1, len(found.iterations) + 1))
    # The first round is of the ranges and of the moments of two grades.
    numbers = 2 * 3 + 2 * (1 + 3 + 6)
    assert found.bytes[0] == 8 * per_pass * numbers


@pytest.mark.parametrize("schedule", ["random", "ordered"])
def test_along_edges_nodes_agree_on_the_same_model(schedule: str) -> None:
    found, exact = fit(schedule=schedule), default_fit()
    size = np.linalg.norm(exact.model)
    assert 0 < found.disagreement[-1] < 1e-5 * size
    assert np.linalg.norm(found.model - exact.model) < 1e-4 * size
    assert found.objective[-1] == pytest.approx(exact.objective[-1], rel=1e-8)
    assert found.messages[-1] > exact.messages[-1]
    assert found.iterations[-1] <= exact.iterations[-1] + 1  # it does not fit noise


@pytest.mark.parametrize(
    ("loss", "schedule", "off"),
    [
        ("auc-logistic", "tree", 1e-6),
        ("auc-logistic", "random", 1e-6),
        ("auc-hinge", "tree", 1e-3),
    ],
)
def test_features_may_be_many(loss: str, schedule: str, off: float) -> None:
    # With this many features, the range of scores is requested, and the curvature averaged once.
    rng, labels = np.random.default_rng(6), np.arange(80) % 2
    wide = rng.normal(size=(80, 66)) + 0.3 * labels[:, None]

    def objectives(models: FloatArray) -> FloatArray:
        return risks(models, wide, loss, labels) + 0.01 * np.sum(models**2, axis=1)

    with warnings.catch_warnings():
        warnings.simplefilter("error", NotEnough)
        found = fit(
            loss, data=wide, labels=labels, graph="complete", penalty=pg.SquaredL2(0.01),
            schedule=schedule, checkpoints=1,
        )  # fmt: skip
    best = objectives(found.model[None])[0]
    assert found.objective[-1] == pytest.approx(best, rel=1e-6)
    steps = found.model + 1e-2 * rng.normal(size=(200, 66)) / 66**0.5
    assert best <= min(objectives(steps)) * (1 + off)


def test_rows_of_a_rare_class_all_tell_the_curvature(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    labels = (np.arange(1000) % 200 == 7).astype(int)
    data = rng.normal(size=(1000, 3)) + labels[:, None]
    options: dict[str, Any] = {
        "data": data,
        "labels": labels,
        "graph": "complete",
        "checkpoints": 1,
    }
    whole = fit(**options)
    monkeypatch.setattr("pairgossip.solvers.scores._CURVATURE_ROWS", 100)
    some = fit(**options)
    assert some.iterations[-1] <= whole.iterations[-1] + 1
    np.testing.assert_allclose(some.model, whole.model, rtol=1e-2)
    assert some.objective[-1] == pytest.approx(whole.objective[-1], rel=1e-6)


@pytest.mark.parametrize("schedule", ["random", "ordered"])
def test_the_plain_engine_is_a_twin(schedule: str) -> None:
    short: dict[str, Any] = {"schedule": schedule, "iterations": 3, "accuracy": 1e-3}
    with pytest.warns(NotEnough):
        fast, plain = fit(**short), fit(**short, engine="plain")
    np.testing.assert_allclose(fast.models, plain.models, rtol=1e-9)
    assert fast.bytes.tolist() == plain.bytes.tolist()


def test_sites_know_what_their_rows_would() -> None:
    alone, sites = default_fit(), fit(groups=np.arange(60) % 4, graph="cycle")
    np.testing.assert_allclose(sites.model, alone.model, rtol=1e-9)
    assert sites.models.shape == (1, 4, 3)
    assert sites.messages[0] == 2 * 2 * (4 - 1)


def test_a_row_of_weight_two_is_two_rows() -> None:
    weights = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(60), weights.astype(int))
    options: dict[str, Any] = {"tolerance": 1e-12, "graph": "complete"}
    weighted = fit(weights=weights, **options)
    repeated = fit(data=_X[twice], labels=_Y[twice], **options)
    np.testing.assert_allclose(weighted.model, repeated.model, rtol=1e-7)
    assert weighted.objective[-1] == pytest.approx(repeated.objective[-1], rel=1e-8)
    assert np.linalg.norm(weighted.model - default_fit().model) > 1e-2 * np.linalg.norm(
        weighted.model
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e150])
def test_numbers_may_be_tiny_or_huge(scale: float) -> None:
    np.testing.assert_allclose(fit(data=_X * scale).model * scale, default_fit().model, rtol=1e-7)
    held = fit(data=_X * scale, penalty=pg.SquaredL2(0.1))
    assert np.isfinite(held.model).all() and np.isfinite(held.objective[-1])


@pytest.mark.parametrize("loss", ["auc-logistic", "auc-hinge", "auc-squared"])
def test_rows_without_a_difference_have_the_zero_model(loss: str) -> None:
    assert fit(loss, data=np.ones((60, 2))).model.tolist() == [0.0, 0.0]
    assert np.abs(fit(loss, penalty=pg.L1(10.0)).model).max() < 1e-12


def test_features_that_nearly_are_the_same_have_exact_gradients() -> None:
    # Their coefficients are large and cancel, so the expected range of scores is far too wide.
    twin = _X[:, 0] + 1e-3 * np.random.default_rng(5).normal(size=60)
    found = fit(data=np.column_stack([_X, twin]))
    assert np.nanmax(np.asarray(found.gradient_error)) <= 1e-6
    # The same model for other features, which differ more.
    plain = fit(data=np.column_stack([_X, 1e3 * (twin - _X[:, 0])]))
    assert found.objective[-1] == pytest.approx(plain.objective[-1], rel=1e-6)


@pytest.mark.parametrize(("loss", "seed"), [("auc-hinge", 13), ("auc-smoothed-hinge", 28)])
def test_a_finer_sketch_holds_all_scores(
    loss: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside: list[bool] = []

    class Checked(ScoreSketch):
        def __init__(self, rows: ScoreRows, scores: FloatArray, agreed: Agreement) -> None:
            super().__init__(rows, scores, agreed)
            slack = 1e-6 * float(np.ptp(scores))
            outside.append(scores.min() < agreed.low - slack or scores.max() > agreed.high + slack)

    monkeypatch.setattr("pairgossip.solvers.solver.ScoreSketch", Checked)
    rng, labels = np.random.default_rng(seed), np.arange(40) % 2
    for name in ("auc-hinge", "auc-smoothed-hinge"):
        data = (rng.standard_t(1.5, size=40) + 0.8 * labels)[:, None]
        if name == loss:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotEnough)
                fit(loss, data=data, labels=labels, graph="complete", iterations=12)
    assert outside and not any(outside)


def test_after_the_end_models_are_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[Round] = []
    write = SolverTrial._write

    def count(trial: SolverTrial, now: Round) -> None:
        judged.append(now)
        write(trial, now)

    monkeypatch.setattr(SolverTrial, "_write", count)
    found = fit(checkpoints=[2, 100, 200], iterations=200)
    assert len(judged) == 2
    assert found.iterations[0] == 2 and len(found.iterations) == 2
    assert found.objective[1] <= found.objective[0]


def test_what_nodes_know_needs_no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """With judged=0 the curve is that of the judges, except for the first round."""
    expected = default_fit()
    monkeypatch.setattr(SolverTrial, "_judge", None)  # nobody is judged
    found = fit(judged=0)
    assert np.isnan(found.objective[0]) and len(found.iterations) > 3
    np.testing.assert_allclose(found.objective[1:], expected.objective[1:], rtol=1e-9)
    np.testing.assert_array_equal(found.models, expected.models)
    monkeypatch.undo()
    with pytest.warns(NotEnough, match="ended before"):
        assert fit(judged=0, iterations=1).objective[0] == expected.objective[0]
    with pytest.raises(pg.InputError, match="judged nodes must be a whole number >= 1"):
        fit(judged=0, method="dual-averaging", iterations=10)


def test_classes_that_a_score_separates_have_no_best_model() -> None:
    line = np.arange(8.0)[:, None]
    labels = (np.arange(8) > 3).astype(int)
    with pytest.warns(NotEnough, match="separates"):
        found = fit(data=line, labels=labels, graph="complete")
    assert found.objective[-1] < 1e-5
    fit(data=line, labels=labels, graph="complete", penalty=pg.SquaredL2(1e-4))  # says nothing


def test_rounds_that_run_out_are_told() -> None:
    with pytest.warns(NotEnough, match="iterations=8 or more"):
        assert fit(iterations=2).iterations.tolist() == [1, 2]


def test_warnings_are_of_the_line_that_calls() -> None:
    gaps = np.where(np.arange(16) == 7, np.nan, _X[:16, 0])
    with pytest.warns() as told:
        pg.minimize(
            gaps, _Y[:16], graph="star", method="sketch", schedule="ordered", missing="drop",
            iterations=1, progress=False,
        )  # fmt: skip
    kinds = [notice.category for notice in told]
    assert kinds == [RowsDropped, SlowSchedule, NotEnough]
    assert {notice.filename for notice in told} == {__file__}


def test_averages_too_coarse_to_tell_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketched, "_WARN_GAIN", 0.0)  # whatever is left to gain
    with pytest.warns(NotEnough, match="use accuracy=1e-05"):
        fit(schedule="random", accuracy=1e-3)
    fit()  # exact averages say nothing


@pytest.mark.parametrize("loss", ["auc-hinge", "auc-smoothed-hinge", "auc-squared-hinge"])
def test_a_row_far_from_all_others_is_told(loss: str) -> None:
    far = _X.copy()
    far[0, 0] = 1e6
    with pytest.warns(NotEnough, match="so far from the others"):
        found = fit(loss, data=far)
    # The model is also not that of the single row.
    assert found.objective[-1] < 0.9 * risk(np.zeros(3), far, loss, _Y)


def test_a_fit_by_sketches_is_no_start() -> None:
    with pytest.raises(pg.InputError, match="dual averaging cannot go on: leave start= out"):
        fit(method="dual-averaging", start=default_fit())


def test_a_fit_is_saved_and_loaded(tmp_path: Path) -> None:
    found = fit(schedule="ordered")
    found.save(tmp_path / "fit.npz")
    loaded = pg.load(tmp_path / "fit.npz")
    assert (loaded.method, loaded.schedule) == ("sketch", "ordered")
    np.testing.assert_array_equal(loaded.models, found.models)
    np.testing.assert_array_equal(loaded.gradient_error, np.asarray(found.gradient_error))
    assert repr(loaded) == repr(found)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"step": pg.steps.constant(1.0)}, "chooses its steps itself: leave step= out"),
        ({"iterations": 10**12}, "The number of rounds must be at most 1,000,000"),
        ({"weights": -np.ones(60)}, "must be positive"),
        ({"labels": np.arange(60), "loss": "ranking-logistic"}, "60 different values"),
        ({"loss": "metric-hinge"}, "not a function of differences of scores"),
        ({"constraint": pg.PSD()}, "are vectors, which pg.PSD does not fit"),
    ],
)
def test_what_means_nothing_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        fit(**options)


def test_features_are_near_without_quartiles_only_where_quartiles_say_so() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.standard_t(1, 400) ** power for power in (1, 1, 3, 3, 5)]
    columns += [rng.normal(size=400) for _ in range(5)]
    rows = np.column_stack(columns)
    low, middle, high = np.quantile(rows, (0.25, 0.5, 0.75), axis=0)
    ends = rows.min(axis=0), rows.max(axis=0)
    is_far = np.maximum(ends[1] - middle, middle - ends[0]) > 200.0 * (high - low)
    near = sketched._are_near(rows, *ends)
    assert is_far.any()
    assert near[-5:].all()
    assert not (near & is_far).any()
