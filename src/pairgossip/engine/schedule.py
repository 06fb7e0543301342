"""The randomness of a trial: its seeds, the edges that ring, and their times.

Every source of randomness of every trial is a numbered child of one seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence

from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.checks import UNIFORM_EDGES
from pairgossip.errors import InputError
from pairgossip.graphs import Changing, Graph, edge_law
from pairgossip.graphs.laws import ListedEdges, NamedOrGiven
from pairgossip.graphs.orders import Sweep

TRIAL_PROBLEM = 1 << 16
"""The number of the child seed of a trial's problem; exchanges and clock have the first ones."""
TRIAL_MARKS = TRIAL_PROBLEM + 1
"""The number of the child seed of the marks of rows."""

TRIAL_FAULTS = TRIAL_PROBLEM + 2
"""The number of the child seed of the faults."""

_SKIPPED_AT_ONCE = 1 << 16


def root_seed(seed: int | None) -> SeedSequence:
    """Turn the user's seed into the root seed; None takes one from the operating system."""
    if seed is None:
        return SeedSequence()
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"The seed must be a whole number >= 0 or None, not {seed!r}.")
    return SeedSequence(int(seed))


def child(seed: SeedSequence, *numbers: int) -> SeedSequence:
    """Return the child seed with this number, or with several numbers a child of the child.

    Unlike ``SeedSequence.spawn`` it keeps no count of calls.
    """
    return SeedSequence(entropy=seed.entropy, spawn_key=(*seed.spawn_key, *numbers))


def stream(seed: SeedSequence, *numbers: int) -> Generator:
    """Return a generator on a child seed. SFC64 is numpy's fastest for bounded draws."""
    return Generator(SFC64(child(seed, *numbers)))


class _PoissonClock:
    """The times of the exchanges of an asynchronous run, drawn only where they are read.

    A run makes hundreds of millions of exchanges and reads the time at a few dozen. The duration
    of a block of B events is Gamma(B), and given that duration the times inside the block are
    spread as normalized exponential gaps, independently of it. So block durations are drawn in
    order, and the inside of a block only when one of its times is read. An event always has the
    same time. The block read last is kept, as the checkpoints of a short run often fall into one.
    """

    block = 4096

    def __init__(self, seed: SeedSequence, rate: float) -> None:
        self._seed = seed
        self._rate = rate
        self._rewind()

    def _rewind(self) -> None:
        """Go back before the first block; durations are drawn again rather than stored."""
        self._durations = stream(self._seed, 0)
        self._number, self._start, self._end = -1, 0.0, 0.0  # times in units of 1/rate
        self._times: FloatArray | None = None

    def time_of(self, event: int) -> float:
        """Return the time of the event with this number; event 0 is the start, time 0."""
        if event == 0:
            return 0.0
        number, position = divmod(event - 1, self.block)
        return float(self._inside(number)[position])

    def _inside(self, number: int) -> FloatArray:
        if number < self._number:
            self._rewind()
        while self._number < number:
            self._number += 1
            self._start = self._end
            self._end += self._durations.gamma(self.block)
            self._times = None
        if self._times is None:
            start, end = self._start, self._end
            gaps = np.cumsum(stream(self._seed, number + 1).standard_exponential(self.block))
            self._times = (start + (end - start) * gaps / gaps[-1]) / self._rate
        return self._times


class Rings(NamedTuple):
    """The exchanges of a block, and the places of those that did not take place."""

    exchanges: tuple[PairArray, ...]
    lost: tuple[IntArray, ...] = ()


class Schedule:
    """Blocks of exchanges along random edges, the same for any size of blocks.

    Time runs so that the network makes n exchanges per unit of time, under any law.
    """

    def __init__(
        self, graph: Graph, law: NamedOrGiven, seed: SeedSequence, exchanges_per_iteration: int = 1
    ) -> None:
        self._law = edge_law(graph, law)
        self._walks = [
            [stream(seed, walk, number) for number in range(self._law.stream_count)]
            for walk in range(1, exchanges_per_iteration + 1)
        ]
        self._seed, self._rate = seed, float(graph.n)

    @cached_property
    def _clock(self) -> _PoissonClock:
        """The clock, made on first use, as many short trials never read it."""
        return _PoissonClock(child(self._seed, 0), self._rate)

    def draw(self, iterations: int) -> tuple[PairArray, ...]:
        """Return the next exchanges, one (iterations, 2) array for each exchange per iteration."""
        return tuple(self._law.draw(streams, iterations) for streams in self._walks)

    def choose(self, iterations: int) -> tuple[PairArray, IntArray] | None:
        """Return a list of edges and the places in it of the next exchanges, if there is one."""
        law = self._law
        if len(self._walks) > 1 or type(self) is not Schedule or not isinstance(law, ListedEdges):
            return None
        return law.edges, law.choose(self._walks[0], iterations)

    lost = 0
    """The number of exchanges until now that rang but did not take place."""

    def account(self, exchanges: tuple[PairArray, ...], made: int | None = None) -> Rings:
        """Return the exchanges that rang for those drawn last, or for ``made`` of them."""
        return Rings(tuple(walk[:made] for walk in exchanges))

    def skip(self, iterations: int) -> Iterator[tuple[PairArray, ...]]:
        """Draw exchanges that were carried out before, block by block."""
        while iterations > 0:
            yield self.draw(min(iterations, _SKIPPED_AT_ONCE))
            iterations -= _SKIPPED_AT_ONCE

    def time_of(self, exchange: int) -> float:
        """Return the time of the exchange with this number on Poisson clocks."""
        return self._clock.time_of(exchange)


class ChangingSchedule(Schedule):
    """Random edges of one graph after the other, all drawn from the same streams."""

    def __init__(
        self, graph: Changing, law: NamedOrGiven, seed: SeedSequence, exchanges_per_iteration: int
    ) -> None:
        self._graph, self._made = graph, 0
        self._laws = {id(each): edge_law(each, law) for each in graph.graphs}
        widest = max(graph.graphs, key=lambda each: self._laws[id(each)].stream_count)
        super().__init__(widest, law, seed, exchanges_per_iteration)

    def draw(self, iterations: int) -> tuple[PairArray, ...]:
        """Return the next exchanges."""
        parts: list[list[PairArray]] = [[np.empty((0, 2), dtype=np.int32)] for _ in self._walks]
        last = self._made + iterations
        while self._made < last:
            serving, left = self._graph.serving(self._made)
            count, law = min(left, last - self._made), self._laws[id(serving)]
            for part, streams in zip(parts, self._walks, strict=True):
                part.append(law.draw(streams, count))
            self._made += count
        return tuple(np.concatenate(part) for part in parts)


def random_schedule(
    graph: Graph, law: NamedOrGiven, seed: SeedSequence, exchanges_per_iteration: int = 1
) -> Schedule:
    """Return exchanges along random edges of a network, which may change."""
    if isinstance(graph, Changing):
        return ChangingSchedule(graph, law, seed, exchanges_per_iteration)
    return Schedule(graph, law, seed, exchanges_per_iteration)


class OrderedSchedule(Schedule):
    """Sweeps over all edges, color by color, from a random place in the first sweep on.

    ``missed`` is the probability that an edge misses its turn. Without it, observations that are
    swapped along the same edges in the same order would return before they met all others.
    """

    _drawn_at_once = 1 << 12

    def __init__(self, graph: Graph, sweep: Sweep, missed: float, seed: SeedSequence) -> None:
        super().__init__(graph, UNIFORM_EDGES, seed)
        self._chances = self._walks[0][0]
        self._edges, self._missed = sweep.edges, missed
        self._next = int(self._chances.integers(len(sweep.edges)))
        self._waiting = sweep.edges[:0]

    def draw(self, iterations: int) -> tuple[PairArray, ...]:
        """Return the next exchanges."""
        parts, drawn = [self._waiting], len(self._waiting)
        while drawn < iterations:
            turns = (self._next + np.arange(self._drawn_at_once)) % len(self._edges)
            self._next = int(turns[-1]) + 1
            if self._missed:
                turns = turns[self._chances.random(len(turns)) >= self._missed]
            parts.append(self._edges.take(turns, axis=0))
            drawn += len(turns)
        exchanges = np.concatenate(parts)
        self._waiting = exchanges[iterations:]
        return (exchanges[:iterations],)


class TreeSchedule(Schedule):
    """Messages along a tree in a fixed order; the schedule ends with the last one."""

    def __init__(self, graph: Graph, messages: PairArray, seed: SeedSequence) -> None:
        super().__init__(graph, UNIFORM_EDGES, seed)
        self._messages, self._made = messages, 0

    def draw(self, iterations: int) -> tuple[PairArray, ...]:
        """Return the next messages, sender first."""
        start = self._made
        self._made += iterations
        return (self._messages[start : self._made],)
