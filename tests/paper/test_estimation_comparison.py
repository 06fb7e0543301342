from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairgossip import estimate
from pairgossip.datasets import breast_cancer_wisconsin
from pairgossip.kernels import auc, row_means, within_cluster_scatter
from pairgossip_paper.experiments.estimation_comparison import AUC, SCATTER, methods
from pairgossip_paper.experiments.estimation_comparison.methods import METHODS, MethodCurve
from pairgossip_paper.framework import Plan
from pairgossip_paper.paper_setup import GRAPHS, deal_rows, price
from tests.paper.running import PLAN, changes, results_of, small_results, texts

pytestmark = pytest.mark.usefixtures("undrawn")


scatter = small_results(SCATTER)
ranking = small_results(AUC)


def test_the_scatter_is_twice_the_variance_within_classes(scatter: dict[str, Any]) -> None:
    X, y = breast_cancer_wisconsin()
    by_class = [(np.mean(y == c), X[y == c].var(axis=0).sum()) for c in (0, 1)]
    expected = sum(2 * share**2 * variance for share, variance in by_class)
    assert scatter["targets"]["complete"]["value"] == pytest.approx(expected)
    assert scatter["complete-gosta-sync"].target == pytest.approx(expected)


def test_the_auc_is_that_of_scikit_learn(ranking: dict[str, Any]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    X, y = breast_cancer_wisconsin()
    target = ranking["targets"]["complete"]
    expected = metrics.roc_auc_score(y, X.sum(axis=1))
    assert target["value"] / target["compared"] == pytest.approx(expected)
    assert ranking["complete-u2"].target == pytest.approx(target["value"])


@pytest.mark.parametrize("statistic", ["scatter", "ranking"])
def test_row_means_are_as_far_as_the_package_says(
    statistic: str, request: pytest.FixtureRequest
) -> None:
    results = request.getfixturevalue(statistic)
    X, y = breast_cancer_wisconsin()
    rows = deal_rows(X, y, 676, PLAN.seed)
    if statistic == "scatter":
        means = row_means(rows.X, within_cluster_scatter(), labels=rows.y)
    else:
        means = row_means(rows.X.sum(axis=1), auc().numerator, labels=rows.y)
    target = results["targets"]["torus"]
    assert target["value"] == pytest.approx(means.mean())
    assert target["row_distance"] == pytest.approx(means.std() / means.mean())
    np.testing.assert_allclose(results["torus-u1"].target, means)


def test_swapped_methods_change_the_verdicts(scatter: dict[str, Any]) -> None:
    swapped = dict(scatter)
    for graph in GRAPHS:
        swapped[f"{graph}-u2"] = scatter[f"{graph}-gosta-sync"]
        for clock in ("sync", "async"):
            swapped[f"{graph}-gosta-{clock}"] = scatter[f"{graph}-u2"]
    changed = changes(SCATTER, scatter, swapped)
    assert changed["equal-messages-scatter"] == "does not hold"


def test_swapped_graphs_change_the_verdicts(scatter: dict[str, Any]) -> None:
    swapped = dict(scatter)
    for method in METHODS:
        swapped[f"complete-{method}"] = scatter[f"torus-{method}"]
        swapped[f"torus-{method}"] = scatter[f"complete-{method}"]
    assert changes(SCATTER, scatter, swapped)["connected-scatter"] == "does not hold"


def test_an_error_above_the_bound_changes_the_verdict(scatter: dict[str, Any]) -> None:
    targets = {
        graph: target | {"bound": [b / 1000 for b in target["bound"]]}
        for graph, target in scatter["targets"].items()
    }
    changed = changes(SCATTER, scatter, scatter | {"targets": targets})
    assert changed["bound-scatter"] == "does not hold"


@pytest.mark.parametrize("method", ["gosta-sync", "u2"])
def test_an_error_of_gosta_that_falls_slowly_changes_the_verdict(
    scatter: dict[str, Any], method: str
) -> None:
    """The paper's sentence is about GoSta-sync, whatever the other methods do."""
    changed = dict(scatter)
    for graph in GRAPHS:
        run = scatter[f"{graph}-{method}"]
        slower = run.trial_error * run.iterations
        changed[f"{graph}-{method}"] = replace(run, trial_error=slower)
    verdict = changes(SCATTER, scatter, changed).get("slope-scatter")
    assert verdict == ("does not hold" if method == "gosta-sync" else None)


def test_one_trial_writes_no_nan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "_LENGTHS", (2_000, 2_000))
    results = results_of(SCATTER, tmp_path, Plan(quick=True, trials=1, seed=0))
    assert "nan" not in texts(SCATTER.report(results))


def test_messages_until_a_level_are_interpolated() -> None:
    """A run whose relative error is t^(-1/2)."""
    run = estimate([1.0, 2.0, 4.0], "gini", iterations=10_000, checkpoints=41, record="summary")
    error = float(np.mean(run.target)) / np.sqrt(run.iterations, dtype=np.float64)
    curve = MethodCurve(replace(run, trial_error=error[None]), float(np.mean(run.target)), gap=0.01)
    assert curve.slope == pytest.approx(-0.5)
    assert price(curve.needed(0.1)) == pytest.approx(200, rel=0.01)
    assert price(curve.needed(0.001)) == "not reached"
    assert price(curve.needed(2.0)) == 2
