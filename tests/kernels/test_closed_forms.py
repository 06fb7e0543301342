"""The closed forms against the blocked sums, at offsets and at sizes that loops cannot reach."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.arrays import BoolArray, FloatArray, PairFunction
from pairgossip.kernels import CATALOG, exact
from pairgossip.kernels.blocks import blocked_rows, blocked_total
from pairgossip.kernels.builtin.ranks import _pairs_above_at_ties
from pairgossip.kernels.orders import count_ascending_pairs, order_both, order_column

from .reference import random_data

CLOSED = sorted(n for n in CATALOG if all(part.total for part in CATALOG[n]().components))
ROWED = sorted(n for n in CATALOG if all(part.row_totals for part in CATALOG[n]().components))


def test_which_kernels_have_closed_forms() -> None:
    assert set(CATALOG) - set(CLOSED) == {
        *("distance", "energy-distance", "metric-learning-risk", "mmd")
    }
    assert ROWED == CLOSED


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("n", [2, 3, 7, 700])
def test_totals_are_the_blocked_sums(name: str, n: int) -> None:
    data = random_data(name, n)
    for part in CATALOG[name]().components:
        assert part.total is not None
        assert part.total(data) == pytest.approx(blocked_total(part, data), rel=1e-12)


@pytest.mark.parametrize("name", ROWED)
@pytest.mark.parametrize("n", [1, 2, 3, 700])
def test_row_totals_are_the_blocked_sums(name: str, n: int) -> None:
    data = random_data(name, n)
    for part in CATALOG[name]().components:
        assert part.row_totals is not None
        np.testing.assert_allclose(part.row_totals(data), blocked_rows(part, data), rtol=1e-12)
        mirrored = replace(part, function=partial(mirror, part.function))
        columns = part.row_totals if part.symmetric else part.column_totals
        assert columns is not None
        np.testing.assert_allclose(columns(data), blocked_rows(mirrored, data), rtol=1e-12)


@pytest.mark.parametrize("name", ROWED)
def test_weights_count_rows_as_often(name: str) -> None:
    data, repeats = random_data(name, 60), np.arange(60) % 4
    repeated = np.repeat(data, repeats, axis=0)
    kept = np.repeat(np.arange(60), repeats)
    for part in CATALOG[name]().components:
        for form in filter(None, (part.row_totals, part.column_totals)):
            weighed = form(data, repeats.astype(float))
            np.testing.assert_allclose(weighed[kept], form(repeated), rtol=1e-12, atol=1e-9)


def mirror(function: PairFunction, first: FloatArray, second: FloatArray) -> FloatArray:
    return function(second, first)


@pytest.mark.parametrize("kernel", ["variance", "gini"])
def test_a_large_offset_costs_no_digits(kernel: str) -> None:
    data = 1e9 + np.random.default_rng(5).normal(size=200)
    points = [Fraction(x) for x in data.tolist()]
    pairs = [abs(x - y) for x in points for y in points]
    summed = sum(d * d / 2 for d in pairs) if kernel == "variance" else sum(pairs)
    assert exact(data, kernel) == pytest.approx(float(summed / len(pairs)), rel=1e-12)


def test_a_large_offset_costs_no_digits_of_the_scatter() -> None:
    labels = np.arange(200) % 3
    data = 1e9 + np.random.default_rng(6).normal(size=200) + 100.0 * labels
    points = [(Fraction(x), c) for x, c in zip(data.tolist(), labels.tolist(), strict=True)]
    summed = sum((x - y) ** 2 for x, c in points for y, e in points if c == e)
    statistic = exact(data, "within-cluster-scatter", labels=labels)
    assert statistic == pytest.approx(float(summed / 200**2), rel=1e-12)


def test_counts_of_a_million_points_are_exact() -> None:
    n = 1_000_000
    rising = np.arange(n)
    assert exact(np.column_stack((rising, rising)), "kendall", "u") == 1.0
    assert exact(np.column_stack((rising, -rising)), "ranking-risk", "u") == 1.0
    assert exact(np.column_stack((rising, rising)), "concordance") == 1.0


ROWS = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.booleans()), min_size=1, max_size=40
)


def _columns(rows: list[tuple[int, int, bool]]) -> tuple[FloatArray, FloatArray, BoolArray]:
    first, second, marked = zip(*rows, strict=True)
    return np.array(first, float), np.array(second, float), np.array(marked, bool)


@given(ROWS)
@settings(max_examples=150, deadline=None)
def test_counts_are_double_loops(rows: list[tuple[int, int, bool]]) -> None:
    first, second, marked = _columns(rows)
    rises = first[:, None] < first
    assert count_ascending_pairs(first, second, marked) == np.sum(
        rises & (second[:, None] < second) & marked[:, None]
    )
    alike = np.zeros(len(first))
    assert _pairs_above_at_ties(first, alike, marked) == np.sum(rises & marked[:, None])
    level = second[:, None] == second
    assert _pairs_above_at_ties(first, second, marked) == np.sum(rises & level & marked[:, None])
    both = level & (first[:, None] == first)
    assert order_column(second).tied_pairs == (level.sum() - len(rows)) // 2
    assert order_both(first, second).tied_pairs == (both.sum() - len(rows)) // 2


def test_negative_zero_is_zero() -> None:
    assert order_column(np.array([0.0, -0.0])).tied_pairs == 1
    everyone = np.ones(2, dtype=bool)
    assert count_ascending_pairs(np.array([0.0, 1.0]), np.array([-0.0, 0.0]), everyone) == 0
    assert count_ascending_pairs(np.array([-0.0, 0.0]), np.array([0.0, 1.0]), everyone) == 0
