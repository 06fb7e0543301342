"""Sums of a smooth function of differences of scores, from averages of Chebyshev polynomials.

phi(s - s') is nearly T(s)' C T(s') for scores in a known range, so each row computes the sum of phi
over other rows from the averages of T_0, T_1, ... over their scores, and the sum of phi' likewise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.losses.margins import Margin, Phi

_ORDERS = (3, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384)
"""The orders to choose from, in numbers averaged per grade, few enough that nodes agree on one."""
_NARROWEST = 1e-100
"""The least width of a range of scores; narrower ones count as this wide, to avoid overflow."""
_LARGEST_EXPONENT = 300.0
"""The largest exponent; the exponential of twice this is still a floating point number."""
_ROWS_AT_ONCE = 1 << 12
_HEIGHTS = np.linspace(0.02, 0.995, 60)
"""Heights of the ellipses tried for bounds, relative to the height of the nearest pole."""


class PairSums(NamedTuple):
    """Sums of each row over its pairs with rows of other grades, each of shape (m,)."""

    values: FloatArray
    slopes: FloatArray
    bends: FloatArray
    """Sums of phi'', for preconditioning: they need not be exact."""
    errors: FloatArray
    """Bounds on the errors of the slopes."""


class Polynomials:
    """A sketch of scores by the averages of polynomials.

    Parameters
    ----------
    phi
        The function of differences, analytic in a strip or quadratic.
    low, high
        The range of the scores.
    order
        The number of polynomials.
    """

    def __init__(self, phi: Margin, low: float, high: float, order: int) -> None:
        self._phi, self.order = phi, order
        self._center, self._half = (low + high) / 2, max((high - low) / 2, _NARROWEST)
        self._low = min(order, math.ceil(math.sqrt(3.0 * order)))
        self._high = math.ceil(order / self._low)

    @property
    def size(self) -> int:
        """The count of numbers averaged per grade; the first is the grade's share."""
        return self.order

    def features(self, scores: FloatArray) -> FloatArray:
        """Return T_0 to T_(k-1) and T_0, T_k, T_2k, ... at scores; their products give the others.

        These are far fewer than the order, so that less memory is read.
        """
        x, k = np.clip((scores - self._center) / self._half, -1.0, 1.0), self._low
        each = np.empty((k + self._high, len(x)))
        _recur(x, each[:k])
        _recur(2.0 * x * each[k - 1] - each[k - 2], each[k:])
        return each

    def add_up(
        self, features: FloatArray, weights: FloatArray, owner: IntArray | None, owners: int
    ) -> FloatArray:
        """Return sums over each owner's rows, shape (owners, size); over all rows without owner."""
        low, high = features[: self._low], features[self._low :] * weights
        if owner is None:
            return self._unfold((high @ low.T)[None])
        each = np.einsum("jm,im->mji", high, low)
        products = add_rows(each.reshape(len(weights), -1), owner, owners)
        return self._unfold(products.reshape(owners, *each.shape[1:]))

    def read(self, features: FloatArray, others: FloatArray, *, below: bool) -> PairSums:
        """Return the sums over other rows, given their averages, one for all or one per row.

        The sums are of phi(s - s') if the others have lower grades (``below``), else of
        phi(s' - s).
        """
        return self.read_several([features], [others], [below])[0]

    def read_several(
        self, features: Sequence[FloatArray], others: Sequence[FloatArray], below: Sequence[bool]
    ) -> list[PairSums]:
        """Return the results of `read` for several sets of rows, each with its own others."""
        if self._phi.code is Phi.LOGISTIC and {len(each) for each in others} == {1}:
            sums = self._sum_polynomials(np.concatenate(others), np.array(below))
            folded = self._fold(sums).reshape(len(others), -1, self._low)
            read = [self._sum_all(*each) for each in zip(features, folded, strict=True)]
        else:
            read = []
            for own, averages, side in zip(features, others, below, strict=True):
                forms = (form.T if side else form for form in self._forms)
                read.append(np.stack([self._sum(own, averages @ form) for form in forms]))
        found = []
        for (values, slopes, bends), averages in zip(read, others, strict=True):
            errors = np.empty(len(values))
            errors[:] = self.error * np.abs(averages[:, 0])
            found.append(PairSums(values, slopes, np.maximum(bends, 0.0), errors))
        return found

    def _unfold(self, products: FloatArray) -> FloatArray:
        """Return averages of all polynomials, given those of T_jk T_i, shape (n, high, low).

        T_(jk+i) = 2 T_jk T_i - T_(jk-i) gives one after the other: an alternating sum over j.
        """
        products[:, 1:, 1:] *= 2.0
        rest = products[:, :, 1:]
        _alternate(rest)
        np.cumsum(rest, axis=1, out=rest)
        _alternate(rest)
        return products.reshape(len(products), -1)[:, : self.order]

    def _fold(self, coefficients: FloatArray) -> FloatArray:
        """Return the coefficients of T_jk T_i, given those of all polynomials."""
        each = np.zeros((len(coefficients), self._high * self._low))
        each[:, : self.order] = coefficients
        folded = each.reshape(-1, self._high, self._low)
        rest = folded[:, :, 1:]
        _alternate(rest)
        np.cumsum(rest[:, ::-1], axis=1, out=rest[:, ::-1])
        _alternate(rest)
        folded[:, 1:, 1:] *= 2.0
        return folded

    def _sum(self, features: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Return sums of polynomials at all rows, with coefficients for all or one set per row."""
        if len(coefficients) == 1:
            return self._sum_all(features, self._fold(coefficients)[0])[0]
        low, high = features[: self._low], features[self._low :]
        return np.einsum("mji,im,jm->m", self._fold(coefficients), low, high, optimize=True)

    def _sum_all(self, features: FloatArray, folded: FloatArray) -> FloatArray:
        """Return several sums of polynomials at all rows, one per set of folded coefficients."""
        low, high = features[: self._low], features[self._low :]
        within = folded @ low
        # A site may have no row of a grade, and NumPy could then not infer the count.
        count = len(within) // len(high)
        return np.einsum("fjm,jm->fm", within.reshape(count, *high.shape), high)

    def _sum_polynomials(self, others: FloatArray, below: Any) -> FloatArray:
        """Return the logistic phi, phi' and phi'' summed over others, as polynomials of a score.

        Each of the others has three. They are summed at the Chebyshev points, which is far less
        work than computing all of C. The sum of phi is the integral of the sum of phi'.
        """
        order, count = self.order, len(others)
        weights, total, side = _weigh_points(others), others[:, :1], np.where(below, 1.0, -1.0)
        sums = np.concatenate([weights, weights[:, ::-1]]) @ self._tables.T
        sums = sums.reshape(2, count, 2, -1)
        (at, squares), (mirrored, mirrored_squares) = sums.transpose(0, 2, 1, 3)
        known = np.empty((2, count, order))
        half, later = at.shape[1], slice(order // 2 - 1, None, -1)
        known[0, :, :half], known[0, :, half:] = at, total - mirrored[:, later]
        known[0] = np.where(below[:, None], -known[0], known[0] - total)
        known[1, :, :half] = at - squares
        known[1, :, half:] = (mirrored - mirrored_squares)[:, later]
        found = np.empty((count, 3, order))
        found[:, 1], found[:, 2] = _interpolate(known)
        values, slopes = found[:, 0], found[:, 1]
        values[:, 1:] = slopes[:, :-1]
        values[:, 1] *= 2.0
        values[:, 1:-1] -= slopes[:, 2:]
        values[:, 1:] *= np.multiply.outer(side, self._half / 2.0 / np.arange(1, order))
        ends = self._phi.value(self._half * (1.0 - np.multiply.outer(side, _points(order))))
        values[:, 0] = np.einsum("ni,ni->n", weights, ends)
        values[:, 0] -= values[:, 2::2].sum(axis=1) + side * values[:, 1::2].sum(axis=1)
        return found.reshape(-1, order)

    @cached_property
    def _tables(self) -> FloatArray:
        """-phi'(u) of the logistic function, and its square, at half the points.

        The other half mirrors them: -phi'(-u) = 1 + phi'(u), and phi'' = -phi' (1 + phi').
        """
        points = _points(self.order)
        some = points[: (self.order + 1) // 2, None]
        tables = np.empty((2, len(some), self.order))
        falls, squares = tables
        if self._half < _LARGEST_EXPONENT:  # of differences: products of few exponentials
            grown = np.concatenate([np.exp(self._half * some), np.ones_like(some)], axis=1)
            shrunk = np.stack([np.exp(-self._half * points), np.ones_like(points)])
            np.dot(grown, shrunk, out=falls)
        else:
            np.exp(np.minimum(self._half * (some - points), 2.0 * _LARGEST_EXPONENT), out=falls)
            falls += 1.0
        np.divide(1.0, falls, out=falls)
        np.multiply(falls, falls, out=squares)
        return tables.reshape(-1, self.order)

    @cached_property
    def _forms(self) -> tuple[FloatArray, ...]:
        """C of phi, phi' and phi'', by interpolation at the Chebyshev points of both arguments."""
        points = _points(self.order)
        u = self._half * (points[:, None] - points[None, :])
        assert self._phi.curvature is not None
        parts = (self._phi.value(u), self._phi.derivative(u), self._phi.curvature(u))
        return tuple(_interpolate(_interpolate(each).T).T for each in parts)

    @cached_property
    def error(self) -> float:
        """The bound on the error of phi'(s - s')."""
        return slope_error(self._phi, self._half, self.order)


@cache
def _points(order: int) -> FloatArray:
    """Return the Chebyshev points of an order, from the lowest."""
    return np.asarray(chebyshev.chebpts1(order), dtype=np.float64)


@cache
def _phases(order: int) -> Any:
    return np.exp(-0.5j * math.pi / order * np.arange(order))


def _alternate(rest: FloatArray) -> None:
    """Mirror every second row and change its sign."""
    rest[:, 1::2] = -rest[:, 1::2, ::-1]


def _interpolate(values: FloatArray) -> FloatArray:
    """Return the coefficients of polynomials that have these values at the points."""
    order = values.shape[-1]
    around = np.concatenate([values[..., ::-1], values], axis=-1)
    coefficients = (np.fft.rfft(around)[..., :order] * _phases(order)).real / order
    coefficients[..., 0] /= 2.0
    return np.asarray(coefficients)


def _weigh_points(averages: FloatArray) -> FloatArray:
    """Return the weights of the points that give polynomials these averages.

    This is the transpose of interpolation.
    """
    order = averages.shape[-1]
    around = np.fft.irfft(averages * _phases(order).conj(), 2 * order)
    return 2.0 * around[..., order - 1 :: -1]


def _recur(x: FloatArray, each: FloatArray) -> None:
    """Write T_0, T_1, ... at x, one per row: T_(m+a) = 2 T_m T_a - T_(m-a) doubles them."""
    each[0], each[1:2] = 1.0, x
    # A block of scores at a time stays in the cache while all polynomials are computed.
    for start in range(0, len(x), _ROWS_AT_ONCE):
        block, m = each[:, start : start + _ROWS_AT_ONCE], 1
        while m + 1 < len(block):
            more = min(m, len(block) - 1 - m)
            later = block[m + 1 : m + 1 + more]
            np.multiply(2.0 * block[m], block[1 : 1 + more], out=later)
            later -= block[m - more : m][::-1]
            m += more


def slope_error(phi: Margin, half: float, order: int) -> float:
    """Bound the error of phi' on scores of range 2 ``half`` with ``order`` polynomials."""
    return float(_slope_errors(phi, half, _orders_with(order))[_orders_with(order).index(order)])


def _orders_with(order: int) -> tuple[int, ...]:
    return _ORDERS if order in _ORDERS else (order,)


@lru_cache(maxsize=8)
def _slope_errors(phi: Margin, half: float, orders: tuple[int, ...]) -> FloatArray:
    """Return the bounds of several orders.

    A function that is analytic and at most M inside the ellipse of radius rho is within
    4 M rho^(1 - r) / (rho - 1) of its interpolation at r points. Interpolating in the second
    score as well multiplies that by at most 2 + the logarithm of r.
    """
    if phi.is_quadratic:
        return np.full(len(orders), 1e-13 * (1.0 + half))
    assert phi.strip is not None
    powers, factors, rounding = _terms_of_bounds(orders)
    imaginary = _HEIGHTS * phi.strip.pole
    heights = imaginary / max(half, _NARROWEST)
    rho = heights + np.sqrt(1.0 + heights**2)
    with np.errstate(over="ignore", under="ignore"):
        bounds = np.exp(powers * np.log(rho)) * (phi.strip.largest_slopes(imaginary) / (rho - 1.0))
    return np.asarray(bounds.min(axis=1) * factors + rounding)


@cache
def _terms_of_bounds(orders: tuple[int, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
    each = np.array(orders, dtype=np.float64)
    return 1.0 - each[:, None], 4.0 * (2.0 + np.log(each)), 1e-14 * each


def choose_order(phi: Margin, half: float, tolerance: float) -> int:
    """Return the least order whose slopes are off by no more than the tolerance, or the largest."""
    if phi.is_quadratic:
        return _ORDERS[0]  # which is exact, however rounding compares to the tolerance
    enough = _slope_errors(phi, half, _ORDERS) <= tolerance
    return _ORDERS[int(enough.argmax())] if enough.any() else _ORDERS[-1]


def members_of(grades: IntArray, count: int) -> list[Any]:
    """Return the places of each grade's rows: slices if rows are in the order of their grades."""
    if (grades[1:] >= grades[:-1]).all():
        ends = np.searchsorted(grades, np.arange(count + 1)).tolist()
        return [slice(*pair) for pair in pairwise(ends)]
    return [np.flatnonzero(grades == grade) for grade in range(count)]


def add_rows(each: FloatArray, owner: IntArray, owners: int) -> FloatArray:
    """Add up rows of numbers by their owners, which are in order."""
    sums = np.zeros((owners, each.shape[1]))
    present, starts = np.unique(owner, return_index=True)
    sums[present] = np.add.reduceat(each, starts, axis=0)
    return sums
