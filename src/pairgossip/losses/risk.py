"""The risk of a model: its loss, averaged over all ordered pairs of observations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.kernels.blocked import NUMBERS_PER_BLOCK, tiles
from pairgossip.kernels.closed_forms import higher_label_and_score_total, higher_label_total
from pairgossip.kernels.data import check_data, column_count
from pairgossip.losses.builtin import as_loss
from pairgossip.losses.general import GeneralLoss
from pairgossip.losses.loss import Loss
from pairgossip.losses.validation import check_models, check_two_classes


def risk(theta: Any, data: Any, loss: Loss | GeneralLoss | str, labels: Any = None) -> float:
    """Return (1/n^2) times the sum of f(theta; x_k, x_l) over all pairs, own pairs included.

    Parameters
    ----------
    theta
        One model, shape (p,).
    data, labels
        The observations, as `check_data` takes them; the label is the last column.
    loss
        A loss, or the name of a built-in one.
    """
    return float(risks(np.atleast_1d(np.asarray(theta))[None, :], data, loss, labels)[0])


def risks(thetas: Any, data: Any, loss: Loss | GeneralLoss | str, labels: Any = None) -> FloatArray:
    """Return the risks of models (r, p), shape (r,); NaN where a model is not finite."""
    table, settled = check_data(data, labels), as_loss(loss)
    settled.check(table, labels)
    models = np.atleast_2d(np.asarray(thetas, dtype=np.float64))
    check_models(settled.name, models, settled.dimension(column_count(table)))
    return checked_risks(models, table, settled)


def checked_risks(models: FloatArray, data: FloatArray, loss: Loss | GeneralLoss) -> FloatArray:
    """Compute `risks` for models, data and loss that were checked before."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(loss, GeneralLoss):
            return _general_risks(models, data, loss)
        if loss.risk is not None:
            return loss.risk(models, data)
        return _blocked_risks(models, data, loss)


def auc_of_scores(scores: Any, labels: Any) -> float:
    """Return the area under the ROC curve, ties counting one half; the higher label is positive."""
    data = check_data(scores, labels, name="scores")
    check_two_classes(data)
    return higher_label_and_score_total(data, 0.5) / higher_label_total(data)


def _blocked_risks(models: FloatArray, data: FloatArray, loss: Loss) -> FloatArray:
    n, sums = len(data), np.zeros(len(models))
    side = _side(max(models.shape[1], column_count(data), len(models)))
    for rows, columns in tiles(n, side, half=False):
        a, w, b = loss.pairs(*_pairs(data[rows], data[columns]))
        if not w.all():
            counted = w != 0
            a, w, b = a[counted], w[counted], b[counted]
        sums += loss.phi.value(models @ a.T + b) @ w
    return sums / n**2


def _general_risks(models: FloatArray, data: FloatArray, loss: GeneralLoss) -> FloatArray:
    n, sums = len(data), np.zeros(len(models))
    for rows, columns in tiles(n, _side(column_count(data)), half=False):
        first, second = _pairs(data[rows], data[columns])
        sums += [float(loss.value(model, first, second).sum()) for model in models]
    return sums / n**2


def _side(numbers_per_pair: int) -> int:
    return max(1, math.isqrt(NUMBERS_PER_BLOCK // numbers_per_pair))


def _pairs(left: FloatArray, above: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pair every observation of one block with every one of another."""
    return np.repeat(left, len(above), axis=0), np.concatenate([above] * len(left))
