"""The engines of a user's own loss: its gradient, or its function of the margin, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.engine.descent import loops as descent_loops
from pairgossip.engine.descent import own_loops
from pairgossip.engine.descent.engines import Descent, Snapshot
from pairgossip.engine.descent.fast import AdaptiveAsync, AsyncDescent, Engine
from pairgossip.engine.exchanges.compiled import bind, prepare_pointer
from pairgossip.losses import GeneralLoss
from pairgossip.losses.learning import PairwiseLearning

_NUMBERS = types.float64[::1]
_ARGUMENTS = (_NUMBERS,) * 4


class _OwnSteps(Engine):
    """The base of engines that call a user's function, on blocks of iterations."""

    def _begin(self, loop: Any, orders: int) -> None:
        """Set the loop, and the number of orders in which it takes pairs."""
        problem = self._problem
        self._pull = prepare_pointer(build_pull(problem), *_ARGUMENTS)
        self._loop, self._orders = loop, orders
        self._is_sync = self._descent.clock == "sync"
        self._room = np.zeros((4, problem.dimension))
        self._run: Any = None
        self._hold_pairs()

    def _hold_pairs(self) -> None:
        self._pairs = self._pairs_of(own_observations(self._problem.n), self._held)

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Continue from the state of another run."""
        super().restore(state, iterations)  # type: ignore[misc]  # that of the other base
        self._hold_pairs()

    def _pairs_of(self, nodes: IntArray, tokens: IntArray) -> Any:
        """Return the numbers of pairs of observations, with axes (..., order, number)."""
        orders = ((nodes, tokens), (tokens, nodes))[: self._orders]
        each = [_numbers_of(self._problem, *order) for order in orders]
        return np.ascontiguousarray(np.stack(each, axis=-2))

    def _take_steps(self, rows: FloatArray, exchanges: PairArray, *settings: Any) -> None:
        """Carry out iterations; the first setting is their new pairs."""
        block = np.require(exchanges, np.int32, ("C", "W"))
        arguments = rows, self._pairs, block, *settings, self._is_sync, self._room
        if self._run is None:
            self._run = bind(self._loop, (self._pull,), *arguments)
        self._run(*arguments)


def build_pull(problem: PairwiseLearning) -> own_loops.Pull:
    """Return the function of one pair that the loops call."""
    if isinstance(problem.loss, GeneralLoss):
        return own_loops.pull_of_gradient(problem.own_slope, (1, *problem.data.shape[1:]))
    return own_loops.pull_of_margin(problem.own_slope)


def _numbers_of(problem: PairwiseLearning, nodes: IntArray, tokens: IntArray) -> FloatArray:
    first, second = (problem.data.take(each.ravel(), axis=0) for each in (nodes, tokens))
    loss = problem.loss
    if isinstance(loss, GeneralLoss):
        numbers = np.column_stack((first, second))
    else:
        numbers = loss.parts_at(first, second)
    return numbers.reshape(*nodes.shape, -1)


class OwnDescent(_OwnSteps, AsyncDescent):
    """Steps with sizes that are functions of time, on either clock."""

    def __init__(self, descent: Descent) -> None:
        super().__init__(descent)
        self._begin(own_loops.advance, 1)

    def _move(self, exchanges: PairArray, nodes: IntArray, pairs: Any) -> None:
        if self._is_sync:
            first = self._iterations + 1.0
            iterations = counts = np.arange(first, first + len(exchanges))[None]
            weights = np.ones(len(self._rows))
        else:
            counts = np.empty(nodes.shape)
            descent_loops.count_picks(exchanges, self._picks, counts)
            weights = 1 / self._probabilities
            iterations = counts / self._probabilities.take(nodes)
        sizes = self._descent.sizes(iterations), iterations, 1 / counts
        self._take_steps(self._rows, exchanges, pairs, sizes, weights, self._limits)


class OwnAdaptive(_OwnSteps, AdaptiveAsync):
    """The adaptive step, on either clock."""

    def __init__(self, descent: Descent) -> None:
        super().__init__(descent)
        self._begin(own_loops.advance_adaptive, 2)
        ones, inverse = np.ones(descent.problem.n), self._settings[1]
        weights = (ones, inverse) if self._is_sync else (inverse, inverse**2)
        self._own_settings = *weights, self._settings, self._matrix_side

    def _move(self, exchanges: PairArray, nodes: IntArray, pairs: Any) -> None:
        self._take_steps(self._rows, exchanges, pairs, *self._own_settings)
