"""Small graphs, data and kernels that many tests share."""

from __future__ import annotations

import numpy as np

from pairgossip import graphs
from pairgossip.arrays import FloatArray
from pairgossip.graphs import Graph

SMALL_GRAPHS: dict[str, Graph] = {
    "two nodes": graphs.path(2),
    "path": graphs.path(5),
    "star": graphs.star(6),
    "complete": graphs.complete(5),
    "cycle": graphs.cycle(7),
    "torus": graphs.torus(3, 4),
    "watts-strogatz": graphs.watts_strogatz(12, 4, 0.3, seed=3),
    "barabasi-albert": graphs.barabasi_albert(10, 2, seed=1),
    "pendant": Graph(6, [*graphs.complete(5).edges.tolist(), [4, 5]]),
}


def skewed(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the values of a kernel that is neither symmetric nor zero on its diagonal."""
    return np.exp(-first) + first * second**2


def rows(n: int, columns: int = 1, seed: int = 0) -> FloatArray:
    """Draw skewed data, so that no symmetry hides a defect."""
    data = np.random.default_rng(seed).gamma(2.0, size=(n, columns))
    return data[:, 0] if columns == 1 else data


def labeled_rows(n: int, features: int = 1, classes: int = 2, seed: int = 0) -> FloatArray:
    """Draw features, with labels as the last column, in which every class occurs."""
    labels = np.arange(n) % classes
    return np.column_stack([np.round(rows(n, features, seed), 1), labels])
