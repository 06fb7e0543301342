from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError, NotEnough
from pairgossip.learn import GossipAUCClassifier
from pairgossip.learn.classifier import (
    _best_threshold,
    _calibrate,
    _choose_threshold,
    _Scores,
)
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
DUAL = "dual-averaging"


def small() -> Data:
    """Draw 60 rows of two overlapping classes in three features of different scales."""
    random = np.random.default_rng(3)
    labels = np.repeat([0.0, 1.0], 30)
    features = random.normal(size=(60, 3)) + labels[:, None] * [1.5, 1.0, 0.0]
    return features * [1.0, 100.0, 0.01] + [5.0, 0.0, -1.0], labels


@pytest.mark.parametrize("load", [original_wisconsin, diagnostic_wisconsin, three_or_eight])
def test_the_model_is_that_of_centralized_logistic_regression(load: Callable[[], Data]) -> None:
    data = split(*load(), 100)
    gossip = GossipAUCClassifier("watts-strogatz", l2=1e-3, random_state=0)
    gossip.fit(data.seen, data.seen_labels)
    central = pairwise_logistic_regression(data.seen, data.seen_labels, l2=1e-3)
    scores, expected = data.held_out @ gossip.coef_[0], data.held_out @ central
    np.testing.assert_allclose(scores, expected, atol=0.01 * np.abs(expected).max())
    assert gossip.score(data.held_out, data.held_out_labels) > 0.9
    assert gossip.n_iter_ == gossip.fit_.iterations[-1] < 30
    known = gossip.fit_.objective[1:]  # drawn by fit_.plot()
    assert len(known) > 1 and known[-1] == known.min() < known[0]


@pytest.mark.parametrize("load", [original_wisconsin, diagnostic_wisconsin])
def test_dual_averaging_comes_close(load: Callable[[], Data]) -> None:
    data = split(*load(), 100)
    gossip = GossipAUCClassifier(solver="dual-averaging", l2=1e-3, random_state=0)
    gossip.fit(data.seen, data.seen_labels)
    central = pairwise_logistic_regression(data.seen, data.seen_labels, l2=1e-3)
    assert held_out_auc(data, gossip.coef_[0]) == pytest.approx(
        held_out_auc(data, central), abs=0.005
    )


def held_out_auc(data: Split, theta: FloatArray) -> float:
    return float(roc_auc_score(data.held_out_labels, data.held_out @ theta))


@pytest.mark.pairs
@pytest.mark.parametrize("phi", ["logistic", "hinge", "squared-hinge", "smoothed-hinge"])
@pytest.mark.parametrize("how", [{}, {"solver": DUAL}, {"solver": DUAL, "clock": "sync"}])
def test_every_phi_learns_by_every_solver(phi: str, how: dict[str, Any]) -> None:
    features, labels = small()
    classifier = GossipAUCClassifier(phi=phi, random_state=0, **how).fit(features, labels)
    best = auc_of_scores(features @ pairwise_logistic_regression(features, labels), labels)
    assert auc_of_scores(classifier.decision_function(features), labels) > best - 0.01


@pytest.mark.parametrize("solver", ["sketch", DUAL])
def test_the_units_of_the_features_do_not_matter(solver: str) -> None:
    features, labels = small()
    every: list[dict[str, Any]] = [{}, {"l2": 0.1}, {"standardize": False, "l2": 0.0}]
    for settings in every:
        plain, scaled = (
            GossipAUCClassifier(solver=solver, random_state=0, **settings).fit(rows, labels)
            for rows in (features, features * [10.0, 0.1, 3.0])
        )
        np.testing.assert_allclose(plain.coef_, scaled.coef_ * [10.0, 0.1, 3.0], rtol=1e-6)


def test_what_is_learned() -> None:
    features, labels = small()
    texts = np.where(labels == 1, "sick", "healthy")
    classifier = GossipAUCClassifier("cycle", random_state=1).fit(features, texts)
    assert classifier.classes_.tolist() == ["healthy", "sick"]
    assert classifier.models_.shape == (60, 3) == classifier.fit_.models.shape[1:]
    assert (classifier.coef_.shape, classifier.intercept_.shape) == ((1, 3), (1,))
    np.testing.assert_allclose(classifier.models_.mean(axis=0), classifier.coef_[0])
    assert classifier.fit_.graph.family == "cycle"
    assert classifier.fit_.iterations[-1] == classifier.n_iter_ < 30
    exchanges = clone(classifier).set_params(solver=DUAL, iterations=500).fit(features, texts)
    assert exchanges.n_iter_ == 500
    assert set(classifier.predict(features)) == {"healthy", "sick"}


def test_trials_are_averaged() -> None:
    classifier = GossipAUCClassifier(
        solver=DUAL, trials=3, iterations=300, random_state=0, n_jobs=1, standardize=False
    ).fit(*small())
    assert classifier.fit_.models.shape == (3, 60, 3)
    np.testing.assert_allclose(classifier.models_, classifier.fit_.models.mean(axis=0))


def test_constraints_and_penalties() -> None:
    features, labels = small()

    def norms(**settings: Any) -> FloatArray:
        classifier = GossipAUCClassifier(random_state=0, **settings).fit(features, labels)
        return np.asarray(np.linalg.norm(classifier.fit_.models[0], axis=1))

    assert norms(radius=0.2).max() <= 0.2 * (1 + 1e-9)
    assert norms(l2=0.1).max() < norms().min()
    assert norms(l1=10.0).max() == 0
    assert norms(l2=0.0).min() > norms().max() > 0
    by_step = [
        norms(solver=DUAL, iterations=1000, step=step) for step in (1e-9, inverse_sqrt(0.01))
    ]
    assert by_step[0].max() < by_step[1].min()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "sketches"}, "Unknown solver 'sketches': did you mean 'sketch'?"),
        ({"tol": 0}, "The tolerance"),
        ({"solver": DUAL, "step": "big"}, "Unknown step 'big': choose one of auto, paper."),
        (
            {"step": 0.1},
            "Parameter step belongs to solver 'dual-averaging', but this is solver 'sketch': "
            "leave step out, or use solver='dual-averaging'.",
        ),
        ({"solver": DUAL, "tol": 0.1}, "leave tol out, or use solver='sketch'."),
        ({"radius": 0.0}, "radius"),
        ({"l1": 0.1, "l2": 0.1}, "Both l1 and l2 are given: choose one of the two penalties."),
        ({"iterations": 0}, "The number of rounds must be a whole number >= 1, not 0."),
    ],
)
def test_wrong_parameters(settings: dict[str, Any], message: str) -> None:
    features, labels = small()
    with pytest.raises(InputError) as caught:
        GossipAUCClassifier(**settings).fit(features[1:], labels[1:])
    assert message in str(caught.value)


def test_wrong_labels() -> None:
    features, labels = small()
    with pytest.raises(InputError, match=r"^The labels hold one class only \(1\.0\): add observat"):
        GossipAUCClassifier().fit(features, np.ones(60))
    with pytest.raises(InputError, match="Only binary classification is supported"):
        GossipAUCClassifier().fit(features, np.arange(60) % 3)
    with pytest.raises(ValueError, match="NaN"):
        GossipAUCClassifier().fit(np.where(features == features[0, 0], np.nan, features), labels)


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_probabilities_are_those_of_calibration_on_the_training_scores(share: float) -> None:
    features, labels = overlapping(share)
    classifier = GossipAUCClassifier(random_state=0).fit(features, labels)
    wrapped = CalibratedClassifierCV(FrozenEstimator(classifier), method="sigmoid", ensemble=False)
    everything = [(np.arange(len(labels)), np.arange(len(labels)))]
    wrapped.set_params(cv=everything).fit(features, labels)
    found = classifier.predict_proba(features)
    np.testing.assert_allclose(found, wrapped.predict_proba(features), atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(features)), found)
    assert found[:, 1].mean() == pytest.approx(labels.mean(), abs=0.01)
    assert log_loss(labels, found) < log_loss(labels, np.full(len(labels), labels.mean()))
    assert np.isfinite(classifier.predict_log_proba(features * 1e6)).all()


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_the_rarer_class_is_predicted_from_its_share_on(share: float) -> None:
    features, labels = overlapping(share)
    classifier = GossipAUCClassifier(random_state=0).fit(features, labels)
    chance, predicted = classifier.predict_proba(features)[:, 1], classifier.predict(features)
    np.testing.assert_array_equal(predicted, chance > labels.mean())
    scores = classifier.decision_function(features)
    best = max(balanced_accuracy_score(labels, scores > cut) for cut in scores[::5])
    assert balanced_accuracy_score(labels, predicted) > best - 0.03


def overlapping(share: float) -> Data:
    random = np.random.default_rng(5)
    labels = (random.random(400) < share).astype(float)
    return random.normal(size=(400, 3)) + labels[:, None] * [1.0, 0.5, 0.0], labels


def test_a_sigmoid_that_does_not_fit_does_not_draw_the_line() -> None:
    values = np.concatenate([np.linspace(-1, 0, 50), np.linspace(0.1, 1, 49), [-1e3]])
    scores = _Scores(values, np.arange(100) >= 50, np.ones(100))
    threshold = _choose_threshold(scores, *_calibrate(scores))
    assert threshold == _best_threshold(scores) == pytest.approx(0.05)


def test_weights_count_rows_as_often() -> None:
    features, labels = overlapping(0.3)
    weights = np.random.default_rng(0).integers(0, 4, len(labels))
    weighted = GossipAUCClassifier(random_state=0).fit(features, labels, weights)
    repeated = np.repeat(np.arange(len(labels)), weights)
    expected = GossipAUCClassifier(random_state=0).fit(features[repeated], labels[repeated])
    np.testing.assert_allclose(weighted.coef_, expected.coef_, rtol=1e-7)
    np.testing.assert_allclose(
        weighted.predict_proba(features), expected.predict_proba(features), rtol=1e-7
    )
    counted = weighted.score_interval(features[weights > 0], labels[weights > 0],
                                      sample_weight=weights[weights > 0])  # fmt: skip
    again = expected.score_interval(features[repeated], labels[repeated])
    assert (counted.value, counted.error) == pytest.approx((again.value, again.error))


def test_weights_that_cannot_be_used() -> None:
    features, labels = small()
    by_swaps = GossipAUCClassifier(solver=DUAL)
    with pytest.raises(InputError, match="leave sample_weight out, or use solver='sketch'"):
        by_swaps.fit(features, labels, np.ones(60))
    with pytest.raises(InputError, match="one class only"):
        GossipAUCClassifier().fit(features, labels, labels)
    with pytest.raises(ValueError):
        GossipAUCClassifier().fit(features, labels, np.zeros(60))
    with pytest.raises(InputError, match="is negative: give weights of 0 or more"):
        GossipAUCClassifier().fit(features, labels, -labels)


def test_two_rows_constant_features_and_separated_classes_make_no_fuss() -> None:
    """Warnings are errors here."""
    two = GossipAUCClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert two.predict([[0.1], [0.9]]).tolist() == ["a", "b"]
    constant = GossipAUCClassifier(random_state=0).fit(np.ones((6, 2)), [0, 0, 0, 0, 1, 1])
    assert not constant.coef_.any()
    np.testing.assert_allclose(constant.predict_proba(np.ones((1, 2)))[0, 1], 13 / 36)
    random = np.random.default_rng(0)
    labels = np.arange(200) % 2
    features = random.normal(size=(200, 60)) + 3.0 * labels[:, None]
    apart = GossipAUCClassifier(random_state=0).fit(features, labels)
    assert apart.score(features, labels) == 1.0 and np.linalg.norm(apart.coef_) < 10
    with pytest.warns(NotEnough, match="Use l2=1e-06 for a model of definite length") as told:
        GossipAUCClassifier(l2=0.0, random_state=0).fit(features, labels)
    assert told[0].filename == __file__


def test_the_threshold_is_the_best_of_all() -> None:
    random = np.random.default_rng(0)
    values, labels = random.integers(0, 8, 40).astype(float), random.random(40) < 0.4
    weights = random.integers(1, 4, 40).astype(float)

    def judge(cut: float) -> float:
        return float(balanced_accuracy_score(labels, values > cut, sample_weight=weights))

    scores = _Scores(values, labels, weights)
    assert judge(_best_threshold(scores)) == pytest.approx(max(map(judge, np.arange(-0.5, 9))))
    assert scores.balanced_accuracy(3.5)[0] == pytest.approx(judge(3.5))
    for pair, middle in (([1.0, 2.0], 1.5), ([3.0, 3.0], 3.0)):
        two = _Scores(np.array(pair), np.array([False, True]), np.ones(2))
        assert _best_threshold(two) == middle


def test_scores_too_far_apart_for_sketches_are_told() -> None:
    features, labels = small()
    features[0, 0] = -1e7
    with pytest.warns(NotEnough, match="bring far-off values .* or use solver='dual-averaging'"):
        GossipAUCClassifier(l2=0.0).fit(features[:, :1], labels)
