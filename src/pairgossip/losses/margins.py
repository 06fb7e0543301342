"""Convex functions of a margin u, small where a pair is ordered well, and the facts about each.

A new function is an entry of `MARGINS`; for compiled code it also needs a `Phi`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.errors import InputError
from pairgossip.losses import sums


class Phi(IntEnum):
    """The numbers by which compiled code recognizes the functions of a margin."""

    LOGISTIC = 0
    HINGE = 1
    SQUARED_HINGE = 2
    SMOOTHED_HINGE = 3
    SQUARED = 4


class Piece(NamedTuple):
    """(constant + linear u + square u^2) for u < kink, 0 beyond."""

    kink: float
    constant: float
    linear: float
    square: float = 0.0


class Pieces(NamedTuple):
    """A function that is a polynomial between its kinks: sums of pieces, one sum for each order."""

    values: tuple[Piece, ...]
    slopes: tuple[Piece, ...]
    curvatures: tuple[Piece, ...]
    """The hinge's own kink is smoothed here, since its curvature is not a function."""


class Strip(NamedTuple):
    """The strip on which phi' is analytic, which bounds the error of approximating polynomials."""

    pole: float
    """The imaginary part of the pole nearest to the real line."""
    largest_slopes: Callable[[FloatArray], FloatArray]
    """Bounds |phi'| up to the given imaginary parts."""


@dataclass(frozen=True)
class Margin:
    """A function phi of the margin, elementwise on arrays.

    Values too large for floating point are infinite, without a warning. Facts with a default are
    optional: without a code `minimize` compiles the derivative, and a function that has no pieces
    and no strip and is not quadratic cannot be sketched.

    Parameters
    ----------
    code, name
        Its number in compiled code, None if there is none, and its name in messages.
    value, derivative
        phi and phi'. At the kink of the hinge, u = 1, the subgradient taken is 0.
    slope_bound
        The supremum of |phi'|; infinite for the squares.
    pair_sums
        Takes scores x and y of shapes (r, a) and (r, b) and returns the sums of phi(x - y) over all
        pairs of each row, shape (r,), in near-linear time.
    tolerance
        The largest error of sketched slopes, relative to the mean slope of a pair.
    flat_from
        The margin beyond which the function no longer falls; infinite if it falls forever.
    pieces
        Its polynomial pieces, if it has kinks: scores are then sketched by bins.
    strip, curvature
        The strip where phi' is analytic, and phi'': scores are then sketched by polynomials.
    is_quadratic
        Whether it is a polynomial of degree 2, whose minimum follows from moments.
    """

    code: Phi | None
    name: str
    value: Callable[[FloatArray], FloatArray]
    derivative: Callable[[FloatArray], FloatArray]
    slope_bound: float
    pair_sums: Callable[[FloatArray, FloatArray], FloatArray] | None = None
    tolerance: float = 1e-3
    flat_from: float = 1.0
    pieces: Pieces | None = None
    strip: Strip | None = None
    curvature: Callable[[FloatArray], FloatArray] | None = None
    is_quadratic: bool = False

    @property
    def is_smooth(self) -> bool:
        """Whether scores are sketched by polynomials, and not by counts in bins."""
        return self.pieces is None

    @property
    def can_sketch(self) -> bool:
        """Whether its sums over pairs follow from a sketch of scores."""
        is_analytic = self.strip is not None or self.is_quadratic
        return self.pieces is not None or (is_analytic and self.curvature is not None)

    @property
    def has_jump(self) -> bool:
        """Whether phi' jumps at a kink, where any slope in between is a subgradient."""
        pieces = () if self.pieces is None else self.pieces.slopes
        return any(piece.constant + piece.linear * piece.kink != 0 for piece in pieces)


def _logistic(u: FloatArray) -> FloatArray:
    # Only exponentials of negative numbers: they may vanish but never overflow.
    return np.log1p(np.exp(-np.abs(u))) + np.maximum(np.negative(u), 0.0)


def _logistic_slope(u: FloatArray) -> FloatArray:
    shrunk = np.exp(-np.abs(u))
    return -np.where(np.asarray(u) >= 0, shrunk, 1.0) / (1.0 + shrunk)


def _logistic_curvature(u: FloatArray) -> FloatArray:
    slopes = _logistic_slope(u)
    return -slopes * (1.0 + slopes)


def _largest_logistic_slopes(heights: FloatArray) -> FloatArray:
    return np.where(math.pi / 2 >= heights, 1.0, 1.0 / np.sin(heights))


def _hinge(u: FloatArray) -> FloatArray:
    return np.maximum(0.0, 1.0 - np.asarray(u))


def _hinge_slope(u: FloatArray) -> FloatArray:
    return np.where(np.asarray(u) < 1.0, -1.0, 0.0)


def _squared_hinge(u: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.square(_hinge(u))


def _squared_hinge_slope(u: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return -2.0 * _hinge(u)


def _smoothed_hinge(u: FloatArray) -> FloatArray:
    short = _hinge(u)
    bent = np.minimum(short, 1.0)
    return bent * (short - 0.5 * bent)


def _smoothed_hinge_slope(u: FloatArray) -> FloatArray:
    return -np.minimum(_hinge(u), 1.0)


def _squared(u: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.square(1.0 - np.asarray(u))


def _squared_slope(u: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return 2.0 * (np.asarray(u) - 1.0)


def _squared_curvature(u: FloatArray) -> FloatArray:
    return np.full_like(u, 2.0)


_HINGE = Pieces(
    (Piece(1.0, 1.0, -1.0),),
    (Piece(1.0, -1.0, 0.0),),
    (Piece(1.5, 1.0, 0.0), Piece(0.5, -1.0, 0.0)),
)
_SQUARED_HINGE = Pieces(
    (Piece(1.0, 1.0, -2.0, 1.0),), (Piece(1.0, -2.0, 2.0),), (Piece(1.0, 2.0, 0.0),)
)
_SMOOTHED_HINGE = Pieces(
    (Piece(1.0, 0.5, -1.0, 0.5), Piece(0.0, 0.0, 0.0, -0.5)),
    (Piece(1.0, -1.0, 1.0), Piece(0.0, 0.0, -1.0)),
    (Piece(1.0, 1.0, 0.0), Piece(0.0, -1.0, 0.0)),
)
MARGINS: dict[str, Margin] = {
    phi.name: phi
    for phi in (
        Margin(
            Phi.LOGISTIC,
            "logistic",
            _logistic,
            _logistic_slope,
            slope_bound=1.0,
            pair_sums=sums.logistic_sums,
            tolerance=1e-6,
            flat_from=math.inf,
            strip=Strip(math.pi, _largest_logistic_slopes),
            curvature=_logistic_curvature,
        ),
        Margin(
            Phi.HINGE,
            "hinge",
            _hinge,
            _hinge_slope,
            slope_bound=1.0,
            pair_sums=sums.hinge_sums,
            tolerance=1e-2,
            pieces=_HINGE,
        ),
        Margin(
            Phi.SQUARED_HINGE,
            "squared-hinge",
            _squared_hinge,
            _squared_hinge_slope,
            slope_bound=math.inf,
            pair_sums=sums.squared_hinge_sums,
            pieces=_SQUARED_HINGE,
        ),
        Margin(
            Phi.SMOOTHED_HINGE,
            "smoothed-hinge",
            _smoothed_hinge,
            _smoothed_hinge_slope,
            slope_bound=1.0,
            pair_sums=sums.smoothed_hinge_sums,
            pieces=_SMOOTHED_HINGE,
        ),
        Margin(
            Phi.SQUARED,
            "squared",
            _squared,
            _squared_slope,
            slope_bound=math.inf,
            pair_sums=sums.squared_sums,
            tolerance=1e-6,
            curvature=_squared_curvature,
            is_quadratic=True,
        ),
    )
}
"""log(1 + e^-u); max(0, 1 - u); its square; and the hinge with a parabola in place of its kink,
which is 0 for u >= 1, (1 - u)^2 / 2 for 0 < u < 1 and 1/2 - u for u <= 0; and (1 - u)^2, which also
grows where a pair is ordered too well, but has its minimum in closed form."""


def margin(phi: str | Margin) -> Margin:
    """Find a function of the margin by name, or pass one through."""
    if not isinstance(phi, Margin):
        return MARGINS[choice("phi", phi, MARGINS)]
    return phi if phi.code is None or phi in MARGINS.values() else _add_facts(phi, phi.code)


def _add_facts(phi: Margin, code: Phi) -> Margin:
    """Return a function with the facts of the built-in one of this code, where it has none.

    Raise `InputError` if compiled code, which goes by the code, would compute other values.
    """
    built_in, grid = next(each for each in MARGINS.values() if each.code is code), np.arange(-9, 9)
    for mine, theirs in ((phi.value, built_in.value), (phi.derivative, built_in.derivative)):
        if mine is not theirs and not np.allclose(mine(grid / 3), theirs(grid / 3)):
            raise InputError(
                f"Margin '{phi.name}' has the code of '{built_in.name}' but other values: "
                f"give a pg.GeneralLoss its value and gradient instead."
            )
    if phi.can_sketch:
        return phi
    named = replace(built_in, name=phi.name, slope_bound=phi.slope_bound)
    return replace(named, value=phi.value, derivative=phi.derivative)
