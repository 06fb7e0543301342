"""Smooth kernels of one column as polynomials, and distances as averages over directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import whole
from pairgossip.counts.axes import Range
from pairgossip.counts.layouts import distance_factor, spread_directions
from pairgossip.errors import InputError
from pairgossip.kernels import AnyKernel, Combination, Kernel, Pairs
from pairgossip.kernels.builtin.spread import DISTANCE
from pairgossip.kernels.kernel import evaluate
from pairgossip.sketches.bins import GiniBins
from pairgossip.sketches.laying import check_inside, check_range, flooded_rows, lay_bins
from pairgossip.sketches.sketch import KernelSketch, Sketch, check_kernel, wrong_kernel

_LARGEST_MISFIT = 0.01
"""The largest error of a polynomial, relative to the largest value of the kernel."""


@dataclass(frozen=True)
class Chebyshev:
    """Polynomials of one column, for kernels that are smooth in both numbers.

    Parameters
    ----------
    degree
        The highest power; a smooth kernel needs 8 to 12.
    range
        The smallest and the largest possible number, if all nodes know them.
    """

    degree: int = 12
    range: Range | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", whole("The degree", self.degree))
        if self.range is not None:
            object.__setattr__(self, "range", check_range(self.range))

    def fit(self, pairs: Pairs) -> _Polynomials:
        """Return the sketch of any single kernel of one column that is smooth enough."""
        (kernel, *others) = pairs.kernel.components
        if others or isinstance(pairs.kernel, Combination) or pairs.dimension != 1:
            raise wrong_kernel(self, pairs.kernel, "smooth kernels of one column")
        low, high = self.range or (float(pairs.data.min()), float(pairs.data.max()))
        check_inside(pairs.data, (low, high))
        low, high = (low, high) if low < high else (low - 1.0, high + 1.0)
        own = None if pairs.target == "v" or kernel.zero_diagonal else kernel
        form = _polynomial_form(kernel, low, high, self.degree)
        return _Polynomials(low, high, form, pairs.count, pairs.scale, own)

    def flooded(self, pairs: Pairs) -> IntArray:
        """Return the rows whose numbers all nodes must learn first: the extremes."""
        if self.range is not None:
            return np.arange(0)
        return np.array([pairs.data.argmin(), pairs.data.argmax()])


def _polynomial_form(kernel: Kernel, low: float, high: float, degree: int) -> FloatArray:
    """Return C with h(x, y) near T(x)' C T(y), by interpolation; refuse a kernel if far off."""
    chebyshev = np.polynomial.chebyshev  # loaded on first use, as small devices do not need it
    nodes = chebyshev.chebpts1(degree + 1)
    inverse = np.linalg.inv(chebyshev.chebvander(nodes, degree))
    form = inverse @ _on_grid(kernel, nodes, low, high) @ inverse.T
    between = np.linspace(-1, 1, 3 * degree + 2)
    values = _on_grid(kernel, between, low, high)
    polynomials = chebyshev.chebvander(between, degree)
    misfit, size = np.abs(polynomials @ form @ polynomials.T - values).max(), np.abs(values).max()
    if not misfit <= _LARGEST_MISFIT * size:
        raise InputError(
            f"Kernel '{kernel.name}' is not smooth enough for polynomials of degree {degree}, "
            f"which miss it by {100 * misfit / size:.2g} %: raise the degree, or use method "
            "'tracking'."
        )
    return np.asarray(form)


def _on_grid(kernel: Kernel, nodes: FloatArray, low: float, high: float) -> FloatArray:
    points = low + (high - low) * (nodes + 1) / 2
    first, second = np.repeat(points, len(points)), np.tile(points, len(points))
    return evaluate(kernel, first, second).reshape(len(points), len(points))


@dataclass(frozen=True)
class _Polynomials:
    """A statistic as a quadratic form of mean Chebyshev polynomials."""

    low: float
    high: float
    form: FloatArray
    n: float
    scale: float
    own: Kernel | None
    """The kernel, where values of own pairs must be subtracted; else None."""

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the polynomials at every number, and the value of its own pair if needed."""
        points = 2 * (rows - self.low) / (self.high - self.low) - 1
        found = np.polynomial.chebyshev.chebvander(points, len(self.form) - 1).astype(np.float64)
        if self.own is None:
            return found
        return np.column_stack([found, evaluate(self.own, rows, rows)])

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        degrees = mean[..., : len(self.form)]
        total = np.einsum("...i,ij,...j->...", degrees, self.form, degrees)
        own = 0.0 if self.own is None else mean[..., -1] / self.n
        return self.scale * (total - own)


@dataclass(frozen=True)
class Projections(KernelSketch):
    """The mean distance from the mean differences of projections."""

    axes: FloatArray
    parts: tuple[GiniBins, ...]
    kernel: AnyKernel

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of every projection, side by side."""
        projected = rows.reshape(len(rows), -1) @ self.axes.T
        pieces = zip(self.parts, projected.T, strict=True)
        return np.hstack([part.features(column) for part, column in pieces])

    def averages(self, mean: FloatArray) -> FloatArray:
        """Return the mean distance, for every component."""
        pieces = np.split(mean, np.cumsum([part.axis.size for part in self.parts])[:-1], axis=-1)
        found = [part.difference(piece) for part, piece in zip(self.parts, pieces, strict=True)]
        distance = distance_factor(self.axes.shape[1]) * np.mean(found, axis=0)
        return np.stack([distance] * len(self.kernel.components), axis=-1)


@dataclass(frozen=True)
class Directions:
    """Bins of the rows' projections on directions, for the Euclidean distance.

    A distance is a constant times the mean over all directions of the projections' difference.

    Parameters
    ----------
    directions
        The number of directions; more give less error. Take at least as many as columns.
    bins
        The number of bins per direction.
    """

    directions: int = 32
    bins: int = 16

    def __post_init__(self) -> None:
        directions = whole("The number of directions", self.directions)
        object.__setattr__(self, "directions", directions)
        object.__setattr__(self, "bins", whole("The number of bins", self.bins))

    def fit(self, pairs: Pairs) -> Sketch:
        """Return the sketch of the mean distance."""
        check_kernel(self, pairs.kernel, {DISTANCE})
        axes, projected = self._project(pairs)
        bins = [lay_bins(column, self.bins, None, 0, powers=2) for column in projected.T]
        parts = tuple(GiniBins(one, pairs.count, pairs.scale, pairs.kernel) for one in bins)
        return Projections(axes, parts, pairs.kernel)

    def flooded(self, pairs: Pairs) -> IntArray:
        """Return the rows whose projections all nodes must learn first."""
        return flooded_rows(self._project(pairs)[1].T)

    def _project(self, pairs: Pairs) -> tuple[FloatArray, FloatArray]:
        axes = spread_directions(pairs.dimension, self.directions)
        return axes, pairs.data.reshape(pairs.n, -1) @ axes.T
