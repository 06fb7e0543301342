"""The paper's own experiment, shorter: every claim the report makes about it."""

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
from pairgossip_paper.framework import Experiment, Section
from pairgossip_paper.paper_setup import (
    GRAPHS,
    _dispersion_verdict,
    _faster_verdict,
    deal_rows,
    paper_graph,
)
from tests.paper.running import PLAN, changes, results_of

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module", params=[AUC_SYNC, AUC_ASYNC], ids=lambda e: e.name)
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Experiment, dict[str, Any]]:
    experiment: Experiment = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auc_maximization, "_LENGTHS", {"sync": (0, 50_000), "async": (0, 100_000)})
        patch.setattr(auc_maximization, "_SCALED_CHECKPOINTS", (0, 4))
        if experiment is AUC_SYNC:  # of the other, how the bias vanishes is seen at more
            patch.setattr(auc_maximization, "_CHECKPOINTS", (0, 11))
        return experiment, results_of(experiment, tmp_path_factory.mktemp(experiment.name))


@pytest.fixture(scope="module")
def section(found: tuple[Experiment, dict[str, Any]]) -> Section:
    experiment, results = found
    return experiment.report(results)


def test_the_size_of_the_bias_depends_on_the_scaling(
    found: tuple[Experiment, dict[str, Any]], section: Section
) -> None:
    """Line 643 is judged with four scalings, and each is named with its ratio."""
    experiment, results = found
    claim = section.claims[-1]
    if experiment is AUC_SYNC:  # the sentence is about the asynchronous algorithm
        assert "orders of magnitude" not in claim.statement
        return
    shares = {
        scaling: max(_largest_share(results[case]) for case in cases)
        for scaling, cases in {
            name: [graph if name == "raw" else f"{graph}-{name}" for graph in GRAPHS]
            for name in _SCALINGS
        }.items()
    }
    raw, standardized, min_max, unit = shares.values()
    assert raw > 0.1 > standardized > 0.01 > min_max > 1e-3 > unit
    assert "which the paper does not state" in claim.evidence
    for scaling, share in shares.items():
        assert f"{share:.2g} ({_WORDS[scaling]})" in claim.evidence


@pytest.mark.parametrize("scaling", _SCALINGS)
def test_scalings(scaling: str) -> None:
    X = np.random.default_rng(0).uniform(1, 10, size=(20, 3))
    rows = _SCALINGS[scaling](X)
    assert {
        "raw": np.array_equal(rows, X),
        "standardized": np.allclose([rows.mean(axis=0), rows.std(axis=0)], [[0] * 3, [1] * 3]),
        "min-max": np.array_equal([rows.min(axis=0), rows.max(axis=0)], [[0] * 3, [1] * 3]),
        "unit-rows": np.allclose(np.linalg.norm(rows, axis=1), 1),
    }[scaling]


def test_the_figures_known_of_the_data(found: tuple[Experiment, dict[str, Any]]) -> None:
    optimum = found[1]["optimum"]["complete"]
    assert optimum["objective_of_zero"] == pytest.approx(458 * 241 / 699**2 * np.log(2), rel=1e-12)
    assert optimum["objective"] == pytest.approx(0.00283, abs=1e-5)
    assert optimum["auc"] == pytest.approx(0.9959, abs=1e-4)
    assert np.linalg.norm(optimum["model"]) == pytest.approx(1.10, abs=0.005)


def test_the_minimum_is_one(found: tuple[Experiment, dict[str, Any]]) -> None:
    X, y = deal_rows(*pg.datasets.breast_cancer_wisconsin(), 676, PLAN.seed)
    theta = np.array(found[1]["optimum"]["torus"]["model"])
    risks = pg.losses.risks(
        np.array([theta, *(theta + 1e-3 * np.eye(9)), *(theta - 1e-3 * np.eye(9))]),
        X,
        "auc-logistic",
        y,
    )
    assert risks[0] == pytest.approx(found[1]["optimum"]["torus"]["objective"], rel=1e-10)
    assert (risks[1:] > risks[0]).all()


def test_the_bias_terms_are_those_of_the_fits(found: tuple[Experiment, dict[str, Any]]) -> None:
    for graph in GRAPHS:
        fit: pg.Fit = found[1][graph]
        assert fit.bias is not None
        plotted = (fit.bias.gradient * fit.bias.network_model).sum(axis=2)
        np.testing.assert_allclose(fit.bias.plotted, plotted)
        assert fit.graph == paper_graph(graph, PLAN.seed)


def test_doctored_results_change_the_verdicts(found: tuple[Experiment, dict[str, Any]]) -> None:
    experiment, results = found
    swapped = results | {"complete": results["torus"], "torus": results["complete"]}
    swapped["optimum"] = results["optimum"] | {
        "complete": results["optimum"]["torus"],
        "torus": results["optimum"]["complete"],
    }
    changed = changes(experiment, results, swapped)
    clock = experiment.name.removeprefix("auc-")
    assert changed[f"faster-{clock}"] == "does not hold"
    assert changed[f"dispersion-{clock}"] == "does not hold"


@pytest.mark.parametrize(
    ("objectives", "verdict"),
    [
        ((1.0, 1.05, 1.2), "holds"),
        ((1.0, 1.2, 1.15), "holds in part"),
        ((1.0, 1.01, 1.02), "holds"),  # the paper states an order, and no size
        ((1.0, 0.99, 1.5), "does not hold"),
    ],
)
def test_the_rule_of_speed(objectives: tuple[float, float, float], verdict: str) -> None:
    assert _faster_verdict(*objectives) == verdict


def test_numbers_in_the_findings_come_from_the_results(
    found: tuple[Experiment, dict[str, Any]], section: Section
) -> None:
    text = " ".join(section.findings)
    assert f"{found[1]['complete'].trials} trials" in text
    assert f"{found[1]['complete'].iterations[-1]:,}" in text
    assert str(auc_maximization._STEP) in text


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
    ("spreads", "verdict"),
    [
        ((1.0, 2.0, 3.0), "holds"),
        ((1.0, 3.0, 2.95), "holds"),
        ((1.0, 3.0, 2.0), "holds in part"),
        ((1.0, 1.01, 2.0), "does not hold"),
        ((3.0, 2.0, 1.0), "does not hold"),
    ],
)
def test_the_rule_of_dispersion(spreads: tuple[float, float, float], verdict: str) -> None:
    assert _dispersion_verdict(*spreads) == verdict


def test_one_trial_gives_no_nonsense(found: tuple[Experiment, dict[str, Any]]) -> None:
    experiment, results = found
    single = results | {graph: one_trial(results[graph]) for graph in GRAPHS}
    for claim in experiment.report(single).claims:
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
