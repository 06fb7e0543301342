"""The engine for any kernel: walk compiled once, kernel in NumPy on blocks of pairs."""

from __future__ import annotations

import numpy as np

from pairgossip.algorithms import Method
from pairgossip.algorithms.exchange import own_observations
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine import token_loops as loops
from pairgossip.kernels import Pairs


class TokenEngine:
    """Follows who holds whose observation; evaluates the kernel on each block's new pairs."""

    def __init__(self, pairs: Pairs, method: Method, clock: str, order: str) -> None:
        self._pairs = pairs
        self._asynchronous = clock == "async"
        self._averages = method.name == "gosta"
        # Updates made before the first exchange: one where every iteration updates first.
        self._updates_first = method.name == "u2" or (self._averages and order == "update-first")
        self._iterations = 0
        self._held = [own_observations(pairs.n) for _ in range(2)]
        self._two_walks = method.exchanges_per_iteration == 2
        shape = (pairs.n, pairs.components)
        self._sums = np.zeros(shape)  # the estimates themselves if asynchronous
        self._last = np.zeros(pairs.n)  # the number of picks if asynchronous
        own = self._held[0]
        self._current = np.zeros(shape) if self._asynchronous else pairs.values(own, own)

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of iterations."""
        block = len(exchanges[0])
        touched = 4 if self._two_walks else 2
        nodes = np.empty((touched, block), dtype=np.intp)
        tokens = np.empty_like(nodes)
        if self._two_walks:
            firsts = np.empty_like(nodes)
            first, second = exchanges
            held, held_too = self._held
            loops.walk_twice(first, second, held, held_too, nodes, firsts, tokens)
        else:
            firsts = nodes
            loops.walk(exchanges[0], self._held[0], nodes, tokens)
        values = self._pairs.values(firsts.ravel(), tokens.ravel())
        values = values.reshape(touched, block, -1)
        if self._asynchronous:
            loops.fold(nodes, values, self._sums, self._last)
        else:
            start = self._iterations + self._updates_first
            loops.accumulate(
                nodes, values, self._sums, self._current, self._last, start, self._averages
            )
        self._iterations += block

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, K)."""
        if self._asynchronous:
            return self._sums.copy()
        waiting = (self._iterations - self._last)[:, None]
        return (self._sums + waiting * self._current) / self._iterations
