"""The estimators: linear scores of two classes and of graded labels, and a Mahalanobis distance."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.errors import InputError
from pairgossip.inference import exact
from pairgossip.kernels import Combination, Kernel, as_kernel
from pairgossip.kernels.closed_forms import comparable_total, concordant_total
from pairgossip.kernels.data import class_example, ordered_codes
from pairgossip.learn.base import GossipEstimator, refuse_one_class
from pairgossip.losses import PSD, Box, auc_loss, metric_loss, ranking_loss
from pairgossip.text import join_names


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
        refuse_one_class(self.classes_)
        models, scale = self._train(X, codes, auc_loss(self.phi), self._ball(), groups)
        self.models_ = models / scale
        self.coef_ = self.models_.mean(axis=0)[None, :]
        self.intercept_ = np.array([-_best_threshold(X @ self.coef_[0], codes == 1)])
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

    def _judged(self, X: Any, y: Any) -> tuple[FloatArray, Kernel | Combination]:
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


def _best_threshold(scores: FloatArray, positive: Any) -> float:
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


class GossipRanker(RegressorMixin, GossipEstimator):  # type: ignore[misc]
    """Graded ranking by gossip: a linear score that is higher where the label is.

    It minimizes the pairwise loss 1{y > y'} phi(theta . (x - x')) over all pairs of rows. Only
    the order of the labels matters: predictions are scores, not estimates of labels.

    Parameters
    ----------
    graph, phi, clock, law, iterations, step, radius, l2, l1
        As for `GossipAUCClassifier`.
    standardize, trials, random_state, n_jobs
        As for `GossipAUCClassifier`.

    Attributes
    ----------
    coef_
        The mean of the nodes' models, shape (features,).
    models_
        The model of every node, shape (nodes, features).
    fit_
        The `Fit`: objective, spread and disagreement of the models, in standardized units.
    n_features_in_, feature_names_in_
        What was seen in training.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> GossipRanker(random_state=0).fit(X, [1, 2, 2, 3]).score(X, [1, 2, 2, 3])
    1.0
    """

    def fit(self, X: Any, y: Any, groups: Any = None) -> GossipRanker:
        """Train on features X, shape (rows, features), and numbers y that grade the rows.

        An ordered pandas categorical grades them by its order; other text is refused.

        A node of the graph holds one row, or with groups, a label of a site per row, all rows of
        its site; these exchange as in `minimize`.
        """
        grades = None if y is None else _grades(y)
        X, y = validate_data(self, X, grades, dtype=np.float64, ensure_min_samples=2)
        models, scale = self._train(X, y, ranking_loss(self.phi), self._ball(), groups)
        self.models_ = models / scale
        self.coef_ = self.models_.mean(axis=0)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the scores of rows."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of pairs of different labels that are ordered well, ties half."""
        if sample_weight is not None:
            raise InputError("The concordance of pairs takes no sample weights: leave them out.")
        scores, labels = self.predict(X), _grades(y)
        check_consistent_length(scores, labels)
        return concordance(scores, labels)

    def _judged(self, X: Any, y: Any) -> tuple[FloatArray, Kernel | Combination]:
        scores, labels = self.predict(X), _grades(y)
        check_consistent_length(scores, labels)
        return np.column_stack((scores, labels)), as_kernel("concordance")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # scores are not estimates of the labels
        return tags


def concordance(scores: FloatArray, labels: FloatArray) -> float:
    """Return the share of pairs of different labels that scores order alike, ties half."""
    data = np.column_stack((scores, np.ravel(labels)))
    pairs = comparable_total(data)
    if not pairs:
        raise InputError("All labels are equal: a ranking is judged by pairs of different labels.")
    return concordant_total(data, 0.5) / pairs


def _grades(y: Any) -> FloatArray:
    """Return labels as numbers; the alphabetical order of text would be no order of grades."""
    example = class_example(y)
    if example is not None:
        raise InputError(
            f"A ranking compares labels by size, but the labels are {example}: "
            "pass numbers, or an ordered pandas categorical."
        )
    codes = ordered_codes(y)
    if codes is not None:
        y = np.where(np.asarray(codes) < 0, np.nan, codes)  # -1 where one is missing
    column = column_or_1d(y, warn=True)
    if column.dtype.kind == "c":
        raise InputError("Complex data not supported: give real numbers as labels.")
    grades = np.asarray(column, dtype=np.float64)
    assert_all_finite(grades, input_name="y")
    return grades


@dataclass(eq=False, repr=False)
class GossipMetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GossipEstimator):  # type: ignore[misc]
    """Metric learning by gossip: a distance that is small within classes, large between them.

    It minimizes phi(s (threshold - d_M(x, x')^2)) over all pairs of rows, with s = 1 for equal
    labels and -1 otherwise, and d_M(x, x')^2 = (x - x')^T M (x - x'). `transform` maps X to
    X @ L with L L^T = M, so that Euclidean distances, as in k-nearest neighbors, become d_M.

    Parameters
    ----------
    graph, clock, law, iterations, step, trials, random_state, n_jobs
        As for `GossipAUCClassifier`.
    kind
        "diagonal": one weight per feature; "full": a whole matrix, d^2 parameters.
    phi
        "hinge" or "logistic".
    threshold
        The squared distance that separates alike from different.
    projection
        How a full matrix is kept positive semidefinite: "last" projects the nodes' matrices
        when training ends; "each" at every update, which is slow.
    radius
        The largest Frobenius norm of a full matrix, or the largest entry of a diagonal one, in
        standardized units; None for any.
    l2, l1
        Strength of a penalty on the entries of M: l2 for full matrices, l1 for either kind.
    standardize
        Whether features are divided by their standard deviations before training; M and L are
        for the features' own units in any case.

    Attributes
    ----------
    metric_
        M, shape (features, features): the mean of the nodes' matrices.
    components_
        L, shape (features, features), symmetric in standardized units.
    models_
        M of every node, shape (nodes, features, features), or (nodes, features) if diagonal.
    classes_
        The classes seen in training.
    fit_
        The `Fit`: objective, spread and disagreement of the models, in standardized units.
    n_features_in_, feature_names_in_
        What was seen in training.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 5.0], [0.1, 1.0], [1.0, 4.0], [1.1, 2.0]])
    >>> learner = GossipMetricLearner(random_state=0).fit(X, [0, 0, 1, 1])
    >>> bool(learner.metric_[0, 0] > learner.metric_[1, 1])
    True
    """

    _: KW_ONLY
    kind: str = "diagonal"
    phi: str = "hinge"
    threshold: float = 1.0
    projection: str = "last"

    def fit(self, X: Any, y: Any, groups: Any = None) -> GossipMetricLearner:
        """Train on features X, shape (rows, features), and labels y of two or more classes.

        A node of the graph holds one row, or with groups, a label of a site per row, all rows of
        its site; these exchange as in `minimize`.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        refuse_one_class(self.classes_)
        diagonal = choice("kind of metric", self.kind, ("full", "diagonal")) == "diagonal"
        loss = metric_loss(self.phi, self.threshold, diagonal)
        models, scale = self._train(X, codes, loss, self._constraint(diagonal), groups)
        self._keep(models, scale, diagonal)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return X @ L, whose Euclidean distances are those of the learned metric."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ self.components_)

    def score(self, X: Any, y: Any) -> float:
        """Return the share of pairs of rows that the threshold tells right.

        They are right if near and of one class, or far from each other and of two.
        """
        return exact(*self._judged(X, y), "u")

    def _judged(self, X: Any, y: Any) -> tuple[FloatArray, Kernel | Combination]:
        places, labels = self.transform(X), column_or_1d(y, warn=True)
        check_consistent_length(places, labels)
        if len(places) < 2:
            raise InputError("Pairs of rows are judged, but there is one row: give two or more.")
        codes = np.unique(labels, return_inverse=True)[1]
        return np.column_stack((places, codes)), Kernel(
            partial(_is_told_right, self.threshold),
            "pairs told right",
            symmetric=True,
            label_sizes=False,
            interval_scale="logit",
        )

    def _constraint(self, diagonal: bool) -> Any:
        if diagonal:
            return Box(0.0, math.inf if self.radius is None else self.radius)
        if choice("projection", self.projection, ("last", "each")) == "each":
            return PSD(self.radius)
        return self._ball()

    def _keep(self, models: FloatArray, scale: FloatArray, diagonal: bool) -> None:
        """Set the learned matrices, in the features' own units."""
        d = len(scale)
        if diagonal:
            self.models_ = models / scale**2
            self.metric_ = np.diag(self.models_.mean(axis=0))
            self.components_ = np.sqrt(self.metric_)
        else:
            matrices = PSD().project(models).reshape(-1, d, d)
            self.models_ = matrices / np.outer(scale, scale)
            self.metric_ = self.models_.mean(axis=0)
            self.components_ = _square_root(matrices.mean(axis=0)) / scale[:, None]
        self._n_features_out = d

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _is_told_right(threshold: float, first: FloatArray, second: FloatArray) -> FloatArray:
    """Tell for pairs of rows, their label last, whether they are near just if they are alike."""
    apart = np.square(first[:, :-1] - second[:, :-1]).sum(axis=1)
    return ((apart < threshold) == (first[:, -1] == second[:, -1])).astype(np.float64)


def _square_root(matrix: FloatArray) -> FloatArray:
    """Return the symmetric root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
