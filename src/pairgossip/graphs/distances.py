"""Distances between nodes, and mixing times of walking observations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairgossip.arrays import FloatArray
from pairgossip.checks import UNIFORM_EDGES
from pairgossip.errors import InputError, needed_for
from pairgossip.families import formula_family
from pairgossip.graphs.laws import LawLike, as_law, is_uniform

if TYPE_CHECKING:
    from pairgossip.graphs.graph import Graph


_LARGEST_FOR_DIAMETER = 20_000
"""The largest number of nodes for a diameter without formula; beyond, searches take minutes."""
_LARGEST_FOR_DETOURS = 5_000
"""The largest number of nodes for the mean detour, which needs the distances of all pairs."""
_BLOCK_ENTRIES = 4_000_000
"""The number of distances computed at once, 8 bytes each; more would only take memory."""


class DeltaTilde(NamedTuple):
    """The mean detour between two farthest nodes."""

    value: float
    """Mean over third nodes k of d(i, k) + d(k, j), largest over the farthest pairs."""
    pair: tuple[int, int]
    """The farthest pair (i, j) that attains it."""


def diameter(graph: Graph) -> int:
    """Return the largest distance between two nodes."""
    formula = closed_diameter(graph)
    if formula is not None:
        return formula
    _refuse_large(graph, _LARGEST_FOR_DIAMETER, "The diameter")
    return _largest_eccentricity(graph)


def delta_tilde(graph: Graph) -> DeltaTilde:
    """Return the mean of d(i, k) + d(k, j) over third nodes k, for the worst farthest pair (i, j).

    It lies between one and two diameters.
    """
    if graph.n < 3:
        raise InputError("The mean detour needs a third node; use a graph of at least three nodes.")
    if graph.is_complete:
        return DeltaTilde(2.0, (0, 1))
    _refuse_large(graph, _LARGEST_FOR_DETOURS, "The mean detour")
    apart = np.empty((graph.n, graph.n), dtype=np.int16)
    size = max(1, _BLOCK_ENTRIES // graph.n)  # a few nodes at a time, to bound memory
    for start in range(0, graph.n, size):
        sources = np.arange(start, min(start + size, graph.n))
        apart[start : start + size] = _distances(graph, sources)
    farthest = int(apart.max())
    sums = apart.sum(axis=1, dtype=np.int64)
    best, pair = -1, (0, 0)
    for i in np.flatnonzero((apart == farthest).any(axis=1)):
        partners = np.flatnonzero(apart[i] == farthest)
        j = partners[sums[partners].argmax()]
        if sums[i] + sums[j] > best:
            best, pair = int(sums[i] + sums[j]), (int(i), int(j))
    # The sums also run over k = i and k = j, which add one distance each.
    return DeltaTilde((best - 2 * farthest) / (graph.n - 2), pair)


def closed_diameter(graph: Graph) -> int | None:
    """Return the diameter of a family that has a formula, or None."""
    if graph.is_complete:
        return min(graph.n - 1, 1)
    family = formula_family(graph)
    return family.diameter(graph.n, **graph.parameters) if family and family.diameter else None


def _refuse_large(graph: Graph, limit: int, what: str) -> None:
    if graph.n > limit:
        raise InputError(f"{what} is computed up to {limit} nodes, not {graph.n}.")


def _largest_eccentricity(graph: Graph) -> int:
    """Search from a few nodes only: each search bounds the eccentricity of every other node.

    From node w at distance d of a node with eccentricity e, the farthest node is at a distance
    between max(d, e - d) and e + d; nodes that cannot beat the best so far are left out.
    """
    at_least = np.zeros(graph.n, dtype=np.int64)
    at_most = np.full(graph.n, graph.n, dtype=np.int64)
    source, from_outside = int(graph.degrees.argmax()), True
    while True:
        apart = _distances(graph, source).astype(np.int64)
        farthest = apart.max()
        np.maximum(at_least, np.maximum(apart, farthest - apart), out=at_least)
        np.minimum(at_most, apart + farthest, out=at_most)
        at_most[source] = farthest
        best = int(at_least.max())
        left = np.flatnonzero(at_most > best)
        if left.size == 0:
            return best
        # Nodes at the rim raise the best, nodes in the middle lower the bounds: alternate.
        choice = at_most[left].argmax() if from_outside else at_least[left].argmin()
        source, from_outside = int(left[choice]), not from_outside


def _distances(graph: Graph, sources: int | NDArray[np.int64]) -> NDArray[np.float64]:
    with needed_for("Distances in a graph"):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

    indptr, indices = graph.adjacency
    ones = np.ones(len(indices))
    matrix = csr_array((ones, indices, indptr), shape=(graph.n, graph.n))
    apart: NDArray[np.float64] = dijkstra(
        matrix, directed=True, indices=np.asarray(sources), unweighted=True
    )
    return apart


def effective_resistances(graph: Graph, law: LawLike = UNIFORM_EDGES) -> FloatArray:
    """Return the resistance between the ends of every edge, whose conductances are the law's."""
    inverse = np.linalg.inv(graph.laplacian_dense(law) + 1 / graph.n)
    i, j = graph.edges.T
    return np.asarray(inverse[i, i] + inverse[j, j] - 2 * inverse[i, j])


def bottleneck(graph: Graph, law: LawLike = UNIFORM_EDGES) -> float:
    """Return half the largest resistance of an edge in use: chi_2 of continuized averaging."""
    used = graph.edge_probabilities(law) > 0
    return float(effective_resistances(graph, law)[used].max()) / 2


_LARGEST_EXACT = 3_000
"""The largest number of nodes for the exact total variation, which takes all eigenvectors: n^3
operations, and several n^2 numbers."""


def mixing_time(graph: Graph, eps: float, law: LawLike = UNIFORM_EDGES) -> int:
    """Return tau(eps), the spectral upper bound on the time a walking observation takes to mix.

    From every start, TV <= sqrt(n - 1) / 2 * (1 - x)^t with x the normalized gap, so that
    tau = ceil(log(sqrt(n - 1) / (2 eps)) / -log(1 - x)), and 0 where that is negative.
    """
    as_law(law)
    if graph.n == 2:
        raise InputError(
            "The mixing time of two nodes is infinite, because each exchange swaps them; "
            "use a graph of at least three nodes."
        )
    try:
        distance = float(eps)
    except (TypeError, ValueError):
        distance = math.nan
    if not 0.0 < distance < 1.0:
        raise InputError(f"The distance eps must be between 0 and 1, not {eps!r}.")
    # A lone node has no gap, and its observation is mixed from the start.
    gap = graph.normalized_gap(law) if graph.n > 1 else 1.0
    return mixing_time_of(graph.n, gap, distance)


def mixing_time_of(n: int, gap: float, eps: float) -> int:
    """Return the upper bound on the mixing time for a normalized gap."""
    start = math.sqrt(n - 1) / 2
    if start <= eps:
        return 0
    # The triangle has gap 1: it mixes in one step.
    return 1 if gap >= 1.0 else math.ceil(math.log(start / eps) / -math.log1p(-gap))


def exact_mixing_time(graph: Graph, eps: float, law: LawLike = UNIFORM_EDGES) -> int:
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


def total_variation(graph: Graph, t: ArrayLike, law: LawLike = UNIFORM_EDGES) -> Any:
    """Return the largest total variation max_j TV(W_1^t(j, .), uniform); `t` may be an array."""
    times = np.asarray(t)
    if not np.issubdtype(times.dtype, np.integer) or (times < 0).any():
        raise InputError(f"The times t must be whole numbers >= 0, not {t!r}.")
    as_law(law)
    variation = _variation_at(graph, law)
    values = np.array([variation(int(time)) for time in times.ravel()]).reshape(times.shape)
    return float(values) if values.ndim == 0 else values


def _variation_at(graph: Graph, law: LawLike) -> Callable[[int], float]:
    n = graph.n
    if graph.is_complete and is_uniform(graph, law):
        step = 1.0 - n / max(graph.edge_count, 1) if n > 1 else 0.0
        return lambda t: abs(step) ** t * (1.0 - 1.0 / n)
    if n > _LARGEST_EXACT:
        raise InputError(
            f"The exact total variation is computed up to {_LARGEST_EXACT} nodes, not {n}; "
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
