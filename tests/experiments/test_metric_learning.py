"""Metric learning by gossip: the claims of small runs, and the pieces against slow twins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairgossip.experiments import metric_learning
from pairgossip.experiments.framework.experiment import Experiment, Plan
from pairgossip.experiments.framework.running import run_experiment
from pairgossip.experiments.framework.section import Section
from pairgossip.experiments.framework.store import Store
from pairgossip.experiments.metric_learning import DIGITS, MIXTURE
from pairgossip.experiments.metric_learning.claims import _ahead
from pairgossip.experiments.metric_learning.findings import shares
from pairgossip.experiments.metric_learning.problems import (
    HELD_OUT,
    INFORMATIVE,
    accuracy,
    best_metric,
    diagonal_risks,
    images,
    mixture,
)
from pairgossip.losses import risks

PLAN = Plan(quick=True, trials=2, seed=0)
LOSS = "metric-diagonal-logistic"


def _ran(experiment: Experiment, folder: Path) -> tuple[dict[str, Any], Section]:
    store = Store(folder)
    store.open(PLAN, resume=False)
    run_experiment(experiment, PLAN, store, resume=False, n_jobs=1, progress=False)
    results = store.results_of(experiment, PLAN)
    assert results is not None
    return results, experiment.report(results)


@pytest.fixture(scope="module")
def of_mixture(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Section]:
    return _ran(MIXTURE, tmp_path_factory.mktemp("mixture"))


@pytest.fixture(scope="module")
def of_digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Section]:
    return _ran(DIGITS, tmp_path_factory.mktemp("digits"))


def test_verdicts_on_the_mixture(of_mixture: tuple[dict[str, Any], Section]) -> None:
    assert {claim.name: claim.verdict for claim in of_mixture[1].claims} == {
        "converges-mixture": "holds",
        "faster-mixture": "holds in part",
        "dispersion-mixture": "holds",
        "concentration": "holds",
        "accuracy-mixture": "holds",
    }


def test_verdicts_on_digits(of_digits: tuple[dict[str, Any], Section]) -> None:
    assert {claim.name: claim.verdict for claim in of_digits[1].claims} == {
        "converges-digits": "holds",
        "faster-digits": "holds in part",
        "dispersion-digits": "holds",
        "accuracy-digits": "holds in part",
    }


def test_sections_are_complete(
    of_mixture: tuple[dict[str, Any], Section], of_digits: tuple[dict[str, Any], Section]
) -> None:
    for _, section in (of_mixture, of_digits):
        assert len(section.pictures) == 3
        (table,) = section.tables
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_table_agrees_with_all_pairs(of_mixture: tuple[dict[str, Any], Section]) -> None:
    results, section = of_mixture
    fit = results["torus"]
    split = mixture(fit.nodes, PLAN.seed)
    nodes = np.linspace(0, fit.nodes - 1, metric_learning.JUDGED[1]).astype(int)
    slow = [risks(trial[nodes], split.X, LOSS, split.y).mean() for trial in fit.models]
    assert section.tables[0].rows[2][1] == pytest.approx(np.mean(slow), rel=1e-12)
    together = risks(fit.models.mean(axis=1), split.X, LOSS, split.y)
    assert section.tables[0].rows[2][2] == pytest.approx(together.mean(), rel=1e-12)
    kept = fit.models[..., :INFORMATIVE].sum(axis=2) / fit.models.sum(axis=2)
    assert shares(fit) == pytest.approx(kept.mean(axis=1))
    assert (fit.models >= 0).all()


def test_quick_risk_is_that_of_the_loss() -> None:
    split = mixture(70, 1)
    models = np.random.default_rng(0).exponential(0.1, (3, split.X.shape[1]))
    models[0] = 0.0
    fast = diagonal_risks(models, np.column_stack(split[:2]))
    assert fast == pytest.approx(risks(models, split.X, LOSS, split.y), rel=1e-12)


def test_diverged_models_have_no_risk() -> None:
    split = mixture(20, 1)
    assert np.isnan(diagonal_risks(np.full((1, 40), np.inf), np.column_stack(split[:2]))[0])


def test_best_metric_is_a_minimum() -> None:
    split = mixture(80, 2)
    model, objective = best_metric(split.X, split.y)
    assert objective == pytest.approx(risks(model[None], split.X, LOSS, split.y)[0])
    moved = np.maximum(model + np.random.default_rng(0).normal(0, 0.01, (50, len(model))), 0.0)
    assert (risks(moved, split.X, LOSS, split.y) > objective).all()


def test_accuracy_counts_votes_of_neighbors() -> None:
    split = images(100, 3)
    weights = np.random.default_rng(0).standard_exponential((1, split.X.shape[1]))[0]
    right = 0
    for x, label in zip(split.X_held_out, split.y_held_out, strict=True):
        nearest = np.argsort((weights * (split.X - x) ** 2).sum(axis=1))[:5]
        right += np.bincount(split.y[nearest].astype(int)).argmax() == label
    assert accuracy(weights, split) == pytest.approx(right / HELD_OUT)


def test_held_out_points_are_not_on_nodes() -> None:
    split = images(1200, 0)
    assert len(split.X) + len(split.X_held_out) == 1797
    assert split.X.std(axis=0).max() == pytest.approx(1.0)
    known = {row.tobytes() for row in split.X}
    assert not any(row.tobytes() in known for row in split.X_held_out)


def test_differences_are_in_standard_errors() -> None:
    assert _ahead(0.6, 0.5) == pytest.approx(0.1 / np.sqrt((0.24 + 0.25) / HELD_OUT))
