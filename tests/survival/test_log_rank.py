"""Tests of groups, against published ones, statsmodels and lifelines, and their brackets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.duration.survfunc import survdiff

import pairgossip as pg
from pairgossip.counts.bounds import UNKNOWN, Blocks
from pairgossip.survival.log_rank import GEHAN, add_scores
from pairgossip.survival.log_rank_bounds import bound_scores, bound_statistic
from tests.counts.drawing import Case, draw
from tests.survival.rows import ARM, RELAPSE, WEEKS, draw_rows, follow_formula


def test_the_remissions_of_freireich() -> None:
    found = pg.survival.log_rank(WEEKS, RELAPSE, by=ARM)
    assert round(found.statistic, 2) == 16.79 and found.freedom == 1
    assert list(found.observed) == [9, 21]
    assert found.expected == pytest.approx((19.25, 10.75), abs=0.005)
    assert "16.79 with 1 degree of freedom, p = 4.17e-05" in str(found)
    gehan = pg.survival.log_rank(WEEKS, RELAPSE, by=ARM, weights="gehan")
    assert round(gehan.statistic, 2) == 13.46 and "Gehan-Breslow" in str(gehan)


def test_numbers_of_lifelines() -> None:
    """Version 0.30.3, multivariate_logrank_test with its weights None and 'wilcoxon'."""
    time, event, _, group = follow_formula()
    for kind, numbers in (
        ("log-rank", (0.21546767222347604, 0.8978665442799457)),
        ("gehan", (0.03658618726083275, 0.9818732093972721)),
    ):
        found = pg.survival.log_rank(time, event, by=group, weights=kind)
        assert (found.statistic, found.p) == pytest.approx(numbers, rel=1e-11)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize(("kind", "other"), [("log-rank", None), ("gehan", "gb")])
def test_as_statsmodels(seed: int, kind: str, other: str | None) -> None:
    random = np.random.default_rng(seed)
    time, event, stratum, group = draw_rows(random)
    group[:4], event[:4] = (0, 1, 2, 0), 1
    time[:4] = time.min()  # all groups are at risk at an event
    time[-3:], group[-3:] = time.max() + 1, range(3)  # and not all have the event then
    stratum = stratum % 2
    statistic, p = survdiff(time, event, group, weight_type=other)
    found = pg.survival.log_rank(time, event, by=group, weights=kind)
    assert (found.statistic, found.p) == pytest.approx((statistic, p), rel=1e-8)
    statistic, p = survdiff(time, event, group, weight_type=other, strata=stratum)
    found = pg.survival.log_rank(time, event, by=group, weights=kind, within=stratum)
    assert (found.statistic, found.p) == pytest.approx((statistic, p), rel=1e-8)


def test_groups_that_never_meet_have_no_freedom() -> None:
    """The last two of three groups are censored before the first event."""
    time, event, group = [5, 6, 7, 8, 1, 2], [1, 1, 0, 1, 0, 0], list("aabbcc")
    found = pg.survival.log_rank(time, event, by=group)
    assert found.freedom == 1 and found.expected[2] == 0
    with pytest.raises(pg.InputError, match="at risk at the time of an event"):
        pg.survival.log_rank([5, 6, 1, 2], [1, 1, 0, 0], by=list("aacc"))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["log-rank", "gehan"])
def test_brackets_are_never_missed(seed: int, kind: str) -> None:
    """They are of sums of sites in cells and blocks: scores, covariances and the statistic."""
    random = np.random.default_rng(seed)
    finite = 0
    for _ in range(300):
        size = int(random.integers(2, 4))
        case = Case(1, 2 * size, lambda blocks, target: UNKNOWN, lambda rows, target: math.nan)
        drawn = draw(random, case)
        if len(drawn.rows) < 2:
            continue
        parts = np.split(drawn.blocks.counts, size)
        groups = [Blocks(drawn.blocks.axes[:2], drawn.blocks.tree, part) for part in parts]
        ends = bound_scores(groups, is_gehan=kind == GEHAN)
        time, code = drawn.rows[:, 0], drawn.rows[:, 1].astype(int)
        scores = add_scores(time, code % 2 + 0.0, code // 2, np.ones(len(code)), kind, size)
        difference = scores.observed - scores.expected
        slack = 1e-9 * (1 + np.abs(scores.variance).max())
        assert (ends.low - slack <= difference).all() and (difference <= ends.high + slack).all()
        assert (ends.least - slack <= scores.variance).all()
        assert (scores.variance <= ends.most + slack).all()
        keep = slice(None, -1)
        statistic = difference[keep] @ np.linalg.pinv(scores.variance[keep, keep], hermitian=True)
        low, high = bound_statistic([ends])
        value = float(statistic @ difference[keep])
        assert low * (1 - 1e-9) - 1e-9 <= value <= high * (1 + 1e-9) + 1e-9
        finite += math.isfinite(high)
    assert finite > 20


def _draw_sites(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    group = random.integers(0, 3, n)
    time, stop = random.exponential(10 + 3 * group), random.uniform(0, 30, n)
    return np.minimum(time, stop), (time <= stop).astype(int), np.array(["a", "b", "c"])[group]


@pytest.mark.parametrize("kind", ["log-rank", "gehan"])
def test_summaries_of_two_and_of_three_groups(kind: str) -> None:
    time, event, group = _draw_sites(2000)
    for names in (["a", "b"], ["a", "b", "c"]):
        at = np.isin(group, names)
        s = pg.summarize(
            time[at],
            "auc",
            labels=event[at],
            by=group[at],
            classes=[0, 1],
            groups=names,
            cells=pg.cells.Even(0, 30, 2048),
        )
        found = pg.survival.log_rank(s, weights=kind)
        own = pg.survival.log_rank(time[at], event[at], by=group[at], weights=kind)
        low, high = found.bracket
        assert low <= own.statistic <= high < 2 * low
        assert found.p_bracket[0] <= own.p <= found.p_bracket[1]
        assert found.statistic == pytest.approx(own.statistic, rel=0.05)
        assert found.freedom == len(names) - 1 and "certain" in str(found)


def test_whole_times_and_strata_leave_nothing_open() -> None:
    time, event, stratum, group = follow_formula()
    s = pg.summarize(
        time, "auc", labels=event, by=group, within=stratum % 2, cells=pg.cells.Whole(0, 30)
    )
    found = pg.survival.log_rank(s)
    own = pg.survival.log_rank(time, event, by=group, within=stratum % 2)
    assert found.statistic == pytest.approx(own.statistic, rel=1e-12)
    assert found.bracket == (found.statistic,) * 2 and found.p_bracket == (found.p,) * 2


def test_counts_that_say_nothing_are_refused() -> None:
    time, event, group = _draw_sites(60)
    s = pg.summarize(
        time,
        "auc",
        labels=event,
        by=group,
        classes=[0, 1],
        groups=["a", "b", "c"],
        cells=pg.cells.Even(0, 30, 4),
        least_cell=3,
    )
    with pytest.raises(pg.InputError, match="the statistic may be any number, which does not tell"):
        pg.survival.log_rank(s)


def test_counts_that_tell_neither_a_difference_nor_none_are_refused() -> None:
    time, event, group = _draw_sites(300)
    at = group != "c"
    s = pg.summarize(
        time[at],
        "auc",
        labels=event[at],
        by=group[at],
        classes=[0, 1],
        groups=["a", "b"],
        cells=pg.cells.Even(0, 30, 64),
        least_cell=5,
    )
    with pytest.raises(pg.InputError, match=r"may be anything from 0 to [0-9.]+, which does not"):
        pg.survival.log_rank(s)
