"""Laws under the null: against scipy, and against enumeration of all orders of few rows."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Literal

import numpy as np
import pytest
from scipy import stats

from pairgossip.arrays import FloatArray
from pairgossip.order_statistics.null_laws import (
    EXACT,
    NULL_VARIANCE,
    auc_error,
    judge_auc,
    judge_order,
    order_law,
    order_variance,
)

Side = Literal["two-sided", "greater", "less"]
SIDES = ("two-sided", "greater", "less")


def tie_sizes(column: FloatArray) -> FloatArray:
    return np.unique(column, return_counts=True)[1].astype(float)


def score(x: FloatArray, y: FloatArray) -> float:
    """Return S from all pairs."""
    signs = [np.sign(np.subtract.outer(column, column)) for column in (x, y)]
    return float((signs[0] * signs[1]).sum() / 2)


def superiority(high: FloatArray, low: FloatArray) -> float:
    return float((np.sign(np.subtract.outer(high, low)).mean() + 1) / 2)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("123456", "123456"),
        ("112334", "123456"),
        ("112334", "111222"),
        ("122333", "112223"),
        ("1112", "1112"),
        ("11123", "12233"),
    ],
)
def test_law_counts_all_orders(x: str, y: str) -> None:
    first, second = (np.array(list(map(float, column))) for column in (x, y))
    counted = Counter(score(first, np.array(order)) for order in itertools.permutations(second))
    shares = {value: count / math.factorial(len(x)) for value, count in counted.items()}
    scores, found = order_law(tie_sizes(first), tie_sizes(second))
    law = {value: share for value, share in zip(scores.tolist(), found, strict=True) if share}
    assert law == pytest.approx(shares, rel=1e-12)
    variance = sum(share * value**2 for value, share in shares.items())
    expected = order_variance(tie_sizes(first), tie_sizes(second))
    assert float(expected) == pytest.approx(variance, rel=1e-12)


@pytest.mark.parametrize("alternative", SIDES)
@pytest.mark.parametrize("n", [2, 3, 5, 8, 20, 33, 34, 60])
def test_kendall_without_ties(n: int, alternative: Side) -> None:
    rng = np.random.default_rng(n)
    for slope in (0.0, 0.5, -1.0, 1e6, -1e6):
        x = rng.normal(size=n)
        y = slope * x + rng.normal(size=n)
        known = stats.kendalltau(x, y, alternative=alternative)
        found = judge_order(score(x, y), np.ones(n), np.ones(n), alternative)
        assert found.p == pytest.approx(known.pvalue, rel=1e-9, abs=1e-300)
        assert found.law == (EXACT if n <= 33 or abs(slope) > 1 else NULL_VARIANCE)


@pytest.mark.parametrize("alternative", SIDES)
@pytest.mark.parametrize("levels", [(5, 4), (3, 1000), (60, 60)])
def test_kendall_with_ties_of_many_rows(levels: tuple[int, int], alternative: Side) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.integers(0, high, 60).astype(float) for high in levels)
    known = stats.kendalltau(x, y, alternative=alternative)
    found = judge_order(score(x, y), tie_sizes(x), tie_sizes(y), alternative)
    assert found.law == NULL_VARIANCE
    assert found.p == pytest.approx(known.pvalue, rel=1e-9)


@pytest.mark.parametrize("alternative", SIDES)
@pytest.mark.parametrize("sizes", [(1, 1), (1, 7), (3, 5), (8, 8), (8, 40), (9, 9), (30, 20)])
def test_mann_whitney_without_ties(sizes: tuple[int, int], alternative: Side) -> None:
    rng = np.random.default_rng(sum(sizes))
    for shift in (0.0, 0.7, -0.7):
        low, high = rng.normal(size=sizes[0]), rng.normal(shift, size=sizes[1])
        known = stats.mannwhitneyu(high, low, alternative=alternative)
        found = judge_auc(superiority(high, low), sizes, np.ones(sum(sizes)), alternative)
        assert found.p == pytest.approx(known.pvalue, rel=1e-9)
        assert found.law == (EXACT if min(sizes) <= 8 else NULL_VARIANCE)


@pytest.mark.parametrize("alternative", SIDES)
def test_mann_whitney_with_ties(alternative: Side) -> None:
    rng = np.random.default_rng(2)
    for sizes in ((2, 3), (3, 4), (4, 4), (1, 6)):
        for _ in range(8):
            scores = rng.integers(0, 4, sum(sizes)).astype(float)
            if len(np.unique(scores)) == 1:
                continue
            chosen = [list(rows) for rows in itertools.combinations(range(len(scores)), sizes[1])]
            law = np.array([superiority(scores[rows], np.delete(scores, rows)) for rows in chosen])
            at = int(rng.integers(len(law)))
            away = law - 0.5
            known = {
                "two-sided": np.mean(np.abs(away) > np.abs(away[at]) - 1e-9),
                "greater": np.mean(away > away[at] - 1e-9),
                "less": np.mean(away < away[at] + 1e-9),
            }[alternative]
            found = judge_auc(float(law[at]), sizes, tie_sizes(scores), alternative)
            assert found.p == pytest.approx(float(known), rel=1e-9)
            assert found.law == EXACT
            assert found.error == pytest.approx(float(law.std()), rel=1e-9)


@pytest.mark.parametrize("alternative", SIDES)
def test_mann_whitney_with_ties_of_many_rows(alternative: Side) -> None:
    rng = np.random.default_rng(3)
    low, high = rng.integers(0, 5, 30).astype(float), rng.integers(0, 6, 25).astype(float)
    known = stats.mannwhitneyu(high, low, alternative=alternative)
    ties = tie_sizes(np.r_[low, high])
    found = judge_auc(superiority(high, low), (30, 25), ties, alternative)
    assert found.p == pytest.approx(known.pvalue, rel=1e-9)
    assert found.z == pytest.approx((superiority(high, low) - 0.5) / found.error)


@pytest.mark.parametrize("sizes", [(3, 4), (20, 30)])
def test_separated_classes_are_counted(sizes: tuple[int, int]) -> None:
    one_choice = 1 / math.comb(sum(sizes), sizes[0])
    untied, tied = np.ones(sum(sizes)), np.array(sizes)
    assert judge_auc(1.0, sizes, untied).p == pytest.approx(2 * one_choice, rel=1e-9)
    assert judge_auc(1.0, sizes, tied).p == pytest.approx(one_choice, rel=1e-9)
    assert judge_auc(1.0, sizes, untied, "greater").p == pytest.approx(one_choice, rel=1e-9)
    assert judge_auc(0.0, sizes, untied, "greater").p == 1.0
    assert judge_auc(0.0, sizes, untied, "less").law == EXACT


def test_classes_are_a_column_of_two_values() -> None:
    sizes, ties = np.array([[20.0, 30.0], [7.0, 9.0]]), np.array([[40.0, 8, 2], [12, 3, 1]])
    of_pairs = np.sqrt(order_variance(ties, sizes)) / (2 * sizes.prod(axis=1))
    np.testing.assert_allclose(auc_error(sizes, ties), of_pairs, rtol=1e-12)


def test_one_value_has_one_order() -> None:
    for found in (judge_auc(0.5, (3, 4), [7.0]), judge_order(0.0, [7.0], np.ones(7))):
        assert (found.p, found.law) == (1.0, EXACT)


def test_parts_of_rows_are_not_tied() -> None:
    """Shares that a node estimates: less than one row in a cell, and cells without rows."""
    whole = order_variance(np.ones(5), np.ones(5))
    assert order_variance(np.full(10, 0.5), np.r_[np.ones(5), 0, 0]) == pytest.approx(float(whole))
    assert judge_order(3.5, np.full(10, 0.5), np.ones(5)).law == NULL_VARIANCE
    assert judge_order(4.0, np.r_[np.ones(5), 0.0], np.ones(5)).law == EXACT


def test_tails_of_unequal_classes_keep_their_digits() -> None:
    """One rank from separation, only two orders count, far below the rounding of all others."""
    sizes = (8, 1000)
    found = judge_auc(1 - 1 / 8000, sizes, np.ones(1008), "greater")
    assert found.p == pytest.approx(2 / math.comb(1008, 8), rel=1e-9)
