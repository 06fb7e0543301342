"""What nodes learn of the sampling error of their estimates, on the exchanges of the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairgossip.algorithms import row_products
from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.kernels import TrialPairs, WholeSets

_AT_ONCE = 1 << 12
"""Exchanges whose pairs are evaluated together."""


def numbers_tracked(components: int) -> int:
    """Return how many numbers more a message carries for it."""
    return components * (components + 1) // 2 + components


class RowErrors:
    """Follows which rows visit which nodes, and lets the network average products of row means.

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
    """

    def __init__(
        self, pairs: TrialPairs, clusters: IntArray | None, relaxation: float | None, loops: Any
    ) -> None:
        self._pairs = pairs
        self._advance = row_products.advance if loops is None else loops.track_products
        self._walk = _walk if loops is None else loops.walk
        self._relaxation = 0.5 if relaxation is None else relaxation
        self._held = own_observations(pairs.n)
        self._symmetric = pairs.kernel.symmetric
        of = own_observations(pairs.n) if clusters is None else clusters
        sizes = _sizes(pairs, of)
        self._spread = float(sizes @ sizes) / pairs.n
        self._state = row_products.init(of, sizes, pairs.components)
        # A row of weight w stands for w equal ones, whose squares add up, not their sums.
        weights = getattr(pairs, "weights", None) if clusters is None else None
        self._shrink = None if weights is None else 1 / np.sqrt(weights)
        drawn = len(sizes) if weights is None else weights.sum()
        self._correction = drawn / (drawn - 1) if drawn > 1 else np.nan

    def advance(self, exchanges: PairArray) -> None:
        """Carry out a block of exchanges."""
        for start in range(0, len(exchanges), _AT_ONCE):
            piece = exchanges[start : start + _AT_ONCE]
            self._advance(self._state, piece, self._visits(piece), self._relaxation)

    def _visits(self, exchanges: PairArray) -> FloatArray:
        """Swap along exchanges; return h both ways at each new pair, shape (2, m, K)."""
        nodes, held = np.empty((2, 2, len(exchanges)), dtype=np.intp)
        self._walk(exchanges, self._held, nodes, held)
        firsts, seconds = nodes.ravel(), held.ravel()
        values = self._pairs.values(firsts, seconds)
        both = values + (values if self._symmetric else self._pairs.values(seconds, firsts))
        if self._shrink is not None:
            both *= self._shrink[firsts][:, None]
        return both.reshape(2, len(exchanges), -1)

    def averages(self) -> FloatArray | None:
        """Return what each node sees of the components' averages, where clusters are of one row.

        They come from the very visits that the products come from: noise that both share cancels.
        """
        if self._spread != 1.0 or self._shrink is not None:
            return None
        return self._state.z[:, -self._pairs.components :] / 2

    def errors(self, averages: FloatArray) -> FloatArray:
        """Return the sampling error that each node sees, given averages, shape (n, K).

        NaN where what it sees does not tell, as after few visits.
        """
        slopes = self._pairs.kernel.slopes(averages)
        with np.errstate(invalid="ignore"):
            seen = row_products.variance(self._state.z, averages, slopes, self._spread)
            seen = np.where(seen > 0, seen, np.nan)
        return np.sqrt(seen * self._correction / self._pairs.n)


def _walk(exchanges: PairArray, held: IntArray, nodes: IntArray, tokens: IntArray) -> None:
    """Swap along exchanges; write the two new (node, token) pairs of each."""
    for at, pair in enumerate(exchanges):
        held[pair] = held[pair[::-1]]
        nodes[:, at], tokens[:, at] = pair, held[pair]


def _sizes(pairs: TrialPairs, clusters: IntArray) -> FloatArray:
    """Return how many nodes each cluster counts for; a site with a set of rows as many as these."""
    if isinstance(pairs, WholeSets):
        sizes = pairs.sets.sizes
        return np.asarray(sizes * (len(sizes) / sizes.sum()))
    return np.bincount(clusters).astype(np.float64)


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
