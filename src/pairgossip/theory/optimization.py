"""The paper's bounds on gossip dual averaging, one function per statement, in corrected form.

Every bound is on the objective gap (1/n) sum_i E[F(theta_bar_i(T))] - F(theta*) of the synchronous
algorithm, averaged over the nodes, with theta_bar_i the mean of the T models at which node i took
its gradients. All of them assume that

- the graph is connected, and its edges are drawn independently by a fixed law, of normalized gap x
  (lambda_{n-1}/|E| for uniform edges);
- every pair's loss is convex, with gradients of norm at most L (``lipschitz``);
- there is no penalty, and at most a constraint to a convex set that contains 0 and theta*;
- the step size gamma(t) is positive and never increases, with gamma(0) = gamma(1).

``printed=True`` gives a statement as printed, so that the difference can be shown; some printed
bounds are violated, others negative (see the errata). All bounds are certificates of scaling:
measured gaps lie orders of magnitude below them, so they do not estimate the error. The paper's
rate for the asynchronous algorithm has no explicit constant, so there is no bound for it here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import whole
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.graphs.distances import mixing_time_of
from pairgossip.graphs.laws import LawLike
from pairgossip.losses.steps import PowerStep, StepSize, step_sum, step_values


def disagreement_constant(gap: float, *, printed: bool = False) -> float:
    """K = 1/(1 - sqrt(1 - x/2)), with x the normalized gap; at most 4/x.

    One exchange shrinks disagreement by sqrt(1 - x/2) in the root mean square, for edges drawn
    independently on a connected graph. Printed: 1/(1 - sqrt(1 - x)), which contradicts the paper's
    own averaging matrix.
    """
    # On two nodes x = 2; every other graph has x <= 1.
    if not 0 < gap <= (1 if printed else 2):
        raise InputError(f"The normalized gap must be positive and at most 2, not {gap!r}.")
    # 1 - sqrt(1 - y) loses digits for small y.
    shrunk = gap if printed else gap / 2
    return (1 + math.sqrt(1 - shrunk)) / shrunk


def dispersion_bound(
    lipschitz: float, gap: float, *, single_node: int | None = None, printed: bool = False
) -> float:
    """Lemma on dispersion: (1/n) sum_i E||z_i(t) - mean z(t)|| <= L K, at every t.

    It assumes gradients of norm at most L and independent exchanges on a connected graph, and is a
    certificate of scaling. ``single_node=n`` bounds one fixed node of n, by sqrt(n) L K.
    """
    if not lipschitz > 0:
        raise InputError(f"The Lipschitz constant must be positive, not {lipschitz!r}.")
    bound = lipschitz * disagreement_constant(gap, printed=printed)
    return bound if single_node is None or printed else math.sqrt(single_node) * bound


@dataclass(frozen=True)
class DescentConstants:
    """The numbers of a problem and its network that enter the bounds."""

    n: int
    gap: float
    """x: second smallest eigenvalue of L_q; lambda_{n-1}/|E| for uniform edges."""
    lipschitz: float
    """L: the largest norm of a gradient."""
    optimum_norm: float
    """||theta*||; also the distance of theta* from the start, which is always 0."""
    radius: float = math.inf
    """D: the radius of a ball around 0 that holds all models; infinite if there is none."""

    def __post_init__(self) -> None:
        positive = {"gap": self.gap, "Lipschitz constant": self.lipschitz, "radius": self.radius}
        for name, value in positive.items():
            if not value > 0:
                raise InputError(f"The {name} of a bound must be positive, not {value!r}.")
        if not 0 <= self.optimum_norm <= self.radius * (1 + 1e-9):
            raise InputError(
                f"The optimum has norm {self.optimum_norm:g}, which must be between 0 and the "
                f"radius {self.radius:g}."
            )

    @property
    def disagreement(self) -> float:
        """K = 1/(1 - sqrt(1 - x/2))."""
        return disagreement_constant(self.gap)


def descent_constants(
    graph: Graph,
    optimum: FloatArray,
    lipschitz: float,
    radius: float = math.inf,
    law: LawLike = "uniform-edges",
) -> DescentConstants:
    """Collect the constants of a problem with optimum theta* on a graph."""
    norm = float(np.linalg.norm(optimum))
    return DescentConstants(graph.n, graph.normalized_gap(law), lipschitz, norm, radius)


class Rate(NamedTuple):
    """The three terms of a bound, named as in the paper."""

    C1: float
    """The optimization term: the cost of centralized dual averaging, plus the mixing delay."""
    C2: float
    """The network term: the cost of disagreement between nodes."""
    C3: float
    """The bias term: the cost of gradients at the wrong pairs."""

    @property
    def total(self) -> float:
        """C1 + C2 + C3."""
        return self.C1 + self.C2 + self.C3


def general_rate(
    c: DescentConstants,
    horizon: int,
    step: StepSize,
    *,
    bias: Any = 0.0,
    disagreement: Any = None,
    single_node: bool = False,
    printed: bool = False,
) -> Rate:
    """Proposition "Gossip dual averaging": the rate for any step size, given the gradient bias.

    C1 = ||theta*||^2/(2 T gamma(T)) + L^2 S_T/(2T), C2 = 3 L^2 K S_T/T and C3 = (1/T) sum_t of
    (theta* - omega(t)) . eps(t), with S_T = gamma(0) + ... + gamma(T-1). Assumptions: see the
    module. A certificate of scaling.

    Parameters
    ----------
    c, horizon, step
        The constants, T and gamma.
    bias
        (theta* - omega(t)) . eps(t) at every iteration t = 1 .. T, shape (T,) or (trials, T):
        ``fit.bias.bound_term(optimum)`` with ``checkpoints=range(1, T + 1)``. Their mean is C3.
    disagreement
        Measured at every iteration t = 1 .. T, in place of its bound 3 L K gamma(t-1): the mean
        distance of two nodes' models plus that of a node's model from omega(t), same shapes.
        Then the inequality holds on every path, not only in expectation.
    single_node
        Bound the gap of one fixed node: 3 becomes 2 + sqrt(n). Not with a measured disagreement.
    printed
        As printed: K of twice the gap, sums without gamma(0), C3 with the opposite sign, and
        claimed for every single node.
    """
    if single_node and disagreement is not None:
        raise InputError("The measured disagreement is a mean over nodes: leave out single_node.")
    T, L = _check_horizon(horizon), c.lipschitz
    total = step_sum(step, T)
    if printed:
        total -= _step_at(step, 1)
    factor = 2 + math.sqrt(c.n) if single_node and not printed else 3.0
    optimization = c.optimum_norm**2 / (2 * T * _step_at(step, T)) + L**2 * total / (2 * T)
    if disagreement is None:
        network = factor * L**2 * disagreement_constant(c.gap, printed=printed) * total / T
    else:
        network = L * float(_over_time("disagreement", disagreement, T).mean())
    mean_bias = float(_over_time("bias", bias, T).mean()) if np.ndim(bias) else float(bias)
    return Rate(optimization, network, -mean_bias if printed else mean_bias)


def readout(bound: Any, measured: Any) -> FloatArray:
    """Return a bound divided by the measured gap; infinite where the gap is 0 or less."""
    gap = np.asarray(measured, dtype=np.float64)
    above = np.where(gap > 0, gap, np.nan)
    nothing_left = np.where(np.isnan(gap), np.nan, np.inf)
    return np.where(gap > 0, np.asarray(bound, dtype=np.float64) / above, nothing_left)


def _check_horizon(horizon: int) -> int:
    return whole("The horizon T of a bound", horizon)


def _step_at(step: StepSize, t: int) -> float:
    return float(step_values(step, np.array([float(t)]))[0])


def _over_time(name: str, values: Any, horizon: int) -> FloatArray:
    measured = np.asarray(values, dtype=np.float64)
    if measured.shape[-1:] != (horizon,):
        raise InputError(
            f"The {name} must have one value for each of the {horizon:,} iterations, "
            f"but its shape is {measured.shape}."
        )
    return measured


# Rates without the gradient bias, which is bounded by the speed of mixing of observations. There
# must be at least three nodes, because two only swap and never mix.


def mixing_horizon(c: DescentConstants, horizon: int, *, printed: bool = False) -> float:
    """tau_T: the number of iterations until an observation is within 1/T of uniform, n >= 3.

    tau_T = ceil(log(T sqrt(n-1)/2)/(-log(1-x))), in total variation, from any start. Printed:
    log(T sqrt(n))/log(x(1 - x/2)), which is negative.
    """
    return _mixing_time(c, 1 / _check_horizon(horizon), printed=printed)


def _mixing_time(c: DescentConstants, eps: float, *, printed: bool = False) -> float:
    if c.n < 3:
        raise InputError("Two nodes never mix: a bound with a mixing time needs at least 3 nodes.")
    if not 0 < eps <= 1:
        raise InputError(f"The distance eps must be between 0 and 1, not {eps!r}.")
    if printed:
        return math.log(math.sqrt(c.n) / eps) / math.log(c.gap * (1 - c.gap / 2))
    return float(mixing_time_of(c.n, c.gap, eps))


def ergodic_bound(
    c: DescentConstants, horizon: int, step: PowerStep, eps: float, *, printed: bool = False
) -> Rate:
    """Theorem "Pairwise ergodic dual averaging": a rate without the unknown bias, n >= 3.

    For gamma(t) = a t^-beta, 0 < beta < 1, and models in a ball of radius D:
    C1 = ||theta*||^2/(2 T gamma(T)) + (1/2 + (1 + beta) tau) L^2 S_T/T, C2 = 5 L^2 K S_T/T and
    C3 = 4 L D (eps + tau/T), with tau = tau(eps). C1 is infinite unless tau < T. Assumptions: see
    the module, and the ball. A certificate of scaling.

    Printed: D in place of ||theta*||, 6 tau in place of (1 + beta) tau, 3 K in place of 5 K with
    the wrong K, 2 L D in place of 4 L D, and a negative tau.
    """
    if not (isinstance(step, PowerStep) and step.exponent > 0):
        raise InputError("The ergodic bound needs a step size steps.power(a, beta), 0 < beta < 1.")
    if not math.isfinite(c.radius):
        raise InputError("The ergodic bound needs a ball: give a radius, or use ergodic_corollary.")
    T, L, D = _check_horizon(horizon), c.lipschitz, c.radius
    tau, total, last = _mixing_time(c, eps, printed=printed), step_sum(step, T), _step_at(step, T)
    if printed:
        before = total - _step_at(step, 1)
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
    T, L, norm = _check_horizon(horizon), c.lipschitz, c.optimum_norm
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
        return 1 + 12 * math.log(_check_horizon(horizon)) / speed + 6 * wrong
    tau = mixing_horizon(c, horizon)
    ball = math.isfinite(c.radius)
    return (1 + 3 * tau if ball else 3 + 5 * tau) + 10 * c.disagreement


def optimal_step_constant(c: DescentConstants, horizon: int, *, printed: bool = False) -> float:
    """The a of gamma(t) = a/sqrt(t) that minimizes the corollary: ||theta*||/(L sqrt(2C)).

    C is the ``leading_constant``; the bound's leading term is then sqrt(2C) L ||theta*||/sqrt(T).
    Printed: ||theta*||/L, which makes it (1/2 + C) L ||theta*||/sqrt(T). The best step for the
    bound is far too cautious in practice, like the bound.
    """
    if c.optimum_norm == 0:
        raise InputError("The optimum is the zero model, where every run starts: any step will do.")
    scale = c.optimum_norm / c.lipschitz
    return scale if printed else scale / math.sqrt(2 * leading_constant(c, horizon))
