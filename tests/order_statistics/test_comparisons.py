"""Rank tests equal those of scipy, with ties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.order_statistics.comparisons import TESTS
from pairgossip.order_statistics.laws import (
    beyond_chi_square,
    beyond_f,
    beyond_kolmogorov,
    t_quantile,
    two_sided_by_t,
)


def two_groups(tied: bool, seed: int = 0, sizes: tuple[int, int] = (31, 44)) -> FloatArray:
    rng = np.random.default_rng(seed)
    numbers = np.r_[rng.normal(size=sizes[0]), rng.normal(0.4, 2.0, sizes[1])]
    labels = np.repeat([3.0, 7.0], sizes)
    rows = np.column_stack([np.round(numbers) if tied else numbers, labels])
    return rng.permutation(rows)


groups = pytest.mark.parametrize("data", [two_groups(False), two_groups(True)], ids=["", "tied"])


def split(data: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the numbers of the higher class, and of the lower."""
    return data[data[:, 1] == 7, 0], data[data[:, 1] == 3, 0]


@groups
@pytest.mark.parametrize("continuity", [False, True])
def test_mann_whitney(data: FloatArray, continuity: bool) -> None:
    found = TESTS["mann-whitney-continuity" if continuity else "mann-whitney"](data)
    high, low = split(data)
    known = stats.mannwhitneyu(high, low, use_continuity=continuity, method="asymptotic")
    assert found.value == pytest.approx(known.statistic / (len(high) * len(low)), rel=1e-12)
    assert found.p == pytest.approx(known.pvalue, rel=1e-9)
    assert abs(found.z) == pytest.approx(stats.norm.isf(known.pvalue / 2), rel=1e-9)


@groups
def test_rank_sum(data: FloatArray) -> None:
    found, (high, low) = TESTS["wilcoxon-rank-sum"](data), split(data)
    ranks = stats.rankdata(np.r_[high, low])[: len(high)]
    assert found.value == pytest.approx(ranks.sum(), rel=1e-12)
    if len(np.unique(data[:, 0])) == len(data):
        known = stats.ranksums(high, low)
        assert (found.z, found.p) == pytest.approx((known.statistic, known.pvalue), rel=1e-9)
    else:  # scipy's leaves ties out
        same = TESTS["mann-whitney"](data)
        assert (found.z, found.p) == pytest.approx((same.z, same.p), rel=1e-12)


@groups
def test_brunner_munzel(data: FloatArray) -> None:
    found, (high, low) = TESTS["brunner-munzel"](data), split(data)
    known = stats.brunnermunzel(low, high)
    assert found.z == pytest.approx(known.statistic, rel=1e-9)
    assert found.p == pytest.approx(known.pvalue, rel=1e-9)


@groups
def test_kolmogorov_smirnov(data: FloatArray) -> None:
    found, (high, low) = TESTS["kolmogorov-smirnov"](data), split(data)
    assert found.value == pytest.approx(stats.ks_2samp(high, low).statistic, rel=1e-12)
    assert found.p == pytest.approx(stats.kstwobign.sf(found.z), rel=1e-9)


def test_the_series_of_kolmogorov_over_its_whole_range() -> None:
    gaps = np.linspace(0.01, 5.0, 400)
    found = [beyond_kolmogorov(gap) for gap in gaps]
    assert found == pytest.approx(stats.kstwobign.sf(gaps), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 10, 49])
def test_the_tail_of_chi_square(freedom: int) -> None:
    sums = [0.0, 1e-9, 0.3, 1.0, 5.0, 30.0, 200.0, 900.0]
    found = [beyond_chi_square(each, freedom) for each in sums]
    assert found == pytest.approx(stats.chi2.sf(sums, freedom), rel=1e-12)


@pytest.mark.parametrize("freedom", [1, 2, 3, 12, 49])
@pytest.mark.parametrize("error_freedom", [0.5, 1, 2.3, 30, 1e4, 9e6, math.inf])
def test_the_tail_of_f(freedom: int, error_freedom: float) -> None:
    for ratio in (0.0, 1e-3, 0.5, 1.0, 2.0, 30.0):
        known = stats.f.sf(ratio, freedom, min(error_freedom, 1e13))
        found = beyond_f(ratio, freedom, error_freedom)
        assert found == pytest.approx(known, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("tied", [False, True])
def test_spearman(tied: bool) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=60)
    data = np.column_stack([x, 0.6 * x + rng.normal(size=60)])
    data = np.round(data) if tied else data
    found = TESTS["spearman"](data)
    known = stats.spearmanr(data[:, 0], data[:, 1])
    assert found.value == pytest.approx(known.statistic, rel=1e-12)
    assert found.p == pytest.approx(known.pvalue, rel=1e-9)


@pytest.mark.parametrize("tied", [False, True])
def test_the_error_of_spearman_is_what_leaving_rows_out_shows(tied: bool) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=400)
    data = np.column_stack([x, 0.8 * x + rng.normal(size=400)])
    data = np.round(data) if tied else data
    left_out = [stats.spearmanr(*np.delete(data, k, axis=0).T).statistic for k in range(len(data))]
    jackknife = np.sqrt((len(data) - 1) * np.var(left_out))
    assert TESTS["spearman"](data).error == pytest.approx(jackknife, rel=0.02)


def test_students_t_with_any_freedom() -> None:
    for freedom in (1, 1.5, 3, 7.3, 29, 64.2, 500.5, 1e5):
        for t in (0.0, 1e-3, 0.5, 1.0, 2.0, -3.7, 12.0, 40.0):
            known = 2 * stats.t.sf(abs(t), freedom)
            assert two_sided_by_t(t, freedom) == pytest.approx(known, rel=1e-8)
        assert t_quantile(0.95, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)


@groups
def test_they_are_asked_for_by_name(data: FloatArray) -> None:
    labels = np.where(data[:, 1] == 7, "yes", "no")
    for name, test in TESTS.items():
        if name != "spearman":
            asked = pg.test(data[:, 0], name.replace("-", "_"), labels=labels, positive="yes")
            assert tuple(asked) == tuple(test(data))
            moved = pg.test(data[:, 0], name, labels=labels, classes=["yes", "no"])
            assert moved.p == pytest.approx(test(data).p, rel=1e-9)
    assert tuple(pg.test(data, "spearman")) == tuple(TESTS["spearman"](data))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"null": 0.4}, "takes plain rows, .*: leave null= out"),
        ({"weights": np.ones(75)}, "leave weights= out"),
        ({"groups": np.arange(75)}, "leave groups= out"),
        (
            {"alternative": "less"},
            "on either side: leave alternative= out",
        ),
        ({"labels": None}, "takes one column of numbers and labels"),
    ],
)
def test_what_only_kernels_take_is_refused(how: dict[str, Any], sentence: str) -> None:
    data = two_groups(False)
    with pytest.raises(InputError, match=sentence):
        pg.test(data[:, 0], "kolmogorov-smirnov", **{"labels": data[:, 1], **how})


@pytest.mark.parametrize("name", [name for name in TESTS if name != "spearman"])
@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[1, 0], [1, 1], [1, 1], [1, 0]], "all numbers are 1: give a column that varies"),
        ([[1, 1], [2, 1], [3, 1]], "one class only"),
        ([[1, 0], [2, 1], [3, 2]], "needs two classes, but the labels hold 3"),
        ([[1, 2, 0], [2, 2, 1]], "choose one column, and give labels="),
    ],
)
def test_bad_groups_are_refused(name: str, rows: list[list[float]], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        TESTS[name](np.array(rows, dtype=float))


def test_separated_and_tiny_classes_have_no_brunner_munzel() -> None:
    with pytest.raises(InputError, match="classes that are fully separated"):
        TESTS["brunner-munzel"](np.array([[1, 0], [2, 0], [3, 1], [4, 1.0]]))
    with pytest.raises(InputError, match="two rows of each class"):
        TESTS["brunner-munzel"](np.array([[1, 0], [2, 0], [3, 1.0]]))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[1, 2], [2, 3]], "at least three rows"),
        ([[1, 2], [2, 2], [3, 2]], "all numbers are 2"),
        ([[1, 2], [2, 3], [3, 9]], "in the same or the opposite order throughout"),
    ],
)
def test_bad_columns_have_no_spearman(rows: list[list[float]], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        TESTS["spearman"](np.array(rows, dtype=float))
