"""The spectral gap of a graph on rows, from a matrix of sites by sites.

On values that are the same for all rows of a site, the Laplacian is diag(D) - K^1/2 W K^1/2, with K
the rows per site, W the weight of an edge between rows of two sites, and D the weight of all edges
from a row to other sites. On values that sum to zero at one site and are zero elsewhere, it is a
number. The gap is the smallest positive eigenvalue of the two kinds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.checks import UNIFORM_EDGES
from pairgossip.errors import InputError
from pairgossip.graphs import laws, spectrum
from pairgossip.graphs.checks import neighbor_sums
from pairgossip.graphs.spectrum import Problem, fiedler_vector

if TYPE_CHECKING:
    from pairgossip.graphs.grouped.graph import GroupedGraph


MOST_DISTINCT_SIZES = 5_000
"""The largest number of different sizes of sites in the blow-up of a complete graph, which takes a
dense matrix with one row per size."""


def spectral_gap(graph: GroupedGraph) -> float:
    """Return the second smallest eigenvalue of L = D - A, from the sites alone."""
    if graph.is_complete:
        return spectrum.spectral_gap(graph)
    return spectrum.remember_gap(graph, None, _gap_of_edges)


def normalized_gap(graph: GroupedGraph, law: laws.LawLike = UNIFORM_EDGES) -> float:
    """Return the second smallest eigenvalue of L_q, from the sites alone."""
    if laws.is_uniform(graph, law):
        return spectral_gap(graph) / graph.edge_count
    return spectrum.remember_gap(graph, laws.as_law(law), _gap_of_clocks)


def _least_at_one_site(graph: GroupedGraph, values: NDArray[Any]) -> float:
    """Return the smallest eigenvalue of vectors at one site, given that of every site."""
    of_several = values[graph.sizes >= 2]
    return float(of_several.min()) if of_several.size else math.inf


def _gap_of_edges(graph: GroupedGraph, _: laws.NamedOrGiven | None) -> float:
    """Return the gap where all edges have the same weight."""
    sites, sizes = graph.sites, graph.sizes
    if sites.is_complete:
        between = float(graph.n)
    elif sizes.min() == sizes.max():
        between = float(sizes[0]) * sites.spectral_gap()
    else:
        between = _second_smallest(graph, np.ones(sites.edge_count))
    local = graph.reach + (sizes if graph.has_local_edges else 0)
    return min(between, _least_at_one_site(graph, local))


def _gap_of_clocks(graph: GroupedGraph, _: laws.NamedOrGiven | None) -> float:
    """Return the gap where rows i and j meet with probability (1/d_i + 1/d_j) / N."""
    rates = np.reciprocal(graph.site_degrees * float(graph.n), dtype=np.float64)
    if graph.sites.is_complete:
        return _multipartite_gap(graph.sizes, rates)
    one, other = graph.sites.edges.T
    weights = rates[one] + rates[other]
    local = _outward(graph, weights)
    if graph.has_local_edges:
        local += 2.0 * rates * graph.sizes
    return min(_second_smallest(graph, weights), _least_at_one_site(graph, local))


def _outward(graph: GroupedGraph, weights: FloatArray) -> FloatArray:
    """Return the weight of all edges from one row of each site to other sites."""
    return neighbor_sums(graph.sites.n, graph.sites.edges, graph.sizes, weights)


def _second_smallest(graph: GroupedGraph, weights: FloatArray) -> float:
    """Return the second smallest eigenvalue of diag(D) - K^1/2 W K^1/2."""
    one, other = graph.sites.edges.T
    roots, diagonal = np.sqrt(graph.sizes), _outward(graph, weights)
    between = -weights * roots[one] * roots[other]
    if graph.sites.n <= spectrum.LARGEST_DENSE:
        dense = np.diag(diagonal)
        dense[one, other] = dense[other, one] = between
        return float(np.linalg.eigvalsh(dense)[1])
    scale = float(weights.mean())
    bound = float((diagonal[one] + diagonal[other]).max()) / scale
    matrix = spectrum.sparse_matrix(graph.sites.edges, between / scale, diagonal / scale)
    vector = fiedler_vector(Problem(matrix, bound, roots / np.linalg.norm(roots)))
    # A sum of squares keeps all digits even where the gap is tiny.
    differences = roots[other] * vector[one] - roots[one] * vector[other]
    return float(weights @ differences**2 / (vector @ vector))


def _multipartite_gap(sizes: NDArray[np.int64], rates: FloatArray) -> float:
    """Return the gap of L_q where every row is joined to all rows of other sites.

    Sites of one size behave alike, so the matrix has one row per distinct size.
    """
    size, first, count = np.unique(sizes, return_index=True, return_counts=True)
    if len(size) > MOST_DISTINCT_SIZES:
        raise InputError(
            f"The spectral gap of node clocks on a blown-up complete graph is computed up to "
            f"{MOST_DISTINCT_SIZES} different sizes of sites, not {len(size)}; use the "
            "lexicographic construction or uniform edges."
        )
    rate = rates[first]
    weights = rate[:, None] + rate
    within = np.diag(weights) * size  # between the rows of one site, were they joined
    outward = weights @ (size * count) - within
    roots = np.sqrt(size * count)
    values = [np.linalg.eigvalsh(np.diag(outward + within) - weights * np.outer(roots, roots))[1:]]
    values.append((outward + within)[count >= 2])
    values.append(outward[size >= 2])
    return float(np.concatenate(values).min())
