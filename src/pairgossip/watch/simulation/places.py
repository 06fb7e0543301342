"""The places of rows in the picture of a run: at nodes, or several at a site."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.graphs import Graph, GroupedGraph
from pairgossip.graphs.grouped.grouping import group_labels, match_groups
from pairgossip.results.result import site_means

_TRAIL = 120
"""Length of the trail of a followed observation, in places."""
NOBODY: dict[str, Any] = {"token": None, "trail": [], "moves": 0}
"""The content where no observations travel."""


class Places:
    """The places that are drawn: the nodes of a run, or the sites at which its rows are held.

    Parameters
    ----------
    graph
        The graph of the run, whose nodes are rows, or sites that exchange as a whole.
    groups
        The site of every row; None where every row is a node.
    """

    def __init__(self, graph: Graph, groups: Any = None) -> None:
        grouped = isinstance(graph, GroupedGraph)
        self.network = graph.sites if isinstance(graph, GroupedGraph) else graph
        self.names: list[str] | None = None
        """The names of the sites."""
        self.sizes: IntArray | None = None
        """The number of rows of each site."""
        self._site_of: IntArray | None = None
        if groups is None:
            return
        held_at = match_groups(groups, len(groups), self.network)
        labels, label_of = group_labels(groups, len(groups))
        at = np.empty(self.network.n, dtype=np.intp)
        at[held_at] = label_of
        self.names = [labels[label] for label in at]
        self.sizes = np.bincount(held_at, minlength=self.network.n)
        self._site_of = held_at if grouped else None

    def means(self, values: FloatArray) -> FloatArray:
        """Return the mean of the known values at each place."""
        if self._site_of is None:
            return values
        return site_means(values, self._site_of, self.network.n)

    def of(self, nodes: Any) -> IntArray:
        """Return the places of nodes of the run."""
        numbers = np.asarray(nodes, dtype=np.intp)
        return numbers if self._site_of is None else self._site_of[numbers]

    def first_node(self, place: int) -> int:
        """Return the first node of the run that is at a place."""
        return place if self._site_of is None else int(np.argmax(self._site_of == place))


class Follower:
    """Tracks the holder of every observation, which an engine does not report, and follows one."""

    def __init__(self, n: int, places: Places) -> None:
        self._held, self._places = own_observations(n), places
        self.token: int | None = None
        self.trail: deque[int] = deque(maxlen=_TRAIL)
        self.moves = 0

    def describe(self) -> dict[str, Any]:
        """Return the followed observation, and its path."""
        return {"token": self.token, "trail": list(self.trail), "moves": self.moves}

    def advance(self, exchanges: PairArray) -> None:
        """Swap along a block of exchanges."""
        # Compiled, so imported only when a run has started the compiler.
        from pairgossip.engine.estimation.loops import walk

        nodes = np.empty((2, len(exchanges)), dtype=np.intp)
        tokens = np.empty_like(nodes)
        walk(exchanges, self._held, nodes, tokens)
        if self.token is not None:
            # Transposed, so that the places are in the order of the exchanges.
            places = self._places.of(nodes.T[self.token == tokens.T])
            before = np.append(self.trail[-1], places[:-1])
            moved = places[places != before]  # from one row of a site to another is not a move
            self.trail.extend(moved[-_TRAIL:].tolist())
            self.moves += len(moved)

    def follow(self, token: int | None) -> None:
        """Follow the observation of this node from its current place; None to stop."""
        self.token, self.moves = token, 0
        self.trail.clear()
        if token is not None:
            holder = int(np.flatnonzero(self._held == token)[0])
            self.trail.append(int(self._places.of(holder)))

    def held_at(self, place: int) -> int:
        """Return the observation that is held at a place, at a site by the first of its rows."""
        return int(self._held[self._places.first_node(place)])
