"""Logistic regression of the outcome on the logit of a probability, from counts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.validation.placed import CLASSES, expit, log_odds

_STEPS = 100
"""Largest number of Newton steps; a fit takes about eight."""
_TOLERANCE = 1e-12
"""Largest step, in standard errors, at which a fit has converged."""


class LineFit(NamedTuple):
    """The logit of the outcome as intercept + slope times the logit of the score."""

    intercept: float
    slope: float
    errors: tuple[float, float]
    """Standard errors of both."""


def fit_line(x: FloatArray, rows: FloatArray) -> LineFit | None:
    """Fit intercept and slope by maximum likelihood; return None if the likelihood has no maximum.

    Parameters
    ----------
    x
        The logits, by class, shape (2, places).
    rows
        The number of rows there, shape (2, places).
    """
    if not overlap(x, rows):
        return None
    center = float((rows * x).sum() / rows.sum())
    u, likelihood = x - center, -math.inf
    at: FloatArray = np.array([log_odds(float(rows[1].sum() / rows.sum())), 0.0])
    step: Any = np.zeros(2)
    for _ in range(_STEPS):
        reached = _log_likelihood(at[0] + at[1] * u, rows)
        if reached < likelihood - 1e-12 * abs(likelihood):  # Newton's step went too far
            step /= 2
            at = at - step
            continue
        likelihood = reached
        p = expit(at[0] + at[1] * u)
        gradient = _sums(rows * (CLASSES - p), u)
        information = _second_moments(rows * p * (1 - p), u)
        step = np.linalg.solve(information, gradient)
        at = at + step
        if float(step @ information @ step) <= _TOLERANCE**2:
            break
    p = expit(at[0] + at[1] * u)
    covariance = np.linalg.inv(_second_moments(rows * p * (1 - p), u))
    # The intercept is wanted at a logit of 0, not at the center.
    variance = covariance[0, 0] - 2 * center * covariance[0, 1] + center**2 * covariance[1, 1]
    errors = math.sqrt(float(variance)), math.sqrt(float(covariance[1, 1]))
    return LineFit(float(at[0] - at[1] * center), float(at[1]), errors)


def overlap(x: FloatArray, rows: FloatArray) -> bool:
    """Return whether the logits of the classes overlap; if they do not, no slope is best."""
    negative, positive = (one[many > 0] for one, many in zip(x, rows, strict=True))
    if not len(negative) or not len(positive):
        return False
    return bool(negative.max() > positive.min() and positive.max() > negative.min())


def _log_likelihood(x: FloatArray, rows: FloatArray) -> float:
    signed = np.where(CLASSES > 0, x, -x)
    return float((rows * (np.minimum(signed, 0.0) - np.log1p(np.exp(-np.abs(x))))).sum())


def _sums(weights: FloatArray, u: FloatArray) -> FloatArray:
    return np.array([float(weights.sum()), float((weights * u).sum())])


def _second_moments(weights: FloatArray, u: FloatArray) -> FloatArray:
    (total, first), second = _sums(weights, u), float((weights * u * u).sum())
    return np.array([[total, first], [first, second]])


def solve_intercept(offsets: FloatArray, rows: FloatArray, positives: float) -> float:
    """Return the intercept at which the expected number of outcomes equals the observed number.

    Parameters
    ----------
    offsets
        The logit at an intercept of 0, by class or for both, shape (..., places). No intercept
        moves rows whose logit is infinite.
    rows
        The number of rows there, of the same shape.
    positives
        The number of rows with the outcome.

    Returns
    -------
    intercept
        Infinite where no intercept is large, or small, enough; NaN where every intercept fits.
    """
    positives -= float(rows[offsets == math.inf].sum())
    used = (rows > 0) & np.isfinite(offsets)
    offsets, rows = offsets[used], rows[used]
    if not 0 < positives < rows.sum():
        if positives == len(rows) == 0:
            return math.nan
        return math.inf if positives > 0 else -math.inf
    middle = log_odds(positives / float(rows.sum()))
    low, high = middle - float(offsets.max()), middle - float(offsets.min())
    at = middle - float((rows * offsets).sum() / rows.sum())
    for _ in range(_STEPS):
        p = expit(at + offsets)
        lacking = positives - float((rows * p).sum())
        low, high = (at, high) if lacking > 0 else (low, at)
        slope = float((rows * p * (1 - p)).sum())
        step = lacking / slope if slope > 0 else math.inf
        if abs(step) <= _TOLERANCE * (1 + abs(at)):  # it may round to an end, and is right
            return float(at + step)
        inside = low < at + step < high
        next_at = at + step if inside else (low + high) / 2
        if abs(next_at - at) <= _TOLERANCE * (1 + abs(at)) or not low < high:
            return float(next_at)
        at = next_at
    return float(at)


def intercept_error(offsets: FloatArray, rows: FloatArray, intercept: float) -> float:
    """Return the standard error of an intercept, from offsets and rows by class.

    It is that of Huber's sandwich, which holds even where probabilities are wrong at the best
    intercept; the second derivative of the likelihood alone is then too optimistic.
    """
    p, n = expit(intercept + offsets), float(rows.sum())
    information = float((rows * p * (1 - p)).sum())
    squares = float((rows * (CLASSES - p) ** 2).sum())
    return math.sqrt(squares * n / (n - 1)) / information if information > 0 else math.nan
