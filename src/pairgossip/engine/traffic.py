"""The traffic of a trial: exchanges between sites, and the bytes they carry.

An exchange between two rows of one site is free and counted apart. A message carries one
observation (of whole sets: the set that is held) and the numbers that the method averages, 8 bytes
each; frames, names and signatures are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import IntArray, PairArray
from pairgossip.extras import needed_for_speed
from pairgossip.graphs import Graph, GroupedGraph

BYTES_PER_NUMBER = 8


class Counts(NamedTuple):
    """The traffic up to one moment."""

    network: int
    local: int
    bytes: int


@dataclass(frozen=True)
class Payload:
    """The content of one message."""

    observation: int
    """Numbers of one observation; 0 where none travels."""
    averaged: int
    """Numbers that the two sides average."""
    set_sizes: IntArray | None = None
    """Where whole sets travel, how many observations each has."""


class Meter:
    """Counts the exchanges of one trial, a block at a time; ``compiled=False`` needs numpy only."""

    def __init__(
        self, graph: Graph, payload: Payload, walks: int = 1, compiled: bool = True
    ) -> None:
        self.counts = Counts(0, 0, 0)
        self._payload = payload
        self._walks = walks
        self._sites = _small(graph.site_of) if isinstance(graph, GroupedGraph) else None
        self._all_cross = isinstance(graph, GroupedGraph) and not graph.has_local_edges
        sizes = payload.set_sizes
        self._held = [] if sizes is None else [own_observations(len(sizes)) for _ in range(walks)]
        self._loops: Any = None
        if compiled and (self._sites is not None or self._held):
            with needed_for_speed():
                from pairgossip.engine.estimation import loops
            self._loops = loops

    def count(self, iterations: int, exchanges: tuple[PairArray, ...]) -> None:
        """Add a block of iterations."""
        made = sum(map(len, exchanges))
        if self._sites is None and not self._held:
            made = iterations * self._walks
        crossing = sum(map(self._crossing, exchanges)) if self._sites is not None else made
        followed = sum(map(self._follow, self._held, exchanges))
        observations = followed if self._held else 2 * crossing
        numbers = observations * self._payload.observation + 2 * crossing * self._payload.averaged
        network, local, sent = self.counts
        self.counts = Counts(
            network + crossing, local + made - crossing, sent + BYTES_PER_NUMBER * numbers
        )

    def _crossing(self, exchanges: PairArray) -> int:
        """Count the exchanges between sites."""
        if self._all_cross:
            return len(exchanges)
        assert self._sites is not None
        if self._loops is not None:
            return int(self._loops.crossings(exchanges, self._sites))
        here, there = self._sites.take(exchanges).T
        return int(np.count_nonzero(here != there))

    def _follow(self, held: IntArray, exchanges: PairArray) -> int:
        """Swap sets along the exchanges; return how many observations were sent."""
        sizes = self._payload.set_sizes
        assert sizes is not None
        if sizes.min() == sizes.max():
            return 2 * len(exchanges) * int(sizes[0])
        if self._loops is not None:
            nodes = np.empty((2, len(exchanges)), dtype=np.intp)
            tokens = np.empty_like(nodes)
            self._loops.walk(exchanges, held, nodes, tokens)
            return int(sizes[tokens].sum())
        total = 0
        for i, j in exchanges.tolist():
            total += int(sizes[held[i]] + sizes[held[j]])
            held[i], held[j] = held[j], held[i]
        return total


def _small(site_of: IntArray) -> IntArray:
    """Site numbers in as few bytes as they take, so that most of them stay in the cache."""
    few = int(site_of.max()) < 2**16
    return site_of.astype(np.uint16 if few else np.int32)
