"""Distances by gossip: small within classes, large between them."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.errors import InputError
from pairgossip.inference.questions import exact
from pairgossip.kernels import AnyKernel, Kernel
from pairgossip.learn.base import GossipEstimator, refuse_one_class
from pairgossip.losses import PSD, Box, metric_loss


@dataclass(eq=False, repr=False)
class GossipMetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GossipEstimator):  # type: ignore[misc]
    """Metric learning by gossip: a distance that is small within classes, large between them.

    It minimizes phi(s (threshold - d_M(x, x')^2)) over all pairs of rows, with s = 1 for equal
    labels and -1 otherwise, and d_M(x, x')^2 = (x - x')^T M (x - x'). `transform` maps X to
    X @ L with L L^T = M, so that Euclidean distances, as in k-nearest neighbors, become d_M.
    The nodes learn by dual averaging: the gradient cannot be sketched, as a distance is not a
    difference of two scores.

    Parameters
    ----------
    graph, clock, law, iterations, step, trials, random_state, n_jobs, verbose
        As for `GossipAUCClassifier` with dual averaging.
    kind
        "diagonal": one weight per feature; "full": a full matrix, d^2 parameters.
    phi
        "hinge" or "logistic".
    threshold
        The squared distance that separates equal from different labels.
    projection
        When a full matrix is made positive semidefinite: "each" projects it at every update, which
        is slow with many features; "last" projects it when training ends, which is faster and
        ends farther from the best metric. "auto" is "each", or "last" with an l1 penalty.
    radius
        The largest Frobenius norm of a full matrix, or the largest entry of a diagonal one, in
        standardized units; None for no limit.
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
    n_iter_
        The number of exchanges.
    fit_, n_features_in_, feature_names_in_
        As for `GossipAUCClassifier`.

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
    projection: str = "auto"

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
        constraint = self._constraint(diagonal)
        method = self._dual_averaging(len(X), constraint)
        models, scale = self._train(X, codes, loss, constraint, groups, method)
        self._keep(models, scale, diagonal)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return X @ L, whose Euclidean distances are those of the learned metric."""
        return self._check_rows(X) @ self.components_

    def score(self, X: Any, y: Any) -> float:
        """Return the share of pairs of rows that the threshold classifies correctly.

        A pair is correct if its rows are within the threshold and of one class, or beyond it and
        of two classes.
        """
        return exact(*self._judge(X, y), "u")

    def _judge(self, X: Any, y: Any) -> tuple[FloatArray, AnyKernel]:
        places, labels = self.transform(X), column_or_1d(y, warn=True)
        check_consistent_length(places, labels)
        if len(places) < 2:
            raise InputError(
                "The score needs pairs of rows, but there is one row: give two or more."
            )
        codes = np.unique(labels, return_inverse=True)[1]
        return np.column_stack((places, codes)), Kernel(
            partial(_is_correct, self.threshold),
            "correct pairs",
            symmetric=True,
            label_sizes=False,
            interval_scale="logit",
        )

    def _constraint(self, diagonal: bool) -> Any:
        if diagonal:
            return Box(0.0, math.inf if self.radius is None else self.radius)
        projection = choice("projection", self.projection, ("auto", "last", "each"))
        if projection == "last" or (projection == "auto" and self.l1):
            return self._ball()
        return PSD(self.radius)

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


def _is_correct(threshold: float, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 for pairs of rows, label last, that are near if and only if labels are equal."""
    apart = np.square(first[:, :-1] - second[:, :-1]).sum(axis=1)
    return ((apart < threshold) == (first[:, -1] == second[:, -1])).astype(np.float64)


def _square_root(matrix: FloatArray) -> FloatArray:
    """Return the symmetric root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
