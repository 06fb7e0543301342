from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from pairgossip.estimation import estimate
from pairgossip_paper.experiments.faults import FAULTS, runs
from pairgossip_paper.framework import Plan
from tests.paper.running import changes, small_results, verdicts

pytestmark = pytest.mark.usefixtures("undrawn")


# Compiling takes longer than short runs.
results = small_results(
    FAULTS,
    runs,
    estimate=partial(estimate, engine="plain"),
    _QUICK_ATTACKS=runs.ATTACKS,
    _SIDES=(0, 4),
    _EXCHANGES=(0, 300),
    _CHECKPOINTS=(0, 8),
    _LEAST_TRIALS=2,
    _LEAST_KEPT_TRIALS=2,
)


def test_liars_are_one_or_one_in_a_hundred() -> None:
    for number, liars in (("one", 1), ("some", round(26 * 26 / 100))):
        way = runs.WAYS[f"gosta-sign-{number}"]
        assert runs._problem("torus", Plan(False, 1, 0), way)["faults"].liars == liars


def with_factor(results: Mapping[str, Any], part: str, factor: float) -> dict[str, Any]:
    """Multiply final errors by a factor where the name of a case has this part."""
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
        ("averaging-half", "half-loss-never-heals"),
        ("-gosta-constant-one", "one-liar"),
        ("clipped-gosta-", "clipped-attacks"),
        ("clipped-gosta-nobody", "clip-without-liars"),
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


def with_pace(run: Any, folds: float) -> Any:
    """Let errors fall geometrically, by this many e-folds in total."""
    falling = np.exp(-folds * run.iterations / run.iterations[-1])
    return replace(run, trial_error=falling * np.ones((run.trials, 1)))


def with_curves(results: Mapping[str, Any], **paces: float) -> dict[str, Any]:
    """Let errors of these methods fall geometrically on all networks."""
    keys = {f"{name}-{way.replace('_', '-')}": way for name in runs.NETWORKS for way in paces}
    return {**results, **{key: with_pace(results[key], paces[keys[key]]) for key in keys}}


def test_gosta_with_losses_is_as_good_as_fewer_exchanges(results: dict[str, Any]) -> None:
    found = [
        verdicts(FAULTS.report(with_curves(results, gosta_none=2.0, gosta_loss_30=2.0 * pace)))
        for pace in (0.7, 3.0)
    ]
    assert [one["loss-slows-gosta"] for one in found] == ["holds", "does not hold"]


@pytest.mark.parametrize("failure", ["loss_30", "delay"])
def test_another_pace_of_averaging_is_noticed(results: dict[str, Any], failure: str) -> None:
    right = with_curves(results, averaging_none=25.0)
    for key in ("loss-30", "churn", "delay"):
        for name in runs.NETWORKS:
            case = f"{name}-averaging-{key}"
            left = 1 - results[case].lost[-1] / results[case].iterations[-1]
            right[case] = with_pace(results[case], 25.0 * left)
    wrong = with_curves(right, **{f"averaging_{failure}": 50.0})
    found = [verdicts(FAULTS.report(one))["failures-slow-averaging"] for one in (right, wrong)]
    assert found == ["holds", "holds in part"]
