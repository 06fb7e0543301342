"""Exact expectations against brute force, and the geometric sums they are made of."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pairgossip as pg
from pairgossip import InputError
from pairgossip.arrays import FloatArray
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from pairgossip.theory import expected_estimates, row_mean_error
from pairgossip.theory.expectation import _GeometricSums
from tests.problems import SMALL_GRAPHS, rows, skewed

CASES = [
    ("gosta", "update-first"),
    ("gosta", "exchange-first"),
    ("u1", "update-first"),
    ("u2", "update-first"),
]


def by_matrix_powers(
    H: FloatArray, graph: Graph, t: int, method: str, order: str, law: str
) -> FloatArray:
    L = graph.laplacian_dense(law)
    identity = np.eye(graph.n)
    W1, W2 = identity - L, identity - L / 2

    def power(W: FloatArray, s: int) -> FloatArray:
        return np.linalg.matrix_power(W, s)

    total = np.zeros(graph.n)
    for s in range(1, t + 1):
        if method == "gosta" and order == "update-first":
            total += power(W2, t - s + 1) @ (H * power(W1, s - 1)).sum(axis=1)
        elif method == "gosta":
            total += power(W2, t - s) @ (H * power(W1, s)).sum(axis=1)
        elif method == "u1":
            total += (H * power(W1, s)).sum(axis=1)
        else:
            total += np.diag(power(W1, s - 1) @ H @ power(W1, s - 1))
    return total / t


@pytest.mark.pairs
@pytest.mark.parametrize("law", ["uniform-edges", "node-clocks"])
@pytest.mark.parametrize(("method", "order"), CASES)
@pytest.mark.parametrize("graph", SMALL_GRAPHS.values(), ids=SMALL_GRAPHS.keys())
def test_equals_matrix_powers(graph: Graph, method: str, order: str, law: str) -> None:
    if method == "u2" and graph.n == 2:
        pytest.skip("U2-gossip refuses two nodes")
    H = Pairs(rows(graph.n), skewed).matrix()
    iterations = [1, 2, 3, 10, 101]
    expected = expected_estimates(H, graph, iterations, method=method, order=order, law=law)
    for t, row in zip(iterations, expected, strict=True):
        direct = by_matrix_powers(H, graph, t, method, order, law)
        np.testing.assert_allclose(row, direct, rtol=1e-11, atol=1e-12 * np.abs(H).max())


def test_averaging_equals_matrix_powers() -> None:
    graph = SMALL_GRAPHS["pendant"]
    values = rows(graph.n)
    W2 = np.eye(graph.n) - graph.laplacian_dense("uniform-edges") / 2
    got = expected_estimates(values, graph, [3], method="averaging")
    np.testing.assert_allclose(got[0], np.linalg.matrix_power(W2, 3) @ values, rtol=1e-12)


def test_shapes_and_iterations_are_checked() -> None:
    graph = SMALL_GRAPHS["path"]
    with pytest.raises(InputError, match=r"have shape \(3, 3\).*needs shape \(5, 5\)"):
        expected_estimates(np.eye(3), graph, [1])
    with pytest.raises(InputError, match="give iterations >= 1"):
        expected_estimates(np.eye(5), graph, [0])
    with pytest.raises(InputError, match=r"have shape \(3, 3\): u1.* needs shape"):
        row_mean_error(np.eye(3), graph, [1])
    with pytest.raises(InputError, match="give iterations >= 1"):
        row_mean_error(np.eye(5), graph, [0])


ratios = st.floats(-1, 1, allow_subnormal=False).filter(lambda r: r == 0 or abs(r) > 1e-3)


def exact_sum(a: float, b: float, terms: int) -> float:
    x, y = Fraction(a), Fraction(b)
    return float(sum(x ** (terms - 1 - s) * y**s for s in range(terms)))


@given(a=ratios, b=ratios, terms=st.integers(1, 60))
def test_equals_rational_arithmetic(a: float, b: float, terms: int) -> None:
    got = _GeometricSums(np.array([a]), np.array([b]))(terms)[0]
    size = sum(abs(a) ** (terms - 1 - s) * abs(b) ** s for s in range(terms))
    assert got == pytest.approx(exact_sum(a, b, terms), rel=1e-12, abs=1e-13 * size)


@given(a=st.floats(0.1, 1), offset=st.floats(-1e-6, 1e-6), terms=st.integers(1, 60))
def test_nearly_equal_ratios_lose_no_digits(a: float, offset: float, terms: int) -> None:
    b = min(a + offset, 1.0)
    got = _GeometricSums(np.array([a]), np.array([b]))(terms)[0]
    assert got == pytest.approx(exact_sum(a, b, terms), rel=1e-13)


def test_many_terms_of_equal_ratios() -> None:
    got = _GeometricSums(np.ones((1, 2)), np.array([[1.0], [0.5]]))(10**9)
    np.testing.assert_allclose(got, [[1e9, 1e9], [2.0, 2.0]], rtol=1e-15)


@pytest.mark.parametrize("law", ["uniform-edges", "node-clocks"])
@pytest.mark.parametrize("name", ["star", "watts-strogatz", "complete"])
def test_the_error_of_row_means_is_what_runs_show(name: str, law: str) -> None:
    """Rows start in order; the starting order is forgotten."""
    graph = SMALL_GRAPHS[name]
    x, at = np.sort(rows(graph.n)), np.array([2_000, 8_000])
    run = pg.estimate(
        x, "gini", graph, method="u1", law=law, iterations=8_000, checkpoints=at, trials=150, seed=0
    )
    expected = row_mean_error(Pairs(x, "gini").matrix(), graph, at, law)
    np.testing.assert_allclose(run.error, expected, rtol=0.1)


def test_the_error_of_row_means_by_brute_force() -> None:
    """Two visits are almost independent, except for returns of the same visitor."""
    graph, n, t = SMALL_GRAPHS["watts-strogatz"], SMALL_GRAPHS["watts-strogatz"].n, 60
    H = Pairs(rows(n), skewed).matrix()
    W = np.eye(n) - graph.laplacian_dense("uniform-edges")
    centered = H - H.mean(axis=1, keepdims=True)
    again = [np.diag(np.linalg.matrix_power(W, d)) for d in range(t)]
    spread = np.mean(centered**2, axis=1)
    pairs = sum(
        again[abs(s - u)] - (1 - again[abs(s - u)]) / (n - 1) for s in range(t) for u in range(t)
    )
    bias = expected_estimates(centered, graph, [t], method="u1")[0]
    squares = bias**2 + spread * pairs / t**2
    assert row_mean_error(H, graph, [t])[0] == pytest.approx(np.sqrt(squares.mean()), rel=1e-10)
