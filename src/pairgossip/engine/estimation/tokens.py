"""The engine for any kernel: walk compiled once, kernel in NumPy on blocks of pairs."""

from __future__ import annotations

import numpy as np

from pairgossip.algorithms import Method, Twin, weighted_gosta
from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.estimation import loops
from pairgossip.kernels import TrialPairs

NUMBERS_AT_ONCE = 1 << 13
"""Numbers per array handed to the kernel: above 128 KB its memory is mapped anew each time."""


class TokenEngine:
    """Follows who holds whose observation; evaluates the kernel on each block's new pairs."""

    def __init__(
        self,
        pairs: TrialPairs,
        method: Method,
        clock: str,
        order: str,
        weights: FloatArray | None = None,
    ) -> None:
        self._pairs = pairs
        self._twin = method.twins[clock]
        self._averages = method.averaged_numbers > 0
        self._updates_first = method.updates_first(order)
        self._iterations = 0
        self._held = [own_observations(pairs.n) for _ in range(method.exchanges_per_iteration)]
        self._touched = 2 * method.exchanges_per_iteration
        self._piece = max(256, NUMBERS_AT_ONCE // (self._touched * pairs.dimension))
        self._components = tuple(range(pairs.components))
        if weights is not None:
            self._rows = np.zeros((pairs.n, pairs.components + 2))
            self._rows[:, -1] = weights
            return
        self._rows = np.zeros((pairs.n, 2 * pairs.components + 1))
        own = own_observations(pairs.n)
        self._rows[:, pairs.components : -1] = pairs.values(own, own)

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of iterations."""
        for start in range(0, len(exchanges[0]), self._piece):
            self._advance(tuple(walk[start : start + self._piece] for walk in exchanges))

    def _advance(self, exchanges: tuple[PairArray, ...]) -> None:
        block = len(exchanges[0])
        nodes = np.empty((self._touched, block), dtype=np.intp)
        seconds = np.empty_like(nodes)
        if self._twin is Twin.TWO_WALKS:
            firsts = np.empty_like(nodes)
            loops.walk_twice(
                exchanges[0], exchanges[1], self._held[0], self._held[1], nodes, firsts, seconds
            )
        else:
            firsts = nodes
            loops.walk(exchanges[0], self._held[0], nodes, seconds)
        values = self._pairs.values(firsts.ravel(), seconds.ravel())
        values = values.reshape(self._touched, block, -1)
        known = self._rows, self._components, nodes, values
        match self._twin:
            case Twin.WEIGHTED_PICKS:
                loops.fold_weighted(*known)
            case Twin.OWN_PICKS:
                loops.fold(*known)
            case Twin.ONE_WALK | Twin.TWO_WALKS:
                start = float(self._iterations + self._updates_first)
                loops.accumulate(*known, start, self._averages)
            case Twin.AVERAGING:
                raise AssertionError("gossip averaging has no pairs")
        self._iterations += block

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, K)."""
        K = len(self._components)
        if self._twin is Twin.WEIGHTED_PICKS:
            return weighted_gosta.readout(self._rows[:, :-1], unknown=0.0)
        if self._twin is Twin.OWN_PICKS:
            return self._rows[:, :K].copy()
        waiting = self._iterations - self._rows[:, -1:]
        return (self._rows[:, :K] + waiting * self._rows[:, K:-1]) / self._iterations
