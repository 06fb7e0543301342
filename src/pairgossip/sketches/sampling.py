"""Sampling errors from a sketch, without further messages.

A few weighted points have the same means of features as the rows, and the sketch knows the row
means there. The points represent all rows in Hoeffding's projection, which `pairgossip.inference`
computes from the rows themselves.
"""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.inference.answer import Law
from pairgossip.inference.projection import jackknife_bias
from pairgossip.kernels import Pairs
from pairgossip.sketches.sketch import Points, PointSketch, Sketch

_AT_ONCE = 128
"""The number of nodes whose errors are computed at a time."""
_LEAST_VARIATION = 1e-12
"""The least variance of contributions, relative to their squares; less is rounding."""
_ROUNDING = 1e-9
"""The largest rounding error of a number of rows; a class of one row gives no error."""


def find_points(sketch: Sketch, name: str) -> PointSketch:
    """Return a sketch that has points for sampling errors; raise `InputError` if it has none."""
    if not isinstance(sketch, PointSketch):
        raise InputError(
            f"The sketch of '{name}' gives no sampling error: use method 'tracking', or leave "
            "{argument} out.",
            "interval",
        )
    return sketch


def sampling_errors(sketch: PointSketch, rows: Pairs, means: FloatArray) -> FloatArray:
    """Return the sampling error from each node's mean features, shape (nodes, r).

    It is NaN where the mean gives none yet.
    """
    blocks = range(0, len(means), _AT_ONCE)
    with np.errstate(all="ignore"):
        return np.concatenate([_errors(sketch, rows, means[at : at + _AT_ONCE]) for at in blocks])


def _errors(sketch: PointSketch, rows: Pairs, means: FloatArray) -> FloatArray:
    points, added = _find_contributions(sketch, rows, means)
    n = rows.count
    influence = added - np.einsum("np,np->n", points.weights, added)[:, None]
    counts, of_class = n * points.weights, _classes(points, sketch)
    sizes, squares = counts @ of_class, (counts * influence**2) @ of_class
    differs = squares.sum(axis=1) > _LEAST_VARIATION * n * (added**2).max(axis=1)
    is_known = differs & (sizes > 1 + _ROUNDING).all(axis=1)
    variance = (squares * sizes / (sizes - 1)).sum(axis=1) / n**2
    return np.sqrt(np.where(is_known, variance, np.nan))


def sampling_law(sketch: PointSketch, rows: Pairs, mean: FloatArray, freedom: float) -> Law:
    """Return the law of the statistic over its error, from the points that represent rows.

    As with rows, its bias is found by leaving out one row at each point in turn.
    """
    with np.errstate(all="ignore"):
        points, added = _find_contributions(sketch, rows, mean[None])
        shares, own = points.weights[0], float(rows.target == "u")
        error = _errors(sketch, rows, mean[None])[0]
        sums = _row_means(points, rows)[0]
        averages = shares @ sums / 2
        inner = (1 - own) * points.own / 2
        times, once = rows.count * shares, np.ones(len(shares))
        shift = jackknife_bias(sketch.kernel, averages, sums, inner, times, once, own) / error
    influence = added[0] - shares @ added[0]
    return Law.of(influence, times, freedom, shift if np.isfinite(shift) else 0.0)


def _find_contributions(
    sketch: PointSketch, rows: Pairs, means: FloatArray
) -> tuple[Points, FloatArray]:
    """Return points, and the contribution of rows at each to the statistic, up to a constant."""
    points, slopes = sketch.points(means), sketch.kernel.slopes(sketch.averages(means))
    return points, np.asarray((_row_means(points, rows) @ slopes[..., None])[..., 0])


def _row_means(points: Points, rows: Pairs) -> FloatArray:
    """Return row means at points, own pairs as in the target, shape (nodes, points, kernels)."""
    means, n = points.row_means, rows.count
    return means if rows.target == "v" else (n * means - points.own) / (n - 1)


def _classes(points: Points, sketch: PointSketch) -> FloatArray:
    """Return the class of each point, one-hot; one class for all where rows are one sample."""
    if points.classes is None or not any(one.two_classes for one in sketch.kernel.components):
        return np.ones((points.weights.shape[1], 1))
    return np.eye(points.classes.max() + 1)[points.classes]
