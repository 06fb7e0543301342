"""The random exchanges of one trial: which edges ring, and when."""

from __future__ import annotations

from numpy.random import SeedSequence

from pairgossip.arrays import PairArray
from pairgossip.engine.clock import PoissonClock
from pairgossip.engine.seeds import child, stream
from pairgossip.graphs import Graph, edge_law


class Schedule:
    """Blocks of exchanges, the same whatever the size of the blocks.

    Time runs so that each node rings once per unit of time on average, under either law: the
    whole network makes n exchanges per unit of time.
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
        self._exchanges_per_iteration = exchanges_per_iteration

    def draw(self, iterations: int) -> tuple[PairArray, ...]:
        """Return the next exchanges, one (iterations, 2) array for each exchange per iteration."""
        return tuple(self._law.draw(streams, iterations) for streams in self._walks)

    def time_of(self, iteration: int) -> float:
        """Return the time of an iteration's last exchange on Poisson clocks."""
        return self._clock.time_of(iteration * self._exchanges_per_iteration)
