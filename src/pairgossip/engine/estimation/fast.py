"""The compiled engines of estimation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pairgossip.algorithms import weighted_gosta
from pairgossip.algorithms.methods import Method, Twin
from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.estimation import loops
from pairgossip.engine.estimation.engine import Engine
from pairgossip.errors import InputError
from pairgossip.kernels import Problem

_CACHE_LINE = 64
"""Bytes that the processor reads at once: rows begin at a multiple of it."""


class Loops(NamedTuple):
    """The loops of a method: on rows that hold observations, and on the values of new pairs.

    Each is followed by the settings of a block that it takes after the exchanges or values:
    ``start``, the number of updates that precede the first exchange, ``averages`` or
    ``relaxation``.
    """

    fused: Callable[..., None]
    fused_takes: tuple[str, ...]
    fold: Callable[..., None]
    fold_takes: tuple[str, ...]
    has_sums: bool = False
    """Whether rows hold sums over all iterations, not estimates."""
    has_means: bool = False
    """Whether rows hold the means of the nodes' own values besides."""
    reads_means: bool = False
    """Whether these means are the estimates."""


_BY_START = ("start", "averages")
_SUMS = Loops(loops.one_walk, _BY_START, loops.accumulate, _BY_START, has_sums=True)
_TRACKING = Loops(loops.tracking, ("relaxation",), loops.track, ("relaxation",), has_means=True)
LOOPS = {
    Twin.ONE_WALK: _SUMS,
    Twin.TWO_WALKS: _SUMS._replace(fused=loops.two_walks, fused_takes=("start",)),
    Twin.OWN_PICKS: Loops(loops.gosta_async, (), loops.fold, ()),
    Twin.WEIGHTED_PICKS: Loops(loops.weighted_gosta, (), loops.fold_weighted, ()),
    Twin.TRACKING: _TRACKING,
    Twin.OWN_MEANS: _TRACKING._replace(reads_means=True),
}
"""The loops of the methods whose nodes meet in pairs; others have engines of their own."""


class _PairEngine(Engine):
    """The loops and settings of a method whose nodes meet in pairs."""

    def __init__(self, method: Method, clock: str, order: str, relaxation: float | None) -> None:
        self._loops = LOOPS[method.twins[clock]]
        self._weighs = method.weighs_by_picks
        self._averages = method.averaged_numbers > 0
        self._relaxation = 0.5 if relaxation is None else relaxation
        self._updates_first = method.updates_first(order)
        self._iterations = 0

    def _settings(self, names: tuple[str, ...]) -> list[float | bool]:
        """Return settings of the next block, by name."""
        settings = {
            "start": float(self._iterations + self._updates_first),
            "averages": self._averages,
            "relaxation": self._relaxation,
        }
        return [settings[name] for name in names]


class FusedEngine(_PairEngine):
    """Keeps each node's whole state in one row, so that an exchange touches two places in memory.

    A row holds the node's observation, its auxiliary observation, one sum per component kernel
    and the number of the update its sums include (asynchronous: estimates and number of picks;
    weighted: sums, the sum of weights, and the node's own weight).
    On one column of data with one kernel that is 32 bytes. U2 keeps its two auxiliary
    observations in the first two fields.
    """

    def __init__(
        self,
        pairs: Problem,
        method: Method,
        clock: str,
        order: str,
        weights: FloatArray | None,
        relaxation: float | None = None,
    ) -> None:
        super().__init__(method, clock, order, relaxation)
        self._scale = pairs.scale
        components = pairs.parts
        self._formulas = tuple(c.formula.number for c in components)
        if not loops.COMPILED.issuperset(self._formulas):
            raise InputError(
                f"Compiled code does not know a formula of kernel '{pairs.name}': give the formula "
                "the number -1, or add it to pairgossip.engine.estimation.loops."
            )
        self._parameters = tuple(float(c.parameter) for c in components)
        self._columns = pairs.dimension if pairs.dimension > 1 else None
        self._sums_at = 2 * pairs.dimension
        width = self._sums_at + len(components) + 1
        tracked = len(components) if self._loops.has_means else 0
        self._rows = _aligned_zeros(pairs.n, width + (weights is not None) + tracked)
        if weights is not None:
            self._rows[:, width] = weights
        observations = pairs.data.reshape(pairs.n, -1)
        self._rows[:, : self._sums_at] = np.tile(observations, 2)

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of iterations."""
        state = (self._rows, self._columns, self._formulas, self._parameters)
        settings = self._settings(self._loops.fused_takes)
        self._loops.fused(*state, *exchanges, *settings)
        self._iterations += len(exchanges[0])

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, K)."""
        if self._weighs:
            return weighted_gosta.readout(self._rows[:, self._sums_at : -1], 0.0) * self._scale
        if self._loops.reads_means:
            means: FloatArray = self._rows[:, -len(self._formulas) :] * self._scale
            return means
        if not self._loops.has_sums:
            last = self._sums_at + len(self._formulas)
            estimates: FloatArray = self._rows[:, self._sums_at : last] * self._scale
            return estimates
        sums = np.empty((len(self._rows), len(self._formulas)))
        loops.sums_at(
            self._rows, self._columns, self._formulas, self._parameters, self._iterations, sums
        )
        sums *= self._scale / self._iterations
        return sums


def _aligned_zeros(rows: int, columns: int) -> FloatArray:
    """Zeros that start on a cache line, so that a 32-byte row never straddles two."""
    size = rows * columns * 8
    buffer = np.zeros(size + _CACHE_LINE, dtype=np.uint8)
    offset = -buffer.ctypes.data % _CACHE_LINE
    return buffer[offset : offset + size].view(np.float64).reshape(rows, columns)


# The engine for any kernel: walk compiled once, kernel in NumPy on blocks of pairs.


_NUMBERS_AT_ONCE = 1 << 13
"""Numbers per array handed to the kernel: above 128 KB its memory is mapped anew each time."""


class TokenEngine(_PairEngine):
    """Follows who holds whose observation; evaluates the kernel on each block's new pairs."""

    def __init__(
        self,
        pairs: Problem,
        method: Method,
        clock: str,
        order: str,
        weights: FloatArray | None,
        relaxation: float | None = None,
    ) -> None:
        super().__init__(method, clock, order, relaxation)
        self._pairs = pairs
        self._held = [own_observations(pairs.n) for _ in range(method.exchanges_per_iteration)]
        self._touched = 2 * method.exchanges_per_iteration
        self._piece = max(256, _NUMBERS_AT_ONCE // (self._touched * pairs.dimension))
        self._components = tuple(range(pairs.components))
        if weights is not None:
            self._rows = np.zeros((pairs.n, pairs.components + 2))
            self._rows[:, -1] = weights
            return
        self._rows = np.zeros((pairs.n, 2 * pairs.components + 1))
        if self._loops.has_means:
            return
        self._rows[:, pairs.components : -1] = pairs.own_values()

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of iterations."""
        for start in range(0, len(exchanges[0]), self._piece):
            self._advance(tuple(walk[start : start + self._piece] for walk in exchanges))

    def _advance(self, exchanges: tuple[PairArray, ...]) -> None:
        block = len(exchanges[0])
        nodes = np.empty((self._touched, block), dtype=np.intp)
        seconds = np.empty_like(nodes)
        if len(self._held) == 2:
            firsts = np.empty_like(nodes)
            loops.walk_twice(
                exchanges[0], exchanges[1], self._held[0], self._held[1], nodes, firsts, seconds
            )
        else:
            firsts = nodes
            loops.walk(exchanges[0], self._held[0], nodes, seconds)
        values = self._pairs.values(firsts.ravel(), seconds.ravel())
        values = values.reshape(self._touched, block, -1)
        settings = self._settings(self._loops.fold_takes)
        self._loops.fold(self._rows, self._components, nodes, values, *settings)
        self._iterations += block

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, K)."""
        K = len(self._components)
        if self._weighs:
            return weighted_gosta.readout(self._rows[:, :-1], unknown=0.0)
        if self._loops.reads_means:
            return self._rows[:, K:-1].copy()
        if not self._loops.has_sums:
            return self._rows[:, :K].copy()
        waiting = self._iterations - self._rows[:, -1:]
        return (self._rows[:, :K] + waiting * self._rows[:, K:-1]) / self._iterations
