"""Rules that keep books: each node privately sums what it added to the total mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.inference.row_products import local_products
from pairgossip.peer.protocol.rules import Numbers, WeightedMixing


@dataclass(frozen=True)
class BookedMixing(WeightedMixing):
    """The default rule, with books."""

    keeps_books: ClassVar[bool] = True

    @property
    def sizes(self) -> tuple[int, int]:  # type: ignore[override]
        mass, private = super().sizes
        return mass, private + mass

    def update(
        self, mass: Numbers, private: Numbers, own: Numbers, held: Numbers, is_own: bool
    ) -> tuple[Numbers, Numbers]:
        kept, books = private[: -len(mass)], private[-len(mass) :]
        after, kept = super().update(mass, kept, own, held, is_own)
        added = (new - old for new, old in zip(after, mass, strict=True))
        return after, (*kept, *(a + b for a, b in zip(books, added, strict=True)))

    def products(self, private: Numbers) -> list[float]:
        """Return what a node must have added to the products, from the records of its visits."""
        mass, _ = super().sizes
        return local_products(np.array(private[:-mass])).tolist()


@dataclass(frozen=True)
class QuickMixing:
    """The same for the mean absolute difference, in few operations."""

    weight: float = 1.0
    sizes: ClassVar[tuple[int, int]] = (2, 2)
    keeps_books: ClassVar[bool] = True

    def begin(self) -> tuple[Numbers, Numbers]:
        return (0.0, 0.0), (0.0, 0.0)

    def update(
        self, mass: Numbers, private: Numbers, own: Numbers, held: Numbers, is_own: bool
    ) -> tuple[Numbers, Numbers]:
        added = self.weight * abs(own[0] - held[0])
        return (
            (mass[0] + added, mass[1] + self.weight),
            (private[0] + added, private[1] + self.weight),
        )

    def is_plausible(self, mass: Numbers) -> bool:
        return len(mass) == 2 and mass[1] >= 0.0 and abs(mass[0]) <= 1e150 >= mass[1]

    def readout(self, mass: Numbers, private: Numbers) -> FloatArray:
        return np.array([mass[0] / mass[1] if mass[1] else np.nan])
