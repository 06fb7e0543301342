"""Curves of rows are those of scikit-learn, and their errors those of DeLong or of derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.curves.shares import simultaneous_width
from tests.curves.rows import draw_rows, find_area, list_points, turn

SEEDS = range(40)


def draw(seed: int) -> tuple[FloatArray, FloatArray]:
    return draw_rows(np.random.default_rng(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_curve_of_scikit_learn(seed: int) -> None:
    scores, labels = draw(seed)
    fpr, tpr, thresholds = metrics.roc_curve(labels, scores, drop_intermediate=False)
    r = pg.roc(scores, labels)
    np.testing.assert_allclose(r.fpr, fpr, atol=1e-15)
    np.testing.assert_allclose(r.tpr, tpr, atol=1e-15)
    assert r.cuts.tolist() == thresholds.tolist()
    assert r.auc.value == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-14)
    precision, recall, _ = metrics.precision_recall_curve(labels, scores)
    # Scikit-learn's only threshold at which no row is positive is the end of its curve.
    np.testing.assert_allclose(r.precision, precision[::-1], atol=1e-15)
    np.testing.assert_allclose(r.tpr, recall[::-1], atol=1e-15)
    found = r.average_precision
    assert found.value == pytest.approx(metrics.average_precision_score(labels, scores), abs=1e-14)
    assert found.bracket == (found.value, found.value)


@pytest.mark.parametrize("seed", SEEDS)
def test_partial_areas(seed: int) -> None:
    scores, labels = draw(seed)
    r, random = pg.roc(scores, labels), np.random.default_rng((1, seed))
    low, high = sorted(random.random(2).tolist())
    standardized = metrics.roc_auc_score(labels, scores, max_fpr=1 - low)
    assert r.partial_auc((low, 1.0), corrected=True).value == pytest.approx(standardized, abs=1e-13)
    points = list_points(scores, labels)
    for name, path in (("specificity", points), ("sensitivity", turn(points))):
        area = find_area(path, 1 - high, 1 - low)
        found = r.partial_auc(**{name: (low, high)})  # type: ignore[arg-type]
        assert found.value == pytest.approx(area, abs=1e-13)
        assert found.bracket == (found.value, found.value)
        corrected = r.partial_auc(**{name: (low, high)}, corrected=True)
        least, most = ((1 - low) ** 2 - (1 - high) ** 2) / 2, high - low
        assert corrected.value == pytest.approx(
            (1 + (area - least) / (most - least)) / 2, abs=1e-11
        )
    both = r.partial_auc((0, 1)).value, r.partial_auc(sensitivity=(0, 1)).value
    assert both == pytest.approx((r.auc.value,) * 2, abs=1e-14)


def compare_by_delong(scores: FloatArray, labels: FloatArray) -> float:
    """Return DeLong's standard error of the AUC, from the rank of every row among the others."""
    negative, positive = scores[labels == 0], scores[labels == 1]
    order = (np.sign(np.subtract.outer(positive, negative)) + 1) / 2
    parts = (order.mean(axis=axis) for axis in (0, 1))
    return math.sqrt(sum(float(one.var(ddof=1)) / len(one) for one in parts))


@pytest.mark.parametrize("seed", SEEDS)
def test_error_over_the_whole_range_is_delongs(seed: int) -> None:
    scores, labels = draw(seed)
    r = pg.roc(scores, labels)
    if min(r.positives, r.negatives) < 2:
        assert math.isnan(r.partial_auc((0, 1)).error)
        return
    error = compare_by_delong(scores, labels)
    for found in (r.partial_auc((0, 1)), r.partial_auc(sensitivity=(0, 1))):
        assert found.error == pytest.approx(error, abs=1e-13)


@pytest.mark.parametrize("name", ["specificity", "sensitivity"])
@pytest.mark.parametrize("seed", range(6))
def test_error_of_partial_areas_is_that_of_derivatives(seed: int, name: str) -> None:
    """A row's influence is the derivative of the area if its class shifts weight to this row."""
    scores, labels = draw(seed)
    low, high = 0.6180, 0.9271  # not a multiple of 1 / rows, where the curve may rise
    step = 1e-6

    def measure(weights: FloatArray) -> float:
        fpr, tpr, _ = metrics.roc_curve(
            labels, scores, sample_weight=weights, drop_intermediate=False
        )
        points = list(zip(fpr.tolist(), tpr.tolist(), strict=True))
        return find_area(points if name == "specificity" else turn(points), 1 - high, 1 - low)

    variance = 0.0
    for label in (0.0, 1.0):
        rows = np.flatnonzero(labels == label)
        if len(rows) < 2:
            return
        added = []
        for row in rows:
            ends = []
            for side in (-step, step):
                weights = np.ones(len(labels))
                weights[rows] *= 1 - side
                weights[row] += side * len(rows)
                ends.append(measure(weights))
            added.append((ends[1] - ends[0]) / (2 * step))
        variance += float(np.var(added, ddof=1)) / len(rows)
    found = pg.roc(scores, labels).partial_auc(**{name: (low, high)})  # type: ignore[arg-type]
    assert found.error == pytest.approx(math.sqrt(variance), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_weights_are_repeated_rows(seed: int) -> None:
    scores, labels = draw(seed)
    times = np.random.default_rng((2, seed)).integers(1, 4, len(labels))
    one = pg.roc(scores, labels, weights=times)
    other = pg.roc(np.repeat(scores, times), np.repeat(labels, times))
    assert (one.positives, one.negatives) == (other.positives, other.negatives)
    assert one.fpr.tolist() == other.fpr.tolist()
    readings: tuple[Callable[[pg.Roc], dict[str, Any]], ...] = (
        lambda r: r.auc.to_dict(),
        lambda r: r.partial_auc((0.8, 1)).to_dict(),
        lambda r: r.average_precision.to_dict(),
        lambda r: r.at(0.5).to_dict(),
        lambda r: r.youden().value.to_dict(),
    )
    for read in readings:
        for first, second in zip(read(one).values(), read(other).values(), strict=True):
            assert repr(first) == repr(second) or first == pytest.approx(second, rel=1e-9)


def test_positive_class_may_be_named() -> None:
    scores, labels = draw(3)
    names = np.where(labels == 1, "dead", "well")
    r = pg.roc(-scores, names, positive="dead")
    assert r.positive == "dead"
    assert r.auc.value == pytest.approx(1 - pg.roc(scores, labels).auc.value)


def test_a_threshold_by_hand() -> None:
    """Three of four ill rows and two of six others are at or above 0.5."""
    scores = [0.9, 0.7, 0.5, 0.3, 0.6, 0.5, 0.4, 0.2, 0.1, 0.1]
    point = pg.roc(scores, [1] * 4 + [0] * 6).at(0.5)
    values = {name: getattr(point, name).value for name in point.to_dict() if name != "threshold"}
    assert values == pytest.approx(
        {
            "sensitivity": 3 / 4,
            "specificity": 4 / 6,
            "ppv": 3 / 5,
            "npv": 4 / 5,
            "lr_positive": (3 / 4) / (2 / 6),
            "lr_negative": (1 / 4) / (4 / 6),
            "flagged": 5 / 10,
            "net_benefit": (3 - 2) / 10,
        }
    )
    assert (point.sensitivity.low, point.sensitivity.high) == pytest.approx(
        (0.3006, 0.9544), abs=5e-5
    )  # Wilson's interval of 3 of 4, as prop.test(3, 4, correct=FALSE) of R has it


def test_thresholds_of_scikit_learn() -> None:
    scores, labels = draw(5)
    r = pg.roc(scores, labels)
    for threshold in (-1.0, 0.0, 0.31, float(scores[0]), 0.9999, 2.0):
        (tn, fp), (fn, tp) = metrics.confusion_matrix(labels, scores >= threshold)
        point = r.at(threshold)
        assert point.sensitivity.value == tp / (tp + fn)
        assert point.specificity.value == tn / (tn + fp)
        assert point.flagged.value == pytest.approx((tp + fp) / len(labels))


def test_youden_of_rows() -> None:
    scores, labels = draw(8)
    r = pg.roc(scores, labels)
    found = r.youden()
    assert found.value.value == pytest.approx((r.tpr - r.fpr).max())
    assert found.threshold == r.cuts[(r.tpr - r.fpr).argmax()]  # the highest
    assert found.point.sensitivity.value + found.point.specificity.value - 1 == pytest.approx(
        found.value.value
    )
    assert pg.roc([1, 2, 3, 4], [1, 1, 0, 0]).youden().threshold == math.inf


def test_few_rows_leave_all_thresholds_open_and_many_do_not() -> None:
    few = pg.roc([1, 2, 3, 4], [0, 0, 1, 1]).youden()
    assert few.thresholds == (-math.inf, math.inf)
    assert "may be any" in str(few)
    assert "These rows chose this threshold, and intervals do not allow for that:" in str(few)
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], 500)
    scores = labels * 2 + random.normal(size=1000)
    low, high = pg.roc(scores, labels).youden().thresholds
    assert -1 < low < 1 < high < 3  # at 1 both densities are equal


def test_best_thresholds_reach_into_the_gap_below_the_lowest() -> None:
    """A threshold between two scores has the effect of the higher one, and may also be best."""
    random = np.random.default_rng(1)
    labels = np.repeat([0, 1], 400)
    scores = 1.5 * labels + random.normal(size=800)
    r = pg.roc(scores, labels)
    index = r.tpr - r.fpr
    may_be = r.cuts[index >= index.max() - 4 * simultaneous_width(400, 0.95, 2)]
    low, high = r.youden().thresholds
    assert high == may_be.max()
    assert low == np.sort(scores)[np.searchsorted(np.sort(scores), may_be.min()) - 1]
