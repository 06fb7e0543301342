"""Exact statistics: both kinds, any kernel, and the conversions between them."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import (
    CATALOG,
    Combination,
    Kernel,
    Ratio,
    distance,
    exact,
    metric_learning_risk,
    row_means,
)
from pairgossip.kernels.blocks import (
    NUMBERS_PER_BLOCK,
    blocked_rows,
    blocked_total,
    diagonal_total,
    tile_side,
    tiles,
)
from pairgossip.kernels.builtin.spread import GINI
from pairgossip.kernels.exact import probe, scattered_pairs

from .reference import SCALARS, Row, brute_force, random_data, rows_of, without_closed_forms

VALUES = hnp.arrays(np.float64, st.integers(2, 12), elements=st.floats(-50, 50, width=32))


def skew(a: FloatArray, b: FloatArray) -> FloatArray:
    return a * a * b + 3.0


def weighted_gap(a: FloatArray, b: FloatArray) -> FloatArray:
    return (a[:, 0] - 2.0 * b[:, 0]) * b[:, 1]


@given(VALUES)
@settings(max_examples=60, deadline=None)
def test_a_function_that_is_not_symmetric(data: FloatArray) -> None:
    for kind in ("v", "u"):
        expected = brute_force(rows_of(data), [lambda x, y: x[0] ** 2 * y[0] + 3.0], kind)
        assert exact(data, skew, kind) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_several_columns_reach_the_function_side_by_side() -> None:
    data = random_data("kendall", 50)
    scalar = [lambda x, y: (x[0] - 2.0 * y[0]) * y[1]]
    for kind in ("v", "u"):
        expected = brute_force(rows_of(data), scalar, kind)
        assert exact(data, weighted_gap, kind) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", sorted(CATALOG))
@pytest.mark.parametrize("kind", ["v", "u"])
def test_the_blocked_way_gives_the_same(name: str, kind: str) -> None:
    data = random_data(name, 700)
    blocked = exact(data, without_closed_forms(CATALOG[name]()), kind)
    assert blocked == pytest.approx(exact(data, name, kind), rel=1e-12)


def test_one_observation() -> None:
    assert exact([3.0], "gini") == 0.0
    assert exact([3.0], skew) == 30.0
    assert np.isnan(exact([[3.0, 1.0]], "concordance"))


def test_a_ratio_with_nothing_to_compare_is_nan() -> None:
    assert np.isnan(exact([[1, 5], [2, 5], [3, 5]], "concordance", "u"))


def test_a_diagonal_that_is_not_zero() -> None:
    data = random_data("metric-learning-risk", 30)
    rows = rows_of(data)

    def hinge(x: Row, y: Row) -> float:
        sign = 1 if x[-1] == y[-1] else -1
        return max(0.0, 1.0 - (0.5 - math.dist(x[:-1], y[:-1])) * sign)

    for kind in ("v", "u"):
        expected = brute_force(rows, [hinge], kind)
        statistic = exact(data, metric_learning_risk(threshold=0.5), kind)
        assert statistic == pytest.approx(expected, rel=1e-12)


def test_labels_are_the_last_column() -> None:
    scores, labels = [0.1, 0.9, 0.4], ["no", "yes", "no"]
    assert pg.exact(scores, "auc", labels=labels, positive="yes") == 1.0
    assert exact([[0.1, 0], [0.9, 1], [0.4, 0]], "auc") == 1.0


@pytest.mark.parametrize("name", ["variance", "gini", "distance", "ranking-risk"])
def test_row_means(name: str) -> None:
    data = random_data(name, 40)
    rows, (scalar,) = rows_of(data), SCALARS[name]
    expected = [np.mean([scalar(x, y) for y in rows]) for x in rows]
    np.testing.assert_allclose(row_means(data, name), expected, rtol=1e-12)
    assert row_means(data, name).mean() == pytest.approx(exact(data, name))


def test_row_means_of_a_function_that_is_not_symmetric() -> None:
    data = np.array([1.0, 2.0, 5.0])
    np.testing.assert_allclose(row_means(data, skew), data**2 * data.mean() + 3.0)


def test_progress() -> None:
    for kernel, steps in (("gini", 1), ("auc", 2), (skew, 1)):
        seen: list[float] = []
        data = random_data("auc", 20)
        exact(data if kernel == "auc" else data[:, 0], kernel, progress=seen.append)
        assert len(seen) == steps
        assert seen == sorted(seen)
        assert seen[-1] == 1.0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: exact([1.0], "gini", "u"),
            "A U-statistic needs at least 2 observations, but there is 1: ask for the V-statistic.",
        ),
        (
            lambda: exact([1.0, 2.0], "gini", "w"),
            "Unknown kind of statistic 'w': choose one of u, v.",
        ),
        (
            lambda: exact([1.0, 2.0], "gini", 2),  # type: ignore[arg-type]
            "Unknown kind of statistic '2': choose one of u, v.",
        ),
        (
            lambda: row_means([[1.0, 0.0], [2.0, 1.0]], "auc"),
            "Row means are defined for one kernel, but 'auc' is made of 2: "
            "ask for one of its components.",
        ),
        (
            lambda: exact([0.0] * 500 + [1e154], "variance"),
            "The sum of kernel 'variance' over all pairs overflows: rescale the data first.",
        ),
        (
            lambda: row_means([0.0] * 500 + [1e154], "variance"),
            "The sum of kernel 'variance' over all pairs overflows: rescale the data first.",
        ),
        (
            lambda: exact(np.arange(2000.0), lambda x, y: 1e300 * (x - 999)),
            "The sum of kernel 'custom' over all pairs overflows: rescale the data first.",
        ),
        (
            lambda: exact(np.arange(2000.0), lambda x, y: 1e304 * (x - 999)),
            "The sum of kernel 'custom' over all pairs overflows: rescale the data first.",
        ),
        (
            lambda: exact([0.0, 1e200], "variance"),
            "Kernel 'variance' is NaN or infinite for observations 0 and 1 "
            "(counting from 0): it must be finite for every pair.",
        ),
    ],
)
def test_what_cannot_be_computed(call: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


def test_kinds_in_any_case() -> None:
    assert exact([1.0, 2.0], "gini", "U") == 1.0
    assert exact([1.0, 2.0], "gini", "V") == 0.5


def test_a_ratio_of_user_functions() -> None:
    data = np.array([1.0, 2.0, 4.0])
    relative_gini = Ratio("gini", lambda a, b: a + b, name="relative-gini")
    assert exact(data, relative_gini, "u") == pytest.approx((1 + 2 + 3) / (3 + 6 + 5))


def find_complaint(kernel: Kernel | Combination, data: FloatArray) -> str | None:
    """Return what `probe` says of a kernel, None if it keeps its promises."""
    try:
        probe(kernel, data)
    except InputError as problem:
        return str(problem)
    return None


@pytest.mark.parametrize("name", sorted(CATALOG))
@pytest.mark.parametrize("n", [2, 100])
def test_built_in_kernels_pass(name: str, n: int) -> None:
    assert find_complaint(CATALOG[name](), random_data(name, n)) is None


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (
            Kernel(lambda a, b: 1 / (a - b), name="inverse"),
            "Kernel 'inverse' is NaN or infinite for observations 0 and 0 (counting from 0): "
            "it must be finite for every pair.",
        ),
        (
            Kernel(lambda a, b: np.exp(1000 * a - b), name="growth"),
            "Kernel 'growth' is NaN or infinite for observations 1 and 0 (counting from 0): "
            "it must be finite for every pair.",
        ),
        (
            Kernel(lambda a, b: a + b, name="sum", zero_diagonal=True),
            "Kernel 'sum' says zero_diagonal=True but h(x, x) is 2 for some x: "
            "set zero_diagonal=False.",
        ),
        (
            Kernel(lambda a, b: a - b, name="gap", symmetric=True),
            "Kernel 'gap' says symmetric=True but h(x, y) and h(y, x) differ: set symmetric=False.",
        ),
        (
            Kernel(lambda a, b: a - a.mean(), name="centered"),
            "Kernel 'centered' treats the same pair differently alone and among others: "
            "what it returns for a pair must depend on that pair only.",
        ),
        (
            Kernel(lambda a, b: (a - b).max(), name="largest"),
            "Kernel 'largest' returned shape () for 9 pairs: "
            "it must return one value per pair, shape (9,).",
        ),
        (
            Kernel(lambda a, b: a * b, name="product", total=lambda data: 1.0),
            "Kernel 'product' has a closed form total= that gives 1 on 3 rows where its function "
            "adds up to 9: correct it, or leave it out.",
        ),
        (
            Kernel(lambda a, b: a * b, name="product", total=lambda data: data),  # type: ignore[arg-type, return-value]
            "Kernel 'product' has a closed form total= that returned shape (3,) for 3 rows: it "
            "must return one number.",
        ),
        (
            Kernel(lambda a, b: a * b, name="product", row_totals=lambda data: data + 1.0),
            "Kernel 'product' has a closed form row_totals= that gives 1 on 3 rows where its "
            "function adds up to 0: correct it, or leave it out.",
        ),
        (
            Kernel(lambda a, b: a * b, name="product", row_totals=lambda data: data.nothing),
            "Kernel 'product' has a closed form row_totals= that failed on 3 rows: "
            "'numpy.ndarray' object has no attribute 'nothing'.",
        ),
        (
            Kernel(lambda a, b: (a - b) ** 2, name="square", formula=GINI),
            "Kernel 'square' says formula=Formula.GINI, but its function gives other values: "
            "leave formula= out.",
        ),
    ],
)
def test_broken_promises(kernel: Kernel, sentence: str) -> None:
    for probed in (kernel, Ratio("gini", kernel)):
        assert find_complaint(probed, np.arange(3.0)) == sentence


def test_one_observation_is_enough() -> None:
    assert find_complaint(Kernel(lambda a, b: a + b), np.array([3.0])) is None


def test_right_closed_forms_pass() -> None:
    kernel = Kernel(
        lambda a, b: a * b,
        total=lambda data: float(data.sum() ** 2),
        row_totals=lambda data: data * data.sum(),
    )
    for data in (np.arange(100.0), np.full(9, 0.1), np.array([1e150, 2e150]), np.array([3.0])):
        assert find_complaint(kernel, data) is None
    offset = np.random.default_rng(0).normal(size=40) + 1e6
    squares = Kernel(lambda a, b: (a - b) ** 2, total=lambda x: 2 * x.size**2 * x.var())
    assert find_complaint(squares, offset) is None


def test_pairs_out_of_step_with_the_rows() -> None:
    nodes, held = scattered_pairs(1000, 256)
    assert (nodes[:8] == held[:8]).all()
    assert len(set(zip(nodes.tolist(), held.tolist(), strict=True))) == 256
    for period in (2, 8, 50, 125):
        assert min(len(np.unique(part % period)) for part in (nodes, held)) > 0.8 * period
    assert [part.tolist() for part in scattered_pairs(1, 3)] == [[0, 0, 0]] * 2


@pytest.mark.parametrize(("n", "side"), [(1, 1), (1, 5), (5, 1), (7, 3), (9, 3), (4, 100)])
def test_tiles_cover_every_pair_once(n: int, side: int) -> None:
    whole, half = np.zeros((n, n)), np.zeros((n, n))
    for rows, columns in tiles(n, side, half=False):
        whole[rows, columns] += 1
    np.testing.assert_array_equal(whole, 1)
    for rows, columns in tiles(n, side, half=True):
        half[rows, columns] += 1
        if rows != columns:
            half.T[rows, columns] += 1
    np.testing.assert_array_equal(half, 1)


@pytest.mark.parametrize("columns", [1, 2, 7, 10**6])
def test_tiles_are_bounded(columns: int) -> None:
    assert tile_side(columns) ** 2 * columns <= max(NUMBERS_PER_BLOCK, columns)


def test_sums_across_several_tiles() -> None:
    data = np.random.default_rng(0).normal(size=1200)
    skew = Kernel(lambda a, b: a * a * b - b)
    values = data[:, None] ** 2 * data - data
    assert blocked_total(skew, data) == pytest.approx(values.sum(), rel=1e-11)
    np.testing.assert_allclose(blocked_rows(skew, data), values.sum(axis=1), rtol=1e-9)
    assert diagonal_total(skew, data) == pytest.approx(np.trace(values), rel=1e-11)
    mirrored = np.abs(data[:, None] - data)
    assert blocked_total(distance(), data) == pytest.approx(mirrored.sum(), rel=1e-12)
    np.testing.assert_allclose(blocked_rows(distance(), data), mirrored.sum(axis=1), rtol=1e-12)


def test_a_diagonal_longer_than_a_block() -> None:
    data = np.arange(NUMBERS_PER_BLOCK + 10, dtype=float)
    assert diagonal_total(Kernel(lambda a, b: a + b), data) == 2 * data.sum()


def test_memory_is_bounded() -> None:
    data = np.random.default_rng(0).normal(size=(3000, 4))
    tracemalloc.start()
    blocked_total(distance(), data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All pairs at once would take 3000^2 * 4 * 8 bytes = 288 MB for one side.
    assert peak < 16e6


@pytest.mark.parametrize("symmetric", [True, False])
def test_progress_rises_to_one(symmetric: bool) -> None:
    seen: list[float] = []
    kernel = Kernel(lambda a, b: a + b, symmetric=symmetric)
    blocked_total(kernel, np.zeros(1300), seen.append)
    assert seen == sorted(seen)
    assert len(seen) == (6 if symmetric else 9)
    assert seen[-1] == 1.0


def test_where_a_kernel_is_not_finite() -> None:
    pole = Kernel(lambda a, b: np.where((a == 700) & (b == 3), np.nan, 1.0), name="pole")
    with pytest.raises(InputError) as caught:
        blocked_total(pole, np.arange(1000.0))
    assert str(caught.value) == (
        "Kernel 'pole' is NaN or infinite for observations 700 and 3 (counting from 0): "
        "it must be finite for every pair."
    )
