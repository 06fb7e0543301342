"""Passes over a network after which every node knows the averages, or the largest, of all nodes.

Along a spanning tree averages are exact, and the same at all nodes. Along random or ordered edges
the length of a pass follows from the accuracy, and nodes differ a little.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.relaxations import spectral_radius
from pairgossip.engine.timetable import Timetable
from pairgossip.engine.trials import BYTES_PER_NUMBER
from pairgossip.errors import needed_for_speed
from pairgossip.graphs import Graph
from pairgossip.graphs.laws import NamedOrGiven

_BLOCK = 1 << 13
"""The number of exchanges in one block."""
_SAFETY = 4.0
"""The extra length of a pass, in roots of its expected length, as few exchanges may miss a node."""


class Passes:
    """The passes of one trial, and their traffic.

    Parameters
    ----------
    graph, law, timetable
        The network, and the order of its exchanges.
    accuracy
        The factor by which a pass shrinks the differences between nodes; a tree leaves none.
    seed
        The seed of random edges.
    compiled
        Whether compiled loops carry out the exchanges, or the reference in numpy.
    """

    def __init__(
        self,
        graph: Graph,
        law: NamedOrGiven,
        timetable: Timetable,
        accuracy: float,
        seed: SeedSequence,
        *,
        compiled: bool = True,
    ) -> None:
        self._n, self._timetable = graph.n, timetable
        self.shared = graph.n == 1 or timetable.messages is not None
        self.exchanges = self.messages = self.bytes = 0
        if self.shared:
            return
        self._schedule = timetable.start(graph, law, seed, 1)
        self._length = _pass_length(graph, law, timetable, accuracy)
        self._loops: Any = _PlainLoops
        if compiled:
            with needed_for_speed():
                from pairgossip.engine.estimation import averaging_loops
            self._loops = averaging_loops

    def average(self, sums: FloatArray, largest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the averages of the nodes' ``sums``, and the maxima of ``largest``.

        Where all nodes know the same, ``sums`` is one row, the sum over all nodes, and so is the
        result.
        """
        numbers = sums.shape[1] + largest.shape[1]
        if self.shared:
            self._count(2 * (self._n - 1), numbers, messages=1)
            return sums / self._n, largest
        values, ends = sums.copy(), largest.copy()
        left = self._length
        while left > 0:
            exchanges = self._draw(min(_BLOCK, left))
            self._loops.relax(values, exchanges, self._timetable.stride)
            self._loops.spread_largest(ends, exchanges)
            left -= len(exchanges)
        self._count(self._length, numbers, messages=2)
        return values, self._agree(ends)

    def agree(self, proposals: FloatArray) -> FloatArray:
        """Return the largest of the nodes' proposals, column by column, one row for all.

        Nodes with the same knowledge propose the same, and need no messages.
        """
        if self.shared:
            return proposals[0]
        return self._agree(proposals.copy())[0]

    def _agree(self, ends: FloatArray) -> FloatArray:
        """Continue until the maxima have reached all nodes."""
        while (ends != ends.max(axis=0)).any():
            exchanges = self._draw(self._n)
            self._loops.spread_largest(ends, exchanges)
            self._count(len(exchanges), ends.shape[1], messages=2)
        return ends

    def _draw(self, exchanges: int) -> PairArray:
        return self._schedule.draw(exchanges)[0]

    def _count(self, exchanges: int, numbers: int, *, messages: int) -> None:
        self.exchanges += exchanges
        self.messages += messages * exchanges
        self.bytes += messages * exchanges * numbers * BYTES_PER_NUMBER


def _pass_length(graph: Graph, law: NamedOrGiven, timetable: Timetable, accuracy: float) -> int:
    """Return the number of exchanges that shrink the differences between nodes by ``accuracy``."""
    efolds = math.log(1.0 / accuracy)
    if timetable.sweep is None:
        # An exchange shrinks squares by half the gap in expectation.
        expected = efolds * 4.0 / graph.normalized_gap(law)
        return math.ceil(expected + _SAFETY * math.sqrt(expected))
    radius = spectral_radius(timetable.sweep, graph.n, timetable.stride)
    return math.ceil(efolds / -math.log(min(max(radius, 1e-300), 1.0 - 1e-12))) * graph.edge_count


class _PlainLoops:
    """The reference of the compiled loops."""

    @staticmethod
    def relax(values: FloatArray, exchanges: PairArray, relaxation: float) -> None:
        """Move the two nodes of every exchange toward each other's values."""
        for i, j in exchanges.tolist():
            step = relaxation * (values[j] - values[i])
            values[i] += step
            values[j] -= step

    @staticmethod
    def spread_largest(values: FloatArray, exchanges: PairArray) -> None:
        """Set both nodes of every exchange to the larger of their values."""
        for i, j in exchanges.tolist():
            values[i] = values[j] = np.maximum(values[i], values[j])
