"""The definition of a run of gossip dual averaging, its state, and the reference engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from pairgossip.algorithms.descent import adaptive_dual_averaging as plain_adaptive
from pairgossip.algorithms.descent import dual_averaging
from pairgossip.algorithms.descent import gossip_dual_averaging_async as plain_async
from pairgossip.algorithms.descent import gossip_dual_averaging_sync as plain_sync
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.errors import InputError
from pairgossip.losses.learning import PairwiseLearning
from pairgossip.losses.proximal import Proximal
from pairgossip.losses.steps import AdaptiveStep

Steps = Callable[[FloatArray], FloatArray]


class Descent(NamedTuple):
    """The definition of a run of gossip dual averaging, except for its exchanges."""

    problem: PairwiseLearning
    proximal: Proximal
    steps: Steps | AdaptiveStep
    clock: str
    probabilities: FloatArray
    """p_k: the probability that node k is picked."""

    def sizes(self, times: FloatArray) -> FloatArray:
        """Return the step sizes at these times, where steps are a function of time."""
        assert not isinstance(self.steps, AdaptiveStep)
        return np.ascontiguousarray(self.steps(times), dtype=np.float64)

    @property
    def averaged(self) -> int:
        """The count of numbers that two nodes average in an exchange."""
        p = self.problem.dimension
        return 3 * p + 1 if isinstance(self.steps, AdaptiveStep) else p


class Snapshot(NamedTuple):
    """A network's state at one moment.

    ``mean`` holds the reported models: their averages over time, or with the adaptive step, which
    is better without averaging, the present models.
    """

    held: IntArray
    z: FloatArray
    theta: FloatArray
    mean: FloatArray
    picks: IntArray
    """The number of picks of each node; zeros where nodes do not count them."""
    metric: FloatArray
    """Sums of squared gradients and of squared features and the count m, averaged like z: 2p + 1
    numbers per node with the adaptive step, and 0 otherwise."""


def take_snapshot(
    held: IntArray,
    z: FloatArray,
    theta: FloatArray,
    mean: FloatArray,
    picks: IntArray | None = None,
    metric: FloatArray | None = None,
) -> Snapshot:
    """Return the state of a network; picks are 0 by default, and the metric is empty."""
    if picks is None:
        picks = np.zeros(len(held), dtype=np.int64)
    if metric is None:
        metric = np.zeros((len(held), 0))
    return Snapshot(held.copy(), z, theta, mean, picks, metric)


class NodeParts(NamedTuple):
    """The state of an asynchronous network in place."""

    z: FloatArray
    """The values that nodes send, shape (n, p)."""
    arrays: tuple[Any, ...]
    """All arrays with an entry or row for each node; ``z`` is one of them, or a part of one."""


class DescentEngine(Protocol):
    """A network in motion."""

    def advance(self, exchanges: PairArray) -> None:
        """Carry out a block of iterations."""

    def snapshot(self) -> Snapshot:
        """Read the state of every node without disturbing the run."""

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Continue from the state of another run after this number of iterations."""


def check_descent_engine(name: str, descent: Descent) -> None:
    """Raise `InputError` unless the engine can run the problem."""
    if name != "vectors" or descent.problem.compilable:
        return
    does, other = "runs only losses of the form w phi(theta . a + b) with a built-in phi", "auto"
    if descent.problem.own_slope is None:
        does = (
            "takes gradients at pairs of single observations only, but nodes hold other data here"
        )
        other = "plain"
    raise InputError(f"Engine 'vectors' {does}: use {{argument}}.", "engine", other)


class PlainDescent:
    """Runs the reference algorithms one iteration at a time; needs numpy only."""

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

    def parts(self) -> NodeParts:
        """Return the asynchronous state in place."""
        held, z, theta, mean, picks = self._async
        state = held.copy(), z.copy(), theta.copy(), mean.copy(), picks.copy()
        self._async = plain_async.State(*state)  # the zeros of the start are one array
        return NodeParts(self._async.z, self._async)

    def _gamma(self, t: float) -> float:
        return float(self._descent.sizes(np.array([t], dtype=np.float64))[0])

    def snapshot(self) -> Snapshot:
        """Read the state of every node."""
        if self._descent.clock == "async":
            return take_snapshot(*self._async)
        held, (_, z, theta, mean) = self._sync
        return take_snapshot(held, z, theta, mean)

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Continue from the state of another run."""
        if self._descent.clock == "async":
            self._async = plain_async.State(*state[:-1])
        else:
            models = dual_averaging.State(iterations, state.z, state.theta, state.mean)
            self._sync = plain_sync.State(state.held, models)


class PlainAdaptive:
    """Runs the adaptive algorithm one iteration at a time; needs numpy only."""

    def __init__(self, descent: Descent) -> None:
        assert isinstance(descent.steps, AdaptiveStep)
        self._pull = descent.problem.pull
        self._descent, self._scale = descent, descent.steps.scale
        self._state = plain_adaptive.init(descent.problem.n, descent.problem.dimension)

    def advance(self, exchanges: PairArray) -> None:
        """Carry out a block of iterations."""
        descent = self._descent
        is_async = descent.clock == "async"
        step = plain_adaptive.step_async if is_async else plain_adaptive.step_sync
        for pair in exchanges[:, None]:
            self._state = step(
                self._state, pair, self._pull, descent.proximal.map_in_metric,
                self._scale, descent.probabilities,
            )  # fmt: skip

    def parts(self) -> NodeParts:
        """Return the state in place."""
        z = self._state.sums[:, : self._descent.problem.dimension]
        return NodeParts(z, self._state)

    def snapshot(self) -> Snapshot:
        """Read the state of every node."""
        return adaptive_snapshot(*self._state)

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Continue from the state of another run."""
        sums = np.concatenate([state.z, state.metric], axis=1)
        self._state = plain_adaptive.State(state.held, sums, state.theta)


def adaptive_snapshot(held: IntArray, sums: FloatArray, theta: FloatArray) -> Snapshot:
    """Return the state of a network whose nodes have these sums and models, copied."""
    z, metric = np.split(sums, (theta.shape[1],), axis=1)
    return take_snapshot(held, z.copy(), theta.copy(), theta.copy(), metric=metric.copy())
