"""Proximal maps: T(z; gamma, t) minimizes z . theta + ||theta||^2 / (2 gamma) + t psi(theta).

psi is a penalty, a constraint (0 inside, infinite outside), or one of each; psi(0) = 0. In the
metric h of the adaptive step, sum_q h_q theta_q^2 / 2 takes the place of ||theta||^2 / (2 gamma).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import is_number
from pairgossip.errors import InputError

# Norms, projections and checks that the proximal maps share.


def _norms(theta: FloatArray) -> FloatArray:
    """Return the Euclidean norms of models (..., p), without overflow."""
    with np.errstate(over="ignore"):
        plain = np.sqrt(np.square(theta).sum(axis=-1))
    if np.isfinite(plain).all():
        return np.asarray(plain)
    # Squares overflowed: take the largest coordinate out first.
    largest = np.maximum(np.abs(theta).max(axis=-1), 1.0)
    return largest * np.sqrt(np.square(theta / largest[..., None]).sum(axis=-1))


def _onto_ball(theta: FloatArray, radius: float) -> FloatArray:
    """Scale models down to a norm of at most the radius."""
    return theta * (radius / np.maximum(_norms(theta), radius))[..., None]


def _onto_cone(theta: FloatArray) -> FloatArray:
    """Return the nearest positive semidefinite matrices, flattened row by row."""
    values, vectors = np.linalg.eigh(symmetric(theta))
    kept = vectors * np.maximum(values, 0.0)[..., None, :]
    return (kept @ np.swapaxes(vectors, -1, -2)).reshape(np.shape(theta))


def symmetric(theta: FloatArray) -> FloatArray:
    """Unflatten models into square matrices and keep their symmetric parts."""
    side = math.isqrt(np.shape(theta)[-1])
    if side * side != np.shape(theta)[-1]:
        raise InputError(
            f"PSD needs square matrices, but the model has {np.shape(theta)[-1]} parameters: "
            f"use it with a loss of full matrices, such as 'metric-hinge'."
        )
    square = np.asarray(theta).reshape(*np.shape(theta)[:-1], side, side)
    return 0.5 * (square + np.swapaxes(square, -1, -2))


_MOST_STEPS = 100
"""The largest number of Newton steps. They take 5 to 10, unless numbers are not finite."""


def _inside_metric(z: FloatArray, metric: FloatArray) -> FloatArray:
    """Minimize z . theta + sum_q h_q theta_q^2 / 2; 0 where the metric is 0.

    There z is 0 as well, or so small that squares vanish.
    """
    return np.divide(-z, metric, out=np.zeros_like(z), where=metric > 0)


def _onto_ball_in_metric(z: FloatArray, metric: FloatArray, radius: float) -> FloatArray:
    """Minimize the same over a ball: theta_q = -z_q/(h_q + mu), with mu such that ||theta|| = R.

    1/||theta|| is concave in mu and grows: Newton's method for 1/||theta|| = 1/R rises to the root.
    """
    theta, shift = _inside_metric(z, metric), np.zeros(z.shape[:-1])
    moves = theta != 0
    for _ in range(_MOST_STEPS):
        norms = _norms(theta)
        outside = norms > radius * (1.0 + 1e-15)
        if not outside.any():
            break
        slopes = np.divide(theta**2, metric + shift[..., None], out=np.zeros_like(z), where=moves)
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = norms**2 / slopes.sum(axis=-1) * (norms - radius) / radius
        further = np.where(outside, shift + rise, shift)
        if np.array_equal(further, shift):
            break
        shift = further
        theta = _inside_metric(z, metric + np.where(moves, shift[..., None], 0.0))
    return _onto_ball(theta, radius)


def _barrier(inside: Any) -> FloatArray:
    """Return 0 inside a constraint and infinity outside."""
    return np.where(inside, 0.0, np.inf)


def _check_radius(radius: float) -> None:
    """Raise `InputError` unless the radius is finite and positive."""
    if not (is_number(radius) and math.isfinite(radius) and radius > 0):
        raise InputError(
            f"The radius of a constraint is {radius}: give a finite number > 0, "
            f"or leave out the constraint."
        )


def _check_strength(strength: float) -> None:
    """Raise `InputError` unless the strength is finite and not negative."""
    if not (is_number(strength) and math.isfinite(strength) and strength >= 0):
        raise InputError(f"The strength of a penalty is {strength}: give a finite number >= 0.")


_SLACK = 1e-9
"""The distance outside its set, relative to the set's size, that is taken for rounding."""


class Proximal(ABC):
    """The interface of all proximal maps; unused numbers have values without effect."""

    on_line: bool = True
    """Whether T(z; gamma, t) is always a multiple of z."""
    radius: float = math.inf
    strength: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    is_cone: bool = False
    """Whether models are matrices that stay positive semidefinite."""
    curvature: float = 0.0
    """The second derivative of the penalty."""

    def map(self, z: FloatArray, gamma: Any, t: Any) -> FloatArray:
        """Return T(z; gamma, t) for z (..., p); gamma and t broadcast over the leading axes."""
        sums = np.asarray(z, dtype=np.float64)
        # Numbers per model get an axis for the model's coordinates.
        sizes, times = (np.asarray(each, dtype=np.float64)[..., None] for each in (gamma, t))
        shrunk = -sizes / (1.0 + self.curvature * times * sizes)
        return self.project(shrunk * self._soften(sums, times))

    def map_in_metric(self, z: FloatArray, metric: FloatArray, t: FloatArray) -> FloatArray:
        """Return the minimum of z . theta + sum_q h_q theta_q^2 / 2 + t psi(theta), row by row."""
        times = np.asarray(t)[..., None]
        return self._constrain(self._soften(z, times), metric + self.curvature * times)

    def psi(self, theta: FloatArray) -> FloatArray:
        """Return the penalty of models (..., p), infinite outside the constraint, shape (...)."""
        return self._penalty(np.asarray(theta, dtype=np.float64))

    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest models that obey the constraint, if there is one."""
        return np.asarray(theta, dtype=np.float64)

    def _soften(self, z: FloatArray, t: FloatArray) -> FloatArray:
        """Return z of the same problem without the kink of the penalty, if it has one."""
        return z

    def _constrain(self, z: FloatArray, metric: FloatArray) -> FloatArray:
        """Return the minimum in the metric under the constraint, if there is one."""
        return _inside_metric(z, metric)

    @abstractmethod
    def _penalty(self, theta: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class Unconstrained(Proximal):
    """No penalty and no constraint: T = -gamma z."""

    def _penalty(self, theta: FloatArray) -> FloatArray:
        return np.zeros(theta.shape[:-1])


@dataclass(frozen=True)
class Ball(Proximal):
    """Models of Euclidean norm up to a radius."""

    radius: float = field()

    def __post_init__(self) -> None:
        _check_radius(self.radius)

    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest models of the ball."""
        return _onto_ball(theta, self.radius)

    def _constrain(self, z: FloatArray, metric: FloatArray) -> FloatArray:
        return _onto_ball_in_metric(z, metric, self.radius)

    def _penalty(self, theta: FloatArray) -> FloatArray:
        return _barrier(_norms(theta) <= self.radius * (1.0 + _SLACK))


@dataclass(frozen=True)
class Box(Proximal):
    """Models whose every coordinate is between two bounds, which may be infinite."""

    low: float = field()
    high: float = field()
    on_line = False

    def __post_init__(self) -> None:
        numbers = is_number(self.low) and is_number(self.high)
        if not (numbers and self.low <= 0.0 <= self.high and self.low < self.high):
            raise InputError(
                f"A box must contain 0, where every model starts, and more, but got "
                f"[{self.low}, {self.high}]: give low <= 0 <= high, not both 0."
            )

    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest models of the box."""
        return np.clip(theta, self.low, self.high)

    def _constrain(self, z: FloatArray, metric: FloatArray) -> FloatArray:
        return self.project(_inside_metric(z, metric))

    def _penalty(self, theta: FloatArray) -> FloatArray:
        return _barrier(((theta >= self.low) & (theta <= self.high)).all(axis=-1))


@dataclass(frozen=True)
class L1(Proximal):
    """The penalty strength * ||theta||_1, which sets small coordinates to 0."""

    strength: float = field()
    on_line = False

    def __post_init__(self) -> None:
        _check_strength(self.strength)

    def _soften(self, z: FloatArray, t: FloatArray) -> FloatArray:
        return np.sign(z) * np.maximum(np.abs(z) - t * self.strength, 0.0)

    def _penalty(self, theta: FloatArray) -> FloatArray:
        return self.strength * np.abs(theta).sum(axis=-1)


@dataclass(frozen=True)
class SquaredL2(Proximal):
    """The penalty strength * ||theta||^2."""

    strength: float = field()

    def __post_init__(self) -> None:
        _check_strength(self.strength)
        object.__setattr__(self, "curvature", 2.0 * self.strength)

    def _penalty(self, theta: FloatArray) -> FloatArray:
        return self.strength * np.square(theta).sum(axis=-1)


@dataclass(frozen=True, init=False)
class PSD(Proximal):
    """Positive semidefinite matrices, flattened row by row, of Frobenius norm up to a radius.

    The adaptive step then uses one number for the whole matrix, the root mean square of its metric,
    as the nearest matrix has no closed form where every entry has its own metric.

    Parameters
    ----------
    radius
        The largest norm; None for no limit.
    """

    radius: float = field()
    on_line = False
    is_cone = True

    def __init__(self, radius: float | None = None) -> None:
        if radius is not None:
            _check_radius(radius)
        object.__setattr__(self, "radius", math.inf if radius is None else radius)

    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest matrices of the set."""
        # The cone's tip is the ball's center, so the two projections may follow each other.
        nearest = _onto_cone(theta)
        return nearest if math.isinf(self.radius) else _onto_ball(nearest, self.radius)

    def _constrain(self, z: FloatArray, metric: FloatArray) -> FloatArray:
        whole = np.sqrt(np.square(metric).mean(axis=-1, keepdims=True))
        return self.project(_inside_metric(z, np.broadcast_to(whole, z.shape)))

    def _penalty(self, theta: FloatArray) -> FloatArray:
        values = np.linalg.eigvalsh(symmetric(theta))
        above_zero = values[..., 0] >= -_SLACK * np.abs(values).max(axis=-1)
        return _barrier(above_zero & (_norms(theta) <= self.radius * (1.0 + _SLACK)))


@dataclass(frozen=True)
class Combined(Proximal):
    """A penalty and a constraint: the penalty's map, then the constraint's projection.

    This order is exact for the pairs allowed here: squared l2 or l1 with a ball, l1 with a box,
    squared l2 with a cone.
    """

    penalty: L1 | SquaredL2
    constraint: Ball | Box | PSD

    def __post_init__(self) -> None:
        kinds = (type(self.penalty), type(self.constraint))
        if kinds not in _COMBINATIONS:
            raise InputError(
                f"{kinds[0].__name__} with {kinds[1].__name__} is not supported: "
                f"combine SquaredL2 or L1 with Ball, L1 with Box, or SquaredL2 with PSD."
            )
        object.__setattr__(self, "on_line", self.penalty.on_line and self.constraint.on_line)
        for name in ("strength", "curvature"):
            object.__setattr__(self, name, getattr(self.penalty, name))
        for name in ("radius", "low", "high", "is_cone"):
            object.__setattr__(self, name, getattr(self.constraint, name))

    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest models that obey the constraint."""
        return self.constraint.project(theta)

    def _soften(self, z: FloatArray, t: FloatArray) -> FloatArray:
        return self.penalty._soften(z, t)

    def _constrain(self, z: FloatArray, metric: FloatArray) -> FloatArray:
        return self.constraint._constrain(z, metric)

    def _penalty(self, theta: FloatArray) -> FloatArray:
        return self.penalty.psi(theta) + self.constraint.psi(theta)


_COMBINATIONS = ((SquaredL2, Ball), (L1, Ball), (L1, Box), (SquaredL2, PSD))


def as_proximal(constraint: Any = None, penalty: Any = None) -> Proximal:
    """Make one proximal map of a constraint and a penalty, either of which may be None."""
    limits = _one_of((Ball, Box, PSD), constraint, "constraint")
    price = _one_of((L1, SquaredL2), penalty, "penalty")
    if limits is not None and price is not None:
        return Combined(price, limits)
    return limits or price or Unconstrained()


def _one_of(kinds: tuple[type, ...], value: Any, role: str) -> Any:
    if value is None or isinstance(value, Unconstrained):
        return None
    if not isinstance(value, kinds):
        names = ", ".join(kind.__name__ for kind in kinds)
        raise InputError(f"A {role} is one of {names} or None, but got {type(value).__name__}.")
    return value
