"""Rules that keep books: privately each node adds up what it added to the mass of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.peer.protocol.rules import Numbers, WeightedMixing


@dataclass(frozen=True)
class BookedMixing(WeightedMixing):
    """The default rule, with books."""

    keeps_books: ClassVar[bool] = True

    @property
    def sizes(self) -> tuple[int, int]:  # type: ignore[override]
        mass, _ = super().sizes
        return mass, mass

    def update(
        self, mass: Numbers, private: Numbers, own: Numbers, held: Numbers, is_own: bool
    ) -> tuple[Numbers, Numbers]:
        after, _ = super().update(mass, (), own, held, is_own)
        added = (new - old for new, old in zip(after, mass, strict=True))
        return after, tuple(a + b for a, b in zip(private, added, strict=True))


@dataclass(frozen=True)
class QuickMixing:
    """The same for the mean absolute difference, in few instructions."""

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
