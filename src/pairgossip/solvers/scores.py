"""The gradient of a loss of differences of scores, from two averagings.

First the nodes average a sketch of their rows' scores, grade by grade. Each reads from it the
weights of its rows in the gradient; the average of the rows with these weights is the gradient. No
row is passed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.losses.margins import Margin
from pairgossip.solvers.bins import CountBins, ScoreBins, choose_bins
from pairgossip.solvers.moments import GradeMoments
from pairgossip.solvers.polynomials import Polynomials, add_rows, choose_order, members_of

_EXPECTED_SLOPE = 1e-3
"""The mean slope assumed before the first evaluation."""
_FEWEST_BINS = 256
SPARING_ORDER = 64
"""The largest number of polynomials of scores where messages must be short."""
_CURVATURE_ROWS = 1 << 13
"""About the largest number of rows that measure the curvature; more would only cost time."""


class Agreement(NamedTuple):
    """The values that all nodes must share before they sketch scores."""

    low: float
    high: float
    """The range of all scores."""
    order: int


@dataclass(eq=False)
class ScoreRows:
    """The rows of all nodes, each with a grade, a weight and an owner.

    Parameters
    ----------
    features
        The rows, every column from -1 to 1.
    grades
        Grades from 0 up, whose order the model learns.
    weights
        The weight of each row, as if it occurred this often.
    owner
        The node of each row, in order; None where all nodes know the same, so that one stands for
        all of them.
    nodes
        The number of nodes; 1 where one stands for all.
    phi
        The function of differences of scores.
    count
        The number of grades.
    is_sparing
        Whether bins of scores have counts only, without the places in the bin, and polynomials
        are of a low order.
    """

    features: FloatArray
    grades: IntArray
    weights: FloatArray
    owner: IntArray | None
    nodes: int
    phi: Margin
    count: int
    is_sparing: bool = False

    @cached_property
    def members(self) -> list[Any]:
        """The places of each grade's rows."""
        return members_of(self.grades, self.count)

    @cached_property
    def curvature_rows(self) -> tuple[Any, Any]:
        """Rows of every grade that measure the curvature, and the number of rows each represents.

        A rare grade has as many as the others: its rows are in most of the pairs that matter.
        """
        everyone, most = np.arange(len(self.grades)), max(1, _CURVATURE_ROWS // self.count)
        grades = [everyone[mine] for mine in self.members]
        steps = [max(1, len(grade) // most) for grade in grades]
        if self.owner is not None or max(steps) == 1:
            return slice(None), 1
        some = [grade[::step] for grade, step in zip(grades, steps, strict=True)]
        return np.concatenate(some), np.repeat(steps, [len(grade) for grade in some])

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the scores of all rows by their nodes' models, shape (k, d)."""
        if self.owner is None:
            return np.asarray(self.features @ theta[0])
        return np.asarray(np.einsum("md,md->m", self.features, theta[self.owner]))

    def extremes(self, scores: FloatArray) -> FloatArray:
        """Return minus the lowest and the highest score of each node's rows, shape (k, 2)."""
        return ends_of_rows(scores[:, None], self.owner, self.nodes)

    def choose_order(self, half: float, slope: float | None, before: int, error: float) -> int:
        """Return the order of the next sketch, given the mean slope of a pair.

        ``before`` and ``error`` are the order of the last one and the error of its slopes.
        """
        if self.phi.is_smooth:
            known = _EXPECTED_SLOPE if slope is None else slope
            order = choose_order(self.phi, half, max(0.3 * self.phi.tolerance * known, 1e-11))
            return min(order, SPARING_ORDER) if self.is_sparing else order
        return choose_bins(max(before, _FEWEST_BINS), error, self.phi.tolerance)

    def sketch(self, agreed: Agreement) -> Polynomials | ScoreBins:
        """Return the sketch of scores in this range."""
        bins = CountBins if self.is_sparing else ScoreBins
        return (Polynomials if self.phi.is_smooth else bins)(self.phi, *agreed)


class ScoreSketch:
    """The sketch of one set of scores: the first average, and the second one made from it.

    Parameters
    ----------
    rows
        The rows.
    scores
        Their scores.
    agreed
        The range of the scores, and the order of the sketch.
    """

    def __init__(self, rows: ScoreRows, scores: FloatArray, agreed: Agreement) -> None:
        self._rows, self._kind = rows, rows.sketch(agreed)
        features = self._kind.features(scores)
        self._features = [features[..., mine] for mine in rows.members]

    @property
    def size(self) -> int:
        """The count of numbers averaged."""
        return self._rows.count * self._kind.size

    def add_up(self) -> FloatArray:
        """Return each node's part of the first average, shape (k, size)."""
        rows = self._rows
        parts = [
            self._kind.add_up(
                features,
                rows.weights[mine],
                None if rows.owner is None else rows.owner[mine],
                rows.nodes,
            )
            for mine, features in zip(rows.members, self._features, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def weigh(self, means: FloatArray, moments: GradeMoments | None) -> FloatArray:
        """Return each node's part of the second average, given the first.

        It has the node's parts of the gradient, of the value, of the size of the slopes and of
        their errors, shape (k, d + 3). After these come moments of its rows, weighed by phi'' at
        their pairs, so that pairs with much curvature count most.
        """
        rows = self._rows
        grades = means.reshape(len(means), rows.count, -1)
        below = np.cumsum(grades, axis=1) - grades
        above = grades.sum(axis=1, keepdims=True) - below - grades
        read = np.zeros((5, len(rows.features)))
        asked = [(grade, True) for grade in range(1, rows.count)]
        asked += [(grade, False) for grade in range(rows.count - 1)]
        owners = [slice(None) if rows.owner is None else rows.owner[mine] for mine in rows.members]
        others = [(below if under else above)[owners[grade], grade] for grade, under in asked]
        features = [self._features[grade] for grade, _ in asked]
        sums = self._kind.read_several(features, others, [under for _, under in asked])
        for (grade, under), found in zip(asked, sums, strict=True):
            mine = rows.members[grade]
            if under:
                read[:3, mine] += np.stack([found.slopes, found.values, np.abs(found.slopes)])
            else:
                read[0, mine] -= found.slopes
            read[3:, mine] += np.stack([found.errors, found.bends])
        read *= rows.weights
        first = self._sum_up(read[:4])
        if moments is None:
            return first
        some, times = rows.curvature_rows
        bent = moments.add_up(
            rows.features[some],
            rows.grades[some],
            times * read[4, some],
            rows.owner,
            rows.nodes,
            rows.members if isinstance(some, slice) else None,
        )
        return np.concatenate([first, bent], axis=1)

    def _sum_up(self, read: FloatArray) -> FloatArray:
        rows = self._rows
        if rows.owner is None:
            return np.concatenate([read[0] @ rows.features, read[1:].sum(axis=1)])[None, :]
        each = np.column_stack([read[0, :, None] * rows.features, *read[1:]])
        return add_rows(each, rows.owner, rows.nodes)


def ends_of_rows(values: FloatArray, owner: IntArray | None, owners: int) -> FloatArray:
    """Return minus the least and the largest values of each owner's rows, or of all rows."""
    if owner is None:
        return np.concatenate([-values.min(axis=0), values.max(axis=0)])[None, :]
    ends = np.full((owners, 2 * values.shape[1]), -np.inf)
    np.maximum.at(ends, owner, np.concatenate([-values, values], axis=1))
    return ends
