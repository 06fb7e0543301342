"""Corrected bounds hold on every graph and kernel; printed ones fail where the errata say so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairgossip as pg
from pairgossip import InputError, graphs
from pairgossip.arrays import FloatArray
from pairgossip.checks import ORDERS
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from pairgossip.theory import (
    averaging_bound,
    averaging_expectation_bound,
    constants,
    expected_estimates,
    gossip_spectrum,
    gosta_deviation_bound,
    gosta_expectation_bound,
    gosta_sharper_deviation_bound,
    u1_gossip_bound,
    u2_gossip_bound,
)
from tests.problems import SMALL_GRAPHS, rows, skewed

ITERATIONS = np.array([1, 2, 3, 5, 10, 30, 100, 300, 1000])
ROUNDING = 1 + 1e-9
graphs_and_laws = pytest.mark.parametrize(
    ("graph", "law"),
    [(g, law) for g in SMALL_GRAPHS.values() for law in graphs.LAWS],
    ids=[f"{name}, {law}" for name in SMALL_GRAPHS for law in graphs.LAWS],
)


def matrices(n: int) -> list[FloatArray]:
    """Return symmetric, asymmetric, row-only and column-only pair values."""
    rng = np.random.default_rng(n)
    noise, column = rng.normal(size=(n, n)), rng.normal(size=(n, 1))
    gini = Pairs(rows(n), "gini").matrix()
    return [
        gini,
        100 + gini,
        Pairs(rows(n), skewed).matrix(),
        noise,
        noise + noise.T,
        np.tile(column, n),
        np.tile(column.T, (n, 1)),
    ]


@pytest.mark.pairs
@pytest.mark.parametrize(("method", "order"), [("gosta", ORDERS[0]), ("gosta", ORDERS[1]),
                                               ("u1", ORDERS[0]), ("u2", ORDERS[0])])  # fmt: skip
@graphs_and_laws
def test_expectation_bounds(graph: Graph, law: str, method: str, order: str) -> None:
    if graph.n == 2 and method == "u2":
        pytest.skip("U2-gossip refuses two nodes")
    for H in matrices(graph.n):
        expected = expected_estimates(H, graph, ITERATIONS, method=method, order=order, law=law)
        bias, c = expected - H.mean(), constants(H, graph, law)
        if method == "u1":
            bias = expected - H.mean(axis=1)
            assert (np.abs(bias) <= ROUNDING * u1_gossip_bound(c, ITERATIONS) + 1e-12).all()
            continue
        printed = [False, True] if method == "u2" else [False]
        for form in printed:
            bound = {"gosta": gosta_expectation_bound, "u2": u2_gossip_bound}[method]
            limit = ROUNDING * bound(c, ITERATIONS, printed=form) + 1e-12
            assert (np.linalg.norm(bias, axis=1) <= limit).all()


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(3, 9),
    extra=st.integers(0, 12),
    seed=st.integers(0, 2**32 - 1),
)
def test_gosta_expectation_bound_on_random_connected_graphs(n: int, extra: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = {(int(rng.integers(k)), k) for k in range(1, n)}
    more = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(extra)}
    graph = Graph(n, np.array(sorted(tree | more)))
    H = rng.normal(size=(n, n))
    bias = np.linalg.norm(expected_estimates(H, graph, ITERATIONS) - H.mean(), axis=1)
    assert (bias <= ROUNDING * gosta_expectation_bound(constants(H, graph), ITERATIONS)).all()


@pytest.mark.slow
@pytest.mark.parametrize("order", ["update-first", "exchange-first"])
@pytest.mark.parametrize("name", [name for name in SMALL_GRAPHS if name != "two nodes"])
def test_expected_deviation_bound_holds_in_monte_carlo(name: str, order: str) -> None:
    graph = SMALL_GRAPHS[name]
    data = rows(graph.n)
    for kernel in ("gini", skewed):
        run = pg.estimate(
            data,
            kernel,
            graph,
            order=order,
            iterations=1000,
            checkpoints=ITERATIONS,
            trials=20,
            seed=5,
        )
        H = Pairs(data, kernel).matrix()
        bound = gosta_deviation_bound(constants(H, graph), ITERATIONS) / np.sqrt(graph.n)
        assert (run.error <= bound).all()
        printed = gosta_deviation_bound(constants(H, graph), ITERATIONS, printed=True)
        assert (bound * np.sqrt(graph.n) <= printed * ROUNDING).all()
        if order == "exchange-first":
            sharper = gosta_sharper_deviation_bound(H, gossip_spectrum(graph), 1000)
            sharper = sharper[ITERATIONS - 1] / np.sqrt(graph.n)
            assert (run.error <= sharper).all()
            assert (sharper <= bound * ROUNDING).all()


def test_adding_a_constant_changes_the_printed_deviation_bound_only() -> None:
    graph = SMALL_GRAPHS["cycle"]
    H = Pairs(rows(graph.n), "gini").matrix()
    near, far = constants(H, graph), constants(100 + H, graph)
    assert gosta_deviation_bound(far, 10) == pytest.approx(gosta_deviation_bound(near, 10))
    printed = gosta_deviation_bound(far, 10, printed=True)
    assert printed > 20 * gosta_deviation_bound(near, 10, printed=True)


def test_bounds_say_what_they_need() -> None:
    c = constants(np.eye(2), SMALL_GRAPHS["two nodes"])
    with pytest.raises(InputError, match="needs at least 3 nodes"):
        gosta_deviation_bound(c, 1)
    with pytest.raises(InputError, match="needs at least 3 nodes"):
        u2_gossip_bound(c, 1)
    with pytest.raises(InputError, match="give iterations >= 1"):
        gosta_expectation_bound(c, 0)
    with pytest.raises(InputError, match=r"needs shape \(2, 2\)"):
        constants(np.eye(3), SMALL_GRAPHS["two nodes"])


def test_the_formulas_by_hand() -> None:
    """Values worked out on paper for H = [[0, 1, 2], [1, 0, 1], [2, 1, 0]] on a path of 3."""
    H = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    c = constants(H, graphs.path(3))
    # Row means 1, 2/3, 1; U = 8/9; lambda = 1, |E| = 2, so x = 1/2.
    a = np.sqrt(2 / 81 + 4 / 81)
    F = np.sqrt(2 + 2 / 3 + 2)
    centered = np.sqrt(12 - 9 * (8 / 9) ** 2)
    R = np.sqrt(F**2 - 3 * a**2)
    assert (c.gap, c.row_mean_spread, c.within_rows) == pytest.approx((0.5, a, F))
    assert (c.centered, c.raw, c.interaction) == pytest.approx((centered, np.sqrt(12), R))
    t = 7
    assert gosta_expectation_bound(c, t) == pytest.approx((2 * a + F) / (0.5 * t))
    assert gosta_expectation_bound(c, t, printed=True) == pytest.approx((a + 2 * F) / (0.5 * t))
    second = 8 * (1 + 1 / 14)
    assert gosta_deviation_bound(c, t) == pytest.approx(
        np.sqrt((5 * F**2 + second * centered**2) / t)
    )
    assert gosta_deviation_bound(c, t, printed=True) == pytest.approx(
        np.sqrt((5 * F**2 + second * 12) / t)
    )
    assert u2_gossip_bound(c, t) == pytest.approx((2 * a + R / 1.5) / (0.5 * t))
    assert u2_gossip_bound(c, t, printed=True) == pytest.approx((2.5 / 1.5 * F + a) / (0.5 * t))
    rows_of_k = np.sqrt([2, 2 / 3, 2])
    np.testing.assert_allclose(u1_gossip_bound(c, t), np.sqrt(2 / 3) * rows_of_k / t)
    np.testing.assert_allclose(
        u1_gossip_bound(c, t, printed=True), np.sqrt([5, 2, 5]) / (2 * 0.5 * t)
    )
    values = np.array([0.0, 3.0, 3.0])
    assert averaging_bound(values, 0.5, 4) == pytest.approx(0.75**2 * np.sqrt(6))
    assert averaging_expectation_bound(values, 0.5, 4) == pytest.approx(0.75**4 * np.sqrt(6))
