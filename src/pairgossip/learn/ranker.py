"""A linear score that follows graded labels, trained by gossip."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.closed_forms import comparable_total, concordant_total
from pairgossip.kernels.data import class_example, ordered_codes
from pairgossip.learn.base import GossipEstimator, finite_models, standardize
from pairgossip.losses import ranking_loss


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
        features, scale = standardize(X, self.standardize)
        self.fit_ = self._train(features, y, ranking_loss(self.phi), self._ball(), groups)
        self.models_ = finite_models(self.fit_) / scale
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
