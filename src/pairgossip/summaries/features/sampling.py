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
from pairgossip.kernels import AnyKernel
from pairgossip.summaries.features.sketch import Combined, Points, PointSketch, Sketch, formulas

_AT_ONCE = 128
"""How many nodes' errors are computed at a time."""
_DEGENERATE = 1e-12
"""Below this part of the square of what rows add, their differences are rounding."""
_ROUNDING = 1e-9
"""Largest rounding error of a number of rows; a class of one row tells no error."""


def find_points(sketch: Sketch, kernel: AnyKernel) -> PointSketch:
    """Return what tells how rows differ; raise `InputError` if the sketch does not."""
    part = sketch.part if isinstance(sketch, Combined) else sketch
    if not isinstance(part, PointSketch):
        raise InputError(
            f"The sketch of '{kernel.name}' does not tell how rows differ, and so no sampling "
            "error: use method 'tracking', or leave {argument} out.",
            "interval",
        )
    return part


def sampling_errors(
    sketch: Sketch, kernel: AnyKernel, target: str, means: FloatArray, n: float
) -> FloatArray:
    """Return the sampling error that each node's mean features tell.

    Parameters
    ----------
    sketch, kernel, target
        The sketch, the statistic it is about, and its kind, "v" or "u".
    means
        The mean features of a row, as every node knows them, shape (nodes, r).
    n
        How many rows there are.

    Returns
    -------
    FloatArray
        One error per node; NaN where its mean tells none yet.
    """
    part, blocks = find_points(sketch, kernel), range(0, len(means), _AT_ONCE)
    with np.errstate(all="ignore"):
        return np.concatenate(
            [_errors(part, kernel, target, means[at : at + _AT_ONCE], n) for at in blocks]
        )


def _errors(
    part: PointSketch, kernel: AnyKernel, target: str, means: FloatArray, n: float
) -> FloatArray:
    points, added = _added(part, kernel, target, means, n)
    influence = added - np.einsum("np,np->n", points.weights, added)[:, None]
    counts, of_class = n * points.weights, _classes(points, kernel)
    sizes, squares = counts @ of_class, (counts * influence**2) @ of_class
    differs = squares.sum(axis=1) > _DEGENERATE * n * (added**2).max(axis=1)
    is_known = differs & (sizes > 1 + _ROUNDING).all(axis=1)
    variance = (squares * sizes / (sizes - 1)).sum(axis=1) / n**2
    return np.sqrt(np.where(is_known, variance, np.nan))


def sampling_law(
    sketch: Sketch,
    kernel: AnyKernel,
    target: str,
    mean: FloatArray,
    n: float,
    freedom: float,
) -> Law:
    """Return the law of the statistic over its error, by the points that stand for rows.

    As of rows, its bias is found by leaving out one row at each point in turn.
    """
    part = find_points(sketch, kernel)
    with np.errstate(all="ignore"):
        points, added = _added(part, kernel, target, mean[None], n)
        shares, own = points.weights[0], float(target == "u")
        error = _errors(part, kernel, target, mean[None], n)[0]
        sums = _row_means(points, target, n)[0]
        averages = shares @ sums / 2
        inner = (1 - own) * points.own / 2
        times, once = n * shares, np.ones(len(shares))
        shift = jackknife_bias(kernel, averages, sums, inner, times, once, own) / error
    influence = added[0] - shares @ added[0]
    return Law.of(influence, times, freedom, shift if np.isfinite(shift) else 0.0)


def _added(
    part: PointSketch, kernel: AnyKernel, target: str, means: FloatArray, n: float
) -> tuple[Points, FloatArray]:
    """Return points, and what rows at each add to the statistic, up to a constant."""
    wanted = formulas(kernel)
    points, slopes = part.points(means, wanted), kernel.slopes(part.averages(means, wanted))
    return points, np.asarray((_row_means(points, target, n) @ slopes[..., None])[..., 0])


def _row_means(points: Points, target: str, n: float) -> FloatArray:
    """Return the row means at points, own pairs as in the target, (nodes, points, kernels)."""
    means = points.row_means
    return means if target == "v" else (n * means - points.own) / (n - 1)


def _classes(points: Points, kernel: AnyKernel) -> FloatArray:
    """Tell which points are of which class, all of one if classes are no samples of their own."""
    if points.classes is None or not any(part.two_classes for part in kernel.components):
        return np.ones((points.weights.shape[1], 1))
    return np.eye(points.classes.max() + 1)[points.classes]
