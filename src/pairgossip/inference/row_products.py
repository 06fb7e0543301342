"""Sampling errors by gossip: differences between rows in their contributions to the statistic.

Node k meets pairs of its own row with visiting rows. The mean of h(k, l) + h(l, k) over its visits
is its own row's mean r_k, and the sampling variance is made of the products of the r_k. The square
of an estimated mean would be too large on average, so a node keeps two, from its odd and its even
visits, and the network averages the products of the two along their changes, as in `tracking`.

Rows of one cluster may depend on each other: their products are those of sums over clusters, and
the network also averages each cluster's sums times its size. The code is loops for the compiler;
without it, they need numpy only.

**Rows that have not come around.** A node averages a mean with weights w_k of the contributions of
rows k, and on a slow network most weight is on nearby rows. Let X be the sum of (w_k - 1/n)^2: zero
if all rows have come around, about 1/L if L rows have. The root of the variance V that a node sees
is then too small on average over nodes, for two reasons:

- It is the variance about the mean of its neighborhood. Both rows of its pairs come from there, so
twice this mean differs between nodes with a variance of 4 X V, and up to that much of V is between
neighborhoods and seen by no node (less where visitors from one place make row means differ more, as
for an AUC).
- It differs between nodes with a relative variance of (kappa - 1) X, where kappa is the kurtosis of
the contributions of rows: a few large incomes make most of V, and most nodes have not met them. The
mean of a root is smaller than the root of the mean, by an eighth of that.

So a node takes V (1 + (4 + (kappa - 1) / 4) X). To learn X, every row has marks, numbers without
meaning whose mean over all rows is 0 and whose mean square is 1, and nodes average them along: the
mean square of the remaining marks is X. No node can learn kappa, which depends on rows that it has
not met: it is an assumption, see `assumed_kurtosis`. The error is then an upper bound for rows with
lighter tails than assumed, and `widening` gives the factor by which it was raised.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, PairArray

MARKS = 4
"""The number of marks of each row."""
_LOGNORMAL, _NORMAL = 113.9, 3.0
"""The kurtosis of the standard lognormal law, as for incomes, and of the normal law."""


class State(NamedTuple):
    """The numbers that the network carries between exchanges."""

    visits: IntArray
    """The number of visits of each node."""
    means: FloatArray
    """The means of odd and of even visits, shape (n, 2, K)."""
    clusters: IntArray
    """The cluster of every node."""
    sizes: FloatArray
    """The number of rows that each cluster counts for."""
    sums: FloatArray
    """The sums of `means` over each cluster, shape (clusters, 2, K)."""
    z: FloatArray
    """Averages of products and of sums times sizes, `numbers_per_node`, and then of marks."""


def init(clusters: IntArray, sizes: FloatArray, components: int, marks: FloatArray) -> State:
    """Return the state before any visit."""
    n = len(clusters)
    products = np.zeros((n, numbers_per_node(components)))
    return State(
        np.zeros(n, dtype=np.int64),
        np.zeros((n, 2, components)),
        clusters,
        sizes,
        np.zeros((len(sizes), 2, components)),
        np.hstack([products, marks]),
    )


def advance(state: State, exchanges: PairArray, both: FloatArray, relaxation: float) -> None:
    """Carry out exchanges whose two nodes each had a visit, in order; ``both`` is (2, m, K)."""
    components, width = both.shape[2], state.z.shape[1]
    first_sum = width - MARKS - components
    for at in range(exchanges.shape[0]):
        for side in range(2):
            k = exchanges[at, side]
            cluster, half = state.clusters[k], state.visits[k] % 2
            state.visits[k] += 1
            count = (state.visits[k] + 1 - half) // 2
            sums, other = state.sums[cluster, half], state.sums[cluster, 1 - half]
            weigh = state.sizes[cluster] / 2
            for c in range(components):
                change = (both[side, at, c] - state.means[k, half, c]) / count
                state.means[k, half, c] += change
                sums[c] += change
                # Products with this component change by the other half's sums, halved by symmetry.
                state.z[k, first_sum + c] += weigh * change
                for d in range(components):
                    low, high = min(c, d), max(c, d)
                    place = low * components - low * (low - 1) // 2 + high - low
                    state.z[k, place] += change * other[d] * (1.0 if c == d else 0.5)
        i, j = exchanges[at, 0], exchanges[at, 1]
        for c in range(width):
            moved = relaxation * (state.z[j, c] - state.z[i, c])
            state.z[i, c] += moved
            state.z[j, c] -= moved


def variance(z: FloatArray, averages: FloatArray, slopes: FloatArray, spread: float) -> FloatArray:
    """Return n times the sampling variance that each node sees, from its averages.

    ``averages`` and ``slopes`` are those of the components and of the statistic, shape (n, K);
    ``spread`` is the sum of the squares of the clusters' sizes over the number of nodes.
    """
    components = averages.shape[1]
    first, second = _upper_triangle(components)
    twice = np.where(first == second, 1.0, 2.0)
    products, sums = z[:, : len(first)], z[:, len(first) :]
    center = 2 * (slopes * averages).sum(axis=1)
    square = (twice * slopes[:, first] * slopes[:, second] * products).sum(axis=1)
    return square - 2 * center * (slopes * sums).sum(axis=1) + center**2 * spread


def numbers_per_node(components: int) -> int:
    """Return how many numbers a node averages besides the statistic and marks: products, sums."""
    return components * (components + 1) // 2 + components


def widening(marks: FloatArray, kurtosis: float) -> FloatArray:
    """Return each node's factor of its error, for rows that have not come around to it.

    ``marks`` is the rest of them in the nodes' averages, shape (n, `MARKS`).
    """
    return np.asarray(np.sqrt(1 + (4 + (kurtosis - 1) / 4) * (marks**2).mean(axis=1)))


def assumed_kurtosis(count: int, is_bounded: bool, share: float = 1.0) -> float:
    """Return the tail weight of contributions of rows that errors allow for.

    It is that of lognormal incomes, or of normal numbers where values of pairs are bounded, as for
    shares and rank correlations. Where a class has only a ``share`` of the rows, these few
    contribute most. The kurtosis of ``count`` numbers is at most their count.
    """
    return min((_NORMAL if is_bounded else _LOGNORMAL) / share, count)


def local_update(private: FloatArray, both: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a visited node's local step, if it is its own cluster.

    It keeps the means of its odd and of its even visits and their number, 2K + 1 numbers, and has
    met a pair whose values in both directions add up to ``both``. The result is its new numbers,
    and the change of its averages of products and sums.
    """
    components, visits = len(both), int(private[-1])
    half = visits % 2
    means = private[:-1].reshape(2, components).copy()
    change = (both - means[half]) / (visits // 2 + 1)
    means[half] += change
    kept = np.concatenate((means.ravel(), (visits + 1.0,)))
    return kept, np.concatenate((_products(change, means[1 - half]), change / 2))


def local_products(private: FloatArray) -> FloatArray:
    """Return the total that a node has added, from the numbers that it keeps."""
    odd, even = private[:-1].reshape(2, -1)
    return np.concatenate((_products(odd, even), (odd + even) / 2))


def _products(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the products of two vectors' components, the mean of both orders, each pair once."""
    first, second = _upper_triangle(len(one))
    return np.asarray((one[first] * other[second] + one[second] * other[first]) / 2)


@lru_cache
def _upper_triangle(components: int) -> tuple[IntArray, IntArray]:
    return np.triu_indices(components)  # takes longer than an update
