"""scikit-learn estimators trained by gossip dual averaging, one observation per node."""

from pairgossip.extras import needed_for

with needed_for("pairgossip.learn"):
    from pairgossip.learn.auc_classifier import GossipAUCClassifier
    from pairgossip.learn.metric_learner import GossipMetricLearner
    from pairgossip.learn.ranker import GossipRanker

__all__ = ["GossipAUCClassifier", "GossipMetricLearner", "GossipRanker"]
