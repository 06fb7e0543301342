"""What a sketch is: features of one row, whose mean over all rows tells the statistic.

A V-statistic is a quadratic function of the empirical distribution of the rows. Where the kernel
is a bilinear form of features, h(x, y) = phi(x)' C phi(y), exactly or nearly, the statistic is
m' C m with m the mean of phi over the rows. Means of vectors are what gossip averages fastest, and
no row travels as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels import AnyKernel, Formula, Kernel, Ratio
from pairgossip.kernels.builtin.classes import AUC_ORDERED, SECOND_AUC_ORDERED
from pairgossip.kernels.builtin.ranks import CONCORDANT

_COUNT_TIES = (CONCORDANT, AUC_ORDERED, SECOND_AUC_ORDERED)


@runtime_checkable
class Sketch(Protocol):
    """A statistic as a function of a mean of features; any object with these methods is one."""

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of rows, shape (m,) or (m, d), as an array of shape (m, r)."""

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features, shape (..., r), as an array (...)."""


class AveragingSketch(Protocol):
    """Features whose mean tells the averages of several kernels."""

    @property
    def statistic(self) -> tuple[Formula, ...]:
        """Which kernel, or ratio of kernels, its own readout is about; empty if it has none."""

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of rows, shape (m, r)."""

    def averages(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> FloatArray:
        """Return the kernels' averages for means of features, shape (..., kernels)."""


class Points(NamedTuple):
    """A few weighted points per node that stand for all rows, and the row means there."""

    weights: FloatArray
    """Which part of all rows each stands for, shape (nodes, points); a few may be negative."""
    row_means: FloatArray
    """The means of h(x, y) + h(y, x) over all rows y, shape (nodes, points, kernels)."""
    own: FloatArray | float = 0.0
    """2 h(x, x), shape (points, kernels)."""
    classes: IntArray | None = None
    """The class of every point, where rows have one."""


@runtime_checkable
class PointSketch(AveragingSketch, Protocol):
    """A sketch that also tells how rows differ, and so the sampling error."""

    def points(self, mean: FloatArray, wanted: tuple[Formula, ...]) -> Points:
        """Return the points and row means of kernels that means tell, shape (nodes, r)."""


@dataclass(frozen=True)
class Combined:
    """A function of several kernels' averages, which all come from one sketch."""

    part: AveragingSketch
    kernel: AnyKernel

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of rows."""
        return self.part.features(rows)

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        return self.kernel.combine(self.part.averages(mean, formulas(self.kernel)))


def combine_averages(part: AveragingSketch, kernel: AnyKernel) -> Sketch:
    """Return the sketch of a kernel whose averages another one tells: itself, if it is its own."""
    is_own = formulas(kernel) == part.statistic and isinstance(kernel, Kernel | Ratio)
    return part if is_own and isinstance(part, Sketch) else Combined(part, kernel)


def formulas(kernel: AnyKernel) -> tuple[Formula, ...]:
    """Return which built-in functions make up a kernel."""
    return tuple(part.formula for part in kernel.components)


def stack_averages(known: Mapping[Formula, FloatArray], wanted: tuple[Formula, ...]) -> FloatArray:
    """Return what is known of the wanted kernels side by side, in the last axis."""
    return np.stack([known[formula] for formula in wanted], axis=-1)


def check_half_ties(kernel: AnyKernel) -> None:
    """Raise `InputError` unless tied scores count one half, as they do in a bin on average."""
    for part in kernel.components:
        if part.formula in _COUNT_TIES and part.parameter != 0.5:
            raise InputError(
                f"A sketch cannot tell tied scores from others in a bin, so it counts ties as 0.5, "
                f"not {part.parameter:g}: use method 'tracking'."
            )
