"""Step sizes gamma(t), by which the accumulated gradients are multiplied at time t.

They are positive and never increase; gamma(0) means gamma(1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, overload

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import is_number
from pairgossip.errors import InputError

StepSize = Callable[[Any], Any]
"""A function of the time, a number or an array, that gives the step sizes."""

_DIRECT_TERMS = 2**20
"""The number of terms of a sum of powers that are added one by one; an integral adds the rest."""


@dataclass(frozen=True)
class PowerStep:
    """The step size scale t^-exponent; times below 1 count as 1.

    Parameters
    ----------
    scale
        The first step size, a positive number.
    exponent
        From 0, which makes it constant, to less than 1.
    """

    scale: float
    exponent: float

    def __post_init__(self) -> None:
        if not (is_number(self.scale) and math.isfinite(self.scale) and self.scale > 0):
            raise InputError(f"The step size starts at {self.scale}: give a finite number > 0.")
        if not (is_number(self.exponent) and 0.0 <= self.exponent < 1.0):
            raise InputError(
                f"The step size's exponent is {self.exponent}: give a number from 0 to less than 1."
            )

    @property
    def name(self) -> str:
        """Its name in messages and tables."""
        kinds = {0.0: "constant", 0.5: "inverse-sqrt"}
        return kinds.get(self.exponent, f"power-{self.exponent:g}")

    @overload
    def __call__(self, t: float) -> float: ...
    @overload
    def __call__(self, t: FloatArray) -> FloatArray: ...
    def __call__(self, t: Any) -> Any:
        """Return the step size at a time, or at every time of an array."""
        time = np.maximum(t, 1.0)
        # A square root is rounded correctly; a power need not be.
        slowed = np.sqrt(time) if self.exponent == 0.5 else time**self.exponent
        sizes = self.scale / slowed
        return sizes if np.ndim(t) else float(sizes)


@dataclass(frozen=True)
class AdaptiveStep:
    """The scale-free step of `adaptive`: its sizes are not a function of time.

    Parameters
    ----------
    scale
        The constant c, a positive number.
    """

    scale: float

    name = "adaptive"

    def __post_init__(self) -> None:
        if not (is_number(self.scale) and math.isfinite(self.scale) and self.scale > 0):
            raise InputError(
                f"The scale of the adaptive step is {self.scale}: give a finite number > 0."
            )


def adaptive(scale: float = 4.0) -> AdaptiveStep:
    """Return the step that needs no tuning: theta_q = -(c/sqrt(p)) z_q / (sqrt(s_q) a_q).

    s_q sums the squared gradients, and a_q is the root mean square of the pairs' features; both
    are averaged along with z. Without penalty and constraint, margins do not depend on the unit of
    any feature. Gradients are taken at both orders of a pair. A `GeneralLoss` has no features:
    there a_q is 1, and ``scale`` is about as large as the norm of a model.
    """
    return AdaptiveStep(scale)


def constant(scale: float) -> PowerStep:
    """Return the step size that is always `scale`."""
    return PowerStep(scale, 0.0)


def inverse_sqrt(scale: float) -> PowerStep:
    """Return the step size scale / sqrt(t)."""
    return PowerStep(scale, 0.5)


def power(scale: float, exponent: float) -> PowerStep:
    """Return the step size scale t^-exponent, 0 <= exponent < 1."""
    return PowerStep(scale, exponent)


def step_values(step: StepSize, times: FloatArray) -> FloatArray:
    """Evaluate a step size at many times, one by one if it does not take arrays."""
    try:
        sizes = np.asarray(step(times), dtype=np.float64)
    except (TypeError, ValueError, ArithmeticError):
        sizes = np.empty(0)
    if sizes.shape == times.shape:
        return sizes
    one_by_one = [_one_value(step, float(time)) for time in np.ravel(times)]
    return np.array(one_by_one).reshape(np.shape(times))


@dataclass(frozen=True)
class AnyStep:
    """A user's step size, wrapped to take arrays of any shape."""

    function: StepSize
    name: str = "custom"

    def __call__(self, t: FloatArray) -> FloatArray:
        """Return the step size at every time of an array."""
        return step_values(self.function, np.maximum(t, 1.0))


def check_steps(step: Any, horizon: float) -> None:
    """Raise `InputError` unless step sizes are positive and never increase up to a horizon.

    A user's function is tried at all times up to 64 and on a logarithmic grid beyond.
    """
    if isinstance(step, PowerStep | AdaptiveStep):
        return
    if not callable(step):
        raise InputError(
            f"A step size is a function of time, such as steps.inverse_sqrt(1e-3), "
            f"but got {type(step).__name__}: steps.constant makes one of a number."
        )
    grid = np.geomspace(1.0, max(horizon, 1.0), 400)
    times = np.unique(np.concatenate((np.arange(1.0, min(64.0, horizon) + 1.0), np.round(grid))))
    sizes = step_values(step, times)
    for index in np.flatnonzero(~(np.isfinite(sizes) & (sizes > 0)))[:1]:
        raise InputError(
            f"The step size at t = {times[index]:.0f} is {sizes[index]:g}: "
            f"every step size must be a finite number > 0."
        )
    # Rounding may make a constant computed in two ways rise by a last digit.
    for index in np.flatnonzero(sizes[1:] > sizes[:-1] * (1.0 + 1e-12))[:1]:
        raise InputError(
            f"The step size grows from {sizes[index]:g} at t = {times[index]:.0f} to "
            f"{sizes[index + 1]:g} at t = {times[index + 1]:.0f}: it must never increase."
        )


def step_sum(step: StepSize, horizon: int) -> float:
    """Return S_T = gamma(1) + gamma(1) + gamma(2) + ... + gamma(T - 1), T terms in all."""
    if horizon < 1:
        raise InputError(f"The horizon of a sum of step sizes is {horizon}: give one >= 1.")
    first = float(step_values(step, np.ones(1))[0])
    if not isinstance(step, PowerStep):
        return math.fsum((first, *_block_sums(step, horizon)))
    if step.exponent == 0.0:
        return step.scale * horizon
    direct = min(horizon, _DIRECT_TERMS)
    return math.fsum((first, *_block_sums(step, direct), _power_tail(step, direct, horizon)))


def _block_sums(step: StepSize, end: int) -> list[float]:
    """Sum step sizes over 1 <= t < end, block by block."""
    edges = [*range(1, end, 2**16), end]
    spans = pairwise(edges)
    return [float(step_values(step, np.arange(a, b, dtype=np.float64)).sum()) for a, b in spans]


def _power_tail(step: PowerStep, start: int, end: int) -> float:
    """Sum scale t^-exponent over start <= t < end by the Euler-Maclaurin formula.

    From a million on, the omitted terms are below the rounding of the others.
    """
    rise = 1.0 - step.exponent

    def antiderivative(t: float) -> float:
        slope = -step.exponent * t ** (-step.exponent - 1.0)
        return t**rise / rise - 0.5 * t**-step.exponent + slope / 12.0

    return step.scale * (antiderivative(float(end)) - antiderivative(float(start)))


def _one_value(step: StepSize, time: float) -> float:
    try:
        return float(step(time))
    except (TypeError, ValueError, ArithmeticError) as failure:
        raise InputError(
            f"The step size failed at t = {time:g}: it must take a time and return one number."
        ) from failure
