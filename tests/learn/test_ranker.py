from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import somersd
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.learn import GossipAUCClassifier, GossipRanker


def graded() -> tuple[FloatArray, FloatArray]:
    """Draw 90 rows whose grades 0 to 3 depend on two of three features."""
    random = np.random.default_rng(4)
    features = random.normal(size=(90, 3))
    latent = features @ [2.0, -1.0, 0.0] + 0.3 * random.normal(size=90)
    return features, np.digitize(latent, [-2.0, 0.0, 2.0]).astype(float)


def test_scores_follow_the_grades() -> None:
    features, grades = graded()
    ranker = GossipRanker(random_state=0).fit(features, grades)
    assert ranker.score(features, grades) > 0.95
    assert ranker.coef_.shape == (3,) and ranker.models_.shape == (90, 3)
    assert ranker.coef_[1] / ranker.coef_[0] == pytest.approx(-0.5, abs=0.15)
    pipeline = make_pipeline(StandardScaler(), GossipRanker(random_state=0))
    assert cross_val_score(pipeline, features, grades, cv=3).mean() > 0.93


def test_two_grades_are_two_classes() -> None:
    features, grades = graded()
    ranker = GossipRanker(random_state=0).fit(features, grades > 1)
    classifier = GossipAUCClassifier(random_state=0).fit(features, grades > 1)
    np.testing.assert_array_equal(ranker.coef_, classifier.coef_[0])


def test_the_score_is_the_share_of_pairs_ordered_well() -> None:
    random = np.random.default_rng(0)
    scores, labels = random.integers(0, 5, (2, 30)).astype(float)
    pairs = [(i, j) for i, j in itertools.permutations(range(30), 2) if labels[i] > labels[j]]
    wins = [float(np.heaviside(scores[i] - scores[j], 0.5)) for i, j in pairs]
    ranker = GossipRanker(random_state=0).fit(scores[:, None], scores)
    assert ranker.score(scores[:, None], labels) == pytest.approx(np.mean(wins))
    # Somers' D is a difference of shares, 2 concordance - 1.
    difference = somersd(labels, scores).statistic
    assert ranker.score(scores[:, None], labels) == pytest.approx((1 + difference) / 2)
    twice = np.tile(scores, 2)[:, None], np.tile(labels, 2)
    doubled = ranker.score(scores[:, None], labels, np.full(30, 2))
    assert doubled == pytest.approx(ranker.score(*twice))


def test_many_grades_are_learned_by_dual_averaging() -> None:
    features, _ = graded()
    latent = features @ [2.0, -1.0, 0.0]
    ranker = GossipRanker(iterations=5_000, random_state=0).fit(features, latent)
    assert ranker.fit_.method == "dual-averaging" and ranker.n_iter_ == 5_000
    assert ranker.score(features, latent) > 0.98
    coarse = GossipRanker(random_state=0).fit(features, np.round(latent))
    assert coarse.fit_.method == "sketch" and coarse.n_iter_ < 50
    with pytest.raises(InputError, match="different values, and a sketch of the scores of each"):
        GossipRanker(solver="sketch").fit(features, latent)
    with pytest.raises(InputError, match="up to 32 different values"):
        GossipRanker().fit(features, latent, np.ones(90))


def test_what_has_no_order_is_refused() -> None:
    features, grades = graded()
    with pytest.raises(InputError, match="one class only"):
        GossipRanker().fit(features, np.ones(90))
    ranker = GossipRanker(random_state=0).fit(features, grades)
    with pytest.raises(InputError, match=r"^All labels are equal, but a ranking is judged by pai"):
        ranker.score(features, np.ones(90))


def test_text_grades_and_broken_labels_are_refused() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    words = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    with pytest.raises(InputError, match="compares labels by size, but the labels are text such"):
        GossipRanker(iterations=200, random_state=0).fit(X, words)
    with pytest.raises(InputError, match="pass numbers, or an ordered pandas categorical"):
        GossipRanker(iterations=200, random_state=0).fit(X, np.arange(40).astype(str))
    with pytest.raises(ValueError, match="Input y contains NaN"):
        GossipRanker(iterations=200, random_state=0).fit(X, [None, *range(39)])
    ranker = GossipRanker(iterations=200, random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="NaN"):
        ranker.score(X, np.full(40, np.nan))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ranker.score(X, np.arange(3.0))


def test_an_ordered_categorical_grades_by_its_order() -> None:
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(40, 2))
    codes = np.digitize(X[:, 0], [-0.5, 0.5])
    names = pandas.Categorical.from_codes(codes, ["low", "mid", "high"], ordered=True)
    settings: dict[str, Any] = {"random_state": 0}
    by_names, by_codes = (GossipRanker(**settings).fit(X, y) for y in (names, codes))
    np.testing.assert_array_equal(by_names.coef_, by_codes.coef_)
    names = pandas.Categorical.from_codes([-1, *codes[1:]], ["low", "mid", "high"], ordered=True)
    with pytest.raises(ValueError, match="NaN"):
        GossipRanker(**settings).fit(X, names)
