"""The spectrum that governs gossip on a graph, for any edge law.

If edge e rings with probability q_e, the expected swap is W_1 = I - L_q and the expected average
is W_2 = I - L_q / 2, with L_q = sum_e q_e (e_i - e_j)(e_i - e_j)^T. For uniform edges
L_q = L / |E|, and the second smallest eigenvalue of L_q is the normalized gap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.graphs import Graph

LARGEST_DENSE = 5_000
"""Beyond this many nodes an n x n matrix is no longer a small thing."""


class GossipSpectrum(NamedTuple):
    """Eigenvectors of L_q (columns) with the eigenvalues of the swap and of the average."""

    vectors: FloatArray
    swap: FloatArray
    average: FloatArray


def gossip_spectrum(graph: Graph, law: str = "uniform-edges") -> GossipSpectrum:
    """Decompose the expected swap and average of one exchange."""
    check_size(graph.n)
    values, vectors = np.linalg.eigh(graph.laplacian_dense(law))
    # The constant mode is known exactly; its rounding errors would be raised to high powers.
    values[0], vectors[:, 0] = 0.0, 1 / np.sqrt(graph.n)
    return GossipSpectrum(vectors, 1 - values, 1 - values / 2)


def check_size(n: int) -> None:
    """Refuse networks whose matrices would be too large, before any is made."""
    if n > LARGEST_DENSE:
        raise InputError(
            f"Exact theory needs dense {n:,} x {n:,} matrices: it is limited to "
            f"{LARGEST_DENSE:,} nodes."
        )
