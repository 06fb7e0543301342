"""The paper's own experiment, shortened: every claim that the report makes about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip_paper.experiments import auc_maximization
from pairgossip_paper.experiments.auc_maximization import (
    _SCALINGS,
    _WORDS,
    AUC_ASYNC,
    AUC_SYNC,
    _judge_vanishing,
    _largest_share,
)
from pairgossip_paper.paper_setup import GRAPHS, _judge_order
from tests.paper.running import changes, small_results, verdicts

pytestmark = pytest.mark.usefixtures("undrawn")

SHORT = {
    "_LENGTHS": {"sync": (0, 20_000), "async": (0, 40_000)},
    "_SCALED_CHECKPOINTS": (0, 4),
}
results = small_results(AUC_ASYNC, auc_maximization, **SHORT)
of_sync = small_results(AUC_SYNC, auc_maximization, **SHORT, _CHECKPOINTS=(0, 11))


def test_the_size_of_the_bias_depends_on_the_scaling(
    results: dict[str, Any], of_sync: dict[str, Any]
) -> None:
    """Line 643 is judged with four scalings, and each is named with its ratio."""
    claim = AUC_ASYNC.report(results).claims[-1]
    shares = {
        name: max(
            _largest_share(results[graph if name == "raw" else f"{graph}-{name}"])
            for graph in GRAPHS
        )
        for name in _SCALINGS
    }
    raw, standardized, min_max, unit = shares.values()
    assert raw > 0.1 > standardized > 0.01 > min_max > 1e-3 > unit
    assert "which the paper does not state" in claim.evidence
    for scaling, share in shares.items():
        assert f"{share:.2g} ({_WORDS[scaling]})" in claim.evidence
    # The sentence is about the asynchronous algorithm.
    assert claim.name not in verdicts(AUC_SYNC.report(of_sync))


def test_the_figures_known_of_the_data(results: dict[str, Any]) -> None:
    optimum = results["optimum"]["complete"]
    assert optimum["objective_of_zero"] == pytest.approx(458 * 241 / 699**2 * np.log(2), rel=1e-12)
    assert optimum["objective"] == pytest.approx(0.00283, abs=1e-5)
    assert optimum["auc"] == pytest.approx(0.9959, abs=1e-4)
    assert np.linalg.norm(optimum["model"]) == pytest.approx(1.10, abs=0.005)


def test_doctored_results_change_the_verdicts(
    results: dict[str, Any], of_sync: dict[str, Any]
) -> None:
    for experiment, runs in ((AUC_ASYNC, results), (AUC_SYNC, of_sync)):
        optimum = runs["optimum"]
        swapped = runs | {"complete": runs["torus"], "torus": runs["complete"]}
        swapped["optimum"] = optimum | {"complete": optimum["torus"], "torus": optimum["complete"]}
        changed = changes(experiment, runs, swapped)
        clock = experiment.name.removeprefix("auc-")
        assert changed[f"faster-{clock}"] == changed[f"dispersion-{clock}"] == "does not hold"


@pytest.mark.parametrize(
    ("least", "most", "verdict"),
    [
        (0.0, 0.1, "holds"),
        (0.1, 0.4, "holds in part"),
        (0.6, 0.9, "does not hold"),
        (0.1, 0.7, "undecided"),
    ],
)
def test_chance_makes_no_verdict_better(least: float, most: float, verdict: str) -> None:
    assert _judge_vanishing(least, most) == verdict


@pytest.mark.parametrize(
    ("tolerance", "ends", "verdict"),
    [
        (0.0, (1.0, 1.05, 1.2), "holds"),
        (0.0, (1.0, 1.01, 1.02), "holds"),  # the paper states an order, and no size
        (0.0, (1.0, 1.2, 1.15), "holds in part"),
        (0.0, (1.0, 0.99, 1.5), "does not hold"),
        (0.05, (1.0, 3.0, 2.95), "holds"),
        (0.05, (1.0, 3.0, 2.0), "holds in part"),
        (0.05, (1.0, 1.01, 2.0), "does not hold"),
    ],
)
def test_the_rule_of_order(
    tolerance: float, ends: tuple[float, float, float], verdict: str
) -> None:
    assert _judge_order(ends, tolerance) == verdict


def test_one_trial_gives_no_nonsense(results: dict[str, Any]) -> None:
    single = results | {graph: one_trial(results[graph]) for graph in GRAPHS}
    for claim in AUC_ASYNC.report(single).claims:
        assert "nan" not in claim.evidence


def one_trial(fit: pg.Fit) -> pg.Fit:
    assert fit.bias is not None
    return replace(
        fit,
        trial_objective=fit.trial_objective[:1],
        trial_spread=fit.trial_spread[:1],
        trial_disagreement=fit.trial_disagreement[:1],
        bias=type(fit.bias)(fit.bias.gradient[:1], fit.bias.network_model[:1]),
    )
