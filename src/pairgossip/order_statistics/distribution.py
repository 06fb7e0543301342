"""A sample as weighted points, which are the rows themselves or cells of averaged bins.

Functions of the distribution alone, such as quantiles, are written once for both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray


class Part(NamedTuple):
    """The rows between two positions of a sample in ascending order."""

    weights: FloatArray
    centers: FloatArray
    lengths: FloatArray

    def total(self) -> FloatArray:
        """Return the sum of the numbers in it."""
        return (self.weights * self.centers).sum(axis=-1)

    def squares_about(self, center: FloatArray, unit: FloatArray) -> FloatArray:
        """Return the sum of squared distances from a center, in squares of a unit."""
        center, unit = center[..., None], unit[..., None]
        # Squares of numbers outside, which have weight 0, could overflow.
        away = (np.where(self.weights > 0, self.centers, center) - center) / unit
        return (self.weights * (away**2 + (self.lengths / unit) ** 2 / 12)).sum(axis=-1)


class Distribution(NamedTuple):
    """Cells in ascending order, and the number of rows in each, spread evenly.

    Leading axes of the weights are nodes, each with its own sample over the same cells, and with
    two classes the class.
    """

    low: FloatArray
    high: FloatArray
    """The ends of the cells, shape (cells,); the same where a cell is one number."""
    weights: FloatArray
    """The numbers of rows in the cells, shape (..., cells); they need not be whole."""
    size: FloatArray
    """The number of rows, shape (...,)."""

    @classmethod
    def of(
        cls, values: FloatArray, weights: FloatArray | None = None, labels: FloatArray | None = None
    ) -> Distribution:
        """Return the sample of these numbers; with labels, one per class, shape (2, cells).

        A row of weight 3 counts as three rows.
        """
        points, cells = np.unique(values, return_inverse=True)
        counts_of_rows = np.ones(len(values)) if weights is None else weights
        if labels is None:
            counts = np.bincount(cells, counts_of_rows).astype(np.float64)
        else:
            highest = labels == labels.max()
            parts = [np.bincount(cells, counts_of_rows * side) for side in (~highest, highest)]
            counts = np.stack(parts)
        return cls(points, points, counts, np.asarray(counts.sum(axis=-1)))

    def of_class(self, number: int) -> Distribution:
        """Return the sample of one class."""
        return self._replace(weights=self.weights[..., number, :], size=self.size[..., number])

    @property
    def is_exact(self) -> bool:
        """Whether every cell is one number."""
        return self.low is self.high

    @property
    def middles(self) -> FloatArray:
        """The middle of each cell."""
        return self.low if self.is_exact else (self.low + self.high) / 2

    @property
    def ends(self) -> FloatArray:
        """The number of rows up to the end of each cell, shape (..., cells)."""
        return np.cumsum(self.weights, axis=-1)

    def at(self, index: FloatArray) -> FloatArray:
        """Return order statistics, index 0 for the smallest; interpolate between two.

        ``index`` has the shape of ``size``. Beyond the ends the result is the smallest or the
        largest number.
        """
        whole = np.floor(index)
        first, second = self._reach(whole + 0.5), self._reach(whole + 1.5)
        return first + (index - whole) * (second - first)

    def _reach(self, position: FloatArray) -> FloatArray:
        """Return the number at positions from 0 to the size: row k reaches from k to k + 1."""
        position = np.clip(position, 0.5, self.size - 0.5)[..., None]
        ends = self.ends
        cell = np.minimum((ends <= position).sum(axis=-1), len(self.low) - 1)
        weight, end = (
            np.take_along_axis(numbers, cell[..., None], axis=-1)
            for numbers in (self.weights, ends)
        )
        inside = 1 - np.clip((end - position) / np.maximum(weight, 1e-300), 0.0, 1.0)[..., 0]
        return self.low[cell] + inside * (self.high - self.low)[cell]

    def between(self, start: FloatArray, stop: FloatArray) -> Part:
        """Return the rows between two positions; of a cell that is cut, the part inside."""
        ends = self.ends
        begins = ends - self.weights
        first = np.maximum(begins, start[..., None])
        last = np.minimum(ends, stop[..., None])
        weights = np.maximum(last - first, 0.0)
        inside = ((first + last) / 2 - begins) / np.maximum(self.weights, 1e-300)
        widths = self.high - self.low
        centers = self.low + widths * np.where(weights > 0, inside, 0.5)
        return Part(weights, centers, widths * weights / np.maximum(self.weights, 1e-300))

    def middle_ranks(self, values: FloatArray) -> FloatArray:
        """Return the mid-rank of each number; with nodes, of node k's number in its own sample."""
        last = len(self.low) - 1
        cell: IntArray = np.clip(np.searchsorted(self.low, values, side="right") - 1, 0, last)
        widths = np.where(self.high > self.low, self.high - self.low, 1.0)[cell]
        inside = np.clip((values - self.low[cell]) / widths, 0.0, 1.0)
        inside = np.where(self.high[cell] > self.low[cell], inside, 0.5)
        where = cell if self.weights.ndim == 1 else (np.arange(len(cell)), cell)
        return self.ends[where] - (1 - inside) * self.weights[where] + 0.5
