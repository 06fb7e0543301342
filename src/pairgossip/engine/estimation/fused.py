"""The engine for built-in kernels: the kernel compiled into the loop, one record per node."""

from __future__ import annotations

import numpy as np

from pairgossip.algorithms import Method, Twin, weighted_gosta
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.estimation import loops
from pairgossip.kernels import Pairs
from pairgossip.kernels.pairs import Means

CACHE_LINE = 64


class FusedEngine:
    """Keeps each node's whole state in one row, so that an exchange touches two places in memory.

    A row holds the node's observation, its auxiliary observation, one sum per component kernel
    and the number of the update its sums include (asynchronous: estimates and number of picks;
    weighted: sums, the sum of weights, and the node's own weight).
    On one column of data with one kernel that is 32 bytes. U2 keeps its two auxiliary
    observations in the first two fields.
    """

    def __init__(
        self,
        pairs: Pairs,
        method: Method,
        clock: str,
        order: str,
        weights: FloatArray | None = None,
    ) -> None:
        self._scale = pairs.scale
        self._twin = method.twins[clock]
        self._averages = method.averaged_numbers > 0
        self._updates_first = method.updates_first(order)
        self._iterations = 0
        components = pairs.kernel.components
        self._formulas = tuple(int(c.formula) for c in components)
        self._parameters = tuple(float(c.parameter) for c in components)
        self._columns = pairs.dimension if pairs.dimension > 1 else None
        self._sums_at = 2 * pairs.dimension
        width = self._sums_at + len(components) + 1
        self._rows = _aligned_zeros(pairs.n, width + (weights is not None))
        if weights is not None:
            self._rows[:, width] = weights
        observations = pairs.data.reshape(pairs.n, -1)
        self._rows[:, : self._sums_at] = np.tile(observations, 2)

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of iterations."""
        state = (self._rows, self._columns, self._formulas, self._parameters)
        start = float(self._iterations + self._updates_first)
        match self._twin:
            case Twin.WEIGHTED_PICKS:
                loops.weighted_gosta(*state, exchanges[0])
            case Twin.OWN_PICKS:
                loops.gosta_async(*state, exchanges[0])
            case Twin.TWO_WALKS:
                loops.two_walks(*state, exchanges[0], exchanges[1], start)
            case Twin.ONE_WALK:
                loops.one_walk(*state, exchanges[0], start, self._averages)
            case Twin.AVERAGING:
                raise AssertionError("gossip averaging has no pairs")
        self._iterations += len(exchanges[0])

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, K)."""
        if self._twin is Twin.WEIGHTED_PICKS:
            return weighted_gosta.readout(self._rows[:, self._sums_at : -1], 0.0) * self._scale
        if self._twin is Twin.OWN_PICKS:
            estimates: FloatArray = self._rows[:, self._sums_at : -1] * self._scale
            return estimates
        sums = np.empty((len(self._rows), len(self._formulas)))
        loops.sums_at(
            self._rows, self._columns, self._formulas, self._parameters, self._iterations, sums
        )
        sums *= self._scale / self._iterations
        return sums


class AveragingEngine:
    """Gossip averaging of one value per node."""

    def __init__(self, means: Means) -> None:
        self._values = means.data.copy()

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of exchanges."""
        loops.average(self._values, exchanges[0])

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, 1)."""
        return self._values[:, None].copy()


def _aligned_zeros(rows: int, columns: int) -> FloatArray:
    """Zeros that start on a cache line, so that a 32-byte row never straddles two."""
    size = rows * columns * 8
    buffer = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    offset = -buffer.ctypes.data % CACHE_LINE
    return buffer[offset : offset + size].view(np.float64).reshape(rows, columns)
