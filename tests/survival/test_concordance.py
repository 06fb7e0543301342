"""Harrell's and Uno's index, against scikit-survival, pairs one by one, and derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.survival.uno import project_uno
from tests.survival.rows import Numbers, draw_rows, follow_formula


def find_index(
    time: Numbers, event: Numbers, risk: Numbers, last: float, weights: Numbers, *, is_uno: bool
) -> float:
    """Return the index of weighted rows, pair by pair."""
    reached, left = {}, 1.0
    for one in np.unique(time):
        reached[one] = left if is_uno else 1.0
        is_censored = (time == one) & (event == 0)
        at_risk = weights[(time > one) | is_censored].sum()
        left *= 1 - (weights[is_censored].sum() / at_risk if at_risk else 0.0)
    agreeing = compared = 0.0
    for t, r, w in zip(*(one[event == 1] for one in (time, risk, weights)), strict=True):
        later = ((time > t) | ((time == t) & (event == 0))) & (t < last)
        weight = w / reached[t] ** 2
        compared += weight * weights[later].sum()
        agreeing += weight * (weights * later * ((risk < r) + 0.5 * (risk == r))).sum()
    return agreeing / compared if compared else math.nan


def test_numbers_of_scikit_survival() -> None:
    """Version 0.28.0: concordance_index_censored, and concordance_index_ipcw.

    The latter takes the share followed up to and at an event. Censorings were moved by 1e-6, so
    that it takes the share before the event, as Uno does.
    """
    time, event, risk, _ = follow_formula()
    expected = {
        (): 0.5457110609480813,
        (math.inf,): 0.5533653225047365,
        (15.0,): 0.5419406686669855,
    }
    for last, value in expected.items():
        more = {"weights": "uno", "truncation": last[0]} if last else {}
        found = pg.survival.concordance(time, event, risk, **more)  # type: ignore[arg-type]
        assert isinstance(found, pg.Answer)
        assert found.value == pytest.approx(value, rel=1e-12)
        assert found.low < value < found.high


@pytest.mark.parametrize("seed", range(40))
def test_indices_count_pairs(seed: int) -> None:
    random = np.random.default_rng(seed)
    time, event, risk, _ = draw_rows(random)
    ones = np.ones(len(time))
    last = math.inf if seed % 2 else float(np.quantile(time, 0.8))
    for kind in ("harrell", "uno"):
        end = last if kind == "uno" else math.inf
        value = find_index(time, event, risk, end, ones, is_uno=kind == "uno")
        more = {"weights": kind, "truncation": last if kind == "uno" else None}
        if math.isnan(value):
            with pytest.raises(pg.InputError):
                pg.survival.concordance(time, event, risk, interval=None, **more)  # type: ignore[arg-type]
            continue
        found = pg.survival.concordance(time, event, risk, interval=None, **more)  # type: ignore[arg-type]
        assert found == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("weights", ["harrell", "uno"])
def test_pairs_that_tell_nothing_are_refused(weights: Any) -> None:
    """The only event is at the last time: scikit-survival and lifelines also raise errors."""
    refused = "No event .*has a row with a later time"
    for interval in (None, 0.95):
        with pytest.raises(pg.InputError, match=refused):
            pg.survival.concordance(
                [10, 2, 3], [1, 0, 0], [1, 2, 3], interval=interval, weights=weights
            )
    last = pg.survival.concordance([10, 2, 10], [1, 0, 0], [3, 2, 1], interval=None)
    assert last == 1.0  # the row that is censored at the time of the event outlives it


@pytest.mark.parametrize("seed", range(20))
def test_what_rows_add_is_the_derivative(seed: int) -> None:
    """A row's influence is the change of the index if the row counts slightly more."""
    random = np.random.default_rng(100 + seed)
    time, event, risk, _ = draw_rows(random)
    last = math.inf if seed % 2 else float(np.quantile(time, 0.9))
    n, step = len(time), 1e-5
    base = find_index(time, event, risk, last, np.ones(n), is_uno=True)
    if math.isnan(base):
        return
    found = project_uno(time, event, risk, last)
    for row in range(n):
        moved = [
            find_index(time, event, risk, last, np.ones(n) + side * np.eye(n)[row], is_uno=True)
            for side in (step, -step)
        ]
        slope = n * (moved[0] - moved[1]) / (2 * step)
        assert found.influence[row] == pytest.approx(slope, abs=1e-6)


def test_without_censoring_both_are_one() -> None:
    time, _, risk, _ = follow_formula()
    harrell, uno = (
        pg.survival.concordance(time, np.ones(60), risk, weights=kind)
        for kind in ("harrell", "uno")
    )
    assert isinstance(harrell, pg.Answer) and isinstance(uno, pg.Answer)
    assert uno.to_dict() == pytest.approx(harrell.to_dict())


def test_within_strata() -> None:
    time, event, risk, group = follow_formula()
    found = pg.survival.concordance(time, event, risk, within=group, interval=None)
    rows = np.column_stack((-risk, time, event))
    assert found == pg.exact(rows, "concordance", within=group)


def test_columns_by_name() -> None:
    time, event, risk, _ = follow_formula()
    table = {"days": time, "died": event, "score": risk}
    found = pg.survival.concordance(table, "died", "score", columns="days")
    assert str(found) == str(pg.survival.concordance(time, event, risk))


def count_sites(n: int, effect: float, least: int, seed: int = 0) -> tuple[pg.Summary, pg.Answer]:
    """Return the counts of three sites, and the index of their rows."""
    random = np.random.default_rng(seed)
    risk = random.normal(size=n).clip(-4, 4)
    time = random.exponential(10 * np.exp(-effect * risk))
    stop = random.uniform(0, 30, n)
    rows = np.column_stack((risk, np.minimum(time, stop), time <= stop))
    cells = [pg.cells.Even(-4, 4, 32), pg.cells.Even(0, 30, 32)]
    parts = [
        pg.summarize(one, "concordance", cells=cells, least_cell=least)
        for one in np.array_split(rows, 3)
    ]
    own = pg.survival.concordance(rows[:, 1], rows[:, 2], risk)
    assert isinstance(own, pg.Answer)
    return parts[0] + parts[1] + parts[2], own


@pytest.mark.parametrize("least", [1, 3, 5])
def test_the_index_of_a_summary_has_a_bracket(least: int) -> None:
    s, own = count_sites(3000, 1.0, least)
    found = pg.survival.concordance(s)
    assert isinstance(found, pg.Answer)
    low, high = found.bracket
    assert 0.5 < low <= own.value <= high and low <= found.value <= high
    assert found.low <= own.low < own.high <= found.high
    assert found.error == pytest.approx(own.error, rel=0.5)
    assert pg.survival.concordance(s, interval=None) == found.value
    assert found.value == pytest.approx(1 - s.answer(0.95).value)


def test_counts_that_do_not_tell_the_side_are_refused() -> None:
    for n, effect, least in ((150, 1.0, 5), (3000, 0.1, 3)):
        s, _ = count_sites(n, effect, least)
        with pytest.raises(pg.InputError, match="do not show whether higher risks fail first"):
            pg.survival.concordance(s)


def test_an_index_of_one_half_is_told_where_cells_leave_nothing_open() -> None:
    time, event, risk, _ = follow_formula()
    cells = [pg.cells.Whole(0, 13), pg.cells.Whole(0, 30)]
    for turned in (risk, 12 - risk):
        rows = np.column_stack((turned, time, event))
        found = pg.survival.concordance(pg.summarize(rows, "concordance", cells=cells))
        own = pg.survival.concordance(time, event, turned)
        assert isinstance(found, pg.Answer) and isinstance(own, pg.Answer)
        numbers = (found.value, found.low, found.high, *found.bracket)
        assert numbers == pytest.approx((own.value, own.low, own.high, own.value, own.value))
