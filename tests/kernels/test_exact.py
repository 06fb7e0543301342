"""Exact statistics: both kinds, any kernel, and the conversions between them."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import (
    CATALOG,
    Combination,
    Kernel,
    Ratio,
    distance,
    exact,
    row_means,
)
from pairgossip.kernels.blocks import (
    NUMBERS_PER_BLOCK,
    blocked_rows,
    blocked_total,
    diagonal_total,
    tiles,
)
from pairgossip.kernels.builtin.spread import GINI
from pairgossip.kernels.exact import probe, scattered_pairs

from .reference import brute_force, random_data, rows_of, without_closed_forms

VALUES = hnp.arrays(np.float64, st.integers(2, 12), elements=st.floats(-50, 50, width=32))


def skew(a: FloatArray, b: FloatArray) -> FloatArray:
    return a * a * b + 3.0


@given(VALUES)
@settings(max_examples=60, deadline=None)
def test_a_function_that_is_not_symmetric(data: FloatArray) -> None:
    for kind in ("v", "u"):
        expected = brute_force(rows_of(data), [lambda x, y: x[0] ** 2 * y[0] + 3.0], kind)
        assert exact(data, skew, kind) == pytest.approx(expected, rel=1e-9, abs=1e-9)


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


def test_progress() -> None:
    for kernel, steps in (("gini", 1), ("auc", 2), (skew, 1)):
        seen: list[float] = []
        data = random_data("auc", 20)
        exact(data if kernel == "auc" else data[:, 0], kernel, progress=seen.append)
        assert len(seen) == steps
        assert seen == sorted(seen)
        assert seen[-1] == 1.0


def find_complaint(kernel: Kernel | Combination, data: FloatArray) -> str | None:
    """Return the error of `probe` for a kernel; None if the kernel is as declared."""
    try:
        probe(kernel, data)
    except InputError as problem:
        return str(problem)
    return None


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


ROWS = [0.0] * 500 + [1e154]
OVERFLOWS = "'{}' over all pairs overflows: rescale the data first"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: exact([1.0], "gini", "u"),
            "needs at least 2 observations, but there is 1: ask for",
        ),
        (
            lambda: exact([1.0, 2.0], "gini", "w"),
            "Unknown kind of statistic 'w': choose one of u, v",
        ),
        (lambda: row_means([[1, 0], [2, 1]], "auc"), "for one kernel, but 'auc' is made of 2: ask"),
        (lambda: exact(ROWS, "variance"), OVERFLOWS.format("variance")),
        (lambda: row_means(ROWS, "variance"), OVERFLOWS.format("variance")),
        (lambda: exact(np.arange(2e3), lambda x, y: 1e300 * (x - 999)), OVERFLOWS.format("custom")),
        (lambda: exact(np.arange(2e3), lambda x, y: 1e304 * (x - 999)), OVERFLOWS.format("custom")),
        (lambda: exact([0.0, 1e200], "variance"), "infinite for observations 0 and 1 .*every pair"),
    ],
)
def test_what_cannot_be_computed(call: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        call()


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    return a * b


@pytest.mark.parametrize(
    ("function", "facts", "sentence"),
    [
        (lambda a, b: 1 / (a - b), {}, "is NaN or infinite for observations 0 and 0"),
        (lambda a, b: np.exp(1000 * a - b), {}, "is NaN or infinite for observations 1 and 0"),
        (
            np.add,
            {"zero_diagonal": True},
            r"declares zero_diagonal=True but h\(x, x\) is 2 for some x",
        ),
        (
            np.subtract,
            {"symmetric": True},
            r"declares symmetric=True but h\(x, y\) and h\(y, x\) diff",
        ),
        (
            lambda a, b: a - a.mean(),
            {},
            "gives other values for a pair alone than for the same pair",
        ),
        (lambda a, b: (a - b).max(), {}, r"returned shape \(\) for 9 pairs: .* shape \(9,\)"),
        (product, {"total": lambda data: 1.0}, "total= that gives 1 on 3 rows where .* up to 9: c"),
        (product, {"total": lambda data: data}, r"total= that returned shape \(3,\) for 3 rows: i"),
        (product, {"row_totals": lambda data: data + 1.0}, "row_totals= that gives 1 on 3 rows wh"),
        (product, {"row_totals": lambda data: data.nothing}, "row_totals= that failed on 3 rows: "),
        (
            lambda a, b: (a - b) ** 2,
            {"formula": GINI},
            "declares formula=Formula.GINI, but its functi",
        ),
    ],
)
def test_broken_promises(function: Any, facts: dict[str, Any], sentence: str) -> None:
    kernel = Kernel(function, name="mine", **facts)
    for probed in (kernel, Ratio("gini", kernel)):
        with pytest.raises(InputError, match=f"^Kernel 'mine' .*{sentence}"):
            probe(probed, np.arange(3.0))


def test_where_a_kernel_is_not_finite() -> None:
    pole = Kernel(lambda a, b: np.where((a == 700) & (b == 3), np.nan, 1.0), name="pole")
    with pytest.raises(
        InputError, match=r"^Kernel 'pole' is NaN or infinite for observations 700 and"
    ):
        blocked_total(pole, np.arange(1000.0))
