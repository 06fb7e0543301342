"""The exact error of averaging, for any graph, law and data.

Along random edges an exchange of e = (i, j) takes z to W_e z with W_e = I - r d d', d = e_i - e_j
and r the relaxation, so the expected square deviation from the mean after t exchanges is
<P, Phi^t(z z')>, where P = I - J/n and Phi(M) is the mean of W_e M W_e over the edges. Phi is
self-adjoint with eigenvalues from -1 to 1: a few dozen steps of Lanczos from P give all its powers
at once; long and thin graphs take a few hundred. Along sweeps nothing is random.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import UNIFORM_EDGES
from pairgossip.errors import InputError, needed_for

if TYPE_CHECKING:
    from pairgossip.graphs import Graph
    from pairgossip.graphs.laws import LawLike
    from pairgossip.graphs.orders import Sweep

LARGEST_EXACT = 4_000
"""The largest number of nodes for computations with n x n matrices: seconds."""
_FEWEST_STEPS = 150
"""The number of steps of Lanczos that are always allowed."""
_MOST_NUMBERS = 1_000_000_000
"""The work limit, in steps times the numbers of a matrix: seconds to minutes."""
_FIRST_CHECK = 32
"""The number of steps at the first check for convergence; later checks double it."""
_MOMENTS = 100
"""The number of moments up to the last one at which convergence is checked."""
_LARGEST_DIFFERENCE = 1e-4
"""The relative difference of two errors up to which they count as equal."""
_LEAST_ERROR = 1e-12
"""The least error, relative to the first one; smaller ones count as 0."""
_LEAST_NORM = 1e-13
"""The least norm of a step; below it the basis is complete."""
_PLACES = 8
"""The number of places in a sweep at which runs are taken to begin."""


def averaging_error(
    values: FloatArray,
    graph: Graph,
    exchanges: IntArray,
    law: LawLike = UNIFORM_EDGES,
    relaxation: float = 0.5,
    loss: float = 0.0,
) -> FloatArray:
    """Return the root mean square over nodes and runs of value minus mean after these exchanges.

    ``values`` are the nodes' first values, shape (n,), and ``loss`` is the probability that an
    exchange does not take place: that part of Phi is the identity. The error is NaN where it would
    take too long to compute, as after very many exchanges on a ring of thousands of nodes.
    """
    if graph.n > LARGEST_EXACT:
        raise InputError(
            f"The exact error of averaging is known up to {LARGEST_EXACT:,} nodes, not for "
            f"{graph.n:,}."
        )
    deviations = values - values.mean()
    steps, check_at = _Lanczos(graph, law, relaxation, loss), _FIRST_CHECK
    last = max(int(np.max(exchanges, initial=1)), 2)
    looks = np.unique(np.rint(np.geomspace(1, last, _MOMENTS)))
    for basis in steps:
        steps.seen.append(float(np.einsum("ij,j->i", basis, deviations) @ deviations))
        if len(steps.seen) == check_at:
            if steps.known_until(looks) == last:
                break
            check_at *= 2
    known = np.asarray(exchanges) <= steps.known_until(looks)
    return np.where(known, np.sqrt(steps.squares(exchanges) / graph.n), np.nan)


def sweep_error(
    values: FloatArray, sweep: Sweep, exchanges: IntArray, relaxation: float = 0.5
) -> FloatArray:
    """Return the root mean square over nodes of value minus mean after these ordered exchanges.

    Runs begin anywhere in a sweep: the error is the root mean square over places spread evenly over
    it.
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


def _inner_product(one: FloatArray, other: FloatArray) -> float:
    """Return <A, B>, without BLAS, whose threads take longer to synchronize than to add."""
    return float(np.einsum("ij,ij->", one, other))


class _Lanczos:
    """An orthonormal basis of the matrices P, Phi(P), Phi(Phi(P)), ..., and Phi in it.

    ``seen`` has the quadratic form of each matrix of the basis at the deviations of the values.
    """

    def __init__(self, graph: Graph, law: LawLike, relaxation: float, loss: float) -> None:
        self._loss = loss
        self._laplacian, self._relaxation = relaxation * graph.laplacian(law), relaxation
        self._edges, self._chances = graph.edges, graph.edge_probabilities(law)
        self._n = graph.n
        self.seen: list[float] = []
        self._diagonal: list[float] = []
        self._beside: list[float] = []
        self._decomposed: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._is_whole = False

    def __iter__(self) -> Iterator[FloatArray]:
        n = self._n
        current = np.eye(n) - 1 / n
        self._size = float(np.linalg.norm(current))
        current /= self._size
        before, after, beside = np.zeros_like(current), np.empty_like(current), 0.0
        for _ in range(max(_FEWEST_STEPS, _MOST_NUMBERS // n**2)):
            self._mean_step(current, after)
            before *= beside
            after -= before
            self._diagonal.append(_inner_product(current, after))
            yield current
            after -= np.multiply(self._diagonal[-1], current, out=before)
            after -= after.mean()  # Phi keeps constants: rounding to them would never fade
            beside = math.sqrt(_inner_product(after, after))
            if beside < _LEAST_NORM:
                self._is_whole = True
                return
            self._beside.append(beside)
            after /= beside
            before, current, after = current, after, before

    def _mean_step(self, matrix: FloatArray, after: FloatArray) -> None:
        """Write Phi(M) = M - r (L M + M L) + the mean of r^2 d (d' M d) d'."""
        i, j = self._edges.T
        moved = self._laplacian @ matrix
        np.add(moved, moved.T, out=after)
        np.subtract(matrix, after, out=after)
        own = np.diagonal(matrix)
        squares = own[i] + own[j] - 2 * matrix[i, j]
        added = self._relaxation**2 * self._chances * squares
        gained = np.bincount(i, added, self._n) + np.bincount(j, added, self._n)
        np.einsum("kk->k", after)[:] += gained
        after[i, j] -= added
        after[j, i] -= added

    def known_until(self, looks: FloatArray) -> float:
        """Return the last of these moments up to which an eighth fewer steps change nothing."""
        if self._is_whole:
            return float(looks[-1])
        whole = np.sqrt(self.squares(looks))
        part = np.sqrt(self.squares(looks, 7 * len(self.seen) // 8))
        first = np.sqrt(self.squares(np.zeros(1)))
        differ = np.abs(whole - part) > _LARGEST_DIFFERENCE * whole + _LEAST_ERROR * first
        return float(looks[-1] if not differ.any() else looks[max(differ.argmax() - 1, 0)])

    def squares(self, exchanges: FloatArray | IntArray, size: int | None = None) -> FloatArray:
        """Return the sum over nodes of expected square deviations, from ``size`` steps or all."""
        seen = np.array(self.seen[:size])
        values, vectors = self._decompose(len(seen))
        shares = self._loss + (1 - self._loss) * np.clip(values, -1.0, 1.0)
        faded = shares ** np.asarray(exchanges, dtype=np.float64)[:, None]
        return np.asarray(np.maximum(self._size * (faded * vectors[0]) @ (vectors.T @ seen), 0.0))

    def _decompose(self, size: int) -> tuple[FloatArray, FloatArray]:
        """Return eigenvalues and eigenvectors of Phi in the first matrices of the basis.

        The matrix is tridiagonal: as a full matrix it would take longer than all steps.
        """
        if size not in self._decomposed:
            with needed_for("The exact error of averaging"):
                from scipy.linalg import eigh_tridiagonal
            main, beside = np.array(self._diagonal[:size]), np.array(self._beside[: size - 1])
            values, vectors = eigh_tridiagonal(main, beside)
            self._decomposed[size] = np.asarray(values), np.asarray(vectors)
        return self._decomposed[size]
