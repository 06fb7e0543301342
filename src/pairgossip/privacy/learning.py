"""Private learning: gradients at reports, unbiased for those at the reported values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels.exact import check_kind
from pairgossip.kernels.kernel import Kernel
from pairgossip.losses import GeneralLoss, Loss, as_loss
from pairgossip.losses.general import check_models
from pairgossip.losses.learning import LearningProblem, PairwiseLearning
from pairgossip.privacy.debiased import debias, refuse_equality
from pairgossip.privacy.estimation import check_mechanism
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.response import Cells, trial_source

_LARGEST_DOMAIN = 256
"""Largest number of cells: a gradient sums over all pairs of them, here 65,536, for
milliseconds."""
_NUMBERS_AT_ONCE = 2**21
"""Numbers per array of pairs of cells, for many models at once."""


class DebiasedLoss:
    """A loss for reports: its gradient is unbiased for that at the cells of two people.

    A loss is not linear in the observations, so no single pair stands for a pair of reports: the
    gradient is the sum of v_y(x) v_y'(x') grad f(theta; x, x') over all pairs of cells, which is
    only possible for few cells.

    Parameters
    ----------
    mechanism
        The randomized response that makes the reports.
    loss
        A loss of raw observations, or the name of a built-in one.

    Attributes
    ----------
    mechanism, loss
        The arguments.
    dimension
        The number of parameters of a model.
    """

    def __init__(self, mechanism: RandomizedResponse, loss: Loss | GeneralLoss | str) -> None:
        self.mechanism, self.loss = mechanism, as_loss(loss)
        cells = mechanism.cells
        if cells > _LARGEST_DOMAIN:
            product = " x ".join(map(str, mechanism.bins))
            raise InputError(
                f"There is no affordable debiased gradient here: reports have {cells:,} cells "
                f"({product}), a gradient sums over all pairs of them, and {_LARGEST_DOMAIN} is "
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
        return self.weighted(theta, self.weights(first), self.weights(second))

    def own(self, theta: FloatArray, reports: Any) -> FloatArray:
        """Return the estimates of gradients at m own pairs from their reports, shape (m, p)."""
        return self.own_weighted(theta, self.weights(reports))

    def own_weighted(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Sum the gradients at own pairs over all cells, weighted by rows of K weights."""
        return self._own.sums(self._models(theta, len(weights)), weights, None)

    def weighted(self, theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Sum gradients over all pairs of cells, weighted by products of two rows of K weights."""
        return self._pairs.sums(self._models(theta, len(first)), first, second)

    def weights(self, reports: Any) -> FloatArray:
        """Return v_y for every report, shape (m, K): unbiased for the indicator of its cell."""
        return self._inverse[self.mechanism.flat(reports)]

    def size(self) -> float:
        """Return the root mean square norm of a debiased gradient at the zero model.

        All pairs of reports count alike. It sets step sizes: noise makes gradients much larger than
        those of the loss.
        """
        cells = self.mechanism.cells
        table = self._pairs.gradients(np.zeros(self.dimension)).reshape(cells, cells, -1)
        table = debias(self.mechanism, debias(self.mechanism, table, 0), 1)
        return float(np.sqrt(np.mean(np.sum(table**2, axis=2))))

    def _models(self, theta: FloatArray, count: int) -> FloatArray:
        models = np.asarray(theta, dtype=np.float64)
        check_models(self.loss.name, models, self.dimension, count)
        shape = count, self.dimension
        return models if models.shape == shape else np.broadcast_to(models, shape)

    def __repr__(self) -> str:
        return f"DebiasedLoss({self.loss.name}, {self.mechanism.cells} cells)"


class _CellPairs:
    """The gradients of a loss at given pairs of cells, summed with weights for many models."""

    def __init__(self, loss: Loss | GeneralLoss, values: FloatArray, one: Any, other: Any) -> None:
        self._loss, self._count = loss, len(one)
        if isinstance(loss, Loss):
            first, second = values[one], values[one if other is None else other]
            a, w, b = loss.pairs(first, second)
            counted = np.flatnonzero(w)  # an ordering loss leaves out at least half of the pairs
            self._a, self._w, self._b = a[counted], w[counted], b[counted]
        else:
            counted = np.arange(len(one))
        self._counted = counted
        self._one, self._other = one[counted], None if other is None else other[counted]
        self._first = values[self._one]
        self._second = values[self._one if self._other is None else self._other]

    def sums(self, models: FloatArray, first: FloatArray, second: FloatArray | None) -> FloatArray:
        """Return the sum of weights times gradients for every model, shape (m, p)."""
        totals = np.empty(models.shape)
        step = max(1, _NUMBERS_AT_ONCE // max(1, len(self._one)))
        for start in range(0, len(models), step):
            rows = slice(start, start + step)
            weights = first[rows][:, self._one]
            if second is not None and self._other is not None:
                weights = weights * second[rows][:, self._other]
            totals[rows] = self._sum(models[rows], weights)
        return totals

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


class PrivateLearning(LearningProblem):
    """A learning problem whose nodes take gradients at reports; models are judged on raw data.

    All its attributes are those of the raw data, as a judge needs them. Nodes use reports, which
    every trial draws anew: see `for_trial`.

    Parameters
    ----------
    data, labels
        The raw observations.
    loss
        A loss of raw observations, or the name of a built-in one.
    mechanism
        The randomized response that makes the reports.
    target
        "v" minimizes the average over all ordered pairs, own pairs included, as without privacy;
        "u" leaves own pairs out.
    seeded
        Whether trials draw their reports from their seeds, which can be repeated but protect
        nobody, or from the operating system's secure source.
    """

    def __init__(
        self,
        data: Any,
        loss: Loss | GeneralLoss | str,
        mechanism: RandomizedResponse,
        labels: Any = None,
        target: str = "v",
        *,
        seeded: bool = True,
    ) -> None:
        check_mechanism(mechanism)
        super().__init__(mechanism.numbers(data, labels), loss)
        self.mechanism, self.seeded = mechanism, seeded
        self.debiased = DebiasedLoss(mechanism, self.loss)
        self.target = check_kind(target, self.n)

    @property
    def marks(self) -> Mapping[str, str]:
        """The marks that distinguish it from the same data and loss without privacy."""
        return {"privacy": f"{self.mechanism!r}, {self.target.upper()}-statistic"}

    @property
    def compilable(self) -> bool:
        """Whether compiled code may take gradients on the data itself: never."""
        return False

    @property
    def own_slope(self) -> None:
        """The user's function that compiled code would call on the data itself: always None."""
        return None

    def for_trial(self, seed: np.random.SeedSequence) -> ReportedLearning:
        """Return the problem with reports drawn for this trial."""
        return self.with_reports(
            self.mechanism.randomize(self.data, trial_source(self.seeded, seed))
        )

    def steepest(self, radius: float, nodes: int) -> float:
        """Return the size of debiased gradients at the zero model times sqrt(nodes/2).

        Their noise is much larger than the gradients, and a node takes the gradient of one pair of
        reports for half as many iterations as there are nodes.
        """
        return self.debiased.size() * math.sqrt(nodes / 2)

    def with_reports(self, reports: Cells) -> ReportedLearning:
        """Return the problem with these reports, one row per observation."""
        return ReportedLearning(self, reports)


class ReportedLearning(PairwiseLearning):
    """The addition of node k to its gradient when it holds the report of observation l.

    Between different observations it is the debiased gradient. A node that holds its own report
    adds the debiased gradient of its own pair, or with target "u" nothing, while the others count
    n/(n - 1). Objectives remain those of the raw data.
    """

    def __init__(self, problem: PrivateLearning, reports: Cells) -> None:
        self.raw, self.reports = problem, reports
        self.data, self.n = problem.data, problem.n
        self.loss, self.dimension = problem.loss, problem.dimension
        self.debiased, self.target = problem.debiased, problem.target
        self._weights = self.debiased.weights(reports)
        self._total = self._weights.sum(axis=0)
        if len(self._weights) != self.n:
            raise InputError(
                f"There are {len(self._weights)} reports for {self.n} observations: give one each."
            )

    @property
    def marks(self) -> Mapping[str, str]:
        """The marks that distinguish it from the same data and loss without privacy."""
        return self.raw.marks

    @property
    def scale(self) -> float:
        """The factor of pairs of different observations."""
        return self.n / (self.n - 1) if self.target == "u" else 1.0

    def gradient(self, theta: FloatArray, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return each node's debiased gradient at its own model, shape (m, p)."""
        nodes, held = np.asarray(nodes), np.asarray(held)
        models = np.broadcast_to(theta, (len(nodes), self.dimension))
        gradients = np.zeros((len(nodes), self.dimension))
        own, met = nodes == held, nodes != held
        first, second = self._weights[nodes[met]], self._weights[held[met]]
        gradients[met] = self.scale * self.debiased.weighted(models[met], first, second)
        if self.target == "v" and own.any():
            weights = self._weights[nodes[own]]
            gradients[own] = self.debiased.own_weighted(models[own], weights)
        return gradients

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return the objective of every model on the raw data, shape (r,)."""
        return self.raw.objectives(models)

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        """Return the mean over all l of `gradient` at theta_k, for every node k."""
        others = self._total - self._weights
        sums = self.scale * self.debiased.weighted(theta, self._weights, others)
        if self.target == "v":
            sums += self.debiased.own_weighted(theta, self._weights)
        return sums / self.n
