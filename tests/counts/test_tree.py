"""The tree over cells: its blocks, what sites report in them, and what blocks reveal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairgossip.counts.tree import AFTER, BEFORE, TIED, Tree, lay_tree

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


def is_inside(cell: Box, box: Box) -> bool:
    return all(b <= d for (_, b), (_, d) in zip(cell, box, strict=True))


def leaves(shape: tuple[int, ...]) -> list[Box]:
    """List the cells of a table, left halves before right ones."""

    def walk(box: Box) -> list[Box]:
        if all(first == last for first, last in box):
            return [box]
        return [leaf for half in halve(box) for leaf in walk(half)]

    return walk(tuple((0, cells - 1) for cells in shape))


def report(counts: np.ndarray, least: int) -> dict[Box, int]:
    """Return the rows of every block that holds some, by the definition."""
    order = leaves(counts.shape)
    rows = [cell for cell in order for _ in range(counts[tuple(first for first, _ in cell)])]
    reported: dict[Box, int] = {}

    def descend(box: Box, rows: list[Box]) -> None:
        if not rows:
            return
        if box in order:
            reported[box] = len(rows)
            return
        halves = halve(box)
        left = [row for row in rows if is_inside(row, halves[0])]
        right = rows[len(left) :]
        if len(left) >= least and len(right) >= least:
            descend(halves[0], left)
            descend(halves[1], right)
        elif len(rows) < 4 * least:
            reported[box] = len(rows)
        elif len(left) < least:
            reported[box] = least
            descend(halves[1], rows[least:])
        else:
            reported[box] = least
            descend(halves[0], rows[:-least])

    if len(rows) >= least:
        descend(tuple((0, cells - 1) for cells in counts.shape), rows)
    return reported


def boxes(tree: Tree) -> list[Box]:
    first, last = tree.boxes
    return [
        tuple(zip(low.tolist(), high.tolist(), strict=True))
        for low, high in zip(first, last, strict=True)
    ]


def draw_counts(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw rows that are concentrated in some cells, with many cells empty."""
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


@given(st.lists(st.integers(0, 20), min_size=1, max_size=20), st.sampled_from([3, 5]))
def test_no_cell_is_known_to_hold_a_few_rows(counts: list[int], least: int) -> None:
    """Some table with the same report has no cell with at least one but fewer than k rows."""
    tree = lay_tree((len(counts),))
    reported = tree.report(np.array(counts), least)
    first, last = (box[:, 0] for box in tree.boxes)
    canonical = np.zeros(len(counts), dtype=int)
    for block in np.flatnonzero(reported):
        inside = (first >= first[block]) & (last <= last[block])
        inside[block] = False
        passed = np.flatnonzero(inside & (reported > 0))
        place = first[block]
        if len(passed):  # rows went on to the heavy half; the cell is next to the light half
            middle = (first[block] + last[block]) // 2
            is_right = first[passed].min() > middle
            place = middle + 1 if is_right else middle
        canonical[place] += reported[block]
    assert not np.any((canonical > 0) & (canonical < least))
    assert (tree.report(canonical, least) == reported).all()


@pytest.mark.parametrize("shape", [(8,), (16,), (4, 4)])
def test_a_larger_least_count_tells_nothing_more(shape: tuple[int, ...]) -> None:
    """Tables with the same report have the same report for every larger count, too."""
    random, tree = np.random.default_rng(5), lay_tree(shape)
    tables = random.poisson(random.exponential(2.0, (4000, 1)) * np.ones((1, 16)))[
        :, : tree.cells.size
    ]
    tables = tables.reshape(-1, *shape)
    coarse: dict[bytes, bytes] = {}
    repeated = 0
    for three, five in zip(tree.report(tables, 3), tree.report(tables, 5), strict=True):
        repeated += three.tobytes() in coarse
        assert coarse.setdefault(three.tobytes(), five.tobytes()) == five.tobytes()
    assert repeated > 50


def test_a_deeper_tree_tells_the_same_of_the_blocks_it_shares() -> None:
    random, tree, deeper = np.random.default_rng(6), lay_tree((8,)), lay_tree((32,))
    tables = random.poisson(random.exponential(1.0, (500, 32)))
    fine = deeper.report(tables, 3)
    coarse = tree.report(tables.reshape(500, 8, 4).sum(axis=2), 3)
    inner = ~tree.is_cell
    assert (coarse[:, inner] == fine[:, : tree.size][:, inner]).all()


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
            # A row in a cell that both blocks share may be anywhere in it, unless it is a single
            # value.
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
    """The blocks of one of five sites suggest where the rows of others lie within their blocks."""
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
    assert off[0] < 0.6 * off[1]
