"""Private problems: what nodes add on average, and what errors are predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence

import pairgossip as pg
from pairgossip.algorithms.methods import find_method
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.estimation.building import build_engine, check_engine
from pairgossip.engine.estimation.engine import Procedure
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.kernels import Problem
from pairgossip.privacy import (
    PrivateLearning,
    PrivateMeans,
    PrivatePairs,
    PrivateSets,
    RandomizedResponse,
    ReportedPairs,
    binning_bias,
    standard_error,
)
from pairgossip.privacy.moments import predicted_error
from tests.problems import skewed

N = 12
DATA = np.random.default_rng(3).random(N)
LABELS = (np.arange(N) % 3 == 0).astype(float)
GRAPH = pg.graphs.watts_strogatz(N, 4, 0.3, seed=1)
MECHANISM = RandomizedResponse(1.0, 4, (0, 1))
LABELED = RandomizedResponse(1.0, 4, (0, 1), classes=(0, 1))


def problem(kernel: Any, target: str) -> PrivatePairs:
    if kernel == "auc":
        return PrivatePairs(DATA, kernel, LABELED, target, LABELS)
    return PrivatePairs(DATA, kernel, MECHANISM, target)


def naive_gosta(exchanges: PairArray, added: FloatArray) -> FloatArray:
    """Run GoSta-sync as a plain loop over nodes, from a matrix of what nodes add."""
    z, held = np.zeros(N), list(range(N))
    for t, (i, j) in enumerate(exchanges.tolist(), start=1):
        for k in range(N):
            z[k] += (added[k, held[k]] - z[k]) / t
        z[i] = z[j] = (z[i] + z[j]) / 2
        held[i], held[j] = held[j], held[i]
    return z


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("kernel", ["gini", skewed, "auc"])
@pytest.mark.parametrize("engine", ["auto", "tokens", "plain"])
def test_engines_run_reports_like_a_plain_loop(engine: str, kernel: Any, target: str) -> None:
    base: Problem = problem(kernel, target)
    trial = base.for_trial(SeedSequence(5))
    assert isinstance(trial, ReportedPairs)
    (exchanges,) = Schedule(GRAPH, "uniform-edges", root_seed(1)).draw(400)
    network = build_engine(engine, trial, Procedure(find_method("gosta"), "sync"))
    network.advance((exchanges,))
    reports = trial.reports
    for component in range(trial.components):
        added = np.empty((N, N))
        for k in range(N):
            for other in range(N):
                one, two = reports[k : k + 1], reports[other : other + 1]
                if k != other:
                    factor = N / (N - 1) if target == "u" else 1.0
                    added[k, other] = factor * trial.debiased.values(one, two)[0, component]
                else:
                    own = trial.debiased.own(one)[0, component]
                    added[k, other] = own if target == "v" else 0.0
        assert trial.matrix(component) == pytest.approx(added, abs=1e-12)
        estimates = network.estimates()[:, component]
        assert estimates == pytest.approx(naive_gosta(exchanges, added), abs=1e-10)


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("kernel", ["gini", skewed, "auc"])
def test_exact_values(kernel: Any, target: str) -> None:
    base = problem(kernel, target)
    raw = np.column_stack((DATA, LABELS)) if kernel == "auc" else DATA
    assert base.exact() == pytest.approx(pg.exact(raw, kernel, target))
    trial = base.for_trial(SeedSequence(2))
    averages = np.array([trial.matrix(c).mean() for c in range(trial.components)])
    assert trial.exact() == pytest.approx(float(trial.kernel.combine(averages)))
    if trial.components == 1:
        assert trial.row_means() == pytest.approx(trial.matrix().mean(axis=1))
        assert base.row_means() == pytest.approx(base.matrix().mean(axis=1))


def test_a_lone_node_answers_with_its_own_pair() -> None:
    lone = PrivatePairs([0.3], skewed, MECHANISM).for_trial(SeedSequence(1))
    engine = build_engine("auto", lone, Procedure(find_method("gosta"), "sync"))
    assert engine.estimates()[0, 0] == pytest.approx(lone.exact())


def test_trials_differ_and_repeat() -> None:
    base = problem("gini", "u")
    one, again, other = (base.for_trial(SeedSequence(seed)) for seed in (1, 1, 2))
    assert (one.reports == again.reports).all()
    assert (one.reports != other.reports).any()
    assert "epsilon=1" in repr(one)


def test_refusals() -> None:
    base = problem("gini", "v")
    base.check()
    with pytest.raises(NotImplementedError):  # before there are reports, nodes add nothing
        base.values(np.arange(2), np.arange(2))
    with pytest.raises(pg.InputError, match="There are 3 reports for 12 observations"):
        base.with_reports(np.zeros((3, 1), dtype=np.int64))
    with pytest.raises(pg.InputError, match=r"Privacy is a mechanism such as .* not float"):
        PrivatePairs(DATA, "gini", 1.0)  # type: ignore[arg-type]
    with pytest.raises(pg.InputError, match=r"outside \[0, 1\]"):
        PrivatePairs([0.1, 3.0], "gini", MECHANISM)
    with pytest.raises(pg.InputError, match="use engine='tokens'"):
        check_engine("fused", base, find_method("gosta"), "sync")


ROWS = 9
VALUES = np.random.default_rng(8).random(ROWS)
SITES = np.array([0, 0, 1, 2, 2, 2, 2, 1, 0])
BINS = RandomizedResponse(1.5, 3, (0, 1))
ROUNDED = RandomizedResponse(1.5, 3, (0, 1), rounding="stochastic")


def summed(table: Any) -> Any:
    """Return sums over the rows of all pairs of sites, by a plain loop."""
    found = np.zeros((3, 3))
    for k in range(ROWS):
        for other in range(ROWS):
            found[SITES[k], SITES[other]] += table[k, other]
    return found * (3 / ROWS) ** 2


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("mechanism", [BINS, ROUNDED], ids=["bins", "rounded"])
def test_the_matrix_is_the_mean_over_reports(mechanism: RandomizedResponse, target: str) -> None:
    problem = PrivatePairs(VALUES, skewed, mechanism, target)
    drawn = np.array([problem.for_trial(SeedSequence(k)).matrix() for k in range(1500)])
    apart = np.abs(drawn.mean(axis=0) - problem.matrix())
    assert (apart <= 4.5 * drawn.std(axis=0) / np.sqrt(len(drawn)) + 1e-12).all()
    expected = pg.exact(VALUES, skewed, target) + binning_bias(mechanism, VALUES, skewed, target)
    assert problem.matrix().mean() == pytest.approx(expected)
    sets = PrivateSets(problem, SITES)
    assert sets.matrix() == pytest.approx(summed(problem.matrix()))
    assert sets.matrix().mean() == pytest.approx(expected)


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("kernel", ["gini", skewed, "auc"])
def test_whole_sets_add_up_their_reports(kernel: Any, target: str) -> None:
    mechanism, labels = BINS, None
    if kernel == "auc":
        mechanism = RandomizedResponse(3.0, 2, (0, 1), classes=(0, 1))
        labels = np.arange(ROWS) % 2
    rows = PrivatePairs(VALUES, kernel, mechanism, target, labels)
    sets, seed = PrivateSets(rows, SITES), SeedSequence(4)
    trial, by_row = sets.for_trial(seed), rows.for_trial(seed)
    nodes, held = (index.ravel() for index in np.indices((3, 3)))
    values = trial.values(nodes, held)
    for component in range(trial.components):
        expected = summed(by_row.matrix(component))
        assert values[:, component].reshape(3, 3) == pytest.approx(expected, abs=1e-12)
        assert trial.matrix(component) == pytest.approx(expected, abs=1e-12)
    assert trial.exact() == by_row.exact()
    assert sets.exact() == rows.exact()
    assert sets.mechanism is mechanism
    with pytest.raises(NotImplementedError):  # before there are reports, sites add nothing
        sets.values(np.arange(2), np.arange(2))


@pytest.mark.parametrize("mechanism", [BINS, ROUNDED], ids=["bins", "rounded"])
def test_means(mechanism: RandomizedResponse) -> None:
    problem = PrivateMeans(VALUES, mechanism)
    trial = problem.for_trial(SeedSequence(1))
    assert trial.exact() == pytest.approx(trial.data.mean())
    drawn = [problem.for_trial(SeedSequence(k)).exact() for k in range(2000)]
    error = problem.predicted_error(problem.exact())
    expected = VALUES.mean() + error.binning_bias
    assert problem.expected().data.mean() == pytest.approx(expected)
    assert abs(np.mean(drawn) - expected) < 4 * error.standard_error / np.sqrt(2000)
    assert np.std(drawn) == pytest.approx(error.standard_error, rel=0.08)
    with pytest.raises(pg.InputError, match="one value per node"):
        PrivateMeans(np.ones((3, 2)), mechanism)


def test_a_problem_without_seeds_asks_the_operating_system() -> None:
    data, seed = np.tile(VALUES, 8), SeedSequence(0)
    labels = np.arange(len(data)) % 2
    labeled = RandomizedResponse(1.0, 3, (0, 1), classes=(0, 1))
    for seeded in (True, False):
        for problem in (
            PrivatePairs(data, "gini", BINS, seeded=seeded),
            PrivateLearning(data, "auc-logistic", labeled, labels, seeded=seeded),
        ):
            one, again = (problem.for_trial(seed).reports for _ in range(2))
            assert (one == again).all() == seeded
        means = PrivateMeans(data, BINS, seeded=seeded)
        assert (means.for_trial(seed).data == means.for_trial(seed).data).all() == seeded


@pytest.mark.parametrize("target", ["u", "v"])
def test_predictions_are_those_of_the_formulas(target: str) -> None:
    problem = PrivatePairs(VALUES, skewed, ROUNDED, target)
    error = problem.predicted_error(problem.exact())
    assert error.standard_error == pytest.approx(standard_error(ROUNDED, VALUES, skewed, target))
    assert error.binning_bias == pytest.approx(binning_bias(ROUNDED, VALUES, skewed, target))
    assert PrivateSets(problem, SITES).predicted_error(problem.exact()) == error


def test_too_many_rounded_rows_are_not_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairgossip.privacy.moments.LARGEST_TABLE", 5)
    assert np.isnan(predicted_error(ROUNDED.debiased("gini"), VALUES, "u", 1.0)).all()
    assert np.isfinite(predicted_error(BINS.debiased("gini"), VALUES, "u", 1.0)).all()
