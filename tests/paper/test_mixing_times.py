from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairgossip_paper.experiments import mixing_times
from pairgossip_paper.experiments.mixing_times import MIXING
from pairgossip_paper.paper_setup import network
from tests.paper.running import PLAN, changes, small_results

pytestmark = pytest.mark.usefixtures("undrawn")

results = small_results(MIXING, mixing_times, _QUICK_NODES=25, _OTHER_NODES=(16, 16))


def test_exact_times_are_those_of_matrix_powers(results: dict[str, Any]) -> None:
    section = MIXING.report(results)
    for name, nodes, _, exact, *_ in section.tables[0].rows:
        graph = network(str(name), int(str(nodes)), PLAN.seed)
        walk = np.eye(graph.n) - graph.laplacian_dense("uniform-edges")
        assert isinstance(exact, int)
        before, at = (
            0.5 * np.abs(np.linalg.matrix_power(walk, t) - 1 / graph.n).sum(axis=1).max()
            for t in (exact - 1, exact)
        )
        assert at <= mixing_times._EPSILON < before


def test_other_times_would_change_the_verdicts(results: dict[str, Any]) -> None:
    enough = {name: item | {"printed": item["exact"] + 1.0} for name, item in results.items()}
    assert changes(MIXING, results, enough)["printed-mixing-time"] == "holds"
    short = results | {"path": results["path"] | {"corrected": results["path"]["exact"] - 1}}
    assert changes(MIXING, results, short)["corrected-mixing-time"] == "does not hold"
    above = results["star"] | {"bound": [b / 100 for b in results["star"]["bound"]]}
    assert changes(MIXING, results, results | {"star": above})["corrected-mixing-time"] == (
        "does not hold"
    )
    stuck = {
        name: item | {"variation": [*item["variation"][:-1], 0.5]} if item["bipartite"] else item
        for name, item in results.items()
    }
    assert changes(MIXING, results, stuck)["bipartite"] == "does not hold"


def test_the_printed_time_is_judged_where_the_paper_states_it(results: dict[str, Any]) -> None:
    """It is judged on graphs that are not bipartite; others are no evidence against it."""
    inside = {
        name: item if item["bipartite"] else item | {"printed": item["exact"] + 1.0}
        for name, item in results.items()
    }
    claim = MIXING.report(inside).claims[0]
    assert (claim.name, claim.verdict) == ("printed-mixing-time", "holds")
    graphs = sum(not item["bipartite"] for item in results.values())
    assert 0 < graphs < len(results)
    assert f"on {graphs} of the {graphs} graphs here that are not bipartite" in claim.evidence
