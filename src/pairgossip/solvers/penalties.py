"""Penalties and constraints of models in the features' own units, as the solver meets them.

The solver's features run from -1 to 1, so its coordinate q is theta_q times half the range of
feature q. A squared penalty is part of the smooth objective, all else is a proximal map.
"""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.losses import Proximal, SquaredL2
from pairgossip.losses.proximal import Combined, Unconstrained

_LARGEST = 1e300


class ScaledPenalty:
    """A penalty or constraint of theta = w / half, in the coordinates w."""

    def __init__(self, proximal: Proximal, half: FloatArray) -> None:
        self._proximal, self._half = proximal, half

    def cost(self, w: FloatArray) -> FloatArray:
        """Return psi of models (n, d), shape (n,)."""
        return self._proximal.psi(self._proximal.project(w / self._half))

    def step(self, target: FloatArray, rates: FloatArray) -> FloatArray:
        """Return argmin of sum_q (w_q - target_q)^2 / (2 rate_q) + psi(w / half)."""
        metric = self._half**2 / rates
        z = -metric * (target / self._half)
        return self._half * self._proximal.map_in_metric(z, metric, np.ones(len(target)))


def split_penalty(proximal: Proximal, half: FloatArray) -> tuple[FloatArray, ScaledPenalty | None]:
    """Return the strength of a squared penalty per coordinate, and what is not smooth, if any."""
    rest: Proximal | None = proximal
    strength = 0.0
    if isinstance(proximal, Combined) and isinstance(proximal.penalty, SquaredL2):
        strength, rest = proximal.penalty.strength, proximal.constraint
    elif isinstance(proximal, SquaredL2):
        strength, rest = proximal.strength, None
    elif isinstance(proximal, Unconstrained):
        rest = None
    with np.errstate(over="ignore"):  # where a feature hardly differs, no model is worth its cost
        squared = np.minimum(strength / half / half, _LARGEST)
    return squared, None if rest is None else ScaledPenalty(rest, half)
