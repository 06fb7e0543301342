"""Shared parts of experiments: the paper's graphs and data, other networks, error curves."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pairgossip.algorithms.methods import find_method
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import ORDERED, UNIFORM_EDGES
from pairgossip.datasets import breast_cancer_wisconsin, engel
from pairgossip.engine.timetable import Timetable, settle_timetable
from pairgossip.errors import SlowSchedule
from pairgossip.graphs import Graph, complete, cycle, path, star, torus, watts_strogatz
from pairgossip.losses import risk
from pairgossip.losses.learning import auc_of_scores
from pairgossip.results import Run
from pairgossip.theory import expected_estimates
from pairgossip_paper import framework as fw

NODES = 699
SIDE = 26
"""Side of the torus taken for the paper's "2D grid": 26 x 26 fits the gap, with 676 nodes."""
GRAPHS = ("complete", "watts-strogatz", "torus")
"""The paper's graphs, from the best to the least connected."""
COLORS = {"complete": "#0072B2", "watts-strogatz": "#009E73", "torus": "#D55E00"}
NETWORK_COLORS = COLORS | {"cycle": "#CC79A7", "path": "#E69F00", "star": "#56B4E9"}
FRANCS = "Belgian francs"
"""The unit of incomes."""
PRINTED_GAPS = {"complete": 2.86e-3, "watts-strogatz": 1.82e-4, "torus": 4.30e-5}
"""The paper's lambda_(n-1)/|E|, lines 617 to 619."""
_DEALING = 2
"""The child of the seed that deals rows to nodes at random: adjacent rows of a file are alike."""
_BUILDERS = {"complete": complete, "cycle": cycle, "path": path, "star": star}

OBJECTIVE_TOLERANCE = 0.1
"""Largest relative difference of objectives that count as the same."""
_SPREAD_TOLERANCE = 0.05
"""Largest relative difference of spreads that count as the same."""


def faster_claim(name: str, source: str, ends: Sequence[float], evidence: str) -> fw.Claim:
    """Judge the paper's statement on speed by final objectives, best-connected graph first."""
    return fw.Claim(
        f"faster-{name}",
        "Better-connected networks exhibit faster convergence; the complete and "
        "Watts-Strogatz graphs outperform the grid.",
        source,
        _judge_order(ends),
        evidence,
    )


def dispersion_claim(name: str, source: str, spreads: Sequence[float], evidence: str) -> fw.Claim:
    """Judge the paper's statement on dispersion by final spreads, best-connected graph first."""
    return fw.Claim(
        f"dispersion-{name}",
        "The dispersion of the local estimates decreases as network connectivity improves.",
        source,
        _judge_order(spreads, _SPREAD_TOLERANCE),
        evidence,
    )


def _judge_order(ordered: Sequence[float], tolerance: float = 0.0) -> fw.Verdict:
    """Judge the order alone; the claim holds in part if only the best graph is ahead.

    The distance between the ends is only evidence: the paper states none.
    """
    best, middle, worst = ordered
    if best >= (1 - tolerance) * min(middle, worst):
        return "does not hold"
    return "holds" if middle < (1 + tolerance) * worst else "holds in part"


def describe_order(
    iterations: IntArray, best: FloatArray, middle: FloatArray, worst: FloatArray
) -> str:
    """Name the iteration from which three curves stay in this order."""
    is_in_order = (best < middle) & (middle < worst)
    if not is_in_order[-1]:
        return "They are not in this order at the end."
    wrong = np.flatnonzero(~is_in_order)
    first = int(iterations[wrong[-1] + 1]) if len(wrong) else int(iterations[0])
    return f"They are in this order from iteration {first:,} on."


class NodeRows(NamedTuple):
    """The rows on the nodes of a graph."""

    X: FloatArray
    y: Any


def network(name: str, nodes: int, seed: int, sides: tuple[int, int] | None = None) -> Graph:
    """Build a network; a torus has the given sides, and is square without them."""
    if name == "torus":
        side = math.isqrt(nodes)
        return torus(*(sides or (side, side)))
    if name == "watts-strogatz":
        # A ring joins k / 2 neighbors on each side: the printed k = 5 is read as 4, as networkx
        # does, which fits the printed gap.
        return watts_strogatz(nodes, k=4, p=0.3, seed=seed)
    return _BUILDERS[name](nodes)


def paper_nodes(name: str) -> int:
    """Return the number of nodes of one of the paper's graphs."""
    return SIDE * SIDE if name == "torus" else NODES


def paper_graph(name: str, seed: int) -> Graph:
    """Build one of the paper's graphs."""
    return network(name, paper_nodes(name), seed)


@cache
def settle_sweeps(graph: Graph, method: str) -> Timetable:
    """Return a method's timetable for ordered exchanges; random ones where sweeps are slow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowSchedule)
        return settle_timetable(ORDERED, graph, UNIFORM_EDGES, find_method(method, "sync"))


def deal_rows(X: FloatArray, y: Any, nodes: int, seed: int) -> NodeRows:
    """Deal rows to nodes at random; rows beyond the number of nodes stay unused."""
    order: IntArray = np.random.default_rng([seed, _DEALING]).permutation(len(X))[:nodes]
    return NodeRows(X[order], np.asarray(y)[order])


def incomes(nodes: int, seed: int) -> FloatArray:
    """Deal incomes of Engel's households to the nodes, one each, in Belgian francs."""
    income = engel()["income"]
    return deal_rows(income, income, nodes, seed).X


def income_quantiles(nodes: int) -> FloatArray:
    """Return the same distribution of incomes for any number of nodes, in increasing order.

    So only the network changes with the number of nodes, not the sample.
    """
    return np.quantile(engel()["income"], (np.arange(nodes) + 0.5) / nodes)


def dealt_quantiles(nodes: int, seed: int) -> FloatArray:
    """Deal the quantiles of incomes to the nodes at random."""
    quantiles = income_quantiles(nodes)
    return deal_rows(quantiles, quantiles, nodes, seed).X


def patients(graph: str, seed: int) -> NodeRows:
    """Deal the rows of Breast Cancer Wisconsin to the nodes of one of the paper's graphs."""
    return deal_rows(*breast_cancer_wisconsin(), paper_nodes(graph), seed)


def central_optimum(X: FloatArray, y: Any, l2: float = 0.0) -> dict[str, Any]:
    """Minimize the AUC-logistic loss on one machine, with a penalty on squared coefficients."""
    from scipy.optimize import minimize as minimize_centrally

    positives, negatives = X[y == y.max()], X[y != y.max()]
    differences = (positives[:, None, :] - negatives[None, :, :]).reshape(-1, X.shape[1])
    pairs = len(X) ** 2

    def value_and_gradient(theta: FloatArray) -> tuple[float, FloatArray]:
        margins = differences @ theta
        slopes = -1.0 / (1.0 + np.exp(margins))
        value = np.logaddexp(0.0, -margins).sum() / pairs + l2 * theta @ theta
        return float(value), slopes @ differences / pairs + 2.0 * l2 * theta

    def curvature(theta: FloatArray) -> FloatArray:
        right = 1.0 / (1.0 + np.exp(-differences @ theta))
        weights = right * (1.0 - right) / pairs
        bent: FloatArray = (differences * weights[:, None]).T @ differences
        return bent + 2.0 * l2 * np.eye(len(theta))

    optimum = minimize_centrally(
        value_and_gradient,
        np.zeros(X.shape[1]),
        jac=True,
        hess=curvature,
        method="trust-exact",
        options={"gtol": 1e-10},
    )
    return {
        "model": optimum.x.tolist(),
        "objective": float(optimum.fun),
        "auc": auc_of_scores(X @ optimum.x, y),
        "objective_of_zero": risk(np.zeros(X.shape[1]), X, "auc-logistic", y),
    }


def typical_error(run: Run) -> FloatArray:
    """Return the error of a typical trial: the geometric mean over trials."""
    rounding = fw.DECAY_WINDOW[0] / 100
    return np.asarray(np.exp(np.log(np.maximum(run.trial_error, rounding)).mean(axis=0)))


AnyCurve = TypeVar("AnyCurve", bound="ErrorCurve")


@dataclass(frozen=True)
class ErrorCurve:
    """Relative errors over checkpoints, from the first that sent anything."""

    run: Run
    value: float
    """The statistic; errors are relative to it."""

    @cached_property
    def _sent(self) -> IntArray:
        return np.flatnonzero(self.run.messages > 0)

    @property
    def iterations(self) -> IntArray:
        """Iterations made."""
        return self.run.iterations[self._sent]

    @property
    def messages(self) -> FloatArray:
        """Messages sent; where rows are grouped by sites, those between sites."""
        return self.run.messages[self._sent].astype(np.float64)

    @property
    def bytes(self) -> FloatArray:
        """Bytes of payload sent."""
        return self.run.bytes[self._sent]

    @property
    def bytes_per_message(self) -> float:
        """The mean length of a message in bytes."""
        return float(self.bytes[-1] / self.messages[-1])

    @cached_property
    def error(self) -> FloatArray:
        """Root mean square over nodes and trials, relative to the statistic."""
        return self.run.error[self._sent] / self.value

    @property
    def trial_error(self) -> FloatArray:
        """Root mean square over nodes, of every trial."""
        return self.run.trial_error[:, self._sent] / self.value

    @property
    def noise(self) -> FloatArray:
        """Relative standard errors of the error, by the scatter over trials; 0 for one trial."""
        squares = self.trial_error**2
        scatter = squares.std(axis=0) / squares.mean(axis=0)
        return np.asarray(scatter / (2 * math.sqrt(max(len(squares) - 1, 1))))

    @property
    def final(self) -> float:
        """The error at the end."""
        return float(self.error[-1])

    def error_at(self, amount: ArrayLike, against: str = "messages") -> FloatArray:
        """Interpolate the error at amounts of messages, or bytes, on log scales."""
        x, y = np.log(getattr(self, against)), np.log(self.error)
        return np.exp(np.interp(np.log(amount), x, y))

    def needed(self, level: float, against: str = "messages") -> float | None:
        """Return the messages, or bytes, after which the error stays below a level, or None."""
        above = np.flatnonzero(self.error >= level)
        sent = getattr(self, against)
        if not len(above):
            return float(sent[0])
        last = above[-1]
        if last == len(sent) - 1:
            return None
        # np.interp needs increasing abscissas, and the error falls here.
        errors, amounts = np.log(self.error[[last + 1, last]]), np.log(sent[[last + 1, last]])
        return float(np.exp(np.interp(np.log(level), errors, amounts)))


def read_curves(
    kind: type[AnyCurve], results: fw.Results, ways: Iterable[str]
) -> dict[str, dict[str, AnyCurve]]:
    """Return the errors of all ways that were run, by network; facts give the value."""
    keys = list(ways)
    return {
        name: {
            way: kind(run, fact["value"]) for way, run in fw.pick_ways(results, name, keys).items()
        }
        for name, fact in results["facts"].items()
    }


def price(amount: float | None) -> int | str:
    """Format an amount for a cell of a table; None means that it was not reached."""
    return "not reached" if amount is None else round(amount)


def format_price(amount: float | None) -> str:
    """Format an amount for a list in a sentence."""
    return "not reached" if amount is None else f"{round(amount):,}"


def describe_price(amount: float | None, sent: float) -> str:
    """Format an amount for a sentence; if not reached, it is more than was sent in all."""
    return f"more than {round(sent):,}" if amount is None else format_price(amount)


def exact_bias(H: FloatArray, graph: Graph, iterations: IntArray, **method: Any) -> FloatArray:
    """Return expected estimates minus the target, shape (iterations, nodes).

    Estimates are linear and exact for constants, so the bias needs no subtraction of large numbers.
    """
    axis = -1 if method.get("method") == "u1" else None
    return expected_estimates(H - H.mean(axis=axis, keepdims=True), graph, iterations, **method)


def root_mean_square(values: FloatArray) -> FloatArray:
    """Take root mean squares over nodes, the last axis."""
    return np.asarray(np.linalg.norm(values, axis=-1) / np.sqrt(values.shape[-1]))


class ErrorParts(NamedTuple):
    """Root mean squares over nodes and trials; their squares add up to that of the error.

    They do so in expectation; `remainder` is the difference in these trials.
    """

    bias: FloatArray
    """The distance of a node's exact expectation from the target."""
    disagreement: FloatArray
    """The fluctuation of a node about the network's mean."""
    mean_fluctuation: FloatArray
    """The fluctuation of the network's mean about its exact expectation."""
    remainder: FloatArray
    """The square of the error minus the squares of the parts."""

    @property
    def fluctuation(self) -> FloatArray:
        """The fluctuation of a node about its own expectation."""
        return np.asarray(np.hypot(self.disagreement, self.mean_fluctuation))


def error_parts(run: Run, bias: Sequence[float], mean_bias: Sequence[float]) -> ErrorParts:
    """Return the parts of a run's error, given the exact biases of nodes and of the mean.

    The biases of nodes are root mean squares. Estimates of single nodes are not needed: their
    spread is recorded, and the part of it that comes from their biases is known.
    """
    of_nodes, of_mean = np.asarray(bias), np.asarray(mean_bias)
    about = run.trial_mean - np.mean(run.target) - of_mean
    spread = np.mean(run.trial_spread**2, axis=0) - (of_nodes**2 - of_mean**2)
    fluctuation = np.mean(about**2, axis=0)
    disagreement = np.maximum(spread, 0.0)
    return ErrorParts(
        of_nodes,
        np.sqrt(disagreement),
        np.sqrt(fluctuation),
        run.error**2 - of_nodes**2 - disagreement - fluctuation,
    )
