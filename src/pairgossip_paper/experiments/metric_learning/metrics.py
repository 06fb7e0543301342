"""The runs of metric learning, and their measures: the best metric, nearest neighbors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.datasets import digits
from pairgossip.losses import Box, Loss, inverse_sqrt, metric_loss
from pairgossip.minimization import minimize
from pairgossip.results import Fit
from pairgossip_paper.framework import Arguments, Case, Computation, Facts, Plan, Results
from pairgossip_paper.paper_setup import GRAPHS, deal_rows, network

_MOST_TRIALS = 10
"""Largest number of trials: they hardly differ, and checkpoints take a million pairs per model."""
_LENGTHS = (500, 200)
"""Iterations per node in a full and in a quick run."""
_CHECKPOINTS, _JUDGED = (9, 6), 8
_QUICK_SIDES = (15, 20)
_CLASSES, DIMENSIONS, INFORMATIVE = 10, 40, 5
"""The mixture of the authors' paper of 2016: its centers lie in a subspace of 5 dimensions."""
_SEPARATION = 2.0
"""Standard deviation of the centers' coordinates; that of points around their center is 1."""
_MIXTURE = 3
"""The child of the seed that draws the mixture."""
HELD_OUT = 597
"""Points set aside, which no node sees: 1,797 digits less those of 1,200 nodes."""
NEIGHBORS = 5
_SCORED_NODES = 4
"""Number of nodes per trial whose models are scored on held-out points."""
_PRODUCTS_AT_ONCE = 2**18
"""Largest number of products for which OpenBLAS stays in the calling thread.

Each trial has a thread; more threads in each take ten times as long. Such a block of pairs also
fits the cache."""
_MOST_ROWS = 512
"""Largest number of factors in a product; each is at most 2, so it stays far from overflow."""


class _Split(NamedTuple):
    """Training points, one per node, and held-out ones, all in the units of the training part."""

    X: FloatArray
    y: FloatArray
    X_held_out: FloatArray
    y_held_out: FloatArray
    scale: FloatArray
    """Divisors of the columns."""


def mixture(nodes: int, seed: int) -> _Split:
    """Draw points around ten centers that differ in the first five dimensions only."""
    random = np.random.default_rng([seed, _MIXTURE])
    centers = np.zeros((_CLASSES, DIMENSIONS))
    centers[:, :INFORMATIVE] = _SEPARATION * random.standard_normal((_CLASSES, INFORMATIVE))
    y = random.integers(_CLASSES, size=nodes + HELD_OUT)
    X = centers[y] + random.standard_normal((len(y), DIMENSIONS))
    return _split(X, y.astype(np.float64), nodes)


def images(nodes: int, seed: int) -> _Split:
    """Deal images of digits to nodes at random, and set others aside."""
    X, y = deal_rows(*digits(), nodes + HELD_OUT, seed)
    return _split(X, np.asarray(y, dtype=np.float64), nodes)


def _split(X: FloatArray, y: FloatArray, nodes: int) -> _Split:
    """Scale by the training part alone: then no dimension is favored by its units."""
    center, scale = X[:nodes].mean(axis=0), X[:nodes].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    X = (X - center) / scale
    return _Split(X[:nodes], y[:nodes], X[nodes:], y[nodes:], scale)


class Task(NamedTuple):
    """The differences between the two experiments."""

    draw: Callable[[int, int], _Split]
    """A function that makes data for a number of nodes from a seed."""
    sides: tuple[int, int]
    """Sides of the torus, one of them odd so that it is not bipartite; it has a node per row."""
    step: float
    """Numerator of gamma(t) = step / sqrt(t): of those tried, the one with the lower objective."""


def cases(task: Task, plan: Plan) -> Sequence[Case]:
    """List the fits on all graphs, and the best metric."""
    sides = _QUICK_SIDES if plan.quick else task.sides
    nodes = math.prod(sides)
    last = plan.choose(*_LENGTHS) * nodes
    grid = np.geomspace(nodes // 10, last, plan.choose(*_CHECKPOINTS)).round().astype(np.int64)
    simulations = [
        plan.simulate(
            name,
            minimize,
            partial(_problem, task, name, sides, plan.seed),
            last,
            min(plan.trials, _MOST_TRIALS),
            loss=_diagonal_loss(),
            clock="async",
            checkpoints=grid,
            step=inverse_sqrt(task.step),
            constraint=Box(0.0, math.inf),
            bias=False,
            judged=_JUDGED,
        )
        for name in GRAPHS
    ]
    return [*simulations, Computation("central", partial(_central, task, nodes, plan.seed))]


def _problem(task: Task, graph: str, sides: tuple[int, int], seed: int) -> Arguments:
    nodes = math.prod(sides)
    split = task.draw(nodes, seed)
    return {"data": split.X, "labels": split.y, "graph": network(graph, nodes, seed, sides)}


def _central(task: Task, nodes: int, seed: int) -> Facts:
    """Find the best metric on one machine, and score it and metrics that need no learning."""
    split = task.draw(nodes, seed)
    model, objective = _best_metric(split.X, split.y)
    zero = np.zeros((1, len(model)))
    return {
        "model": model,
        "objective": objective,
        "objective_of_zero": float(diagonal_risks(zero, np.column_stack(split[:2]))[0]),
        "accuracy": _accuracy(model, split),
        "euclidean": _accuracy(np.ones(len(model)), split),
        "unscaled": _accuracy(split.scale**2, split),
    }


def _diagonal_loss() -> Loss:
    """Return the logistic loss of a diagonal metric, with a fast function for its risk."""
    return replace(metric_loss("logistic", diagonal=True), risk=diagonal_risks)


def diagonal_risks(models: FloatArray, data: FloatArray) -> FloatArray:
    """Average log(1 + exp(-s (1 - d^2))) over all pairs; the twin of `metric_loss`'s risk.

    Squared distances come from inner products, not from a list of pairs with all features; and
    a sum of logarithms is the logarithm of a product.
    """
    labels = data[:, -1]
    order = np.argsort(labels, kind="stable")
    features, labels = np.ascontiguousarray(data[order, :-1]), labels[order]
    signs = np.where(labels[:, None] == labels, 1.0, -1.0)
    return np.array([_risk(model, features, signs) for model in models])


def _risk(model: FloatArray, features: FloatArray, signs: FloatArray) -> float:
    if not np.isfinite(model).all():
        return np.nan
    n, d = features.shape
    start, total = 0, 0.0
    # Negative weights count with their sign, since checks of the loss may use them.
    points = features * np.sqrt(np.abs(model))
    signed = points * np.sign(model)
    squares = np.einsum("ij,ij->i", points, signed)
    while start < n:
        rows = slice(start, start + min(_MOST_ROWS, max(2, _PRODUCTS_AT_ONCE // (d * (n - start)))))
        # Pairs with earlier rows mirror those seen already: later columns count twice.
        u = _margins(points[rows], squares[rows], signed[start:], squares[start:])
        u *= signs[rows, start:]
        sums = np.log(np.multiply.reduce(1.0 + np.exp(-np.abs(u)), axis=0))
        sums -= np.minimum(u, 0.0).sum(axis=0)
        total += 2.0 * float(sums.sum()) - float(sums[: len(u)].sum())
        start = rows.stop
    return total / float(n**2)


def _margins(
    first: FloatArray, first_squares: FloatArray, second: FloatArray, second_squares: FloatArray
) -> FloatArray:
    """Return 1 - d^2 for all pairs of two sets of points."""
    u: FloatArray = (2.0 * first) @ second.T
    u += 1.0 - first_squares[:, None]
    u -= second_squares
    return u


def _best_metric(X: FloatArray, y: FloatArray) -> tuple[FloatArray, float]:
    """Minimize the same objective on one machine that has all points: model and objective."""
    from scipy.optimize import minimize as minimize_centrally

    signs = np.where(y[:, None] == y, 1.0, -1.0)
    pairs = len(X) ** 2

    def value_and_gradient(model: FloatArray) -> tuple[float, FloatArray]:
        points = X * np.sqrt(model)
        squares = np.einsum("ij,ij->i", points, points)
        u = signs * _margins(points, squares, points, squares)
        small = np.exp(-np.abs(u))
        value = float((np.log1p(small) - np.minimum(u, 0.0)).sum()) / pairs
        slopes = signs * np.where(u >= 0, small, 1.0) / (1.0 + small)
        # The sum of slope (x - x')^2 over pairs, multiplied out.
        gradient = 2.0 * (slopes.sum(axis=1) @ X**2 - (X * (slopes @ X)).sum(axis=0)) / pairs
        return value, gradient

    optimum = minimize_centrally(
        value_and_gradient,
        np.full(X.shape[1], 1.0 / X.shape[1]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * X.shape[1],
        options={"ftol": 1e-11, "gtol": 1e-6},
    )
    return optimum.x, float(optimum.fun)


def recognize(weights: FloatArray, split: _Split) -> BoolArray:
    """Return for every held-out point whether the nearest training points vote for its class."""
    roots = np.sqrt(weights)
    training, held_out = split.X * roots, split.X_held_out * roots
    distances = np.einsum("ij,ij->i", training, training) - 2.0 * held_out @ training.T
    nearest = np.argpartition(distances, NEIGHBORS, axis=1)[:, :NEIGHBORS]
    classes = np.unique(split.y)
    votes = (split.y[nearest][:, :, None] == classes).sum(axis=1)
    return np.asarray(classes[votes.argmax(axis=1)] == split.y_held_out)


def _accuracy(weights: FloatArray, split: _Split) -> float:
    """Return the share of held-out points that are recognized under these weights."""
    return float(recognize(weights, split).mean())


class MetricMeasures(NamedTuple):
    """Measurements for the claims and figures of one experiment."""

    fits: Mapping[str, Fit]
    central: Facts
    """The centralized minimum, and the accuracies that do not depend on a graph."""
    accuracies: Mapping[str, FloatArray]
    """By graph, the held-out accuracy of nodes' metrics in every trial."""
    hits: Mapping[str, FloatArray]
    """By graph, for every held-out point, the share of nodes' metrics that recognize it."""
    rival_hits: Mapping[str, BoolArray]
    """For each Euclidean distance, whether it recognizes each held-out point."""
    together: Mapping[str, FloatArray]
    """By graph, the objective of the mean of all nodes' metrics at the end of every trial."""

    def excess(self, graph: str) -> FloatArray:
        """Return the mean objective above the centralized minimum, at the checkpoints."""
        return np.asarray(self.fits[graph].objective - self.central["objective"])


def measure(task: Task, results: Results) -> MetricMeasures:
    """Score nodes' models on the held-out points, drawn again from the fits' seed."""
    fits: dict[str, Fit] = {name: results[name] for name in GRAPHS}
    first = fits[GRAPHS[0]]
    split = task.draw(first.nodes, first.seed)
    nodes: IntArray = np.linspace(0, first.nodes - 1, _SCORED_NODES).astype(np.int64)
    recognized = {
        name: np.array([[recognize(m, split) for m in trial[nodes]] for trial in fit.models])
        for name, fit in fits.items()
    }
    data = np.column_stack(split[:2])
    return MetricMeasures(
        fits,
        results["central"],
        {name: hits.mean(axis=(1, 2)) for name, hits in recognized.items()},
        {name: hits.mean(axis=(0, 1)) for name, hits in recognized.items()},
        {
            "scaled data": recognize(np.ones(split.X.shape[1]), split),
            "data as they are": recognize(split.scale**2, split),
        },
        {name: diagonal_risks(fit.models.mean(axis=1), data) for name, fit in fits.items()},
    )
