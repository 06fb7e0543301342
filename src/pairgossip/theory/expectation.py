"""Exact expected estimates E z(t) of every node, and the curves of theory beside a run.

With L_q = Q X Q^T the expected trajectory is a sum of products of powers of the eigenvalues of the
swap and of the average, so any t costs O(n^2) after one O(n^3) decomposition (O(n^3) for U2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pairgossip.algorithms import Expectation, Method, find_method
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import ORDERS, choice
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.kernels import PairProblem
from pairgossip.kernels.pairs import Means
from pairgossip.theory import bounds
from pairgossip.theory.bounds import (
    Constants,
    GossipSpectrum,
    check_size,
    constants,
    gossip_spectrum,
)


def _geometric_sum(first: FloatArray, second: FloatArray, terms: int) -> FloatArray:
    """Sum ``first**(terms-1-s) * second**s`` over s = 0 .. terms-1, broadcasting.

    The textbook quotient (a**t - b**t)/(a - b) loses digits where a and b are so close that their
    powers are too, which eigenvalues of two gossip matrices often are; there ``expm1`` keeps full
    precision. Powers are taken before broadcasting, so most entries cost one division.
    """
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        difference = first - second
        quotient = np.asarray((first**terms - second**terms) / difference)
    larger = np.maximum(np.abs(first), np.abs(second))
    close = terms * np.abs(difference) < 0.5 * larger
    if np.any(close):
        a, b = (np.broadcast_to(ratio, quotient.shape)[close] for ratio in (first, second))
        quotient[close] = _sum_of_close(a, b, terms)
    quotient[np.broadcast_to(larger == 0, quotient.shape)] = 1.0 if terms == 1 else 0.0
    return quotient


def _sum_of_close(a: FloatArray, b: FloatArray, terms: int) -> FloatArray:
    """Return the same sum where a and b are nonzero, of one sign, and nearly equal."""
    swap = np.abs(a) < np.abs(b)
    big, small = np.where(swap, b, a), np.where(swap, a, b)
    relative = (small - big) / big
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        growth = np.expm1(terms * np.log1p(relative)) / relative
        return big ** (terms - 1) * np.where(relative == 0, float(terms), growth)


_ExpectedAt = Callable[[int], FloatArray]


def expected_estimates(
    pair_values: FloatArray,
    graph: Graph,
    iterations: Sequence[int] | IntArray,
    *,
    method: str = "gosta",
    order: str = "update-first",
    law: str = "uniform-edges",
) -> FloatArray:
    """Return E z(t) of a synchronous run, shape (len(iterations), n).

    ``pair_values`` is the matrix H with H[k, l] = h(x_k, x_l), for instance
    ``Pairs(data, "gini").matrix()``; for ``method="averaging"`` it is the vector of values.
    """
    chosen = find_method(method, "sync", graph.n)
    known = _known_expectation(chosen, "sync")
    values = np.asarray(pair_values, dtype=np.float64)
    expected_shape = (graph.n,) if chosen.estimates == "mean" else (graph.n, graph.n)
    if values.shape != expected_shape:
        raise InputError(
            f"The pair values have shape {values.shape}: {chosen.name} on a graph of {graph.n} "
            f"nodes needs shape {expected_shape}."
        )
    steps = [int(t) for t in iterations]
    if any(t < 1 for t in steps):
        raise InputError("Expected estimates exist from iteration 1 on: give iterations >= 1.")
    at = _EXPECTED[known](values, gossip_spectrum(graph, law), order)
    return np.array([at(t) for t in steps])


def _known_expectation(method: Method, clock: str) -> Expectation:
    """Return what theory knows a method by, or raise `InputError` if it does not know it."""
    known = method.expectations.get(clock)
    if known is not None:
        return known
    if clock == "async":
        raise InputError(
            "No exact expectation or explicit bound is known for the asynchronous clock."
        )
    raise InputError(f"No exact expectation or bound is known for method '{method.name}'.")


def _gosta(H: FloatArray, spectrum: GossipSpectrum, order: str) -> _ExpectedAt:
    """Order A: (1/t) sum_s W_2^(t-s+1) (H o W_1^(s-1)) 1; order B: W_2^(t-s) (H o W_1^s) 1."""
    Q, mu, nu = spectrum.vectors, spectrum.swap, spectrum.average
    M = Q.T @ (Q * (H @ Q))
    factor = nu[:, None] if choice("order", order, ORDERS) == "update-first" else mu[None, :]

    def at(t: int) -> FloatArray:
        sums = factor * _geometric_sum(nu[:, None], mu[None, :], t)
        return Q @ (M * sums).sum(axis=1) / t

    return at


def _u1(H: FloatArray, spectrum: GossipSpectrum, order: str) -> _ExpectedAt:
    """(1/t) sum_{s=1..t} (H o W_1^s) 1."""
    Q, mu = spectrum.vectors, spectrum.swap
    C = Q * (H @ Q)

    def at(t: int) -> FloatArray:
        return C @ (mu * _geometric_sum(np.ones_like(mu), mu, t)) / t

    return at


def _u2(H: FloatArray, spectrum: GossipSpectrum, order: str) -> _ExpectedAt:
    """(1/t) sum_{s=0..t-1} diag(W_1^s H W_1^s)."""
    Q, mu = spectrum.vectors, spectrum.swap
    G = Q.T @ H @ Q
    products = np.outer(mu, mu)

    def at(t: int) -> FloatArray:
        sums = _geometric_sum(np.ones_like(products), products, t)
        return (Q * (Q @ (G * sums).T)).sum(axis=1) / t

    return at


def _averaging(values: FloatArray, spectrum: GossipSpectrum, order: str) -> _ExpectedAt:
    """W_2^t x."""
    Q, nu = spectrum.vectors, spectrum.average
    coordinates = Q.T @ values

    def at(t: int) -> FloatArray:
        return Q @ (nu**t * coordinates)

    return at


_EXPECTED: dict[Expectation, Callable[[FloatArray, GossipSpectrum, str], _ExpectedAt]] = {
    Expectation.GOSTA: _gosta,
    Expectation.U1: _u1,
    Expectation.U2: _u2,
    Expectation.AVERAGING: _averaging,
}
"""From the values, the spectrum and the order of update and exchange to E z(t)."""


# What theory says about a run, at the run's own checkpoints and in its own units.


class TheoryCurves(NamedTuple):
    """Curves over checkpoints; errors are root mean squares over the nodes.

    ``expected_mean``: mean over nodes of E z(t). ``expected_error``: exact size of the bias
    E z(t) - target. ``expectation_bound`` bounds it. ``deviation_bound`` bounds the expected error
    itself (NaN where the paper has no such bound).
    """

    expected_mean: FloatArray
    expected_error: FloatArray
    expectation_bound: FloatArray
    deviation_bound: FloatArray


def theory_curves(
    problem: PairProblem | Means,
    graph: Graph,
    iterations: IntArray,
    *,
    method: Method,
    clock: str,
    order: str,
    law: str,
) -> TheoryCurves:
    """Compute the exact expectation and the bounds that belong to a run."""
    if graph.n < 2:
        raise InputError("A network of one node has no exchanges, so theory says nothing of it.")
    check_size(graph.n)
    known = _known_expectation(method, clock)
    if isinstance(problem, Means):
        values, mean, gap = problem.data, problem.exact(), graph.normalized_gap(law)
        expectation = bounds.averaging_expectation_bound(values, gap, iterations)
        deviation = bounds.averaging_bound(values, gap, iterations)
    elif problem.components > 1:
        raise InputError(
            f"'{problem.kernel.name}' is a ratio: theory speaks of its numerator and denominator, "
            "not of their quotient."
        )
    else:
        values = problem.matrix()
        mean = values.mean()
        expectation, deviation = _bounds(known, constants(values, graph, law), iterations)
    # Estimates are linear in the values and exact for constants: no cancellation in the bias.
    centered = _about_mean(values, axis=1 if method.estimates == "row-mean" else None)
    at = _EXPECTED[known](centered, gossip_spectrum(graph, law), order)
    bias = np.array([at(t) for t in iterations.tolist()])
    error, root_n = np.sqrt(np.mean(bias**2, axis=1)), np.sqrt(graph.n)
    return TheoryCurves(mean + bias.mean(axis=1), error, expectation / root_n, deviation / root_n)


def _bounds(known: Expectation, c: Constants, t: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the norms of the bias and of the error; NaN where the paper has none."""
    unknown = np.full(len(t), np.nan)
    if known is Expectation.U1:
        return np.linalg.norm(bounds.u1_gossip_bound(c, t), axis=1), unknown
    if known is Expectation.U2:
        return bounds.u2_gossip_bound(c, t), unknown
    deviation = bounds.gosta_deviation_bound(c, t) if c.n > 2 else unknown
    return bounds.gosta_expectation_bound(c, t), deviation


def _about_mean(values: FloatArray, axis: int | None = None) -> FloatArray:
    """Subtract the mean, and then the mean of what rounding left of it."""
    centered = values - values.mean(axis=axis, keepdims=True)
    return centered - centered.mean(axis=axis, keepdims=True)
