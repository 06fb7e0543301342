"""The random exchanges of one trial: which edges ring, and when."""

from __future__ import annotations

from collections.abc import Iterator

from numpy.random import SeedSequence

from pairgossip.arrays import PairArray
from pairgossip.engine.clock import PoissonClock
from pairgossip.engine.seeds import child, stream
from pairgossip.graphs import Graph, edge_law

SKIPPED_AT_ONCE = 1 << 16


class Schedule:
    """Blocks of exchanges, the same whatever the size of the blocks.

    Time runs so that the network makes n exchanges per unit of time, under either law.
    """

    def __init__(
        self, graph: Graph, law: str, seed: SeedSequence, exchanges_per_iteration: int = 1
    ) -> None:
        self._law = edge_law(graph, law)
        self._walks = [
            [stream(child(seed, walk), number) for number in range(self._law.stream_count)]
            for walk in range(1, exchanges_per_iteration + 1)
        ]
        self._clock = PoissonClock(child(seed, 0), rate=float(graph.n))

    def draw(self, iterations: int) -> tuple[PairArray, ...]:
        """Return the next exchanges, one (iterations, 2) array for each exchange per iteration."""
        return tuple(self._law.draw(streams, iterations) for streams in self._walks)

    def skipped(self, iterations: int) -> Iterator[tuple[PairArray, ...]]:
        """Pass over exchanges that were already carried out, block by block."""
        while iterations > 0:
            yield self.draw(min(iterations, SKIPPED_AT_ONCE))
            iterations -= SKIPPED_AT_ONCE

    def time_of(self, exchange: int) -> float:
        """Return the time of the exchange with this number on Poisson clocks."""
        return self._clock.time_of(exchange)
