"""Data and loss together: the objective of node k when it holds observation l."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.kernels.blocks import NUMBERS_PER_BLOCK, SiteSets, tile_pairs, tile_side, tiles
from pairgossip.kernels.builtin.classes import higher_label_and_score_total, higher_label_total
from pairgossip.kernels.data import (
    check_columns,
    check_data,
    check_two_classes,
    column_count,
    depends_on_numbering,
    name_higher,
    two_texts,
    unknown_positive,
)
from pairgossip.kernels.rows import code_labels, order_classes
from pairgossip.losses.builtin import as_loss, difference, has_own_forms, higher_label
from pairgossip.losses.general import GeneralLoss, check_models
from pairgossip.losses.loss import Loss

if TYPE_CHECKING:  # two megabytes of code that a device does not need
    from numpy.random import SeedSequence

# The risk of a model: its loss, averaged over all ordered pairs of observations.


def risk(
    theta: Any,
    data: Any,
    loss: Loss | GeneralLoss | str,
    labels: Any = None,
    positive: Any = None,
) -> float:
    """Return (1/n^2) times the sum of f(theta; x_k, x_l) over all pairs, own pairs included.

    Parameters
    ----------
    theta
        One model, shape (p,).
    data, labels
        The observations, as `check_data` takes them; the label is the last column.
    loss
        A loss, or the name of a built-in one.
    positive
        The higher one of two labels, if they are text, or if it is not the larger number.
    """
    models = np.atleast_1d(np.asarray(theta))[None, :]
    return float(risks(models, data, loss, labels, positive)[0])


def risks(
    thetas: Any,
    data: Any,
    loss: Loss | GeneralLoss | str,
    labels: Any = None,
    positive: Any = None,
) -> FloatArray:
    """Return the risks of models (r, p), shape (r,); NaN where a model is not finite."""
    problem = LearningProblem(data, loss, _number_labels(labels, positive))
    models = np.atleast_2d(np.asarray(thetas, dtype=np.float64))
    check_models(problem.loss.name, models, problem.dimension)
    return problem.objectives(models)


def _number_labels(labels: Any, positive: Any) -> Any:
    """Return labels with the positive one of two as the higher number, if it is named."""
    return labels if positive is None else code_labels(labels, order_classes(positive, labels))


def auc_of_scores(scores: Any, labels: Any, positive: Any = None) -> float:
    """Return the area under the ROC curve, ties counting one half.

    The higher label is positive, unless ``positive`` names the positive one. Text labels need
    ``positive``.
    """
    labels = _number_labels(labels, positive)
    if (names := two_texts(labels)) is not None:
        raise unknown_positive("The AUC", names)
    data = check_data(scores, labels, name="scores")
    check_columns("The AUC", ("score", "label"), data)
    check_two_classes("The AUC", "a concordance index", data)
    return higher_label_and_score_total(data, 0.5) / higher_label_total(data)


def _blocked_risks(models: FloatArray, data: FloatArray, loss: Loss) -> FloatArray:
    n, sums = len(data), np.zeros(len(models))
    side = tile_side(max(models.shape[1], column_count(data), len(models)))
    for tile in tiles(n, side, half=False):
        a, w, b = loss.pairs(*tile_pairs(data, *tile))
        if not w.all():
            counted = w != 0
            a, w, b = a[counted], w[counted], b[counted]
        sums += loss.phi.value(models @ a.T + b) @ w
    return sums / n**2


def _general_risks(models: FloatArray, data: FloatArray, loss: GeneralLoss) -> FloatArray:
    n, sums = len(data), np.zeros(len(models))
    for tile in tiles(n, tile_side(column_count(data)), half=False):
        first, second = tile_pairs(data, *tile)
        sums += [float(loss.value(model, first, second).sum()) for model in models]
    return sums / n**2


def both_orders(
    loss: Loss | GeneralLoss, theta: FloatArray, first: FloatArray, second: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the gradient of (f(x, y) + f(y, x)) / 2 at m pairs, and their mean squared features.

    A `GeneralLoss` has no features: they count as 1.
    """
    if isinstance(loss, GeneralLoss):
        gradients = loss.gradient(theta, first, second) + loss.gradient(theta, second, first)
        return gradients / 2, np.ones(gradients.shape)
    (one, there), (other, back) = (
        _gradient_and_features(loss, theta, *pair) for pair in ((first, second), (second, first))
    )
    return (one + other) / 2, (there**2 + back**2) / 2


def _gradient_and_features(
    loss: Loss, theta: FloatArray, first: FloatArray, second: FloatArray
) -> tuple[FloatArray, FloatArray]:
    a, w, b = loss.pairs(first, second)
    margins = np.einsum("ij,ij->i", a, np.broadcast_to(theta, a.shape)) + b
    return (w * loss.phi.derivative(margins))[:, None] * a, a


_ROWS_AT_ONCE = 64
"""The number of rows of the n x n table of pair gradients in memory at a time."""


class PairwiseLearning:
    """The interface of learning problems for engines, steps and results.

    A problem has no sites, reports or compiled gradients, unless it overrides the defaults.

    Attributes
    ----------
    n
        The number of nodes.
    data, loss
        All observations, one row each, and the loss at a pair of them.
    dimension
        The number of parameters of a model.
    """

    n: int
    data: FloatArray
    loss: Loss | GeneralLoss
    dimension: int
    site_of: IntArray | None = None
    """The site of every row, where nodes are sites."""
    set_sizes: IntArray | None = None
    """The number of rows of each site, where nodes are sites."""
    reports: Any = None
    """The private reports at which nodes take gradients; None where they use the raw data."""
    judges_data = False
    """Whether models are judged by the loss on `data` itself, which compiled code may compute."""

    @property
    def compilable(self) -> bool:
        """Whether compiled code may take gradients of the loss on `data` itself."""
        return False

    @property
    def own_slope(self) -> Any:
        """The user's function that compiled code would call for gradients at pairs of `data`.

        It is the gradient of a `GeneralLoss`, or phi' of the margin. It is None where compiled code
        knows the form of the loss, or where nodes hold anything but single rows.
        """
        return None

    @property
    def marks(self) -> Mapping[str, str]:
        """Facts that define it besides data and loss; a fit continues only if all are equal."""
        return {}

    def pairs(self, nodes: IntArray, held: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return features a, weights w and offsets b of nodes and the observations they hold."""
        raise NotImplementedError

    def gradient(self, theta: FloatArray, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return each node's gradient at its own model, shape (m, p)."""
        raise NotImplementedError

    def pull(
        self, theta: FloatArray, nodes: IntArray, held: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return gradients at the pairs in both orders, halved, and squared features: (m, p)."""
        raise NotImplementedError

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return F of every model, shape (r,)."""
        raise NotImplementedError

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of every node's share at the node's model, shape (n, p)."""
        raise NotImplementedError

    def judged_by(self, build: Callable[[PairwiseLearning], Any]) -> Any:
        """Return the judge of models, made by a function that builds the judge of rows."""
        return build(self)

    def steepest(self, radius: float, nodes: int) -> float:
        """Bound the gradients of models up to a norm; return infinity if no bound is known."""
        return self.loss.lipschitz(self.data, radius) if isinstance(self.loss, Loss) else math.inf

    def for_trial(self, seed: SeedSequence) -> PairwiseLearning:
        """Return the problem of one trial: itself where nothing in it is random."""
        return self

    def with_reports(self, reports: Any) -> PairwiseLearning:
        """Return a private problem with these reports, one row per observation."""
        raise NotImplementedError


def is_ordering(loss: Loss | GeneralLoss) -> bool:
    """Return whether a loss has the form of AUC and ranking, 1{l > l'} phi(theta . (x - x'))."""
    return isinstance(loss, Loss) and (
        (loss.features, loss.weights, loss.offsets) == (difference, higher_label, None)
    )


def why_not_sketched(loss: Loss | GeneralLoss) -> str | None:
    """Say why sums over rows do not determine a loss's gradient over all pairs; None if they do."""
    if not isinstance(loss, Loss) or not is_ordering(loss):
        return "is not a function of differences of scores"
    return None if loss.phi.can_sketch else "has a function of the margin without a sketch"


def can_sketch(loss: Loss | GeneralLoss) -> bool:
    """Return whether sums over rows determine the gradient of a loss over all pairs."""
    return why_not_sketched(loss) is None


class LearningProblem(PairwiseLearning):
    """Observations, one per node, and the loss of a model at a pair of them."""

    judges_data = True

    def __init__(self, data: Any, loss: Loss | GeneralLoss | str, labels: Any = None) -> None:
        self.data = check_data(data, labels)
        self.n = len(self.data)
        self.loss = as_loss(loss)
        if isinstance(self.loss, Loss):
            self.loss.check(self.data, labels, trusted=has_own_forms(self.loss))
        else:
            self.loss.check(self.data, labels)
        self.dimension = self.loss.dimension(column_count(self.data))

    def name_positive(self, name: str | None) -> str | None:
        """Return the name of the positive class in results; None where there is no such class.

        ``name`` is the name of the higher class, if it is more than a number.
        """
        if is_ordering(self.loss):
            return name or name_higher(self.data[:, -1])
        is_own = name is not None and self.loss.label_sizes is None
        return name if is_own and depends_on_numbering(self.data, self.loss.parts_at) else None

    @property
    def compilable(self) -> bool:
        """Whether compiled code knows the form of the loss and its function of the margin."""
        return isinstance(self.loss, Loss) and self.loss.phi.code is not None

    @property
    def own_slope(self) -> Any:
        """The gradient of a `GeneralLoss`, or phi' if compiled code does not know it."""
        if isinstance(self.loss, GeneralLoss):
            return self.loss.functions[1]
        return None if self.compilable else self.loss.phi.derivative

    def pairs(self, nodes: IntArray, held: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return features a, weights w and offsets b of nodes and the observations they hold."""
        assert isinstance(self.loss, Loss)
        return self.loss.pairs(*self._rows(nodes, held))

    def _rows(self, nodes: IntArray, held: IntArray) -> tuple[FloatArray, FloatArray]:
        return self.data.take(nodes, axis=0), self.data.take(held, axis=0)

    def gradient(self, theta: FloatArray, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return each node's gradient at its own model, shape (m, p)."""
        return self.loss.gradient(theta, *self._rows(nodes, held))

    def pull(
        self, theta: FloatArray, nodes: IntArray, held: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return gradients at the pairs in both orders, halved, and squared features: (m, p)."""
        return both_orders(self.loss, theta, *self._rows(nodes, held))

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return F of every model: the mean of f over all ordered pairs, shape (r,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(self.loss, GeneralLoss):
                return _general_risks(models, self.data, self.loss)
            if self.loss.risk is not None:
                return self.loss.risk(models, self.data)
            return _blocked_risks(models, self.data, self.loss)

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of every node's share f_k = (1/n) sum_l f(.; x_k, x_l) at theta_k."""
        if isinstance(self.loss, GeneralLoss) and not self.loss.batched:
            return self._own_general_gradients(theta, self.loss)
        if is_ordering(self.loss):
            return self._own_ordering_gradients(theta)
        everyone = np.arange(self.n)
        gradients = np.empty((self.n, self.dimension))
        for start in range(0, self.n, _ROWS_AT_ONCE):
            rows = everyone[start : start + _ROWS_AT_ONCE]
            table = self.gradient(
                np.repeat(theta[rows], self.n, axis=0),
                np.repeat(rows, self.n),
                np.tile(everyone, len(rows)),
            )
            gradients[rows] = table.reshape(len(rows), self.n, -1).mean(axis=1)
        return gradients

    def _own_general_gradients(self, theta: FloatArray, loss: GeneralLoss) -> FloatArray:
        """Do the same for functions of one model: one call for each node, not for each pair."""
        gradients = np.empty((self.n, self.dimension))
        for node, model in enumerate(theta):
            own = np.repeat(self.data[node : node + 1], self.n, axis=0)
            gradients[node] = loss.gradient(model, own, self.data).mean(axis=0)
        return gradients

    def _own_ordering_gradients(self, theta: FloatArray) -> FloatArray:
        """Do the same where a = x - x': scores of all observations under all models, then sums."""
        assert isinstance(self.loss, Loss)
        features, labels = self.data[:, :-1], self.data[:, -1]
        scores = theta @ features.T
        slopes = self.loss.phi.derivative(np.diagonal(scores)[:, None] - scores)
        slopes *= labels[:, None] > labels
        return (slopes.sum(axis=1)[:, None] * features - slopes @ features) / self.n


# Learning at sites that swap their whole sets of rows.


class WholeSetsLearning(PairwiseLearning):
    """The objective of site u when it holds the set of site v.

    This is f, summed over all pairs of their rows and scaled by n^2/N^2, so that the average over
    all n^2 ordered pairs of sites is the objective over all N rows: a pair of sites weighs as much
    as its pairs of rows. ``judge`` is a faster twin of the rows that judges models.
    """

    def __init__(self, rows: PairwiseLearning, site_of: IntArray, judge: Any = None) -> None:
        self.rows = rows
        self._judge = judge or rows
        self.sets = SiteSets(site_of)
        self.site_of, self.set_sizes = self.sets.site_of, self.sets.sizes
        self.reports = rows.reports
        self.data, self.loss, self.dimension = rows.data, rows.loss, rows.dimension
        self.n = self.sets.n

    @property
    def marks(self) -> Mapping[str, str]:
        """Facts that distinguish it from the same data and loss without groups."""
        sites = hashlib.sha256(self.sets.site_of.tobytes()).hexdigest()
        return {"groups": f"whole sets {sites}", **self.rows.marks}

    def gradient(self, theta: FloatArray, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return each site's gradient at its own model, shape (m, p)."""
        gradients = self._sum(self.rows.gradient, self.dimension, theta, nodes, held)
        return gradients * (self.n / self.rows.n) ** 2

    def pull(
        self, theta: FloatArray, nodes: IntArray, held: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return gradients at the pairs in both orders, halved, and squared features: (m, p)."""
        p, rows = self.dimension, self.rows
        parts = self._sum(lambda *pairs: np.hstack(rows.pull(*pairs)), 2 * p, theta, nodes, held)
        parts *= (self.n / self.rows.n) ** 2
        return parts[:, :p], parts[:, p:]

    def _sum(
        self,
        values: Callable[[FloatArray, IntArray, IntArray], FloatArray],
        width: int,
        theta: FloatArray,
        nodes: IntArray,
        held: IntArray,
    ) -> FloatArray:
        """Sum the values of pairs of rows within each pair of sites, shape (m, width)."""
        sums = np.zeros((len(nodes), width))
        at_once = max(1, NUMBERS_PER_BLOCK // max(width, column_count(self.data)))
        for pairs in self.sets.row_pairs(np.asarray(nodes), np.asarray(held), at_once):
            each = values(theta[pairs.owner], pairs.first, pairs.second)
            owners, starts = np.unique(pairs.owner, return_index=True)
            sums[owners] += np.add.reduceat(each, starts, axis=0)
        return sums

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return F of every model: the mean of f over all ordered pairs of rows, shape (r,)."""
        return self._judge.objectives(models)

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of every site's share of the objective at its model, shape (n, p)."""
        sums = np.zeros((self.n, self.dimension))
        np.add.at(sums, self.sets.site_of, self._judge.own_gradients(theta[self.sets.site_of]))
        return sums * (self.n / self.rows.n)

    def for_trial(self, seed: SeedSequence) -> WholeSetsLearning:
        """Return the problem of one trial: itself, unless its rows are random."""
        drawn = self.rows.for_trial(seed)
        return self if drawn is self.rows else WholeSetsLearning(drawn, self.sets.site_of)

    def judged_by(self, build: Callable[[PairwiseLearning], Any]) -> WholeSetsLearning:
        """Return the same sets, whose models are judged by the judge of their rows."""
        return WholeSetsLearning(self.rows, self.sets.site_of, build(self.rows))

    def steepest(self, radius: float, nodes: int) -> float:
        """Bound the gradients of models up to a norm by those of the rows."""
        return self.rows.steepest(radius, nodes)

    def with_reports(self, reports: Any) -> WholeSetsLearning:
        """Return the sets of rows with these reports, one row per observation."""
        return WholeSetsLearning(self.rows.with_reports(reports), self.sets.site_of)
