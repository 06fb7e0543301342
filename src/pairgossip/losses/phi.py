"""Decreasing convex functions of a margin u: small where a pair is ordered well."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError, canonical, unknown_name


class Phi(IntEnum):
    """The numbers by which compiled code recognizes the functions of a margin."""

    LOGISTIC = 0
    HINGE = 1
    SQUARED_HINGE = 2
    SMOOTHED_HINGE = 3


@dataclass(frozen=True)
class Margin:
    """A function phi of the margin, elementwise on arrays.

    Values too large for floating point are infinite, without a warning.

    Parameters
    ----------
    code, name
        How compiled code and messages call it.
    value, derivative
        phi and phi'. At the kink of the hinge, u = 1, the subgradient taken is 0.
    slope_bound
        The supremum of |phi'|; infinite for the squared hinge.
    """

    code: Phi
    name: str
    value: Callable[[FloatArray], FloatArray]
    derivative: Callable[[FloatArray], FloatArray]
    slope_bound: float


def _logistic(u: FloatArray) -> FloatArray:
    # Only exponentials of negative numbers: they may vanish but never overflow.
    return np.asarray(np.log1p(np.exp(-np.abs(u))) + np.maximum(np.negative(u), 0.0))


def _logistic_slope(u: FloatArray) -> FloatArray:
    shrunk = np.exp(-np.abs(u))
    return np.asarray(-np.where(np.asarray(u) >= 0, shrunk, 1.0) / (1.0 + shrunk))


def _hinge(u: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(0.0, 1.0 - np.asarray(u)))


def _hinge_slope(u: FloatArray) -> FloatArray:
    return np.asarray(np.where(np.asarray(u) < 1.0, -1.0, 0.0))


def _squared_hinge(u: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(np.square(_hinge(u)))


def _squared_hinge_slope(u: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(-2.0 * _hinge(u))


def _smoothed_hinge(u: FloatArray) -> FloatArray:
    short = _hinge(u)
    bent = np.minimum(short, 1.0)
    return np.asarray(bent * (short - 0.5 * bent))


def _smoothed_hinge_slope(u: FloatArray) -> FloatArray:
    return np.asarray(-np.minimum(_hinge(u), 1.0))


MARGINS: dict[str, Margin] = {
    phi.name: phi
    for phi in (
        Margin(Phi.LOGISTIC, "logistic", _logistic, _logistic_slope, 1.0),
        Margin(Phi.HINGE, "hinge", _hinge, _hinge_slope, 1.0),
        Margin(Phi.SQUARED_HINGE, "squared-hinge", _squared_hinge, _squared_hinge_slope, math.inf),
        Margin(Phi.SMOOTHED_HINGE, "smoothed-hinge", _smoothed_hinge, _smoothed_hinge_slope, 1.0),
    )
}
"""log(1 + e^-u); max(0, 1 - u); its square; and the hinge with a parabola in place of its kink,
which is 0 for u >= 1, (1 - u)^2 / 2 for 0 < u < 1 and 1/2 - u for u <= 0."""


def _check_code(phi: Margin) -> None:
    """Raise `InputError` if compiled code, which goes by the code, would compute something else."""
    known, grid = next(each for each in MARGINS.values() if each.code is phi.code), np.arange(-9, 9)
    for mine, theirs in ((phi.value, known.value), (phi.derivative, known.derivative)):
        if mine is not theirs and not np.allclose(mine(grid / 3), theirs(grid / 3)):
            raise InputError(
                f"Margin '{phi.name}' has the code of '{known.name}' but other values: "
                f"give a pg.GeneralLoss its value and gradient instead."
            )


def margin(phi: str | Margin) -> Margin:
    """Find a function of the margin by name, or pass one through."""
    if isinstance(phi, Margin):
        _check_code(phi)
        return phi
    if not isinstance(phi, str):
        raise InputError(
            f"phi is the name of a function of the margin, such as 'logistic', "
            f"but got {type(phi).__name__}."
        )
    if canonical(phi) not in MARGINS:
        raise unknown_name("phi", phi, MARGINS)
    return MARGINS[canonical(phi)]
