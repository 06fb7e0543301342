"""The paper's bounds on estimation error, one function per theorem, corrected or extended.

Every bound takes the ``Constants`` of a problem and iteration numbers t >= 1. Where the printed
statement differs, ``printed=True`` gives it as printed, so that the difference can be shown. Among
the printed bounds, the one on U1-gossip is violated (see the errata). All bounds are certificates
of scaling: measured errors lie far below them, so do not use them as stopping rules.

Norms run over all nodes; divide by sqrt(n) for a root mean square per node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError, needed_for
from pairgossip.graphs import Graph
from pairgossip.graphs.laws import LawLike


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


def constants(pair_values: FloatArray, graph: Graph, law: LawLike = "uniform-edges") -> Constants:
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


_LARGEST_DENSE = 5_000
"""The largest number of nodes for n x n matrices, which take 200 MB."""


class GossipSpectrum(NamedTuple):
    """Eigenvectors of L_q (columns) with the eigenvalues of the swap and of the average.

    If edge e is drawn with probability q_e, the expected swap is W_1 = I - L_q and the expected
    average is W_2 = I - L_q / 2, with L_q = sum_e q_e (e_i - e_j)(e_i - e_j)^T. For uniform edges
    L_q = L / |E|, and the second smallest eigenvalue of L_q is the normalized gap.
    """

    vectors: FloatArray
    swap: FloatArray
    average: FloatArray


def gossip_spectrum(
    graph: Graph, law: LawLike = "uniform-edges", loss: float = 0.0
) -> GossipSpectrum:
    """Decompose the expected swap and average of one exchange, lost with probability ``loss``."""
    check_size(graph.n)
    values, vectors = np.linalg.eigh((1 - loss) * graph.laplacian_dense(law))
    # The constant mode is known exactly; its rounding errors would be raised to high powers.
    values[0], vectors[:, 0] = 0.0, 1 / np.sqrt(graph.n)
    return GossipSpectrum(vectors, 1 - values, 1 - values / 2)


def check_size(n: int) -> None:
    """Raise `InputError` if dense matrices of n nodes would be too large."""
    if n > _LARGEST_DENSE:
        raise InputError(
            f"Exact theory needs dense {n:,} x {n:,} matrices: it is limited to "
            f"{_LARGEST_DENSE:,} nodes."
        )


Iterations = int | Sequence[int] | IntArray | FloatArray


def gosta_expectation_bound(c: Constants, t: Iterations, *, printed: bool = False) -> FloatArray:
    """Proposition "Convergence in expectation": bound on ||E z(t) - U 1|| for GoSta-sync.

    (2a + F)/(x t), for any kernel. Printed: (a + 2F)/(x t), for symmetric kernels, which the paper
    assumes; there it follows, since a <= F. Asymmetric kernels are an extension, for which the
    printed form is not meant and would be too small by a factor of up to 2.
    On two nodes the walk alternates and (a + F)/t holds.
    """
    steps = _check_times(t)
    a, F = c.row_mean_spread, c.within_rows
    if c.n <= 2 and not printed:
        return (a + F) / steps
    return (a + 2 * F if printed else 2 * a + F) / (c.gap * steps)


def gosta_deviation_bound(c: Constants, t: Iterations, *, printed: bool = False) -> FloatArray:
    """Theorem "Expected deviation": bound on E||z(t) - U 1|| for GoSta-sync, n >= 3.

    The printed constant is right. Adding a constant to h changes no deviation, so the corrected
    form replaces ||H||_F by ||H - U||_F.
    """
    _check_three_nodes(c, "The expected-deviation bound")
    steps, x = _check_times(t), c.gap
    norm = c.raw if printed else c.centered
    first = (1 + 2 / x) * c.within_rows**2
    second = 4 / x * (1 + 1 / (2 * steps)) * norm**2
    return np.sqrt((first + second) / steps)


def gosta_sharper_deviation_bound(
    pair_values: FloatArray, spectrum: GossipSpectrum, t: int
) -> FloatArray:
    """Sharper computable form of the same theorem, for ``order="exchange-first"``.

    Returns the bound on sqrt(E||z(s) - U 1||^2) for every s = 1 .. t, in O(n t). It follows the
    proof, but keeps the mean squared pair value at time s where the proof takes the total.
    """
    H = np.asarray(pair_values, dtype=np.float64)
    if len(H) < 3:
        raise InputError("The sharper deviation bound needs at least 3 nodes.")
    Q, mu = spectrum.vectors, spectrum.swap
    rho1, rho2 = np.sort(np.abs(mu))[-2], np.sort(spectrum.average)[-2]
    within = H - H.mean(axis=1, keepdims=True)
    steps = np.arange(1, t + 1)

    def mean_squares(values: FloatArray) -> FloatArray:
        """Return sum_kl (W_1^s)_kl values_kl^2 for s = 1 .. t, in blocks of s."""
        weights = (Q * (values**2 @ Q)).sum(axis=0)
        blocks = np.array_split(steps, max(1, t // 4096))
        sums = [np.power(mu, block[:, None]) @ weights for block in blocks]
        return np.maximum(np.concatenate(sums), 0)

    q, q_within = mean_squares(H - H.mean()), mean_squares(within)
    roots = np.sqrt(q)
    before = np.cumsum(roots) - roots
    terms = q + 2 * roots * before
    decayed = np.array(list(accumulate(terms, lambda total, term: float(rho2) * total + term)))
    mixing = 2 * np.linalg.norm(within) * rho1 / (1 - rho1)
    spread = np.cumsum(q_within) + mixing * np.cumsum(np.sqrt(q_within))
    return np.sqrt(decayed + spread) / steps


def u1_gossip_bound(c: Constants, t: Iterations, *, printed: bool = False) -> FloatArray:
    """Theorem "U1-gossip": bound on |E z_k(t) - hbar_k| per node, shape (len(t), n).

    Corrected: (1/x - 1) sqrt(1 - 1/n) ||H_k. - hbar_k|| / t, tight on complete graphs.
    Printed: ||H e_k|| / (2 x t), violated on simple graphs.
    """
    steps = _check_times(t)[..., None]
    if printed:
        return c.raw_column_norms / (2 * c.gap * steps)
    # On two nodes the walk alternates: its partial sums are 0 or -1.
    mixing = 1.0 if c.n <= 2 else 1 / c.gap - 1
    return mixing * np.sqrt(1 - 1 / c.n) * c.row_norms / steps


def u2_gossip_bound(c: Constants, t: Iterations, *, printed: bool = False) -> FloatArray:
    """Theorem "U2-gossip": bound on ||E z(t) - U 1||, n >= 3.

    Corrected (tighter): (a + a' + ||R||_F/(2 - x))/(x t). The printed form holds too.
    """
    _check_three_nodes(c, "The U2-gossip bound")
    steps, x = _check_times(t), c.gap
    if printed:
        return ((3 - x) / (2 - x) * c.within_rows + c.row_mean_spread) / (x * steps)
    means = c.row_mean_spread + c.column_mean_spread
    return (means + c.interaction / (2 - x)) / (x * steps)


def averaging_expectation_bound(values: FloatArray, gap: float, t: Iterations) -> FloatArray:
    """Boyd et al.: bound on ||E z(t) - mean|| for gossip averaging, geometric in t."""
    return np.asarray((1 - gap / 2) ** _check_times(t) * _norm_about_mean(values))


def averaging_bound(values: FloatArray, gap: float, t: Iterations) -> FloatArray:
    """Boyd et al.: bound on sqrt(E||z(t) - mean||^2) for gossip averaging, geometric in t."""
    return np.asarray((1 - gap / 2) ** (_check_times(t) / 2) * _norm_about_mean(values))


def _check_times(t: Iterations) -> FloatArray:
    steps = np.asarray(t, dtype=np.float64)
    if np.any(steps < 1):
        raise InputError("Bounds hold from iteration 1 on: give iterations >= 1.")
    return steps


def _norm_about_mean(values: FloatArray) -> float:
    return float(np.linalg.norm(values - np.mean(values)))


def _check_three_nodes(c: Constants, what: str) -> None:
    if c.n < 3:
        raise InputError(f"{what} needs at least 3 nodes: on two the walk never mixes.")


# Lower bounds for decentralized algorithms, as far as they are known.
#
# These bounds are about the worst function of a class and about parallel rounds, in which every
# edge of the graph may carry a message. They are not about one edge per iteration, nor about a
# particular problem. They hold only while the dimension d of the model is large: from
# t = (d - 2)/2 on a bound is 0. They are certificates of scaling, like all bounds of this package.


def separable_lower_bound(
    t: Iterations,
    radius: float,
    lipschitz: float,
    diameter: float,
    dimension: int | None = None,
) -> FloatArray:
    """Scaman et al.: (R L/36) sqrt(1/(1 + t/(2 Delta))^2 + 1/(1 + t)) after t rounds.

    It assumes F a mean of n convex L-Lipschitz functions, one per node, compared with its minimum
    over the ball of radius R; black-box procedures; parallel rounds of unit latency; the worst
    function for the graph of diameter Delta; and t < (d - 2)/2 for models of dimension d, which is
    not checked without ``dimension``. It applies to pairwise objectives too, with f_ij = f_i.
    """
    return _bound(t, radius, lipschitz, 2 * diameter, dimension)


def claimed_pairwise_lower_bound(
    t: Iterations,
    radius: float,
    lipschitz: float,
    delta_tilde: float,
    dimension: int | None = None,
    *,
    printed: bool = False,
) -> FloatArray:
    """Theorem "Lower bound", AS CLAIMED AND UNPROVED: Delta replaced by the mean detour.

    The paper's argument would give t/(2 Delta~), but it routes the data of every pair again each
    time, which an algorithm can avoid by storing them. ``printed=True`` has t/Delta~, which adds
    nothing: since Delta~ <= 2 Delta, it never exceeds the separable bound, which applies already.
    Assumptions as for `separable_lower_bound`, with n > 2 and F the mean of n^2 pair functions.
    """
    return _bound(t, radius, lipschitz, delta_tilde if printed else 2 * delta_tilde, dimension)


def _bound(
    t: Iterations, radius: float, lipschitz: float, delay: float, dimension: int | None
) -> FloatArray:
    rounds = np.asarray(t, dtype=np.float64)
    if np.any(rounds < 0):
        raise InputError("Lower bounds are about t >= 0 rounds.")
    numbers = {"radius": radius, "Lipschitz constant": lipschitz, "distance": delay}
    for name, value in numbers.items():
        if not value > 0:
            raise InputError(f"The {name} of a lower bound must be positive, not {value!r}.")
    bound = radius * lipschitz / 36 * np.sqrt(1 / (1 + rounds / delay) ** 2 + 1 / (1 + rounds))
    if dimension is None:
        return np.asarray(bound)
    return np.where(rounds < (dimension - 2) / 2, bound, 0.0)


# Lower bounds for all methods with any messages: every node's answer depends on every row.


def fewest_calls(graph: Graph) -> int:
    """Return the fewest exchanges after which every node of a graph can know every row.

    The "gossip problem": 2n - 4 two-way exchanges on a graph with a cycle of four nodes, 2n - 3 on
    others (Tijdeman 1971; Harary and Schwenk 1974; Bumby 1981 for the others). For fewer than four
    nodes 2n - 3, and 0 for one.
    """
    return max(2 * graph.n - (4 if _has_four_cycle(graph) else 3), 0)


def fewest_messages(n: int) -> int:
    """Return the fewest one-way messages after which each of n nodes can know every row: 2n - 2.

    The first node that knows all rows needs n - 1 messages, and after that each other node needs
    one (Harary and Schwenk 1974). Up and down a tree this is enough.
    """
    return 2 * n - 2


def fewest_pairs(values: FloatArray, error: float) -> int:
    """Return the number of random pairs, all different, whose mean has this error.

    ``values`` is the matrix of all pairs, ``error`` a root mean square error in the same units:
    with s their standard deviation (by N - 1), P of N leave s sqrt(1/P - 1/N) (Cochran 1977, 2.5).
    """
    if not error > 0:
        raise InputError(f"The error of sampled pairs must be positive, not {error!r}.")
    deviation = max(float((values / error).std(ddof=1)), 1.0)  # one pair at least
    pairs = int(np.ceil(1 / (deviation**-2 + 1 / values.size)))
    return min(pairs, values.size)  # 1/(1/49) is more than 49


def _has_four_cycle(graph: Graph) -> bool:
    """Return whether two nodes have two common neighbors."""
    n, degrees = graph.n, graph.degrees
    # More pairs of neighbors of one node than pairs of nodes: one pair is counted twice.
    if float(degrees @ (degrees - 1)) > float(n) * (n - 1):
        return True
    with needed_for("The fewest calls"):
        from scipy.sparse import csr_array, triu

    # By decreasing degree, and only through nodes that come later: few ways, even on a star.
    place = np.empty(n, dtype=np.int64)
    place[np.argsort(-degrees, kind="stable")] = np.arange(n)
    i, j = np.sort(place[graph.edges], axis=1).T
    later = csr_array((np.ones(len(i), dtype=np.int64), (i, j)), shape=(n, n))
    ways = triu(later @ (later + later.T), k=1)
    return bool(ways.nnz) and bool(ways.max() > 1)
