"""Brackets of tests by ranks: no order of the rows within their cells is outside of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from scipy import stats

from pairgossip.order_statistics.comparisons import OF_CLASSES, Comparison
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.order_statistics.rank_brackets import (
    RankBracket,
    _freedom,
    bracket_class_test,
    bracket_spearman,
)

CASES = [
    [[2, 1], [1, 2]],
    [[3, 0, 1], [1, 2, 1]],
    [[0, 3, 1], [3, 0, 2]],
    [[4], [3]],
    [[1, 1, 1, 1], [1, 1, 1, 1]],
    [[2, 0, 2], [0, 3, 0]],
    [[1, 3], [3, 1]],
    [[5, 0], [1, 1]],
    [[0, 0, 2], [3, 0, 2]],
]


@cache
def orders(lower: int, higher: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return every order of a cell's rows: how many of each class are tied, from the lowest."""
    if lower == higher == 0:
        return ((),)
    found = []
    for first in itertools.product(range(lower + 1), range(higher + 1)):
        if sum(first):
            found += [(first, *rest) for rest in orders(lower - first[0], higher - first[1])]
    return tuple(found)


def all_samples(counts: np.ndarray) -> Distribution:
    """Return every sample with these counts, in any order within each cell."""
    cells = [orders(*map(int, cell)) for cell in counts.T]
    places = np.cumsum([0, *counts.sum(axis=0).astype(int)])
    samples = np.zeros((np.prod([len(cell) for cell in cells]), 2, places[-1]))
    for sample, chosen in zip(samples, itertools.product(*cells), strict=True):
        for start, groups in zip(places, chosen, strict=False):
            for at, group in enumerate(groups, start):
                sample[:, at] = group
    points = np.arange(places[-1], dtype=float)
    return Distribution(points, points, samples, samples.sum(axis=-1))


def judge_all(name: str, counts: list[list[int]]) -> tuple[Comparison, RankBracket]:
    numbers = np.array(counts, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = OF_CLASSES[name](all_samples(numbers))
    return found, bracket_class_test(name, numbers)


@pytest.mark.parametrize("counts", CASES)
@pytest.mark.parametrize("name", OF_CLASSES)
def test_no_order_within_cells_is_outside(name: str, counts: list[list[int]]) -> None:
    found, bracket = judge_all(name, counts)
    assert bracket.value[0] <= found.value.min() and found.value.max() <= bracket.value[1]
    p = found.p[~np.isnan(found.p)]
    assert bracket.p[0] <= p.min() and p.max() <= bracket.p[1] * (1 + 1e-12)


@pytest.mark.parametrize("counts", CASES)
@pytest.mark.parametrize("name", [name for name in OF_CLASSES if name != "brunner-munzel"])
def test_the_ends_are_those_of_some_order(name: str, counts: list[list[int]]) -> None:
    found, bracket = judge_all(name, counts)
    assert (found.value.min(), found.value.max()) == pytest.approx(bracket.value, rel=1e-12)
    assert (np.nanmin(found.p), np.nanmax(found.p)) == pytest.approx(bracket.p, rel=1e-8)


def test_the_value_of_brunner_munzel_is_at_the_ends_of_mann_whitneys() -> None:
    for counts in CASES:
        one, other = (
            bracket_class_test(name, np.array(counts, dtype=float))
            for name in ("mann-whitney", "brunner-munzel")
        )
        assert one.value == other.value


def scattered_rows(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield counts of two classes in cells of width 1, and rows that have them: numbers, labels."""
    rng = np.random.default_rng(seed)
    shape = (rng.dirichlet(np.full(6, 0.7)), rng.dirichlet(np.full(6, 0.7)))
    cells = [rng.choice(6, size, p=one) for size, one in zip((35, 24), shape, strict=True)]
    counts = np.array([np.bincount(one, minlength=6) for one in cells], dtype=float)
    labels = np.repeat([0.0, 1.0], [35, 24])
    at = np.concatenate(cells)
    for inside in (
        rng.random(59),
        np.full(59, 0.5),
        rng.integers(0, 3, 59) / 3,
        labels / 2,
        (1 - labels) / 2,
        labels / 2 + rng.random(59) / 4,
    ):
        yield counts, at + inside, labels


@pytest.mark.parametrize("seed", range(12))
def test_rows_as_scipy_judges_them_are_inside(seed: int) -> None:
    for counts, numbers, labels in scattered_rows(seed):
        lower, higher = numbers[labels == 0], numbers[labels == 1]
        for name, continuity in (("mann-whitney", False), ("mann-whitney-continuity", True)):
            whitney = stats.mannwhitneyu(
                higher, lower, use_continuity=continuity, method="asymptotic"
            )
            assert_inside(name, counts, whitney.statistic / (35 * 24), whitney.pvalue)
        munzel = stats.brunnermunzel(lower, higher)
        if np.isfinite(munzel.statistic):
            assert_inside("brunner-munzel", counts, None, munzel.pvalue)
        gap = stats.ks_2samp(lower, higher).statistic
        p = stats.kstwobign.sf(gap * np.sqrt(35 * 24 / 59))
        assert_inside("kolmogorov-smirnov", counts, gap, p)
        ranks = stats.rankdata(numbers)[labels == 1].sum()
        assert_inside("wilcoxon-rank-sum", counts, ranks, None)


def assert_inside(name: str, counts: np.ndarray, value: float | None, p: float | None) -> None:
    bracket = bracket_class_test(name, counts)
    assert value is None or bracket.value[0] <= value <= bracket.value[1]
    assert p is None or bracket.p[0] <= p <= bracket.p[1] * (1 + 1e-9)


def test_brackets_close_in_as_cells_become_fine() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=600) + np.repeat([0.0, 0.3], 300)
    for name in OF_CLASSES:
        widths = []
        for cells in (20, 200, 20_000):
            edges = np.linspace(-6, 6, cells + 1)
            counts = [np.histogram(part, edges)[0] for part in np.split(rows, 2)]
            (low, high), (least, most) = bracket_class_test(name, np.array(counts, dtype=float))
            widths.append((high - low, np.log(most / least)))
        assert all(np.diff(one).max() < 0 for one in np.transpose(widths))
        assert widths[-1][1] < 0.2


@cache
def weak_orders(count: int) -> np.ndarray:
    """Return the mid-ranks of every order of so many rows, ties included, about their mean."""
    levels = itertools.product(range(count), repeat=count)
    distinct = {tuple(stats.rankdata(one)) for one in levels} if count else {()}
    return np.array(sorted(distinct)).reshape(len(distinct), count) - (count + 1) / 2


def all_ranks(cells: np.ndarray) -> np.ndarray:
    """Return the ranks of a column for every order within its cells, shape (orders, rows)."""
    parts = [np.flatnonzero(cells == cell) for cell in np.unique(cells)]
    below = np.cumsum([0, *map(len, parts)])
    chosen = list(itertools.product(*(weak_orders(len(part)) for part in parts)))
    ranks = np.empty((len(chosen), len(cells)))
    for at, (part, start) in enumerate(zip(parts, below, strict=False)):
        ranks[:, part] = np.array([one[at] for one in chosen]) + start + (len(part) + 1) / 2
    return ranks - (len(cells) + 1) / 2


@pytest.mark.parametrize("seed", range(8))
def test_no_order_in_two_columns_is_outside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (
        rng.permutation(cells) for cells in ([0, 0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 2, 2])
    )
    counts = np.zeros((3, 3))
    np.add.at(counts, (first, second), 1)
    x, y = all_ranks(first), all_ranks(second)
    with np.errstate(invalid="ignore"):
        found = (x @ y.T) / np.sqrt((x**2).sum(axis=1)[:, None] * (y**2).sum(axis=1))
    low, high = bracket_spearman(counts, (False, False)).value
    assert low <= np.nanmin(found) + 1e-12 and np.nanmax(found) - 1e-12 <= high
    middles = np.array([stats.rankdata(one) for one in (first, second)])
    known = bracket_spearman(counts, (True, True)).value
    assert known == pytest.approx([np.corrcoef(middles)[0, 1]] * 2, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_columns_as_scipy_judges_them_are_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pair = rng.multivariate_normal([0, 0], [[1, 0.6 * (-1) ** seed], [0.6 * (-1) ** seed, 1]], 300)
    cells = np.clip(np.floor(pair * 2 + 6), 0, 11)
    counts = np.zeros((12, 12))
    np.add.at(counts, tuple(cells.T.astype(int)), 1)
    bracket = bracket_spearman(counts, (False, False))
    assert bracket.value[1] - bracket.value[0] < 0.6
    for inside in (rng.random((300, 2)), 0 * pair, cells[:, ::-1] / 12, 1 - cells[:, ::-1] / 12):
        found = stats.spearmanr(*(cells + 0.99 * inside).T)
        assert bracket.value[0] <= found.statistic <= bracket.value[1]
        assert bracket.p[0] <= found.pvalue <= bracket.p[1] * (1 + 1e-9)
    half = bracket_spearman(counts, (False, True)).value  # the second column's values are known
    value = stats.spearmanr(cells[:, 0] + 0.99 * rng.random(300), cells[:, 1]).statistic
    assert half[0] <= value <= half[1]
    assert half[1] - half[0] < 0.7 * (bracket.value[1] - bracket.value[0])


def test_ties_in_one_column_alone_can_be_perfect() -> None:
    """Rows in any order within the cells of the first column go together less than tied ones."""
    tied = bracket_spearman(np.diag([3.0, 4.0]), (False, True))
    assert tied.value[1] == 1.0 and 0.8 < tied.value[0] < 0.9


def test_degrees_of_freedom_lie_in_their_bracket() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        low, high = np.sort(rng.random((2, 2)) ** 2, axis=0)
        left = rng.integers(1, 30, 2).astype(float)
        sizes = (left[0] + 1, left[1] + 1)
        least, most = _freedom(((low[0], high[0]), (low[1], high[1])), sizes)
        shares = rng.uniform(low, high, (50, 2))
        found = shares.sum(axis=1) ** 2 / (shares**2 / left).sum(axis=1)
        assert least <= found.min() * (1 + 1e-12) and found.max() <= most * (1 + 1e-12)
        assert least >= left.min() * (1 - 1e-12) and most <= left.sum() * (1 + 1e-12)


def test_what_no_rows_tell_is_not_known() -> None:
    for name in OF_CLASSES:
        nothing = bracket_class_test(name, np.array([[3.0, 1.0], [0.0, 0.0]]))
        assert np.isnan([*nothing.value, *nothing.p]).all()
    one = bracket_class_test("brunner-munzel", np.array([[3.0, 1.0], [0.0, 1.0]]))
    assert np.isnan(one.p).all() and one.value == pytest.approx((0.75, 1.0))
    apart = bracket_class_test("brunner-munzel", np.array([[3.0, 0.0], [0.0, 4.0]]))
    assert np.isnan(apart.p).all() and apart.value == pytest.approx((1.0, 1.0))
    for table in ([[1.0, 1.0]], [[2.0, 0.0], [0.0, 0.0]]):
        assert np.isnan(bracket_spearman(np.array(table), (False, False)).value).all()
    assert bracket_spearman(np.array([[9.0]]), (False, False)) == ((-1.0, 1.0), (0.0, 1.0))
