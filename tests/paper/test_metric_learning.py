"""Metric learning by gossip: claims on small runs, and parts against slow twins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pairgossip.engine.descent.engines import Snapshot
from pairgossip.losses import risks
from pairgossip.results import Fit
from pairgossip_paper.experiments.metric_learning import (
    DIGITS,
    MIXTURE,
    _digits_claim,
    _paired_difference,
)
from pairgossip_paper.experiments.metric_learning.metrics import (
    HELD_OUT,
    MetricMeasures,
    _accuracy,
    _best_metric,
    diagonal_risks,
    images,
    mixture,
)
from pairgossip_paper.paper_setup import GRAPHS
from tests.paper.running import changes, small_results, texts

pytestmark = pytest.mark.usefixtures("undrawn")

LOSS = "metric-diagonal-logistic"


results = small_results(MIXTURE)
of_digits = small_results(DIGITS)


def test_quick_risk_is_that_of_the_loss() -> None:
    split = mixture(70, 1)
    models = np.random.default_rng(0).exponential(0.1, (3, split.X.shape[1]))
    models[0] = 0.0
    data = np.column_stack(split[:2])
    slow = risks(models, split.X, LOSS, split.y)
    assert diagonal_risks(models, data) == pytest.approx(slow, rel=1e-12)
    assert np.isnan(diagonal_risks(np.full_like(models, np.inf), data)).all()  # diverged


def test_best_metric_is_a_minimum() -> None:
    split = mixture(80, 2)
    model, objective = _best_metric(split.X, split.y)
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
    assert _accuracy(weights, split) == pytest.approx(right / HELD_OUT)


def test_held_out_points_are_not_on_nodes() -> None:
    split = images(1200, 0)
    assert len(split.X) + len(split.X_held_out) == 1797
    assert split.X.std(axis=0).max() == pytest.approx(1.0)
    known = {row.tobytes() for row in split.X}
    assert not any(row.tobytes() in known for row in split.X_held_out)


def test_differences_are_paired_as_in_the_test_of_mcnemar() -> None:
    hits, rival = np.array([1, 1, 1, 0, 1, 0]), np.array([1, 0, 0, 1, 1, 0], dtype=bool)
    ahead, behind, points = 2, 1, 6
    variance = (ahead + behind - (ahead - behind) ** 2 / points) / (points - 1)
    assert _paired_difference(hits, rival) == pytest.approx((1 / 6) / np.sqrt(variance / points))
    assert _paired_difference(rival.astype(float), rival) == 0.0


@pytest.mark.parametrize(
    ("scaled", "unscaled", "verdict"),
    [
        (0.8, 0.8, "holds"),
        (0.8, 0.9, "holds in part"),
        (0.9, 0.9, "does not hold"),
        (0.8, 0.99, "does not hold"),
    ],
)
def test_digits_are_judged_by_clear_differences(
    scaled: float, unscaled: float, verdict: str
) -> None:
    points = np.arange(HELD_OUT)

    def right(share: float) -> Any:
        return points < share * HELD_OUT

    central = {"euclidean": scaled, "unscaled": unscaled, "accuracy": 0.9}
    rivals = {"scaled data": right(scaled), "data as they are": right(unscaled)}
    measured = MetricMeasures(
        {},
        central,
        dict.fromkeys(GRAPHS, np.full(2, 0.9)),
        dict.fromkeys(GRAPHS, right(0.9).astype(float)),
        rivals,
        {},
    )
    assert _digits_claim(measured).verdict == verdict


def test_swapped_graphs_change_the_verdicts(results: dict[str, Any]) -> None:
    swapped = results | {"complete": results["torus"], "torus": results["complete"]}
    changed = changes(MIXTURE, results, swapped)
    assert changed["dispersion-mixture"] == "does not hold"
    assert changed["faster-mixture"] == "does not hold"


def test_other_dimensions_change_the_verdict(results: dict[str, Any]) -> None:
    turned = {}
    for name in GRAPHS:
        state = results[name].state
        mean = state.mean[..., ::-1]
        turned[name] = replace(results[name], state=state._replace(mean=mean))
    changed = changes(MIXTURE, results, results | turned)
    assert changed["concentration"] == "does not hold"
    assert changed["accuracy-mixture"] == "does not hold"


def test_one_trial_writes_no_nan(of_digits: dict[str, Any]) -> None:
    single = {name: _first_trial(of_digits[name]) for name in GRAPHS}
    said = texts(DIGITS.report(of_digits | single))
    assert "1 trial of" in said
    assert "nan" not in said


def _first_trial(fit: Fit) -> Fit:
    curves = ("trial_objective", "trial_spread", "trial_disagreement", "times", "trial_numbers")
    first = {name: getattr(fit, name)[:1] for name in curves}
    return replace(fit, **first, state=Snapshot._make(part[:1] for part in fit.state))
