"""The virtual clock of simulated worlds: one seed gives one history, event for event."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import random
from collections.abc import Callable


class Timeline:
    """The queue of future events, the random numbers that decide them, and a trace of past ones."""

    now: float
    events: int

    def begin_time(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.trace = hashlib.blake2b(digest_size=16)
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def _note(self, *what: object) -> None:
        told = "\0".join((repr(self.now), *map(str, what)))
        self.trace.update(told.encode())

    def _later(self, delay: float, what: Callable[[], None]) -> None:
        self._at(self.now + delay, what)

    def _at(self, when: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (when, next(self._order), what))

    def _happen_next(self, until: float) -> bool:
        """Let the next event happen, if it is due by then."""
        if not self._queue or self._queue[0][0] > until:
            return False
        self.now, _, what = heapq.heappop(self._queue)
        what()
        self.events += 1
        return True
