from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip_paper.experiments.messages import MESSAGES, _headline, networks
from pairgossip_paper.experiments.messages.networks import WAYS, WayCurve
from tests.paper.running import PLAN, small_results, texts, verdicts, with_errors

pytestmark = pytest.mark.usefixtures("undrawn")

SIZES = {"complete": 36, "watts-strogatz": 36, "torus": 36, "cycle": 20}
SIZES |= {"grid": 24, "geometric": 40, "star": 24}


results = small_results(
    MESSAGES,
    networks,
    _SIDES={24: (4, 6)},
    _CHECKPOINTS=(0, 16),
    _build=cache(lambda name, plan: networks._IncomeNetwork(name, SIZES[name], plan.seed)),
)


def curve(results: dict[str, Any], network: str, way: str) -> WayCurve:
    return WayCurve(results[f"{network}-{way}"], results["facts"][network]["value"])


def test_the_headline_says_what_was_sent_or_that_it_takes_more(results: dict[str, Any]) -> None:
    by = {way: curve(results, "torus", way) for way in WAYS}
    sent = by["gosta"].needed(0.01)
    assert sent is not None
    found = _headline(by, 36)
    assert f"method sends {round(sent):,} messages" in found
    assert found.endswith("a sketch along a tree 70.")  # 2n - 2, the fewest possible
    value = 1e-3 * results["facts"]["torus"]["value"]
    far = {way: WayCurve(one.run, value) for way, one in by.items()}
    # All methods except collected rows, which are exact, then have too large errors.
    assert _headline(far, 36).count("more than") == 2


def test_every_way_runs_everywhere_but_sweeps_where_they_give_way(results: dict[str, Any]) -> None:
    swept = {"tracking-ordered", "sketch-ordered", "sketch-flooded"}
    for network in SIZES:
        found = {way for way in WAYS if f"{network}-{way}" in results}
        missing = {"complete": swept, "star": swept - {"sketch-ordered"}}.get(network, set())
        assert found == set(WAYS) - missing


def test_settings_given_once_are_those_of_the_front_door(results: dict[str, Any]) -> None:
    for way in ("sketch-flooded", "tracking-ordered"):
        saved = results[f"grid-{way}"]
        place = networks._IncomeNetwork("grid", 24, PLAN.seed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(networks, "_SIDES", {24: (4, 6)})
            how: dict[str, Any] = {"method": way.partition("-")[0], "schedule": "ordered"}
            run = pg.estimate(place.incomes, "gini", place.graph, iterations=100, seed=0, **how)
        assert saved.relaxation == run.relaxation
        assert saved.schedule == run.schedule == "ordered"


def test_prices_count_whole_messages_from_when_all_nodes_know(results: dict[str, Any]) -> None:
    tree = curve(results, "torus", "sketch-tree")
    assert tree.needed(0.01) == tree.messages[-1] == 2 * 36 - 2
    flooded = curve(results, "torus", "sketch-flooded")
    assert np.isnan(flooded.run.trial_error[:, 0]).all()  # no node knows the range yet
    assert np.isfinite(flooded.error).all()
    assert len(flooded.messages) < len(flooded.run.iterations)
    price = flooded.needed(0.01)
    assert price is not None and price > flooded.messages[0]
    assert flooded.needed(0.5 * flooded.final) is None


def test_prices_of_exact_answers_are_numbers(results: dict[str, Any]) -> None:
    run = results["grid-collect"]
    exact = replace(run, trial_error=np.where(run.trial_error < 0.01, 0.0, run.trial_error))
    price = WayCurve(exact, results["facts"]["grid"]["value"]).needed(0.001)
    assert price is not None and 2 * 24 - 2 <= price <= run.messages[-1]


def test_other_errors_are_noticed(results: dict[str, Any]) -> None:
    ahead = with_errors(results, sketch_ordered=30.0, sketch_tree=1.01, gosta=1e-3)
    behind = verdicts(MESSAGES.report(ahead))
    assert behind["messages-sketch"] == "does not hold"
    assert behind["messages-continuized"] == "holds"
    assert behind["messages-theory"] == "holds in part"
    assert behind["messages-tree"] == "holds in part"
    assert behind["messages-wall"] == "does not hold"
    far_off = {"sketch_flooded": 100.0, "tracking_ordered": 30.0, "sketch_continuized": 100.0}
    late = verdicts(section := MESSAGES.report(with_errors(results, **far_off)))
    assert late["messages-range"] == "does not hold"
    assert "times as many exchanges" in texts(section) and "e+" not in texts(section)
    assert late["messages-tracking"] == "does not hold"
    assert late["messages-continuized"] == "does not hold"


def test_errors_that_stay_are_noticed(results: dict[str, Any]) -> None:
    changed = dict(results)
    for key in [key for key in results if key.endswith(("-collect", "-tree"))]:
        run = results[key]
        changed[key] = replace(run, trial_error=run.trial_error + abs(float(run.target)))
    found = verdicts(MESSAGES.report(changed))
    assert found["messages-collect"] == found["messages-bytes"] == "does not hold"


def test_bytes_are_compared_where_some_way_gets_there(results: dict[str, Any]) -> None:
    changed = dict(results)
    trees = {f"{name}-sketch-tree" for name in SIZES if name != "torus"}
    for key in results.keys() - trees - {"facts"}:
        run = results[key]
        changed[key] = replace(run, trial_error=run.trial_error + abs(float(run.target)))
    claim = {one.name: one for one in MESSAGES.report(changed).claims}["messages-bytes"]
    assert claim.verdict == "holds"
    assert "(cycle)" in claim.evidence and "torus" not in claim.evidence


def test_a_sweep_that_does_not_give_way_is_noticed(results: dict[str, Any]) -> None:
    facts = {name: fact | {"is_ordered": True} for name, fact in results["facts"].items()}
    found = verdicts(MESSAGES.report(results | {"facts": facts}))
    assert found["messages-star"] == "holds in part"
