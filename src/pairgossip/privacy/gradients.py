"""Gradients at reports whose expectation is the gradient at what was reported."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.kernel import Kernel
from pairgossip.losses import GeneralLoss, Loss, as_loss
from pairgossip.losses.general import check_models
from pairgossip.privacy.debiased import debias, refuse_equality
from pairgossip.privacy.mechanism import RandomizedResponse

LARGEST_DOMAIN = 256
"""Cells: every gradient sums over all pairs of them, here 65,536, for some milliseconds."""
NUMBERS_AT_ONCE = 2**21
"""Numbers per array of pairs of cells, for many models at once."""


class DebiasedLoss:
    """A loss for reports: its gradient is unbiased for that at the cells of two people.

    A loss is not linear in the observations, so that no single pair stands for a pair of
    reports: the gradient is the sum of v_y(x) v_y'(x') grad f(theta; x, x') over all pairs of
    cells, for few cells only.

    Parameters
    ----------
    mechanism
        The randomized response that makes the reports.
    loss
        A loss of raw observations, or the name of a built-in one.

    Attributes
    ----------
    mechanism, loss
        As given.
    dimension
        How many parameters a model has.
    """

    def __init__(self, mechanism: RandomizedResponse, loss: Loss | GeneralLoss | str) -> None:
        self.mechanism, self.loss = mechanism, as_loss(loss)
        cells = mechanism.cells
        if cells > LARGEST_DOMAIN:
            product = " x ".join(map(str, mechanism.bins))
            raise InputError(
                f"There is no affordable debiased gradient here: reports have {cells:,} cells "
                f"({product}), a gradient sums over all pairs of them, and {LARGEST_DOMAIN} is "
                f"the most: give fewer bins, or learn from fewer columns."
            )
        values = mechanism.representatives
        try:
            self.loss.check(values)
        except InputError as refusal:
            raise InputError(f"The declared columns do not suit the loss: {refusal}") from refusal
        self.dimension = self.loss.dimension(len(mechanism.columns))
        model = np.full(self.dimension, 0.25)
        seen = Kernel(partial(self.loss.value, model), name=self.loss.name)
        refuse_equality(seen, mechanism, "Loss")
        self._inverse = debias(mechanism, np.eye(cells), 0)
        """Row y is v_y."""
        one, other = (index.ravel() for index in np.indices((cells, cells)))
        self._pairs = _CellPairs(self.loss, values, one, other)
        self._own = _CellPairs(self.loss, values, np.arange(cells), None)

    def gradient(self, theta: FloatArray, first: Any, second: Any) -> FloatArray:
        """Return the debiased gradients at m pairs of reports of two people, shape (m, p).

        Theta is one model (p,), or one model per pair (m, p).
        """
        one, other = self.mechanism.flat(first), self.mechanism.flat(second)
        return self.weighted(theta, self._inverse[one], self._inverse[other])

    def own(self, theta: FloatArray, reports: Any) -> FloatArray:
        """Return what m reports say of the gradients at their own pairs, shape (m, p)."""
        weights = self._inverse[self.mechanism.flat(reports)]
        models = self._models(theta, len(weights))
        return self._own.sums(models, weights, None)

    def weighted(self, theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Sum gradients over all pairs of cells, weighed by products of two rows of K weights."""
        models = self._models(theta, len(first))
        return self._pairs.sums(models, first, second)

    def weights(self, reports: Any) -> FloatArray:
        """Return v_y for every report, shape (m, K): unbiased for the indicator of its cell."""
        return self._inverse[self.mechanism.flat(reports)]

    def size(self) -> float:
        """Return the root mean square norm of a debiased gradient at the zero model.

        All pairs of reports count alike. Step sizes are chosen by it: noise makes gradients much
        larger than those of the loss.
        """
        table = self._pairs.gradients(np.zeros(self.dimension))
        cells = self.mechanism.cells
        table = table.reshape(cells, cells, -1)
        table = debias(self.mechanism, debias(self.mechanism, table, 0), 1)
        return float(np.sqrt(np.mean(np.sum(table**2, axis=2))))

    def _models(self, theta: FloatArray, count: int) -> FloatArray:
        models = np.asarray(theta, dtype=np.float64)
        check_models(self.loss.name, models, self.dimension, count)
        return np.broadcast_to(models, (count, self.dimension))

    def __repr__(self) -> str:
        return f"DebiasedLoss({self.loss.name}, {self.mechanism.cells} cells)"


class _CellPairs:
    """The gradients of a loss at given pairs of cells, summed with weights for many models."""

    def __init__(self, loss: Loss | GeneralLoss, values: FloatArray, one: Any, other: Any) -> None:
        self._loss, self._count = loss, len(one)
        if isinstance(loss, Loss):
            first, second = values[one], values[one if other is None else other]
            a, w, b = loss.pairs(first, second)
            counted = np.flatnonzero(w)  # an ordering loss leaves out half of the pairs or more
            self._a, self._w, self._b = a[counted], w[counted], b[counted]
        else:
            counted = np.arange(len(one))
        self._counted = counted
        self._one, self._other = one[counted], None if other is None else other[counted]
        self._first = values[self._one]
        self._second = values[self._one if self._other is None else self._other]

    def sums(self, models: FloatArray, first: FloatArray, second: FloatArray | None) -> FloatArray:
        """Return the sum of weights times gradients for every model, shape (m, p)."""
        found = np.empty(models.shape)
        for rows in _chunks(len(models), max(1, len(self._one))):
            weights = first[rows][:, self._one]
            if second is not None and self._other is not None:
                weights = weights * second[rows][:, self._other]
            found[rows] = self._sum(models[rows], weights)
        return found

    def gradients(self, model: FloatArray) -> FloatArray:
        """Return the gradients of one model at all pairs, shape (pairs, p)."""
        table = np.zeros((self._count, len(model)))
        table[self._counted] = self._loss.gradient(model, self._first, self._second)
        return table

    def _sum(self, models: FloatArray, weights: FloatArray) -> FloatArray:
        if isinstance(self._loss, Loss):
            slopes = self._loss.phi.derivative(models @ self._a.T + self._b)
            return (slopes * self._w * weights) @ self._a
        each = (self._loss.gradient(model, self._first, self._second) for model in models)
        return np.array([row @ table for row, table in zip(weights, each, strict=True)])


def _chunks(count: int, numbers_each: int) -> Iterator[slice]:
    step = max(1, NUMBERS_AT_ONCE // numbers_each)
    return (slice(start, start + step) for start in range(0, count, step))
