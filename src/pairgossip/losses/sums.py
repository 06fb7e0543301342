"""Sums of log(1 + e^-(x - y)) over all pairs of two sets of scores, in near-linear time.

With u = x - y and scores in panels of width 2, each pair of panels takes one of three ways.

- Near each other: log(1 + e^-u) is a polynomial in each argument to working precision, so the
  sum over the pairs of scores is a bilinear form of the panels' Chebyshev moments.
- Far apart in the right order: e^-u - e^-2u / 2 + e^-3u / 3 - ... is short; exponentials of
  sums are products, so one upward pass over the panels is enough.
- Far apart in the wrong order: the same series in -u, plus -u itself, summed over the gaps
  crossed.

No step subtracts nearly equal numbers, so the error is relative to the sum for any scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray

# Sums of hinge functions of x - y over all pairs of two sets of scores, by sorting.
#
# With N0(v) the number of x below v and N1(v) the integral of N0, every sum is an integral over v:
# of N0 times the number of y + 1 above v for the hinge, of 2 N1 times that number for its square,
# and of N1 times the number of y with y < v < y + 1 for the smoothed hinge. Between two scores N0
# and the counts are constant and N1 is straight: the integrals are sums, and no term is negative.


COARSE = 2.0**50
"""The height above the lowest x from which adding 1 to a score is lost in rounding."""


def hinge_sums(above: FloatArray, below: FloatArray) -> FloatArray:
    """Sum the hinge of x - y over x in a row of `above` and y in the same row of `below`.

    The shapes are (r, a) and (r, b), and (r,) for the result, as in the other functions of sums.
    """
    _, passed, weights = _sweep(*_measure_from_lowest(above, below))
    return np.einsum("ij,ij->i", weights, passed)


def squared_hinge_sums(above: FloatArray, below: FloatArray) -> FloatArray:
    """Sum the squared hinge of x - y in the same way."""
    gaps, passed, weights = _sweep(*_measure_from_lowest(above, below))
    return np.einsum("ij,ij->i", weights, _doubled_means(gaps, passed))


def smoothed_hinge_sums(above: FloatArray, below: FloatArray) -> FloatArray:
    """Sum the smoothed hinge of x - y in the same way."""
    return _smoothed_sums(*_measure_from_lowest(above, below))


def squared_sums(above: FloatArray, below: FloatArray) -> FloatArray:
    """Sum (1 - (x - y))^2 in the same way."""
    means = (1.0 - (above.mean(axis=1) - below.mean(axis=1))) ** 2
    return (means + above.var(axis=1) + below.var(axis=1)) * above.shape[1] * below.shape[1]


def _measure_from_lowest(above: FloatArray, below: FloatArray) -> tuple[FloatArray, FloatArray]:
    # Only y near or above the lowest x matter: measured from there, they round least.
    start = above.min(axis=1, keepdims=True)
    return above - start, below - start


def _sweep(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return gaps between cuts, the x passed before each, and gaps times the y + 1 still ahead."""
    gaps, kinds = _gaps(x, y + 1.0)
    passed = np.cumsum(kinds == 0, axis=1, dtype=np.float64)
    return gaps, passed, gaps * (y.shape[1] - np.cumsum(kinds == 1, axis=1))


def _smoothed_sums(x: FloatArray, y: FloatArray) -> FloatArray:
    # Where y + 1 nearly rounds to y, the smooth part of the function is lost in rounding.
    coarse = y.max(axis=1) >= COARSE
    if coarse.any():
        sums = np.empty(len(x))
        sums[~coarse] = _smoothed_sums(x[~coarse], y[~coarse])
        gaps, kinds = _gaps(x[coarse], y[coarse] + 0.5)
        open_ends = y.shape[1] - np.cumsum(kinds == 1, axis=1)
        sums[coarse] = np.sum(gaps * open_ends * np.cumsum(kinds == 0, axis=1), axis=1)
        return sums
    gaps, kinds = _gaps(x, y + 1.0, y)
    passed = np.cumsum(kinds == 0, axis=1, dtype=np.float64)
    weights = gaps * np.cumsum((kinds == 2).astype(np.intp) - (kinds == 1), axis=1)
    return 0.5 * np.einsum("ij,ij->i", weights, _doubled_means(gaps, passed))


def _gaps(*cuts: FloatArray) -> tuple[FloatArray, IntArray]:
    """Sort several kinds of cuts together: the gaps between cuts, the kind before each gap."""
    merged = np.concatenate(cuts, axis=1)
    order = np.argsort(merged, axis=1)
    kinds = np.repeat(np.arange(len(cuts), dtype=np.int8), [kind.shape[1] for kind in cuts])
    return np.diff(np.take_along_axis(merged, order, axis=1), axis=1), kinds[order[:, :-1]]


def _doubled_means(gaps: FloatArray, passed: FloatArray) -> FloatArray:
    """Return twice the mean over each gap of N1, the number of x passed, integrated."""
    rises = gaps * passed
    return 2.0 * np.cumsum(rises, axis=1) - rises


# Scores laid out in panels of width 2, and their Chebyshev moments panel by panel.
#
# A score is s = 2 k + t with a whole number k, its panel, and t in [-1, 1]; both are exact. Only
# panels that hold scores are kept, and distances are bounded, so that any spread of scores works.


_IndexArray = NDArray[np.intp]

WIDTH = 2.0
VANISHING_DISTANCE = 512
"""A distance, in panels, over which exponentials vanish: e^-1024 is 0."""
_BLOCK = 2**14
"""The number of scores in one sum: they stay in the cache, and short sums round less."""


@dataclass(frozen=True)
class _Side:
    """One set of scores, several rows of it: the panels it occupies and its moments there."""

    panel: FloatArray
    """Whole numbers, row by row and upward within a row."""
    row: _IndexArray
    moments: FloatArray
    """The sums of T_0, T_1, ... over the scores of each panel, shape (panels, degree)."""


@dataclass(frozen=True)
class _Panels:
    """The panels of two sides together, row by row and upward within a row."""

    row: _IndexArray
    gap: FloatArray
    """The distance, in panels, to the previous panel of the row; 0 for a row's first."""
    position: NDArray[np.int64]
    """Places with true distances where small, else and between rows at least
    `VANISHING_DISTANCE`."""

    def up_to(self, values: FloatArray) -> FloatArray:
        """Sum values over the panels of the same row up to each panel, itself included."""
        sums = np.cumsum(values)
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        before = np.concatenate(([0.0], sums))[starts]
        return sums - np.repeat(before, np.diff(starts, append=len(sums)))

    def spread(self, at: _IndexArray, values: FloatArray) -> FloatArray:
        """Write a side's values, one per panel of its own, among zeros for the other panels."""
        everywhere = np.zeros((len(self.row), *values.shape[1:]))
        everywhere[at] = values
        return everywhere


def _lay_out(scores: FloatArray, degree: int) -> _Side:
    """Find the panels of scores (r, n), and the scores' moments below a degree."""
    ordered = np.sort(scores, axis=1)
    panels = np.rint(ordered / WIDTH)
    begins = np.ones(ordered.shape, dtype=np.bool_)
    begins[:, 1:] = panels[:, 1:] != panels[:, :-1]
    starts = np.flatnonzero(begins)
    places = (ordered - WIDTH * panels).ravel()
    moments = _moments(places, starts, degree)
    return _Side(panels.ravel()[starts], starts // ordered.shape[1], moments)


def join(first: _Side, second: _Side) -> tuple[_Panels, _IndexArray, _IndexArray]:
    """Put the panels of two sides in one order, and find each side's panels among them."""
    panel = np.concatenate((first.panel, second.panel))
    row = np.concatenate((first.row, second.row))
    order = np.lexsort((panel, row))
    panel, row = panel[order], row[order]
    same_row = np.diff(row, prepend=-1) == 0
    gaps = np.where(same_row, np.diff(panel, prepend=panel[:1]), 0.0)
    kept = ~same_row | (gaps > 0)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.cumsum(kept) - 1
    steps = np.where(same_row, np.minimum(gaps, VANISHING_DISTANCE), VANISHING_DISTANCE)[
        kept
    ].astype(np.int64)
    joined = _Panels(row[kept], gaps[kept], np.cumsum(steps))
    return joined, place[: len(first.panel)], place[len(first.panel) :]


def _moments(places: FloatArray, starts: _IndexArray, degree: int) -> FloatArray:
    """Sum the polynomials over runs of places, block by block."""
    sums = np.zeros((len(starts), degree))
    for begin in range(0, len(places), _BLOCK):
        block = places[begin : begin + _BLOCK]
        first = int(np.searchsorted(starts, begin, side="right")) - 1
        last = int(np.searchsorted(starts, begin + len(block)))
        runs = np.maximum(starts[first:last] - begin, 0)
        _add_moments(sums[first:last], block, runs)
    return sums


def _add_moments(sums: FloatArray, places: FloatArray, runs: _IndexArray) -> None:
    sums[:, 0] += np.diff(runs, append=len(places))
    before, now = np.ones(len(places)), places.copy()
    twice, product = 2.0 * places, np.empty(len(places))
    for k in range(1, sums.shape[1]):
        sums[:, k] += np.add.reduceat(now, runs)
        # T_(k+1) = 2 t T_k - T_(k-1), written over T_(k-1).
        np.multiply(twice, now, out=product)
        np.subtract(product, before, out=before)
        before, now = now, before


DEGREE = 19
"""The number of Chebyshev polynomials for the logistic function over a pair of panels."""
NEAR_PANELS = 4
"""The largest distance of near panels, in panels; scores of far panels are more than 8 apart."""
RATES = np.arange(1.0, 5.0)
"""The rates of the exponentials for far panels: the next one is e^-32 times the first."""
_PANELS_AT_ONCE = 2**11


def logistic_sums(above: FloatArray, below: FloatArray) -> FloatArray:
    """Sum log(1 + e^-(x - y)) over x in a row of `above` and y in the same row of `below`.

    The shapes are (r, a) and (r, b), and (r,) for the result.
    """
    upper, lower = _lay_out(above, DEGREE), _lay_out(below, DEGREE)
    panels, x, y = join(upper, lower)
    sums = _wrong_order(panels, x, upper.moments, y, lower.moments)
    sums[x] += _sum_near(upper, panels.position[x], lower, panels.position[y])
    sums[x] += _sum_far(panels, x, upper.moments, y, lower.moments)
    sums[y] += _sum_far(panels, y, lower.moments, x, upper.moments)
    return np.asarray(np.bincount(panels.row, weights=sums, minlength=len(above)), np.float64)


@lru_cache(maxsize=1)
def _polynomials() -> tuple[FloatArray, FloatArray]:
    """Return the Chebyshev points, and the map from values there to coefficients."""
    angles = np.pi * (np.arange(DEGREE) + 0.5) / DEGREE
    to_coefficients = 2.0 / DEGREE * np.cos(np.outer(np.arange(DEGREE), angles))
    to_coefficients[0] /= 2.0
    return np.cos(angles), to_coefficients


@lru_cache(maxsize=1)
def _forms() -> FloatArray:
    """Return the bilinear forms of log(1 + e^-u), for x up to NEAR_PANELS panels below or above y.

    Where y is above, the distance of the panels is taken out: `_wrong_order` adds it. The forms
    are stacked, shape ((2 NEAR_PANELS + 1) DEGREE, DEGREE), to act on moments of y side by side.
    """
    points, to_coefficients = _polynomials()
    distances = np.arange(-NEAR_PANELS, NEAR_PANELS + 1.0)[:, None, None]
    u = WIDTH * distances + points[None, None, :] - points[None, :, None]
    values = np.logaddexp(0.0, -u) + WIDTH * np.minimum(distances, 0.0)
    return (to_coefficients @ values @ to_coefficients.T).reshape(-1, DEGREE)


@lru_cache(maxsize=2)
def _exponentials(sign: float) -> FloatArray:
    """Return the Chebyshev coefficients of e^(sign rate t) on [-1, 1], one column per rate."""
    points, to_coefficients = _polynomials()
    return to_coefficients @ np.exp(sign * np.outer(points, RATES))


def tables() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the tables for a compiled twin, contiguous.

    They are the bilinear forms, axes (distance, x, y); the coefficients of e^-(rate t) with the
    signs and weights of the series; and those of e^(rate t), both with axes (degree, rate).
    """
    forms = _forms().reshape(-1, DEGREE, DEGREE).transpose(0, 2, 1)
    return np.ascontiguousarray(forms), _exponentials(-1.0) * _weights(), _exponentials(1.0)


def _weights() -> FloatArray:
    """Return the weights of the exponentials in log(1 + e^-u): 1, -1/2, 1/3, ..."""
    return np.where(RATES % 2 == 1, 1.0, -1.0) / RATES


def _sum_near(upper: _Side, own: IntArray, lower: _Side, theirs: IntArray) -> FloatArray:
    """Sum over near panels, for every panel of the upper side; positions are given."""
    sums = np.empty(len(own))
    distances = np.arange(-NEAR_PANELS, NEAR_PANELS + 1)
    padded = np.concatenate((lower.moments, np.zeros((1, DEGREE))))
    for start in range(0, len(own), _PANELS_AT_ONCE):
        chunk = slice(start, start + _PANELS_AT_ONCE)
        sought = own[chunk, None] - distances
        at = np.minimum(np.searchsorted(theirs, sought), len(theirs) - 1)
        # Panels that do not exist take the row of zeros at the end.
        at = np.where(theirs[at] == sought, at, len(theirs))
        met = padded[at].reshape(len(at), -1) @ _forms()
        sums[chunk] = np.einsum("ij,ij->i", upper.moments[chunk], met)
    return sums


def _sum_far(
    panels: _Panels, x: _IndexArray, upper: FloatArray, y: _IndexArray, lower: FloatArray
) -> FloatArray:
    """Sum e^-u - e^-2u / 2 + ... over the far panels below, for every panel x."""
    risen = panels.spread(y, lower @ _exponentials(1.0)).T.copy()
    reach = 1
    # Each pass doubles the reach of the sums below, until all terms farther away vanish.
    while reach < min(risen.shape[1], VANISHING_DISTANCE):
        fade = _fading(panels.position[reach:] - panels.position[:-reach])
        risen[:, reach:] += fade * risen[:, :-reach]
        reach *= 2
    reached = _last_far_below(panels)[x]
    fade = _fading(panels.position[x] - panels.position[reached])
    terms = (upper @ _exponentials(-1.0)).T * fade * risen[:, reached]
    return np.where(reached < 0, 0.0, _weights() @ terms)


def _fading(distance: IntArray) -> FloatArray:
    """Return e^-(rate WIDTH distance), one row per rate."""
    # A panel without far panels below is paired with the last one: this must not overflow.
    once = np.exp(-WIDTH * np.maximum(distance, 0))
    return np.cumprod(np.broadcast_to(once, (len(RATES), len(once))), axis=0)


def _wrong_order(
    panels: _Panels, x: _IndexArray, upper: FloatArray, y: _IndexArray, lower: FloatArray
) -> FloatArray:
    """Sum -u over pairs in the wrong order: distances of panels, and for far ones places within."""
    held = panels.spread(x, upper[:, :2])
    other = panels.spread(y, lower[:, :2])
    up_to = panels.up_to(held[:, 0])
    later = panels.up_to(other[:, 0])
    totals = np.bincount(panels.row, weights=other[:, 0])[panels.row]
    # Every pair adds the gaps that it crosses; no term is negative.
    sums = WIDTH * panels.gap * (up_to - held[:, 0]) * (totals - later + other[:, 0])
    reached = _last_far_below(panels)
    places = other[:, 1] * up_to[reached] - other[:, 0] * panels.up_to(held[:, 1])[reached]
    same_row = (reached >= 0) & (panels.row[reached] == panels.row)
    return sums + np.where(same_row, places, 0.0)


def _last_far_below(panels: _Panels) -> _IndexArray:
    """Find the nearest of the far panels below each panel, in any row; -1 if there is none."""
    return np.searchsorted(panels.position, panels.position - NEAR_PANELS - 1, side="right") - 1
