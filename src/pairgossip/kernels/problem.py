"""What the engines ask of a pairwise problem, whatever stands behind its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.kernels.blocked import Progress
from pairgossip.kernels.kernel import Kernel, Ratio

if TYPE_CHECKING:
    # A device that runs a peer draws no seeds, and numpy's generators take memory.
    from numpy.random import SeedSequence


class PairProblem(Protocol):
    """One value per ordered pair of nodes, whose average over all n^2 pairs is the target.

    `Pairs` gives a node one observation, `WholeSets` a site's whole set of them; other problems
    may draw what they add anew for every trial.
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

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return what each node adds for what it holds, shape (m, components)."""

    def matrix(self, component: int = 0) -> FloatArray:
        """Return the values of one component for all pairs of nodes, shape (n, n)."""

    def row_means(self) -> FloatArray:
        """Return the mean of every row of `matrix`, for a single kernel."""

    def exact(self, progress: Progress | None = None) -> float:
        """Return the target."""

    def for_trial(self, seed: SeedSequence) -> Self:
        """Return the problem of one trial, all its randomness drawn from this seed."""
