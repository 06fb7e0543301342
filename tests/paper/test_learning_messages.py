from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip_paper.experiments.learning_messages import LEARNING_MESSAGES, runs
from pairgossip_paper.experiments.learning_messages.runs import HELD_OUT, WAYS, LossCurve, Place
from pairgossip_paper.framework import Plan
from pairgossip_paper.paper_setup import central_optimum
from tests.paper.running import small_results, verdicts

pytestmark = pytest.mark.usefixtures("undrawn")

results = small_results(
    LEARNING_MESSAGES,
    runs,
    NODES=60,
    paper_nodes=lambda name: 49 if name == "torus" else 60,
    _LENGTHS=(0, 600),
    _CHECKPOINTS=(0, 3),
    GRID=(0.1, 1.0),
    # A score separates so few rows completely: without a penalty there is no optimum.
    DATA={name: data._replace(l2=1e-3) for name, data in runs.DATA.items()},
)


def test_the_headline_says_what_was_not_reached(results: dict[str, Any]) -> None:
    network = "wisconsin-watts-strogatz"
    facts = {**results["facts"], network: {**results["facts"][network], "optimum": 10.0}}
    easy = LEARNING_MESSAGES.report({**results, "facts": facts}).headline
    assert "more than" not in easy
    facts[network]["optimum"] = 0.0
    hard = LEARNING_MESSAGES.report({**results, "facts": facts}).headline
    assert hard.count("more than") == 3 and "step, it takes more than 600 exchanges" in hard


def test_stages_are_those_of_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held-out rows are scored by the models of a run that is stopped at its checkpoints."""
    monkeypatch.setattr(runs, "NODES", 60)
    monkeypatch.setattr(runs, "_LENGTHS", (0, 400))
    monkeypatch.setattr(runs, "_CHECKPOINTS", (0, 3))
    place, plan = Place("digits", HELD_OUT, 0), Plan(quick=True, trials=1, seed=0)
    for how in ({"clock": "async"}, {"method": "sketch"}):
        *_, last = fits = list(runs._stages(place, how, plan))
        whole = runs._run(place, how, plan)
        np.testing.assert_array_equal(last.iterations, whole.iterations)
        np.testing.assert_allclose(last.objective, whole.objective, rtol=1e-9)
        assert [fit.iterations[-1] for fit in fits] == whole.iterations.tolist()
    tested = place.tested
    assert tested is not None and (len(place.rows.X), len(tested.X)) == (42, 18)


def test_the_optimum_is_one(results: dict[str, Any]) -> None:
    X, y = pg.datasets.breast_cancer_wisconsin()
    best = central_optimum(X[:80], y[:80], 0.01)
    fit = pg.minimize(X[:80], y[:80], penalty=pg.SquaredL2(0.01), method="sketch", tolerance=1e-12)
    assert best["objective"] == pytest.approx(float(fit.objective[-1]), rel=1e-8)
    for name, fact in results["facts"].items():
        assert all(
            min(results[f"{name}-{way}"]["loss"]) >= fact["optimum"] - 1e-9
            for way in WAYS
            if f"{name}-{way}" in results
        )


def test_prices_are_from_when_a_loss_stays_low() -> None:
    curve = LossCurve(
        np.array([2.0, 20, 200, 2000]), np.arange(4.0), np.array([5.0, 1, 2, 1]), None, None
    )
    assert (curve.needed(2), curve.needed(2, "bytes")) == (10, 1)
    assert (curve.needed(1), curve.needed(5), curve.needed(0.5)) == (1000, 1, None)
    assert (curve.loss_after(10), curve.loss_after(99), curve.loss_after(1001)) == (1, 1, None)
    assert curve.loss_after(0.5) is None  # no node has a model yet


def doctored(results: dict[str, Any], way: str, **changes: Any) -> dict[str, str]:
    """Return verdicts on results that are changed for one method."""
    keys = [key for key in results if key.endswith(f"-{way}")]
    return verdicts(LEARNING_MESSAGES.report(results | {k: results[k] | changes for k in keys}))


def test_other_losses_are_noticed(results: dict[str, Any]) -> None:
    sent = {"messages": [2e4, 2e5], "bytes": [1e6, 1e7], "auc": [0.1, 0.1]}
    low = doctored(results, "adaptive", **sent, loss=[0.005, 0.0039])
    assert low["learning-adaptive"] == "holds"
    late = doctored(results, "adaptive", **sent, loss=[0.005, 0.0041])
    assert late["learning-adaptive"] == "holds in part"
    assert late["learning-held-out"] != "holds"
    early = {"messages": [2e4], "bytes": [1e6], "auc": [0.9], "loss": [0.005]}
    assert doctored(results, "adaptive", **early)["learning-adaptive"] == "undecided"
    short = {"messages": [2e4], "bytes": [1e6], "auc": [0.9], "loss": [1e-9]}
    found = doctored(results, "paper", **short)
    assert found["learning-paper"] == found["learning-moments"] == "does not hold"
    assert doctored(results, "tuned", **short)["learning-tuned"] == "does not hold"
    far = {"messages": [4e4], "bytes": [1e6], "auc": [0.9], "loss": [0.1]}
    assert doctored(results, "tree", **far)["learning-sketch"] == "does not hold"
    assert doctored(results, "ordered", **far)["learning-ordered"] == "does not hold"
