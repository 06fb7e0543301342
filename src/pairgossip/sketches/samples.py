"""Bins of a sample, from whose averages every node computes quantiles, ranks and the like."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.axes import Range
from pairgossip.counts.samples import RankTable, SampleCells
from pairgossip.errors import InputError
from pairgossip.inference.answer import Law
from pairgossip.kernels.blocks import Progress
from pairgossip.order_statistics.comparisons import TESTS
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.order_statistics.statistics import Sampling, Statistic
from pairgossip.sketches.laying import flooded_rows, lay_bins
from pairgossip.sketches.problem import SketchedPairs


@dataclass(frozen=True)
class Sample:
    """The rows for a statistic of order."""

    values: FloatArray
    labels: FloatArray | None = None
    weights: FloatArray | None = None

    @property
    def distribution(self) -> Distribution:
        """The sample itself."""
        return Distribution.of(self.values, self.weights, self.labels)

    @property
    def data(self) -> FloatArray:
        """One column of numbers, or several with labels and weights if there are any."""
        columns = (self.values, self.labels, self.weights)
        given = [column for column in columns if column is not None]
        return self.values if len(given) == 1 else np.column_stack(given)

    @property
    def size(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self.values) if self.weights is None else self.weights.sum())


class SketchedSample(SketchedPairs):
    """The bins of every node's rows, and the statistic computed from their averages.

    Parameters
    ----------
    sample
        The rows.
    statistic
        A function of their distribution; None for every node's own mid-rank.
    bins, declared
        The number of bins, and their range if all nodes know it.
    site_of
        The site of every row, where nodes are sites.
    """

    kernel = None
    target = "sample"
    nodes_at_once = 1 << 12

    def __init__(
        self,
        sample: Sample,
        statistic: Statistic | None,
        bins: int,
        declared: Range | None,
        site_of: IntArray | None = None,
    ) -> None:
        self.sample, self.statistic, self.site_of = sample, statistic, site_of
        self.data, self.title = sample.data, "rank" if statistic is None else statistic.name
        self.sketch_name = f"Bins(bins={bins}, range={declared})"
        axis = lay_bins(sample.values, bins, declared, 2 * bins)
        self._flood(flooded_rows([sample.values], 2 * bins, declared))
        classes = 1 if sample.labels is None else 2
        sketch = SampleCells(statistic, axis, classes, sample.size)
        features = sketch.features(self.data)
        self.sketch: SampleCells | RankTable = sketch
        self._sum_up(features if sample.weights is None else features * sample.weights[:, None])
        self.limit = math.nan if statistic is None else float(self.sketch.readout(self._mean))

    def read(self, averaged: FloatArray) -> FloatArray:
        """Return each node's statistic, or mid-rank, from the averages it has."""
        if self.statistic is not None:
            return super().read(averaged)
        sketch, values = self.sketch, self.sample.values
        assert isinstance(sketch, SampleCells)
        parts = self._parts(averaged)
        return np.concatenate(
            [sketch.distribution(means).middle_ranks(values[at]) for at, means in parts]
        )

    def _read_sampling(self, means: FloatArray, level: float) -> Sampling:
        return self.sketch.sampling(means, level)

    def limit_law(self, freedom: float) -> Law:
        """Return a law with this freedom only: intervals come from the bins themselves."""
        return Law(freedom)

    def exact_error(self, level: float) -> float:
        """Return the sampling error from all rows."""
        assert self.statistic is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.statistic.sampling(self.sample.distribution, level).error)

    def exact(self, progress: Progress | None = None) -> float:
        """Return the target, one number per node for ranks."""
        whole = self.sample.distribution
        if self.statistic is None:
            return whole.middle_ranks(self.sample.values)  # type: ignore[return-value]
        return float(self.statistic.value(whole))

    def linearized(self) -> tuple[FloatArray, float]:
        """Return numbers that average like the estimates converge, and the error that remains."""
        if self.statistic is None:
            raise InputError("The exact error of every node's own rank is not known.")
        return super().linearized()


class SketchedColumns(SketchedSample):
    """The cells of two columns on every node, and Spearman's test from their averages.

    Parameters
    ----------
    data
        The rows, two columns.
    bins
        The number of bins of each column.
    site_of
        The site of every row, where nodes are sites.
    """

    title = "spearman"
    read, linearized = SketchedPairs.read, SketchedPairs.linearized

    def __init__(self, data: FloatArray, bins: int, site_of: IntArray | None = None) -> None:
        self.data, self.site_of = data, site_of
        self.sketch_name = f"TwoWayBins(bins={bins})"
        x, y = (lay_bins(column, bins, None, 2 * bins) for column in data.T)
        self._flood(flooded_rows(data.T, 2 * bins))
        self.sketch = RankTable(x, y, len(data))
        self._sum_up(self.sketch.features(data))
        self.limit = float(self.sketch.readout(self._mean))

    def exact(self, progress: Progress | None = None) -> float:
        """Return the correlation of all rows' ranks."""
        return TESTS["spearman"](self.data).value

    def exact_error(self, level: float) -> float:
        """Return the sampling error of that correlation."""
        return TESTS["spearman"](self.data).error
