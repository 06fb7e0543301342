"""How long an observation walks until it could be anywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pairgossip.arrays import FloatArray
from pairgossip.checks import LAWS, UNIFORM_EDGES, choice
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.graphs.graph import Graph

LARGEST_EXACT = 3_000
"""The exact total variation takes all eigenvectors: n^3 operations, several n^2 of memory."""


def mixing_time(graph: Graph, eps: float, law: str = UNIFORM_EDGES) -> int:
    """Return tau(eps), the spectral upper bound on the mixing time.

    From every start, TV <= sqrt(n - 1) / 2 * (1 - x)^t with x the normalized gap, so that
    tau = ceil(log(sqrt(n - 1) / (2 eps)) / -log(1 - x)), and 0 where that is negative.
    """
    eps = _check(graph, eps, law)
    start = math.sqrt(graph.n - 1) / 2
    if start <= eps:
        return 0
    x = graph.normalized_gap(law)
    # The triangle has x = 1: one step forgets the start.
    return 1 if x >= 1.0 else math.ceil(math.log(start / eps) / -math.log1p(-x))


def exact_mixing_time(graph: Graph, eps: float, law: str = UNIFORM_EDGES) -> int:
    """Return the smallest t with total variation at most eps from every start."""
    enough = mixing_time(graph, eps, law)
    variation = _variation_at(graph, law)
    too_few = -1
    # The largest total variation never increases with t.
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if variation(middle) <= eps:
            enough = middle
        else:
            too_few = middle
    return enough


def total_variation(graph: Graph, t: ArrayLike, law: str = UNIFORM_EDGES) -> Any:
    """Return the largest total variation max_j TV(W_1^t(j, .), uniform), for one t or an array."""
    times = np.asarray(t)
    if not np.issubdtype(times.dtype, np.integer) or (times < 0).any():
        raise InputError(f"The times t must be whole numbers >= 0, not {t!r}.")
    choice("edge law", law, LAWS)
    variation = _variation_at(graph, law)
    values = np.array([variation(int(time)) for time in times.ravel()]).reshape(times.shape)
    return float(values) if values.ndim == 0 else values


def _check(graph: Graph, eps: float, law: str) -> float:
    choice("edge law", law, LAWS)
    if graph.n == 2:
        raise InputError(
            "The mixing time of two nodes is infinite, because each exchange swaps them; "
            "use a graph of at least three nodes."
        )
    try:
        eps = float(eps)
    except (TypeError, ValueError):
        eps = math.nan
    if not 0.0 < eps < 1.0:
        raise InputError(f"The distance eps must be between 0 and 1, not {eps!r}.")
    return eps


def _variation_at(graph: Graph, law: str) -> Callable[[int], float]:
    n = graph.n
    if graph.is_complete:
        step = 1.0 - n / max(graph.edge_count, 1) if n > 1 else 0.0
        return lambda t: abs(step) ** t * (1.0 - 1.0 / n)
    if n > LARGEST_EXACT:
        raise InputError(
            f"The exact total variation is computed up to {LARGEST_EXACT} nodes, not {n}; "
            "use mixing_time, an upper bound from the spectral gap."
        )
    values, vectors = np.linalg.eigh(graph.laplacian_dense(law))
    # The constant vector, whose eigenvalue comes first, is the uniform law itself.
    speeds: FloatArray = 1.0 - values[1:]
    modes: FloatArray = vectors[:, 1:]

    def variation(t: int) -> float:
        deviation = (modes * speeds**t) @ modes.T
        return float(0.5 * np.abs(deviation).sum(axis=1).max())

    return variation
