"""Data, kernel and target tied together: the numbers that the algorithms average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels.data import check_data, column_count
from pairgossip.kernels.exact import check_kind, checked_row_means, probe, single_kernel, statistic
from pairgossip.kernels.kernel import (
    Formula,
    Kernel,
    Progress,
    Ratio,
    as_kernel,
    evaluate,
    tile_side,
    tile_values,
    tiles,
)

if TYPE_CHECKING:
    from numpy.random import SeedSequence


class Pairs:
    """What node k adds when it holds observation l: h(x_k, x_l), in the target's units.

    Averaged over all n^2 ordered pairs, these numbers give the target. For the V-statistic they
    are h itself. For the U-statistic they are n/(n - 1) h between different observations and 0
    where a node holds its own, whose average over all pairs is the U-statistic.

    Parameters
    ----------
    data, labels
        The observations, as `check_data` takes them.
    kernel
        A kernel, a ratio, the name of a built-in kernel, or a function.
    target
        "v" or "u".

    Attributes
    ----------
    data
        float64, contiguous, (n,) for one column and (n, d) for more.
    n, dimension
        How many observations, and how many columns.
    kernel, components
        The kernel or ratio, and how many kernels make it.
    target, scale
        "v" or "u", and the factor that goes with it.
    """

    def __init__(
        self,
        data: Any,
        kernel: Kernel | Ratio | PairFunction | str,
        target: str = "v",
        labels: Any = None,
    ) -> None:
        self.data = check_data(data, labels)
        self.n = len(self.data)
        self.dimension = column_count(self.data)
        self.kernel = as_kernel(kernel)
        self.kernel.check(self.data, labels)
        self.components = len(self.kernel.components)
        self.target = check_kind(target, self.n)
        self.scale = 1.0 if self.target == "v" else self.n / (self.n - 1)

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return what each node adds for the observation it holds, one column per component."""
        first = self.data.take(nodes, axis=0)
        second = self.data.take(held, axis=0)
        added = np.empty((len(first), self.components))
        for index, component in enumerate(self.kernel.components):
            np.multiply(evaluate(component, first, second), self.scale, out=added[:, index])
        if self._masks_own:
            added[np.equal(nodes, held)] = 0.0
        return added

    def check(self) -> None:
        """Raise `InputError` unless the kernel does on a few pairs what it should on all."""
        probe(self.kernel, self.data)

    def matrix(self, component: int = 0) -> FloatArray:
        """Return the values of one component for all pairs, shape (n, n)."""
        kernel = self.kernel.components[component]
        matrix = np.empty((self.n, self.n))
        for rows, columns in tiles(self.n, tile_side(self.data), half=kernel.symmetric):
            block = tile_values(kernel, self.data, rows, columns) * self.scale
            matrix[rows, columns] = block
            if kernel.symmetric:
                matrix[columns, rows] = block.T
        if self.target == "u":
            np.fill_diagonal(matrix, 0.0)
        return matrix

    def exact(self, progress: Progress | None = None) -> float:
        """Return the target."""
        return statistic(self.data, self.kernel, self.target, progress)

    def row_means(self) -> FloatArray:
        """Return the mean of every row of `matrix`, for a single kernel."""
        kernel = single_kernel(self.kernel)
        means = checked_row_means(self.data, kernel)
        if self.target == "v":
            return means
        if not kernel.zero_diagonal:
            means = means - evaluate(kernel, self.data, self.data) / self.n
        return means * self.scale

    def for_trial(self, seed: SeedSequence) -> Self:
        """Return itself: nothing about it is random."""
        return self

    @property
    def fusible(self) -> bool:
        """Whether compiled code knows every component, the scale being applied afterward."""
        known = all(part.formula is not Formula.NONE for part in self.kernel.components)
        return known and not self._masks_own

    @property
    def _masks_own(self) -> bool:
        return self.target == "u" and not self.kernel.zero_diagonal

    def __repr__(self) -> str:
        columns = "column" if self.dimension == 1 else "columns"
        return (
            f"Pairs({self.kernel.name}, {self.target.upper()}-statistic, "
            f"n={self.n}, {self.dimension} {columns})"
        )


# What the engines ask of a pairwise problem, whatever stands behind its numbers.


class PairProblem(Protocol):
    """A statistic of pairs of nodes, estimated in trials.

    `Pairs` gives a node one observation, `WholeSets` a site's whole set of them. What nodes add is
    known to the problem of a trial only: private problems draw reports anew for every trial.
    """

    @property
    def n(self) -> int:
        """How many nodes take part."""

    @property
    def data(self) -> FloatArray:
        """All observations, one row each."""

    @property
    def dimension(self) -> int:
        """How many numbers one observation has."""

    @property
    def kernel(self) -> Kernel | Ratio:
        """Its name, and how the averages of its components make the statistic."""

    @property
    def components(self) -> int:
        """How many numbers a pair adds."""

    @property
    def target(self) -> str:
        """The kind of statistic, "v" or "u"."""

    @property
    def scale(self) -> float:
        """The factor that goes with the target."""

    @property
    def fusible(self) -> bool:
        """Whether compiled code may evaluate the kernel on `data` itself."""

    def matrix(self, component: int = 0) -> FloatArray:
        """Return what all pairs of nodes add for one component, on average over trials."""

    def row_means(self) -> FloatArray:
        """Return the mean of every row of `matrix`, for a single kernel."""

    def exact(self, progress: Progress | None = None) -> float:
        """Return the target."""

    def for_trial(self, seed: SeedSequence) -> TrialPairs:
        """Return the problem of one trial, all its randomness drawn from this seed."""


class TrialPairs(PairProblem, Protocol):
    """One value per ordered pair of nodes, whose average over all n^2 pairs is the target."""

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return what each node adds for what it holds, shape (m, components)."""


# One value per node and their mean: the separable problem beside the pairwise one.


class Means:
    """What classic gossip averages; the counterpart of `Pairs` without pairs."""

    components = 1

    def __init__(self, data: Any) -> None:
        self.data = check_data(data)
        if self.data.ndim != 1:
            raise InputError(
                f"Gossip averaging takes one value per node, but the data has "
                f"{self.data.shape[1]} columns: choose one of them."
            )
        self.n = len(self.data)

    def exact(self) -> float:
        """Return the mean."""
        return float(self.data.mean())

    def for_trial(self, seed: SeedSequence) -> Means:
        """Return itself: nothing about it is random."""
        return self
