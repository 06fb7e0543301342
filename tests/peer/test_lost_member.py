"""A member that is lost for good stalls nobody, whatever its network computes."""

from __future__ import annotations

import random

import pytest

import pairgossip as pg
from tests.peer.contexts import name_of
from tests.peer.schedules import draw_graph
from tests.peer.sums import SumsDisk, SumsWorld
from tests.peer.world import Faults

LOST = name_of(1)
BAD = Faults(loss=0.3, repetition=0.1, longest_delay=0.2, until=6.0)


def graph_without(seed: int) -> pg.Graph:
    """Draw a network of six that stays connected without the member that is lost."""
    chance = random.Random(f"lost {seed}")
    drawn = draw_graph(chance, 5)  # the lost member is put in beside these
    others = (0, 2, 3, 4, 5)
    edges = [(others[i], others[j]) for i, j in drawn.edges.tolist()]
    beside = chance.sample(others, 2)
    return pg.Graph(6, sorted({*edges, *(tuple(sorted((1, one))) for one in beside)}))


@pytest.mark.parametrize("seed", range(10))
def test_the_others_name_it_and_sum_up_without_it(seed: int) -> None:
    rows = [[float(k)] for k in range(6)]
    world = SumsWorld(graph_without(seed), rows, seed, BAD, disk_class=SumsDisk)
    world.lose_for_ever(LOST)
    world.run(10.0)
    left = world.remaining()
    assert len(left) == 5
    for name in left:
        assert (world.rounds(name).awaited, world.rounds(name).halt) == ([LOST], None)
    world.evict(left[seed % 5], [LOST])
    world.let_operators_agree()
    world.finish()
    world.check_sums()
