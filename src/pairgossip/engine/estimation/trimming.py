"""The compiled engine of GoTrim: ranks by swapping, and averages along what they let count."""

from __future__ import annotations

import numpy as np

from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.estimation import loops
from pairgossip.engine.estimation.engine import Engine
from pairgossip.engine.loops import average_at, loop
from pairgossip.kernels import Problem
from pairgossip.order_statistics.ranking import Window

_PIECE = 1 << 12


@loop
def _trim(rows, nodes, values, numbers, low, high, weight, start, together):  # type: ignore[no-untyped-def]
    """Swap, rank, count and average along a block of exchanges.

    A row is one node: its estimate, the sum of what it was told of its rank, what it is told now,
    how often it was told, and what it counts for. ``together``: all nodes are told at every
    exchange, not only the two. Then a node that takes no part is brought up to date when it next
    does: what it counted for in between has come and gone again.
    """
    for s in range(nodes.shape[1]):
        for side in range(2):
            p = np.uint64(nodes[side, s])
            if together:
                rows[p, 1] += (start + s - rows[p, 3]) * rows[p, 2]
                rows[p, 3] = start + s
            rows[p, 2] = values[side, s]
            rows[p, 1] += values[side, s]
            rows[p, 3] += 1
            rank = rows[p, 1] / rows[p, 3]
            counted = weight * numbers[p] if low <= rank and rank < high else 0.0
            rows[p, 0] += counted - rows[p, 4]
            rows[p, 4] = counted
        i = np.uint64(nodes[0, s])
        j = np.uint64(nodes[1, s])
        average_at(rows, i, j, 0)


class TrimEngine(Engine):
    """Follows who holds whose observation, and what nodes count for by the ranks they estimate."""

    def __init__(self, pairs: Problem, clock: str) -> None:
        self._pairs, self._together = pairs, clock == "sync"
        self._window: Window = pairs.step_options["window"]
        self._held, self._made = own_observations(pairs.n), 0
        self._rows = np.zeros((pairs.n, 5))
        self._rows[:, 2] = pairs.own_values()[:, 0]

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of exchanges."""
        for at in range(0, len(exchanges[0]), _PIECE):
            piece = exchanges[0][at : at + _PIECE]
            nodes = np.empty((2, len(piece)), dtype=np.intp)
            tokens = np.empty_like(nodes)
            loops.walk(piece, self._held, nodes, tokens)
            values = self._pairs.values(nodes.ravel(), tokens.ravel()).reshape(2, -1)
            numbers, low, high, weight = self._window
            known, start = (self._rows, nodes, values), float(self._made)
            _trim(*known, numbers, low, high, weight, start, self._together)
            self._made += len(piece)

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, 1)."""
        z, sums, now, told, counted = self._rows.T
        if not self._together or not self._made:
            return self._rows[:, :1].copy()
        ranks = (sums + (self._made - told) * now) / self._made
        nodes = own_observations(len(z))
        return z[:, None] + self._window.counted(nodes, ranks[:, None]) - counted[:, None]
