"""Bounds from blocks: no rows with these counts exceed them, and some attain them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pairgossip.counts.axes import Axis, Grid, Labels
from pairgossip.counts.bounds import (
    Blocks,
    bound_coefficient,
    bound_differences,
    bound_order,
    bound_scatter,
    bound_variance,
    place_rows,
)
from pairgossip.counts.rank_bounds import bound_class_test, bound_spearman
from pairgossip.counts.tree import lay_tree
from pairgossip.kernels import as_kernel
from pairgossip.order_statistics.statistics import HodgesLehmann, Quantile, Shift, TrimmedMean
from tests.counts.drawing import CASES, Case, bound_monotone, draw, judge, move, tabulate

CLASSES = Labels(np.array([0.0, 1.0]))
OF_ORDER = [name for name, case in CASES.items() if case.axes == 2 and case.classes == 1]


def make_blocks(axes: tuple[Axis, ...], counts: np.ndarray, least: int = 1) -> Blocks:
    """Return the blocks of a single site."""
    split = axes[: counts.ndim - (axes[-1] is CLASSES)]
    tree = lay_tree(tuple(axis.bins for axis in split))
    return Blocks(axes, tree, tree.report(counts, least).astype(np.float64))


def draw_blocks(seed: int, case: Case) -> Blocks:
    """Draw blocks in which every class has rows."""
    random = np.random.default_rng(seed)
    while True:
        blocks = draw(random, case).blocks
        if blocks.by_class.sum(axis=-1).min() >= 2 and not blocks.axes[0].ties_known:
            return blocks


def rows_at(blocks: Blocks, *, last: tuple[bool, ...]) -> list[np.ndarray]:
    """Return the rows of each class at the first or last ends of their blocks."""
    edges = blocks.axes[0].places
    ends = [edges[box[:, 0] + side] for side, box in enumerate(blocks.tree.boxes)]
    counts = blocks.by_class.astype(int)
    return [np.repeat(ends[side], rows) for side, rows in zip(last, counts, strict=True)]


@pytest.mark.parametrize("name", CASES)
def test_no_value_is_missed(name: str) -> None:
    found = judge(CASES[name], 40, seed=11)
    assert found.missed == 0 and found.unknown <= 3


@given(
    st.lists(st.tuples(st.integers(0, 15), st.booleans()), min_size=2, max_size=40),
    st.sampled_from([1, 3, 5]),
    st.sampled_from([Grid(np.linspace(0.0, 8.0, 9)), Labels(np.arange(16) / 2)]),
)
def test_bounds_of_one_column_hold_for_any_rows(
    rows: list[tuple[int, bool]], least: int, axis: Axis
) -> None:
    data = np.array(rows, dtype=np.float64) / [2.0, 1.0]
    blocks = make_blocks((axis, CLASSES), tabulate((axis,), 2, data), least)
    kept = data[[blocks.counts[int(label)].sum() > 0 for _, label in rows]]
    column = Blocks((axis,), blocks.tree, blocks.counts.sum(axis=0))
    assert column.n == len(kept)
    if len(kept) < 2:
        return
    for name in ("gini", "variance", "gini-coefficient", "trimmed-mean"):
        with np.errstate(invalid="ignore"):
            value = CASES[name].value(kept, "u")
        low, high = CASES[name].bound(column, "u")
        assert low - 1e-9 <= value <= high + 1e-9 or math.isnan(value)
    for name in ("auc", "ranking-risk", "kendall-b by grade", "within-cluster-scatter"):
        if len(np.unique(kept[:, 1])) == 2 and len(np.unique(kept[:, 0])) > 1:
            low, high = CASES[name].bound(blocks, "v")
            assert low - 1e-9 <= CASES[name].value(kept, "v") <= high + 1e-9


def test_ends_by_hand() -> None:
    """Three positives in any of two cells, four negatives in the first."""
    grid = Grid(np.array([0.0, 1.0, 3.0]))
    blocks = Blocks((grid, CLASSES), lay_tree((2,)), np.array([[0.0, 4, 0], [3, 0, 0]]))
    assert bound_order(as_kernel("auc"), blocks, "v") == pytest.approx((0.0, 1.0))
    assert bound_monotone(Shift(), blocks) == pytest.approx((-1.0, 3.0))
    column = Blocks((grid,), blocks.tree, blocks.counts.sum(axis=0))
    # Four rows in [0, 1] and three in [0, 3]: all at 1, or the three at 3 and the four at 0.
    assert bound_differences(column, "v") == pytest.approx((0.0, 2 * 12 * 3 / 49))
    assert bound_monotone(Quantile(0.5), column) == pytest.approx((0.0, 1.0))
    assert bound_variance(column, "v") == pytest.approx((0.0, 9 * 12 / 49), abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_ends_of_two_classes_are_attained(seed: int) -> None:
    blocks = draw_blocks(seed, CASES["auc"])
    low, high = bound_order(as_kernel("auc"), blocks, "v")
    gap = bound_class_test("kolmogorov-smirnov", blocks).value
    gaps = []
    for end, last in ((low, (True, False)), (high, (False, True))):
        lower, higher = rows_at(blocks, last=last)
        shift = np.median(np.subtract.outer(higher, lower))
        assert bound_monotone(Shift(), blocks)[end == high] == pytest.approx(shift)
        # Rows of a cell lie below its upper edge.
        lower, higher = lower - 1e-9 * last[0], higher - 1e-9 * last[1]
        assert end == pytest.approx((higher[:, None] > lower).mean())
        gaps.append(stats.ks_2samp(lower, higher).statistic)
    assert gap[1] == pytest.approx(max(gaps))


@pytest.mark.parametrize("statistic", [Quantile(0.3), TrimmedMean(0.2), HodgesLehmann()])
def test_ends_of_monotone_statistics_are_attained(statistic) -> None:  # type: ignore[no-untyped-def]
    blocks = draw_blocks(1, CASES["quantile"])
    for side, end in enumerate(bound_monotone(statistic, blocks)):
        placed = place_rows(blocks, is_low=side == 0)
        rows = np.repeat(placed.low, placed.weights.astype(int))
        assert np.sort(rows_at(blocks, last=(side == 1,))[0]).tolist() == rows.tolist()
        assert end == pytest.approx(float(statistic.value(placed)))


@pytest.mark.parametrize("seed", range(6))
def test_least_spread_is_attained(seed: int) -> None:
    """All rows are as close as possible to one center, also in blocks within others."""
    blocks = draw_blocks(seed, CASES["gini"])
    (first,), (last,) = (rows_at(blocks, last=(side,)) for side in (False, True))
    centers = np.linspace(first.min(), last.max(), 2001)
    rows = np.clip(np.append(centers, blocks.axes[0].places)[:, None], first, last)
    differences = np.abs(rows[:, :, None] - rows[:, None, :]).mean(axis=(1, 2))
    assert bound_differences(blocks, "v")[0] == pytest.approx(differences.min(), abs=1e-9)
    variances = rows.var(axis=1)
    assert bound_variance(blocks, "v")[0] == pytest.approx(variances.min(), rel=1e-4, abs=1e-9)
    assert bound_scatter([blocks], "v")[0] == pytest.approx(2 * bound_variance(blocks, "v")[0])


@pytest.mark.parametrize("counts", [[2, 3, 1], [1, 0, 4, 2], [3], [1, 1, 1, 1, 3], [0, 2, 5]])
def test_ends_of_differences_in_cells_are_attained(counts: list[int]) -> None:
    grid = Grid(np.append(0.0, np.cumsum(np.arange(1.0, len(counts) + 1))))
    blocks = make_blocks((grid,), np.array(counts))
    ends = [
        (grid.edges[cell], grid.edges[cell + 1])
        for cell in np.repeat(np.arange(len(counts)), counts)
    ]
    rows = np.array(list(itertools.product(*ends)))
    differences = np.abs(rows[:, :, None] - rows[:, None, :]).mean(axis=(1, 2))
    assert bound_differences(blocks, "v")[1] == pytest.approx(differences.max())
    with np.errstate(invalid="ignore"):
        coefficients = differences / (2 * rows.mean(axis=1))
    least = np.nanmin(coefficients)
    assert bound_coefficient(blocks, "v") == pytest.approx((least, np.nanmax(coefficients)))
    n = blocks.n
    if n > 1:
        low, high = bound_differences(blocks, "u")
        assert high == pytest.approx(differences.max() * n / (n - 1))
        assert low == pytest.approx(differences.min() * n / (n - 1))


@pytest.mark.parametrize("name", ["kendall", "kendall-b", "goodman-kruskal-gamma", "concordance"])
def test_ends_of_two_columns_are_attained_in_cells(name: str) -> None:
    """Within a cell, both columns rise together, or one falls as the other rises."""
    random, grid = np.random.default_rng(5), Grid(np.linspace(0.0, 4.0, 5))
    cells = random.integers(0, 4, (30, 2)).astype(float)
    blocks = make_blocks((grid, grid), tabulate((grid, grid), 1, cells)[0])
    ends = bound_order(as_kernel(name), blocks, "u")
    for side, end in zip((-1, 1), ends, strict=True):
        x = stats.rankdata(cells[:, 0] + 1e-3 * side * cells[:, 1] + 1e-6 * np.arange(30)) / 31
        y = (
            stats.rankdata(cells[:, 1] + 1e-3 * side * cells[:, 0] + 1e-6 * side * np.arange(30))
            / 31
        )
        rows = np.floor(cells) + 0.99 * np.column_stack([x, y])
        assert CASES[name].value(rows, "u") == pytest.approx(end)


@pytest.mark.parametrize("name", OF_ORDER)
def test_single_values_are_known(name: str) -> None:
    """Whole numbers in cells of their own leave nothing open."""
    random, axis = np.random.default_rng(6), Labels(np.arange(4.0))
    rows = random.integers(0, 4, (25, 2)).astype(float)
    blocks = make_blocks((axis, axis), tabulate((axis, axis), 1, rows)[0])
    value = CASES[name].value(rows, "u")
    assert CASES[name].bound(blocks, "u") == pytest.approx((value, value), rel=2e-9)


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if case.classes == 2 and case.axes == 1]
)
def test_single_values_of_classes_are_known(name: str) -> None:
    random, axis = np.random.default_rng(7), Labels(np.arange(5.0))
    rows = np.column_stack([random.integers(0, 5, 30), random.integers(0, 2, 30)]).astype(float)
    blocks = make_blocks((axis, CLASSES), tabulate((axis,), 2, rows))
    value = CASES[name].value(rows, "v")
    assert CASES[name].bound(blocks, "v") == pytest.approx((value, value), rel=1e-6)


def test_rows_tied_within_their_cell_count() -> None:
    """Rows of one label and cell may be tied, which raises Somers' D and tau-b."""
    grid, labels = Grid(np.linspace(0.0, 4.0, 5)), Labels(np.arange(4.0))
    rows = np.repeat(np.column_stack([np.arange(4.0), np.arange(4.0)]), 5, axis=0)
    blocks = make_blocks((grid, labels), tabulate((grid, labels), 1, rows)[0])
    for name in ("somers-d", "kendall-b"):
        assert CASES[name].value(rows, "v") == pytest.approx(1.0)
        assert CASES[name].bound(blocks, "v")[1] == pytest.approx(1.0)


def test_pairs_that_need_not_be_compared() -> None:
    """Equal predictions count half if they are compared; equal outcomes are not compared."""
    grid, labels = Grid(np.array([0.0, 1.0])), Labels(np.arange(2.0))
    blocks = make_blocks((labels, grid), np.array([[2], [2]]))
    assert bound_order(as_kernel("concordance"), blocks, "v") == pytest.approx((0.0, 1.0))


def test_ties_at_the_end_of_a_block_cost_nothing() -> None:
    """The lower class is at 0 or 1; at best, all its rows tie with those of the higher at 0."""
    axis, tree = Labels(np.array([0.0, 1.0])), lay_tree((2,))
    blocks = Blocks((axis, CLASSES), tree, np.array([[5.0, 0, 0], [0, 5, 4]]))
    rows = np.column_stack([[1.0] * 5 + [0] * 5 + [1] * 4, [0.0] * 5 + [1] * 9])
    for name in ("mann-whitney, p", "mann-whitney-continuity, p"):
        assert CASES[name].bound(blocks, "v")[0] <= CASES[name].value(rows, "v") < 0.07


def test_no_rows_have_no_bounds() -> None:
    grid = Grid(np.linspace(0.0, 1.0, 5))
    nothing = make_blocks((grid, CLASSES), np.array([[0, 0, 0, 0], [1, 3, 1, 0]]))
    for name in ("auc", "shift", "mann-whitney", "mann-whitney, p", "kolmogorov-smirnov"):
        assert np.isnan(CASES[name].bound(nothing, "v")).all()
    one = make_blocks((grid,), np.array([1, 0, 0, 0]))
    for name in ("gini", "gini-coefficient", "variance"):
        assert np.isnan(CASES[name].bound(one, "u")).all()
        assert not np.isnan(CASES[name].bound(one, "v")).any()
    pair = make_blocks((grid, grid), np.eye(4, dtype=int)[:, :] * [1, 1, 0, 0])
    assert np.isnan(bound_spearman(pair).value).all()


def test_tables_of_sites_add_up() -> None:
    """Bounds of a sum hold for the rows of all sites."""
    random, case = np.random.default_rng(8), CASES["kendall"]
    axes = (Grid(np.linspace(0.0, 1.0, 9)), Grid(np.linspace(0.0, 1.0, 5)))
    tree, rows = lay_tree((8, 4)), [random.random((n, 2)) for n in (7, 40, 90)]
    reports = [tree.report(tabulate(axes, 1, one)[0], 3) for one in rows]
    blocks = Blocks(axes, tree, np.sum(reports, axis=0).astype(float))
    low, high = case.bound(blocks, "u")
    assert low <= case.value(np.concatenate(rows), "u") <= high
    for _ in range(20):
        assert low <= case.value(move(random, blocks), "u") <= high
