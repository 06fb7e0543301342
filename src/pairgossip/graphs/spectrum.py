"""Laplacians and their second smallest eigenvalue, which sets the speed of gossip."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.checks import UNIFORM_EDGES
from pairgossip.errors import InputError, needed_for
from pairgossip.families import formula_family
from pairgossip.graphs import laws
from pairgossip.graphs.checks import neighbor_sums

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from pairgossip.graphs.graph import Graph


# The eigenvector of a large sparse Laplacian that belongs to its second smallest eigenvalue.
#
# For well connected graphs: Lanczos iterations on a polynomial of the Laplacian that is large at
# the small eigenvalues and small at all others, without the vectors of eigenvalue 0. Long, thin
# graphs and trees have eigenvalues too close together for that, but their factors stay sparse, so
# there the iterations run on the inverse. Factors of any graph would take minutes on a small world
# of 10,000 nodes.


_Operator = Callable[[FloatArray], FloatArray]

_RESIDUAL = 1e-7
"""The largest residual of the vector over the eigenvalue, which is far more accurate."""
_VALUE_ERROR = 1e-11
"""The largest relative error of the eigenvalue where rounding limits the vector."""
_ROUGH_TOLERANCE = 1e-3
"""The relative tolerance of the rough vector that places the filter."""
_TOLERANCES = (1e-8, 1e-12)
"""The relative tolerances of the iterations; the second is tried if the first is not enough."""
_BASIS_SIZE = 20
"""The number of Lanczos vectors, each of n numbers."""
_RESTARTS = 40
"""The number of restarts after which the iterations count as not converging."""
_LARGEST_DEGREE = 80
"""The largest degree of the filter's polynomial, in products with the matrix per iteration."""
_EASY_FACTORIZATION = 1e10
"""The largest work of a factorization, in operations, that is tried before the filter: seconds."""
_LARGEST_FACTORIZATION = 2e12
"""The largest work of a factorization, in operations: minutes. Beyond, the gap is refused if the
filter fails."""


class Problem(NamedTuple):
    """A connected Laplacian, or a matrix like it with another vector of eigenvalue 0."""

    matrix: Any
    bound: float
    """A bound on the largest eigenvalue."""
    null: FloatArray | None = None
    """The positive unit vector of eigenvalue 0; None where it is constant."""

    def centered(self, vector: FloatArray) -> FloatArray:
        """Return a vector without its part of eigenvalue 0."""
        if self.null is None:
            return np.asarray(vector - vector.mean())
        return vector - float(self.null @ vector) * self.null


def fiedler_vector(problem: Problem) -> FloatArray:
    """Return the eigenvector of the second smallest eigenvalue."""
    size = problem.matrix.shape[0]
    start = problem.centered(np.random.default_rng(0).standard_normal(size))
    work = _factorization_work(problem.matrix)
    vector = _by_factors(problem, start) if work <= _EASY_FACTORIZATION else None
    if vector is None:
        vector = _by_filter(problem, start)
    if vector is None and _EASY_FACTORIZATION < work <= _LARGEST_FACTORIZATION:
        vector = _by_factors(problem, start)
    if vector is None:
        raise InputError(
            f"The spectral gap of this graph of {len(start)} nodes is too small to be computed; "
            "use a smaller graph, or a named family with a formula."
        )
    return vector


def _by_factors(problem: Problem, start: FloatArray) -> FloatArray | None:
    """Iterate on the inverse; return None where that does not converge."""
    return _find_leading(problem, _pseudo_inverse(problem), start, _TOLERANCES[0])


def _by_filter(problem: Problem, start: FloatArray) -> FloatArray | None:
    """Place the filter by a rough vector, then iterate; return None without convergence."""
    filtered, vector = _place_filter(problem, start)
    best = None
    for tolerance in _TOLERANCES:
        vector = None if vector is None else _find_leading(problem, filtered, vector, tolerance)
        if vector is None:
            break
        best = vector
        value, residual = _rayleigh(problem.matrix, best)
        if residual <= _RESIDUAL * value:
            return best
    return best if best is not None and _has_exact_value(problem, start, best) else None


def _place_filter(
    problem: Problem, start: FloatArray, excluded: FloatArray | None = None
) -> tuple[_Operator, FloatArray | None]:
    """Return a filter for the smallest eigenvalue, without `excluded`, and a rough vector."""
    matrix, bound = problem.matrix, problem.bound
    look = _exclude(_filter(matrix, bound, 0.0, 1), excluded)
    vector = _find_leading(problem, look, start, _ROUGH_TOLERANCE)
    if vector is None:
        return look, None
    value, _ = _rayleigh(matrix, vector)
    # The eigenvalue sought is at most `value`, hence in the range that the filter amplifies.
    cut = min(2.0 * value, (value + bound) / 2.0)
    degree = min(_LARGEST_DEGREE, math.ceil(2.0 * math.sqrt(bound / cut)))
    return _exclude(_filter(matrix, bound, cut, degree), excluded), vector


def _has_exact_value(problem: Problem, start: FloatArray, vector: FloatArray) -> bool:
    """Return whether the eigenvalue is exact although rounding keeps the residual large.

    The error of the Rayleigh quotient is at most residual^2 / (distance to the next eigenvalue).
    """
    filtered, other = _place_filter(problem, start, vector)
    other = None if other is None else _find_leading(problem, filtered, other, _ROUGH_TOLERANCE)
    if other is None:
        return False
    value, residual = _rayleigh(problem.matrix, vector)
    following, uncertainty = _rayleigh(problem.matrix, other)
    separation = following - uncertainty - value
    return residual**2 <= _VALUE_ERROR * value * separation


def _find_leading(
    problem: Problem, apply: _Operator, start: FloatArray, tol: float
) -> FloatArray | None:
    """Return the unit eigenvector of an operator's largest eigenvalue, or None if not found.

    The vector of the problem's eigenvalue 0 is excluded.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    def apply_centered(vector: FloatArray) -> FloatArray:
        return problem.centered(apply(vector.ravel()))

    shape = (len(start), len(start))
    operator: Any = LinearOperator(shape, matvec=apply_centered, dtype=np.float64)
    options: Any = {"ncv": _BASIS_SIZE, "maxiter": _RESTARTS, "tol": tol}
    try:
        leading = eigsh(operator, k=1, which="LA", v0=start, **options)[1][:, 0]
    except ArpackNoConvergence:
        return None
    vector = problem.centered(leading)
    return vector / float(np.linalg.norm(vector))


def _exclude(apply: _Operator, excluded: FloatArray | None) -> _Operator:
    """Return the operator on the vectors orthogonal to an excluded unit eigenvector."""
    if excluded is None:
        return apply

    def apply_beside(vector: FloatArray) -> FloatArray:
        image = apply(vector - float(excluded @ vector) * excluded)
        return image - float(excluded @ image) * excluded

    return apply_beside


def _filter(matrix: Any, bound: float, cut: float, degree: int) -> _Operator:
    """Return the Chebyshev polynomial that is within -1 and 1 on [cut, bound] and grows below."""
    scale, shift = 2.0 / (bound - cut), (bound + cut) / (bound - cut)

    def apply(vector: FloatArray) -> FloatArray:
        before: FloatArray = vector
        current: FloatArray = shift * vector - scale * (matrix @ vector)
        for _ in range(degree - 1):
            following = matrix @ current
            following *= -2.0 * scale
            following += 2.0 * shift * current
            following -= before
            before, current = current, following
        return current

    return apply


def _pseudo_inverse(problem: Problem) -> _Operator:
    """Return the inverse of the matrix on centered vectors, from sparse factors."""
    from scipy.sparse.linalg import splu

    # Grounding one node makes the matrix invertible; on centered vectors, centering the solution
    # gives the pseudo-inverse. Grounding the largest site gives the least rounding.
    size = problem.matrix.shape[0]
    ground = 0 if problem.null is None else int(problem.null.argmax())
    free = np.delete(np.arange(size), ground)
    grounded = problem.matrix.tocsr()[free][:, free].tocsc()
    factors = splu(grounded, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})

    def apply(vector: FloatArray) -> FloatArray:
        image = np.zeros(size)
        image[free] = factors.solve(problem.centered(vector)[free])
        return image

    return apply


def _factorization_work(matrix: Any) -> float:
    """Estimate the work of factors: small for thin graphs, trees and graphs that are nearly trees.

    In a band it is n * (mean bandwidth)^2. By minimum degree, a graph with c edges more than a tree
    shrinks without fill to at most 2 c nodes of three neighbors; at most about c / 2 of them are
    left when fill has made them dense.
    """
    n = matrix.shape[0]
    surplus = (matrix.nnz - n) // 2 - (n - 1)
    without_branches = float(surplus / 2) ** 3 if surplus <= n / 8 else math.inf
    return min(_band_work(matrix), n + without_branches)


def _band_work(matrix: Any) -> float:
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = matrix.shape[0]
    place = np.empty(n, dtype=np.int64)
    place[reverse_cuthill_mckee(matrix.tocsr(), symmetric_mode=True)] = np.arange(n)
    entries = matrix.tocoo()
    reach = np.zeros(n, dtype=np.int64)
    np.maximum.at(reach, place[entries.row], place[entries.row] - place[entries.col])
    return n * float(reach.mean()) ** 2


def _rayleigh(matrix: Any, unit: FloatArray) -> tuple[float, float]:
    """Return the Rayleigh quotient of a unit vector, and the norm of its residual."""
    image = matrix @ unit
    value = float(unit @ image)
    return value, float(np.linalg.norm(image - value * unit))


LARGEST_DENSE = 600
"""The largest number of nodes for computing all eigenvalues; beyond, only one is computed."""
_LARGEST_DENSE_LAW = 4_000
"""The same limit for given laws: best laws have many equal eigenvalues, where iterations stall."""


def spectral_gap(graph: Graph) -> float:
    """Return the second smallest eigenvalue of the Laplacian L = D - A (the Fiedler value)."""
    if graph.n == 1:
        raise InputError("A single node has no spectral gap; use a graph of at least two nodes.")
    formula = closed_form(graph)
    return formula if formula is not None else remember_gap(graph, None, _second_smallest)


def normalized_gap(graph: Graph, law: laws.LawLike = UNIFORM_EDGES) -> float:
    """Return the second smallest eigenvalue of L_q: spectral gap / |E| for uniform edges."""
    if laws.is_uniform(graph, law):
        return spectral_gap(graph) / graph.edge_count
    return remember_gap(graph, laws.as_law(law), _second_smallest)


def remember_gap(
    graph: Graph,
    law: laws.NamedOrGiven | None,
    compute: Callable[[Any, laws.NamedOrGiven | None], float],
) -> float:
    """Compute the gap once per graph and law: for a large graph it takes seconds."""
    if law not in graph._known:
        graph._known[law] = compute(graph, law)
    return graph._known[law]


def closed_form(graph: Graph) -> float | None:
    """Return the spectral gap of a family that has a formula, or None."""
    if graph.is_complete:
        return float(graph.n)
    family = formula_family(graph)
    return family.gap(graph.n, **graph.parameters) if family and family.gap else None


def laplacian(graph: Graph, law: laws.LawLike | None = None) -> csr_array[Any]:
    """Return L = D - A, or L_q for an edge law, as a sparse matrix."""
    weights = _weights(graph, law)
    return sparse_matrix(graph.edges, -weights, _weighted_degrees(graph, weights))


def sparse_matrix(edges: PairArray, between: FloatArray, diagonal: FloatArray) -> csr_array[Any]:
    """Return the symmetric matrix with one entry for every edge, and a diagonal."""
    with needed_for("A sparse Laplacian"):
        from scipy.sparse import coo_array

    (one, other), n = edges.T, len(diagonal)
    nodes = np.arange(n, dtype=np.int32)
    entries = np.concatenate([between, between, diagonal])
    rows, cols = np.concatenate([one, other, nodes]), np.concatenate([other, one, nodes])
    return coo_array((entries, (rows, cols)), shape=(n, n)).tocsr()


def laplacian_dense(graph: Graph, law: laws.LawLike | None = None) -> FloatArray:
    """Return L = D - A, or L_q for an edge law, as an array."""
    if graph.is_complete and (law is None or laws.is_uniform(graph, law)):
        weight = 1.0 if law is None else 1.0 / max(graph.edge_count, 1)
        matrix = np.full((graph.n, graph.n), -weight)
        np.fill_diagonal(matrix, weight * (graph.n - 1))
        return matrix
    weights = _weights(graph, law)
    one, other = graph.edges.T
    matrix = np.diag(_weighted_degrees(graph, weights))
    matrix[one, other] = matrix[other, one] = -weights
    return matrix


def _weights(graph: Graph, law: laws.LawLike | None) -> FloatArray:
    if law is None:
        return np.ones(len(graph.edges))
    return laws.edge_probabilities(graph, law)


def _weighted_degrees(graph: Graph, weights: FloatArray) -> FloatArray:
    return neighbor_sums(graph.n, graph.edges, np.ones(graph.n), weights)


def _second_smallest(graph: Graph, law: laws.LawLike | None) -> float:
    is_given = law is not None and not isinstance(law, str)
    if graph.n <= (_LARGEST_DENSE_LAW if is_given else LARGEST_DENSE):
        return float(np.linalg.eigvalsh(laplacian_dense(graph, law))[1])
    weights, vector = _weights(graph, law), _sparse_fiedler(graph, law)
    one, other = graph.edges.T
    # The Rayleigh quotient has twice the digits of the vector, and as a sum of squares it keeps
    # them even where the gap is tiny.
    return float(weights @ (vector[one] - vector[other]) ** 2 / (vector @ vector))


def _sparse_fiedler(graph: Graph, law: laws.LawLike | None) -> FloatArray:
    matrix = laplacian(graph, law) / float(_weights(graph, law).mean())
    one, other = graph.edges.T
    degrees = matrix.diagonal()
    return fiedler_vector(Problem(matrix, float((degrees[one] + degrees[other]).max())))


def slowest_mode(graph: Graph) -> FloatArray:
    """Return a unit eigenvector of the second smallest eigenvalue of L (a Fiedler vector)."""
    if graph.n <= LARGEST_DENSE:
        with needed_for("The slowest mode"):
            from scipy.linalg import eigh
        return np.asarray(eigh(laplacian_dense(graph), subset_by_index=[1, 1])[1][:, 0])
    return _sparse_fiedler(graph, None)
