"""The compiled engines of gossip dual averaging."""

from __future__ import annotations

import math

import numpy as np

from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.engine.descent import adaptive_loops, line_loops
from pairgossip.engine.descent import loops as descent_loops
from pairgossip.engine.descent.engines import (
    Descent,
    NodeParts,
    Snapshot,
    adaptive_snapshot,
    take_snapshot,
)
from pairgossip.engine.descent.line_loops import Lines
from pairgossip.engine.estimation import loops as token_loops
from pairgossip.losses.learning import is_ordering
from pairgossip.losses.proximal import L1
from pairgossip.losses.steps import AdaptiveStep

_PairParts = tuple[FloatArray, FloatArray, FloatArray]
"""Features, weights and offsets of pairs."""
_NUMBERS_AT_ONCE = 1 << 15
"""The count of numbers per array of pair features: many per call, but few enough for the cache."""


class Engine:
    """The base of all engines, with the held observations and the new pairs of a block."""

    def __init__(self, descent: Descent) -> None:
        self._descent = descent
        problem = descent.problem
        self._problem = problem
        self._phi = int(problem.loss.phi.code) if problem.compilable else -1  # type: ignore[union-attr]
        self._held = own_observations(problem.n)
        self._iterations = 0
        self._piece = max(256, _NUMBERS_AT_ONCE // (2 * problem.dimension))
        self._is_ordering = is_ordering(problem.loss)
        # Reused from piece to piece: new memory of this size would be mapped again each time.
        self._features = np.zeros((2, self._piece, problem.dimension))
        self._weights, self._offsets = np.empty((2, self._piece)), np.zeros((2, self._piece))

    def advance(self, exchanges: PairArray) -> None:
        """Carry out a block of iterations."""
        for start in range(0, len(exchanges), self._piece):
            piece = exchanges[start : start + self._piece]
            nodes = np.empty((2, len(piece)), dtype=np.intp)
            tokens = np.empty_like(nodes)
            token_loops.walk(piece, self._held, nodes, tokens)
            self._move(piece, nodes, self._pairs_of(nodes, tokens))
            self._iterations += len(piece)

    def _pairs_of(self, nodes: IntArray, tokens: IntArray) -> _PairParts:
        """Return features, weights and offsets of the new pairs, each with axes (side, iteration).

        The arrays may be longer: a slice has another type for numba, which would compile
        everything again for it.
        """
        problem, shape = self._problem, nodes.shape
        if self._is_ordering:
            descent_loops.ordering_pairs(problem.data, nodes, tokens, self._features, self._weights)
            return self._features, self._weights, self._offsets
        a, w, b = problem.pairs(nodes.ravel(), tokens.ravel())
        return a.reshape(*shape, -1), w.reshape(shape), b.reshape(shape)

    def _move(self, exchanges: PairArray, nodes: IntArray, pairs: _PairParts) -> None:
        raise NotImplementedError

    def _gammas(self, first: int, count: int) -> FloatArray:
        t = np.arange(first, first + count, dtype=np.float64)
        return self._descent.sizes(np.maximum(t, 1.0))


def _limits(descent: Descent) -> tuple[float, float, float, float, float, int]:
    """Return the limits of `loops`, for compiled code."""
    proximal = descent.proximal
    is_l1 = isinstance(getattr(proximal, "penalty", proximal), L1)
    return (
        float(proximal.strength) if is_l1 else 0.0,
        0.0 if is_l1 else float(proximal.strength),
        float(proximal.radius),
        float(proximal.low),
        float(proximal.high),
        math.isqrt(descent.problem.dimension) if proximal.is_cone else 0,
    )


class LineDescent(Engine):
    """Synchronous, by the line trick: no constraint, a ball, a squared l2 penalty, or both."""

    def __init__(self, descent: Descent) -> None:
        super().__init__(descent)
        n, p = descent.problem.n, descent.problem.dimension
        scale_bits = np.zeros(n, dtype=np.int64)
        self._lines = Lines(
            z=np.zeros((n, p)),
            a=np.zeros((n, p)),
            theta_sum=np.zeros((n, p)),
            last=np.zeros(n, dtype=np.int64),
            slot=np.full(n, line_loops.IDLE, dtype=np.int64),
            members=np.zeros(n, dtype=np.int64),
            slots=np.zeros((line_loops.QUANTITIES, n)),
            scale_bits=scale_bits,
            scale=scale_bits.view(np.float64),
        )
        _, self._l2, self._radius, *_ = _limits(descent)
        self._gamma = 0.0
        self._enter_lines()

    def _enter_lines(self) -> None:
        """Put every node on the line of its pair, before it moves."""
        own = own_observations(self._problem.n)
        features, weights, offsets = self._problem.pairs(own, self._held)
        self._lines.a[:] = features
        self._count = line_loops.enter_all(self._lines, weights, offsets, self._gamma, self._radius)

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Continue from the state of another run."""
        self._held = state.held.copy()
        self._lines.z[:], self._lines.theta_sum[:] = state.z, state.mean * iterations
        self._lines.slot[:] = line_loops.IDLE
        self._iterations = iterations
        gamma = float(self._gammas(iterations, 1)[0])
        self._gamma = gamma / (1 + 2 * self._l2 * iterations * gamma)
        self._enter_lines()

    def _move(self, exchanges: PairArray, nodes: IntArray, pairs: _PairParts) -> None:
        t = np.arange(self._iterations, self._iterations + len(exchanges) + 1, dtype=np.float64)
        gammas = self._gammas(self._iterations, len(t))
        gammas = gammas / (1 + 2 * self._l2 * t * gammas)
        sums = np.concatenate([[0.0], np.cumsum(gammas[1:])])
        self._count = line_loops.advance(
            self._lines, self._count, exchanges, pairs, (gammas, sums), self._phi, self._radius
        )
        self._gamma = float(gammas[-1])

    def snapshot(self) -> Snapshot:
        """Read the state of every node."""
        sums, theta, z = (np.empty_like(self._lines.z) for _ in range(3))
        line_loops.read(self._lines, self._gamma, self._radius, sums, theta, z)
        return take_snapshot(self._held, z, theta, sums / max(self._iterations, 1))


class _RowEngine(Engine):
    """The base of engines with the accumulator, model and mean of a node in one row."""

    def __init__(self, descent: Descent) -> None:
        super().__init__(descent)
        self._rows = np.zeros((descent.problem.n, 3 * descent.problem.dimension))
        self._limits = _limits(descent)
        self._picks: IntArray = np.zeros(descent.problem.n, dtype=np.int64)

    def snapshot(self) -> Snapshot:
        """Read the state of every node."""
        z, theta, mean = np.split(self._rows.copy(), 3, axis=1)
        return take_snapshot(self._held, z, theta, mean, self._picks.copy())

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Continue from the state of another run."""
        self._rows = np.concatenate([state.z, state.theta, state.mean], axis=1)
        self._held, self._picks = state.held.copy(), state.picks.copy()
        self._iterations = iterations


class VectorDescent(_RowEngine):
    """Synchronous, every node every iteration: l1, box and cone, whose models leave the line."""

    def __init__(self, descent: Descent) -> None:
        super().__init__(descent)
        self._hold_pairs()

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Continue from the state of another run."""
        super().restore(state, iterations)
        self._hold_pairs()

    def _hold_pairs(self) -> None:
        own = own_observations(len(self._rows))
        parts = self._problem.pairs(own, self._held)
        self._pairs = tuple(part.copy() for part in parts)

    def _move(self, exchanges: PairArray, nodes: IntArray, pairs: _PairParts) -> None:
        gammas = self._gammas(self._iterations + 1, len(exchanges))
        descent_loops.synchronous(
            self._rows, self._pairs, exchanges, pairs, self._phi, gammas, self._iterations,
            self._limits,
        )  # fmt: skip


class AsyncDescent(_RowEngine):
    """Asynchronous: two nodes per exchange."""

    def __init__(self, descent: Descent) -> None:
        super().__init__(descent)
        self._probabilities = np.ascontiguousarray(descent.probabilities)

    def parts(self) -> NodeParts:
        """Return the state in place."""
        z = self._rows[:, : self._problem.dimension]
        return NodeParts(z, (self._rows, self._held, self._picks))

    def _move(self, exchanges: PairArray, nodes: IntArray, pairs: _PairParts) -> None:
        counts = np.empty(nodes.shape)
        descent_loops.count_picks(exchanges, self._picks, counts)
        # Each node's own estimate of the number of iterations so far.
        iterations = counts / self._probabilities.take(nodes)
        gammas = self._descent.sizes(iterations)
        descent_loops.asynchronous(
            self._rows, exchanges, pairs, self._phi, counts, gammas, iterations,
            self._probabilities, self._limits,
        )  # fmt: skip


class _AdaptiveEngine(Engine):
    """The base of engines of the adaptive step, which take pairs in both orders."""

    def __init__(self, descent: Descent) -> None:
        super().__init__(descent)
        assert isinstance(descent.steps, AdaptiveStep)
        weights = np.ascontiguousarray(1 / descent.probabilities)
        limits = _limits(descent)
        self._settings = float(descent.steps.scale), weights, limits
        *_, radius, low, high, side = limits
        self._matrix_side = side if side > 0 else None
        self._is_bounded = (radius, low, high, side) != (np.inf, -np.inf, np.inf, 0)
        # The first axis is the order: an ordering loss has weight in one order only.
        self._features, self._weights = self._features[None], self._weights[None]
        self._offsets = self._offsets[None]

    def _pairs_of(self, nodes: IntArray, tokens: IntArray) -> _PairParts:
        if not self._is_ordering:
            return self._both_orders(nodes, tokens)
        room = self._features, self._weights
        adaptive_loops.ordering_pairs(self._problem.data, nodes, tokens, *room)
        return *room, self._offsets

    def _both_orders(self, nodes: IntArray, tokens: IntArray) -> _PairParts:
        orders, shape = ((nodes, tokens), (tokens, nodes)), (2, *nodes.shape)
        parts = (self._problem.pairs(one.ravel(), other.ravel()) for one, other in orders)
        a, w, b = (np.stack(part) for part in zip(*parts, strict=True))
        return a.reshape(*shape, -1), w.reshape(shape), b.reshape(shape)


class AdaptiveAsync(_AdaptiveEngine):
    """The adaptive step, asynchronous: two nodes per exchange, sums and model in one row."""

    def __init__(self, descent: Descent) -> None:
        super().__init__(descent)
        self._rows = np.zeros((descent.problem.n, 4 * descent.problem.dimension + 1))

    def parts(self) -> NodeParts:
        """Return the state in place."""
        return NodeParts(self._rows[:, : self._problem.dimension], (self._rows, self._held))

    def _move(self, exchanges: PairArray, nodes: IntArray, pairs: _PairParts) -> None:
        adaptive_loops.asynchronous(
            self._rows, exchanges, pairs, self._phi, self._settings, self._matrix_side
        )

    def snapshot(self) -> Snapshot:
        """Read the state of every node."""
        sums, theta = np.split(self._rows, (-self._problem.dimension,), axis=1)
        return adaptive_snapshot(self._held, sums, theta)

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Continue from the state of another run."""
        self._rows = np.concatenate([state.z, state.metric, state.theta], axis=1)
        self._held, self._iterations = state.held.copy(), iterations


class AdaptiveSync(_AdaptiveEngine):
    """The adaptive step, synchronous: every node every iteration, one column each."""

    def __init__(self, descent: Descent) -> None:
        super().__init__(descent)
        n, p = descent.problem.n, descent.problem.dimension
        self._columns = np.zeros((4, p, n))
        """z, s, d and the models."""
        bits = np.zeros(n, dtype=np.int64)
        spare = np.empty(n), bits, bits.view(np.float64)
        self._room = np.zeros((3, n)), spare
        self._node = np.empty((4, p)) if self._is_bounded else None
        self._hold_pairs()

    def _hold_pairs(self) -> None:
        features, weights, offsets = self._both_orders(
            own_observations(self._problem.n), self._held
        )
        if self._is_ordering:
            features = np.where((weights[0] >= weights[1])[:, None], features[0], features[1])[None]
            weights, offsets = weights.max(axis=0)[None], offsets[:1]
        self._pairs = features.transpose(0, 2, 1).copy(), weights, offsets.copy()

    def _move(self, exchanges: PairArray, nodes: IntArray, pairs: _PairParts) -> None:
        adaptive_loops.synchronous(
            self._columns, self._iterations, self._pairs, exchanges, pairs, self._phi,
            self._settings, self._room, self._node, self._matrix_side,
        )  # fmt: skip

    def snapshot(self) -> Snapshot:
        """Read the state of every node."""
        *sums, theta = self._columns.transpose(0, 2, 1)
        counts = np.full((len(theta), 1), float(self._iterations))
        return adaptive_snapshot(self._held, np.concatenate([*sums, counts], axis=1), theta)

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Continue from the state of another run."""
        parts = (state.z, *np.split(state.metric[:, :-1], 2, axis=1), state.theta)
        self._columns[:] = [part.T for part in parts]
        self._held, self._iterations = state.held.copy(), iterations
        self._hold_pairs()
