"""The built-in losses, each made by a function and found by name in `CATALOG`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.errors import InputError
from pairgossip.kernels.data import check_several_classes, check_two_classes
from pairgossip.losses.general import GeneralLoss
from pairgossip.losses.loss import Loss
from pairgossip.losses.margins import MARGINS, Margin, margin

# The built-in features, weights and offsets of pairs; the label is the last column.


def difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return x - x'."""
    return first[:, :-1] - second[:, :-1]


def higher_label(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 where the first label is the higher one, 0 elsewhere."""
    return (first[:, -1] > second[:, -1]).astype(np.float64)


def _signed_outer_product(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return -s (x - x')(x - x')^T row by row, s = 1 for equal labels and -1 otherwise."""
    apart = difference(first, second)
    signed = -_alike(first, second)[:, None] * apart
    return np.einsum("mi,mj->mij", signed, apart).reshape(len(apart), -1)


def _signed_squares(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return -s (x - x')^2 coordinate by coordinate."""
    return -_alike(first, second)[:, None] * difference(first, second) ** 2


def _signed_threshold(first: FloatArray, second: FloatArray, threshold: float) -> FloatArray:
    """Return s times the threshold."""
    return threshold * _alike(first, second)


def _alike(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.where(first[:, -1] == second[:, -1], 1.0, -1.0)


# Cheap bounds on the lengths of features and on offsets, over all pairs of some data.


_ROUNDING_MARGIN = 1.0 + 1e-12
"""A factor by which bounds are raised, so that they still hold after rounding."""


def _label_bounds(data: FloatArray) -> tuple[float, float]:
    """Bound ||x - x'|| over pairs of a higher and a lower label."""
    features, labels = data[:, :-1], data[:, -1]
    # Centering by the middle of the ranges keeps the triangle inequality tight.
    reach = np.linalg.norm(center(features), axis=1)
    higher, lower = reach[labels > labels.min()], reach[labels < labels.max()]
    apart = float(higher.max() + lower.max()) if len(higher) else 0.0
    return min(apart, _diagonal(features)) * _ROUNDING_MARGIN, 0.0


def _squared_bounds(data: FloatArray, threshold: float) -> tuple[float, float]:
    """Bound ||x - x'||^2 over all pairs, for offsets of +-threshold."""
    features = data[:, :-1]
    reach = float(np.linalg.norm(center(features), axis=1).max())
    return min(2.0 * reach, _diagonal(features)) ** 2 * _ROUNDING_MARGIN, -abs(threshold)


def center(features: FloatArray) -> FloatArray:
    """Shift the middle of every column to 0: differences do not change, but round less."""
    return features - (0.5 * features.min(axis=0) + 0.5 * features.max(axis=0))


def _diagonal(features: FloatArray) -> float:
    return float(np.linalg.norm(np.ptp(features, axis=0)))


def auc_loss(phi: str | Margin = "logistic") -> Loss:
    """Score the higher of two classes above the lower: 1{l > l'} phi(theta . (x - x')).

    Averaged over all pairs, it bounds (up to scale) one minus the area under the ROC curve.

    Parameters
    ----------
    phi
        The function of the difference of two scores, or its name.
    """
    return _ordering_loss(
        "auc",
        margin(phi),
        partial(check_two_classes, "An AUC loss", "a ranking loss, such as 'ranking-logistic',"),
        label_sizes=False,
        description="bipartite ranking: a score of high AUC",
    )


def ranking_loss(phi: str | Margin = "logistic") -> Loss:
    """Score higher labels above lower ones, for any grades: 1{l > l'} phi(theta . (x - x')).

    Parameters
    ----------
    phi
        The function of the difference of two scores, or its name.
    """
    return _ordering_loss(
        "ranking",
        margin(phi),
        partial(check_several_classes, "A ranking loss"),
        label_sizes=True,
        description="graded ranking: a score that follows the labels",
    )


def metric_loss(
    phi: str | Margin = "hinge", threshold: float = 1.0, diagonal: bool = False
) -> Loss:
    """Learn a distance that separates equal from different labels: phi(s (threshold - d_M^2)).

    Here s is 1 for equal labels and -1 otherwise, and d_M^2 = (x - x')^T M (x - x').
    Own pairs enter the average over all pairs with the constant phi(threshold).

    Parameters
    ----------
    phi
        The function of the margin, or its name.
    threshold
        The squared distance below which two observations should be alike.
    diagonal
        Whether M is diagonal; the model is then its diagonal, else all of M row by row.
    """
    if not (math.isfinite(threshold) and threshold >= 0):
        raise InputError(
            f"The threshold is a squared distance, but got {threshold}: give a number >= 0."
        )
    function, kind = margin(phi), "metric-diagonal" if diagonal else "metric"
    features = _signed_squares if diagonal else _signed_outer_product
    return Loss(
        features,
        function,
        offsets=partial(_signed_threshold, threshold=float(threshold)),
        name=f"{kind}-{function.name}",
        dimension=_features if diagonal else _squared_features,
        columns=("features...", "label"),
        validate=partial(check_several_classes, "A metric-learning loss"),
        bounds=partial(_squared_bounds, threshold=float(threshold)),
        description="metric learning: a Mahalanobis distance between same and different labels",
        shape="diagonal" if diagonal else "matrix",
        label_sizes=False,
    )


CATALOG: dict[str, Callable[[], Loss | GeneralLoss]] = {
    **{f"auc-{phi}": partial(auc_loss, phi) for phi in MARGINS},
    **{f"ranking-{phi}": partial(ranking_loss, phi) for phi in MARGINS},
    **{f"metric-{phi}": partial(metric_loss, phi) for phi in ("hinge", "logistic")},
    **{
        f"metric-diagonal-{phi}": partial(metric_loss, phi, diagonal=True)
        for phi in ("hinge", "logistic")
    },
}
"""All losses by name; `register` and `register_margin` enter others."""


def register(loss: Loss | GeneralLoss) -> Loss | GeneralLoss:
    """Enter a loss, so that `minimize`, the command line and the page find it by its name."""
    CATALOG[loss.name] = lambda: loss
    return loss


def register_margin(phi: Margin) -> Margin:
    """Enter a function of the margin, and the AUC and ranking losses made of it."""
    MARGINS[phi.name] = phi
    CATALOG[f"auc-{phi.name}"] = partial(auc_loss, phi)
    CATALOG[f"ranking-{phi.name}"] = partial(ranking_loss, phi)
    return phi


def as_loss(loss: Any) -> Loss | GeneralLoss:
    """Return a loss, given itself or the name of a built-in or registered one."""
    if isinstance(loss, Loss | GeneralLoss):
        return loss
    if isinstance(loss, str):
        return CATALOG[choice("loss", loss, CATALOG)]()
    if any(loss is factory for factory in (auc_loss, ranking_loss, metric_loss)):
        raise InputError(
            f"The loss is the factory '{loss.__name__}' itself: call it, as in {loss.__name__}()."
        )
    raise InputError(
        f"A loss is a name such as 'auc-logistic', a Loss or a GeneralLoss, "
        f"but got {type(loss).__name__}."
    )


def _ordering_loss(
    kind: str, phi: Margin, validate: Callable[..., object], *, label_sizes: bool, description: str
) -> Loss:
    return Loss(
        difference,
        phi,
        weights=higher_label,
        name=f"{kind}-{phi.name}",
        dimension=_features,
        columns=("features...", "label"),
        validate=validate,
        risk=partial(ranking_risks, phi=phi),
        bounds=_label_bounds,
        description=description,
        label_sizes=label_sizes,
    )


def has_own_forms(loss: Any) -> bool:
    """Return whether a loss is an AUC or ranking loss with the closed forms of this file.

    Tests check these forms. They do not hold for a copy with another function of the margin, or
    with other features.
    """
    parts = ("features", "weights", "offsets", "bounds")
    risk = getattr(loss, "risk", None)
    return (
        isinstance(loss, Loss)
        and tuple(getattr(loss, part) for part in parts)
        == (difference, higher_label, None, _label_bounds)
        and isinstance(risk, partial)
        and (risk.func, risk.args, risk.keywords) == (ranking_risks, (), {"phi": loss.phi})
    )


def _features(columns: int) -> int:
    return columns - 1


def _squared_features(columns: int) -> int:
    return (columns - 1) ** 2


# Risks of ranking losses over all pairs, in near-linear time; they need scores and labels only.


_NUMBERS_PER_CHUNK = 2**17
"""The number of scores, of one or more models, in one chunk of work: 1 MB."""
_PAIRS_PER_MODEL = 2**11
_PAIRS_IN_ALL = 2**14
"""Up to either of these numbers of pairs, evaluating every pair is the fastest way."""


def ranking_risks(thetas: FloatArray, data: FloatArray, phi: Margin) -> FloatArray:
    """Average 1{l > l'} phi(theta . (x - x')) over all ordered pairs, for models (r, p)."""
    features = center(data[:, :-1])
    order = np.argsort(data[:, -1], kind="stable")
    ordered, labels = features[order], data[order, -1]
    step = max(1, _NUMBERS_PER_CHUNK // len(data))
    chunks = [
        _ordered_sums(thetas[start : start + step] @ ordered.T, labels, phi)
        for start in range(0, len(thetas), step)
    ]
    return np.concatenate([np.empty(0), *chunks]) / len(data) ** 2


def _ordered_sums(scores: FloatArray, labels: FloatArray, phi: Margin) -> FloatArray:
    """Sum phi(s_i - s_j) over pairs with label_i > label_j, for scores (r, n) by rising label.

    The labels are split recursively: pairs across a split are pairs of two classes.
    """
    sums = np.zeros(len(scores))
    finite = np.isfinite(scores).all(axis=1)
    sums[~finite] = np.nan
    usable = scores if finite.all() else scores[finite]
    if not len(usable):
        return sums
    totals = np.zeros(len(usable))
    waiting = [(0, len(labels))]
    with np.errstate(over="ignore", invalid="ignore"):
        while waiting:
            start, end = waiting.pop()
            if labels[start] == labels[end - 1]:
                continue
            if _is_small(len(usable), (end - start) ** 2 // 4):
                totals += _masked_sums(usable[:, start:end], labels[start:end], phi)
                continue
            middle = boundary(labels, start, end)
            totals += _two_class_sums(usable[:, middle:end], usable[:, start:middle], phi)
            waiting += [(start, middle), (middle, end)]
    sums[finite] = totals
    return sums


def _two_class_sums(above: FloatArray, below: FloatArray, phi: Margin) -> FloatArray:
    """Sum phi(x - y) over x in a row of `above` and y in the same row of `below`."""
    if _is_small(len(above), above.shape[1] * below.shape[1]):
        margins = above[:, :, None] - below[:, None, :]
        return phi.value(margins).sum(axis=(1, 2))
    if phi.pair_sums is not None:
        return phi.pair_sums(above, below)
    step = max(1, _NUMBERS_PER_CHUNK // below.size)
    parts = (above[:, start : start + step] for start in range(0, above.shape[1], step))
    return np.sum([phi.value(x[:, :, None] - below[:, None]).sum(axis=(1, 2)) for x in parts], 0)


def _is_small(models: int, pairs: int) -> bool:
    return pairs <= _PAIRS_PER_MODEL or models * pairs <= _PAIRS_IN_ALL


def _masked_sums(scores: FloatArray, labels: FloatArray, phi: Margin) -> FloatArray:
    higher, lower = np.nonzero(labels[:, None] > labels[None, :])
    return phi.value(scores[:, higher] - scores[:, lower]).sum(axis=1)


def boundary(labels: FloatArray, start: int, end: int) -> int:
    """Find the change of label nearest to the middle of a span."""
    middle = (start + end) // 2
    left, right = (
        int(np.searchsorted(labels[start:end], labels[middle], side)) + start
        for side in ("left", "right")
    )
    if left == start:
        return right
    if right == end:
        return left
    return left if middle - left <= right - middle else right
