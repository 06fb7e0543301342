from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from pairgossip.graphs import torus
from pairgossip_paper.experiments.graph_gaps import GAPS, _dense_eigenvalues
from pairgossip_paper.paper_setup import PRINTED_GAPS
from tests.paper.running import small_results, verdicts

results = small_results(GAPS)


def test_the_verdicts(results: dict[str, Any]) -> None:
    assert verdicts(GAPS.report(results)) == {
        "gap-complete": "holds",
        "gap-watts-strogatz": "holds",
        "gap-torus": "holds",
        "complete-largest": "holds",
    }


def test_what_the_paper_does_not_say_is_said_to_fit(results: dict[str, Any]) -> None:
    """The choice of a grid and of a reading of k = 5 are inferences, not verdicts."""
    _, grid, small_world = GAPS.report(results).notes
    assert "does not say which 2D grid" in grid and "26 x 26 torus fits" in grid
    assert "4 for it, which fits" in small_world and "Newman-Watts graph with k = 5" in small_world
    printed = PRINTED_GAPS["watts-strogatz"]
    fits = {n: min(g) <= printed <= max(g) for n, g in results["watts-strogatz"].items()}
    assert list(fits.values()) == [True, True, False]


def test_gaps_match_the_formulas_of_their_families(results: dict[str, Any]) -> None:
    graphs, others = results["graphs"], results["other-grids"]
    assert graphs["complete"]["gap"] == pytest.approx(2 / 698)
    assert graphs["torus"]["gap"] == pytest.approx((2 - 2 * np.cos(2 * np.pi / 26)) / 1352)
    open_grid = others["open grid 26 x 26"]
    assert open_grid["gap"] == pytest.approx((2 - 2 * np.cos(np.pi / 26)) / (2 * 26 * 25))
    wider = others["torus 27 x 26"]
    assert wider["gap"] == pytest.approx((2 - 2 * np.cos(2 * np.pi / 27)) / (2 * 27 * 26))


def test_dense_eigenvalues_of_a_torus_are_sums_of_those_of_two_cycles() -> None:
    def cycle(n: int) -> Any:
        return 2 - 2 * np.cos(2 * np.pi * np.arange(n) / n)

    expected = np.sort(np.add.outer(cycle(5), cycle(4)).ravel())
    np.testing.assert_allclose(_dense_eigenvalues(torus(5, 4)), expected, atol=1e-12)


def test_other_graphs_would_change_the_verdicts(results: dict[str, Any]) -> None:
    doctored = copy.deepcopy(results)
    doctored["graphs"]["torus"]["gap"] = results["other-grids"]["torus 27 x 26"]["gap"]
    six = results["watts-strogatz"]["Watts-Strogatz, k = 6"]
    doctored["watts-strogatz"] = dict.fromkeys(results["watts-strogatz"], six)
    doctored["other-grids"]["open grid 26 x 26"]["gap"] = 1.0
    changed = verdicts(GAPS.report(doctored))
    assert changed["gap-torus"] == "does not hold"
    assert changed["gap-watts-strogatz"] == "does not hold"
    assert changed["complete-largest"] == "does not hold"
    assert GAPS.report(results).headline.startswith("3 of the 3 ")
    assert GAPS.report(doctored).headline.startswith("1 of the 3 ")
