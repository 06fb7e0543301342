from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairgossip_paper.experiments import separable_and_pairwise
from pairgossip_paper.experiments.separable_and_pairwise import SEPARABLE
from pairgossip_paper.paper_setup import GRAPHS
from tests.paper.running import changes, small_results

pytestmark = pytest.mark.usefixtures("undrawn")


results = small_results(SEPARABLE)


def test_the_complete_graph_attains_the_rate_of_the_bound(results: dict[str, Any]) -> None:
    section = SEPARABLE.report(results)
    name, bias, predicted, error, _, bound, _ = section.tables[0].rows[0]
    gap = 2 / (separable_and_pairwise._NODES - 1)
    assert name == "complete"
    assert predicted == pytest.approx(np.log(1 - gap / 2))
    assert bias == pytest.approx(predicted)
    assert bound == pytest.approx(np.log(1 - gap / 2) / 2)
    assert error == pytest.approx(bound, rel=0.1)


def test_an_error_above_the_bound_is_noticed(results: dict[str, Any]) -> None:
    lower = dict(results)
    for graph in GRAPHS:
        exact = results[f"exact-{graph}"]
        lower[f"exact-{graph}"] = exact | {
            "averaging_bound": [bound / 4 for bound in exact["averaging_bound"]]
        }
    assert changes(SEPARABLE, results, lower) == {"mean-geometric": "holds in part"}
