from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairgossip import estimate
from pairgossip_paper.experiments.several_points import SEVERAL_POINTS, places
from pairgossip_paper.experiments.several_points.places import (
    _UNEQUAL,
    _Place,
    _problem,
)
from tests.paper.running import small_results, verdicts, with_errors

pytestmark = pytest.mark.usefixtures("undrawn")


results = small_results(SEVERAL_POINTS, places, _LEAST_TRIALS=30, _CHECKPOINTS=(0, 8))


def test_statistics_are_those_of_all_rows(results: dict[str, Any]) -> None:
    for name, rows in (("cycle", 10), ("torus", _UNEQUAL), ("complete", _UNEQUAL)):
        place = _Place(name, rows, 0)
        x, site_of, sites = place.incomes, place.site_of, range(place.network.n)
        fact = results["facts"][place.name]
        assert fact["value"] == pytest.approx(np.mean([abs(a - b) for a in x for b in x]))
        alike = [
            np.mean([abs(a - b) for a in x[site_of == u] for b in x[site_of == v]])
            for u in sites
            for v in sites
        ]
        assert fact["unweighted"] == pytest.approx(np.mean(alike))
        assert len(x) == place.sizes.sum() == len(site_of)


def test_forgotten_sizes_are_forgotten_in_nothing_else() -> None:
    """With equal sites, the model of whole sets without sizes equals whole sets."""
    place = _Place("torus", 2, 0)
    alike, sets = (
        estimate(**_problem(place, construction), iterations=2000, trials=2, seed=0)
        for construction in ("unweighted", "whole-sets")
    )
    np.testing.assert_allclose(alike.trial_error, sets.trial_error, rtol=1e-9)


def doctored(results: dict[str, Any], **factors: float) -> dict[str, str]:
    return verdicts(SEVERAL_POINTS.report(with_errors(results, **factors)))


def test_another_order_is_noticed(results: dict[str, Any]) -> None:
    ahead = doctored(results, blow_up=0.5)
    assert ahead["several-points-complete"] == "holds in part"
    assert ahead["several-points-agree"] == "holds in part"
    behind = doctored(results, whole_sets=100.0)
    assert behind["several-points-messages"] == "does not hold"
    assert behind["several-points-bytes"] == "holds in part"
    assert behind["several-points-unequal"] == "holds in part"
    assert doctored(results, unweighted=0.1)["several-points-unweighted"] == "does not hold"


def test_a_level_that_no_construction_reaches_has_no_price(results: dict[str, Any]) -> None:
    far = with_errors(results, lexicographic=1e6, blow_up=1e6, whole_sets=1e6)
    section = SEVERAL_POINTS.report(far)
    (prices,) = (picture for picture in section.pictures if picture.name == "prices")
    assert not any(len(placed.curve.y) for panel in prices.sheet.panels for placed in panel.curves)
    assert "more than all messages and more than all bytes" in " ".join(section.findings)


def test_another_gap_is_noticed(results: dict[str, Any]) -> None:
    facts = {
        name: fact
        | {
            "graphs": {
                key: graph
                | {"gaps": {law: (g, 1.001 * h) for law, (g, h) in graph["gaps"].items()}}
                for key, graph in fact["graphs"].items()
            }
        }
        for name, fact in results["facts"].items()
    }
    found = verdicts(SEVERAL_POINTS.report(results | {"facts": facts}))
    assert found["several-points-gap"] == "does not hold"
