"""One value per node and their mean: the separable problem beside the pairwise one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pairgossip.errors import InputError
from pairgossip.kernels.data import check_data

if TYPE_CHECKING:
    # A device that runs a peer draws no seeds, and numpy's generators take memory.
    from numpy.random import SeedSequence


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

    def for_trial(self, seed: SeedSequence) -> Self:
        """Return itself: nothing about it is random."""
        return self
