"""Whose observation is where: one of them can be followed through the network."""

from __future__ import annotations

from collections import deque

import numpy as np

from pairgossip.algorithms.exchange import own_observations
from pairgossip.arrays import PairArray

TRAIL = 120
"""How many of the last places are remembered."""


class Follower:
    """Walks along with an engine, which keeps to itself who holds whose observation."""

    def __init__(self, n: int) -> None:
        self._held = own_observations(n)
        self.token: int | None = None
        self.trail: deque[int] = deque(maxlen=TRAIL)
        self.moves = 0

    def advance(self, exchanges: PairArray) -> None:
        """Swap along a block of exchanges."""
        # Compiled, so imported where the compiler is already at work.
        from pairgossip.engine.token_loops import walk

        nodes = np.empty((2, len(exchanges)), dtype=np.intp)
        tokens = np.empty_like(nodes)
        walk(exchanges, self._held, nodes, tokens)
        if self.token is not None:
            # Transposed, so that the places come in the order of the exchanges.
            places = nodes.T[self.token == tokens.T]
            self.trail.extend(places[-TRAIL:].tolist())
            self.moves += len(places)

    def follow(self, token: int | None) -> None:
        """Follow the observation of this node from where it is now; None to stop."""
        self.token, self.moves = token, 0
        self.trail.clear()
        if token is not None:
            self.trail.append(self.place_of(token))

    def held_at(self, node: int) -> int:
        """Return whose observation a node holds."""
        return int(self._held[node])

    def place_of(self, token: int) -> int:
        """Return the node that holds an observation."""
        return int(np.flatnonzero(self._held == token)[0])
