"""Estimates of where the rows of blocks lie."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.counts import spreading
from pairgossip.counts.spreading import spread_rows
from pairgossip.counts.tree import lay_tree

Array = np.ndarray
CELLS = 256


def hold_by_hand(rows: list[int], cells: range, least: int) -> dict[tuple[int, int], list[int]]:
    """Return the cells of the rows that are reported in each block, by its first and last cell."""
    here = (cells[0], cells[-1])
    if not rows or len(cells) == 1:
        return {here: rows} if rows else {}
    left, right = cells[: (len(cells) + 1) // 2], cells[(len(cells) + 1) // 2 :]
    low, high = [row for row in rows if row in left], [row for row in rows if row in right]
    if min(len(low), len(high)) >= least:
        return hold_by_hand(low, left, least) | hold_by_hand(high, right, least)
    if len(rows) < 4 * least:
        return {here: rows}
    if len(low) < least:
        return {here: rows[:least]} | hold_by_hand(rows[least:], right, least)
    return {here: rows[-least:]} | hold_by_hand(rows[:-least], left, least)


@pytest.mark.parametrize("cells", [8, 11, 64])
@pytest.mark.parametrize("least", [3, 5])
def test_rows_that_stay_are_the_outermost_of_their_site(cells: int, least: int) -> None:
    tree, random = lay_tree((cells,)), np.random.default_rng(cells)
    for spread in (0.02, 0.2, 1.0):
        rows = np.sort(random.beta(1, 1 / spread, 80) * cells).astype(int)
        below = np.cumsum(np.bincount(rows, minlength=cells))
        start, stop = tree.hold(below, least)
        ends = zip(tree.boxes[0][:, 0], tree.boxes[1][:, 0], start, stop, strict=True)
        found = {(a, b): rows[one:other].tolist() for a, b, one, other in ends if other > one}
        assert found == hold_by_hand(rows.tolist(), range(cells), least)


def draw_tail(random: np.random.Generator, sites: int, rows: int) -> Array:
    """Draw sites whose rows are lognormal, in a range three times as wide, shape (sites, 256)."""
    values = np.exp(0.6 * random.standard_normal((sites, rows)))
    cells = np.minimum(values / 30 * CELLS, CELLS - 1).astype(int)
    return np.stack([np.bincount(one, minlength=CELLS) for one in cells])


@pytest.mark.parametrize(("rows", "least"), [(100, 3), (1000, 3), (1000, 10)])
def test_tails_are_as_long_as_those_of_the_rows(rows: int, least: int) -> None:
    """If rows of tails are spread like others, tails are too short, and means are biased."""
    random, tree, places = np.random.default_rng(1), lay_tree((CELLS,)), np.arange(CELLS)
    leans = np.zeros((2, 8))
    for draw in range(8):
        sites = draw_tail(random, 4, rows)
        exact, blocks = sites.sum(axis=0), tree.report(sites, least).sum(axis=0).astype(float)
        means = [
            float(places @ one) for one in (exact, spread_rows(tree, blocks), tree.spread(blocks))
        ]
        error = np.sqrt(exact @ places**2 - means[0] ** 2 / exact.sum())
        leans[:, draw] = (np.array(means[1:]) - means[0]) / error
    assert abs(leans[0].mean()) < 0.4 * abs(leans[1].mean())
    assert leans[1].mean() < -1.0


@pytest.mark.parametrize("cells", [2, 3, 11, 100, 1024])
def test_rows_stay_in_their_blocks(cells: int) -> None:
    tree, random = lay_tree((cells,)), np.random.default_rng(2)
    sites = random.poisson(random.exponential(80 / cells, (2, 3, cells)))
    blocks = tree.report(sites, 3).sum(axis=1).astype(float)
    found = spread_rows(tree, blocks)
    assert found.shape == (2, cells) and found.min() >= 0
    inside, around = tree.gather(found), tree.add_containing(blocks) - blocks
    first, last = tree.boxes[0][:, 0], tree.boxes[1][:, 0]
    is_within = (first >= first[:, None]) & (last <= last[:, None])
    within = blocks @ is_within.T
    assert (inside >= within - 1e-6).all() and (inside <= within + around + 1e-6).all()


def test_rows_far_from_all_others_have_a_place() -> None:
    tree = lay_tree((1 << 12,))
    blocks = np.zeros(tree.size)
    blocks[[0, tree.cells[5], tree.cells[-1]]] = 30.0, 1e6, 3.0
    found = spread_rows(tree, blocks)
    assert np.isfinite(found).all() and found.sum() == pytest.approx(blocks.sum())
    assert (spread_rows(tree, np.zeros(tree.size)) == 0).all()


def test_what_a_liar_claims_costs_no_memory() -> None:
    tree = lay_tree((64,))
    blocks = np.where(tree.is_cell, 3.0, 1e9)
    found = spread_rows(tree, blocks)
    assert found.sum() == pytest.approx(blocks.sum())


@pytest.mark.parametrize("digits", [1e-15, 1e-13])
def test_other_last_digits_of_a_machine_change_no_estimate(
    digits: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members compare figures that each machine computes for itself."""
    random, tree = np.random.default_rng(3), lay_tree((CELLS,))
    for rows, least in ((100, 3), (1000, 10)):
        blocks = tree.report(draw_tail(random, 3, rows), least).sum(axis=0).astype(float)
        expected = spread_rows(tree, blocks)

        def fit(self: object, *rest: object, plain: object = spreading._Curve.fit) -> Array:
            logs = plain(self, *rest)  # type: ignore[operator]
            return np.asarray(logs * (1 + digits * random.standard_normal(len(logs))))

        with monkeypatch.context() as patch:
            patch.setattr(spreading._Curve, "fit", fit)
            assert np.cumsum(spread_rows(tree, blocks)) == pytest.approx(
                np.cumsum(expected), abs=1e-7
            )
