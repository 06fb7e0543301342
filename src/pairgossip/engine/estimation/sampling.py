"""What nodes learn of the sampling error of their estimates, on the exchanges of the run."""

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
"""Exchanges whose pairs are evaluated together."""
_LARGEST = 1e150
"""Squares of larger numbers leave the floating range."""


class Visits(NamedTuple):
    """What nodes saw in a block of exchanges."""

    exchanges: PairArray
    nodes: IntArray
    """Who was visited, shape (2, m)."""
    both: FloatArray
    """The values at the pairs they met, both ways, shape (2, m, K)."""


class Visitors:
    """Follows which rows visit which nodes; None for ``loops`` runs without numba."""

    def __init__(self, pairs: Problem, loops: Any) -> None:
        self._pairs = pairs
        self._walk = _walk if loops is None else loops.walk
        self._held = own_observations(pairs.n)

    def follow(self, exchanges: PairArray) -> Iterator[Visits]:
        """Swap along exchanges; yield who was visited, and h both ways at each new pair."""
        for start in range(0, len(exchanges), _AT_ONCE):
            piece = exchanges[start : start + _AT_ONCE]
            nodes, held = np.empty((2, 2, len(piece)), dtype=np.intp)
            self._walk(piece, self._held, nodes, held)
            values = back = self._pairs.values(nodes.ravel(), held.ravel())
            if not all(part.symmetric for part in self._pairs.parts):
                back = self._pairs.values(held.ravel(), nodes.ravel())
            yield Visits(piece, nodes, (values + back).reshape(2, len(piece), -1))


class RowErrors:
    """Lets the network average products of row means, and the marks of rows.

    Parameters
    ----------
    pairs
        The problem of the trial.
    clusters
        The cluster of every node, whose rows may depend on each other; None if each is its own.
    relaxation
        How far two nodes move toward each other's averages.
    loops
        The compiled loops; None to run without numba.
    seed
        What the marks are drawn from.
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
        # A site with a set of rows counts for as many nodes as these.
        sizes, rows = np.bincount(of).astype(np.float64), pairs.set_sizes
        if rows is not None:
            sizes = np.asarray(rows * (pairs.n / rows.sum()))
        self._are_rows = bool(np.all(sizes == 1))
        self._spread = float(sizes @ sizes) / pairs.n
        self._factors = _factors(pairs) if clusters is None else None
        self._correction = len(sizes) / (len(sizes) - 1) if len(sizes) > 1 else np.nan
        if self._factors is not None:  # products are of scaled means, averages of the means
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
        """Return what each node sees of the components' averages, where clusters are of one row.

        They come from the very visits that the products come from: noise that both share cancels.
        """
        if not self._are_rows:
            return None
        return self._tracked[:, -self._pairs.components :] / 2

    @property
    def _tracked(self) -> FloatArray:
        """The averages of products and sums."""
        return self._state.z[:, : -row_products.MARKS]

    def widening(self) -> FloatArray:
        """Return by what each node multiplies its error, for rows that have not come around."""
        return row_products.widening(self._state.z[:, -row_products.MARKS :], self._kurtosis)

    def errors(self, averages: FloatArray) -> FloatArray:
        """Return the sampling error of each node, widened, given averages, shape (n, K).

        NaN where what it sees does not tell, as after few visits.
        """
        assert self._pairs.kernel is not None
        slopes = self._pairs.kernel.slopes(averages)
        with np.errstate(over="ignore", invalid="ignore"):
            largest = np.abs(averages * slopes).max()
        if largest > _LARGEST or not np.isfinite(self._state.z).all():
            raise InputError(
                "What rows add to the statistic is so large that its squares leave the floating "
                "range: divide the data by a power of ten, or leave {argument} out.",
                "interval",
            )
        with np.errstate(invalid="ignore"):
            seen = row_products.variance(self._tracked, averages, slopes, self._spread)
            seen = np.where(seen > 0, seen, np.nan)
        return np.sqrt(seen * self._correction / self._pairs.n) * self.widening()


def _walk(exchanges: PairArray, held: IntArray, nodes: IntArray, tokens: IntArray) -> None:
    """Swap along exchanges; write the two new (node, token) pairs of each."""
    for at, pair in enumerate(exchanges):
        held[pair] = held[pair[::-1]]
        nodes[:, at], tokens[:, at] = pair, held[pair]


def _draw_marks(clusters: IntArray, seed: SeedSequence) -> FloatArray:
    """Return the marks of every node, the same in a cluster; none tells anything if all are one."""
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
    """Return by what to multiply rows' means so that their squares add up to the variance.

    A row of weight w stands for w equal ones, whose squares add up, not their sums. Rows of each
    class are a sample of their own, with one degree of freedom less than rows.
    """
    weights, classes = pairs.weights, pairs.classes
    if weights is None and classes is None:
        return None
    times = np.ones(pairs.n) if weights is None else weights
    of = np.zeros(pairs.n, dtype=np.intp) if classes is None else classes
    drawn = np.bincount(of, times)
    return np.asarray(np.sqrt((drawn / (drawn - 1))[of] / times))


class SeenErrors:
    """How far nodes may still be from the exact value, by how far their estimates have moved.

    A node that halves its error with every doubling of the exchanges, or does better, moves about
    as far in the second half of its exchanges as it has still to go, or further.
    """

    def __init__(self) -> None:
        self._earlier: list[tuple[int, FloatArray]] = []

    def move(self, iterations: int, estimates: FloatArray) -> FloatArray:
        """Note estimates; return how far each was off in the second half of the run so far."""
        self._earlier = [known for known in self._earlier if 2 * known[0] >= iterations]
        moved = [np.abs(estimates - before) for _, before in self._earlier]
        self._earlier.append((iterations, estimates))
        return np.max(moved, axis=0) if moved else np.full(len(estimates), np.nan)
