"""What experiments share: the paper's graphs and data, other networks, the parts of errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.datasets import breast_cancer_wisconsin, engel
from pairgossip.experiments.framework.section import Verdict
from pairgossip.graphs import Graph, complete, cycle, path, star, torus, watts_strogatz
from pairgossip.results import Run

NODES = 699
SIDE = 26
"""Of the torus taken for the paper's "2D grid": 26 x 26 fits the printed gap, on 676 rows."""
GRAPHS = ("complete", "watts-strogatz", "torus")
"""From the best to the least connected."""
COLORS = {"complete": "#0072B2", "watts-strogatz": "#009E73", "torus": "#D55E00"}
PRINTED_GAPS = {"complete": 2.86e-3, "watts-strogatz": 1.82e-4, "torus": 4.30e-5}
"""The paper's lambda_(n-1)/|E|, lines 617 to 619."""
DEALING = 2
"""The child of the seed that deals rows to nodes: rows that are neighbors in a file are alike."""


MATTERS = 0.1
"""Objectives closer than this, relatively, count as the same."""


def faster_verdict(best: float, middle: float, worst: float) -> Verdict:
    """Judge from objectives, best-connected first, whether better-connected graphs are faster.

    In part, where only the best-connected one is ahead, or by less than matters.
    """
    if best >= min(middle, worst):
        return "does not hold"
    return "holds" if middle < worst and worst > (1 + MATTERS) * best else "holds in part"


ALIKE = 0.05
"""Spreads closer than this, relatively, count as the same."""


def dispersion_verdict(best: float, middle: float, worst: float) -> Verdict:
    """Judge from spreads, best-connected first, whether better-connected graphs spread less.

    In part, where only the best-connected one spreads least.
    """
    if best > (1 - ALIKE) * min(middle, worst):
        return "does not hold"
    return "holds" if middle < (1 + ALIKE) * worst else "holds in part"


def describe_order(
    iterations: IntArray, best: FloatArray, middle: FloatArray, worst: FloatArray
) -> str:
    """Say from which iteration on three curves are in this order up to the end."""
    is_in_order = (best < middle) & (middle < worst)
    if not is_in_order[-1]:
        return "They are not in this order at the end."
    wrong = np.flatnonzero(~is_in_order)
    first = int(iterations[wrong[-1] + 1]) if len(wrong) else int(iterations[0])
    return f"They are in this order from iteration {first:,} on."


class NodeRows(NamedTuple):
    """Rows as they lie on the nodes of a graph."""

    X: FloatArray
    y: Any


def paper_graph(name: str, seed: int) -> Graph:
    """Build one of the three graphs."""
    if name == "complete":
        return complete(NODES)
    if name == "torus":
        return torus(SIDE, SIDE)
    # A ring joins k / 2 neighbors on each side: the printed k = 5 is read as 4, as networkx does,
    # which fits the printed gap.
    return watts_strogatz(NODES, k=4, p=0.3, seed=seed)


def deal_rows(X: FloatArray, y: Any, nodes: int, seed: int) -> NodeRows:
    """Deal rows to nodes at random; rows beyond the number of nodes stay unused."""
    order: IntArray = np.random.default_rng([seed, DEALING]).permutation(len(X))[:nodes]
    return NodeRows(X[order], np.asarray(y)[order])


NETWORK_COLORS = COLORS | {"cycle": "#CC79A7", "path": "#E69F00", "star": "#56B4E9"}
FRANCS = "Belgian francs"
"""The unit of incomes."""
BUILDERS = {"complete": complete, "cycle": cycle, "path": path, "star": star}


def network(name: str, nodes: int, seed: int) -> Graph:
    """Build a network; a torus needs a square number of nodes."""
    if name == "torus":
        return torus(math.isqrt(nodes), math.isqrt(nodes))
    if name == "watts-strogatz":
        return watts_strogatz(nodes, k=4, p=0.3, seed=seed)
    return BUILDERS[name](nodes)


def incomes(nodes: int, seed: int) -> FloatArray:
    """Deal the incomes of as many households of Engel's to the nodes, in Belgian francs."""
    income = engel()["income"]
    return deal_rows(income, income, nodes, seed).X


def income_quantiles(nodes: int) -> FloatArray:
    """Return the same distribution of incomes for any number of nodes, in increasing order.

    So what changes with the number of nodes is the network, not the luck of a sample.
    """
    return np.quantile(engel()["income"], (np.arange(nodes) + 0.5) / nodes)


def patients(graph: str, seed: int) -> NodeRows:
    """Deal the rows of Breast Cancer Wisconsin to the nodes of one of the paper's graphs."""
    return deal_rows(*breast_cancer_wisconsin(), paper_graph(graph, seed).n, seed)


class ErrorParts(NamedTuple):
    """Root mean squares over nodes and trials; their squares add up to that of the error.

    This is so in expectation: `remainder` is what the trials' chance leaves of it.
    """

    bias: FloatArray
    """Of a node's expectation, which is exact."""
    disagreement: FloatArray
    """Of the fluctuation of a node about the network's mean."""
    mean_fluctuation: FloatArray
    """Of the network's mean about its exact expectation."""
    remainder: FloatArray
    """The square of the error minus the squares of the parts."""

    @property
    def fluctuation(self) -> FloatArray:
        """Of a node about its own expectation."""
        return np.asarray(np.hypot(self.disagreement, self.mean_fluctuation))


def error_parts(run: Run, bias: Sequence[float], mean_bias: Sequence[float]) -> ErrorParts:
    """Take a run's error apart, given exact biases: of nodes in root mean square, of the mean.

    Estimates of single nodes are not needed: their spread is recorded, and what of it is the
    spread of their biases is known.
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
