"""Networks of any size, and the data on the nodes of those that several experiments share."""

from __future__ import annotations

import math

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.datasets import breast_cancer_wisconsin, engel
from pairgossip.experiments.setting import COLORS as PAPER_COLORS
from pairgossip.experiments.setting import Dealt, dealt, paper_graph
from pairgossip.graphs import Graph, complete, cycle, path, star, torus, watts_strogatz

COLORS = PAPER_COLORS | {"cycle": "#CC79A7", "path": "#E69F00", "star": "#56B4E9"}
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
    return dealt(income, income, nodes, seed).X


def income_quantiles(nodes: int) -> FloatArray:
    """Return the same distribution of incomes for any number of nodes, in increasing order.

    So what changes with the number of nodes is the network, not the luck of a sample.
    """
    return np.quantile(engel()["income"], (np.arange(nodes) + 0.5) / nodes)


def patients(graph: str, seed: int) -> Dealt:
    """Deal the rows of Breast Cancer Wisconsin to the nodes of one of the paper's graphs."""
    return dealt(*breast_cancer_wisconsin(), paper_graph(graph, seed).n, seed)
