"""Bounds of the slope and the intercept of a logistic fit, wherever rows are in their boxes.

The likelihood is concave, so the slope is below b if the derivative at b, along the line of best
intercepts, is negative. There the rows balance, sum (y - p) = 0, so the derivative is
sum (y - p) (x - c) for any c. Each term has its maximum at a known place of the row's own box; the
sum of these maxima is an upper bound of the derivative for all possible rows. The bound is taken
over all possible intercepts, with the c that makes it least.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.counts.bounds import UNKNOWN, Ends
from pairgossip.validation.logistic import solve_intercept
from pairgossip.validation.placed import expit

_MOST_PIECES = 24
"""Work limit of one bound, in intervals of intercepts; within one, terms choose independently."""
_FIRST_STEP = 0.01
"""First distance from the estimate at which an end is sought, relative to 1 + the estimate."""
_SLOPE_PIECES = 32
"""Number of intervals of slopes; the intercept is bounded within each."""
_TOLERANCE = 1e-2
"""Relative tolerance of the distance from the estimate to an end; the error is outward."""
_LEAST, _MOST = 2.0**-12, 2.0**6
"""Smallest and largest slope at which an end is sought; ends beyond the largest are infinite."""
_GOLDEN = (math.sqrt(5) - 1) / 2


class Boxes(NamedTuple):
    """Rows by class, each between two logits; all shapes are (2, boxes)."""

    low: FloatArray
    high: FloatArray
    rows: FloatArray

    @property
    def positives(self) -> float:
        """The number of rows with the outcome."""
        return float(self.rows[1].sum())

    def mirror(self) -> Boxes:
        """Return the boxes with the signs of all logits changed."""
        return Boxes(-self.high, -self.low, self.rows)

    def drop_empty(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return low ends, high ends, rows and outcomes of the boxes that hold rows, flattened."""
        used = self.rows > 0
        outcomes = np.broadcast_to(np.array([[0.0], [1.0]]), self.rows.shape)
        return self.low[used], self.high[used], self.rows[used], outcomes[used]


def bound_line(boxes: Boxes, slope: float) -> tuple[Ends, Ends]:
    """Return bounds of the intercept and of the slope, from an estimate of the slope."""
    slopes = _lowest(boxes, slope), _highest(boxes, slope)
    return _bound_intercept(boxes, slopes), slopes


def _highest(boxes: Boxes, slope: float) -> float:
    """Return the least slope found that is above the slope of all possible rows."""
    if not _is_beyond(boxes, _LEAST, is_upper=True):
        return _search(boxes, max(slope, _LEAST), is_upper=True)
    mirrored = boxes.mirror()  # no slope is clearly positive: bound the negative side
    if not _is_beyond(mirrored, _LEAST, is_upper=False):
        return _LEAST
    return -_search(mirrored, max(-slope, _LEAST), is_upper=False)


def _lowest(boxes: Boxes, slope: float) -> float:
    """Return the largest slope found that is below the slope of all possible rows."""
    if _is_beyond(boxes, _LEAST, is_upper=False):
        return _search(boxes, max(slope, _LEAST), is_upper=False)
    mirrored = boxes.mirror()
    if _is_beyond(mirrored, _LEAST, is_upper=True):
        return -_LEAST
    return -_search(mirrored, max(-slope, _LEAST), is_upper=True)


def _search(boxes: Boxes, start: float, *, is_upper: bool) -> float:
    """Return the upper, or lower, end of slopes near a positive one; infinite if there is none."""
    inside, step = start, _FIRST_STEP * (1 + start)
    while True:
        outside = start + step if is_upper else max(start - step, inside / 2)
        if outside > _MOST:
            return math.inf
        if outside < _LEAST:
            return _LEAST  # already found to be outside
        if _is_beyond(boxes, outside, is_upper=is_upper):
            break
        inside, step = outside, 2 * step
    while abs(outside - inside) > _TOLERANCE * (abs(outside - start) + _FIRST_STEP):
        middle = (inside + outside) / 2
        is_out = _is_beyond(boxes, middle, is_upper=is_upper)
        inside, outside = (inside, middle) if is_out else (middle, outside)
    return outside


def _is_beyond(boxes: Boxes, slope: float, *, is_upper: bool) -> bool:
    """Return whether a positive slope is surely above, or below, that of any possible rows."""
    low, high, rows, outcomes = boxes.drop_empty()
    least = solve_intercept(slope * high, rows, boxes.positives)
    most = solve_intercept(slope * low, rows, boxes.positives)
    terms, side = (_most_terms, 1.0) if is_upper else (_least_terms, -1.0)

    def bound(c: float, first: float, last: float) -> float:
        """Return the upper bound of the derivative, or of its negative."""
        return side * float(rows @ terms(low, high, outcomes, (first, last), slope, c))

    centers = _range(low, high, rows)
    pieces = [(least, most)]
    for _ in range(_MOST_PIECES):
        first, last = pieces.pop()
        at = (first + last) / 2
        c, value = _minimize(partial(_at_one, bound, at), centers)
        if value > 0:
            return False
        if bound(c, first, last) > 0:  # the interval is too wide to decide
            pieces += [(first, at), (at, last)]
        elif not pieces:
            return True
    return False


def _at_one(bound: Callable[[float, float, float], float], at: float, c: float) -> float:
    return bound(c, at, at)


def _range(low: FloatArray, high: FloatArray, rows: FloatArray) -> Ends:
    """Return the range in which the center of the logits is sought."""
    middles = np.clip((low + high) / 2, -40.0, 40.0)
    mean = float(rows @ middles / rows.sum())
    spread = math.sqrt(float(rows @ (middles - mean) ** 2 / rows.sum()))
    return mean - 3 * spread - 1, mean + 3 * spread + 1


def _minimize(function: Callable[[float], float], ends: Ends) -> tuple[float, float]:
    """Return the approximate minimum of a convex function: its place and its value."""
    low, high = ends
    first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_first, at_second = function(first), function(second)
    for _ in range(12):
        if at_first <= at_second:
            high, second, at_second = second, first, at_first
            first = high - _GOLDEN * (high - low)
            at_first = function(first)
        else:
            low, first, at_first = first, second, at_second
            second = low + _GOLDEN * (high - low)
            at_second = function(second)
    return (first, at_first) if at_first <= at_second else (second, at_second)


def _most_terms(
    low: FloatArray, high: FloatArray, outcomes: FloatArray, ends: Ends, slope: float, c: float
) -> FloatArray:
    """Return the largest (y - p)(x - c) over x in each box and intercepts between the ends."""
    is_positive = outcomes > 0
    # A negative row has the term of a positive one with the signs of all logits changed.
    x_low, x_high = np.where(is_positive, low, -high), np.where(is_positive, high, -low)
    center = np.where(is_positive, c, -c)
    first = np.where(is_positive, ends[0], -ends[1])
    last = np.where(is_positive, ends[1], -ends[0])
    # (1 - p)(x - c) rises up to a point beyond c, and falls from there on.
    tops = [_find_top(ends[0] + slope * c), _find_top(-ends[1] - slope * c)]
    top = center + np.where(is_positive, *tops) / slope
    at = np.clip(top, x_low, x_high)
    intercept = np.where(at >= center, first, last)
    return np.asarray(expit(-intercept - slope * at) * (at - center))


def _least_terms(
    low: FloatArray, high: FloatArray, outcomes: FloatArray, ends: Ends, slope: float, c: float
) -> FloatArray:
    """Return the least (y - p)(x - c) over x in each box and intercepts between the ends."""
    is_positive = outcomes > 0
    x_low, x_high = np.where(is_positive, low, -high), np.where(is_positive, high, -low)
    center = np.where(is_positive, c, -c)
    first = np.where(is_positive, ends[0], -ends[1])
    last = np.where(is_positive, ends[1], -ends[0])
    terms = []
    for at in (x_low, x_high):  # a term that rises and then falls has its minimum at an end
        intercept = np.where(at >= center, last, first)
        terms.append(expit(-intercept - slope * at) * (at - center))
    return np.minimum(*terms)


def _find_top(k: float) -> float:
    """Return the u above 0 at which u p(k + u) = 1, p the logistic function."""
    u = max(1.0, 1 - k)  # where the logarithm of the left side, concave in u, is below 0
    while math.log(u) < _softplus(-k - u):
        u += 1
    for _ in range(50):
        middle = -k - u
        step = (math.log(u) - _softplus(middle)) / (1 / u + 1 / (1 + math.exp(min(-middle, 700.0))))
        u -= step
        if abs(step) <= 1e-13 * u:
            break
    return u


def _softplus(x: float) -> float:
    """Return log(1 + exp(x))."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _bound_intercept(boxes: Boxes, slopes: Ends) -> Ends:
    """Return bounds of the intercept over a range of slopes; at each slope it balances the rows."""
    if not all(map(math.isfinite, slopes)):
        return UNKNOWN
    low, high, rows, _ = boxes.drop_empty()
    ends = []
    edges = np.linspace(*slopes, _SLOPE_PIECES + 1).tolist()
    for first, last in pairwise(edges):
        products = np.stack([first * low, first * high, last * low, last * high])
        ends += [
            solve_intercept(side, rows, boxes.positives)
            for side in (products.max(axis=0), products.min(axis=0))
        ]
    return min(ends), max(ends)
