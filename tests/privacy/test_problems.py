"""Private problems beyond pairs of rows: expectations, whole sets, means, secure sources."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence

import pairgossip as pg
from pairgossip.privacy import (
    PrivateLearning,
    PrivateMeans,
    PrivatePairs,
    PrivateSets,
    RandomizedResponse,
    binning_bias,
    standard_error,
)
from pairgossip.privacy.moments import LARGEST_TABLE, is_followed, predicted_error
from tests.problems import skewed

N = 9
DATA = np.random.default_rng(8).random(N)
SITES = np.array([0, 0, 1, 2, 2, 2, 2, 1, 0])
BINS = RandomizedResponse(1.5, 3, (0, 1))
ROUNDED = RandomizedResponse(1.5, 3, (0, 1), rounding="stochastic")


def summed(table: Any) -> Any:
    """Sums over the rows of all pairs of sites, by a plain loop."""
    found = np.zeros((3, 3))
    for k in range(N):
        for other in range(N):
            found[SITES[k], SITES[other]] += table[k, other]
    return found * (3 / N) ** 2


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("mechanism", [BINS, ROUNDED], ids=["bins", "rounded"])
def test_the_matrix_is_the_mean_over_reports(mechanism: RandomizedResponse, target: str) -> None:
    problem = PrivatePairs(DATA, skewed, mechanism, target)
    drawn = np.array([problem.for_trial(SeedSequence(k)).matrix() for k in range(1500)])
    apart = np.abs(drawn.mean(axis=0) - problem.matrix())
    assert (apart <= 4.5 * drawn.std(axis=0) / np.sqrt(len(drawn)) + 1e-12).all()
    expected = pg.exact(DATA, skewed, target) + binning_bias(mechanism, DATA, skewed, target)
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
        labels = np.arange(N) % 2
    rows = PrivatePairs(DATA, kernel, mechanism, target, labels)
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
    assert not hasattr(sets, "values")  # before there are reports, sites add nothing


@pytest.mark.parametrize("mechanism", [BINS, ROUNDED], ids=["bins", "rounded"])
def test_means(mechanism: RandomizedResponse) -> None:
    problem = PrivateMeans(DATA, mechanism)
    trial = problem.for_trial(SeedSequence(1))
    assert trial.exact() == pytest.approx(trial.data.mean())
    drawn = [problem.for_trial(SeedSequence(k)).exact() for k in range(2000)]
    error = problem.predicted_error(problem.exact())
    expected = DATA.mean() + error.binning_bias
    assert problem.expected().data.mean() == pytest.approx(expected)
    assert abs(np.mean(drawn) - expected) < 4 * error.standard_error / np.sqrt(2000)
    assert np.std(drawn) == pytest.approx(error.standard_error, rel=0.08)
    with pytest.raises(pg.InputError, match="one value per node"):
        PrivateMeans(np.ones((3, 2)), mechanism)


def test_a_problem_without_seeds_asks_the_operating_system() -> None:
    data, seed = np.tile(DATA, 8), SeedSequence(0)
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
    problem = PrivatePairs(DATA, skewed, ROUNDED, target)
    error = problem.predicted_error(problem.exact())
    assert error.standard_error == pytest.approx(standard_error(ROUNDED, DATA, skewed, target))
    assert error.binning_bias == pytest.approx(binning_bias(ROUNDED, DATA, skewed, target))
    assert PrivateSets(problem, SITES).predicted_error(problem.exact()) == error


def test_too_many_rounded_rows_are_not_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_followed(ROUNDED, LARGEST_TABLE // 3) and not is_followed(ROUNDED, LARGEST_TABLE)
    assert is_followed(BINS, 10**12)
    monkeypatch.setattr("pairgossip.privacy.moments.LARGEST_TABLE", 5)
    assert np.isnan(predicted_error(ROUNDED.debiased("gini"), DATA, "u", 1.0)).all()
