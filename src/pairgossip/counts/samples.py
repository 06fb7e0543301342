"""Statistics of order, and Spearman's correlation, from mean features of cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.counts.axes import Axis, Labels
from pairgossip.order_statistics.comparisons import Comparison, correlate
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.order_statistics.statistics import Sampling, Statistic


@dataclass(frozen=True)
class SampleCells:
    """A statistic of order, read from averages of a sample's cells, by class if there are two."""

    statistic: Statistic | None
    """None for the ranks of single rows, which `distribution` gives."""
    axis: Axis
    classes: int
    n: float

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of every row, a number and perhaps a label, separately by class."""
        columns = rows.reshape(len(rows), -1).T
        features = self.axis.features(columns[0])
        if self.classes == 1:
            return features
        higher = columns[1] == columns[1].max()
        return np.hstack([features * side[:, None] for side in (~higher, higher)])

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features; NaN where a class is not known yet."""
        assert self.statistic is not None
        sample = self.distribution(mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self._is_known(sample), self.statistic.value(sample), np.nan)

    def sampling(self, mean: FloatArray, level: float) -> Sampling:
        """Return the sampling error, interval and p of the statistic, if any."""
        assert self.statistic is not None
        sample = self.distribution(mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.statistic.sampling(sample, level)
        is_known, unknown = self._is_known(sample), np.full_like(found.error, np.nan)
        parts = (unknown if part is None else part for part in found)
        return Sampling(*(np.where(is_known, part, unknown) for part in parts))

    def _is_known(self, sample: Distribution) -> BoolArray:
        return np.asarray(self.classes == 1 or sample.size.min(axis=-1) > 0)

    def distribution(self, mean: FloatArray) -> Distribution:
        """Return the sample that has these means of features."""
        shares = self.axis.part_shares(mean.reshape(*mean.shape[:-1], self.classes, -1))
        total = shares.sum(axis=(-2, -1), keepdims=True)
        counts, ends = shares * (self.n / np.maximum(total, 1e-300)), self.axis.part_ends
        if self.classes == 2:
            return Distribution(*ends, counts, counts.sum(axis=-1))
        return Distribution(*ends, counts[..., 0, :], np.full(mean.shape[:-1], self.n))


@dataclass(frozen=True)
class Table:
    """Counts and sums per cell of two columns."""

    x: Axis
    y: Axis
    n: float

    def features(self, rows: FloatArray) -> FloatArray:
        """Return all products of the features of the two columns, shape (m, r)."""
        first, second = self.x.features(rows[:, 0]), self.y.features(rows[:, 1])
        return (first[:, :, None] * second[:, None, :]).reshape(len(rows), -1)

    def cells(self, mean: FloatArray) -> FloatArray:
        """Return mean features as tables, one row per feature of the first column."""
        return mean.reshape(*mean.shape[:-1], self.x.size, self.y.size)

    def point_weights(self, cells: FloatArray) -> FloatArray:
        """Return the weights of the axes' points whose mean features are the cells."""
        return self.x.point_inverse.T @ cells @ self.y.point_inverse


class RankTable(Table):
    """The correlation of ranks, read from the averages of two columns' cells."""

    statistic: ClassVar[None] = None

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the correlation for means of features."""
        return self.compare(mean).value

    def sampling(self, mean: FloatArray, level: float) -> Sampling:
        """Return the standard error and p; a test has no interval."""
        return self.compare(mean).sampling()

    def compare(self, mean: FloatArray) -> Comparison:
        """Test whether the columns go together, by points that stand for the rows of cells."""
        cells, n, x, y = self.cells(mean), self.n, self.x, self.y
        f, first = _point_ranks(x, cells[..., y.counts].sum(axis=-1), n)
        g, second = _point_ranks(y, cells[..., x.counts, :].sum(axis=-2), n)
        weights = self.point_weights(cells)
        rows, columns = f[..., :, None], g[..., None, :]
        product = (weights * rows * columns).sum(axis=(-2, -1))
        own_x, own_y = weights.sum(axis=-1), weights.sum(axis=-2)
        added = (
            rows * columns
            + _above((weights * columns).sum(axis=-1))[..., :, None]
            + _above((weights * rows).sum(axis=-2))[..., None, :],
            (f**2 + 2 * _above(own_x * f))[..., :, None] + 0 * columns,
            (g**2 + 2 * _above(own_y * g))[..., None, :] + 0 * rows,
        )
        means = np.stack([product, first, second], axis=-1)
        flat = [
            (part - 3 * means[..., k, None, None]).reshape(*means.shape[:-1], -1)
            for k, part in enumerate(added)
        ]
        with np.errstate(divide="ignore", invalid="ignore"):
            return correlate(means, flat, weights.reshape(flat[0].shape), n)


def _point_ranks(axis: Axis, mean: FloatArray, n: float) -> tuple[FloatArray, FloatArray]:
    """Return ranks from -1/2 to 1/2 at the points of an axis, and the mean of their squares.

    In a bin ranks rise evenly, about their mean at the mean of its rows.
    """
    shares = mean[..., axis.counts]
    middle = np.cumsum(shares, axis=-1) - shares / 2 - 0.5
    if isinstance(axis, Labels):
        return middle, np.asarray((shares * middle**2).sum(axis=-1))
    known = np.stack([middle - mean[..., 1::2], shares], axis=-1).reshape(mean.shape)
    return known @ axis.point_features.T, np.full(mean.shape[:-1], (1 - 1 / n**2) / 12)


def _above(sums: FloatArray) -> FloatArray:
    """Return the sums above each point, to which it adds half of itself."""
    return sums.sum(axis=-1, keepdims=True) - np.cumsum(sums, axis=-1) + sums / 2
