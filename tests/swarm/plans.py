"""Small swarms for tests."""

from __future__ import annotations

import numpy as np

import pairgossip as pg
from pairgossip.swarm.plan import Plan, kernel_spec, make_plan


def gini_plan(peers: int, rows: int, rate: float = 20.0) -> Plan:
    """Peers on a ring with this many rows in all."""
    table = np.random.default_rng(3).lognormal(size=(rows, 1)).round(3)
    text = kernel_spec("gini", ["income"], None, table, rate=rate)
    values = tuple((float(value),) for value in table[:, 0])
    graph = pg.graphs.cycle(peers) if peers > 2 else pg.graphs.path(2)
    return make_plan(text, values, graph, peers, seed=1)
