"""The compiled engines of methods that average vectors, add them up along a tree, or collect."""

from __future__ import annotations

import numpy as np

from pairgossip.algorithms.collect import means_of_known
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.checks import CONTINUIZED, TREE
from pairgossip.engine.estimation import averaging_loops as loops
from pairgossip.engine.estimation.engine import Engine
from pairgossip.engine.timetable import Timetable
from pairgossip.kernels import Problem


class _AveragingEngine(Engine):
    """Gossip averaging along random or ordered exchanges."""

    def __init__(self, problem: Problem, relaxation: float) -> None:
        self._values, self._relaxation = problem.features.copy(), relaxation

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of exchanges."""
        if self._relaxation != 0.5:
            loops.relax(self._values, exchanges[0], self._relaxation)
        elif self._values.shape[1] == 1:
            loops.average(self._values[:, 0], exchanges[0])
        else:
            loops.average_rows(self._values, exchanges[0])

    def estimates(self) -> FloatArray:
        """Read every node's averages, shape (n, r)."""
        return self._values.copy()


class _ContinuizedEngine(Engine):
    """Gossip averaging with a second register."""

    def __init__(self, problem: Problem, rate: float, gain: float) -> None:
        self._values, self._momentum = problem.features.copy(), problem.features.copy()
        self._since = np.zeros(problem.n, dtype=np.int64)
        self._rate, self._gain, self._made = rate, gain, 0

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of exchanges."""
        registers = self._values, self._momentum, self._since
        loops.average_continuized(*registers, exchanges[0], self._made, self._rate, self._gain)
        self._made += len(exchanges[0])

    def estimates(self) -> FloatArray:
        """Read every node's averages, shape (n, r)."""
        return self._values.copy()


class _TreeEngine(Engine):
    """Sums up a tree, and the total back down."""

    def __init__(self, problem: Problem) -> None:
        self._sums, self._made = problem.features.copy(), 0
        self._counts = np.ones(problem.n, dtype=np.int64)

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of messages."""
        loops.pass_sums(self._sums, self._counts, exchanges[0], self._made)
        self._made += len(exchanges[0])

    def estimates(self) -> FloatArray:
        """Read every node's averages so far, shape (n, r)."""
        return self._sums / self._counts[:, None]


def averaging_engine(problem: Problem, timetable: Timetable) -> Engine:
    """Build the engine that averages on this schedule."""
    if timetable.name == CONTINUIZED:
        return _ContinuizedEngine(problem, timetable.rate, timetable.gain)
    if timetable.name == TREE:
        return _TreeEngine(problem)
    return _AveragingEngine(problem, timetable.stride)


class KnownItems:
    """The items that each node knows; learning an item twice changes nothing.

    ``holders`` is the node that knows each item from the start.
    """

    def __init__(self, nodes: int, holders: IntArray) -> None:
        self.items = len(holders)
        self._bits = np.zeros((nodes, -(-self.items // 64)), dtype=np.uint64)
        number = np.arange(self.items, dtype=np.uint64)
        bits = np.uint64(1) << (number % np.uint64(64))
        np.bitwise_or.at(self._bits, (holders, (number // np.uint64(64)).astype(np.intp)), bits)
        self._missing = self.items - np.bincount(holders, minlength=nodes)

    def exchange(self, exchanges: PairArray) -> int | None:
        """Carry out a block; return the number of exchanges until all know all, or None."""
        ended = int(loops.unite(self._bits, self._missing, exchanges))
        return None if ended < 0 else ended

    def table(self) -> FloatArray:
        """Return a 1 where a node knows an item, shape (nodes, items)."""
        unpacked = np.unpackbits(self._bits.view(np.uint8), axis=1, bitorder="little")
        return unpacked[:, : self.items].astype(np.float64)


class CollectEngine(Engine):
    """Set union of the rows, or of the sites' sets of rows."""

    def __init__(self, pairs: Problem) -> None:
        self._known = KnownItems(pairs.n, np.arange(pairs.n))
        self._values = np.stack([pairs.matrix(part) for part in range(pairs.components)])

    def advance(self, exchanges: tuple[PairArray, ...]) -> int | None:
        """Carry out a block; return the number of exchanges until all know all, or None."""
        return self._known.exchange(exchanges[0])

    def estimates(self) -> FloatArray:
        """Return the mean over the pairs of the rows that each node knows, shape (n, K)."""
        return means_of_known(self._known.table(), self._values)

    def learned(self) -> IntArray:
        """Return the number of nodes that know each row."""
        return self._known.table().sum(axis=0).astype(np.int64)
