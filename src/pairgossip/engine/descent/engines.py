"""What defines a run of gossip dual averaging, its state, and the engine of reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from pairgossip.algorithms import dual_averaging
from pairgossip.algorithms import gossip_dual_averaging_async as plain_async
from pairgossip.algorithms import gossip_dual_averaging_sync as plain_sync
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.errors import InputError
from pairgossip.losses import Loss
from pairgossip.losses.learning import PairwiseLearning
from pairgossip.losses.proximal import PSD, Proximal

Steps = Callable[[FloatArray], FloatArray]


class Descent(NamedTuple):
    """What defines a run of gossip dual averaging besides its exchanges."""

    problem: PairwiseLearning
    proximal: Proximal
    steps: Steps
    clock: str
    probabilities: FloatArray
    """p_k: how often node k is picked."""


class Snapshot(NamedTuple):
    """A network's state at one moment; ``mean`` holds the averaged models."""

    held: IntArray
    z: FloatArray
    theta: FloatArray
    mean: FloatArray
    picks: IntArray
    """How often each node was picked; zeros where the clock is global."""


DESCENT_ENGINES = ("auto", "vectors", "plain")


class DescentEngine(Protocol):
    """A network in motion."""

    def advance(self, exchanges: PairArray) -> None:
        """Carry out a block of iterations."""

    def snapshot(self) -> Snapshot:
        """Read the state of every node without disturbing the run."""

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Go on from where another run stopped, after this many iterations."""


def check_descent_engine(name: str, descent: Descent) -> None:
    """Raise `InputError` unless the engine can run the problem."""
    if name != "vectors":
        return
    if isinstance(descent.problem.loss, Loss) and not descent.problem.compilable:
        raise InputError(
            "Engine 'vectors' takes gradients at pairs of single observations, which is not what "
            "nodes hold here: use {argument}.",
            "engine",
            "plain",
        )
    if not descent.problem.compilable or isinstance(descent.proximal, PSD):
        raise InputError(
            f"Engine '{name}' runs losses of the form w phi(theta . a + b) without a matrix "
            "constraint: use {argument}.",
            "engine",
            "plain",
        )


class PlainDescent:
    """Steps the reference algorithms one iteration at a time; needs numpy only."""

    def __init__(self, descent: Descent) -> None:
        self._descent = descent
        n, p = descent.problem.n, descent.problem.dimension
        self._sync = plain_sync.init(n, p)
        self._async = plain_async.init(n, p)

    def advance(self, exchanges: PairArray) -> None:
        """Carry out a block of iterations."""
        problem, prox = self._descent.problem, self._descent.proximal.map
        for pair in exchanges[:, None]:
            if self._descent.clock == "async":
                self._async = plain_async.step(
                    self._async, pair, problem.gradient, prox, self._gamma,
                    self._descent.probabilities,
                )  # fmt: skip
            else:
                gamma = self._gamma(self._sync.models.t + 1)
                self._sync = plain_sync.step(self._sync, pair, problem.gradient, prox, gamma)

    def _gamma(self, t: float) -> float:
        return float(self._descent.steps(np.array([t], dtype=np.float64))[0])

    def snapshot(self) -> Snapshot:
        """Read the state of every node."""
        if self._descent.clock == "async":
            state = self._async
            return Snapshot(state.held.copy(), state.z, state.theta, state.mean, state.picks)
        models, none = self._sync.models, np.zeros_like(self._async.picks)
        return Snapshot(self._sync.held.copy(), models.z, models.theta, models.mean, none)

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Go on from where another run stopped."""
        if self._descent.clock == "async":
            self._async = plain_async.State(*state)
        else:
            models = dual_averaging.State(iterations, state.z, state.theta, state.mean)
            self._sync = plain_sync.State(state.held, models)
