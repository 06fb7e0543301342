"""The law of edges with the largest gap, by a primal-dual interior point method.

With p_e = q_e / gap, the largest gap of L_q = sum_e q_e L_e is one over the smallest sum of p with

    Z = sum_e p_e L_e - (I - J/n) positive semidefinite, and p >= 0,

and for every positive semidefinite Y with <L_e, Y> <= 1 for all edges, that sum is at least the
trace of Y. This certificate does not depend on the path to Y. Both p and Y stay feasible all along
(s_e = 1 - <L_e, Y> are computed from Y), so the distance of the two sums bounds the remaining gain.

Since L_e = b b', with b the difference of two unit vectors, the linear system of a step is the
entrywise product of b_e' Z^-1 b_f and b_e' Y b_f, plus a diagonal. Up to a few thousand edges the
system is factored; beyond, conjugate gradients solve it without storing it. Directions are those of
Helmberg, Rendl, Vanderbei and Wolkowicz (1996), with Mehrotra's predictor and corrector (1992).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

from pairgossip.arrays import FloatArray
from pairgossip.graphs.checks import neighbor_sums
from pairgossip.graphs.spectrum import sparse_matrix

_MOST_STEPS = 60
"""The largest number of steps."""
_MOST_FACTORED = 4_000
"""The largest number of edges for which the system is stored: 128 MB per matrix, seconds."""
_TOLERANCE = 1e-3
"""The relative distance of the law's gap from its bound, where systems are factored."""
_ROUGH_TOLERANCE = 2e-2
"""The same with conjugate gradients."""
_MOST_PRODUCTS, _PRODUCT_ERROR = 150, 1e-2
"""The largest number of conjugate gradients per direction, and the relative residual they leave."""
_EDGE_WORK = 60
"""The cost of an entry edge by edge, relative to its cost in a product of full matrices."""
_SHRINKAGE, _MOST_TRIALS = 0.8, 40
"""The factor of the next trial step after one that leads outside, and the most trials."""
_REACH = 0.9
"""The part taken of a shortened step, to stay off the boundary."""

_Inside = tuple[FloatArray, FloatArray]
"""A positive definite matrix, without the constant vector, and its Cholesky factor with it."""


class Solution(NamedTuple):
    """The law p / sum(p) has a gap of at least 1 / sum(p); no law has one above 1 / low."""

    p: FloatArray
    low: float


class _Point(NamedTuple):
    """A feasible p and Y, with Z and the factor of Z + J/n."""

    p: FloatArray
    z: FloatArray
    factor: FloatArray
    y: FloatArray


def solve(
    edges: NDArray[Any], n: int, gap: float, report: Callable[[float], None] | None = None
) -> Solution:
    """Find the best law; ``gap`` is that of uniform edges, ``report`` takes the part done."""
    problem = _Problem(edges, n)
    count = len(edges)
    tolerance = _TOLERANCE if count <= _MOST_FACTORED else _ROUGH_TOLERANCE
    point = problem.start(gap)
    first = best = _left_to_gain(point)
    for _ in range(_MOST_STEPS):
        left = _left_to_gain(point)
        best = min(best, left)
        if report is not None and best < first:
            report(min(np.log(first / best) / np.log(first / tolerance), 1.0))
        if left <= tolerance:
            break
        following = problem.advance(point)
        if following is None:  # rounding: the point reached is valid, with its certificate
            break
        point = following
    # Y over its largest product is feasible too, and certifies the bound.
    return Solution(point.p, float(np.trace(point.y) / problem.products(point.y).max()))


def _left_to_gain(point: _Point) -> float:
    """Return the largest remaining gain of the gap, relative to this gap."""
    return float(point.p.sum() / np.trace(point.y)) - 1


class _Problem:
    """The edges, and the steps from one feasible point to the next."""

    def __init__(self, edges: NDArray[Any], n: int) -> None:
        self._edges, self._n = edges, n
        self._a, self._b = edges.T.astype(np.intp)
        self._centered = np.eye(n) - 1 / n

    def start(self, gap: float) -> _Point:
        """Return an inner point: twice the p of uniform edges, and Y a fourth of the identity."""
        count = len(self._edges)
        p = np.full(count, 2 / (count * gap))
        inside = self._enter_primal(p)
        assert inside is not None
        return _Point(p, *inside, self._centered / 4)

    def products(self, matrix: FloatArray) -> FloatArray:
        """Return b' M b for every edge; M need not be symmetric."""
        own, a, b = np.diagonal(matrix), self._a, self._b
        return np.asarray(own[a] + own[b] - matrix[a, b] - matrix[b, a])

    def _laplacian(self, p: FloatArray) -> csr_array[Any]:
        degrees = neighbor_sums(self._n, self._edges, np.ones(self._n), p)
        return sparse_matrix(self._edges, -p, degrees)

    def _enter_primal(self, p: FloatArray) -> _Inside | None:
        """Return Z and its factor; None unless p is inside."""
        return self._factor(self._laplacian(p).toarray() - self._centered) if p.min() > 0 else None

    def _enter_dual(self, y: FloatArray) -> _Inside | None:
        return self._factor(y) if self.products(y).max() < 1 else None

    def _factor(self, matrix: FloatArray) -> _Inside | None:
        try:
            return matrix, np.asarray(np.linalg.cholesky(matrix + 1 / self._n))
        except np.linalg.LinAlgError:
            return None

    def advance(self, point: _Point) -> _Point | None:
        """Make one step; return None where rounding prevents it."""
        p, z, factor, y = point
        s = 1 - self.products(y)
        inverse = cho_solve((factor, True), np.eye(self._n), check_finite=False) - 1 / self._n
        system = self._system(inverse, y, s / p)
        if system is None:
            return None

        def direct(target: float, bend: Any, at_edges: Any) -> tuple[FloatArray, Any, FloatArray]:
            dp = system(target * (self.products(inverse) + 1 / p) - 1 - at_edges)
            dz = self._laplacian(dp)
            dy = target * inverse - y - _symmetric((dz @ inverse).T @ y) - bend
            dy -= dy.mean(axis=0)
            dy -= dy.mean(axis=1)[:, None]
            return dp, dz, _symmetric(dy)

        dp, dz, dy = direct(0.0, 0.0, 0.0)
        ahead = self._move(p, dp, y, dy)
        if ahead is None:
            return None
        mean, mean_ahead = self._mean(p, z, y), self._mean(ahead.p, ahead.z, ahead.y)
        # The less a step toward the optimum achieves, the more this step is centered.
        target = mean * float(np.clip(mean_ahead / mean, 0.01, 1.0)) ** 3
        bend = _symmetric((dz @ inverse).T @ dy)
        at_edges = self.products(bend) - dp * self.products(dy) / p
        dp, _, dy = direct(target, bend, at_edges)
        return self._move(p, dp, y, dy)

    def _mean(self, p: FloatArray, z: FloatArray, y: FloatArray) -> float:
        """Return the mean complementarity, whose terms should be equal and vanish in the end."""
        slack = 1 - self.products(y)
        return float(np.vdot(z, y) + p @ slack) / (self._n - 1 + len(p))

    def _move(self, p: FloatArray, dp: FloatArray, y: FloatArray, dy: FloatArray) -> _Point | None:
        """Move along both directions as far as they stay inside."""
        p, primal = _shorten(self._enter_primal, p, dp)
        y, dual = _shorten(self._enter_dual, y, dy)
        return None if primal is None or dual is None else _Point(p, *primal, y)

    def _system(
        self, inverse: FloatArray, y: FloatArray, diagonal: FloatArray
    ) -> Callable[[FloatArray], FloatArray] | None:
        """Return a solver of a step's linear system; None where it cannot be factored."""
        if len(diagonal) > _MOST_FACTORED:
            return self._iterative(inverse, y, diagonal)
        matrix = self._between(inverse)
        matrix *= self._between(y)
        np.einsum("ee->e", matrix)[:] += diagonal
        scale = 1 / np.sqrt(np.diagonal(matrix))
        matrix *= scale[:, None]
        matrix *= scale
        try:
            factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        return lambda right: scale * cho_solve(factor, scale * right, check_finite=False)

    def _between(self, matrix: FloatArray) -> FloatArray:
        """Return b_e' M b_f for all pairs of edges."""
        at = matrix[:, self._a] - matrix[:, self._b]
        between: FloatArray = at[self._a]
        between -= at[self._b]
        return between

    def _iterative(
        self, inverse: FloatArray, y: FloatArray, diagonal: FloatArray
    ) -> Callable[[FloatArray], FloatArray]:
        """Return an inexact solver: an inexact direction is still feasible."""
        scale = 1 / np.sqrt(self.products(inverse) * self.products(y) + diagonal)
        # Single precision takes half the time, with errors far below those of directions.
        left, right = inverse.astype(np.float32), y.astype(np.float32)
        is_sparse = _EDGE_WORK * len(diagonal) <= self._n**2
        at_edges = right[self._a] - right[self._b] if is_sparse else right

        def multiply(scaled: FloatArray) -> FloatArray:
            x = scale * scaled.ravel()
            image = (self._laplacian(x).astype(np.float32) @ left).T
            if not is_sparse:
                return scale * (self.products(image @ right) + diagonal * x)
            image = np.ascontiguousarray(image)
            moved = image[self._a]
            moved -= image[self._b]
            return scale * (np.einsum("ek,ek->e", moved, at_edges) + diagonal * x)

        size = len(diagonal)
        operator: Any = LinearOperator((size, size), matvec=multiply, dtype=np.float64)
        options: Any = {"rtol": _PRODUCT_ERROR, "maxiter": _MOST_PRODUCTS}
        return lambda target: np.asarray(scale * cg(operator, scale * target, **options)[0])


def _symmetric(matrix: FloatArray) -> FloatArray:
    return np.asarray((matrix + matrix.T) / 2)


def _shorten(
    enter: Callable[[FloatArray], _Inside | None], start: FloatArray, direction: FloatArray
) -> tuple[FloatArray, _Inside | None]:
    """Return the farthest point inside along a direction, and the result of `enter` there."""
    part = 1.0
    for _ in range(_MOST_TRIALS):
        place = start + part * direction
        inside = enter(place)
        if inside is not None and part < 1:
            place = start + _REACH * part * direction
            inside = enter(place)
        if inside is not None:
            return place, inside
        part *= _SHRINKAGE
    return start, None
