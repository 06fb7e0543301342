"""What the three estimators share: what scikit-learn asks of them, groups, the default step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.learn import GossipAUCClassifier, GossipMetricLearner, GossipRanker
from pairgossip.learn.base import _default_step, curvature
from pairgossip.losses.learning import LearningProblem

ESTIMATORS = [
    GossipAUCClassifier(),
    GossipRanker(),
    GossipMetricLearner(),
    GossipMetricLearner(kind="full"),
]


@parametrize_with_checks(ESTIMATORS)  # type: ignore[untyped-decorator]
def test_scikit_learn(estimator: Any, check: Any) -> None:
    """A check that fails raises."""
    check(estimator)


ROWS = 60
HOSPITALS = np.array(["north", "east", "south", "west", "east", "east"] * 10)


def data() -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    X = random.normal(size=(ROWS, 3))
    return X, (X @ [2.0, 1.0, 0.0] + 0.3 * random.normal(size=ROWS) > 0).astype(int)


@pytest.mark.parametrize("kind", [GossipAUCClassifier, GossipRanker, GossipMetricLearner])
def test_rows_of_a_group_are_at_one_site(kind: Any) -> None:
    X, y = data()
    how = {"iterations": 5_000, "random_state": 0}
    model = kind("cycle", **how).fit(X, y, groups=HOSPITALS)
    fit = model.fit_
    assert fit.sites == pg.graphs.cycle(4)
    assert fit.groups.tolist() == np.unique(HOSPITALS, return_inverse=True)[1].tolist()
    assert fit.construction == "lexicographic"
    assert 0 < fit.local_exchanges[0, -1] < fit.exchanges[-1]
    assert not np.array_equal(model.models_, kind("cycle", **how).fit(X, y).models_)


def test_the_score_is_as_good_as_without_sites() -> None:
    X, y = data()
    sites = GossipAUCClassifier("cycle", random_state=0).fit(X, y, groups=HOSPITALS)
    alone = GossipAUCClassifier("complete", random_state=0).fit(X, y)
    assert sites.score(X, y) >= alone.score(X, y) - 0.05
    cosine = sites.coef_[0] @ alone.coef_[0]
    assert cosine > 0.98 * np.linalg.norm(sites.coef_) * np.linalg.norm(alone.coef_)


def test_groups_that_do_not_match_are_refused() -> None:
    X, y = data()
    with pytest.raises(InputError, match="There are 59 group labels for 60 row"):
        GossipRanker(random_state=0).fit(X, y, groups=HOSPITALS[1:])


def test_the_curvature_of_all_pairs_is_found_from_a_sample() -> None:
    random = np.random.default_rng(0)
    features, labels = random.normal(size=(100, 4)) * [3.0, 1.0, 1.0, 0.5], np.arange(100) % 2
    problem = LearningProblem(features, "auc-logistic", labels)
    apart = (features[labels == 1][:, None] - features[labels == 0][None]).reshape(-1, 4)
    exact = 0.25 * np.linalg.eigvalsh(apart.T @ apart / 100**2)[-1]
    assert curvature(problem, seed=0) == pytest.approx(exact, rel=0.05)
    assert _default_step(problem, "sync", 0).scale == pytest.approx(1 / exact, rel=0.05)
    slower = _default_step(problem, "async", 0).scale
    assert slower == pytest.approx(0.3 / (exact * math.sqrt(100)), rel=0.05)


def test_equal_observations_have_no_curvature() -> None:
    problem = LearningProblem(np.ones((4, 2)), "auc-logistic", [0, 0, 1, 1])
    assert curvature(problem, 0) == 0
    assert _default_step(problem, "async", 0).scale == 1


@pytest.mark.parametrize("kind", [GossipAUCClassifier, GossipRanker, GossipMetricLearner])
def test_a_score_has_its_sampling_error(kind: Any) -> None:
    X, y = data()
    model = kind(iterations=3_000, random_state=0).fit(X[:, 1:], y)  # one feature is left out
    found = model.score_interval(X[:, 1:], y)
    is_classifier = kind is GossipAUCClassifier  # whose score is its accuracy
    scores = model.decision_function(X[:, 1:]) if is_classifier else None
    judged = roc_auc_score(y, scores) if is_classifier else model.score(X[:, 1:], y)
    assert found == pytest.approx(judged) and found.low < found < found.high
    wider = model.score_interval(X[:, 1:], y, level=0.99, groups=HOSPITALS)
    assert wider.value == found.value and wider.error != found.error and wider.level == 0.99
    with pytest.raises(ValueError):
        model.score_interval(X[:, 1:], y[:-1])


def test_auc_intervals_are_those_of_scores() -> None:
    X, y = data()
    model = GossipAUCClassifier(iterations=3_000, random_state=0).fit(X[:, 1:], y)
    scores = model.decision_function(X[:, 1:])
    found = model.score_interval(X[:, 1:], np.where(y == 1, 1, 0))
    assert found.error == pytest.approx(pg.exact(scores, "auc", labels=y, interval=0.95).error)
    with pytest.raises(InputError, match="neither of the two classes, 0 and 1"):
        model.score_interval(X[:, 1:], y + 1)


def test_pairs_are_told_right_by_their_distance() -> None:
    X, y = data()
    learner = GossipMetricLearner(iterations=3_000, random_state=0).fit(X, y)
    places = learner.transform(X)
    apart = np.square(places[:, None] - places).sum(axis=2)
    right = (apart < learner.threshold) == (y[:, None] == y)
    expected = (right.sum() - ROWS) / (ROWS * (ROWS - 1))
    assert learner.score(X, y) == pytest.approx(expected)
