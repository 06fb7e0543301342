"""Small swarms for tests."""

from __future__ import annotations

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.graphs import Graph
from pairgossip.swarm.plan import Plan, kernel_spec, make_plan


def gini_plan(peers: int, rows: int, rate: float = 20.0) -> Plan:
    """Peers on a ring with this many rows in all."""
    table = np.random.default_rng(3).lognormal(size=(rows, 1)).round(3)
    text = kernel_spec("gini", ["income"], None, table, rate=rate)
    values = tuple((float(value),) for value in table[:, 0])
    graph = pg.graphs.cycle(peers) if peers > 2 else pg.graphs.path(2)
    return make_plan(text, values, graph, peers, seed=1)


SUMS_OF = """
{measure}
columns = {columns}
{label}
[ranges]
{ranges}
[algorithm]
name = "sums"
"""


def cancer_plan(peers: int, graph: Graph | None = None) -> Plan:
    """Peers that learn to order cases of breast cancer from sums, on a ring unless told."""
    features, labels = pg.datasets.breast_cancer_wisconsin()
    names = [f"x{k}" for k in range(features.shape[1])]
    text = SUMS_OF.format(
        measure='loss = "auc-logistic"',
        columns=names,
        label='label = "y"',
        ranges="\n".join([*(f"{name} = [1, 10]" for name in names), "y = [0, 1]"]),
    )
    rows = tuple(tuple(row) for row in np.column_stack([features, labels]).tolist())
    return make_plan(text, rows, graph or pg.graphs.cycle(peers), peers, seed=1)


def cancer_loss(model: FloatArray) -> float:
    """Return what a model makes of all cases, as peers minimize it."""
    features, labels = pg.datasets.breast_cancer_wisconsin()
    scores = features @ model
    margins = np.subtract.outer(scores[labels == 1], scores[labels == 0])
    return float(np.logaddexp(0, -margins).sum()) / len(labels) ** 2


def income_sums_plan(
    peers: int, rows: int, graph: Graph | None = None, epsilon: float | None = None
) -> Plan:
    """Peers that compute the Gini mean difference from sums, on a line unless a graph is given."""
    table = np.random.default_rng(3).uniform(1, 99, size=(rows, 1))
    text = SUMS_OF.format(
        measure='kernel = "gini"', columns=["income"], label="", ranges="income = [0, 100]"
    )
    if epsilon is not None:
        text += f"[privacy]\nepsilon = {epsilon}\n"
    values = tuple((float(value),) for value in table[:, 0])
    return make_plan(text, values, graph or pg.graphs.path(peers), peers, seed=1)
