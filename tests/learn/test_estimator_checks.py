"""Every check that scikit-learn has for estimators, none expected to fail."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from pairgossip.learn import GossipAUCClassifier, GossipMetricLearner, GossipRanker

ESTIMATORS = [
    GossipAUCClassifier(),
    GossipRanker(),
    GossipMetricLearner(),
    GossipMetricLearner(kind="full"),
]


@parametrize_with_checks(ESTIMATORS)  # type: ignore[untyped-decorator]
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
