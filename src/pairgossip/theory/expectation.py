"""Exact expected estimates E z(t) of every node.

With L_q = Q X Q^T the expected trajectory is a sum of products of powers of the eigenvalues of the
swap and of the average, so any t costs O(n^2) after one O(n^3) decomposition (O(n^3) for U2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pairgossip.algorithms.methods import Expectation, Method, find_method
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import ORDERS, choice
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.graphs.laws import LawLike
from pairgossip.theory import bounds
from pairgossip.theory.bounds import Constants, GossipSpectrum, gossip_spectrum


class _GeometricSums:
    """Sums ``first**(terms-1-s) * second**s`` over s = 0 .. terms-1, broadcasting, for any terms.

    The textbook quotient (a**t - b**t)/(a - b) loses digits where a and b, and so their powers, are
    close, as eigenvalues of two gossip matrices often are; there ``expm1`` keeps full precision.
    Powers are taken before broadcasting, so most entries cost one division. Numbers that do not
    depend on the number of terms are computed once.
    """

    def __init__(self, first: FloatArray, second: FloatArray) -> None:
        self._first, self._second = first, second
        self._difference = np.asarray(first - second)
        self._distance = np.abs(self._difference)
        larger = np.maximum(np.abs(first), np.abs(second))
        self._reach, self._is_zero = 0.5 * larger, larger == 0
        # For close entries, which have the same sign: the entry of larger modulus, and the relative
        # distance of the other.
        self._swaps = np.abs(first) < np.abs(second)
        self._any_swaps = bool(self._swaps.any())
        big = np.where(self._swaps, second, first)
        small = np.where(self._swaps, first, second)
        with np.errstate(divide="ignore", invalid="ignore"):
            self._relative = (small - big) / big
            self._logs = np.log1p(self._relative)

    def __call__(self, terms: int) -> FloatArray:
        """Return the sums of this number of terms."""
        close = terms * self._distance < self._reach
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            if close.all():
                sums = self._sum_close(terms, ...)
            else:
                powers = self._first**terms - self._second**terms
                sums = np.asarray(powers / self._difference)
                if close.any():
                    sums[close] = self._sum_close(terms, close)
        sums[self._is_zero] = 1.0 if terms == 1 else 0.0
        return sums

    def _sum_close(self, terms: int, chosen: Any) -> FloatArray:
        """Return the same sums where a and b are nonzero, of one sign, and nearly equal."""
        relative = self._relative[chosen]
        growth = np.expm1(terms * self._logs[chosen]) / relative
        growth[relative == 0] = terms
        big = np.broadcast_to(self._first ** (terms - 1), self._swaps.shape)
        if self._any_swaps:
            big = np.where(self._swaps, self._second ** (terms - 1), big)
        return np.asarray(big[chosen] * growth)


_ExpectedAt = Callable[[int], FloatArray]


def expected_estimates(
    pair_values: FloatArray,
    graph: Graph,
    iterations: Sequence[int] | IntArray,
    *,
    method: str = "gosta",
    order: str = "update-first",
    law: LawLike = "uniform-edges",
) -> FloatArray:
    """Return E z(t) of a synchronous run, shape (len(iterations), n).

    ``pair_values`` is the matrix H with H[k, l] = h(x_k, x_l), for instance
    ``Pairs(data, "gini").matrix()``; for ``method="averaging"`` it is the vector of values.
    """
    chosen = find_method(method, "sync", graph.n)
    expected = EXPECTED[known_expectation(chosen, "sync")]
    values, steps = _check_values(pair_values, chosen, graph), _check_steps(iterations)
    at = expected(values, gossip_spectrum(graph, law), order)
    return np.array([at(t) for t in steps])


def _check_values(pair_values: FloatArray, method: Method, graph: Graph) -> FloatArray:
    values = np.asarray(pair_values, dtype=np.float64)
    expected_shape = (graph.n,) if method.estimates == "mean" else (graph.n, graph.n)
    if values.shape != expected_shape:
        raise InputError(
            f"The pair values have shape {values.shape}: {method.name} on a graph of {graph.n} "
            f"nodes needs shape {expected_shape}."
        )
    return values


def _check_steps(iterations: Sequence[int] | IntArray) -> list[int]:
    steps = [int(t) for t in iterations]
    if any(t < 1 for t in steps):
        raise InputError("Expected estimates exist from iteration 1 on: give iterations >= 1.")
    return steps


def row_mean_error(
    pair_values: FloatArray,
    graph: Graph,
    iterations: Sequence[int] | IntArray,
    law: LawLike = "uniform-edges",
) -> FloatArray:
    """Return the root mean square error over nodes and runs of synchronous U1-gossip (GoRank).

    Its square is the sum of the squared exact bias and the variance. If two observations visit node
    k, d exchanges apart, the second is the first again with probability W^d(k, k), where W is the
    expected swap, and otherwise any other, once observations have mixed. So the variance of the
    node's mean is the variance of its row of ``pair_values``, times 1/t plus 2/t^2 times the sum
    over d < t of (t - d) (n W^d(k, k) - 1) / (n - 1).
    """
    values = _check_values(pair_values, find_method("u1", "sync", graph.n), graph)
    steps = _check_steps(iterations)
    n, spectrum = graph.n, gossip_spectrum(graph, law)
    centered = values - values.mean(axis=1, keepdims=True)
    expected = _u1(centered, spectrum, ORDERS[0])
    spreads, mu = np.mean(centered**2, axis=1), spectrum.swap[1:]
    shares = spectrum.vectors[:, 1:] ** 2 * (n / (n - 1))
    found = []
    for t in steps:
        returns = shares @ (mu * (t * (1 - mu) - (1 - mu**t)) / (1 - mu) ** 2)
        found.append(np.mean(expected(t) ** 2 + spreads * (1 / t + 2 * returns / t**2)))
    return np.sqrt(found)


def known_expectation(method: Method, clock: str) -> Expectation:
    """Return the `Expectation` of a method, or raise `InputError` if there is none."""
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
    geometric = _GeometricSums(nu[:, None], mu[None, :])

    def at(t: int) -> FloatArray:
        sums = factor * geometric(t)
        return Q @ (M * sums).sum(axis=1) / t

    return at


def _u1(H: FloatArray, spectrum: GossipSpectrum, order: str) -> _ExpectedAt:
    """(1/t) sum_{s=1..t} (H o W_1^s) 1."""
    Q, mu = spectrum.vectors, spectrum.swap
    C = Q * (H @ Q)
    geometric = _GeometricSums(np.ones(1), mu)

    def at(t: int) -> FloatArray:
        return C @ (mu * geometric(t)) / t

    return at


def _u2(H: FloatArray, spectrum: GossipSpectrum, order: str) -> _ExpectedAt:
    """(1/t) sum_{s=0..t-1} diag(W_1^s H W_1^s)."""
    Q, mu = spectrum.vectors, spectrum.swap
    G = Q.T @ H @ Q
    geometric = _GeometricSums(np.ones(1), np.outer(mu, mu))

    def at(t: int) -> FloatArray:
        return (Q * (Q @ (G * geometric(t)).T)).sum(axis=1) / t

    return at


def _averaging(values: FloatArray, spectrum: GossipSpectrum, order: str) -> _ExpectedAt:
    """W_2^t x."""
    Q, nu = spectrum.vectors, spectrum.average
    coordinates = Q.T @ values

    def at(t: int) -> FloatArray:
        return Q @ (nu**t * coordinates)

    return at


EXPECTED: dict[Expectation, Callable[[FloatArray, GossipSpectrum, str], _ExpectedAt]] = {
    Expectation.GOSTA: _gosta,
    Expectation.U1: _u1,
    Expectation.U2: _u2,
    Expectation.AVERAGING: _averaging,
}
"""Functions of the values, the spectrum and the order of update and exchange that return E z(t)."""
BOUNDS: dict[Expectation, Callable[[Constants, IntArray], FloatArray]] = {
    Expectation.GOSTA: bounds.gosta_expectation_bound,
    Expectation.U1: lambda c, t: np.linalg.norm(bounds.u1_gossip_bound(c, t), axis=1),
    Expectation.U2: bounds.u2_gossip_bound,
}
"""Bounds on the norm of the bias, for methods of pairs."""
