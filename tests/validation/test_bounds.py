"""Brackets of calibration hold wherever the rows are in their cells and blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.curves.scores import Scores
from pairgossip.summaries.summary import Summary
from pairgossip.validation.bins import read_bins
from pairgossip.validation.calibration import NAMES, Calibration, read_calibration
from pairgossip.validation.logistic import fit_line, overlap
from pairgossip.validation.placed import Placed, expit, logit

LEVEL = 0.95
CELLS = [
    pg.cells.Logit(0.05, 8),
    pg.cells.Even(0, 1, 7),
    pg.cells.Edges([0.05, 0.2, 0.3, 0.6, 0.9]),
]


def of_rows(p: FloatArray, y: FloatArray) -> Calibration:
    """Return the calibration of rows."""
    return read_calibration(Scores.of_rows(p, y, np.ones(len(p))), LEVEL)


def of_summary(s: Summary) -> Calibration:
    """Return the calibration of counts."""
    return read_calibration(Scores.of_blocks(s.blocks_of(0)), LEVEL, s.least_cell)


def list_boxes(s: Summary) -> Iterator[tuple[float, float, int]]:
    """Return the ends of the box of every row, with its outcome."""
    boxes = Placed(Scores.of_blocks(s.blocks_of(0))).boxes
    for outcome, counts in enumerate(boxes.rows):
        for low, high, count in zip(boxes.low, boxes.high, counts, strict=True):
            yield from [(float(low), float(high), outcome)] * int(count)


@pytest.mark.filterwarnings("ignore::pairgossip.RowsDropped")  # of classes with two rows
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), which=st.integers(0, 2), least=st.sampled_from([1, 3]))
@example(seed=84147, which=0, least=3)
def test_rows_anywhere_in_their_boxes_stay_inside_the_brackets(
    seed: int, which: int, least: int
) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(8, 60))
    p = random.uniform(0.06, 0.89, n)
    y = (random.random(n) < p).astype(int)
    y[:2] = 0, 1
    s = pg.summarize(p, "auc", labels=y, cells=CELLS[which], classes=[0, 1], least_cell=least)
    if not s.counts.reshape(2, -1).any(axis=1).all():
        return
    found, boxes = of_summary(s), np.array(list(list_boxes(s)))
    low, high, outcome = boxes.T
    limits = found.limits or (0.0, 1.0)
    for where in (random.random(len(boxes)), random.integers(0, 2, len(boxes))):
        rows = (low + where * (high - low)).clip(1e-9, 1 - 1e-9)
        rows = np.where(outcome > 0, rows.clip(limits[0]), rows.clip(None, limits[1]))
        exact = of_rows(rows, outcome)
        for name in NAMES:
            number, value = getattr(found, name), getattr(exact, name).value
            if not math.isnan(number.bracket[0]) and not math.isnan(value):
                slack = 1e-9 * max(1.0, abs(value))
                assert number.bracket[0] - slack <= value <= number.bracket[1] + slack, name


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("least", [1, 3])
def test_rows_that_are_moved_to_change_the_slope_stay_inside_its_bracket(
    seed: int, least: int
) -> None:
    """Each row in turn moves to the end or middle of its box that raises the slope most."""
    random = np.random.default_rng(seed)
    x = random.normal(-0.5, 1.5, 60)
    p, y = expit(x).clip(0.06, 0.89), (random.random(60) < expit(0.8 * x)).astype(int)
    s = pg.summarize(p, "auc", labels=y, cells=CELLS[2], classes=[0, 1], least_cell=least)
    found, boxes = of_summary(s), np.array(list(list_boxes(s)))
    ends, outcome = logit(boxes[:, :2]), boxes[:, 2]
    reached = []
    for sign in (1.0, -1.0):
        at = ends.mean(axis=1)
        for _ in range(2):
            for row in range(len(at)):
                options = [*ends[row], *ends[row].mean(keepdims=True)]
                at[row] = max(options, key=lambda one: sign * _slope(at, row, one, outcome))
        reached.append(_slope(at, 0, at[0], outcome))
    low, high = found.slope.bracket
    assert low <= reached[1] < reached[0] <= high
    # The bracket is not much wider than what some rows attain.
    if least == 1:
        assert high - low < 1.6 * (reached[0] - reached[1])


def _slope(at: FloatArray, row: int, value: float, outcome: FloatArray) -> float:
    moved = at.copy()
    moved[row] = value
    logits = np.stack([moved, moved])
    rows = np.stack([1 - outcome, outcome])
    fit = fit_line(logits, rows)
    assert fit is not None
    return fit.slope


@pytest.mark.filterwarnings("ignore::pairgossip.RowsDropped")  # of classes with few rows
@settings(max_examples=40, deadline=None)
@example(seed=251, least=5)
@given(seed=st.integers(0, 10**6), least=st.sampled_from([1, 3, 5]))
def test_bins_hold_the_rows_that_they_say(seed: int, least: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(30, 200))
    p = random.beta(1, 4, n)
    y = (random.random(n) < p).astype(int)
    y[:2] = 0, 1
    s = pg.summarize(
        p, "auc", labels=y, cells=pg.cells.Logit(1e-3, 32), classes=[0, 1], least_cell=least
    )
    if s.rows < n:  # a class with too few rows is not counted
        return
    for one in read_bins(Placed(Scores.of_blocks(s.blocks_of(0))), LEVEL, least):
        is_in = (p >= one.low) & ((p < one.high) | (one.high == 1))
        if is_in.any():
            assert one.bracket[0] - 1e-12 <= p[is_in].mean() <= one.bracket[1] + 1e-12
            low, high = one.observed.bracket
            assert low - 1e-12 <= y[is_in].mean() <= high + 1e-12
        if least == 1:
            assert one.rows == is_in.sum()


def test_a_mirror_changes_the_sign_of_the_slope() -> None:
    random = np.random.default_rng(2)
    p, y = random.beta(2, 3, 300), random.integers(0, 2, 300)
    s, mirrored = (
        pg.summarize(one, "auc", labels=y, cells=pg.cells.Logit(1e-3, 32), classes=[0, 1])
        for one in (p, 1 - p)
    )
    one, other = of_summary(s).slope, of_summary(mirrored).slope
    assert one.value == pytest.approx(-other.value, abs=1e-9)
    assert one.bracket == pytest.approx((-other.bracket[1], -other.bracket[0]), rel=5e-3)


def test_classes_that_do_not_overlap_have_no_slope() -> None:
    x = np.array([[-2.0, -1.0, 0.0, 1.0], [-2.0, -1.0, 0.0, 1.0]])
    apart = np.array([[3.0, 2.0, 0.0, 0.0], [0.0, 1.0, 4.0, 1.0]])
    assert not overlap(x, apart) and fit_line(x, apart) is None
    assert overlap(x, apart[:, ::-1] + apart)
