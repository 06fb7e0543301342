"""The eigenvector of a large sparse Laplacian that belongs to its second smallest eigenvalue.

Well connected graphs: Lanczos iterations on a polynomial of the Laplacian that is large at the
small eigenvalues and small at all others, without the constant vectors (eigenvalue 0). Long, thin
graphs have eigenvalues too close together for that, but their factors stay sparse, so there
the iterations run on the inverse. Asking for eigenvalues near 0 by factors of any graph
would take minutes on a small world of 10,000 nodes.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError

_RESIDUAL = 1e-7
"""How good the vector must be, relative to the eigenvalue; the eigenvalue is far better."""
_FIRST_LOOK = 1e-3
_TOLERANCES = (1e-8, 1e-12)
_BASIS_SIZE = 20
_RESTARTS = 40
_LARGEST_DEGREE = 80
_EASY_FACTORIZATION = 1e10
_LARGEST_FACTORIZATION = 2e12


def fiedler_vector(matrix: Any, bound: float) -> FloatArray:
    """Return the eigenvector of the second smallest eigenvalue of a connected Laplacian.

    `bound` is at least its largest eigenvalue.
    """
    start = _centered(np.random.default_rng(0).standard_normal(matrix.shape[0]))
    work = _factorization_work(matrix)
    if work > _EASY_FACTORIZATION:
        vector = _by_filter(matrix, bound, start)
        if vector is not None:
            return vector
    if work > _LARGEST_FACTORIZATION:
        raise InputError(
            f"The spectral gap of this graph of {len(start)} nodes is too small to be computed; "
            "use a smaller graph, or a named family with a formula."
        )
    return _leading(_pseudo_inverse(matrix), start, _TOLERANCES[0])


def _by_filter(matrix: Any, bound: float, start: FloatArray) -> FloatArray | None:
    """Look once to place the filter, then iterate; None where that does not converge."""
    from scipy.sparse.linalg import ArpackNoConvergence

    with contextlib.suppress(ArpackNoConvergence):
        vector = _leading(_filter(matrix, bound, 0.0, 1), start, _FIRST_LOOK)
        value = _rayleigh(matrix, vector)
        # The eigenvalue wanted is at most `value`, hence inside what the filter enlarges.
        cut = min(2.0 * value, (value + bound) / 2.0)
        degree = min(_LARGEST_DEGREE, math.ceil(2.0 * math.sqrt(bound / cut)))
        filtered = _filter(matrix, bound, cut, degree)
        for tolerance in _TOLERANCES:
            vector = _leading(filtered, vector, tolerance)
            value = _rayleigh(matrix, vector)
            if np.linalg.norm(matrix @ vector - value * vector) <= _RESIDUAL * value:
                return vector
    return None


def _leading(
    apply: Callable[[FloatArray], FloatArray], start: FloatArray, tol: float
) -> FloatArray:
    """Return the unit eigenvector of the largest eigenvalue, constants left out."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    def apply_centered(vector: FloatArray) -> FloatArray:
        return _centered(apply(vector.ravel()))

    shape = (len(start), len(start))
    operator: Any = LinearOperator(shape, matvec=apply_centered, dtype=np.float64)
    options: Any = {"ncv": _BASIS_SIZE, "maxiter": _RESTARTS, "tol": tol}
    vector = _centered(eigsh(operator, k=1, which="LA", v0=start, **options)[1][:, 0])
    return vector / float(np.linalg.norm(vector))


def _filter(
    matrix: Any, bound: float, cut: float, degree: int
) -> Callable[[FloatArray], FloatArray]:
    """Return the Chebyshev polynomial that stays within -1 and 1 on [cut, bound], grows below."""
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


def _pseudo_inverse(matrix: Any) -> Callable[[FloatArray], FloatArray]:
    """Return the inverse of the Laplacian on vectors without constants, from sparse factors."""
    from scipy.sparse.linalg import splu

    # Tying node 0 to the ground makes the matrix invertible; on centered vectors, centering the
    # solution gives back the pseudo-inverse.
    grounded = matrix[1:, 1:].tocsc()
    factors = splu(grounded, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})

    def apply(vector: FloatArray) -> FloatArray:
        image = np.zeros(len(vector))
        image[1:] = factors.solve(_centered(vector)[1:])
        return image

    return apply


def _factorization_work(matrix: Any) -> float:
    """Return n * (mean bandwidth)^2, a bound on the work of factors: small for thin graphs."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = matrix.shape[0]
    place = np.empty(n, dtype=np.int64)
    place[reverse_cuthill_mckee(matrix.tocsr(), symmetric_mode=True)] = np.arange(n)
    entries = matrix.tocoo()
    reach = np.zeros(n, dtype=np.int64)
    np.maximum.at(reach, place[entries.row], place[entries.row] - place[entries.col])
    return n * float(reach.mean()) ** 2


def _rayleigh(matrix: Any, unit: FloatArray) -> float:
    return float(unit @ (matrix @ unit))


def _centered(vector: FloatArray) -> FloatArray:
    centered: FloatArray = vector - vector.mean()
    return centered
