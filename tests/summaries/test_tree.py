"""The tree over cells: which blocks there are, what sites report in them, and what blocks tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairgossip.summaries.axes import Grid
from pairgossip.summaries.tree import AFTER, BEFORE, TIED, Tree, lay_tree

SHAPES = [(1,), (2,), (5,), (16,), (37,), (1, 1), (3, 2), (4, 9), (8, 8), (2, 3, 4)]
Box = tuple[tuple[int, int], ...]


def halve(box: Box) -> tuple[Box, Box]:
    """Cut a box in the middle of its longest side."""
    lengths = [last - first for first, last in box]
    at = lengths.index(max(lengths))
    first, last = box[at]
    middle = (first + last) // 2
    return (
        (*box[:at], (first, middle), *box[at + 1 :]),
        (*box[:at], (middle + 1, last), *box[at + 1 :]),
    )


def report(counts: np.ndarray, least: int, box: Box | None = None) -> dict[Box, int]:
    """Return the rows of every block that holds some, by the words of the rule."""
    if box is None:
        box = tuple((0, cells - 1) for cells in counts.shape)
        if counts.sum() < least:
            return {}
    rows = [int(counts[tuple(slice(a, b + 1) for a, b in one)].sum()) for one in (box, *halve(box))]
    if all(first == last for first, last in box):
        return {box: rows[0]}
    if (min(rows[1:]) >= least) or (min(rows[1:]) == 0 and rows[0] >= 4 * least):
        halves = [
            report(counts, least, half)
            for half, count in zip(halve(box), rows[1:], strict=True)
            if count
        ]
        return {key: value for one in halves for key, value in one.items()}
    return {box: rows[0]}


def boxes(tree: Tree) -> list[Box]:
    first, last = tree.boxes
    return [
        tuple(zip(low.tolist(), high.tolist(), strict=True))
        for low, high in zip(first, last, strict=True)
    ]


def draw_counts(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw rows that crowd in some cells, with many cells empty."""
    return random.poisson(random.exponential(random.choice([0.5, 2.0, 8.0]), shape))


def test_blocks_of_five_cells() -> None:
    found = boxes(Tree((5,)))
    assert [one[0] for one in found] == [
        (0, 4), (0, 2), (3, 4), (0, 1), (2, 2), (3, 3), (4, 4), (0, 0), (1, 1),
    ]  # fmt: skip


def test_blocks_of_a_table_are_halved_along_their_longest_side() -> None:
    found = boxes(Tree((3, 2)))
    assert found[:3] == [((0, 2), (0, 1)), ((0, 1), (0, 1)), ((2, 2), (0, 1))]
    assert found[3:5] == [((0, 0), (0, 1)), ((1, 1), (0, 1))]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_block_is_a_cell_or_has_both_halves(shape: tuple[int, ...]) -> None:
    tree = lay_tree(shape)
    found = set(boxes(tree))
    assert len(found) == tree.size == 2 * np.prod(shape) - 1
    for box in found:
        if any(first < last for first, last in box):
            assert set(halve(box)) <= found
    for at, (axis, side) in enumerate(zip(tree.axes, tree.sides, strict=True)):
        assert [boxes(axis)[one] for one in side] == [(box[at],) for box in boxes(tree)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("least", [1, 3, 5])
def test_reports_follow_the_rule(shape: tuple[int, ...], least: int) -> None:
    random, tree = np.random.default_rng(least), lay_tree(shape)
    tables = np.stack([draw_counts(random, shape) for _ in range(30)])
    reported = tree.report(tables, least)
    for counts, found in zip(tables, reported, strict=True):
        assert found.sum() == (counts.sum() if counts.sum() >= least else 0)
        assert not np.any((found > 0) & (found < least))
        if least == 1:  # cells as they are
            assert (found[tree.cells] == counts.ravel()).all()
        else:
            named = dict(zip(boxes(tree), found.tolist(), strict=True))
            assert {box: rows for box, rows in named.items() if rows} == report(counts, least)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.sampled_from([3, 5]), st.data())
def test_small_blocks_do_not_tell_in_which_cells_rows_are(
    counts: list[int], least: int, data: st.DataObject
) -> None:
    tree, cells = lay_tree((len(counts),)), np.array(counts)
    found = tree.report(cells, least)
    small = np.flatnonzero((found > 0) & (found < 4 * least))
    if len(small):
        block = data.draw(st.sampled_from(small.tolist()))
        first, last = (int(box[block, 0]) for box in tree.boxes)
        cells[first : last + 1] = 0
        cells[data.draw(st.integers(first, last))] = found[block]
        assert (tree.report(cells, least) == found).all()


def test_rows_that_move_within_their_cells_change_nothing() -> None:
    random, grid = np.random.default_rng(0), Grid(np.linspace(0.0, 1.0, 17))
    cells = random.integers(0, 16, 60)
    tree, reports = lay_tree((16,)), []
    for _ in range(2):
        rows = grid.edges[cells] + grid.widths[cells] * random.uniform(0.0, 0.99, 60)
        reports.append(tree.report(np.bincount(grid.find_bins(rows), minlength=16), 3))
    assert (reports[0] == reports[1]).all()


@pytest.mark.parametrize("cells", [1, 2, 6, 13])
@pytest.mark.parametrize("ties_known", [True, False])
def test_relations_are_those_of_all_pairs_of_blocks(cells: int, ties_known: bool) -> None:
    tree, random = lay_tree((cells,)), np.random.default_rng(1)
    first, last = (box[:, 0] for box in tree.boxes)
    blocks = random.integers(0, 9, (2, tree.size)).astype(float)
    found = dict(tree.relate(blocks, ties_known))
    expected = {relation: np.zeros_like(blocks) for relation in (1, 2, 3, 4, 6, 7)}
    for one in range(tree.size):
        for other in range(tree.size):
            # A row in a cell that both blocks have may be anywhere in it, unless it is one value.
            orders: set[int] = set()
            for a in range(first[one], last[one] + 1):
                for b in range(first[other], last[other] + 1):
                    in_cell = {TIED} if ties_known else {BEFORE, TIED, AFTER}
                    orders |= {BEFORE} if a < b else {AFTER} if a > b else in_cell
            expected[sum(orders)][:, one] += blocks[:, other]
    for relation, rows in expected.items():
        assert (found.get(relation, np.zeros_like(blocks)) == rows).all()  # type: ignore[call-overload]


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_along_the_tree(shape: tuple[int, ...]) -> None:
    tree, random = lay_tree(shape), np.random.default_rng(2)
    first, last = tree.boxes
    inside = np.all((first[:, None] <= first[None]) & (last[None] <= last[:, None]), axis=-1)
    blocks = random.integers(0, 5, (3, tree.size)).astype(float)
    assert (tree.add_containing(blocks) == blocks @ inside).all()
    cells = random.integers(0, 5, (3, *shape))
    assert (tree.gather(cells) == cells.reshape(3, -1) @ inside[:, tree.cells].T).all()
    if len(shape) == 1:
        for is_last, ends in ((False, first), (True, last)):
            placed = np.stack([np.bincount(ends[:, 0], row, shape[0]) for row in blocks])
            assert (tree.place(blocks, is_last=is_last) == placed).all()
    table = tree.table(blocks)
    sides: Any = (slice(None), *tree.sides)
    assert (table[sides] == blocks).all() and table.sum() == blocks.sum()


@pytest.mark.parametrize("shape", SHAPES)
def test_spreading_keeps_rows_in_their_blocks(shape: tuple[int, ...]) -> None:
    tree, random = lay_tree(shape), np.random.default_rng(3)
    counts = draw_counts(random, (2, *shape))
    assert tree.spread(tree.report(counts, 1)) == pytest.approx(counts)
    reported = tree.report(counts, 3)
    found = tree.spread(reported)
    assert found.min() >= 0 and found.sum() == pytest.approx(reported.sum())
    is_covered = tree.add_containing(reported)[:, tree.cells].reshape(counts.shape) > 0
    assert ((found > 0) == is_covered).all()
    whole = np.zeros(tree.size)
    whole[0] = 7.0
    assert tree.spread(whole) == pytest.approx(7 / np.prod(shape))
    assert (tree.spread(np.zeros(tree.size)) == 0).all()


def test_spreading_as_finer_blocks_suggest_is_nearer_than_even() -> None:
    """Of five sites, blocks of one tell where in theirs the rows of others are."""
    random, tree = np.random.default_rng(4), lay_tree((64,))
    sizes, off = tree.boxes[1][:, 0] - tree.boxes[0][:, 0] + 1, np.zeros(2)
    for _ in range(20):
        sites = [
            np.bincount((64 * random.beta(2, 3, 140)).astype(int), minlength=64) for _ in "12345"
        ]
        blocks = tree.report(np.stack(sites), 3).sum(axis=0)
        exact = np.cumsum(np.sum(sites, axis=0))
        for kind, cells in enumerate(
            (tree.spread(blocks), tree.add_containing(blocks / sizes)[tree.cells])
        ):
            off[kind] += np.square(np.cumsum(cells) - exact).sum()
    assert off[0] < 0.5 * off[1]
