"""The sampling errors that nodes learn for their estimates, on the exchanges of the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.errors import InputError
from pairgossip.inference import row_products
from pairgossip.kernels import Problem

_AT_ONCE = 1 << 12
"""The number of exchanges whose pairs are evaluated together."""
_LARGEST_SQUARED = 1e150
"""The largest number whose square does not overflow."""


class Visits(NamedTuple):
    """The visits of rows at nodes in a block of exchanges."""

    exchanges: PairArray
    nodes: IntArray
    """The nodes that were visited, shape (2, m)."""
    both: FloatArray
    """The values at their new pairs, summed over both orders, shape (2, m, K)."""


class Visitors:
    """Follows the rows that visit nodes; with ``loops=None`` without numba."""

    def __init__(self, pairs: Problem, loops: Any) -> None:
        self._pairs = pairs
        self._walk = _walk if loops is None else loops.walk
        self._held = own_observations(pairs.n)

    def follow(self, exchanges: PairArray) -> Iterator[Visits]:
        """Swap along exchanges; yield the visited nodes, and h in both orders at each new pair."""
        for start in range(0, len(exchanges), _AT_ONCE):
            piece = exchanges[start : start + _AT_ONCE]
            nodes, held = np.empty((2, 2, len(piece)), dtype=np.intp)
            self._walk(piece, self._held, nodes, held)
            values = back = self._pairs.values(nodes.ravel(), held.ravel())
            if not all(part.symmetric for part in self._pairs.parts):
                back = self._pairs.values(held.ravel(), nodes.ravel())
            yield Visits(piece, nodes, (values + back).reshape(2, len(piece), -1))


class RowErrors:
    """Lets the network average products of row means, and marks of rows.

    Parameters
    ----------
    pairs
        The problem of the trial.
    clusters
        The cluster of every node, in which rows may be dependent; None if each is its own.
    relaxation
        The part of the way that two nodes move to each other's averages.
    loops
        The compiled loops; None to run without numba.
    seed
        The seed of the marks.
    """

    def __init__(
        self,
        pairs: Problem,
        clusters: IntArray | None,
        relaxation: float,
        loops: Any,
        seed: SeedSequence,
    ) -> None:
        self._pairs = pairs
        self._advance = row_products.advance if loops is None else loops.track_products
        self._relaxation = relaxation
        of = own_observations(pairs.n) if clusters is None else clusters
        # A site with a set of rows counts like this number of nodes.
        sizes, rows = np.bincount(of).astype(np.float64), pairs.set_sizes
        if rows is not None:
            sizes = np.asarray(rows * (pairs.n / rows.sum()))
        self._are_rows = bool(np.all(sizes == 1))
        self._spread = float(sizes @ sizes) / pairs.n
        self._factors = _factors(pairs) if clusters is None else None
        self._correction = len(sizes) / (len(sizes) - 1) if len(sizes) > 1 else np.nan
        if self._factors is not None:  # products use scaled means, averages plain ones
            sizes, self._correction = sizes / self._factors, 1.0
        self._kurtosis = _kurtosis(pairs, len(sizes))
        self._state = row_products.init(of, sizes, pairs.components, _draw_marks(of, seed))

    def add(self, visits: Visits) -> None:
        """Learn from a block of visits."""
        both = visits.both
        if self._factors is not None:
            both = both * self._factors[visits.nodes][..., None]
        self._advance(self._state, visits.exchanges, both, self._relaxation)

    def averages(self) -> FloatArray | None:
        """Return each node's averages of the components, where clusters are single rows.

        They come from the same visits as the products, so that their common noise cancels.
        """
        if not self._are_rows:
            return None
        return self._products[:, -self._pairs.components :] / 2

    @property
    def _products(self) -> FloatArray:
        """The averages of products and sums."""
        return self._state.z[:, : -row_products.MARKS]

    def widening(self) -> FloatArray:
        """Return the factor of each node's error, for rows that have not visited it yet."""
        return row_products.widening(self._state.z[:, -row_products.MARKS :], self._kurtosis)

    def errors(self, averages: FloatArray) -> FloatArray:
        """Return the widened sampling error of each node, given averages, shape (n, K).

        It is NaN where the node's visits do not give one, as after few visits.
        """
        assert self._pairs.kernel is not None
        slopes = self._pairs.kernel.slopes(averages)
        with np.errstate(over="ignore", invalid="ignore"):
            largest = np.abs(averages * slopes).max()
        if largest > _LARGEST_SQUARED or not np.isfinite(self._state.z).all():
            raise InputError(
                "The contributions of rows to the statistic are so large that their squares "
                "overflow: divide the data by a power of ten, or leave {argument} out.",
                "interval",
            )
        with np.errstate(invalid="ignore"):
            seen = row_products.variance(self._products, averages, slopes, self._spread)
            seen = np.where(seen > 0, seen, np.nan)
        return np.sqrt(seen * self._correction / self._pairs.n) * self.widening()


def _walk(exchanges: PairArray, held: IntArray, nodes: IntArray, tokens: IntArray) -> None:
    """Swap along exchanges; write the two new (node, token) pairs of each."""
    for at, pair in enumerate(exchanges):
        held[pair] = held[pair[::-1]]
        nodes[:, at], tokens[:, at] = pair, held[pair]


def _draw_marks(clusters: IntArray, seed: SeedSequence) -> FloatArray:
    """Return the marks of every node, the same in a cluster; 0 if there is only one cluster."""
    random, scores = np.random.default_rng(seed), np.linspace(-1, 1, clusters.max() + 1)
    drawn = [random.permutation(scores)[clusters] for _ in range(row_products.MARKS)]
    marks = np.column_stack(drawn) - np.mean(drawn, axis=1)
    return np.asarray(marks / (np.sqrt((marks**2).mean(axis=0)) if len(scores) > 1 else 1.0))


def _kurtosis(pairs: Problem, count: int) -> float:
    """Bound the tail weight of the influence of n rows or clusters."""
    classes = pairs.classes
    share = 1.0 if classes is None else np.bincount(classes).min() / pairs.n
    is_bounded = all(part.formula.is_bounded for part in pairs.parts)
    return row_products.assumed_kurtosis(count, is_bounded, share)


def _factors(pairs: Problem) -> FloatArray | None:
    """Return the factors of rows' means for which their squares add up to the variance.

    A row of weight w represents w equal rows, whose squares add up, not their sums. The rows of
    each class are a separate sample, with one degree of freedom less than rows.
    """
    weights, classes = pairs.weights, pairs.classes
    if weights is None and classes is None:
        return None
    times = np.ones(pairs.n) if weights is None else weights
    of = np.zeros(pairs.n, dtype=np.intp) if classes is None else classes
    drawn = np.bincount(of, times)
    return np.asarray(np.sqrt((drawn / (drawn - 1))[of] / times))


class SeenErrors:
    """The distances of nodes from the exact value, estimated from the moves of their estimates.

    A node that at least halves its error with every doubling of the exchanges moves, in the second
    half of its exchanges, about as far as its remaining error, or farther.
    """

    def __init__(self) -> None:
        self._earlier: list[tuple[int, FloatArray]] = []

    def move(self, iterations: int, estimates: FloatArray) -> FloatArray:
        """Store estimates; return the largest move of each in the second half of the run so far."""
        self._earlier = [known for known in self._earlier if 2 * known[0] >= iterations]
        moved = [np.abs(estimates - before) for _, before in self._earlier]
        self._earlier.append((iterations, estimates))
        return np.max(moved, axis=0) if moved else np.full(len(estimates), np.nan)
