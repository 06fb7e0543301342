"""Two classes by gossip: a linear score, its threshold, and probabilities of the classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import AnyKernel, as_kernel
from pairgossip.kernels.data import format_label
from pairgossip.learn.base import refuse_one_class
from pairgossip.learn.scorer import GossipScorer, weigh_rows
from pairgossip.losses import auc_loss
from pairgossip.text import join_names

_NEWTON_STEPS, _SHORTEST_STEP = 100, 1e-6
"""The largest number of Newton steps, and the length below which the next would be negligible."""
_LEAST_DETERMINANT = 1e-8
"""The determinant of two equations, relative to its terms, below which least squares solve them."""


class GossipAUCClassifier(ClassifierMixin, GossipScorer):  # type: ignore[misc]
    """Bipartite ranking by gossip: a linear score that puts the second class above the first.

    Every observation is held by a node of a network. Together they minimize the pairwise loss
    1{y > y'} phi(theta . (x - x')), a surrogate of one minus the AUC.

    Parameters
    ----------
    graph
        A `Graph` or networkx graph with one node per training row; or the name of a family, such
        as "complete" or "watts_strogatz", or a function of the number of nodes that returns a
        graph, which fit any number of rows. If rows are grouped in `fit`, one node per group.
    solver
        "sketch" averages sums from which every node computes the gradient over all pairs: it ends
        at the optimum, and no row is passed on. "dual-averaging" is the paper's method: nodes
        swap rows and average gradients.
    phi
        The function of a difference of scores: the name of one of `losses.MARGINS`, such as
        "logistic" or "hinge".
    schedule
        For the sketch: the exchanges that average sums, "tree" (exact), "ordered" or "random".
    tol
        For the sketch: it ends when the predicted gain of a round is less than this part of the
        zero model's loss.
    clock
        For dual averaging. "async": the two nodes that meet update; "sync": all nodes update at
        every exchange, which costs more time for about the same accuracy.
    step
        For dual averaging. "auto" is the adaptive step, which needs no tuning; "paper" and
        functions of time are as for `minimize`; a number c means c/sqrt(t).
    law
        The law of the next edge in random exchanges: "uniform-edges", "node-clocks", "best", or,
        with a graph of your own, the probability of each of its edges.
    iterations
        The most rounds of the sketch, by default 200, of which it seldom needs 20; or the number
        of exchanges of dual averaging, by default 500 per node, and at least 20,000.
    radius
        The largest norm of a model in standardized units; None for no limit.
    l2, l1
        Strength of a penalty ||theta||^2 or ||theta||_1 in standardized units; give at most one.
        Without either and without a radius the sketch adds a small l2, so that there is a best
        model for any data: 1/(2n) times the share of pairs that count, where n is the number of
        rows or the sum of their weights. It is as strong as C = 1 in scikit-learn's
        LogisticRegression.
    standardize
        Whether features are divided by their standard deviations before training. Penalties and
        the radius refer to these units; the learned coefficients are in the features' own units
        in any case.
    trials
        The number of independent runs whose models are averaged; with schedule "tree" all runs are
        the same.
    random_state
        Seed of the exchanges and of a random graph.
    n_jobs
        The number of trials that run at once; -1 for one per core.
    verbose
        Whether a progress bar is shown.

    Attributes
    ----------
    classes_
        The two classes; the second one has the higher scores.
    coef_, intercept_
        The mean of the nodes' models, shape (1, features), and minus the threshold, shape (1,).
        The threshold aims at the best balanced accuracy. It is where the probability of the second
        class equals its share in training, unless another threshold is better on the training
        scores by more than chance, two standard errors.
    calibration_
        a and b of `predict_proba`, shape (2,).
    models_
        The model of every node, shape (nodes, features). If rows are grouped, nodes are sites for
        the sketch and rows for dual averaging.
    n_iter_
        The number of rounds or exchanges.
    fit_
        The `Fit`: objective, spread and disagreement of the models, in standardized units.
    n_features_in_, feature_names_in_
        The number and the names of the features seen in training.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> classifier = GossipAUCClassifier(random_state=0).fit(X, ["no", "no", "yes", "yes"])
    >>> classifier.predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> GossipAUCClassifier:
        """Train on features X, shape (rows, features), and labels y of two classes.

        A row with weight w counts like w rows; only the sketch takes weights. A node of the graph
        holds one row, or with groups, a label of a site per row, all rows of its site.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        rows = weigh_rows(X, y, groups, sample_weight)
        self.classes_, codes = np.unique(rows.labels, return_inverse=True)
        if len(self.classes_) > 2:
            kind = type_of_target(y, input_name="y", raise_unknown=True)
            raise InputError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        refuse_one_class(self.classes_)
        self.coef_ = self._learn_scores(rows._replace(labels=codes), auc_loss(self.phi))[None, :]
        self.fit_ = replace(self.fit_, positive=self._positive())
        weights = np.ones(len(codes)) if rows.weights is None else rows.weights
        scores = _Scores(rows.features @ self.coef_[0], codes == 1, weights)
        slope, offset = _calibrate(scores)
        threshold = _choose_threshold(scores, slope, offset)
        self.intercept_ = np.array([-threshold])
        self.calibration_ = np.array([slope, offset + slope * threshold])
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of rows, positive where the second class is predicted."""
        return self._check_rows(X) @ self.coef_[0] + self.intercept_[0]

    def predict(self, X: Any) -> Any:
        """Return the predicted classes of rows, where both classes are equally important.

        If classes have the same size, the one of higher probability is predicted. A rarer class is
        predicted from a lower probability on, about its share in training.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp)]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the two classes, in the order of `classes_`.

        The probability of the second class is 1/(1 + exp(-(a s + b))), where s is the score. a and
        b have the highest likelihood on the training scores, with Platt's targets, which are
        slightly inside 0 and 1. The probabilities hold for classes as frequent as in training.
        """
        chance = expit(self._logits(X))
        return np.column_stack((1.0 - chance, chance))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`, finite for any score."""
        logit = self._logits(X)
        return np.column_stack((log_expit(-logit), log_expit(logit)))

    def _logits(self, X: Any) -> FloatArray:
        scores, (slope, offset) = self.decision_function(X), self.calibration_
        return slope * scores + offset

    def _positive(self) -> str:
        return format_label(self.classes_[1])

    def _judge(self, X: Any, y: Any) -> tuple[FloatArray, AnyKernel]:
        scores, labels = self.decision_function(X), column_or_1d(y, warn=True)
        check_consistent_length(scores, labels)
        unknown = [label for label in np.unique(labels) if label not in self.classes_]
        if unknown:
            raise InputError(
                f"The labels hold '{unknown[0]}', which is neither of the two classes, "
                f"{join_names([str(known) for known in self.classes_])}: leave these rows out."
            )
        return np.column_stack((scores, labels == self.classes_[1])), as_kernel("auc")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(frozen=True)
class _Scores:
    """Scores of rows, whether each is of the second class, and their weights."""

    values: FloatArray
    positive: NDArray[np.bool_]
    weights: FloatArray

    @cached_property
    def counts(self) -> tuple[float, float]:
        """The total weights of the second class and of the first."""
        high = float(self.weights[self.positive].sum())
        return high, float(self.weights[~self.positive].sum())

    def balanced_accuracy(self, threshold: float) -> tuple[float, float]:
        """Return the mean of both classes' shares of right predictions, and its standard error."""
        right = np.where((self.values > threshold) == self.positive, self.weights, 0.0)
        shares = [right[side].sum() for side in (self.positive, ~self.positive)]
        parts = np.array(shares) / self.counts
        variance = parts * (1.0 - parts) / self.counts
        return float(parts.mean()), float(np.sqrt(np.maximum(variance, 0.0).sum())) / 2.0


def _choose_threshold(scores: _Scores, slope: float, offset: float) -> float:
    """Return the score with the odds of the classes, unless another threshold is clearly better.

    Balanced accuracy alone would follow a few rows, and the sigmoid may not fit.
    """
    best, (high, low) = _best_threshold(scores), scores.counts
    if not slope > 0:
        return best
    threshold = (np.log(high / low) - offset) / slope
    accuracy, error = scores.balanced_accuracy(best)
    is_as_good = scores.balanced_accuracy(threshold)[0] >= accuracy - 2.0 * error
    return float(threshold) if is_as_good else best


def _best_threshold(scores: _Scores) -> float:
    """Return the threshold of highest balanced accuracy; among equal ones the middle one."""
    order = np.argsort(scores.values, kind="stable")
    ranked, hits, weights = scores.values[order], scores.positive[order], scores.weights[order]
    high, low = scores.counts
    accuracy = np.cumsum(np.where(hits, -weights / high, weights / low))
    gaps = np.flatnonzero(ranked[1:] > ranked[:-1])
    if not len(gaps):
        return float(ranked[0])
    best = gaps[accuracy[gaps] >= accuracy[gaps].max() - 1e-12]
    chosen = best[len(best) // 2]
    return float(ranked[chosen] + 0.5 * (ranked[chosen + 1] - ranked[chosen]))


def _calibrate(scores: _Scores) -> tuple[float, float]:
    """Return a and b of the sigmoid of a s + b with the highest likelihood for Platt's targets.

    This is Newton's method on standardized scores; steps that go too far are halved.
    """
    values, positive, weights = scores.values, scores.positive, scores.weights
    high, low = scores.counts
    targets = np.where(positive, (high + 1.0) / (high + 2.0), 1.0 / (low + 2.0))
    center = np.average(values, weights=weights)
    spread = float(np.sqrt(np.average((values - center) ** 2, weights=weights))) or 1.0
    terms = np.stack([(values - center) / spread, np.ones(len(values))])

    def deviance(at: FloatArray) -> float:
        logits = at @ terms
        return -float(weights @ (log_expit(logits) - (1.0 - targets) * logits))

    line = np.array([0.0, np.log((high + 1.0) / (low + 1.0))])
    value = deviance(line)
    guess = _guess_sigmoid(terms[0], scores)
    if (ahead := deviance(guess)) < value:
        line, value = guess, ahead
    for _ in range(_NEWTON_STEPS):
        chance = expit(line @ terms)
        slope = terms @ (weights * (chance - targets))
        bend = (terms * (weights * chance * (1.0 - chance))) @ terms.T
        step = _solve_two(bend, slope)
        while (ahead := deviance(line - step)) > value and np.abs(step).max() > _SHORTEST_STEP:
            step /= 2.0
        line, value = line - step, ahead
        if np.abs(step).max() <= _SHORTEST_STEP:
            break
    a = float(line[0]) / spread
    return a, float(line[1] - a * center)


def _guess_sigmoid(standardized: FloatArray, scores: _Scores) -> FloatArray:
    """Return a and b as if both classes had normal scores of the same variance."""
    high, low = scores.counts
    above = float((scores.weights * scores.positive) @ standardized) / high
    below = -above * high / low  # as the mean of all is 0
    within = max(1.0 + above * below, 1e-3)  # and their variance 1
    slope = (above - below) / within
    return np.array([slope, np.log(high / low) - slope * (above + below) / 2.0])


def _solve_two(bend: FloatArray, slope: FloatArray) -> FloatArray:
    """Solve two equations; return the shortest solution if they are nearly dependent."""
    (a, b), (_, c) = bend.tolist()
    size = a * c - b * b
    if not size > _LEAST_DETERMINANT * a * c:
        return np.asarray(np.linalg.lstsq(bend, slope)[0])
    s, t = slope.tolist()
    return np.array([(c * s - b * t) / size, (a * t - b * s) / size])
