"""Which of a series of exchanges are hit by rare events, at a cost per event."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from pairgossip.arrays import IntArray, PairArray

_LARGEST_GAP = 1 << 50
"""Longer gaps are cut: no run gets there, and sums of them stay below 2**63."""
_DRAWN_AT_ONCE = 64


class Gaps:
    """Hits every event of an endless series with the same probability, independently.

    The gaps between hits are geometric; they do not depend on how many events are asked for at
    once.
    """

    def __init__(self, probability: float, draws: Generator) -> None:
        self._probability, self._draws = probability, draws
        self._ahead: NDArray[np.int64] = np.arange(0, dtype=np.int64)
        """The places of the next hits, counted from the next event."""
        self._reach = 0
        """The place after the last hit drawn."""

    def take(self, count: int) -> NDArray[np.int64]:
        """Return the places of the hits among the next events, in order."""
        if self._probability == 0:
            return self._ahead
        parts = [self._ahead]
        while self._reach < count:
            expected = int(self._probability * (count - self._reach))
            gaps = self._draws.geometric(self._probability, _DRAWN_AT_ONCE + expected)
            parts.append(self._reach - 1 + np.cumsum(np.minimum(gaps, _LARGEST_GAP)))
            self._reach = int(parts[-1][-1]) + 1
        places = np.concatenate(parts)
        hits = int(np.searchsorted(places, count))
        self._ahead, self._reach = places[hits:] - count, self._reach - count
        return places[:hits]


class HalfLosses:
    """Which exchanges only one of the two nodes learns of, and which node does not.

    Exchanges within a site need no messages and are not hit.
    """

    def __init__(
        self,
        probability: float,
        places: Generator,
        sides: Generator,
        site_of: IntArray | None = None,
    ) -> None:
        self._gaps, self._sides, self._site_of = Gaps(probability, places), sides, site_of

    def take(self, exchanges: PairArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return places among the next exchanges, and the side, 0 or 1, that does not learn."""
        places = self._gaps.take(len(exchanges))
        sides = (self._sides.random(len(places)) < 0.5).astype(np.int64)
        if self._site_of is not None:
            here, there = self._site_of[exchanges[places]].T
            places, sides = places[here != there], sides[here != there]
        return places, sides
