"""Parts of the bounds of rank tests, each against all rows that are possible."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pairgossip.counts.axes import Grid, Labels
from pairgossip.counts.bounds import Blocks, bound_squares
from pairgossip.counts.rank_bounds import _freedom, _Sample, bound_class_test, bound_spearman
from pairgossip.counts.tree import lay_tree

CLASSES = Labels(np.array([0.0, 1.0]))


def in_cells(counts: list[list[int]]) -> Blocks:
    """Return the rows of two classes in cells of unknown values."""
    tree = lay_tree((len(counts[0]),))
    axis = Grid(np.arange(len(counts[0]) + 1.0))
    return Blocks((axis, CLASSES), tree, tree.report(np.array(counts), 1).astype(float))


@pytest.mark.parametrize("seed", range(12))
def test_rows_that_may_be_tied(seed: int) -> None:
    """Rows are put in every cell of their blocks in turn; those of one cell are tied."""
    random, tree = np.random.default_rng(seed), lay_tree((4,))
    counts = np.bincount(random.integers(0, tree.size, 5), minlength=tree.size)
    first, last = (np.repeat(box[:, 0], counts) for box in tree.boxes)
    ranges = [range(low, high + 1) for low, high in zip(first, last, strict=True)]
    sizes = np.array([np.bincount(cells, minlength=4) for cells in itertools.product(*ranges)])
    sums = (sizes**3 - sizes).sum(axis=1)
    for ties_known in (True, False):
        sample = _Sample(tree, ties_known, counts.astype(float))
        least, most = sample.ties
        assert least <= sums.min() and sums.max() <= most
        assert sample.most_tied[0] == sizes.max()
        if (counts[tree.is_cell].sum() == 5) and ties_known:
            assert least == most == sums.max()


def test_degrees_of_freedom_lie_between_their_ends() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        low, high = np.sort(random.random((2, 2)) ** 2, axis=0)
        left = random.integers(1, 30, 2).astype(float)
        least, most = _freedom(((low[0], high[0]), (low[1], high[1])), (left[0] + 1, left[1] + 1))
        shares = random.uniform(low, high, (50, 2))
        found = shares.sum(axis=1) ** 2 / (shares**2 / left).sum(axis=1)
        assert least <= found.min() * (1 + 1e-12) and found.max() <= most * (1 + 1e-12)
        assert least >= left.min() * (1 - 1e-12) and most <= left.sum() * (1 + 1e-12)


def test_sums_of_squares_lie_between_their_ends() -> None:
    random = np.random.default_rng(2)
    for _ in range(50):
        low, high = np.sort(random.normal(size=(2, 6)), axis=0)
        rows = random.integers(0, 4, (2, 6)).astype(float)
        least, most = bound_squares(low, high, rows)
        for counts, ends in zip(rows.astype(int), np.stack([least, most], axis=1), strict=True):
            first, last = np.repeat(low, counts), np.repeat(high, counts)
            lean = random.choice([0.0, 1.0, random.random()], (200, len(first)))
            values = first + lean * (last - first)
            sums = values.var(axis=1) * len(first) if len(first) else np.zeros(1)
            assert ends[0] <= sums.min() + 1e-12 and sums.max() <= ends[1] + 1e-12


def test_what_no_rows_tell_is_not_known() -> None:
    one = bound_class_test("brunner-munzel", in_cells([[3, 1], [0, 1]]))
    assert np.isnan(one.p).all() and one.value == pytest.approx((0.75, 1.0))
    apart = bound_class_test("brunner-munzel", in_cells([[3, 0], [0, 4]]))
    assert np.isnan(apart.p).all() and apart.value == pytest.approx((1.0, 1.0))
    tree, axis = lay_tree((1, 1)), Grid(np.array([0.0, 1.0]))
    found = bound_spearman(Blocks((axis, axis), tree, np.array([9.0])))
    assert found == ((-1.0, 1.0), (0.0, 1.0))
