"""scikit-learn estimators trained by gossip, one observation per node or several."""

from pairgossip.errors import needed_for

with needed_for("pairgossip.learn"):
    from pairgossip.learn.classifier import GossipAUCClassifier
    from pairgossip.learn.metric_learner import GossipMetricLearner
    from pairgossip.learn.ranker import GossipRanker

__all__ = ["GossipAUCClassifier", "GossipMetricLearner", "GossipRanker"]
