"""Tests of order by the law under the null: against scipy, and against all orders of few rows."""

from __future__ import annotations

import itertools
import math
from typing import Any, Literal

import numpy as np
import pytest
from scipy import stats

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.order_statistics.comparisons import TestResult

Side = Literal["two-sided", "greater", "less"]
SIDES: tuple[Side, ...] = ("two-sided", "greater", "less")
CORRELATIONS = ("kendall", "kendall-b", "somers-d", "goodman-kruskal-gamma")
COUNTED, BY_VARIANCE = "exact", "null variance, ties counted"


def draw_columns(n: int, levels: int | None, seed: int) -> FloatArray:
    """Return two weakly correlated columns, as numbers or on a few levels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    rows = np.column_stack([x, 0.4 * x + rng.normal(size=n)])
    return rows if levels is None else np.round(rows * levels / 4)


def count_tails(rows: FloatArray, alternative: Side) -> float:
    """Return p by enumerating all orders of the second column, by pairs of rows."""
    x, y = rows.T

    def score(other: FloatArray) -> float:
        signs = (np.sign(np.subtract.outer(column, column)) for column in (x, other))
        return float(np.prod(list(signs), axis=0).sum())

    found = score(y)
    all_scores = np.array([score(np.array(order)) for order in itertools.permutations(y)])
    sides = {
        "two-sided": np.abs(all_scores) >= abs(found),
        "greater": all_scores >= found,
        "less": all_scores <= found,
    }
    return float(sides[alternative].mean())


@pytest.mark.parametrize("alternative", SIDES)
@pytest.mark.parametrize("levels", [2, 5])
def test_correlations_of_many_tied_rows_have_scipys_p(levels: int, alternative: Side) -> None:
    for seed in range(6):
        rows = draw_columns(60, levels, seed)
        known = stats.kendalltau(*rows.T, alternative=alternative)
        for name in CORRELATIONS:
            found = pg.test(rows, name, alternative=alternative)
            assert found.p == pytest.approx(known.pvalue, rel=1e-9) and found.law == BY_VARIANCE
            assert found.z == pytest.approx(found.value / found.null_error)
        assert pg.test(rows, "kendall-b").value == pytest.approx(known.statistic)
        known_d = stats.somersd(*rows.T).statistic
        assert pg.test(rows, "somers-d").value == pytest.approx(known_d)


@pytest.mark.parametrize("alternative", SIDES)
def test_few_tied_rows_are_counted(alternative: Side) -> None:
    for seed in range(8):
        rows = draw_columns(6, 3, seed)
        if min(len(np.unique(column)) for column in rows.T) == 1:
            continue
        for name in CORRELATIONS:
            found = pg.test(rows, name, alternative=alternative)
            assert found.p == pytest.approx(count_tails(rows, alternative)), name
            assert found.law == COUNTED


@pytest.mark.parametrize("alternative", SIDES)
def test_an_auc_with_ties_has_scipys_p(alternative: Side) -> None:
    rng = np.random.default_rng(0)
    for sizes in ((40, 30), (9, 15), (12, 80)):
        labels = np.repeat([0, 1], sizes)
        scores = rng.integers(0, 4, len(labels)) + 0.0
        ends = scores[labels == 1], scores[labels == 0]
        known = stats.mannwhitneyu(*ends, alternative=alternative)
        found = pg.test(scores, "auc", labels=labels, alternative=alternative)
        assert found.p == pytest.approx(known.pvalue, rel=1e-9) and found.law == BY_VARIANCE
    labels, scores = np.repeat([0, 1], 4), np.array([1.0, 2, 2, 3, 2, 3, 4, 4])
    method = stats.PermutationMethod(n_resamples=10**6)  # symmetric, as classes are of one size
    known = stats.mannwhitneyu(scores[4:], scores[:4], alternative=alternative, method=method)
    found = pg.test(scores, "auc", labels=labels, alternative=alternative)
    assert found.p == pytest.approx(known.pvalue, rel=1e-9)


@pytest.mark.parametrize("side", [1, -1])
def test_a_perfect_order_has_its_exact_p_and_no_interval(side: int) -> None:
    rows = np.column_stack([np.arange(8.0), side * np.arange(8.0)])
    for name in CORRELATIONS:
        found = pg.test(rows, name)
        assert found.p == pytest.approx(2 / math.factorial(8)) and found.law == COUNTED
        assert np.isnan(found.error) and found.interval is None
        assert "No interval: The rows do not show how sure" in str(found)
    assert pg.test(np.tile(np.arange(40.0), (2, 1)).T, "kendall").p < 1e-40


@pytest.mark.parametrize("sizes", [(3, 4), (12, 15)])
def test_separated_classes_have_their_exact_p_and_a_bound(sizes: tuple[int, int]) -> None:
    labels = np.repeat([0, 1], sizes)
    scores = np.arange(len(labels))
    found = pg.test(scores, "auc", labels=labels)
    assert found.p == pytest.approx(2 / math.comb(sum(sizes), sizes[0]), rel=1e-9)
    tied = pg.test(labels, "auc", labels=labels)  # no other choice separates as far
    assert tied.p == pytest.approx(found.p / 2)
    assert found.interval is None and "with 95 % confidence it is above" in str(found)
    assert pg.test(-scores, "auc", labels=labels, alternative="greater").p == 1.0


def test_one_row_of_a_class_has_an_exact_p() -> None:
    found = pg.test([1.0, 2.0, 3.0, 5.0, 4.0], "auc", labels=[0, 0, 0, 0, 1])
    assert found.p == pytest.approx(0.8) and "more than one row of each class" in str(found)


def test_frequencies_are_rows() -> None:
    rows, times = draw_columns(12, 4, 1), 1 + np.arange(12) % 3
    repeated = np.repeat(rows, times, axis=0)
    for name in CORRELATIONS:
        for kind in ("v", "u"):
            found = pg.test(rows, name, weights=times, kind=kind)
            known = pg.test(repeated, name, kind=kind)
            assert tuple(found) == pytest.approx(tuple(known)), (name, kind)
            assert (found.law, found.null_error) == (known.law, pytest.approx(known.null_error))
    labels = np.arange(12) % 2
    found = pg.test(rows[:, 0], "auc", labels=labels, weights=times)
    known = pg.test(repeated[:, 0], "auc", labels=np.repeat(labels, times))
    assert tuple(found) == pytest.approx(tuple(known))


@pytest.mark.parametrize("more", [{"groups": np.arange(24) // 2}, {"null": 0.2}, {"within": True}])
@pytest.mark.parametrize("name", ["auc", *CORRELATIONS])
def test_what_has_no_such_law_agrees_with_its_interval(name: str, more: dict[str, Any]) -> None:
    """p is 0.05 just where the null is an end of the 95 % interval."""
    rows = draw_columns(24, None, 3)
    asked: dict[str, Any] = {"kernel": name, "data": rows}
    if name == "auc":
        asked = {"kernel": name, "data": rows[:, 1], "labels": rows[:, 0] > 0}
    if "within" in more:
        more = {"within": np.arange(24) // 12}
    given = {key: value for key, value in more.items() if key != "null"}
    found = pg.test(**asked, **more)
    assert found.law == "sampling error" and found.null_error is None
    for end in pg.test(**asked, **more).interval:
        assert pg.test(**asked, **given, null=end).p == pytest.approx(0.05, rel=1e-6)


def test_ties_that_do_not_count_half_have_another_null() -> None:
    scores, labels = np.array([1.0, 2.0, 2.0, 3.0, 4.0, 5.0]), [0, 0, 1, 1, 0, 1]
    strict = pg.kernels.auc(ties=0)
    with pytest.raises(pg.InputError, match=r"not 0\.5: test 'auc', .* give the value with null="):
        pg.test(scores, strict, labels=labels)
    assert pg.test(scores, strict, labels=labels, null=0.45).law == "sampling error"
    untied = scores + 0.1 * np.arange(6)
    assert pg.test(untied, strict, labels=labels) == pg.test(untied, "auc", labels=labels)


def test_the_level_of_the_interval_is_asked_for() -> None:
    rows = draw_columns(30, None, 5)
    found = pg.test(rows, "kendall-b", interval=0.8)
    answer = pg.exact(rows, "kendall-b", interval=0.8)
    assert found.interval == (answer.low, answer.high) and found.level == 0.8
    assert str(answer).partition("(")[2].rstrip(")") in str(found)
    near = TestResult(0.498672, 0.00058, -2.3, 0.0214, interval=(0.497542, 0.499802), level=0.95)
    assert "95 %: 0.49754 to 0.49980" in str(near)  # and not to 0.5
    with pytest.raises(pg.InputError, match="level of an interval"):
        pg.test(rows, "spearman", interval=80)


def test_columns_of_one_value_are_refused() -> None:
    constant = np.column_stack([np.ones(6), np.arange(6.0)])
    with pytest.raises(pg.InputError, match="All rows are tied in one of the columns of 'kendall'"):
        pg.test(constant, "kendall")
