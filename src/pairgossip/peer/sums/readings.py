"""What means of features tell of a statistic, with its errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.errors import InputError
from pairgossip.inference.answer import interval
from pairgossip.kernels import Combination, Kernel
from pairgossip.peer.sums.results import LEVEL
from pairgossip.sketches import BracketingSketch, Sketch
from pairgossip.sketches.errors import find_points, sampling_errors
from pairgossip.sketches.samples import RankTable, SampleReadout

_FEWEST_RANKS = 3
"""A correlation of ranks takes as many rows."""


class Found(NamedTuple):
    """What means of features tell of a statistic; NaN where something is not known."""

    value: float
    error: float
    """Of sampling rows."""
    low: float = math.nan
    high: float = math.nan
    """An interval that allows for the error of sampling and for noise."""
    p: float = math.nan
    bracket: tuple[float, float] = (math.nan, math.nan)
    """Holds the value over all rows, whatever rows are in each bin."""


class Reading(Protocol):
    """What means of features tell, once it is known of how many rows."""

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features, shape (..., r)."""

    def find(self, mean: FloatArray, noise: float) -> Found:
        """Return the statistic with its errors; noise has this standard error."""


@dataclass(frozen=True)
class PairReading:
    """The statistic of a kernel, from its sketch."""

    sketch: Sketch
    kernel: Kernel | Combination
    target: str
    n: float
    classes: BoolArray | None
    """Which features count the rows of each of two classes, shape (2, r)."""

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features, shape (..., r)."""
        return self.sketch.readout(mean)

    def find(self, mean: FloatArray, noise: float) -> Found:
        """Return the statistic with its errors; noise has this standard error."""
        value, error = float(self.readout(mean)), self._error(mean)
        spread, scale = math.hypot(error, noise), self.kernel.interval_scale
        low, high = interval(value, spread, LEVEL, scale, self._freedom(mean))
        bracket = (math.nan, math.nan)
        if isinstance(self.sketch, BracketingSketch) and not noise:
            ends = self.sketch.bracket(mean)
            bracket = float(ends[0]), float(ends[1])
        return Found(value, error, low, high, bracket=bracket)

    def _error(self, mean: FloatArray) -> float:
        try:
            find_points(self.sketch, self.kernel)
        except InputError:
            return math.nan
        means = mean[None]
        return float(sampling_errors(self.sketch, self.kernel, self.target, means, self.n)[0])

    def _freedom(self, mean: FloatArray) -> float:
        """Return the degrees of freedom of the error: those of the smallest class."""
        if self.classes is None:
            return self.n - 1
        return max(float((self.classes @ mean).min() * self.n) - 1, 1.0)


@dataclass(frozen=True)
class OrderReading:
    """A statistic of order, from the bins of a sample or the cells of two columns."""

    part: SampleReadout | RankTable

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features, shape (..., r)."""
        return self.part.readout(mean)

    def find(self, mean: FloatArray, noise: float) -> Found:
        """Return the statistic with its errors; noise has this standard error."""
        if isinstance(self.part, RankTable) and self.part.table.n < _FEWEST_RANKS:
            return Found(math.nan, math.nan)
        value, sampling = float(self.readout(mean)), self.part.sampling(mean[None], LEVEL)
        error, low, high = (float(part[0]) for part in sampling[:3])
        if noise:  # the interval grows as the error does; p is that of counts without noise
            wider = math.hypot(error, noise) / error if error > 0 else math.nan
            ends = value + wider * (low - value), value + wider * (high - value)
            return Found(value, error, *ends)
        p = math.nan if sampling.p is None else float(sampling.p[0])
        return Found(value, error, low, high, p)
