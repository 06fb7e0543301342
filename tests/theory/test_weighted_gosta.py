"""Weighted GoSta: exact expectation of its sums, limit, rate and bias."""

from __future__ import annotations

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.algorithms import weighted_gosta
from pairgossip.algorithms.methods import find_method
from pairgossip.arrays import FloatArray
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Procedure
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from tests.problems import SMALL_GRAPHS, rows, skewed

METHOD = find_method("weighted-gosta", "async")
STAR = pg.graphs.star(8)
HUB_STANDS_OUT = np.array([10.0, *range(1, 8)])
"""The node of degree 7 holds the outlier: weighting by degree gives a large error."""


def edge_probabilities(graph: Graph, law: str) -> FloatArray:
    """Return the symmetric matrix of the probabilities that i and j meet."""
    L = graph.laplacian_dense(law)
    return np.diag(np.diag(L)) - L


def expected_mass(
    H: FloatArray, Q: FloatArray, weights: FloatArray, steps: int
) -> tuple[FloatArray, FloatArray]:
    """Iterate the expectations of sums and weights, which follow a linear recursion."""
    n = len(H)
    laplacian = np.diag(Q.sum(axis=1)) - Q
    walk, S, W = np.eye(n), np.zeros(n), np.zeros(n)
    for _ in range(steps):
        # If it is picked together with j, node k then holds what j held.
        added = (H * (Q @ walk)).sum(axis=1)
        S = S - laplacian @ S / 2 + weights * added
        W = W - laplacian @ W / 2 + weights * Q.sum(axis=1)
        walk = walk - laplacian @ walk
    return S, W


@pytest.mark.parametrize("law", ["uniform-edges", "node-clocks"])
@pytest.mark.parametrize("name", ["star", "pendant", "cycle", "barabasi-albert"])
def test_the_expected_ratio_tends_to_the_statistic(name: str, law: str) -> None:
    graph = SMALL_GRAPHS[name]
    pairs = Pairs(rows(graph.n), skewed)
    Q = edge_probabilities(graph, law)
    weights = weighted_gosta.weights(graph.pick_probabilities(law))
    target, biases = pairs.exact(), []
    for steps in (2_000, 4_000):
        S, W = expected_mass(pairs.matrix(), Q, weights, steps)
        biases.append(np.abs(S / W - target).max())
    assert biases[1] < 0.02 * target
    assert biases[1] == pytest.approx(biases[0] / 2, rel=0.01)


def test_the_limit_is_the_statistic_where_equal_weights_miss_it() -> None:
    target = Pairs(HUB_STANDS_OUT, "variance").exact()
    run = pg.estimate(
        HUB_STANDS_OUT, "variance", STAR, method="weighted-gosta", clock="async",
        iterations=200_000, checkpoints=1, trials=20, seed=0,
    )  # fmt: skip
    assert run.target == target
    assert run.mean[-1] == pytest.approx(target, rel=5e-3)

    pairs = Pairs(HUB_STANDS_OUT, "variance")
    network = build_engine("fused", pairs, Procedure(METHOD, "async", weights=np.ones(STAR.n)))
    network.advance(Schedule(STAR, "uniform-edges", root_seed(0)).draw(200_000))
    by_degree = STAR.degrees @ pairs.row_means() / STAR.degrees.sum()
    assert by_degree > 1.4 * target
    assert network.estimates().mean() == pytest.approx(by_degree, rel=0.02)
