"""Sums of log(1 + e^-(x - y)) over all pairs of two sets of scores, in near-linear time.

With u = x - y and scores in panels of width 2, a pair of panels is treated in one of three ways.

- Near each other: log(1 + e^-u) is a polynomial in each argument to working precision, so the
  sum over the pairs of scores is a bilinear form of the panels' Chebyshev moments.
- Far apart in the right order: e^-u - e^-2u / 2 + e^-3u / 3 - ... is short; exponentials of
  sums are products, so one upward pass over the panels is enough.
- Far apart in the wrong order: the same in -u, plus -u itself, summed over the gaps crossed.

No step subtracts nearly equal numbers, so the error is relative to the sum for any scores.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.losses.panels import FAR, WIDTH, IndexArray, Panels, Side, join, lay_out

DEGREE = 19
"""How many Chebyshev polynomials carry the logistic function over a pair of panels."""
NEAR = 4
"""Panels up to this far apart are near each other: others are more than 8 apart in score."""
RATES = np.arange(1.0, 5.0)
"""The exponentials kept for far panels: the next one is e^-32 times the first."""
PANELS_AT_ONCE = 2**11


def logistic_sums(above: FloatArray, below: FloatArray) -> FloatArray:
    """Sum log(1 + e^-(x - y)) over x in a row of `above` and y in the same row of `below`.

    Takes shapes (r, a) and (r, b), returns shape (r,).
    """
    upper, lower = lay_out(above, DEGREE), lay_out(below, DEGREE)
    panels, x, y = join(upper, lower)
    sums = _wrong_order(panels, x, upper.moments, y, lower.moments)
    sums[x] += _near(upper, panels.position[x], lower, panels.position[y])
    sums[x] += _far(panels, x, upper.moments, y, lower.moments)
    sums[y] += _far(panels, y, lower.moments, x, upper.moments)
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
    """Return the bilinear forms of log(1 + e^-u), for x from -NEAR to NEAR panels above y.

    Where y is above, the distance of the panels is taken out: `_wrong_order` adds it. The forms
    are stacked, shape ((2 NEAR + 1) DEGREE, DEGREE), to act on moments of y side by side.
    """
    points, to_coefficients = _polynomials()
    distances = np.arange(-NEAR, NEAR + 1.0)[:, None, None]
    u = WIDTH * distances + points[None, None, :] - points[None, :, None]
    values = np.logaddexp(0.0, -u) + WIDTH * np.minimum(distances, 0.0)
    return (to_coefficients @ values @ to_coefficients.T).reshape(-1, DEGREE)


@lru_cache(maxsize=2)
def _exponentials(sign: float) -> FloatArray:
    """Return the Chebyshev coefficients of e^(sign rate t) on [-1, 1], one column per rate."""
    points, to_coefficients = _polynomials()
    return np.asarray(to_coefficients @ np.exp(sign * np.outer(points, RATES)))


def tables() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what a compiled twin needs of this file, contiguous.

    The bilinear forms, axes (distance, x, y), and the coefficients of e^-(rate t) with the signs
    and weights of the series, and of e^(rate t), both with axes (degree, rate).
    """
    forms = _forms().reshape(-1, DEGREE, DEGREE).transpose(0, 2, 1)
    return np.ascontiguousarray(forms), _exponentials(-1.0) * _weights(), _exponentials(1.0)


def _weights() -> FloatArray:
    """Return the weights of the exponentials in log(1 + e^-u): 1, -1/2, 1/3, ..."""
    return np.where(RATES % 2 == 1, 1.0, -1.0) / RATES


def _near(upper: Side, own: IntArray, lower: Side, theirs: IntArray) -> FloatArray:
    """Sum over near panels, for every panel of the upper side; positions are given."""
    sums = np.empty(len(own))
    distances = np.arange(-NEAR, NEAR + 1)
    padded = np.concatenate((lower.moments, np.zeros((1, DEGREE))))
    for start in range(0, len(own), PANELS_AT_ONCE):
        chunk = slice(start, start + PANELS_AT_ONCE)
        wanted = own[chunk, None] - distances
        found = np.minimum(np.searchsorted(theirs, wanted), len(theirs) - 1)
        # What is not there has the moments of the row of zeros at the end.
        found = np.where(theirs[found] == wanted, found, len(theirs))
        met = padded[found].reshape(len(found), -1) @ _forms()
        sums[chunk] = np.einsum("ij,ij->i", upper.moments[chunk], met)
    return sums


def _far(
    panels: Panels, x: IndexArray, upper: FloatArray, y: IndexArray, lower: FloatArray
) -> FloatArray:
    """Sum e^-u - e^-2u / 2 + ... over the far panels below, for every panel x."""
    risen = panels.spread(y, lower @ _exponentials(1.0)).T.copy()
    reach = 1
    # Each pass doubles how far below the sums reach, until everything farther has faded.
    while reach < min(risen.shape[1], FAR):
        fade = _fading(panels.position[reach:] - panels.position[:-reach])
        risen[:, reach:] += fade * risen[:, :-reach]
        reach *= 2
    reached = _last_far_below(panels)[x]
    fade = _fading(panels.position[x] - panels.position[reached])
    terms = (upper @ _exponentials(-1.0)).T * fade * risen[:, reached]
    return np.where(reached < 0, 0.0, _weights() @ terms)


def _fading(distance: IntArray) -> FloatArray:
    """Return e^-(rate WIDTH distance), one row per rate."""
    # A panel with nothing far below is paired with the last one: it must not overflow.
    once = np.exp(-WIDTH * np.maximum(distance, 0))
    return np.cumprod(np.broadcast_to(once, (len(RATES), len(once))), axis=0)


def _wrong_order(
    panels: Panels, x: IndexArray, upper: FloatArray, y: IndexArray, lower: FloatArray
) -> FloatArray:
    """Sum -u over pairs in the wrong order: panels' distances, and for far ones the places."""
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
    return np.asarray(sums + np.where(same_row, places, 0.0))


def _last_far_below(panels: Panels) -> IndexArray:
    """Find the nearest of the far panels below each panel, in any row; -1 if there is none."""
    return np.searchsorted(panels.position, panels.position - NEAR - 1, side="right") - 1
