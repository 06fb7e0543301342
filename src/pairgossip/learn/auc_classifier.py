"""A linear score of two classes, trained by gossip to have a high AUC."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.learn.base import GossipEstimator, check_two_classes, finite_models, standardize
from pairgossip.losses import auc_loss


class GossipAUCClassifier(ClassifierMixin, GossipEstimator):  # type: ignore[misc]
    """Bipartite ranking by gossip: a linear score that puts the second class above the first.

    Every observation is held by a node of a network. Exchange by exchange, the nodes minimize
    the pairwise loss 1{y > y'} phi(theta . (x - x')), a surrogate of one minus the AUC.

    Parameters
    ----------
    graph
        A `Graph` with one node per training row, or the name of a family, such as "complete" or
        "watts_strogatz", built on as many nodes as there are rows. If rows are grouped in `fit`,
        one node per group.
    phi
        What is made of a difference of scores: "logistic", "hinge", "squared-hinge",
        "smoothed-hinge".
    clock
        "async": the two nodes that meet update; "sync": all nodes update at every exchange,
        which costs more time for about the same accuracy.
    law
        Which edge comes next: "uniform-edges" or "node-clocks".
    iterations
        The number of exchanges; None for 500 per node, and at least 20,000.
    step
        "auto" chooses a constant by the curvature of the objective; a number c means
        c/sqrt(t); or a function of time, such as ``pg.steps.power(0.1, 0.3)``.
    radius
        The largest norm of a model in standardized units; None for any.
    l2, l1
        Strength of a penalty ||theta||^2 or ||theta||_1 in standardized units; one of the two.
    standardize
        Whether features are divided by their standard deviations before training; the learned
        coefficients are in the features' own units in any case.
    trials
        Independent runs whose models are averaged.
    random_state
        Seed of the exchanges and of a random graph.
    n_jobs
        How many trials run at once; -1 for one per core.

    Attributes
    ----------
    classes_
        The two classes; the second is the one scored higher.
    coef_, intercept_
        The mean of the nodes' models, shape (1, features), and minus the threshold, shape (1,).
        The threshold has the best balanced accuracy on the training scores.
    models_
        The model of every node, shape (nodes, features); of every row if rows are grouped.
    fit_
        The `Fit`: objective, spread and disagreement of the models, in standardized units.
    n_features_in_, feature_names_in_
        What was seen in training.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> classifier = GossipAUCClassifier(random_state=0).fit(X, ["no", "no", "yes", "yes"])
    >>> classifier.predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """

    def fit(self, X: Any, y: Any, groups: Any = None) -> GossipAUCClassifier:
        """Train on features X, shape (rows, features), and labels y of two classes.

        A node of the graph holds one row, or with groups, a label of a site per row, all rows of
        its site; these exchange as in `minimize`.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise InputError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        check_two_classes(self.classes_)
        features, scale = standardize(X, self.standardize)
        self.fit_ = self._train(features, codes, auc_loss(self.phi), self._ball(), groups)
        self.models_ = finite_models(self.fit_) / scale
        self.coef_ = self.models_.mean(axis=0)[None, :]
        self.intercept_ = np.array([-best_threshold(X @ self.coef_[0], codes == 1)])
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of rows, positive where the second class is predicted."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> Any:
        """Return the predicted classes of rows."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def best_threshold(scores: FloatArray, positive: Any) -> float:
    """Return the threshold of highest balanced accuracy; the middle one of equal ones."""
    order = np.argsort(scores, kind="stable")
    ranked, hits = scores[order], np.asarray(positive)[order]
    below = np.cumsum(~hits) / max((~hits).sum(), 1)
    above = 1.0 - np.cumsum(hits) / max(hits.sum(), 1)
    gaps = np.flatnonzero(ranked[1:] > ranked[:-1])
    if not len(gaps):
        return float(ranked[0])
    accuracy = (below + above)[gaps]
    best = gaps[np.flatnonzero(accuracy >= accuracy.max() - 1e-12)]
    chosen = best[len(best) // 2]
    return float(ranked[chosen] + 0.5 * (ranked[chosen + 1] - ranked[chosen]))
