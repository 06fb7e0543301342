"""Metric learning: data on nodes, the best metric, nearest neighbors, and what is claimed of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.datasets import digits
from pairgossip.experiments.framework.experiment import grade
from pairgossip.experiments.framework.section import Claim, Table, list_values
from pairgossip.experiments.paper_setup import (
    GRAPHS,
    MATTERS,
    deal_rows,
    describe_order,
    dispersion_verdict,
    faster_verdict,
)
from pairgossip.losses import Loss, metric_loss
from pairgossip.results import Fit

CLASSES, DIMENSIONS, INFORMATIVE = 10, 40, 5
"""The mixture of the authors' paper of 2016: its centers lie in a subspace of 5 dimensions."""
SEPARATION = 2.0
"""Standard deviation of the centers' coordinates; that of points around their center is 1."""
MIXTURE = 3
"""The child of the seed that draws the mixture."""
HELD_OUT = 597
"""Points set aside, which no node sees: what 1,797 digits leave beside 1,200 nodes."""
NEIGHBORS = 5
PRODUCTS_AT_ONCE = 2**18
"""Up to this many, OpenBLAS multiplies matrices in the calling thread: trials have one each, and
threads of threads cost ten times as much. Such a block of pairs stays in the cache, too."""
MOST_ROWS = 512
"""A product of this many factors up to 2 is far from overflow."""


class Split(NamedTuple):
    """Training points, one per node, and held-out ones, all in the units of the training part."""

    X: FloatArray
    y: FloatArray
    X_held_out: FloatArray
    y_held_out: FloatArray
    scale: FloatArray
    """What columns were divided by."""


Draw = Callable[[int, int], Split]
"""Makes data for a number of nodes from a seed."""


def mixture(nodes: int, seed: int) -> Split:
    """Draw points around ten centers that differ in the first five dimensions only."""
    random = np.random.default_rng([seed, MIXTURE])
    centers = np.zeros((CLASSES, DIMENSIONS))
    centers[:, :INFORMATIVE] = SEPARATION * random.standard_normal((CLASSES, INFORMATIVE))
    y = random.integers(CLASSES, size=nodes + HELD_OUT)
    X = centers[y] + random.standard_normal((len(y), DIMENSIONS))
    return _split(X, y.astype(np.float64), nodes)


def images(nodes: int, seed: int) -> Split:
    """Deal images of digits to nodes at random, and set others aside."""
    X, y = deal_rows(*digits(), nodes + HELD_OUT, seed)
    return _split(X, np.asarray(y, dtype=np.float64), nodes)


def _split(X: FloatArray, y: FloatArray, nodes: int) -> Split:
    """Scale by the training part alone: then no dimension is favored by its units."""
    center, scale = X[:nodes].mean(axis=0), X[:nodes].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    X = (X - center) / scale
    return Split(X[:nodes], y[:nodes], X[nodes:], y[nodes:], scale)


def diagonal_loss() -> Loss:
    """Return the logistic loss of a diagonal metric, with a quick way to its risk."""
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
    # Columns of negative weight take part with their sign, as a check of the loss may ask for.
    points = features * np.sqrt(np.abs(model))
    signed = points * np.sign(model)
    squares = np.einsum("ij,ij->i", points, signed)
    while start < n:
        rows = slice(start, start + min(MOST_ROWS, max(2, PRODUCTS_AT_ONCE // (d * (n - start)))))
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


def best_metric(X: FloatArray, y: FloatArray) -> tuple[FloatArray, float]:
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

    found = minimize_centrally(
        value_and_gradient,
        np.full(X.shape[1], 1.0 / X.shape[1]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * X.shape[1],
        options={"ftol": 1e-11, "gtol": 1e-6},
    )
    return found.x, float(found.fun)


def recognize(weights: FloatArray, split: Split) -> BoolArray:
    """Tell of every held-out point whether the nearest training points vote for its class."""
    roots = np.sqrt(weights)
    known, asked = split.X * roots, split.X_held_out * roots
    distances = np.einsum("ij,ij->i", known, known) - 2.0 * asked @ known.T
    nearest = np.argpartition(distances, NEIGHBORS, axis=1)[:, :NEIGHBORS]
    classes = np.unique(split.y)
    votes = (split.y[nearest][:, :, None] == classes).sum(axis=1)
    return np.asarray(classes[votes.argmax(axis=1)] == split.y_held_out)


def accuracy(weights: FloatArray, split: Split) -> float:
    """Return the share of held-out points that are recognized under these weights."""
    return float(recognize(weights, split).mean())


CONVERGED = 0.1
"""Share of the way from the zero metric to the minimum that may be left."""
MAJORITY = 0.5
"""A metric concentrates where it has more than this share of its weight."""
SAID = "said in paper, line 641, of another experiment"
CLEARLY = 2.0
"""Standard errors from which on a difference in accuracy is not left to chance."""


class Measures(NamedTuple):
    """What the claims and figures of one experiment are made of."""

    fits: Mapping[str, Fit]
    central: Mapping[str, Any]
    """The centralized minimum, and accuracies that do not depend on a graph."""
    accuracies: Mapping[str, FloatArray]
    """By graph, the held-out accuracy of nodes' metrics in every trial."""
    hits: Mapping[str, FloatArray]
    """By graph, for every held-out point, the share of nodes' metrics that recognize it."""
    rival_hits: Mapping[str, BoolArray]
    """By Euclidean distance, the held-out points that are recognized by it."""
    together: Mapping[str, FloatArray]
    """By graph, the objective of the mean of all nodes' metrics at the end of every trial."""

    def excess(self, graph: str) -> FloatArray:
        """Return the mean objective above the centralized minimum, at the checkpoints."""
        return np.asarray(self.fits[graph].objective - self.central["objective"])


def convergence_claim(name: str, measured: Measures) -> Claim:
    """Check how much of the way from the start to the minimum is left on every graph."""
    central = measured.central
    way = central["objective_of_zero"] - central["objective"]
    left = {graph: float(measured.excess(graph)[-1]) / way for graph in GRAPHS}
    return Claim(
        f"converges-{name}",
        "Gossip dual averaging converges as centralized dual averaging does, up to a bias that "
        "vanishes, whatever the connected network.",
        "theory; Colin, Bellet, Salmon and Clemencon (ICML 2016), abstract",
        grade([value < CONVERGED for value in left.values()]),
        f"Of the way from the zero metric ({central['objective_of_zero']:.4f}) to the centralized "
        f"minimum ({central['objective']:.4f}) there is left at the end: "
        f"{list_values(left, '.1%')}; at most {CONVERGED:.0%} counts as converged.",
    )


def faster_claim(name: str, measured: Measures) -> Claim:
    """Compare the objectives of the mean of all nodes' metrics by the rule of AUC maximization.

    Few judged nodes, the same in all trials, may not be like the others: these are of all nodes.
    """
    ends = measured.together
    excess = {graph: float(ends[graph].mean()) - measured.central["objective"] for graph in GRAPHS}
    ahead = {
        f"{better} before {worse}": _sooner(ends[better], ends[worse])
        for better, worse in combinations(GRAPHS, 2)
        if len(ends[better]) > 1
    }
    best, middle, worst = excess.values()
    apart = worst / best - 1.0
    return Claim(
        f"faster-{name}",
        "Better-connected networks exhibit faster convergence; the complete and "
        "Watts-Strogatz graphs outperform the grid.",
        SAID,
        faster_verdict(best, middle, worst),
        "At the end the objective of the mean of all nodes' metrics is above the centralized "
        f"minimum by {list_values(excess, '.2e')}: the torus is {apart:+.0%} and the "
        f"Watts-Strogatz graph {middle / best - 1:+.0%} from the complete graph; {MATTERS:.0%} "
        "count as a "
        "difference."
        + (f" In standard errors of the trials: {list_values(ahead, '+.1f')}." if ahead else ""),
    )


def _sooner(better: FloatArray, worse: FloatArray) -> float:
    """Return how far one mean over trials is below another, in standard errors."""
    error = math.sqrt(better.var(ddof=1) / len(better) + worse.var(ddof=1) / len(worse))
    return float(worse.mean() - better.mean()) / error


def dispersion_claim(name: str, measured: Measures) -> Claim:
    """Check the order of the metrics' distances from their mean; of the best one's, in part."""
    apart = {graph: float(measured.fits[graph].disagreement[-1]) for graph in GRAPHS}
    spreads = {graph: float(measured.fits[graph].spread[-1]) for graph in GRAPHS}
    curves = [measured.fits[graph].disagreement for graph in GRAPHS]
    order = describe_order(measured.fits[GRAPHS[0]].iterations, *curves)
    return Claim(
        f"dispersion-{name}",
        "The dispersion of the local estimates decreases as network connectivity improves.",
        SAID,
        dispersion_verdict(*apart.values()),
        "Root mean square distance of all nodes' metrics from their mean at the end: "
        f"{list_values(apart, '.2e')}. {order} "
        "Standard deviation of the objective over the nodes judged, which need not have that "
        f"order: {list_values(spreads, '.2e')}.",
    )


def concentration_claim(share: Mapping[str, FloatArray], chance: float) -> Claim:
    """Check that most of the weight is on the informative dimensions, in every trial."""
    least = {graph: float(values.min()) for graph, values in share.items()}
    return Claim(
        "concentration",
        "The learned metric concentrates on the dimensions in which classes differ.",
        "theory: the centralized minimum does",
        grade([value > MAJORITY for value in least.values()]),
        f"Share of the weight on them in the least favorable trial: {list_values(least, '.1%')}; "
        f"equal weights would give {chance:.1%}, and more than {MAJORITY:.0%} was asked for.",
    )


def mixture_claim(measured: Measures) -> Claim:
    """Check every trial against the Euclidean distance, of scaled and of unscaled dimensions."""
    central = measured.central
    least = {graph: float(values.min()) for graph, values in measured.accuracies.items()}
    rivals = (central["euclidean"], central["unscaled"])
    return Claim(
        "accuracy-mixture",
        "Nearest neighbors find the class of held-out points more often with the learned metric "
        "than with the Euclidean distance.",
        "theory: what metric learning is for",
        grade([min(least.values()) > rival for rival in rivals]),
        f"In the least favorable trial {list_values(least, '.1%')}, against {rivals[0]:.1%} with "
        f"the Euclidean distance of scaled dimensions, {rivals[1]:.1%} with that of data as they "
        "are, "
        "in which the informative dimensions vary more, and "
        f"{central['accuracy']:.1%} with the centralized minimum.",
    )


def digits_claim(measured: Measures) -> Claim:
    """Compare with the distance of scaled and of unscaled pixels on the same images, up to chance.

    In part, where one of the two is clearly beaten on every graph and none clearly wins on any.
    """
    central = measured.central
    means = {graph: float(values.mean()) for graph, values in measured.accuracies.items()}
    ahead = {
        rival: {graph: paired_difference(measured.hits[graph], hits) for graph in GRAPHS}
        for rival, hits in measured.rival_hits.items()
    }
    beaten = [min(found.values()) > CLEARLY for found in ahead.values()]
    wins = any(min(found.values()) < -CLEARLY for found in ahead.values())
    differences = "; ".join(f"to {rival}, {list_values(f, '+.1f')}" for rival, f in ahead.items())
    return Claim(
        "accuracy-digits",
        "Nearest neighbors do better on held-out digits with the learned metric than with the "
        "Euclidean distance, of scaled pixels as of gray levels as they are.",
        "theory: what metric learning is for",
        "does not hold" if wins else grade(beaten),
        f"Mean over trials {list_values(means, '.2%')}, against {central['euclidean']:.2%} with "
        f"scaled pixels, in whose units the metric is learned, {central['unscaled']:.2%} with "
        "gray levels "
        f"as they are, and {central['accuracy']:.2%} with the centralized minimum of the same "
        f"objective. Differences on the same {HELD_OUT} images, in their standard errors: "
        f"{differences}; {CLEARLY:g} on every graph count as clear.",
    )


def paired_difference(hits: FloatArray, rival: BoolArray) -> float:
    """Return how far one accuracy is above another on the same points, in standard errors.

    As in McNemar's test, points that both recognize, or neither, do not count as noise.
    """
    differences = np.asarray(hits, dtype=np.float64) - rival
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    return float(differences.mean()) / error if error > 0 else 0.0


STEPS = (0.01, 0.03)
"""Numerators of step sizes that were tried."""


def shares(fit: Fit) -> FloatArray:
    """Return how much of a metric's weight is on the informative dimensions: mean of nodes."""
    weights = fit.models
    return np.asarray((weights[..., :INFORMATIVE].sum(-1) / weights.sum(-1)).mean(axis=1))


def describe_setup(step: float, measured: Measures) -> str:
    """Say what was run, and why the metric is diagonal."""
    first = measured.fits[GRAPHS[0]]
    return (
        f"{first.trials} trials of {first.iterations[-1]:,} asynchronous iterations on each graph, "
        f"step size {step:g}/sqrt(t), logistic loss; of the numerators "
        f"{' and '.join(f'{tried:g}' for tried in STEPS)} that were tried, this one ended with the "
        "lower objective. The metric is diagonal with weights of "
        "0 or more: a whole matrix would send the square of as many numbers in every exchange and "
        "ask for an eigendecomposition at each update. Objectives are those "
        "of a few nodes spread over the network, the same in all trials; distances between metrics "
        "are those of all nodes."
    )


def scores(measured: Measures) -> str:
    """Say how well nearest neighbors do."""
    central = measured.central
    return (
        f"On {HELD_OUT} held-out points, {NEIGHBORS} nearest neighbors find the class of "
        f"{100 * grand_mean(measured.accuracies):.1f} % with the nodes' metrics, "
        f"{100 * central['accuracy']:.1f} % with the centralized minimum and "
        f"{100 * central['euclidean']:.1f} % with the Euclidean distance."
    )


def grand_mean(by_graph: Mapping[str, FloatArray]) -> float:
    """Average over graphs and trials."""
    return float(np.mean([values.mean() for values in by_graph.values()]))


def share_of(model: Sequence[float]) -> float:
    """Return the share of one metric's weight on the informative dimensions."""
    return float(np.sum(model[:INFORMATIVE]) / np.sum(model))


def results_table(measured: Measures, share: Mapping[str, FloatArray] | None) -> Table:
    """Tabulate the learned metrics beside those that need no network."""
    columns = [
        "metric",
        "objective of nodes",
        "of their mean metric",
        "distance from mean metric",
        "held-out accuracy",
    ]
    rows: list[list[Any]] = [
        [
            f"gossip, {name}",
            float(fit.objective[-1]),
            float(measured.together[name].mean()),
            float(fit.disagreement[-1]),
            float(measured.accuracies[name].mean()),
        ]
        for name, fit in measured.fits.items()
    ]
    central = measured.central
    rows.append(["centralized minimum", central["objective"], None, None, central["accuracy"]])
    rows.append(["Euclidean, scaled dimensions", None, None, None, central["euclidean"]])
    rows.append(["Euclidean, data as they are", None, None, None, central["unscaled"]])
    if share is not None:
        columns.append("weight on informative dimensions")
        found = [*(float(share[name].mean()) for name in GRAPHS), share_of(central["model"])]
        for row, value in zip(rows, [*found, INFORMATIVE / DIMENSIONS, None], strict=True):
            row.append(value)
    note = f"The zero metric, where all nodes start, has {central['objective_of_zero']:.4f}."
    return Table("Objective and held-out accuracy at the end", columns, rows, note)
