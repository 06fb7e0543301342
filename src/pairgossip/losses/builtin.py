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
from pairgossip.losses.loss import MARGINS, Loss, Margin, label_bounds, margin, squared_bounds
from pairgossip.losses.sums import ranking_risks

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
    return np.asarray(-_alike(first, second)[:, None] * difference(first, second) ** 2)


def _signed_threshold(first: FloatArray, second: FloatArray, threshold: float) -> FloatArray:
    """Return s times the threshold."""
    return threshold * _alike(first, second)


def _alike(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.where(first[:, -1] == second[:, -1], 1.0, -1.0)


def auc_loss(phi: str | Margin = "logistic") -> Loss:
    """Score the higher of two classes above the lower: 1{l > l'} phi(theta . (x - x')).

    Averaged over all pairs, it bounds (up to scale) one minus the area under the ROC curve.

    Parameters
    ----------
    phi
        What is made of the difference of two scores, by name.
    """
    return _ordering_loss(
        "auc",
        margin(phi),
        partial(check_two_classes, "An AUC loss", "a ranking loss, such as 'ranking-logistic',"),
        label_sizes=False,
        description="bipartite ranking: a score of high AUC",
    )


def ranking_loss(phi: str | Margin = "logistic") -> Loss:
    """Score higher labels above lower ones, whatever the grades: 1{l > l'} phi(theta . (x - x')).

    Parameters
    ----------
    phi
        What is made of the difference of two scores, by name.
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
    """Learn a distance that tells same from different: phi(s (threshold - d_M(x, x')^2)).

    Here s is 1 for equal labels and -1 otherwise, and d_M(x, x')^2 = (x - x')^T M (x - x').
    Own pairs enter the average over all pairs with the constant phi(threshold).

    Parameters
    ----------
    phi
        What is made of the margin, by name.
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
        bounds=partial(squared_bounds, threshold=float(threshold)),
        description="metric learning: a Mahalanobis distance between same and different labels",
        shape="diagonal" if diagonal else "matrix",
        label_sizes=False,
    )


CATALOG: dict[str, Callable[[], Loss]] = {
    **{f"auc-{phi}": partial(auc_loss, phi) for phi in MARGINS},
    **{f"ranking-{phi}": partial(ranking_loss, phi) for phi in MARGINS},
    **{f"metric-{phi}": partial(metric_loss, phi) for phi in ("hinge", "logistic")},
    **{
        f"metric-diagonal-{phi}": partial(metric_loss, phi, diagonal=True)
        for phi in ("hinge", "logistic")
    },
}
"""The built-in losses by name."""


def as_loss(loss: Any) -> Loss | GeneralLoss:
    """Make a loss of a loss or of a built-in loss's name."""
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
        bounds=label_bounds,
        description=description,
        label_sizes=label_sizes,
    )


def has_own_forms(loss: Any) -> bool:
    """Whether a loss is AUC's or of rankings with the closed forms given here, which tests check.

    A copy with another function of the margin, or with other features, has not.
    """
    parts = ("features", "weights", "offsets", "bounds")
    risk = getattr(loss, "risk", None)
    return (
        isinstance(loss, Loss)
        and tuple(getattr(loss, part) for part in parts)
        == (difference, higher_label, None, label_bounds)
        and isinstance(risk, partial)
        and (risk.func, risk.args, risk.keywords) == (ranking_risks, (), {"phi": loss.phi})
    )


def _features(columns: int) -> int:
    return columns - 1


def _squared_features(columns: int) -> int:
    return (columns - 1) ** 2
