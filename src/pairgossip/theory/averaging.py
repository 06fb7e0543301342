"""The exact error of averaging, whatever the graph, the law and the data.

Along random edges an exchange of e = (i, j) projects, z <- W_e z with W_e = I - d d'/2 and
d = e_i - e_j, so the expected square deviation from the mean after t exchanges is
<P, Phi^t(z z')>, where P = I - J/n and Phi(M) is the mean of W_e M W_e over the edges. Phi is
self-adjoint with eigenvalues from 0 to 1: a few dozen steps of Lanczos from P give all its powers
at once, to rounding. Along sweeps nothing is left to chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import UNIFORM_EDGES
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.graphs import Graph
    from pairgossip.graphs.orders import Sweep

LARGEST_EXACT = 4_000
"""Up to this many nodes a matrix of nodes by nodes is a matter of seconds."""
_MOST_STEPS = 150
_NEGLIGIBLE = 1e-13
_PLACES = 8
"""Where in a sweep runs are taken to begin."""


def averaging_error(
    values: FloatArray, graph: Graph, exchanges: IntArray, law: str = UNIFORM_EDGES
) -> FloatArray:
    """Return the root mean square over nodes and runs of value minus mean after these exchanges.

    ``values`` is what the nodes start from, shape (n,).
    """
    if graph.n > LARGEST_EXACT:
        raise InputError(
            f"The exact error of averaging is known up to {LARGEST_EXACT:,} nodes, not for "
            f"{graph.n:,}."
        )
    deviations = values - values.mean()
    steps = _Lanczos(graph, law)
    seen: list[float] = []
    for basis in steps:
        seen.append(float(deviations @ basis @ deviations))
    weights = steps.powers(exchanges)
    squares = np.maximum(weights @ np.array(seen), 0.0) / graph.n
    return np.sqrt(squares)


def sweep_error(
    values: FloatArray, sweep: Sweep, exchanges: IntArray, relaxation: float = 0.5
) -> FloatArray:
    """Return the root mean square over nodes of value minus mean after these ordered exchanges.

    Runs begin anywhere in a sweep: it is the root mean square over places spread evenly over it.
    """
    wanted = np.asarray(exchanges)
    squares = np.zeros(len(wanted))
    places = range(0, len(sweep.edges), -(-len(sweep.edges) // _PLACES))
    for place in places:
        current, at, done = values - values.mean(), place, 0
        found = np.empty(len(wanted))
        for number in np.argsort(wanted):
            at = sweep.follow(current, relaxation, at, int(wanted[number]) - done)
            done = int(wanted[number])
            found[number] = np.mean(current**2)
        squares += found
    return np.sqrt(squares / len(places))


class _Lanczos:
    """An orthonormal basis of the matrices P, Phi(P), Phi(Phi(P)), ..., and Phi in it."""

    def __init__(self, graph: Graph, law: str) -> None:
        self._laplacian = graph.laplacian(law)
        self._edges, self._chances = graph.edges, graph.edge_probabilities(law)
        self._n = graph.n
        self._diagonal: list[float] = []
        self._beside: list[float] = []

    def __iter__(self) -> Iterator[FloatArray]:
        n = self._n
        current = np.eye(n) - 1 / n
        self._size = float(np.linalg.norm(current))
        current /= self._size
        before, beside = np.zeros_like(current), 0.0
        for _ in range(_MOST_STEPS):
            yield current
            after = self._mean_step(current) - beside * before
            self._diagonal.append(float(np.vdot(current, after)))
            after -= self._diagonal[-1] * current
            beside = float(np.linalg.norm(after))
            if beside < _NEGLIGIBLE:
                return
            self._beside.append(beside)
            before, current = current, after / beside

    def _mean_step(self, matrix: FloatArray) -> FloatArray:
        """Return Phi(M) = M - (L M + M L) / 2 + the mean of d (d' M d) d' / 4."""
        i, j = self._edges.T
        moved = self._laplacian @ matrix
        after = matrix - (moved + moved.T) / 2
        squares = matrix[i, i] + matrix[j, j] - 2 * matrix[i, j]
        quarter = self._chances * squares / 4
        np.add.at(after, (i, i), quarter)
        np.add.at(after, (j, j), quarter)
        after[i, j] -= quarter
        after[j, i] -= quarter
        return after

    def powers(self, exchanges: IntArray) -> FloatArray:
        """Return the coefficients of Phi^t(P) in the basis, one row per number t."""
        size = len(self._diagonal)
        small = np.diag(self._diagonal) + np.diag(self._beside[: size - 1], 1)
        values, vectors = np.linalg.eigh(small + np.triu(small, 1).T)
        values = np.clip(values, 0.0, 1.0)
        faded = values ** np.asarray(exchanges, dtype=np.float64)[:, None]
        return self._size * (faded * vectors[0]) @ vectors.T
