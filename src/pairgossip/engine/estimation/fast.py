"""The compiled engines of estimation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pairgossip.algorithms import weighted_gosta
from pairgossip.algorithms.methods import Twin
from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.estimation import loops
from pairgossip.engine.estimation.engine import Engine, Procedure
from pairgossip.engine.loops import average_at, loop
from pairgossip.errors import InputError
from pairgossip.kernels import Problem
from pairgossip.order_statistics.ranking import Window

_CACHE_LINE = 64
"""The number of bytes that the processor reads at once: rows begin at a multiple of it."""


class Loops(NamedTuple):
    """The loops of a method: on rows that hold observations, and on the values of new pairs.

    After each are the settings of a block that it takes after the exchanges or values: ``start``,
    the number of updates that precede the first exchange, ``averages`` or ``relaxation``.
    """

    fused: Callable[..., None]
    fused_takes: tuple[str, ...]
    fold: Callable[..., None]
    fold_takes: tuple[str, ...]
    has_sums: bool = False
    """Whether rows hold sums over all iterations, not estimates."""
    has_means: bool = False
    """Whether rows also hold the means of the nodes' own values."""
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
"""The loops of methods whose nodes meet in pairs; other methods have their own engines."""


class _PairEngine(Engine):
    """The loops and settings of a method whose nodes meet in pairs."""

    def __init__(self, how: Procedure) -> None:
        method = how.method
        self._loops = LOOPS[method.twins[how.clock]]
        self._weighs = method.weighs_by_picks
        self._averages = method.averaged_numbers > 0
        self._relaxation = how.timetable.stride
        self._updates_first = method.updates_first(how.order)
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
    With one column of data and one kernel a row has 32 bytes. U2 keeps its two auxiliary
    observations in the first two fields.
    """

    def __init__(self, pairs: Problem, how: Procedure) -> None:
        super().__init__(how)
        self._scale = pairs.scale
        components, weights = pairs.parts, how.weights
        self._formulas = tuple(c.formula.number for c in components)
        if not loops.COMPILED.issuperset(self._formulas):
            raise InputError(
                f"Compiled code does not know a formula of kernel '{pairs.name}': give the formula "
                "the number -1, or add it to pairgossip.engine.estimation.loops."
            )
        parameters = tuple(float(c.parameter) for c in components)
        columns = pairs.dimension if pairs.dimension > 1 else None
        self._sums_at = 2 * pairs.dimension
        width = self._sums_at + len(components) + 1
        tracked = len(components) if self._loops.has_means else 0
        self._rows = _aligned_zeros(pairs.n, width + (weights is not None) + tracked)
        if weights is not None:
            self._rows[:, width] = weights
        self._rows[:, : self._sums_at] = np.tile(pairs.data.reshape(pairs.n, -1), 2)
        self._state = self._rows, columns, self._formulas, parameters

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of iterations."""
        settings = self._settings(self._loops.fused_takes)
        self._loops.fused(*self._state, *exchanges, *settings)
        self._iterations += len(exchanges[0])

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, K)."""
        if self._weighs:
            return weighted_gosta.readout(self._rows[:, self._sums_at : -1], 0.0) * self._scale
        K = len(self._formulas)
        if self._loops.has_sums:
            sums = np.empty((len(self._rows), K))
            loops.sums_at(*self._state, self._iterations, sums)
            sums *= self._scale / self._iterations
            return sums
        first = -K if self._loops.reads_means else self._sums_at
        return np.asarray(self._rows[:, first:][:, :K] * self._scale)


def _aligned_zeros(rows: int, columns: int) -> FloatArray:
    """Return zeros that start on a cache line, so that a 32-byte row never crosses two."""
    size = rows * columns * 8
    buffer = np.zeros(size + _CACHE_LINE, dtype=np.uint8)
    offset = -buffer.ctypes.data % _CACHE_LINE
    return buffer[offset : offset + size].view(np.float64).reshape(rows, columns)


# The engine for any kernel: the walk is compiled once, NumPy evaluates the kernel on blocks.


_NUMBERS_AT_ONCE = 1 << 13
"""The count of numbers per array for the kernel: memory above 128 KB is mapped again each time."""


class TokenEngine(_PairEngine):
    """Follows the held observations, and evaluates the kernel on each block's new pairs."""

    def __init__(self, pairs: Problem, how: Procedure) -> None:
        super().__init__(how)
        self._pairs = pairs
        walks = how.method.exchanges_per_iteration
        self._held = [own_observations(pairs.n) for _ in range(walks)]
        self._touched = 2 * walks
        self._piece = max(256, _NUMBERS_AT_ONCE // (self._touched * pairs.dimension))
        self._components = tuple(range(pairs.components))
        width = pairs.components + 2 if self._weighs else 2 * pairs.components + 1
        self._rows = np.zeros((pairs.n, width))
        if how.weights is not None:
            self._rows[:, -1] = how.weights
        elif not self._loops.has_means:
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
            (one, other), (first, second) = exchanges, self._held
            loops.walk_twice(one, other, first, second, nodes, firsts, seconds)
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


# GoTrim: ranks by swapping, and averages of the numbers that count by rank.


_TRIMMED_AT_ONCE = 1 << 12
"""The number of exchanges whose pairs are evaluated together."""


@loop
def _trim(rows, nodes, values, numbers, low, high, weight, start, together):  # type: ignore[no-untyped-def]
    """Swap, rank, count and average along a block of exchanges.

    A row is one node: its estimate, the sum of its samples of its rank, the present sample, the
    number of samples, and its counted number. With ``together`` all nodes take a sample at every
    exchange, not only the two. Then the row of a node that takes no part is updated when it next
    does: changes of its counted number in between cancel.
    """
    for s in range(nodes.shape[1]):
        for side in range(2):
            p = np.uint64(nodes[side, s])
            if together:
                rows[p, 1] += (start + s - rows[p, 3]) * rows[p, 2]
                rows[p, 3] = start + s
            rows[p, 2] = values[side, s]
            rows[p, 1] += values[side, s]
            rows[p, 3] += 1
            rank = rows[p, 1] / rows[p, 3]
            counted = weight * numbers[p] if low <= rank and rank < high else 0.0
            rows[p, 0] += counted - rows[p, 4]
            rows[p, 4] = counted
        i = np.uint64(nodes[0, s])
        j = np.uint64(nodes[1, s])
        average_at(rows, i, j, 0)


class TrimEngine(Engine):
    """Follows the held observations, and the numbers that nodes count by their estimated ranks."""

    def __init__(self, pairs: Problem, clock: str) -> None:
        self._pairs, self._together = pairs, clock == "sync"
        self._window: Window = pairs.step_options["window"]
        self._held, self._made = own_observations(pairs.n), 0
        self._rows = np.zeros((pairs.n, 5))
        self._rows[:, 2] = pairs.own_values()[:, 0]

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of exchanges."""
        for at in range(0, len(exchanges[0]), _TRIMMED_AT_ONCE):
            piece = exchanges[0][at : at + _TRIMMED_AT_ONCE]
            nodes = np.empty((2, len(piece)), dtype=np.intp)
            tokens = np.empty_like(nodes)
            loops.walk(piece, self._held, nodes, tokens)
            values = self._pairs.values(nodes.ravel(), tokens.ravel()).reshape(2, -1)
            numbers, low, high, weight = self._window
            known, start = (self._rows, nodes, values), float(self._made)
            _trim(*known, numbers, low, high, weight, start, self._together)
            self._made += len(piece)

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, 1)."""
        z, sums, now, samples, counted = self._rows.T
        if not self._together or not self._made:
            return self._rows[:, :1].copy()
        ranks = (sums + (self._made - samples) * now) / self._made
        nodes = own_observations(len(z))
        return z[:, None] + self._window.counted(nodes, ranks[:, None]) - counted[:, None]
