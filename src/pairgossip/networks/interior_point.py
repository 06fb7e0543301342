"""The law of edges with the largest gap, by a primal-dual interior point method.

With p_e = q_e / gap, the largest gap of L_q = sum_e q_e L_e is one over the smallest sum of p with

    Z = sum_e p_e L_e - (I - J/n) positive semidefinite, and p >= 0,

and for every positive semidefinite Y with <L_e, Y> <= 1 for all edges, that sum is at least the
trace of Y: a certificate, whatever the path to it. Both p and Y stay feasible all along (s_e = 1 -
<L_e, Y> are computed from Y), so the distance of the two sums bounds what is left to gain.

Since L_e = b b', with b the difference of two unit vectors, the linear system of a step is the
entrywise product of b_e' Z^-1 b_f and b_e' Y b_f, and a diagonal: dense factors of it for up to a
few thousand edges, conjugate gradients without it beyond. Directions as of Helmberg, Rendl,
Vanderbei and Wolkowicz (1996), with the predictor and corrector of Mehrotra (1992).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from pairgossip.arrays import FloatArray
from pairgossip.graphs.checks import neighbor_sums
from pairgossip.graphs.spectrum import sparse_matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_MOST_STEPS = 60
_MOST_FACTORED = 4_000
"""Edges up to which the linear system is written out: 128 MB a matrix, and a second or a few."""
_TOLERANCE = 1e-3
"""Relative distance of the law's gap from its bound, where systems are factored."""
_ROUGH_TOLERANCE = 2e-2
"""The same with conjugate gradients."""
_MOST_PRODUCTS, _PRODUCT_ERROR = 150, 1e-2
"""How many conjugate gradients a direction may take, and the part of the residual they leave."""
_EDGE_WORK = 60
"""How much longer an entry takes edge by edge than in a product of whole matrices."""
_REACH = 0.95
"""The part of the way to the boundary that a step goes."""
_FEWEST_FOR_LANCZOS = 60
_SHRINKING = 0.8, 12
"""Where rounding puts a step outside: how much shorter the next one is, how often."""


class Solution(NamedTuple):
    """The law p / sum(p) has a gap of at least 1 / sum(p); no law has one above 1 / low."""

    p: FloatArray
    low: float


class _Point(NamedTuple):
    """A feasible p and Y, with the factors of Z + J/n and Y + J/n."""

    p: FloatArray
    y: FloatArray
    z: FloatArray
    z_factor: FloatArray
    y_factor: FloatArray


class _Direction(NamedTuple):
    """How p, Z, Y and s change together."""

    p: FloatArray
    z: csr_array[Any]
    y: FloatArray
    s: FloatArray


def solve(
    edges: NDArray[Any], n: int, gap: float, report: Callable[[float], None] | None = None
) -> Solution:
    """Find the best law; ``gap`` is that of uniform edges, ``report`` is told the part done."""
    problem = _Problem(edges, n)
    count = len(edges)
    tolerance = _TOLERANCE if count <= _MOST_FACTORED else _ROUGH_TOLERANCE
    # Twice what uniform edges need, and a fourth of the identity: strictly feasible.
    point = problem.point(np.full(count, 2 / (count * gap)), problem.centered / 4)
    assert point is not None
    first = best = _left_to_gain(point)
    for _ in range(_MOST_STEPS):
        left = _left_to_gain(point)
        best = min(best, left)
        if report is not None and best < first:
            report(min(np.log(first / best) / np.log(first / tolerance), 1.0))
        if left <= tolerance:
            break
        following = problem.advance(point)
        if following is None:  # rounding: what was reached holds, with its certificate
            break
        point = following
    # The trace over the largest product is what certifies, even where rounding put it above 1.
    low = float(np.trace(point.y)) / max(1.0, float(problem.products(point.y).max()))
    return Solution(point.p, low)


def _left_to_gain(point: _Point) -> float:
    """Return how much larger another gap may be, as a part of this one."""
    return float(point.p.sum() / np.trace(point.y)) - 1


class _Problem:
    """The edges, and the steps from one feasible point to the next."""

    def __init__(self, edges: NDArray[Any], n: int) -> None:
        self._edges, self._n = edges, n
        self._a, self._b = edges.T.astype(np.intp)
        self.centered = np.eye(n) - 1 / n
        self._degrees = n - 1 + len(edges)
        """Of the barrier: <Z, Y> + p s is this many times mu on the central path."""

    def products(self, matrix: FloatArray) -> FloatArray:
        """Return b' M b for every edge; M need not be symmetric."""
        own, a, b = np.diagonal(matrix), self._a, self._b
        return np.asarray(own[a] + own[b] - matrix[a, b] - matrix[b, a])

    def _laplacian(self, p: FloatArray) -> csr_array[Any]:
        degrees = neighbor_sums(self._n, self._edges, np.ones(self._n), p)
        return sparse_matrix(self._edges, -p, degrees)

    def point(self, p: FloatArray, y: FloatArray) -> _Point | None:
        """Return a point with its factors; None if it is not inside."""
        z = self._laplacian(p).toarray() - self.centered
        try:
            factors = [np.asarray(np.linalg.cholesky(each + 1 / self._n)) for each in (z, y)]
        except np.linalg.LinAlgError:
            return None
        return _Point(p, y, z, factors[0], factors[1])

    def advance(self, point: _Point) -> _Point | None:
        """Make one step; None where rounding leaves no way."""
        p, y = point.p, point.y
        s = 1 - self.products(y)
        if s.min() <= 0:
            return None
        mu = self._mean(point.z, y, p, s)
        inverse = _invert(point.z_factor) - 1 / self._n
        solve = self._system(inverse, y, s / p)
        if solve is None:
            return None

        def direct(target: float, corrector: FloatArray | float, at_edges: Any) -> _Direction:
            right = target * (self.products(inverse) + 1 / p) - 1 - at_edges
            dp = solve(right)
            dz = self._laplacian(dp)
            dy = target * inverse - y - _symmetric((dz @ inverse).T @ y) - corrector
            return _Direction(dp, dz, dy, -self.products(dy))

        ahead = direct(0.0, 0.0, 0.0)
        reach = self._reach(point, s, ahead)
        after = self._mean(
            point.z + reach[0] * ahead.z.toarray(),
            y + reach[1] * ahead.y,
            p + reach[0] * ahead.p,
            s + reach[1] * ahead.s,
        )
        target = mu * float(np.clip(after / mu, 0.01, 1.0)) ** 3
        corrector = _symmetric((ahead.z @ inverse).T @ ahead.y)
        at_edges = self.products(corrector) + ahead.p * ahead.s / p
        move = direct(target, corrector, at_edges)
        return self._move(point, move, *(_REACH * part for part in self._reach(point, s, move)))

    def _mean(self, z: FloatArray, y: FloatArray, p: FloatArray, s: FloatArray) -> float:
        """Return mu, the mean of what should all be equal, and vanish in the end."""
        return float(np.vdot(z, y) + p @ s) / self._degrees

    def _reach(self, point: _Point, s: FloatArray, move: _Direction) -> tuple[float, float]:
        """Return how far p and Y may go along a direction: at most 1 over `_REACH`."""
        primal = max(_fastest(point.p, move.p), _steepest(point.z_factor, move.z), _REACH)
        dual = max(_fastest(s, move.s), _steepest(point.y_factor, move.y), _REACH)
        return 1 / primal, 1 / dual

    def _move(self, point: _Point, move: _Direction, primal: float, dual: float) -> _Point | None:
        shorter, times = _SHRINKING
        for _ in range(times):
            y = point.y + dual * move.y
            y -= y.mean(axis=0)
            y -= y.mean(axis=1)[:, None]
            following = self.point(point.p + primal * move.p, _symmetric(y))
            if following is not None and following.p.min() > 0:
                return following
            primal, dual = shorter * primal, shorter * dual
        return None

    def _system(
        self, inverse: FloatArray, y: FloatArray, diagonal: FloatArray
    ) -> Callable[[FloatArray], FloatArray] | None:
        """Return what solves the linear system of a step; None where it cannot be factored."""
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
        preconditioner = self.products(inverse) * self.products(y) + diagonal
        # Single precision takes half the time, and is far finer than what directions leave.
        left, right = inverse.astype(np.float32), y.astype(np.float32)
        is_sparse = _EDGE_WORK * len(diagonal) <= self._n**2
        at_edges = right[self._a] - right[self._b] if is_sparse else right

        def multiply(x: FloatArray) -> FloatArray:
            image = (self._laplacian(x).astype(np.float32) @ left).T
            if not is_sparse:
                return self.products(image @ right) + diagonal * x
            image = np.ascontiguousarray(image)
            moved = image[self._a]
            moved -= image[self._b]
            return np.einsum("ek,ek->e", moved, at_edges) + diagonal * x

        return lambda target: _conjugate_gradients(multiply, target, preconditioner)


def _conjugate_gradients(
    multiply: Callable[[FloatArray], FloatArray], right: FloatArray, preconditioner: FloatArray
) -> FloatArray:
    """Solve roughly: an inexact direction is still a feasible one."""
    x, residual = np.zeros_like(right), right.copy()
    scaled = residual / preconditioner
    direction, size = scaled.copy(), float(residual @ scaled)
    enough = _PRODUCT_ERROR**2 * size
    for _ in range(_MOST_PRODUCTS):
        if size <= enough:
            break
        image = multiply(direction)
        step = size / float(direction @ image)
        x += step * direction
        residual -= step * image
        scaled = residual / preconditioner
        before, size = size, float(residual @ scaled)
        direction = scaled + size / before * direction
    return x


def _symmetric(matrix: FloatArray) -> FloatArray:
    return np.asarray((matrix + matrix.T) / 2)


def _invert(factor: FloatArray) -> FloatArray:
    return np.asarray(cho_solve((factor, True), np.eye(len(factor)), check_finite=False))


def _fastest(values: FloatArray, changes: FloatArray) -> float:
    """Return how fast the first of positive values reaches 0; negative if all grow."""
    return float((-changes / values).max())


def _steepest(factor: FloatArray, change: Any) -> float:
    """Return how fast the matrix C C' reaches the boundary: minus the least of C^-1 D C^-T."""
    size = len(factor)

    def apply(vector: FloatArray) -> FloatArray:
        options: Any = {"lower": True, "check_finite": False}
        inner = change @ solve_triangular(factor, vector.ravel(), trans="T", **options)
        return np.asarray(solve_triangular(factor, inner, **options))

    if size >= _FEWEST_FOR_LANCZOS:
        operator: Any = LinearOperator((size, size), matvec=apply, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(size)
        options: Any = {"which": "SA", "tol": 1e-2, "v0": start, "return_eigenvectors": False}
        try:
            return -float(eigsh(operator, k=1, **options)[0])
        except ArpackError:
            pass
    whole = np.column_stack([apply(unit) for unit in np.eye(size)])
    return -float(np.linalg.eigvalsh(_symmetric(whole))[0])
