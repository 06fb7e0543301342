"""Rare events that hit some of a series of exchanges, at a cost per event."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from pairgossip.arrays import PairArray

_LARGEST_GAP = 1 << 50
"""The largest gap; longer ones are cut to it. No run gets so far, and sums stay below 2**63."""
_DRAWN_AT_ONCE = 512
"""The least number of gaps in one draw."""


class Gaps:
    """Hits every event of an endless series with the same probability, independently.

    The gaps between hits are geometric; they do not depend on the number of events taken at once.
    """

    def __init__(self, probability: float, draws: Generator) -> None:
        self._probability, self._draws = probability, draws
        self._places: NDArray[np.int64] = np.arange(0, dtype=np.int64)
        """The places of the hits that were drawn and lie ahead, counted from the first event."""
        self._last, self._passed = -1, 0
        """The last place drawn, and the number of events passed."""

    def take(self, count: int) -> NDArray[np.int64]:
        """Return the places of the hits among the next events, in order, counted from these."""
        start, self._passed = self._passed, self._passed + count
        if self._probability == 0:
            return self._places
        while self._last < self._passed:
            expected = int(self._probability * (self._passed - self._last))
            gaps = self._draws.geometric(self._probability, _DRAWN_AT_ONCE + expected)
            more = self._last + np.cumsum(np.minimum(gaps, _LARGEST_GAP))
            self._places = np.concatenate([self._places, more])
            self._last = int(more[-1])
        hits = int(np.searchsorted(self._places, self._passed))
        found, self._places = self._places[:hits], self._places[hits:]
        return found - start


class HalfLosses:
    """The exchanges that only one of the two nodes carries out, and the node that does not."""

    def __init__(self, probability: float, places: Generator, sides: Generator) -> None:
        self._gaps, self._sides = Gaps(probability, places), sides
        self.count = 0
        """The number of half-lost exchanges until now."""

    def take(self, exchanges: PairArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return places among the next exchanges, and the side, 0 or 1, that does nothing."""
        places = self._gaps.take(len(exchanges))
        self.count += len(places)
        return places, (self._sides.random(len(places)) < 0.5).astype(np.int64)
