"""The setting of the paper's numerical section: its three graphs, and one data row per node."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.experiments.framework.section import Verdict
from pairgossip.graphs import Graph, complete, torus, watts_strogatz

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


def in_order_from(
    iterations: IntArray, best: FloatArray, middle: FloatArray, worst: FloatArray
) -> str:
    """Say from which iteration on three curves are in this order up to the end."""
    is_in_order = (best < middle) & (middle < worst)
    if not is_in_order[-1]:
        return "They are not in this order at the end."
    wrong = np.flatnonzero(~is_in_order)
    first = int(iterations[wrong[-1] + 1]) if len(wrong) else int(iterations[0])
    return f"They are in this order from iteration {first:,} on."


class Dealt(NamedTuple):
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


def dealt(X: FloatArray, y: Any, nodes: int, seed: int) -> Dealt:
    """Deal rows to nodes at random; rows beyond the number of nodes stay unused."""
    order: IntArray = np.random.default_rng([seed, DEALING]).permutation(len(X))[:nodes]
    return Dealt(X[order], np.asarray(y)[order])
