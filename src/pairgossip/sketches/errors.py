"""Sampling errors from a sketch, which tells how rows differ: no further message is needed.

The means of features are also those of a few weighted points, at which the sketch knows the row
means. They stand for all rows in Hoeffding's projection, as `pairgossip.inference` computes it
from the rows themselves.
"""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import Combination, Kernel
from pairgossip.sketches.sketch import Combined, Points, PointSketch, Sketch, formulas

_AT_ONCE = 128
"""How many nodes' errors are computed at a time."""
_DEGENERATE = 1e-12
"""Below this part of the square of what rows add, their differences are rounding."""
_ROUNDING = 1e-9
"""Largest rounding error of a number of rows; a class of one row tells no error."""


def find_points(sketch: Sketch, kernel: Kernel | Combination) -> PointSketch:
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
    sketch: Sketch, kernel: Kernel | Combination, target: str, means: FloatArray, n: float
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
    part: PointSketch, kernel: Kernel | Combination, target: str, means: FloatArray, n: float
) -> FloatArray:
    wanted = formulas(kernel)
    points = part.points(means, wanted)
    added = _added(points, kernel.slopes(part.averages(means, wanted)), target, n)
    influence = added - np.einsum("np,np->n", points.weights, added)[:, None]
    counts, of_class = n * points.weights, _classes(points, kernel)
    sizes, squares = counts @ of_class, (counts * influence**2) @ of_class
    differs = squares.sum(axis=1) > _DEGENERATE * n * (added**2).max(axis=1)
    is_known = differs & (sizes > 1 + _ROUNDING).all(axis=1)
    variance = (squares * sizes / (sizes - 1)).sum(axis=1) / n**2
    return np.sqrt(np.where(is_known, variance, np.nan))


def _added(points: Points, slopes: FloatArray, target: str, n: float) -> FloatArray:
    """Return what rows at each point add to the statistic, up to a constant, (nodes, points)."""
    means = points.row_means
    if target == "u":
        means = (n * means - points.own) / (n - 1)
    return np.asarray((means @ slopes[..., None])[..., 0])


def _classes(points: Points, kernel: Kernel | Combination) -> FloatArray:
    """Tell which points are of which class, all of one if classes are no samples of their own."""
    if points.classes is None or not any(part.two_classes for part in kernel.components):
        return np.ones((points.weights.shape[1], 1))
    return np.eye(points.classes.max() + 1)[points.classes]
