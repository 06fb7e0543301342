"""Private problems in the engines: what nodes add, and where gossip on reports ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence

import pairgossip as pg
from pairgossip.algorithms import find_method
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.estimation.trial import build_engine, check_engine
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.kernels.pairs import PairProblem
from pairgossip.privacy import PrivatePairs, RandomizedResponse, ReportedPairs
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
    """GoSta-sync as a plain loop over nodes, from a matrix of what nodes add."""
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
    base: PairProblem = problem(kernel, target)
    trial = base.for_trial(SeedSequence(5))
    assert isinstance(trial, ReportedPairs)
    (exchanges,) = Schedule(GRAPH, "uniform-edges", root_seed(1)).draw(400)
    network = build_engine(engine, trial, find_method("gosta"), "sync", "update-first")
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


def test_gossip_on_reports_finds_their_debiased_statistic() -> None:
    trial = problem("gini", "v").for_trial(SeedSequence(9))
    network = build_engine("tokens", trial, find_method("gosta"), "sync", "update-first")
    network.advance(Schedule(GRAPH, "uniform-edges", root_seed(0)).draw(200_000))
    estimates = network.estimates()[:, 0]
    error = np.abs(estimates - trial.exact()).max()
    assert error < 0.02 * np.abs(trial.matrix()).max()
    # Without the rule for own pairs, it would go elsewhere.
    cells = trial.mechanism.flat(trial.reports)
    naive = trial.debiased.tables[0][np.ix_(cells, cells)].mean()
    assert abs(naive - trial.exact()) > 3 * error


def test_a_lone_node_answers_with_its_own_pair() -> None:
    lone = PrivatePairs([0.3], skewed, MECHANISM).for_trial(SeedSequence(1))
    engine = build_engine("auto", lone, find_method("gosta"), "sync", "update-first")
    assert engine.estimates()[0, 0] == pytest.approx(lone.exact())


def test_trials_differ_and_repeat() -> None:
    base = problem("gini", "u")
    one, again, other = (base.for_trial(SeedSequence(seed)) for seed in (1, 1, 2))
    assert (one.reports == again.reports).all()
    assert (one.reports != other.reports).any()
    assert "epsilon=1" in repr(one)


def test_estimates_over_trials_are_unbiased_for_the_cells() -> None:
    base = problem(skewed, "v")
    found = np.array([base.for_trial(SeedSequence(seed)).exact() for seed in range(2000)])
    expected = base.exact() + pg.privacy.binning_bias(MECHANISM, DATA, skewed, "v")
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(len(found))
    predicted = pg.privacy.standard_error(MECHANISM, DATA, skewed, "v")
    assert found.std() == pytest.approx(predicted, rel=0.1)


def test_refusals() -> None:
    base = problem("gini", "v")
    base.check()
    assert not hasattr(base, "values")  # before there are reports, nodes add nothing
    with pytest.raises(pg.InputError, match="There are 3 reports for 12 observations"):
        base.with_reports(np.zeros((3, 1), dtype=np.int64))
    with pytest.raises(pg.InputError, match=r"Privacy is a mechanism such as .* not float"):
        PrivatePairs(DATA, "gini", 1.0)  # type: ignore[arg-type]
    with pytest.raises(pg.InputError, match=r"outside \[0, 1\]"):
        PrivatePairs([0.1, 3.0], "gini", MECHANISM)
    with pytest.raises(pg.InputError, match="use engine='tokens'"):
        check_engine("fused", base, find_method("gosta"), "sync")
