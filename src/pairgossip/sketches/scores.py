"""One or two AUCs, from counts and sums per bin of scores by class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.counts.axes import Axis, Grid
from pairgossip.counts.layouts import formulas
from pairgossip.kernels import AnyKernel, Formula, Ratio
from pairgossip.kernels.builtin.classes import AUC_COMPARED, AUC_ORDERED, SECOND_AUC_ORDERED
from pairgossip.sketches.order import ROUNDING, OrderTable, flatten_points
from pairgossip.sketches.sketch import KernelSketch, Points, PointSketch


class AucTable(OrderTable):
    """The AUC, from a table of scores and classes: the share of their pairs in the right order."""

    @property
    def _is_auc(self) -> bool:
        """Whether it is the AUC itself, and not a function of it."""
        is_asked = formulas(self.kernel) == (AUC_ORDERED, AUC_COMPARED)
        return is_asked and isinstance(self.kernel, Ratio)

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return an interval that holds the AUC."""
        return self._ends(mean) if self._is_auc else None

    def _ends(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        cells = self.cells(mean)
        compared = self._share_compared(cells)
        certain = self.certain_agreement(cells) / compared
        opened = self.open_agreement(cells) / compared
        return (1 + certain - opened) / 2, (1 + certain + opened) / 2

    def points(self, mean: FloatArray) -> Points:
        """Return the points of every bin and class, NaN where the classes may be separated."""
        found = super().points(mean)
        if self.x.ties_known:
            return found
        low, high = self._ends(mean)
        is_known = (low > ROUNDING) & (high < 1 - ROUNDING)
        found = _center_in_bins(found, self.x.bins)
        return found._replace(weights=np.where(is_known[:, None], found.weights, np.nan))

    def _share_compared(self, cells: FloatArray) -> FloatArray:
        shares = cells[..., self.x.counts, :].sum(axis=-2)
        return 2 * shares[..., 0] * shares[..., 1]


@dataclass(frozen=True)
class AucPair(KernelSketch):
    """Two scores of the same rows: a table of each, side by side."""

    kernel: AnyKernel
    tables: tuple[AucTable, ...]
    joint: tuple[Axis, ...] = ()
    """Bins of either score that are counted jointly, where their dependence matters."""

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of both tables, and of both scores together, shape (m, r)."""
        parts = [table.features(rows[:, [at, 2]]) for at, table in enumerate(self.tables)]
        if self.joint:
            x, y = (axis.features(rows[:, at]) for at, axis in enumerate(self.joint))
            together = np.einsum("mi,mj,mk->mijk", x, y, self.tables[0].y.features(rows[:, 2]))
            parts.append(together.reshape(len(rows), -1))
        return np.hstack(parts)

    def averages(self, mean: FloatArray) -> FloatArray:
        """Return the averages whose quotients are the AUCs."""
        held = self.split(mean)
        found = [
            table.average(table.cells(held[at]), formula)
            for at, table, formula in self.find_components()
        ]
        return np.stack(found, axis=-1)

    def find_components(self) -> list[tuple[int, AucTable, Formula]]:
        """Return the table of each component, with its number, and the kernel there."""
        return [
            (1, self.tables[1], AUC_ORDERED)
            if formula is SECOND_AUC_ORDERED
            else (0, self.tables[0], formula)
            for formula in formulas(self.kernel)
        ]

    def split(self, mean: FloatArray) -> list[FloatArray]:
        """Return the means of the features of either table, and those of both scores together."""
        return np.split(mean, np.cumsum([2 * table.x.size for table in self.tables]), axis=-1)


class JointAucPair(AucPair, PointSketch):
    """Two scores of the same rows, counted jointly for the sampling error of the difference."""

    def points(self, mean: FloatArray) -> Points:
        """Return the points of both scores and the class, and the row means there."""
        held, classes = self.split(mean), self.tables[0].y.point_features
        inverse = [axis.point_inverse for axis in self.joint]
        shape = (len(mean), len(inverse[0]), len(inverse[1]), len(classes))
        weights = np.einsum("nijk,ip,jq->npqk", held[2].reshape(shape), *inverse, optimize=True)
        means = np.empty((*shape, len(self.kernel.components)))
        for place, (at, table, formula) in enumerate(self.find_components()):
            scores = _features_at(table.x, self.joint[at].points)
            found = table.row_means(table.cells(held[at]), formula, scores, classes)
            means[..., place] = np.expand_dims(found, 2 - at)
        return flatten_points(weights, means)


def _features_at(axis: Axis, points: FloatArray) -> FloatArray:
    """Return the features at any numbers, interpolated between known values."""
    if isinstance(axis, Grid):
        return axis.features(points)
    return np.array([np.interp(points, axis.values, one) for one in np.eye(axis.bins)]).T


def _center_in_bins(points: Points, bins: int) -> Points:
    """Return two points of equal weight per bin, about the mean of its rows.

    They have the spread of the fixed points, but never negative weights: where rows pile up at the
    end of a bin, as tied ones do, fixed points would have a negative variance.
    """
    nodes, _, kernels = points.row_means.shape
    weights = points.weights.reshape(nodes, bins, 2, -1)
    total = weights.sum(axis=2, keepdims=True)
    lean = (weights[:, :, 1:] - weights[:, :, :1]) / np.maximum(total, 1e-300)
    spread = np.sqrt(np.maximum(1 - lean**2, 0.0))
    offsets = np.concatenate([lean - spread, lean + spread], axis=2)[..., None]
    below, above = np.split(points.row_means.reshape(*weights.shape, kernels), 2, axis=2)
    means = (above + below) / 2 + offsets * (above - below) / 2
    return points._replace(
        weights=np.repeat(total / 2, 2, axis=2).reshape(nodes, -1),
        row_means=means.reshape(nodes, -1, kernels),
    )
