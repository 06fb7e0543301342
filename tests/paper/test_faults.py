from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from pairgossip.estimation import estimate
from pairgossip_paper.experiments.faults import FAULTS, runs
from pairgossip_paper.experiments.faults.curves import Curve, fit_rate
from pairgossip_paper.framework import Plan
from tests.paper.running import changes, small_results, verdicts

pytestmark = pytest.mark.usefixtures("undrawn")


# Compiling takes longer than short runs do.
results = small_results(
    FAULTS,
    runs,
    estimate=partial(estimate, engine="plain"),
    _QUICK_ATTACKS=runs.ATTACKS,
    _SIDES=(0, 4),
    _EXCHANGES=(0, 300),
    _CHECKPOINTS=(0, 8),
    _LEAST_TRIALS=2,
    _LEAST_LIED=2,
)


def test_liars_are_one_or_one_in_a_hundred(results: dict[str, Any]) -> None:
    for number, liars in (("one", 1), ("some", 2)):
        run = results[f"torus-gosta-sign-{number}"]
        assert len(run.honest) == run.graph.n - liars
    assert runs._problem("torus", Plan(False, 1, 0), runs.WAYS["gosta-sign-some"])[
        "faults"
    ].liars == round(26 * 26 / 100)


def test_the_rate_is_that_of_a_geometric_fall(results: dict[str, Any]) -> None:
    run = results["torus-averaging-none"]
    falling = np.exp(-np.linspace(0, 30, len(run.iterations)))
    curve = Curve(replace(run, trial_error=np.tile(falling, (run.trials, 1))), falling)
    last, first = run.iterations[-1], run.iterations[0]
    assert fit_rate(curve) == pytest.approx(30 / (last - first), rel=0.02)


def with_factor(results: Mapping[str, Any], part: str, factor: float) -> dict[str, Any]:
    """Make errors at the end as many times as large where the name of a case has this part."""
    changed = dict(results)
    for key, run in results.items():
        if part in key:
            growth = np.ones(len(run.iterations))
            growth[-1] = factor
            fields = {"trial_error": run.trial_error * growth}
            if run.history is not None:
                away = run.history - run.target
                fields["history"] = run.target + away * growth[:, None]
            changed[key] = replace(run, **fields)
    return changed


@pytest.mark.parametrize(
    ("part", "claim"),
    [
        ("gosta-half-1", "half-loss-ruins-gosta"),
        ("gosta-half", "half-loss-grows"),
        ("averaging-half", "half-loss-stays-in-averaging"),
        ("-gosta-constant-one", "one-liar"),
        ("clipped-gosta-constant-one", "clipped-one-liar"),
        ("clipped-gosta-", "clipped-attacks"),
        ("clipped-gosta-inside", "inside-the-clip"),
        ("clipped-gosta-nobody", "clip-without-liars"),
        ("skewed-clipped-gosta", "clip-on-skewed-rows"),
    ],
)
def test_errors_decide(results: dict[str, Any], part: str, claim: str) -> None:
    large, small = (with_factor(results, part, factor) for factor in (1e9, 1e-9))
    assert claim in changes(FAULTS, large, small)


def test_one_lost_node_is_noticed(results: dict[str, Any]) -> None:
    key = "watts-strogatz-clipped-gosta-constant-some"
    history = np.full_like(results[key].history, 1.01 * results[key].target)
    together = results | {key: replace(results[key], history=history)}
    lost = history.copy()
    lost[..., results[key].honest[0]] *= 9.0
    apart = results | {key: replace(results[key], history=lost)}
    assert changes(FAULTS, together, apart) == {"clipped-worst-node": "holds"}


def with_curves(results: Mapping[str, Any], **curves: float) -> dict[str, Any]:
    """Let errors fall geometrically, to so many e-folds in the end, in these cases."""
    changed = dict(results)
    for name in runs.NETWORKS:
        for way, folds in curves.items():
            key = f"{name}-{way.replace('_', '-')}"
            run = results[key]
            falling = np.exp(-folds * run.iterations / run.iterations[-1])
            changed[key] = replace(run, trial_error=falling * np.ones((run.trials, 1)))
    return changed


@pytest.mark.parametrize(
    ("way", "claim", "folds", "factor"),
    [
        ("averaging_loss_30", "loss-slows-averaging", 25.0, 0.7),
        ("averaging_churn", "churn-slows-averaging", 25.0, (10 / 11) ** 2),
        ("gosta_loss_30", "loss-slows-gosta", 2.0, 0.7),
    ],
)
def test_another_pace_is_noticed(
    results: dict[str, Any], way: str, claim: str, folds: float, factor: float
) -> None:
    none = f"{way.split('_')[0]}_none"
    right = with_curves(results, **{none: folds, way: factor * folds})
    wrong = with_curves(results, **{none: folds, way: 3 * folds})
    assert verdicts(FAULTS.report(right))[claim] == "holds"
    assert verdicts(FAULTS.report(wrong))[claim] == "does not hold"


def test_waiting_for_busy_nodes_is_told_from_another_pace(results: dict[str, Any]) -> None:
    right = with_curves(results, averaging_none=25.0)
    for name in runs.NETWORKS:
        run = results[f"{name}-averaging-delay"]
        left = 1 - run.lost[-1] / run.iterations[-1]
        right |= {
            key: case
            for key, case in with_curves(results, averaging_delay=25.0 * left).items()
            if key == f"{name}-averaging-delay"
        }
    wrong = with_curves(results, averaging_none=25.0, averaging_delay=25.0)
    found = [verdicts(FAULTS.report(one))["delay-slows-averaging"] for one in (right, wrong)]
    assert found == ["holds", "does not hold"]
