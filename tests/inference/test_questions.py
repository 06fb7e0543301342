"""Answers with intervals, tests, weights and strata, against repeated rows and brute force."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.kernels import CATALOG, Kernel, Pairs
from tests.kernels.reference import random_data

LABELS = np.array([0, 1, 0, 1, 1, 0, 1, 0, 0, 1] * 6)
SCORES = np.random.default_rng(3).normal(size=60) + LABELS


def test_an_answer_is_its_number() -> None:
    answer = pg.exact(SCORES, "auc", labels=LABELS, interval=0.95)
    assert answer == answer.value == pg.exact(SCORES, "auc", labels=LABELS)
    assert answer.low < answer < answer.high and answer.scale == "logit"
    assert str(answer) == "0.744 (95 %: 0.587 to 0.860; positive: 1)"
    assert pickle.loads(pickle.dumps(answer)).high == answer.high


def test_two_aucs_are_compared_in_pairs() -> None:
    others = SCORES + np.random.default_rng(4).normal(size=60)
    high = LABELS == 1

    def parts(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wins = (scores[high][:, None] > scores[~high]).astype(float)
        return wins.mean(axis=1), wins.mean(axis=0)

    (v1, w1), (v2, w2) = parts(SCORES), parts(others)
    error = np.sqrt((v1 - v2).var(ddof=1) / high.sum() + (w1 - w2).var(ddof=1) / (~high).sum())
    found = pg.test(np.column_stack([SCORES, others]), "auc-difference", labels=LABELS)
    assert found.value == pytest.approx(v1.mean() - v2.mean())
    assert found.error == pytest.approx(error)
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(found.z)))


@pytest.mark.parametrize("second", [SCORES, np.exp(SCORES)])
def test_scores_that_rank_alike_are_not_compared(second: Any) -> None:
    for ask in (pg.test, partial(pg.exact, interval=0.95)):
        with pytest.raises(InputError, match="every one of them adds the same"):
            ask(np.column_stack([SCORES, second]), "auc-difference", labels=LABELS)


@pytest.mark.parametrize("name", ["gini", "gini-coefficient", "distance"])
@pytest.mark.parametrize("unit", [1e-200, 1e-157, 1e160, 1e250])
def test_the_unit_of_measurement_does_not_matter(name: str, unit: float) -> None:
    amounts = np.exp(SCORES)
    expected = pg.exact(amounts, name, interval=0.95)
    found = pg.exact(unit * amounts, name, interval=0.95)
    size = 1.0 if name == "gini-coefficient" else unit
    for part in ("value", "error", "low", "high"):
        assert getattr(found, part) == pytest.approx(size * getattr(expected, part), rel=1e-9)
    by_group = pg.exact(unit * amounts, name, interval=0.95, groups=np.arange(60))
    assert by_group.error == pytest.approx(found.error, rel=1e-9)
    assert len(str(found)) < 50


def test_one_sided_tests_are_the_halves_of_the_two_sided() -> None:
    both, more, less = (
        pg.test(SCORES, "auc", labels=LABELS, null=0.7, alternative=side).p
        for side in ("two-sided", "greater", "less")
    )
    assert both == pytest.approx(2 * min(more, less)) and more + less == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["v", "u"])
@pytest.mark.parametrize("name", sorted(CATALOG))
def test_whole_weights_are_repeated_rows(name: str, kind: str) -> None:
    data, weights = random_data(name, 60), 1 + np.arange(60) % 3
    repeated = np.repeat(data, weights, axis=0)
    weighed = pg.exact(data, name, kind, weights=weights, interval=0.95)
    expected = pg.exact(repeated, name, kind, interval=0.95)
    for part in ("value", "error", "low", "high"):
        assert getattr(weighed, part) == pytest.approx(getattr(expected, part), rel=1e-12)
    assert pg.exact(data, name, kind, weights=weights) == pytest.approx(expected, rel=1e-12)


@pytest.mark.pairs
@pytest.mark.parametrize("kind", ["v", "u"])
@pytest.mark.parametrize("name", ["gini", "auc", "kendall-b", "distance", "gini-coefficient"])
@pytest.mark.parametrize("which", ["within", "between"])
def test_strata_count_only_their_pairs(name: str, which: str, kind: str) -> None:
    data, strata = random_data(name, 48), np.arange(48) // 2 % 4
    pairs = Pairs(data, name, kind)
    same = strata[:, None] == strata
    counted = (same if which == "within" else ~same) & (
        np.ones((48, 48), dtype=bool) if kind == "v" else ~np.eye(48, dtype=bool)
    )
    tables = [Pairs(data, part, "v").matrix() for part in pairs.kernel.components]
    expected = float(pairs.kernel.combine(np.array([t[counted].mean() for t in tables])))
    strata_names = [f"site {s}" for s in strata]
    named: Any = {which: strata_names}
    assert pg.exact(data, name, kind, interval=0.95, **named) == pytest.approx(expected, rel=1e-12)
    numbered: Any = {which: strata}
    assert pg.exact(data, name, kind, **numbered) == pytest.approx(expected, rel=1e-12)


def test_the_error_within_strata_is_that_of_the_jackknife() -> None:
    random = np.random.default_rng(0)
    data, strata = random.exponential(size=200), random.integers(0, 5, 200)
    left_out = [
        pg.exact(np.delete(data, k), "gini", within=np.delete(strata, k)) for k in range(200)
    ]
    jackknife = np.sqrt(199 / 200 * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
    found = pg.exact(data, "gini", within=strata, interval=0.95)
    assert found.error == pytest.approx(jackknife, rel=0.05)


@pytest.mark.parametrize(("alternative", "side"), [("two-sided", 2), ("greater", 1), ("less", 1)])
def test_groups_are_tested_by_students_t(alternative: str, side: int) -> None:
    asked: dict[str, Any] = {"labels": LABELS, "alternative": alternative}
    found = pg.test(SCORES, "auc", groups=np.arange(60) // 20, **asked)
    name = "cdf" if alternative == "less" else "sf"
    assert found.p == pytest.approx(side * getattr(stats.t(2), name)(found.z))
    many = pg.test(SCORES, "auc", groups=np.arange(60), **asked)
    assert many.z > 0 and many.p == pytest.approx(side * getattr(stats.t(59), name)(many.z))


def test_other_weights_are_those_of_draws() -> None:
    weights = np.random.default_rng(5).uniform(0.5, 2.0, 60)
    rows = np.arange(60)
    small, large = (
        pg.exact(SCORES, "gini", weights=scale * weights, groups=rows, interval=0.95)
        for scale in (1.0, 100.0)
    )
    assert small.error == pytest.approx(large.error) and small == pytest.approx(large)


TIED = np.zeros(10)
HALF, FIVES = np.arange(10) % 2, np.arange(10) // 5
BAD = [
    ({"data": SCORES, "kernel": "gini", "interval": 1.5}, "The level of an interval"),
    ({"data": SCORES, "kernel": "gini", "groups": LABELS}, "Groups change the error"),
    (
        {"data": [1.0, 2.0, 3.0], "kernel": "auc", "labels": [0, 0, 1], "interval": 0.9},
        "more than one row",
    ),
    (
        {"data": HALF, "kernel": "auc", "labels": HALF, "interval": 0.9},
        "95 % confidence it is above 0.549",
    ),
    (
        {"data": TIED, "kernel": "auc", "labels": HALF, "interval": 0.9},
        "every one of them adds the same",
    ),
    (
        {"data": HALF, "kernel": "auc", "labels": HALF, "interval": 0.9, "groups": FIVES},
        "says nothing: add rows.",  # rows that may depend on each other have no such bound
    ),
    (
        {"data": np.tile(SCORES, (2, 1)).T, "kernel": "concordance", "interval": 0.9},
        "'concordance' is 1 on these rows, whose standard error of 0 says nothing: add rows.",
    ),
    ({"data": TIED, "kernel": "gini", "interval": 0.9}, "every one of them adds the same"),
    ({"data": TIED, "kernel": "gini-coefficient"}, "has no value where all amounts are 0"),
    ({"data": -1 - TIED, "kernel": "gini-coefficient"}, "0 or more, but the smallest is -1"),
    ({"data": SCORES[:10], "kernel": "gini", "weights": TIED}, "must be positive"),
    ({"data": SCORES[:10], "kernel": "gini", "weights": [1.0]}, "weights have shape (1,)"),
    ({"data": SCORES[:10], "kernel": "gini", "within": np.arange(10)}, "Strata of one row"),
    ({"data": SCORES[:10], "kernel": "gini", "between": TIED}, "All rows are of one stratum"),
    (
        {"data": SCORES[:10], "kernel": "gini", "between": HALF, "within": HALF},
        "within strata or between",
    ),
    (
        {"data": SCORES, "kernel": "gini", "weights": np.full(60, 0.5), "interval": 0.9},
        "not frequencies",
    ),
    ({"data": SCORES, "kernel": "gini", "groups": np.ones(60), "interval": 0.9}, "in one group"),
    (
        {
            "data": np.tile(SCORES, 2),
            "kernel": "gini",
            "interval": 0.9,
            "groups": np.arange(120) // 60,
        },
        "Every group adds the same to 'gini'",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_what_cannot_be_answered_is_said(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        pg.exact(**given)
    assert sentence in str(caught.value)


def test_a_test_needs_to_know_the_null() -> None:
    with pytest.raises(InputError, match="without an effect is not known"):
        pg.test(SCORES, "gini")
    assert pg.test(SCORES, "gini", null=1.0).z < 3


def test_users_kernels_have_errors_too() -> None:
    skew = Kernel(lambda a, b: a * b**2, name="skew")
    found = pg.exact(SCORES, skew, interval=0.95)
    left_out = [pg.exact(np.delete(SCORES, k), skew) for k in range(60)]
    jackknife = np.sqrt(59 / 60 * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
    assert found.error == pytest.approx(jackknife, rel=0.1)


@pytest.mark.parametrize("name", ["energy-distance", "mmd"])
def test_two_samples_are_compared_by_permuting_labels(name: str) -> None:
    random = np.random.default_rng(6)
    data = random.normal(size=(80, 2)) + 0.9 * LABELS[np.arange(80) % 60, None]
    labels = LABELS[np.arange(80) % 60]
    found = pg.test(data, name, labels=labels)
    assert found.value == pytest.approx(pg.exact(data, name, labels=labels))
    assert found.p == 1 / 1000 and found.z > 3
    assert pg.test(data, name, labels=labels).p == found.p
    p_values = [
        pg.test(random.normal(size=30), name, labels=np.arange(30) % 2, seed=k).p for k in range(40)
    ]
    assert 2 <= np.sum(np.array(p_values) < 0.25) <= 20
    with pytest.raises(InputError, match="leave weights= out"):
        pg.test(data, name, labels=labels, weights=np.ones(80))
    with pytest.raises(InputError, match="there is nothing to test"):
        pg.test(np.zeros(10), name, labels=HALF)
    with pytest.raises(InputError, match="needs labels 0 and 1, but they are 1 and 2"):
        pg.test(data, name, labels=labels + 1)


def test_ratings_of_tomograms_have_the_published_error() -> None:
    """Hanley and McNeil 1982: area 0.8932; other software prints 0.0307 by DeLong's method."""
    normal, abnormal = (33, 6, 6, 11, 2), (3, 2, 2, 11, 33)
    ratings = np.repeat(np.tile(np.arange(1, 6), 2), [*normal, *abnormal])
    answer = pg.exact(ratings, "auc", labels=np.repeat([0, 1], [58, 51]), interval=0.95)
    assert round(answer, 4) == 0.8932 and round(answer.error, 4) == 0.0307
    assert round(answer - 1.959964 * answer.error, 5) == 0.83295
    assert round(answer + 1.959964 * answer.error, 5) == 0.95339


def brute_distance_correlation(x: np.ndarray, y: np.ndarray) -> float:
    def centered(rows: np.ndarray) -> np.ndarray:
        table = np.array([[np.linalg.norm(a - b) for b in rows] for a in rows])
        n = len(rows)
        center = np.eye(n) - 1 / n
        return center @ table @ center

    a, b = centered(x), centered(y)
    return float(np.sqrt((a * b).mean() / np.sqrt((a * a).mean() * (b * b).mean())))


def test_distance_correlation_is_that_of_centered_distances() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 2))
    for columns, y in ((x[:, :1], np.round(x[:, 0] ** 2)), (x, rng.normal(size=30))):
        found = pg.test(np.column_stack([columns, y]), "distance-correlation")
        known = brute_distance_correlation(columns, y[:, None])
        assert found.value == pytest.approx(known, rel=1e-10)
    assert found.p > 0.05
    bent = pg.test(x[:, 0], "distance-correlation", labels=x[:, 0] ** 2)
    assert bent.p == 0.001
    assert pg.test(x[:, 0], "distance-correlation", labels=x[:, 0]).value == pytest.approx(1.0)


def test_distance_correlation_is_compared_with_all_orders() -> None:
    x, y = np.array([0.0, 1.0, 3.0, 4.0, 8.0]), np.array([2.0, 0.0, 5.0, 9.0, 6.0])
    orders = [list(order) for order in permutations(range(5))]
    values = np.array([brute_distance_correlation(x[:, None], y[o][:, None]) for o in orders])
    known = np.mean(values >= values[0] - 1e-9)
    found = pg.test(np.column_stack([x, y]), "distance-correlation")
    assert 0.1 < known < 0.9 and found.p == pytest.approx(known, abs=0.05)
    assert found.error == pytest.approx(values.std(), rel=0.1)


@pytest.mark.parametrize("unit", [1e-200, 1e160])
def test_distance_correlation_has_no_unit(unit: float) -> None:
    rows = np.column_stack([SCORES, SCORES**2, np.abs(SCORES)])[:20]
    expected = pg.test(rows, "distance-correlation")
    assert tuple(pg.test(unit * rows, "distance-correlation")) == pytest.approx(tuple(expected))


def test_columns_that_are_crossed_have_no_distance_correlation() -> None:
    crossed = np.array([(x, y) for x in range(3) for y in range(3)], dtype=float)
    found = pg.test(crossed, "distance-correlation")
    assert (found.value, found.p) == (0.0, 1.0)


def test_rows_equally_far_apart_are_not_tested() -> None:
    alike: list[dict[str, Any]] = [
        {"data": np.column_stack([np.eye(6), np.arange(6)]), "kernel": "distance-correlation"},
        {"data": np.eye(10), "kernel": "energy-distance", "labels": HALF},
        {"data": 1e4 * np.arange(10), "kernel": "mmd", "labels": HALF},
    ]
    for asked in alike:
        with pytest.raises(pg.InputError, match="or equally far apart: there is nothing to test"):
            pg.test(**asked)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.ones((5, 2)), "no value where a column is constant"),
        (np.arange(5.0), "two columns or more, but got 5 of 1"),
        (np.ones((2001, 2)), "up to 2,000 rows, not 2,001"),
    ],
)
def test_rows_without_a_distance_correlation(rows: np.ndarray, sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        pg.test(rows, "distance-correlation")


@pytest.mark.parametrize("name", ["spearman", "distance-correlation"])
def test_names_of_several_classes_have_no_size(name: str) -> None:
    sizes = ["small", "large", "medium"] * 20
    with pytest.raises(pg.InputError, match=r"compares labels by size, .* order with classes="):
        pg.test(SCORES, name, labels=sizes)
    found = pg.test(SCORES, name, labels=sizes, classes=["small", "medium", "large"])
    assert found == pg.test(SCORES, name, labels=[0, 2, 1] * 20)
    with pytest.raises(pg.InputError, match=r"two classes|3 classes"):
        pg.test(SCORES, "mann-whitney", labels=sizes)


def test_a_test_is_no_kernel() -> None:
    for name in ("mann_whitney", "distance-correlation"):
        with pytest.raises(pg.InputError, match="is a test, not an average over pairs"):
            pg.exact(SCORES, name, labels=LABELS)
