from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from pairgossip_paper.experiments import better_networks
from pairgossip_paper.experiments.better_networks import (
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
    ("case", "path", "value", "claim"),
    [
        ("law-barbell", ("row", "bound on any law's"), 1e6, "law-certified"),
        ("law-barbell", ("row", "measured"), 1e6, "gains-measured"),
        ("law-lollipop", ("row", "predicted gain"), 9.0, "law-bottleneck"),
        ("law-barbell", ("row", "continuized"), 1e9, "law-continuized"),
        ("law-barbell", ("row", "GoSta"), 0.0, "law-gosta"),
        ("links", ("chosen",), 9.0, "links"),
        ("overlays", (_RANDOM, "predicted gain"), 99.0, "overlay"),
        ("overlays", ("exponential", "measured"), 1e9, "gains-measured"),
    ],
)
def test_other_numbers_are_noticed(
    results: dict[str, Any], case: str, path: tuple[str, ...], value: float, claim: str
) -> None:
    changed = deepcopy(results)
    *inner, last = path
    facts = changed[case]
    for key in inner:
        facts = facts[key]
    facts[last] = value
    assert claim in changes(NETWORKS, results, changed)
