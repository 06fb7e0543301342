from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from pairgossip_paper.experiments import better_networks
from pairgossip_paper.experiments.better_networks import (
    _BEST,
    _LINKED,
    _RANDOM,
    NETWORKS,
    _add_random,
    build_network,
)
from tests.paper.running import changes, small_results

pytestmark = pytest.mark.usefixtures("undrawn")


results = small_results(
    NETWORKS,
    better_networks,
    _SIZES={"barbell": 12, "lollipop": 12, "geometric": 20, "watts-strogatz": 20, "torus": 16},
    _SIDE=7,
    _ITERATIONS_PER_NODE=20,
    _LEAST_TRIALS=4,
)


def test_bottlenecks_are_what_they_are_called() -> None:
    barbell, lollipop = (build_network(name, 12, 0) for name in ("barbell", "lollipop"))
    assert sorted(barbell.degrees.tolist()) == [5] * 10 + [6] * 2
    assert sorted(lollipop.degrees.tolist()) == [1] + [2] * 5 + [5] * 5 + [6]


def test_random_links_are_new_and_different() -> None:
    graph = build_network("torus", 16, 0)
    more = _add_random(graph, 5, 3)
    assert len(np.unique(more.edges, axis=0)) == more.edge_count == graph.edge_count + 5


@pytest.mark.parametrize(
    ("case", "option", "key", "factor", "claim"),
    [
        ("law-barbell", _BEST, "bound", 9.0, "law-certified"),
        ("law-barbell", _BEST, "measured", 9.0, "gains-measured"),
        ("law-lollipop", _BEST, "predicted", 99.0, "law-bottleneck"),
        ("law-barbell", _BEST, "continuized", 1e9, "law-continuized"),
        ("law-barbell", _BEST, "GoSta", 0.0, "law-gosta"),
        ("neighbors", _LINKED, "predicted", 99.0, "links"),
        ("neighbors", _RANDOM, "predicted", 99.0, "overlay"),
        ("neighbors", "exponential", "measured", 9.0, "gains-measured"),
    ],
)
def test_other_numbers_are_noticed(
    results: dict[str, Any], case: str, option: str, key: str, factor: float, claim: str
) -> None:
    changed = deepcopy(results)
    facts = changed[case]
    facts.get("options", facts)[option][key] *= factor
    assert claim in changes(NETWORKS, results, changed)
