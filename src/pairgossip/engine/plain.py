"""The reference engine: the algorithms as written, one iteration at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pairgossip.algorithms import (
    Method,
    averaging,
    gosta_async,
    gosta_sync,
    u1_gossip,
    u2_gossip,
    weighted_gosta,
)
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.kernels import PairProblem
from pairgossip.kernels.means import Means

Step = Callable[[Any, PairArray], Any]


class PlainEngine:
    """Steps an algorithm of ``pairgossip.algorithms`` through a schedule."""

    def __init__(
        self,
        problem: PairProblem | Means,
        method: Method,
        clock: str,
        order: str,
        weights: FloatArray | None = None,
    ) -> None:
        self._state: Any
        self._step: Step
        init: Callable[..., Any]
        step: Callable[..., Any]
        if isinstance(problem, Means):
            self._state = averaging.init(problem.data[:, None])
            self._step = averaging.step
            return
        if method.name == "u1":
            init, step = u1_gossip.init, u1_gossip.step
        elif method.name == "u2":
            init, step = u2_gossip.init, u2_gossip.step
        elif weights is not None:
            init, step = weighted_gosta.init, partial(weighted_gosta.step, weights=weights)
        elif clock == "async":
            init, step = gosta_async.init, gosta_async.step
        else:
            init, step = gosta_sync.init, partial(gosta_sync.step, order=order)
        self._state = init(problem.n, problem.components)
        self._step = partial(_with_kernel, step, problem)

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of iterations."""
        for iteration in np.stack(exchanges, axis=1):
            self._state = self._step(self._state, iteration)

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, K)."""
        if isinstance(self._state, weighted_gosta.State):
            return weighted_gosta.readout(self._state.mass, unknown=0.0)
        estimates: FloatArray = self._state.z.copy()
        return estimates


def _with_kernel(
    step: Callable[..., Any], pairs: PairProblem, state: Any, exchanges: PairArray
) -> Any:
    return step(state, exchanges, pairs.values)
