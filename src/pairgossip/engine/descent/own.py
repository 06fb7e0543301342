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
from pairgossip.engine.descent.fast import AdaptiveAsync, AsyncDescent
from pairgossip.engine.exchanges.compiled import bind, prepare_pointer
from pairgossip.losses import GeneralLoss
from pairgossip.losses.learning import PairwiseLearning

_NUMBERS = types.float64[::1]
_ARGUMENTS = (_NUMBERS,) * 4


class _OwnSteps:
    """Carries out blocks of iterations on rows of nodes, with a user's function."""

    def __init__(self, descent: Descent, loop: Any, orders: int) -> None:
        self._problem, self._orders, self._loop = descent.problem, orders, loop
        self._pull = prepare_pointer(build_pull(descent.problem), *_ARGUMENTS)
        self._is_sync = descent.clock == "sync"
        self._room = np.zeros((4, descent.problem.dimension))
        self._run: Any = None
        self.hold(own_observations(descent.problem.n))

    def hold(self, held: IntArray) -> None:
        """Let every node hold one of the observations."""
        self._held = self.pairs_of(own_observations(len(held)), held)

    def pairs_of(self, nodes: IntArray, tokens: IntArray) -> FloatArray:
        """Return what is known of pairs of observations, with axes (..., order, number)."""
        orders = ((nodes, tokens), (tokens, nodes))[: self._orders]
        each = [_numbers_of(self._problem, *order) for order in orders]
        return np.ascontiguousarray(np.stack(each, axis=-2))

    def advance(self, rows: FloatArray, exchanges: PairArray, pairs: Any, *settings: Any) -> None:
        """Carry out iterations whose new pairs are these."""
        block = np.require(exchanges, np.int32, ("C", "W"))
        given = rows, self._held, block, pairs, *settings, self._is_sync, self._room
        if self._run is None:
            self._run = bind(self._loop, (self._pull,), *given)
        self._run(*given)


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


class OwnDescent(AsyncDescent):
    """Steps of given sizes, on either clock."""

    def __init__(self, descent: Descent) -> None:
        super().__init__(descent)
        self._steps = _OwnSteps(descent, own_loops.advance, 1)

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Go on from where another run stopped."""
        super().restore(state, iterations)
        self._steps.hold(self._held)

    def _pairs_of(self, nodes: IntArray, tokens: IntArray) -> Any:
        return self._steps.pairs_of(nodes, tokens)

    def _move(self, exchanges: PairArray, nodes: IntArray, pairs: Any) -> None:
        if self._descent.clock == "async":
            counts = np.empty(nodes.shape)
            descent_loops.count_picks(exchanges, self._picks, counts)
            weights = 1 / self._probabilities
            iterations = counts / self._probabilities.take(nodes)
        else:
            first = self._iterations + 1.0
            iterations = counts = np.arange(first, first + len(exchanges))[None]
            weights = np.ones(len(self._rows))
        gammas = self._descent.sizes(iterations)
        sizes = gammas, iterations, 1 / counts
        self._steps.advance(self._rows, exchanges, pairs, sizes, weights, self._limits)


class OwnAdaptive(AdaptiveAsync):
    """The adaptive step, on either clock."""

    def __init__(self, descent: Descent) -> None:
        super().__init__(descent)
        self._steps = _OwnSteps(descent, own_loops.advance_adaptive, 2)
        ones, inverse = np.ones(descent.problem.n), self._settings[1]
        weights = (ones, inverse) if descent.clock == "sync" else (inverse, inverse**2)
        self._own_settings = *weights, self._settings, self._matrix_side

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Go on from where another run stopped."""
        super().restore(state, iterations)
        self._steps.hold(self._held)

    def _pairs_of(self, nodes: IntArray, tokens: IntArray) -> Any:
        return self._steps.pairs_of(nodes, tokens)

    def _move(self, exchanges: PairArray, nodes: IntArray, pairs: Any) -> None:
        self._steps.advance(self._rows, exchanges, pairs, *self._own_settings)
