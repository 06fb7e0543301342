"""Every fast engine gives the plain algorithm's numbers on the same schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pairgossip import kernels
from pairgossip.algorithms import weighted_gosta
from pairgossip.algorithms.methods import METHODS, Method, Twin, find_method
from pairgossip.arrays import FloatArray
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Procedure
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from pairgossip.kernels.kernel import FORMULAS
from pairgossip.kernels.problem import Means
from tests.problems import SMALL_GRAPHS, labeled_rows, rows, skewed

VARIANTS = [
    ("gosta", "sync", "update-first"),
    ("gosta", "sync", "exchange-first"),
    ("gosta", "async", "update-first"),
    ("weighted-gosta", "async", "update-first"),
    ("u1", "sync", "update-first"),
    ("u1", "async", "update-first"),
    ("tracking", "sync", "update-first"),
    ("tracking", "async", "update-first"),
    ("collect", "sync", "update-first"),
    ("collect", "async", "update-first"),
    ("u2", "sync", "update-first"),
]

PROBLEMS: dict[str, tuple[Any, Callable[[int], FloatArray]]] = {
    "variance": ("variance", rows),
    "gini": ("gini", rows),
    "distance": ("distance", rows),
    "distance of points": ("distance", lambda n: rows(n, 3)),
    "kendall": ("kendall", lambda n: np.round(rows(n, 2), 1)),
    "concordance": ("concordance", lambda n: np.round(rows(n, 2), 1)),
    "concordance with events": ("concordance", lambda n: np.round(labeled_rows(n, 2))),
    "auc": ("auc", labeled_rows),
    "auc, ties lost": (kernels.auc(ties=0.0), labeled_rows),
    "ranking-risk": ("ranking-risk", lambda n: labeled_rows(n, classes=3)),
    "squared scatter": ("within-cluster-scatter", lambda n: labeled_rows(n, 3)),
    "scatter": (kernels.within_cluster_scatter(squared=False), lambda n: labeled_rows(n, 3)),
    "metric risk": ("metric-learning-risk", lambda n: labeled_rows(n, 3)),
    "metric risk, nonzero diagonal": (
        kernels.metric_learning_risk(threshold=0.5),
        lambda n: labeled_rows(n, 3),
    ),
    "gini-coefficient": ("gini-coefficient", rows),
    "kendall-b": ("kendall-b", lambda n: np.round(rows(n, 2), 1)),
    "gamma": ("goodman-kruskal-gamma", lambda n: np.round(rows(n, 2), 1)),
    "auc-difference": ("auc-difference", lambda n: labeled_rows(n, 2)),
    "user's": (skewed, rows),
    "user's on points": (lambda a, b: a[:, 0] * b[:, 1] ** 2, lambda n: rows(n, 2)),
    "ratio of user's and built-in": (kernels.Ratio(skewed, "gini"), rows),
}


def weights_for(method: Method, graph: Graph, law: str) -> FloatArray | None:
    return weighted_gosta.weights(graph.pick_probabilities(law)) if method.weighs_by_picks else None


def final_estimates(
    engine: str, problem: Pairs | Means, graph: Graph, variant: tuple[str, str, str], law: str
) -> FloatArray:
    method, clock, order = variant
    chosen = find_method(method, clock)
    schedule = Schedule(graph, law, root_seed(7), chosen.exchanges_per_iteration)
    weights = weights_for(chosen, graph, law)
    network = build_engine(engine, problem, Procedure(chosen, clock, order, weights))
    for block in (1, 2, 20, 57):
        network.advance(schedule.draw(block))
        network.estimates()  # reading must not disturb the run
    return network.estimates()


# Engines see only the events and weights of a law, so every law is tested with one target.
@pytest.mark.parametrize(("target", "law"), [("v", "uniform-edges"), ("u", "node-clocks")])
@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_fast_engines_equal_the_plain_algorithm(
    problem: str, variant: tuple[str, str, str], target: str, law: str
) -> None:
    kernel, make = PROBLEMS[problem]
    for name in ("star", "watts-strogatz"):
        graph = SMALL_GRAPHS[name]
        pairs = Pairs(make(graph.n), kernel, target)
        plain = final_estimates("plain", pairs, graph, variant, law)
        scale = np.abs(plain).max()
        for engine in ("tokens", "fused") if pairs.fusible else ("tokens",):
            fast = final_estimates(engine, pairs, graph, variant, law)
            np.testing.assert_allclose(fast, plain, rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
@pytest.mark.parametrize("problem", ["gini", "user's", "user's on points"])
def test_long_blocks_equal_many_short_ones(problem: str, variant: tuple[str, str, str]) -> None:
    """An engine may split a block; every piece must be carried out once."""
    kernel, make = PROBLEMS[problem]
    graph = SMALL_GRAPHS["watts-strogatz"]
    method, clock, order = variant
    chosen = find_method(method, clock)
    pairs = Pairs(make(graph.n), kernel)
    blocks = ([20_000], [100] * 200)
    results = []
    for sizes in blocks:
        schedule = Schedule(graph, "uniform-edges", root_seed(3), chosen.exchanges_per_iteration)
        weights = weights_for(chosen, graph, "uniform-edges")
        network = build_engine("auto", pairs, Procedure(chosen, clock, order, weights))
        for size in sizes:
            network.advance(schedule.draw(size))
        results.append(network.estimates())
    long, short = results
    np.testing.assert_array_equal(long, short)


@pytest.mark.parametrize("graph", SMALL_GRAPHS.values(), ids=SMALL_GRAPHS.keys())
def test_averaging_engine_equals_the_plain_algorithm(graph: Graph) -> None:
    means = Means(rows(graph.n))
    variant = ("averaging", "async", "update-first")
    plain = final_estimates("plain", means, graph, variant, "uniform-edges")
    fast = final_estimates("auto", means, graph, variant, "uniform-edges")
    np.testing.assert_array_equal(fast, plain)


@pytest.mark.parametrize("variant", VARIANTS[:-1], ids="-".join)
def test_two_nodes(variant: tuple[str, str, str]) -> None:
    graph = SMALL_GRAPHS["two nodes"]
    pairs = Pairs(rows(2), "gini")
    plain = final_estimates("plain", pairs, graph, variant, "uniform-edges")
    for engine in ("tokens", "fused"):
        fast = final_estimates(engine, pairs, graph, variant, "uniform-edges")
        np.testing.assert_allclose(fast, plain, rtol=1e-12)


@pytest.mark.parametrize("engine", ["plain", "tokens", "fused"])
@pytest.mark.parametrize("method", ["gosta", "weighted-gosta"])
def test_nodes_that_were_never_picked_estimate_zero(method: str, engine: str) -> None:
    graph, chosen = SMALL_GRAPHS["star"], find_method(method, "async")
    pairs = Pairs(rows(graph.n), "gini")
    weights = weights_for(chosen, graph, "uniform-edges")
    network = build_engine(engine, pairs, Procedure(chosen, "async", weights=weights))
    network.advance((graph.edges[:1].copy(),))  # writable, as schedules draw them
    estimates = network.estimates()[:, 0]
    picked = np.isin(np.arange(graph.n), graph.edges[0])
    assert (estimates[picked] > 0).all() and not estimates[~picked].any()


def test_every_twin_is_compared() -> None:
    compared = {(method, clock) for method, clock, _ in VARIANTS}
    claimed = {
        (method.name, clock)
        for method in METHODS.values()
        for clock, twin in method.twins.items()
        if twin is not Twin.AVERAGING
    }
    assert claimed == compared


def test_every_builtin_kernel_is_compiled() -> None:
    not_compiled = {
        name
        for name in kernels.CATALOG
        if any(part.formula is kernels.Formula.NONE for part in kernels.CATALOG[name]().components)
    }
    assert not_compiled == {"energy-distance", "hand-till", "mmd"}
    tested = {
        part.formula
        for kernel, _ in PROBLEMS.values()
        for part in kernels.as_kernel(kernel).components
    }
    assert set(FORMULAS.values()) == tested
