"""Laplacians and their second smallest eigenvalue, which sets how fast gossip spreads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.extras import needed_for
from pairgossip.graphs import laws
from pairgossip.graphs.fiedler import Problem, fiedler_vector

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from pairgossip.graphs.graph import Graph

LARGEST_DENSE = 600
"""Up to this many nodes all eigenvalues are computed; above, only the one that is needed."""


def spectral_gap(graph: Graph) -> float:
    """Return the second smallest eigenvalue of L = D - A (the Fiedler value)."""
    _refuse_single_node(graph)
    known = closed_form(graph)
    return known if known is not None else _known_gap(graph, None)


def normalized_gap(graph: Graph, law: str = laws.UNIFORM_EDGES) -> float:
    """Return the second smallest eigenvalue of L_q: spectral gap / |E| for uniform edges."""
    if laws.is_uniform(graph, law):
        return spectral_gap(graph) / graph.edge_count
    return _known_gap(graph, laws.law_name(law))


def _known_gap(graph: Graph, law: str | None) -> float:
    """Compute the gap once per graph and law: a large graph's takes seconds."""
    if law not in graph._gaps:
        graph._gaps[law] = _second_smallest(graph, law)
    return graph._gaps[law]


def closed_form(graph: Graph) -> float | None:
    """Return the spectral gap of a family that has a formula, or None."""
    if graph.is_complete:
        return float(graph.n)
    if not graph._is_certified:
        return None
    longer_side = max(graph.parameters.get("rows", 1), graph.parameters.get("cols", 1))
    match graph.family:
        case "cycle":
            return 4.0 * math.sin(math.pi / graph.n) ** 2
        case "path":
            return 4.0 * math.sin(math.pi / (2 * graph.n)) ** 2
        case "star":
            return 1.0
        case "grid":
            return 4.0 * math.sin(math.pi / (2 * longer_side)) ** 2
        case "torus":
            return 4.0 * math.sin(math.pi / longer_side) ** 2
    return None


def laplacian(graph: Graph, law: str | None = None) -> csr_array[Any]:
    """Return L = D - A, or L_q for a named edge law, as a sparse matrix."""
    with needed_for("A sparse Laplacian"):
        from scipy.sparse import coo_array

    weights = _weights(graph, law)
    one, other = graph.edges.T
    nodes = np.arange(graph.n, dtype=np.int32)
    entries = np.concatenate([-weights, -weights, _weighted_degrees(graph, weights)])
    rows = np.concatenate([one, other, nodes])
    cols = np.concatenate([other, one, nodes])
    return coo_array((entries, (rows, cols)), shape=(graph.n, graph.n)).tocsr()


def laplacian_dense(graph: Graph, law: str | None = None) -> FloatArray:
    """Return L = D - A, or L_q for a named edge law, as an array."""
    if graph.is_complete:
        is_weighted = law is not None and laws.is_uniform(graph, law)
        weight = 1.0 / max(graph.edge_count, 1) if is_weighted else 1.0
        matrix = np.full((graph.n, graph.n), -weight)
        np.fill_diagonal(matrix, weight * (graph.n - 1))
        return matrix
    weights = _weights(graph, law)
    one, other = graph.edges.T
    matrix = np.diag(_weighted_degrees(graph, weights))
    matrix[one, other] = matrix[other, one] = -weights
    return matrix


def _weights(graph: Graph, law: str | None) -> FloatArray:
    if law is None:
        return np.ones(len(graph.edges))
    return laws.edge_probabilities(graph, law)


def _weighted_degrees(graph: Graph, weights: FloatArray) -> FloatArray:
    one, other = graph.edges.T
    sums: Any = np.bincount(one, weights, graph.n) + np.bincount(other, weights, graph.n)
    return np.asarray(sums, dtype=np.float64)


def _refuse_single_node(graph: Graph) -> None:
    if graph.n == 1:
        raise InputError("A single node has no spectral gap; use a graph of at least two nodes.")


def _second_smallest(graph: Graph, law: str | None) -> float:
    if graph.n <= LARGEST_DENSE:
        return float(np.linalg.eigvalsh(laplacian_dense(graph, law))[1])
    weights = _weights(graph, law)
    matrix = laplacian(graph, law) / float(weights.mean())
    one, other = graph.edges.T
    degrees = matrix.diagonal()
    bound = float((degrees[one] + degrees[other]).max())
    vector = fiedler_vector(Problem(matrix, bound))
    # The Rayleigh quotient has twice the digits of the vector, and as a sum of squares it keeps
    # them all even where the gap is tiny.
    return float(weights @ (vector[one] - vector[other]) ** 2 / (vector @ vector))
