"""Brackets of survival curves hold the rows' own curve, and some rows attain them."""

from __future__ import annotations

import itertools
import math
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.counts.axes import Grid, Labels
from pairgossip.counts.bounds import UNKNOWN, Blocks
from pairgossip.counts.tree import lay_tree
from pairgossip.survival import bounds
from pairgossip.survival.bounds import bound_curve
from pairgossip.survival.life_table import HALF, LifeTable
from tests.counts.drawing import Case, draw
from tests.survival.rows import ARM, RELAPSE, WEEKS
from tests.survival.test_kaplan_meier import survive

EVENTS = Case(1, 2, lambda blocks, target: UNKNOWN, lambda rows, target: math.nan, True)


@pytest.mark.parametrize("seed", range(4))
def test_brackets_are_never_missed(seed: int) -> None:
    """They are of sums of sites, in cells and blocks, with ties, on edges and at ends of blocks."""
    random = np.random.default_rng(seed)
    for _ in range(400):
        drawn = draw(random, EVENTS)
        if not len(drawn.rows):
            continue
        time, event = drawn.rows.T
        found, places = bound_curve(drawn.blocks), drawn.blocks.axes[0].places
        at = np.concatenate([places, time[:5], random.uniform(places[0], places[-1], 3)])
        table = LifeTable.of(time, event)
        for before in (False, True):
            low, high = found.at(at, before=before)
            passed = np.searchsorted(table.times, at, "left" if before else "right")
            share = np.append(1.0, table.survival)[passed]
            assert (low <= share).all() and (share <= high).all()
            assert share[0] == pytest.approx(survive(time, event, at[0], before=before))
        fewest, most = found.at_risk(at)
        at_risk = (time[:, None] >= at).sum(axis=0)
        assert (fewest <= at_risk).all() and (at_risk <= most).all()
        reached = table.times[table.survival <= HALF]
        low_end, high_end = found.median()
        assert low_end <= (reached[0] if len(reached) else math.inf) <= high_end


def _place(blocks: Blocks, is_grid: bool) -> list[np.ndarray]:
    """Return all orders of rows with these counts, with events before or after censorings."""
    first, last = (box[:, 0] for box in blocks.tree.boxes)
    choices = []
    for event, block in np.argwhere(blocks.counts > 0):
        inside = ([0.2, 0.8] if event else [0.5]) if is_grid else [0.0]
        cells = range(first[block], last[block] + 1)
        places = [(cell + part, event) for cell in cells for part in inside]
        choices += [places] * int(blocks.counts[event, block])
    return [np.array(rows) for rows in itertools.product(*choices)]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("is_grid", [True, False])
def test_rows_attain_both_ends_at_every_edge(seed: int, is_grid: bool) -> None:
    random = np.random.default_rng(seed)
    tree = lay_tree((4,))
    counts = np.zeros((2, tree.size))
    for _ in range(random.integers(1, 6)):
        counts[random.integers(0, 2), random.integers(0, tree.size)] += 1
    axis = Grid(np.arange(5.0)) if is_grid else Labels(np.arange(4.0))
    blocks = Blocks((axis, Labels(np.arange(2.0))), tree, counts)
    found = bound_curve(blocks)
    edges = np.arange(5) if is_grid else np.arange(5) - 0.5
    shares = np.array(
        [
            [survive(rows[:, 0], rows[:, 1], float(edge), before=True) for edge in edges]
            for rows in _place(blocks, is_grid)
        ]
    )
    assert found.least == pytest.approx(shares.min(axis=0), abs=1e-12)
    assert found.most == pytest.approx(shares.max(axis=0), abs=1e-12)


def _sum_sites(time: np.ndarray, event: np.ndarray, least: int, cells: Any) -> pg.Summary:
    """Return the counts of five sites."""
    options: Any = {"classes": [0, 1], "cells": cells, "least_cell": least}
    parts = [
        pg.summarize(time[at], "shift", labels=event[at], **options)
        for at in np.split(np.arange(len(time)), 5)
    ]
    return reduce(add, parts)


def test_of_many_edges_some_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    time, event = random.exponential(10, 2000).clip(0, 50), random.integers(0, 2, 2000)
    s = _sum_sites(time, event, 5, pg.cells.Even(0, 50, 512))
    exact = pg.survival.kaplan_meier(s).curves[0].bounds
    monkeypatch.setattr(bounds, "_MOST_EDGES", 40)
    coarse = pg.survival.kaplan_meier(s).curves[0].bounds
    assert exact is not None and coarse is not None
    assert (coarse.most >= exact.most).all() and (coarse.most > exact.most).any()
    assert (coarse.least == exact.least).all()


def describe(found: Any) -> tuple[float, ...]:
    """Return the numbers of a share, without its bracket, in a row."""
    return (found.survival, found.error, *found.interval, found.at_risk)


def test_whole_times_leave_nothing_open() -> None:
    s = pg.summarize(WEEKS, "auc", labels=RELAPSE, by=ARM, cells=pg.cells.Whole(0, 40))
    k, rows = pg.survival.kaplan_meier(s), pg.survival.kaplan_meier(WEEKS, RELAPSE, by=ARM)
    for week in (0, 5, 10, 10.5, 23):
        for one, other in zip(k.curves, rows.curves, strict=True):
            found, own = one.at(week), other.at(week)
            assert describe(found) == pytest.approx(describe(own), rel=1e-9, nan_ok=True)
            assert found.bracket == pytest.approx((own.survival,) * 2)
    assert k.curves[1].median.bracket == (8, 8)


@pytest.mark.parametrize("least", [1, 3])
def test_a_summary_of_sites(least: int) -> None:
    random = np.random.default_rng(least)
    time, stop = random.exponential(10, 5000), random.uniform(0, 30, 5000)
    event, time = (time <= stop).astype(int), np.minimum(time, stop)
    s = _sum_sites(time, event, least, pg.cells.Even(0, 30, 240))
    ((k,), (rows,)) = (
        one.curves for one in (pg.survival.kaplan_meier(s), pg.survival.kaplan_meier(time, event))
    )
    for before in (False, True):
        for at in (2.0, 7.3, 10.0):
            found, own = k.at(at, before=before), rows.at(at, before=before)
            assert found.bracket[0] <= own.survival <= found.bracket[1]
            assert found.interval[0] <= own.interval[0] < own.interval[1] <= found.interval[1]
            assert found.survival == pytest.approx(own.survival, abs=0.03)
    assert k.median.bracket[0] <= rows.median.value <= k.median.bracket[1]
    edges = pg.survival.kaplan_meier(s).to_pandas()
    assert (edges.most - edges.least)[edges.time < 20].max() < (0.01 if least == 1 else 0.06)
    narrow, wide = (k.at(10, before=before).bracket for before in (True, False))
    assert wide[0] < narrow[0] or least > 1
    assert wide[0] <= narrow[0] and wide[1] == narrow[1]


def test_curves_of_hidden_counts_end_where_few_are_at_risk() -> None:
    random = np.random.default_rng(1)
    time, event = random.uniform(0, 10, 300), random.integers(0, 2, 300)
    options: Any = {"labels": event, "classes": [0, 1], "cells": pg.cells.Even(0, 10, 64)}
    s = pg.summarize(time, "auc", least_cell=3, **options)
    for sites, least in ((1, 10), (20, 60)):
        (curve,) = pg.survival.kaplan_meier(s, sites=sites).curves
        assert curve.at(curve.end).at_risk >= least
        later = curve.at(curve.end + 0.5)
        assert math.isnan(later.survival) and later.at_risk <= least
    own = pg.survival.kaplan_meier(pg.summarize(time, "auc", **options))
    assert own.curves[0].end >= time.max()


def test_hidden_counts_of_few_rows_have_no_curve() -> None:
    s = pg.summarize(
        [1, 1, 2, 2, 3, 3],
        "auc",
        labels=[0, 1] * 3,
        classes=[0, 1],
        cells=pg.cells.Even(0, 9, 8),
        least_cell=3,
    )
    k = pg.survival.kaplan_meier(s)
    assert math.isnan(k.curves[0].at(2).survival) and math.isnan(k.curves[0].median.value)
    assert len(k.to_pandas()) == 1 and k.picture().to_svg().startswith("<svg")


def test_cells_that_begin_below_0_may_be_empty_there() -> None:
    s = pg.summarize([0, 0, 2], "auc", labels=[1, 0, 1], cells=pg.cells.Float(12))
    low, high = pg.survival.kaplan_meier(s).curves[0].at(1).bracket
    assert low <= 2 / 3 <= high
    s = pg.summarize([0, 0], "auc", labels=[1, 0], cells=pg.cells.Whole(0, 1))
    assert pg.survival.kaplan_meier(s).picture().to_svg().startswith("<svg")


def test_times_beside_predictions_are_read_too() -> None:
    random = np.random.default_rng(2)
    rows = np.column_stack(
        (random.normal(size=200), random.integers(1, 9, 200), random.integers(0, 2, 200))
    )
    cells = [pg.cells.Even(-5, 5, 8), pg.cells.Whole(0, 9)]
    s = pg.summarize(rows, "concordance", cells=cells)
    own = pg.survival.kaplan_meier(rows[:, 1], rows[:, 2])
    assert describe(pg.survival.kaplan_meier(s).at(5)) == pytest.approx(describe(own.at(5)))


def test_weights_and_strata_of_a_summary() -> None:
    random = np.random.default_rng(3)
    time, event = random.integers(1, 9, 100), random.integers(0, 2, 100)
    times, center = random.integers(1, 4, 100), random.integers(0, 2, 100)
    s = pg.summarize(
        time, "auc", labels=event, weights=times, within=center, cells=pg.cells.Whole(0, 9)
    )
    own = pg.survival.kaplan_meier(np.repeat(time, times), np.repeat(event, times))
    found = pg.survival.kaplan_meier(s)
    assert describe(found.at(5)) == pytest.approx(describe(own.at(5)))
    assert found.picture().to_svg().startswith("<svg")
