"""The definition of a sketch: features of one row, whose mean over all rows gives the statistic.

A V-statistic is a quadratic function of the empirical distribution of the rows. Where the kernel is
a bilinear form of features, h(x, y) = phi(x)' C phi(y), exactly or nearly, the statistic is m' C m,
where m is the mean of phi over the rows. Gossip averages means of vectors fastest, and no row
travels as such.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.layouts import formulas
from pairgossip.errors import InputError
from pairgossip.kernels import CATALOG, AnyKernel, Formula, Pairs
from pairgossip.text import join_names


@runtime_checkable
class Sketch(Protocol):
    """A statistic as a function of a mean of features: any object with these methods."""

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of rows, shape (m,) or (m, d), as an array of shape (m, r)."""

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features, shape (..., r), as an array (...)."""


@runtime_checkable
class BracketingSketch(Sketch, Protocol):
    """A sketch whose mean also bounds the statistic."""

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the ends of intervals that hold the statistic, if means (..., r) are exact.

        Return None if it has no bounds for this statistic.
        """


@runtime_checkable
class Recipe(Protocol):
    """A sketch that is not yet fitted to a statistic and to the places of its rows."""

    def fit(self, pairs: Pairs) -> Sketch:
        """Return the sketch of this statistic; raise `InputError` if it is for another."""

    def flooded(self, pairs: Pairs) -> IntArray:
        """Return the rows whose numbers all nodes must learn, one by one, before sketching."""


class KernelSketch(ABC):
    """Features whose mean gives the averages of all components of a kernel."""

    kernel: AnyKernel

    @abstractmethod
    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of rows, shape (m, r)."""

    @abstractmethod
    def averages(self, mean: FloatArray) -> FloatArray:
        """Return the components' averages for means of features, shape (..., components)."""

    def readout(self, mean: FloatArray) -> FloatArray:
        """Return the statistic for means of features."""
        return self.kernel.combine(self.averages(mean))

    def select(self, known: Mapping[Formula, FloatArray]) -> FloatArray:
        """Return the values of the components side by side, in the last axis."""
        return np.stack([known[formula] for formula in formulas(self.kernel)], axis=-1)


class Points(NamedTuple):
    """A few weighted points per node that represent all rows, and the row means there."""

    weights: FloatArray
    """The share of all rows at each point, shape (nodes, points); a few may be negative."""
    row_means: FloatArray
    """The means of h(x, y) + h(y, x) over all rows y, shape (nodes, points, components)."""
    own: FloatArray | float = 0.0
    """2 h(x, x), shape (points, components)."""
    classes: IntArray | None = None
    """The class of every point, where rows have one."""


class PointSketch(KernelSketch):
    """A sketch that also has points for the sampling error."""

    @abstractmethod
    def points(self, mean: FloatArray) -> Points:
        """Return the points, and the row means there, for means of shape (nodes, r)."""


def check_kernel(recipe: Recipe, kernel: AnyKernel, *sets: Collection[Formula]) -> None:
    """Raise `InputError` unless the averages of a kernel are all in one of these sets."""
    if not any(set(formulas(kernel)) <= set(known) for known in sets):
        asked = {name: set(formulas(make())) for name, make in CATALOG.items()}
        names = (name for name in asked if any(asked[name] <= set(known) for known in sets))
        raise wrong_kernel(recipe, kernel, *names)


def wrong_kernel(recipe: Recipe, kernel: AnyKernel, *known: str) -> InputError:
    """Build the error for a sketch that does not fit the kernel."""
    names = join_names([f"'{name}'" for name in known])
    return InputError(
        f"Sketch '{type(recipe).__name__}' is for {names}, not for kernel '{kernel.name}': leave "
        "{argument} out, or use method 'tracking'.",
        "sketch",
    )
