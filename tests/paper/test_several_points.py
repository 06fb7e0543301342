from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pairgossip import estimate
from pairgossip_paper.experiments.several_points import SEVERAL_POINTS, _headline, places
from pairgossip_paper.experiments.several_points.places import (
    _UNEQUAL,
    Curve,
    _Place,
    _problem,
    ratio_at_end,
)
from pairgossip_paper.framework import Section
from tests.paper.running import results_of, texts, verdicts

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "_LEAST_TRIALS", 30)
        patch.setattr(places, "_CHECKPOINTS", (0, 8))
        return results_of(SEVERAL_POINTS, tmp_path_factory.mktemp("several"))


@pytest.fixture(scope="module")
def section(results: dict[str, Any]) -> Section:
    return SEVERAL_POINTS.report(results)


def curve(results: dict[str, Any], place: str, construction: str) -> Curve:
    return Curve(results[f"{place}-{construction}"], results["facts"][place]["value"])


def test_the_headline_counts_where_whole_sets_are_as_precise(results: dict[str, Any]) -> None:
    rows, sets = (curve(results, "torus-10", way) for way in ("lexicographic", "whole-sets"))
    never = Curve(sets.run, 1e-6 * results["facts"]["torus-10"]["value"])
    reached = {"lexicographic": rows, "whole-sets": sets}
    missed = {"lexicographic": rows, "whole-sets": never}
    needed = sets.needed(rows.final, "messages")
    assert needed is not None
    share = f"{100 * needed / rows.messages[-1]:.2g}"
    end = f", after {share} to {share} % of the messages."
    both = _headline({"reached": reached, "missed": missed})
    assert both.startswith("On 1 of 2 ") and both.endswith(end)
    assert _headline({"missed": missed}).endswith(" row by row.")


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


def test_gaps_are_those_of_the_table(results: dict[str, Any]) -> None:
    facts, cycle = results["facts"], 4 * np.sin(np.pi / 16) ** 2
    for k in (2, 10):
        blow_up, joined = (
            facts[f"cycle-{k}"]["graphs"][name] for name in ("blow-up", "lexicographic")
        )
        assert blow_up["edges"] == 16 * k**2
        assert blow_up["share"] == 1.0
        assert blow_up["gaps"]["uniform-edges"][0] == pytest.approx(cycle / 16 / k, rel=1e-12)
        assert joined["edges"] == 16 * k**2 + 16 * k * (k - 1) // 2
        assert joined["share"] == pytest.approx(k * 16 / (k * 16 + 16 * (k - 1) / 2))
        per_message = joined["gaps"]["uniform-edges"][0] / joined["share"]
        assert per_message == pytest.approx(cycle / 16 / k, rel=1e-12)


def test_all_runs_send_about_as_much(results: dict[str, Any]) -> None:
    for name, run in results.items():
        if name != "facts":
            assert run.messages[-1] == pytest.approx(40_000, rel=0.02)


def test_forgotten_sizes_are_forgotten_in_nothing_else(results: dict[str, Any]) -> None:
    """With equal sites the model of whole sets without sizes is whole sets."""
    place = _Place("torus", 2, 0)
    alike, sets = (
        estimate(**_problem(place, construction), iterations=2000, trials=2, seed=0)
        for construction in ("unweighted", "whole-sets")
    )
    np.testing.assert_allclose(alike.trial_error, sets.trial_error, rtol=1e-9)


def test_prices_are_read_off_the_curve(results: dict[str, Any]) -> None:
    rows = curve(results, "torus-2", "lexicographic")
    price = rows.needed(0.1, "messages")
    assert price is not None
    assert rows.error_at(price, "messages") == pytest.approx(0.1)
    assert rows.needed(0.5 * rows.error.min(), "messages") is None
    assert rows.needed(2.0, "bytes") == rows.bytes[0]
    assert ratio_at_end(rows, rows, "bytes") == 1.0
    assert rows.error_at(float(rows.messages[-1]), "messages") == pytest.approx(rows.final)


def doctored(results: dict[str, Any], ending: str, factor: float) -> dict[str, str]:
    """The verdicts where the errors of one construction are this many times as large."""
    changed = {
        name: replace(run, trial_error=factor * run.trial_error) if name.endswith(ending) else run
        for name, run in results.items()
    }
    return verdicts(SEVERAL_POINTS.report(changed))


def test_another_order_is_noticed(results: dict[str, Any]) -> None:
    ahead = doctored(results, "blow-up", 0.5)
    assert ahead["several-points-complete"] == "holds in part"
    assert ahead["several-points-agree"] == "holds in part"
    behind = doctored(results, "whole-sets", 100.0)
    assert behind["several-points-messages"] == "does not hold"
    assert behind["several-points-bytes"] == "holds in part"
    assert behind["several-points-unequal"] == "holds in part"
    assert doctored(results, "unweighted", 0.1)["several-points-unweighted"] == "does not hold"


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


def test_nothing_is_written_as_nan(section: Section) -> None:
    assert "nan" not in texts(section)
    assert len(section.pictures) == 3
