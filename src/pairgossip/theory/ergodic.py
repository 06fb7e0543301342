"""Rates of gossip dual averaging that need not know the gradient bias, in corrected form.

The bias is bounded by how fast observations mix. Assumptions, conventions and ``printed=True`` are
those of `pairgossip.theory.optimization`; besides, there must be at least three nodes, since two
only swap and never mix. Certificates of scaling: measured gaps lie orders of magnitude below.
"""

from __future__ import annotations

import math

from pairgossip.errors import InputError
from pairgossip.losses.steps import PowerStep, step_sum
from pairgossip.theory.optimization import (
    DescentConstants,
    Rate,
    checked_horizon,
    disagreement_constant,
    step_at,
)


def mixing_horizon(c: DescentConstants, horizon: int, *, printed: bool = False) -> float:
    """tau_T: after how many iterations an observation is within 1/T of uniform, n >= 3.

    tau_T = ceil(log(T sqrt(n-1)/2)/(-log(1-x))), in total variation, from any start. Printed:
    log(T sqrt(n))/log(x(1 - x/2)), which is negative.
    """
    return mixing_time(c, 1 / checked_horizon(horizon), printed=printed)


def mixing_time(c: DescentConstants, eps: float, *, printed: bool = False) -> float:
    """tau(eps): as ``Graph.mixing_time``, from the normalized gap alone."""
    if c.n < 3:
        raise InputError("Two nodes never mix: a bound with a mixing time needs at least 3 nodes.")
    if not 0 < eps <= 1:
        raise InputError(f"The distance eps must be between 0 and 1, not {eps!r}.")
    if printed:
        return math.log(math.sqrt(c.n) / eps) / math.log(c.gap * (1 - c.gap / 2))
    start = math.sqrt(c.n - 1) / 2
    if start <= eps:
        return 0.0
    # The triangle has x = 1: one step forgets the start.
    return 1.0 if c.gap >= 1 else float(math.ceil(math.log(start / eps) / -math.log1p(-c.gap)))


def ergodic_bound(
    c: DescentConstants, horizon: int, step: PowerStep, eps: float, *, printed: bool = False
) -> Rate:
    """Theorem "Pairwise ergodic dual averaging": a rate without the unknown bias, n >= 3.

    For gamma(t) = a t^-beta, 0 < beta < 1, and models in a ball of radius D:
    C1 = ||theta*||^2/(2 T gamma(T)) + (1/2 + (1 + beta) tau) L^2 S_T/T, C2 = 5 L^2 K S_T/T and
    C3 = 4 L D (eps + tau/T), with tau = tau(eps). It says nothing, and C1 is infinite, unless
    tau < T. Assumptions: see the module, and the ball. A certificate of scaling.

    Printed: D in place of ||theta*||, 6 tau in place of (1 + beta) tau, 3 K in place of 5 K with
    the wrong K, 2 L D in place of 4 L D, and a negative tau.
    """
    if not (isinstance(step, PowerStep) and step.exponent > 0):
        raise InputError("The ergodic bound needs a step size steps.power(a, beta), 0 < beta < 1.")
    if not math.isfinite(c.radius):
        raise InputError("The ergodic bound needs a ball: ergodic_corollary does without.")
    T, L, D = checked_horizon(horizon), c.lipschitz, c.radius
    tau, total, last = mixing_time(c, eps, printed=printed), step_sum(step, T), step_at(step, T)
    if printed:
        before = total - step_at(step, 1)
        return Rate(
            D**2 / (2 * T * last) + (1 + 12 * tau) * L**2 * (before + last) / (2 * T),
            3 * L**2 * disagreement_constant(c.gap, printed=True) * before / T,
            2 * L * D * (eps + tau / T),
        )
    delay = 0.5 + (1 + step.exponent) * tau if tau < T else math.inf
    return Rate(
        c.optimum_norm**2 / (2 * T * last) + delay * L**2 * total / T,
        5 * L**2 * c.disagreement * total / T,
        4 * L * D * (eps + tau / T),
    )


def ergodic_corollary(
    c: DescentConstants, horizon: int, a: float, *, printed: bool = False
) -> float:
    """Corollary: the ergodic theorem at eps = 1/T for gamma(t) = a/sqrt(t), n >= 3.

    With C = ``leading_constant(c, T)``: T^(-1/2) (||theta*||^2/(2a) + a L^2 C) plus
    (4 L D/T)(1 + tau_T) with a ball of radius D, or (2 L ||theta*||/T)(1 + tau_T) without a
    constraint. Infinite unless tau_T < T. Assumptions: see the module. A certificate of scaling.

    Printed: tau_T is log(T)/|log c| in one place and log(T) |log c| in the other, with
    c = x(1 - x/2), and the wrong K.
    """
    T, L, norm = checked_horizon(horizon), c.lipschitz, c.optimum_norm
    if not a > 0:
        raise InputError(f"The step constant a must be positive, not {a!r}.")
    leading = norm**2 / (2 * a) + a * L**2 * leading_constant(c, T, printed=printed)
    if printed:
        speed = abs(math.log(c.gap * (1 - c.gap / 2)))
        return leading / math.sqrt(T) + 2 * L * norm / T * (1 + speed * math.log(T))
    tau = mixing_horizon(c, T)
    if tau >= T:
        return math.inf
    size = 4 * c.radius if math.isfinite(c.radius) else 2 * norm
    return leading / math.sqrt(T) + size * L / T * (1 + tau)


def leading_constant(c: DescentConstants, horizon: int, *, printed: bool = False) -> float:
    """C of the corollary: 1 + 3 tau_T + 10 K with a ball, 3 + 5 tau_T + 10 K without.

    Printed: 1 + 12 log(T)/|log c| + 6 K with the wrong K.
    """
    if printed:
        speed = abs(math.log(c.gap * (1 - c.gap / 2)))
        wrong = disagreement_constant(c.gap, printed=True)
        return 1 + 12 * math.log(checked_horizon(horizon)) / speed + 6 * wrong
    tau = mixing_horizon(c, horizon)
    ball = math.isfinite(c.radius)
    return (1 + 3 * tau if ball else 3 + 5 * tau) + 10 * c.disagreement


def optimal_step_constant(c: DescentConstants, horizon: int, *, printed: bool = False) -> float:
    """The a of gamma(t) = a/sqrt(t) that minimizes the corollary: ||theta*||/(L sqrt(2C)).

    C is the ``leading_constant``; the bound's leading term is then sqrt(2C) L ||theta*||/sqrt(T).
    Printed: ||theta*||/L, which makes it (1/2 + C) L ||theta*||/sqrt(T). What is best for the bound
    is far too cautious in practice, as the bound is.
    """
    if c.optimum_norm == 0:
        raise InputError("The optimum is the zero model, where every run starts: any step will do.")
    scale = c.optimum_norm / c.lipschitz
    return scale if printed else scale / math.sqrt(2 * leading_constant(c, horizon))
