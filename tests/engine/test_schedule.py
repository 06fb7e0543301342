from __future__ import annotations

import numpy as np
import pytest

from pairgossip import graphs
from pairgossip.engine.schedule import Schedule, root_seed


@pytest.mark.parametrize("law", graphs.LAWS)
@pytest.mark.parametrize("graph", [graphs.star(9), graphs.complete(9), graphs.cycle(9)])
def test_blocks_of_any_size_give_the_same_exchanges(graph: graphs.Graph, law: str) -> None:
    whole = Schedule(graph, law, root_seed(5), 2).draw(500)
    pieces = Schedule(graph, law, root_seed(5), 2)
    parts = [pieces.draw(size) for size in (1, 3, 7, 250, 239)]
    for walk in range(2):
        np.testing.assert_array_equal(np.concatenate([part[walk] for part in parts]), whole[walk])


def test_the_two_walks_are_independent() -> None:
    first, second = Schedule(graphs.cycle(50), "uniform-edges", root_seed(0), 2).draw(2000)
    same = (first == second).all(axis=1).mean()
    assert same < 0.06  # 1/50 expected


def test_a_network_makes_n_exchanges_per_unit_of_time() -> None:
    schedule = Schedule(graphs.star(40), "node-clocks", root_seed(1))
    assert schedule.time_of(0) == 0
    assert schedule.time_of(400_000) == pytest.approx(10_000, rel=0.01)
