"""A first model from one averaging of the grades' means and second moments.

For pairs of a higher and a lower grade, M is the mean of (x - x')(x - x')' and D that of x - x'.
The squared loss (1 - theta . (x - x'))^2 has its minimum at theta = M^-1 D. Other losses start
there, at the scale that is best if theta . (x - x') is normal.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.losses.margins import Margin
from pairgossip.solvers.polynomials import add_rows, members_of

_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(64)
_SCALES = np.geomspace(1e-3, 1e3, 121)
_LARGEST_MARGIN = 16.0
"""The largest mean margin of a first model; pairs beyond it gain almost nothing."""
_BLOCK = 1 << 22
"""The number of products of features in memory at a time."""
_LEAST_WEIGHT = 1e-10
"""The least weight of a direction, relative to the largest; lighter ones are raised to it."""
_LARGEST_INVERSE = 1e7
"""The largest inverse that is exact enough to show that no direction is below this weight."""


@dataclass(frozen=True)
class GradeMoments:
    """The layout of the averaged numbers: for every grade its share, mean and second moments.

    Parameters
    ----------
    grades, dimension
        The numbers of grades and of features.
    full
        Whether all products of two features are averaged, or the squares only.
    """

    grades: int
    dimension: int
    full: bool

    @property
    def size(self) -> int:
        """The count of numbers averaged."""
        d = self.dimension
        return self.grades * (1 + d + (d * (d + 1) // 2 if self.full else d))

    def add_up(
        self,
        rows: FloatArray,
        grades: IntArray,
        weights: FloatArray,
        owner: IntArray | None,
        owners: int,
        members: list[Any] | None = None,
    ) -> FloatArray:
        """Return sums over each owner's rows, shape (owners, size); over all rows without owner.

        ``members`` are the rows of each grade, if the caller has them.
        """
        sums = np.zeros((owners, self.grades, self.size // self.grades))
        for grade, mine in enumerate(members or members_of(grades, self.grades)):
            x, w = rows[mine], weights[mine]
            if owner is None:
                sums[0, grade] = np.concatenate([[w.sum()], w @ x, self._squares_of_all(x, w)])
            else:
                self._add_by_owner(sums[:, grade], x, w, owner[mine])
        return sums.reshape(owners, -1)

    def _add_by_owner(
        self, sums: FloatArray, x: FloatArray, weights: FloatArray, owner: IntArray
    ) -> None:
        step = max(1, _BLOCK // sums.shape[1])
        for at in (slice(start, start + step) for start in range(0, len(x), step)):
            each = np.column_stack([np.ones(len(x[at])), x[at], self._products(x[at])])
            sums += add_rows(each * weights[at, None], owner[at], len(sums))

    def _products(self, x: FloatArray) -> FloatArray:
        if not self.full:
            return x**2
        first, second = _upper(self.dimension)
        return x[:, first] * x[:, second]

    def _squares_of_all(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        if not self.full:
            return np.asarray(weights @ x**2)
        is_plain = (weights == 1.0).all()
        # NumPy computes the product of a matrix with its own transpose in half the time.
        scaled = x if is_plain else x * np.sqrt(weights)[:, None]
        return np.asarray(scaled.T @ scaled)[_upper(self.dimension)]

    def read(self, means: FloatArray) -> PairMoments:
        """Return the moments of pairs from each node's averages, shape (n, size)."""
        d, n = self.dimension, len(means)
        parts = means.reshape(n, self.grades, -1)
        share, first, second = parts[..., 0], parts[..., 1 : d + 1], parts[..., d + 1 :]
        below = np.cumsum(share, axis=1) - share
        above = share[:, ::-1].cumsum(axis=1)[:, ::-1] - share
        first_below = np.cumsum(first, axis=1) - first
        weight = np.einsum("nc,nc->n", share, below)
        apart = np.einsum("ncd,nc->nd", first, below - above)
        squares = np.einsum("nck,nc->nk", second, below + above)
        if not self.full:
            cross = np.einsum("nci,nci->ni", first, first_below)
            return PairMoments(weight, apart, squares - 2.0 * cross)
        cross = np.einsum("nci,ncj->nij", first, first_below)
        matrix = squares.take(_places(d), axis=1).reshape(n, d, d)
        matrix -= cross + cross.transpose(0, 2, 1)
        return PairMoments(weight, apart, matrix)


@dataclass(frozen=True)
class PairMoments:
    """Sums over pairs of a higher and a lower grade, one for every node."""

    weight: FloatArray
    """The share of such pairs, shape (n,)."""
    apart: FloatArray
    """The sum of x - x', shape (n, d)."""
    products: FloatArray
    """The sum of (x - x')(x - x')', shape (n, d, d), or of squares only, shape (n, d)."""

    def curvature(self, shares: FloatArray, penalty: FloatArray) -> Metric:
        """Return the curvature, if these are moments of rows weighed by phi'' at their pairs.

        ``shares`` are the sums of these weights, in which every pair counts at both of its rows.
        """
        per_pair = shares / 2.0 / np.maximum(self.weight, 1e-300)
        factors = per_pair.reshape(-1, *[1] * (self.products.ndim - 1))
        return Metric(self.products * factors, 2.0 * penalty)

    def solve_squared(self, penalty: FloatArray) -> FloatArray:
        """Return the minimum of the squared loss and a squared penalty per feature."""
        return Metric(self.products, penalty).solve(self.apart)

    def start(self, phi: Margin, penalty: FloatArray) -> FloatArray:
        """Return a model for a loss to start from."""
        direction = self.solve_squared(penalty)
        mean = np.einsum("nd,nd->n", direction, self.apart) / self.weight
        form = "nd,nd,nd->n" if self.products.ndim == 2 else "nd,nde,ne->n"
        second = np.einsum(form, direction, self.products, direction) / self.weight
        margins = mean[:, None] + np.sqrt(np.maximum(second - mean**2, 0.0))[:, None] * _POINTS
        cost = np.einsum("nd,d->n", direction**2, np.broadcast_to(penalty, direction.shape[1:]))
        scale = _best_scale(phi, margins, cost / self.weight)
        scale = np.minimum(scale, _LARGEST_MARGIN / np.maximum(mean, 1e-300))
        return np.asarray(scale[:, None] * direction)


class Metric:
    """A positive matrix per node, given in full or by its diagonal, plus another diagonal.

    Directions of almost no weight get a little, so that it can be inverted. It is stored as a
    matrix with ones on its diagonal, and the roots of its diagonal: a strong penalty of one feature
    must not make others look negligible.
    """

    def __init__(self, products: FloatArray, added: FloatArray) -> None:
        diagonal = products if products.ndim == 2 else np.einsum("nii->ni", products)
        # Features without weight are treated like the heaviest one: steps along them are short.
        most = diagonal.max(axis=1, keepdims=True)
        lifted = np.where(diagonal > _LEAST_WEIGHT * most, diagonal, np.where(most > 0, most, 1.0))
        self._roots = np.sqrt(lifted + added)
        self._whole = self._inverse = None
        if products.ndim == 3:
            whole = products / self._roots[:, :, None] / self._roots[:, None, :]
            np.einsum("nii->ni", whole)[:] = 1.0
            self._whole, self._inverse = _invert(whole)

    def solve(self, v: FloatArray) -> FloatArray:
        """Return the inverse times v, shape (n, d)."""
        return _turn(self._inverse, v / self._roots) / self._roots

    def times(self, v: FloatArray) -> FloatArray:
        """Return the matrix times v, shape (n, d)."""
        return _turn(self._whole, v * self._roots) * self._roots

    def diagonal(self) -> FloatArray:
        """Return the diagonals, shape (n, d)."""
        whole = 1.0 if self._whole is None else np.einsum("nii->ni", self._whole)
        return np.asarray(self._roots**2 * whole)


def _invert(whole: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return matrices in which no direction is negligible, and their inverses."""
    with suppress(np.linalg.LinAlgError):
        np.linalg.cholesky(whole)  # raises unless all directions have weight
        inverse = np.asarray(np.linalg.inv(whole), dtype=np.float64)
        if np.abs(inverse).max() * whole.shape[1] < _LARGEST_INVERSE:
            return whole, inverse
    sizes, vectors = np.linalg.eigh(whole)
    sizes, turned = np.maximum(sizes, _LEAST_WEIGHT)[:, None, :], vectors.transpose(0, 2, 1)
    return (vectors * sizes) @ turned, (vectors / sizes) @ turned


def _turn(matrix: FloatArray | None, v: FloatArray) -> FloatArray:
    return v if matrix is None else np.asarray(np.einsum("nij,nj->ni", matrix, v))


def _best_scale(phi: Margin, margins: FloatArray, cost: FloatArray) -> FloatArray:
    """Return the factor of each node's margins with the least sum of mean loss and penalty."""
    center, grid = np.ones(len(margins)), _SCALES
    blocks = min(len(grid), 1 + margins.size * len(grid) // _BLOCK)
    for _ in range(2):
        values = []
        for part in np.array_split(grid, blocks):
            factors = np.multiply.outer(part, center)
            means = phi.value(factors[:, :, None] * margins) @ _WEIGHTS / _WEIGHTS.sum()
            values.append(means + cost * factors**2)
        center = center * grid[np.concatenate(values).argmin(axis=0)]
        grid = np.geomspace(grid[0] / grid[1], grid[1] / grid[0], 25)
    return center


@cache
def _upper(dimension: int) -> tuple[IntArray, IntArray]:
    """Return the indices of the entries of a matrix on and above the diagonal."""
    return np.triu_indices(dimension)


@cache
def _places(dimension: int) -> IntArray:
    """Return the places of a symmetric matrix's entries among those of `_upper`, row by row."""
    places = np.zeros((dimension, dimension), dtype=np.intp)
    places[_upper(dimension)] = np.arange(dimension * (dimension + 1) // 2)
    return (places + np.triu(places, 1).T).ravel()
