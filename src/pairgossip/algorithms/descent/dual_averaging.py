"""Centralized dual averaging, all data in one place: the baseline, and the step of every variant.

Every variant of dual averaging accumulates gradients in z and maps them to a model by

    T(z; gamma, t) = argmin_theta { z . theta + ||theta||^2 / (2 gamma) + t psi(theta) },

which descends; the paper prints the map that ascends at every call. Here ``gamma`` is the step size
of iteration t, which multiplies the whole accumulated sum, and the result is the mean of the models
after each update.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray

ProximalMap = Callable[[FloatArray, float, float], FloatArray]
"""``T(z, gamma, t)``."""
Gradient = Callable[[FloatArray], FloatArray]
"""A gradient at theta: of the whole objective, or of every node's share."""


class State(NamedTuple):
    """Accumulated gradients, the current model and the mean of the models so far."""

    t: int
    z: FloatArray
    theta: FloatArray
    mean: FloatArray


def init(*shape: int) -> State:
    """Return zero sums and zero models, of shape (p,), or (n, p) for a network."""
    return State(0, np.zeros(shape), np.zeros(shape), np.zeros(shape))


def step(state: State, gradient: Gradient, prox: ProximalMap, gamma: float) -> State:
    """Make one iteration with the gradient of the whole objective."""
    return accumulate(state, state.z, gradient, prox, gamma)


def accumulate(
    state: State, z: FloatArray, gradient: Gradient, prox: ProximalMap, gamma: float
) -> State:
    """Add the gradient at the previous model to ``z``, map to a new model, average it in."""
    t = state.t + 1
    z = z + gradient(state.theta)
    theta = prox(z, gamma, t)
    return State(t, z, theta, (1 - 1 / t) * state.mean + theta / t)
