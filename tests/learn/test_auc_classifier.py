from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.learn import GossipAUCClassifier
from pairgossip.learn.estimators import _best_threshold
from pairgossip.losses import auc_of_scores, inverse_sqrt

from .references import (
    Split,
    diagnostic_wisconsin,
    original_wisconsin,
    pairwise_logistic_regression,
    split,
    three_or_eight,
)

Data = tuple[FloatArray, FloatArray]
UNTOUCHED_SPLITS = range(100, 103)


def small() -> Data:
    """60 rows of two overlapping classes in three features of different scales."""
    random = np.random.default_rng(3)
    labels = np.repeat([0.0, 1.0], 30)
    features = random.normal(size=(60, 3)) + labels[:, None] * [1.5, 1.0, 0.0]
    return features * [1.0, 100.0, 0.01] + [5.0, 0.0, -1.0], labels


@pytest.mark.parametrize("load", [original_wisconsin, diagnostic_wisconsin, three_or_eight])
@pytest.mark.parametrize("graph", ["complete", "watts-strogatz"])
def test_held_out_auc_is_that_of_centralized_logistic_regression(
    load: Callable[[], Data], graph: str
) -> None:
    """On splits that played no part in choosing the estimators' defaults."""
    for seed in UNTOUCHED_SPLITS:
        data = split(*load(), seed)
        gossip = GossipAUCClassifier(graph, l2=1e-3, random_state=0)
        gossip.fit(data.seen, data.seen_labels)
        central = pairwise_logistic_regression(data.seen, data.seen_labels, l2=1e-3)
        assert held_out_auc(data, gossip.coef_[0]) == pytest.approx(
            held_out_auc(data, central), abs=0.005
        )
        assert gossip.score(data.held_out, data.held_out_labels) > 0.9


@pytest.mark.parametrize("load", [original_wisconsin, diagnostic_wisconsin, three_or_eight])
def test_without_a_penalty_gossip_is_not_worse(load: Callable[[], Data]) -> None:
    """On separable data the unpenalized optimum lies at infinity, and stopping early beats it."""
    for seed in UNTOUCHED_SPLITS:
        data = split(*load(), seed)
        gossip = GossipAUCClassifier(random_state=0).fit(data.seen, data.seen_labels)
        central = pairwise_logistic_regression(data.seen, data.seen_labels)
        assert held_out_auc(data, gossip.coef_[0]) > held_out_auc(data, central) - 0.005


def held_out_auc(data: Split, theta: FloatArray) -> float:
    return float(roc_auc_score(data.held_out_labels, data.held_out @ theta))


@pytest.mark.parametrize("phi", ["logistic", "hinge", "squared-hinge", "smoothed-hinge"])
@pytest.mark.parametrize("clock", ["sync", "async"])
def test_every_phi_and_clock_learns(phi: str, clock: str) -> None:
    features, labels = small()
    classifier = GossipAUCClassifier(phi=phi, clock=clock, random_state=0).fit(features, labels)
    best = auc_of_scores(features @ pairwise_logistic_regression(features, labels), labels)
    assert auc_of_scores(classifier.decision_function(features), labels) > best - 0.01


def test_the_units_of_the_features_do_not_matter() -> None:
    features, labels = small()
    plain = GossipAUCClassifier(random_state=0).fit(features, labels)
    scaled = GossipAUCClassifier(random_state=0).fit(features * [10.0, 0.1, 3.0], labels)
    np.testing.assert_allclose(plain.coef_, scaled.coef_ * [10.0, 0.1, 3.0], rtol=1e-9)


def test_what_is_learned() -> None:
    features, labels = small()
    texts = np.where(labels == 1, "sick", "healthy")
    classifier = GossipAUCClassifier("cycle", iterations=500, random_state=1).fit(features, texts)
    assert classifier.classes_.tolist() == ["healthy", "sick"]
    assert classifier.models_.shape == (60, 3) == classifier.fit_.models.shape[1:]
    assert (classifier.coef_.shape, classifier.intercept_.shape) == ((1, 3), (1,))
    np.testing.assert_allclose(classifier.models_.mean(axis=0), classifier.coef_[0])
    assert classifier.fit_.graph.family == "cycle"
    assert classifier.fit_.iterations[-1] == 500
    assert set(classifier.predict(features)) == {"healthy", "sick"}


def test_random_state_makes_it_reproducible() -> None:
    features, labels = small()
    settings: dict[str, Any] = {"graph": "watts_strogatz", "iterations": 2000}
    one, two = (
        GossipAUCClassifier(random_state=5, **settings).fit(features, labels) for _ in range(2)
    )
    other = GossipAUCClassifier(random_state=6, **settings).fit(features, labels)
    np.testing.assert_array_equal(one.models_, two.models_)
    assert not np.array_equal(one.models_, other.models_)
    assert not np.array_equal(one.fit_.graph.edges, other.fit_.graph.edges)


def test_trials_are_averaged() -> None:
    features, labels = small()
    classifier = GossipAUCClassifier(trials=3, iterations=300, random_state=0, n_jobs=1)
    classifier.fit(features, labels)
    assert classifier.fit_.models.shape == (3, 60, 3)
    assert classifier.models_.shape == (60, 3)


def test_constraints_and_penalties() -> None:
    features, labels = small()

    def norms(**settings: Any) -> FloatArray:
        classifier = GossipAUCClassifier(random_state=0, **settings).fit(features, labels)
        return np.asarray(np.linalg.norm(classifier.fit_.models[0], axis=1))

    assert norms(radius=0.2).max() <= 0.2 * (1 + 1e-9)
    assert norms(l2=0.1).max() < norms().min()
    assert norms(l1=10.0).max() == 0
    assert norms(step=1e-9).max() < norms(step=inverse_sqrt(1e-2)).min()


def test_pipelines_grids_and_cross_validation() -> None:
    features, labels = small()
    pipeline = make_pipeline(StandardScaler(), GossipAUCClassifier(iterations=5000, random_state=0))
    assert cross_val_score(pipeline, features, labels, scoring="roc_auc").mean() > 0.8
    grid = GridSearchCV(pipeline, {"gossipaucclassifier__l2": [0.0, 10.0]}, scoring="roc_auc", cv=3)
    assert grid.fit(features, labels).best_score_ > 0.8


def test_cloned_and_pickled() -> None:
    features, labels = small()
    graph = pg.graphs.torus(6, 10)
    classifier = GossipAUCClassifier(graph, iterations=1000, random_state=0).fit(features, labels)
    again = clone(classifier).fit(features, labels)
    thawed = pickle.loads(pickle.dumps(classifier))
    for other in (again, thawed):
        np.testing.assert_array_equal(
            other.decision_function(features), classifier.decision_function(features)
        )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library: str) -> None:
    frames = pytest.importorskip(library)
    features, labels = small()
    names = ["age", "dose", "rate"]
    frame = frames.DataFrame(dict(zip(names, features.T, strict=True)))
    classifier = GossipAUCClassifier(iterations=1000, random_state=0)
    from_frame = classifier.fit(frame, frames.Series(labels)).decision_function(frame)
    assert classifier.feature_names_in_.tolist() == names
    from_arrays = clone(classifier).fit(features, labels).decision_function(features)
    np.testing.assert_allclose(from_frame, from_arrays)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"graph": "torus"},
            "A torus of 59 nodes would need a side shorter than 3; sizes nearby that work: "
            "57 and 60; or give rows and cols.",
        ),
        ({"graph": "ring"}, "Unknown graph 'ring'"),
        ({"phi": "logistik"}, "Unknown phi 'logistik': did you mean 'logistic'?"),
        ({"clock": "atomic"}, "Unknown clock 'atomic'"),
        ({"step": "big"}, "Unknown step 'big': choose one of auto."),
        ({"step": -1.0}, "The step size starts at -1.0: give a finite number > 0."),
        ({"radius": 0.0}, "radius"),
        ({"l1": 0.1, "l2": 0.1}, "Both l1 and l2 are given: choose one of the two penalties."),
        ({"iterations": 0}, "The number of iterations must be a whole number >= 1, not 0."),
    ],
)
def test_wrong_parameters(settings: dict[str, Any], message: str) -> None:
    features, labels = small()
    with pytest.raises(InputError) as caught:
        GossipAUCClassifier(**settings).fit(features[1:], labels[1:])
    assert message in str(caught.value)


def test_wrong_labels() -> None:
    features, labels = small()
    with pytest.raises(InputError) as caught:
        GossipAUCClassifier().fit(features, np.ones(60))
    assert str(caught.value) == (
        "The labels hold one class only (1.0): add observations of another class."
    )
    with pytest.raises(InputError, match="Only binary classification is supported"):
        GossipAUCClassifier().fit(features, np.arange(60) % 3)
    with pytest.raises(ValueError, match="NaN"):
        GossipAUCClassifier().fit(np.where(features == features[0, 0], np.nan, features), labels)


def test_the_threshold_is_the_best_of_all() -> None:
    random = np.random.default_rng(0)
    scores, labels = random.integers(0, 8, 40).astype(float), random.random(40) < 0.4
    found = balanced_accuracy_score(labels, scores > _best_threshold(scores, labels))
    every = [balanced_accuracy_score(labels, scores > cut) for cut in np.arange(-0.5, 9)]
    assert found == pytest.approx(max(every))
    assert _best_threshold(np.array([1.0, 2.0]), np.array([False, True])) == 1.5
    assert _best_threshold(np.array([3.0, 3.0]), np.array([False, True])) == 3.0
