"""Data and loss tied together: what node k minimizes when it holds observation l."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.kernels.data import check_data
from pairgossip.losses.builtin import as_loss
from pairgossip.losses.general import GeneralLoss
from pairgossip.losses.loss import Loss
from pairgossip.losses.pair_features import difference, higher_label
from pairgossip.losses.risk import checked_risks

if TYPE_CHECKING:
    # A device that runs a peer draws no seeds, and numpy's generators take memory.
    from numpy.random import SeedSequence

ROWS_AT_ONCE = 64
"""Rows of the n x n table of pair gradients held in memory at a time."""


class PairwiseLearning(Protocol):
    """What the engines ask of a learning problem, whatever stands behind its gradients."""

    @property
    def n(self) -> int:
        """How many nodes take part."""

    @property
    def data(self) -> FloatArray:
        """All observations, one row each."""

    @property
    def loss(self) -> Loss | GeneralLoss:
        """The loss of a model at a pair."""

    @property
    def dimension(self) -> int:
        """How many parameters a model has."""

    @property
    def compilable(self) -> bool:
        """Whether compiled code may take gradients of the loss on `data` itself."""

    @property
    def marks(self) -> Mapping[str, str]:
        """What else than data and loss defines it, by name: a fit goes on only with the same."""

    def gradient(self, theta: FloatArray, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return each node's gradient at its own model, shape (m, p)."""

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return F of every model, shape (r,)."""

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of every node's share at the node's model, shape (n, p)."""

    def for_trial(self, seed: SeedSequence) -> PairwiseLearning:
        """Return the problem of one trial, all its randomness drawn from this seed."""


def is_ordering(loss: Loss | GeneralLoss) -> bool:
    """Whether a loss is that of AUC and ranking, 1{l > l'} phi(theta . (x - x'))."""
    return isinstance(loss, Loss) and (
        (loss.features, loss.weights, loss.offsets) == (difference, higher_label, None)
    )


class LearningProblem:
    """Observations, one per node, and the loss of a model at a pair of them."""

    marks: Mapping[str, str] = MappingProxyType({})

    def __init__(self, data: Any, loss: Loss | GeneralLoss | str, labels: Any = None) -> None:
        self.data = check_data(data, labels)
        self.n = len(self.data)
        self.loss = as_loss(loss)
        self.loss.check(self.data, labels)
        columns = 1 if self.data.ndim == 1 else self.data.shape[1]
        self.dimension = self.loss.dimension(columns)

    @property
    def compilable(self) -> bool:
        """Whether compiled code knows the form of the loss."""
        return isinstance(self.loss, Loss)

    def for_trial(self, seed: SeedSequence) -> Self:
        """Return itself: nothing about it is random."""
        return self

    def pairs(self, nodes: IntArray, held: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return features a, weights w and offsets b of nodes and the observations they hold."""
        assert isinstance(self.loss, Loss)
        return self.loss.pairs(self.data.take(nodes, axis=0), self.data.take(held, axis=0))

    def gradient(self, theta: FloatArray, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return each node's gradient at its own model, shape (m, p)."""
        first, second = self.data.take(nodes, axis=0), self.data.take(held, axis=0)
        return self.loss.gradient(theta, first, second)

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return F of every model: the mean of f over all ordered pairs, shape (r,)."""
        return checked_risks(models, self.data, self.loss)

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of every node's share f_k = (1/n) sum_l f(.; x_k, x_l) at theta_k."""
        if isinstance(self.loss, GeneralLoss) and not self.loss.batched:
            return self._own_general_gradients(theta, self.loss)
        if is_ordering(self.loss):
            return self._own_ordering_gradients(theta)
        everyone = np.arange(self.n)
        gradients = np.empty((self.n, self.dimension))
        for start in range(0, self.n, ROWS_AT_ONCE):
            rows = everyone[start : start + ROWS_AT_ONCE]
            table = self.gradient(
                np.repeat(theta[rows], self.n, axis=0),
                np.repeat(rows, self.n),
                np.tile(everyone, len(rows)),
            )
            gradients[rows] = table.reshape(len(rows), self.n, -1).mean(axis=1)
        return gradients

    def _own_general_gradients(self, theta: FloatArray, loss: GeneralLoss) -> FloatArray:
        """The same where a function takes one model: a call for each node, not for each pair."""
        gradients = np.empty((self.n, self.dimension))
        for node, model in enumerate(theta):
            own = np.repeat(self.data[node : node + 1], self.n, axis=0)
            gradients[node] = loss.gradient(model, own, self.data).mean(axis=0)
        return gradients

    def _own_ordering_gradients(self, theta: FloatArray) -> FloatArray:
        """The same where a = x - x': scores of all observations under all models, then sums."""
        assert isinstance(self.loss, Loss)
        features, labels = self.data[:, :-1], self.data[:, -1]
        scores = theta @ features.T
        slopes = self.loss.phi.derivative(np.diagonal(scores)[:, None] - scores)
        slopes *= labels[:, None] > labels
        return (slopes.sum(axis=1)[:, None] * features - slopes @ features) / self.n
