"""Several classes, each with a column of scores: Hand and Till's M.

The separation of classes i and j is the mean of two AUCs of their rows: that of column i, in which
rows of class i should be higher, and that of column j, in which rows of class j should be higher. M
is the mean over all pairs of classes, so that large classes count no more than small ones (Hand and
Till, Machine Learning 45, 2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any, Self

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, distinct
from pairgossip.errors import InputError
from pairgossip.kernels.builtin.classes import weigh_outscored
from pairgossip.kernels.data import (
    check_columns,
    check_several_classes,
    class_example,
    column_count,
)
from pairgossip.kernels.kernel import Combination, Kernel, quotient_slopes, register
from pairgossip.kernels.orders import order_column, weights_or_ones
from pairgossip.text import format_count

__all__ = ["hand_till"]

_MOST_CLASSES = 16
"""The largest number of classes, in 120 pairs; with more, labels are hardly classes."""
_COLUMNS = ("scores...", "label")
_TIES = 0.5
"""The weight of a pair of equal scores."""


class OfPairsOfClasses(Combination):
    """The mean over all pairs of classes of the quotient of two kernels' averages.

    ``for_rows`` returns it for the classes of given rows; before, the classes are 0 and 1.
    """

    most_kernels = _MOST_CLASSES * (_MOST_CLASSES - 1)
    follows_rows = True
    classes: tuple[float, ...] = (0.0, 1.0)
    """The labels, in the order of their columns of scores."""

    def for_rows(self, data: FloatArray) -> Self:
        """Return the same for the classes of these rows, or raise `InputError`."""
        owner = f"Kernel '{self.name}'"
        check_columns(owner, _COLUMNS, data)
        scores, count = column_count(data) - 1, check_several_classes(owner, data)
        if scores != count:
            raise InputError(
                f"{owner} takes a column of scores for each class, but there "
                f"{'is' if scores == 1 else 'are'} {format_count(scores, 'column')} for {count} "
                "classes: give one per class, in the order of the classes."
            )
        if count > _MOST_CLASSES:
            raise InputError(
                f"{owner} takes up to {_MOST_CLASSES} classes, but the labels hold {count}: join "
                "some."
            )
        classes = tuple(distinct(data[:, -1]).tolist())
        if classes == self.classes:
            return self
        made = self.with_kernels(_compare_pairs(classes))
        object.__setattr__(made, "classes", classes)
        return made

    def check(self, data: FloatArray, labels: Any = None) -> None:
        """Raise `InputError` unless the data has a column of scores for each class."""
        example = class_example(labels)
        if example is not None:
            raise InputError(
                f"Kernel '{self.name}' takes the columns of scores in the order of the classes, "
                f"but the labels are {example}: give their order with {{argument}}.",
                "classes",
            )
        self.for_rows(data)


@register
def hand_till() -> Combination:
    """Return Hand and Till's M: the mean AUC of all pairs of classes, each with its score.

    Column k is the score of class k, in the order of the labels. Columns that have the names of the
    classes are matched by name.
    """
    return OfPairsOfClasses(
        tuple(_compare_pairs(OfPairsOfClasses.classes)),
        _mean_quotient,
        _mean_quotient_slopes,
        name="hand-till",
        expression="mean of (A(i|j) + A(j|i)) / 2 over pairs of classes i, j",
        description="several classes with a score each: Hand and Till's M",
        same_as="sklearn.metrics.roc_auc_score(multi_class='ovo', average='macro')",
        interval_scale="logit",
        null=0.5,
    )


def _mean_quotient(averages: FloatArray) -> Any:
    return (averages[..., ::2] / averages[..., 1::2]).mean(axis=-1)


def _mean_quotient_slopes(averages: FloatArray) -> FloatArray:
    pairs = averages.reshape(*averages.shape[:-1], -1, 2)
    return (quotient_slopes(pairs) / pairs.shape[-2]).reshape(averages.shape)


def _compare_pairs(classes: Sequence[float]) -> list[Kernel]:
    """Return the kernels above and below of every pair of classes."""
    facts: dict[str, Any] = {
        "symmetric": True,
        "zero_diagonal": True,
        "weighs": True,
        "columns": _COLUMNS,
        "label_sizes": False,  # text without an order has its own refusal
        "two_classes": True,
    }
    kernels = []
    for places in combinations(range(len(classes)), 2):
        pair = (classes[places[0]], classes[places[1]])
        name = f"of classes {pair[0]:g} and {pair[1]:g}"
        apart: dict[str, Any] = {"places": places, "classes": pair}
        kernels += [
            Kernel(
                partial(_separate, **apart),
                name=f"scores {name}",
                total=partial(_separate_total, **apart),
                row_totals=partial(_separate_rows, **apart),
                **facts,
            ),
            Kernel(
                partial(_meet, classes=pair),
                name=f"pairs {name}",
                total=partial(_meet_total, classes=pair),
                row_totals=partial(_meet_rows, classes=pair),
                **facts,
            ),
        ]
    return kernels


_Pair = tuple[float, float]
_Places = tuple[int, int]


def _separate(first: FloatArray, second: FloatArray, places: _Places, classes: _Pair) -> FloatArray:
    """Return the share of the two scores of two classes that put their rows in order."""
    one, other = ((first[:, -1] == a) & (second[:, -1] == b) for a, b in (classes, classes[::-1]))
    ups = _above(first, second, places[0]) + _above(second, first, places[1])
    downs = _above(second, first, places[0]) + _above(first, second, places[1])
    return (np.where(one, ups, 0.0) + np.where(other, downs, 0.0)) / 2


def _above(first: FloatArray, second: FloatArray, column: int) -> FloatArray:
    s, r = first[:, column], second[:, column]
    return (s > r) + _TIES * (s == r)


def _separate_rows(
    data: FloatArray, weights: FloatArray | None = None, *, places: _Places, classes: _Pair
) -> FloatArray:
    """Sum `_separate` for every row of the two classes over the rows of the other class."""
    sums, rows = np.zeros(len(data)), np.flatnonzero(_is_of(data, classes))
    part, times = data[rows], weights_or_ones(data, weights)[rows]
    for column, label in zip(places, classes, strict=True):
        order, high = order_column(part[:, column]), part[:, -1] == label
        from_above = len(order.counts) - 1 - order.places
        sums[rows] += weigh_outscored(order.places, high, times, _TIES)
        sums[rows] += weigh_outscored(from_above, ~high, times, _TIES)
    return sums / 2


def _separate_total(data: FloatArray, *, places: _Places, classes: _Pair) -> float:
    return float(_separate_rows(data, places=places, classes=classes).sum())


def _is_of(data: FloatArray, classes: _Pair) -> BoolArray:
    return (data[:, -1] == classes[0]) | (data[:, -1] == classes[1])


def _meet(first: FloatArray, second: FloatArray, classes: _Pair) -> FloatArray:
    """Return 1 for rows of the two classes, one of each."""
    both = _is_of(first, classes) & _is_of(second, classes)
    return (both & (first[:, -1] != second[:, -1])).astype(np.float64)


def _meet_rows(
    data: FloatArray, weights: FloatArray | None = None, *, classes: _Pair
) -> FloatArray:
    """Count, for every row of the two classes, the rows of the other class."""
    times, labels = weights_or_ones(data, weights), data[:, -1]
    one, other = (times[labels == label].sum() for label in classes)
    return np.where(labels == classes[0], other, np.where(labels == classes[1], one, 0.0))


def _meet_total(data: FloatArray, *, classes: _Pair) -> float:
    one, other = (np.count_nonzero(data[:, -1] == label) for label in classes)
    return 2.0 * one * other
