from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.learn import GossipMetricLearner


def small() -> tuple[FloatArray, FloatArray]:
    """Draw 40 rows in three features; the first separates the two classes."""
    random = np.random.default_rng(8)
    labels = np.repeat([0.0, 1.0], 20)
    return random.normal(size=(40, 3)) + labels[:, None] * [3.0, 0.0, 0.0], labels


def test_the_objective_is_nearly_the_smallest() -> None:
    features, labels = load_wine(return_X_y=True)
    learner = GossipMetricLearner(phi="logistic", random_state=0).fit(features, labels)
    rows = StandardScaler().fit_transform(features)
    first, second = np.triu_indices(len(rows), 1)
    apart = np.square(rows[first] - rows[second])
    signs = np.where(labels[first] == labels[second], 1.0, -1.0)

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        margins = signs * (1.0 - apart @ theta)
        pull = signs / (1.0 + np.exp(margins))
        return float(np.logaddexp(0.0, -margins).sum()), pull @ apart

    best = minimize(
        objective, np.full(13, 0.1), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * 13
    )
    alone = len(rows) * np.log1p(np.exp(-1.0))  # a row and itself
    smallest = (2.0 * best.fun + alone) / len(rows) ** 2
    assert learner.fit_.objective[-1] < 1.02 * smallest


@pytest.mark.parametrize("kind", ["diagonal", "full"])
@pytest.mark.parametrize("phi", ["hinge", "logistic"])
def test_distances_after_the_map_are_those_of_the_metric(kind: str, phi: str) -> None:
    features, labels = small()
    learner = GossipMetricLearner(kind=kind, phi=phi, iterations=3000, random_state=0)
    mapped = learner.fit(features * [1.0, 10.0, 0.1], labels).transform(features)
    root, metric = learner.components_, learner.metric_
    np.testing.assert_allclose(root @ root.T, metric, atol=1e-12 * np.abs(metric).max())
    learned = cdist(features, features, "mahalanobis", VI=metric)
    np.testing.assert_allclose(cdist(mapped, mapped), learned, atol=1e-8 * learned.max())
    assert metric[0, 0] > metric[1, 1] * 100


def test_what_is_learned() -> None:
    features, labels = small()
    learner = GossipMetricLearner("watts-strogatz", kind="full", iterations=2000, random_state=0)
    learner.fit(features, np.where(labels == 1, "b", "a"))
    assert learner.models_.shape == (40, 3, 3)
    assert learner.classes_.tolist() == ["a", "b"]
    assert np.linalg.eigvalsh(learner.models_).min() >= -1e-12
    np.testing.assert_allclose(learner.models_.mean(axis=0), learner.metric_)
    assert learner.get_feature_names_out().tolist() == [
        f"gossipmetriclearner{number}" for number in range(3)
    ]
    again = clone(learner).fit(features, labels)
    np.testing.assert_array_equal(again.models_, learner.models_)
    thawed = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(thawed.transform(features), learner.transform(features))


def test_projecting_at_every_update() -> None:
    features, labels = small()
    settings: dict[str, Any] = {"kind": "full", "iterations": 1500, "random_state": 0}
    last, each = (
        GossipMetricLearner(projection=projection, **settings).fit(features, labels)
        for projection in ("last", "each")
    )
    assert np.linalg.eigvalsh(each.fit_.models[0].reshape(-1, 3, 3)).min() >= -1e-12
    for learner in (last, each):
        assert learner.metric_[0, 0] > 3 * learner.metric_[1, 1]


def test_limits_and_penalties() -> None:
    features, labels = small()

    def models(**settings: Any) -> FloatArray:
        learner = GossipMetricLearner(iterations=2000, random_state=0, **settings)
        return np.asarray(learner.fit(features, labels).fit_.models[0])

    assert models(radius=0.1).max() <= 0.1
    assert models().min() >= 0
    assert models(l1=100.0).max() == 0
    assert np.linalg.norm(models(kind="full", radius=0.1), axis=1).max() <= 0.1 * (1 + 1e-9)
    assert np.abs(models(kind="full", l2=10.0)).max() < np.abs(models(kind="full")).max()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "fulll"}, "Unknown kind of metric 'fulll': did you mean 'full'?"),
        ({"kind": "full", "projection": "lost"}, "Unknown projection 'lost'"),
        ({"threshold": -1.0}, "The threshold is a squared distance, but got -1.0"),
        ({"l2": 0.1}, "SquaredL2 with Box is not supported"),
    ],
)
def test_wrong_parameters(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        GossipMetricLearner(**settings).fit(*small())
    assert message in str(caught.value)


def test_one_row_has_no_score() -> None:
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    learner = GossipMetricLearner(iterations=20, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="The score needs pairs of rows, but there is one row"):
        learner.score(X[:1], y[:1])
