"""scikit-learn estimators trained by gossip dual averaging, one observation per node."""

from pairgossip.errors import needed_for

with needed_for("pairgossip.learn"):
    from pairgossip.learn.estimators import GossipAUCClassifier, GossipMetricLearner, GossipRanker

__all__ = ["GossipAUCClassifier", "GossipMetricLearner", "GossipRanker"]
