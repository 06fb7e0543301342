"""Exact statistics: both kinds, any kernel, and the conversions between them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import CATALOG, Ratio, exact, metric_learning_risk, row_means

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
    assert exact(scores, "auc", labels=labels) == 1.0
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
            "Row means are defined for one kernel, but 'auc' is a ratio: "
            "ask for its numerator or its denominator.",
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
