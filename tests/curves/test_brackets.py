"""Brackets hold the values of the counted rows, wherever these lie in their cells and blocks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.counts.bounds import UNKNOWN
from pairgossip.curves.roc import Roc
from pairgossip.curves.scores import Scores
from pairgossip.inference.answer import answer_without_error
from tests.counts.drawing import Case, draw
from tests.curves.rows import (
    Points,
    draw_rows,
    find_area,
    find_heights,
    list_points,
    split_pieces,
    turn,
)

TABLES = 30
SLACK = 1e-9


class Counted(NamedTuple):
    """Counts of rows, and possible rows with these counts."""

    roc: Roc
    scores: FloatArray
    labels: FloatArray

    @property
    def points(self) -> Points:
        return list_points(self.scores, self.labels)


def draw_counted(random: np.random.Generator) -> Counted:
    """Draw counts in cells, whole numbers or not, or in blocks, until both classes have rows."""
    while True:
        case = Case(1, 2, lambda *_: UNKNOWN, lambda *_: math.nan, bool(random.integers(2)))
        drawn = draw(random, case)
        if drawn.blocks.by_class.sum(axis=1).min() > 0 and len(np.unique(drawn.rows[:, 1])) == 2:
            scores = Scores.of_blocks(drawn.blocks)
            roc = Roc(scores, answer_without_error(math.nan), None, 0.95, drawn.least)
            return Counted(roc, drawn.rows[:, 0], drawn.rows[:, 1])


def holds(bracket: tuple[float, float], value: float) -> bool:
    if math.isnan(value):
        return True  # 0 / 0 has no place
    return bracket[0] - SLACK <= value <= bracket[1] + SLACK


def choose_thresholds(random: np.random.Generator, counted: Counted) -> list[float]:
    """Return thresholds at, between and beyond edges of cells, and at rows."""
    places = counted.roc.scores.axis.places
    inside = random.uniform(places[0] - 0.5, places[-1] + 0.5, 4).tolist()
    return [*inside, *random.random(2).tolist(), *places.tolist(), float(counted.scores[0])]


def read_thresholds(counted: Counted, threshold: float) -> dict[str, float]:
    """Return what a threshold does to rows, by counting them."""
    is_above, is_positive = counted.scores >= threshold, counted.labels == 1
    tp, fp = (is_above & is_positive).sum(), (is_above & ~is_positive).sum()
    fn, tn = is_positive.sum() - tp, (~is_positive).sum() - fp
    n, odds = len(is_above), threshold / (1 - threshold) if 0 < threshold < 1 else math.nan
    with np.errstate(all="ignore"):
        return {
            "sensitivity": tp / (tp + fn),
            "specificity": tn / (tn + fp),
            "ppv": tp / (tp + fp),
            "npv": tn / (tn + fn),
            "lr_positive": (tp / (tp + fn)) / (fp / (tn + fp)),
            "lr_negative": (fn / (tp + fn)) / (tn / (tn + fp)),
            "flagged": (tp + fp) / n,
            "net_benefit": (tp - odds * fp) / n,
        }


@pytest.mark.parametrize("seed", range(8))
def test_thresholds(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(TABLES):
        counted = draw_counted(random)
        for threshold in choose_thresholds(random, counted):
            point = counted.roc.at(threshold)
            for name, value in read_thresholds(counted, threshold).items():
                found = getattr(point, name)
                assert holds(found.bracket, value), (name, threshold, found, value)
                # Wilson's ends surround both ends of the bracket, and the estimate lies between
                # these.
                assert holds((found.low, found.high), value), (name, threshold, found, value)
                if not math.isnan(found.value):
                    assert holds(found.bracket, found.value), (name, threshold)


@pytest.mark.parametrize("seed", range(8))
def test_areas_and_the_best_threshold(seed: int) -> None:
    random = np.random.default_rng((1, seed))
    for _ in range(TABLES):
        counted = draw_counted(random)
        roc, points = counted.roc, counted.points
        low, high = sorted(random.choice([random.random(), 0.0, 0.5, 0.9, 1.0], 2, replace=False))
        start, stop = float(1 - high), float(1 - low)
        for name, path in (("specificity", points), ("sensitivity", turn(points))):
            found = roc.partial_auc(**{name: (low, high)})  # type: ignore[arg-type]
            assert holds(found.bracket, find_area(path, start, stop)), name
            assert holds(found.bracket, found.value)
        value = float(average_precision_score(counted.labels, counted.scores))
        assert holds(roc.average_precision.bracket, value)
        assert holds(roc.average_precision.bracket, roc.average_precision.value)
        best = roc.youden()
        assert holds(best.value.bracket, max(y - x for x, y in points))
        assert holds(best.value.bracket, best.value.value)


@pytest.mark.parametrize("seed", range(8))
def test_staircase_and_band(seed: int) -> None:
    random = np.random.default_rng((2, seed))
    for _ in range(TABLES):
        counted = draw_counted(random)
        lower, upper = (
            list(zip(x.tolist(), y.tolist(), strict=True)) for x, y in counted.roc.certain
        )
        estimate = list(zip(counted.roc.fpr, counted.roc.tpr, strict=True))
        for x, y in split_pieces(counted.points) + split_pieces(estimate):
            assert find_heights(lower, x)[0] - SLACK <= y <= find_heights(upper, x)[1] + SLACK
        band = counted.roc.band
        below, above = (
            list(zip(x.tolist(), y.tolist(), strict=True)) for x, y in (band.lower, band.upper)
        )
        for x, y in split_pieces(lower):
            assert find_heights(below, x)[0] <= y + SLACK
        for x, y in split_pieces(upper):
            assert find_heights(above, x)[1] >= y - SLACK


@pytest.mark.parametrize("seed", range(8))
def test_best_thresholds_of_these_rows_are_in_the_set(seed: int) -> None:
    """The set is for the population, so it also holds the best threshold of the rows."""
    random = np.random.default_rng((3, seed))
    for _ in range(TABLES):
        counted = draw_counted(random)
        scores, is_positive = counted.scores, counted.labels == 1
        best, index = -math.inf, 0.0
        for one in np.unique(scores):
            gain = (scores[is_positive] >= one).mean() - (scores[~is_positive] >= one).mean()
            best, index = (float(one), gain) if gain > index + SLACK else (best, index)
        if index > 0:
            low, high = counted.roc.youden().thresholds
            assert low <= best <= high


@pytest.mark.parametrize("seed", range(20))
def test_whole_numbers_are_rows(seed: int) -> None:
    """Cells of one value have no uncertainty: every reading equals that of the rows."""
    scores, labels = draw_rows(np.random.default_rng(seed))
    scores = np.round(scores * 20)
    cells = pg.cells.Whole(0, 20)
    counted = pg.roc(pg.summarize(scores, "auc", labels=labels, classes=[0, 1], cells=cells))
    rows = pg.roc(scores, labels)
    assert counted.auc.value == pytest.approx(rows.auc.value, abs=1e-14)
    assert counted.scores.is_known
    for one, other in (
        (counted.partial_auc((0.7, 0.95)), rows.partial_auc((0.7, 0.95))),
        (counted.average_precision, rows.average_precision),
        (counted.youden().value, rows.youden().value),
    ):
        for name in ("value", "error", "low", "high"):
            found, expected = getattr(one, name), getattr(other, name)
            assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert one.bracket == pytest.approx(other.bracket, abs=1e-12)
    for threshold in (-1.0, 0.0, 6.5, 7.0, 20.0, 21.0):
        assert str(counted.at(threshold)) == str(rows.at(threshold))
    assert counted.band.upper[0][-1] == 1.0


def test_the_only_cell_leaves_all_open() -> None:
    s = pg.summarize([0.1, 0.5, 0.7], "auc", labels=[0, 0, 1], cells=pg.cells.Even(0, 1, 2))
    merged = pg.roc(s + s)  # 2 rows below 1/2, and 2 + 2 above
    assert merged.at(0.75).sensitivity.bracket == (0.0, 1.0)
    assert merged.at(0.5).sensitivity.bracket == (1.0, 1.0)
    assert merged.at(1.0).specificity.bracket == (0.5, 1.0)  # rows may be at 1, the last edge
    assert merged.at(1.01).specificity.bracket == (1.0, 1.0)
    assert merged.partial_auc((0.5, 1)).bracket == pytest.approx((0.0, 0.5))
    assert merged.average_precision.bracket == pytest.approx((5 / 12, 1.0), abs=0.02)


def test_brackets_are_narrow_where_blocks_are() -> None:
    """Average precision of five sites with hidden small counts, compared with all their rows."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 4000)
    scores = 1 / (1 + np.exp(-random.normal(1.5 * labels)))
    parts = [
        pg.summarize(
            scores[at::5],
            "auc",
            labels=labels[at::5],
            classes=[0, 1],
            cells=pg.cells.Even(0, 1, 64),
            least_cell=3,
        )
        for at in range(5)
    ]
    rows, counted = pg.roc(scores, labels), pg.roc(sum(parts))
    for one, other in (
        (counted.average_precision, rows.average_precision),
        (counted.partial_auc((0.8, 1)), rows.partial_auc((0.8, 1))),
        (counted.youden().value, rows.youden().value),
    ):
        assert holds(one.bracket, other.value)
        assert one.value == pytest.approx(other.value, abs=0.02)
        assert one.bracket[1] - one.bracket[0] < 0.1
