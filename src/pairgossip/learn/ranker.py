"""Graded labels by gossip: a linear score that is higher where the label is higher."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from pairgossip.arguments.minimize import DUAL_AVERAGING, SKETCH
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.inference.questions import exact
from pairgossip.kernels import AnyKernel, as_kernel
from pairgossip.kernels.data import class_example
from pairgossip.learn.base import refuse_one_class
from pairgossip.learn.scorer import AUTO, GossipScorer, weigh_rows
from pairgossip.losses import ranking_loss
from pairgossip.rows.columns import as_ordered


@dataclass(eq=False, repr=False)
class GossipRanker(RegressorMixin, GossipScorer):  # type: ignore[misc]
    """Graded ranking by gossip: a linear score that is higher where the label is higher.

    It minimizes the pairwise loss 1{y > y'} phi(theta . (x - x')) over all pairs of rows. Only
    the order of the labels matters: predictions are scores, not estimates of labels.

    Parameters
    ----------
    solver
        "sketch" and "dual-averaging" as for `GossipAUCClassifier`. "auto" is the sketch for up to
        32 different labels, and dual averaging beyond, where a sketch would be too long to send.
    graph, phi, schedule, tol, clock, step, law, iterations, radius, l2, l1
        As for `GossipAUCClassifier`.
    standardize, trials, random_state, n_jobs, verbose
        As for `GossipAUCClassifier`.

    Attributes
    ----------
    coef_
        The mean of the nodes' models, shape (features,).
    models_, n_iter_, fit_, n_features_in_, feature_names_in_
        As for `GossipAUCClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> GossipRanker(random_state=0).fit(X, [1, 2, 2, 3]).score(X, [1, 2, 2, 3])
    1.0
    """

    solvers: ClassVar[tuple[str, ...]] = (AUTO, SKETCH, DUAL_AVERAGING)

    _: KW_ONLY
    solver: str = AUTO

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> GossipRanker:
        """Train on features X, shape (rows, features), and numbers y that grade the rows.

        An ordered pandas categorical grades them by its order; other text is refused.

        A row with weight w counts like w rows; only the sketch takes weights. A node of the graph
        holds one row, or with groups, a label of a site per row, all rows of its site.
        """
        grades = None if y is None else _grades(y)
        X, y = validate_data(self, X, grades, dtype=np.float64, ensure_min_samples=2)
        rows = weigh_rows(X, y, groups, sample_weight)
        refuse_one_class(np.unique(rows.labels))
        self.coef_ = self._learn_scores(rows, ranking_loss(self.phi))
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the scores of rows."""
        return self._check_rows(X) @ self.coef_

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of pairs of different labels in the right order; ties count one half."""
        data, kernel = self._judge(X, y)
        if len(np.unique(data[:, 1])) < 2:
            raise InputError(
                "All labels are equal, but a ranking is judged by pairs of different labels: "
                "add rows with other labels."
            )
        return exact(data, kernel, "u", weights=sample_weight)

    def _judge(self, X: Any, y: Any) -> tuple[FloatArray, AnyKernel]:
        scores, labels = self.predict(X), _grades(y)
        check_consistent_length(scores, labels)
        return np.column_stack((scores, labels)), as_kernel("concordance")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # scores are not estimates of the labels
        return tags


def _grades(y: Any) -> FloatArray:
    """Return labels as numbers; refuse text, whose alphabetical order is not that of grades."""
    example = class_example(y)
    if example is not None:
        raise InputError(
            f"A ranking compares labels by size, but the labels are {example}: "
            "pass numbers, or an ordered pandas categorical."
        )
    ordered = as_ordered(y)
    if ordered is not None:
        y = np.where(ordered.codes < 0, np.nan, ordered.codes)  # -1 where one is missing
    column = column_or_1d(y, warn=True)
    if column.dtype.kind == "c":
        raise InputError("Complex data not supported: give real numbers as labels.")
    grades = np.asarray(column, dtype=np.float64)
    assert_all_finite(grades, input_name="y")
    return grades
