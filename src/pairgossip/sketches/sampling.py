"""Sampling errors from a sketch, which tells how rows differ: no further message is needed.

The means of features are also those of a few weighted points, at which the sketch knows the row
means. They stand for all rows in Hoeffding's projection, as `pairgossip.inference` computes it
from the rows themselves.
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
"""How many nodes' errors are computed at a time."""
_DEGENERATE = 1e-12
"""Below this part of the square of what rows add, their differences are rounding."""
_ROUNDING = 1e-9
"""Largest rounding error of a number of rows; a class of one row tells no error."""


def find_points(sketch: Sketch, name: str) -> PointSketch:
    """Return a sketch that tells how rows differ; raise `InputError` if it does not."""
    if not isinstance(sketch, PointSketch):
        raise InputError(
            f"The sketch of '{name}' does not tell how rows differ, and so no sampling error: use "
            "method 'tracking', or leave {argument} out.",
            "interval",
        )
    return sketch


def sampling_errors(sketch: PointSketch, rows: Pairs, means: FloatArray) -> FloatArray:
    """Return the sampling error that each node's mean features, shape (nodes, r), tell.

    NaN where its mean tells none yet.
    """
    blocks = range(0, len(means), _AT_ONCE)
    with np.errstate(all="ignore"):
        return np.concatenate([_errors(sketch, rows, means[at : at + _AT_ONCE]) for at in blocks])


def _errors(sketch: PointSketch, rows: Pairs, means: FloatArray) -> FloatArray:
    points, added = _added(sketch, rows, means)
    n = rows.count
    influence = added - np.einsum("np,np->n", points.weights, added)[:, None]
    counts, of_class = n * points.weights, _classes(points, sketch)
    sizes, squares = counts @ of_class, (counts * influence**2) @ of_class
    differs = squares.sum(axis=1) > _DEGENERATE * n * (added**2).max(axis=1)
    is_known = differs & (sizes > 1 + _ROUNDING).all(axis=1)
    variance = (squares * sizes / (sizes - 1)).sum(axis=1) / n**2
    return np.sqrt(np.where(is_known, variance, np.nan))


def sampling_law(sketch: PointSketch, rows: Pairs, mean: FloatArray, freedom: float) -> Law:
    """Return the law of the statistic over its error, by the points that stand for rows.

    As of rows, its bias is found by leaving out one row at each point in turn.
    """
    with np.errstate(all="ignore"):
        points, added = _added(sketch, rows, mean[None])
        shares, own = points.weights[0], float(rows.target == "u")
        error = _errors(sketch, rows, mean[None])[0]
        sums = _row_means(points, rows)[0]
        averages = shares @ sums / 2
        inner = (1 - own) * points.own / 2
        times, once = rows.count * shares, np.ones(len(shares))
        shift = jackknife_bias(sketch.kernel, averages, sums, inner, times, once, own) / error
    influence = added[0] - shares @ added[0]
    return Law.of(influence, times, freedom, shift if np.isfinite(shift) else 0.0)


def _added(sketch: PointSketch, rows: Pairs, means: FloatArray) -> tuple[Points, FloatArray]:
    """Return points, and what rows at each add to the statistic, up to a constant."""
    points, slopes = sketch.points(means), sketch.kernel.slopes(sketch.averages(means))
    return points, np.asarray((_row_means(points, rows) @ slopes[..., None])[..., 0])


def _row_means(points: Points, rows: Pairs) -> FloatArray:
    """Return the row means at points, own pairs as in the target, (nodes, points, kernels)."""
    means, n = points.row_means, rows.count
    return means if rows.target == "v" else (n * means - points.own) / (n - 1)


def _classes(points: Points, sketch: PointSketch) -> FloatArray:
    """Tell which points are of which class, all of one if classes are no samples of their own."""
    if points.classes is None or not any(one.two_classes for one in sketch.kernel.components):
        return np.ones((points.weights.shape[1], 1))
    return np.eye(points.classes.max() + 1)[points.classes]
