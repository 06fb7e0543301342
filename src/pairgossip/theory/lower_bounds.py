"""What no decentralized algorithm can beat, as far as it is known.

These bounds are about the worst function of a class and about parallel rounds, in which every edge
of the graph may carry a message: not about one edge per iteration, nor about any given problem.
They hold only while the dimension d of the model is large: a bound is 0, and says nothing, from
t = (d - 2)/2 on. Certificates of scaling, like all bounds of this package.
"""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.theory.bounds import Iterations


def separable_lower_bound(
    t: Iterations,
    radius: float,
    lipschitz: float,
    diameter: float,
    dimension: int | None = None,
) -> FloatArray:
    """Scaman et al.: (R L/36) sqrt(1/(1 + t/(2 Delta))^2 + 1/(1 + t)) after t rounds.

    It assumes F a mean of n convex L-Lipschitz functions, one per node, compared with its minimum
    over the ball of radius R; black-box procedures; parallel rounds of unit latency; the worst
    function for the graph of diameter Delta; and t < (d - 2)/2 for models of dimension d, not
    checked if ``dimension`` is left out. It applies to pairwise objectives too, with
    f_ij = f_i.
    """
    return _bound(t, radius, lipschitz, 2 * diameter, dimension)


def claimed_pairwise_lower_bound(
    t: Iterations,
    radius: float,
    lipschitz: float,
    delta_tilde: float,
    dimension: int | None = None,
    *,
    printed: bool = False,
) -> FloatArray:
    """Theorem "Lower bound", AS CLAIMED AND UNPROVED: Delta replaced by the mean detour.

    The paper's argument would give t/(2 Delta~), but it lets every pair's data be routed anew each
    time, which an algorithm may avoid by keeping it. ``printed=True`` has t/Delta~, which adds
    nothing: since Delta~ <= 2 Delta, it never exceeds the separable bound, which applies already.
    Assumptions as for `separable_lower_bound`, with n > 2 and F the mean of n^2 pair functions.
    """
    return _bound(t, radius, lipschitz, delta_tilde if printed else 2 * delta_tilde, dimension)


def _bound(
    t: Iterations, radius: float, lipschitz: float, delay: float, dimension: int | None
) -> FloatArray:
    rounds = np.asarray(t, dtype=np.float64)
    if np.any(rounds < 0):
        raise InputError("Lower bounds are about t >= 0 rounds.")
    numbers = {"radius": radius, "Lipschitz constant": lipschitz, "distance": delay}
    for name, value in numbers.items():
        if not value > 0:
            raise InputError(f"The {name} of a lower bound must be positive, not {value!r}.")
    bound = radius * lipschitz / 36 * np.sqrt(1 / (1 + rounds / delay) ** 2 + 1 / (1 + rounds))
    if dimension is None:
        return np.asarray(bound)
    return np.where(rounds < (dimension - 2) / 2, bound, 0.0)
