"""The numbers about data and network that enter the bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.graphs import Graph


@dataclass(frozen=True)
class Constants:
    """Norms of the matrix H of pair values, and the normalized gap of the graph.

    With row means hbar, column means c and the statistic U (the mean of all entries):
    """

    n: int
    gap: float
    """x: second smallest eigenvalue of L_q; lambda_{n-1}/|E| for uniform edges."""
    row_mean_spread: float
    """a = ||hbar - U 1||."""
    column_mean_spread: float
    """a' = ||c - U 1||; equals a for a symmetric kernel."""
    within_rows: float
    """F = ||H - hbar 1^T||_F."""
    interaction: float
    """||R||_F with R = H - hbar 1^T - 1 c^T + U 1 1^T."""
    centered: float
    """||H - U 1 1^T||_F."""
    raw: float
    """||H||_F, which the printed deviation bound uses."""
    row_norms: FloatArray
    """||H_k. - hbar_k 1|| of every node k."""
    raw_column_norms: FloatArray
    """||H e_k|| of every node k, which the printed U1 bound uses."""


def constants(pair_values: FloatArray, graph: Graph, law: str = "uniform-edges") -> Constants:
    """Compute the constants of the bounds from the n x n matrix of pair values."""
    H = np.asarray(pair_values, dtype=np.float64)
    if H.shape != (graph.n, graph.n):
        raise InputError(
            f"The pair values have shape {H.shape}: a graph of {graph.n} nodes needs "
            f"shape {(graph.n, graph.n)}."
        )
    U = float(H.mean())
    rows, columns = H.mean(axis=1), H.mean(axis=0)
    within = H - rows[:, None]
    return Constants(
        n=graph.n,
        gap=graph.normalized_gap(law),
        row_mean_spread=float(np.linalg.norm(rows - U)),
        column_mean_spread=float(np.linalg.norm(columns - U)),
        within_rows=float(np.linalg.norm(within)),
        interaction=float(np.linalg.norm(within - (columns - U)[None, :])),
        centered=float(np.linalg.norm(H - U)),
        raw=float(np.linalg.norm(H)),
        row_norms=np.linalg.norm(within, axis=1),
        raw_column_norms=np.linalg.norm(H, axis=0),
    )


# The spectrum that governs gossip on a graph, for any edge law.
#
# If edge e rings with probability q_e, the expected swap is W_1 = I - L_q and the expected average
# is W_2 = I - L_q / 2, with L_q = sum_e q_e (e_i - e_j)(e_i - e_j)^T. For uniform edges
# L_q = L / |E|, and the second smallest eigenvalue of L_q is the normalized gap.


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
