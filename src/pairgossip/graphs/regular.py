"""Drawing graphs with the same number of neighbors everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from pairgossip.graphs.checks import edge_keys, repeats
from pairgossip.graphs.sampling import pairs_from_numbers


def regular_edges(n: int, degree: int, rng: Generator) -> NDArray[Any]:
    """Return the edges of a simple graph of the given degree; n * degree must be even.

    Each node gets `degree` stubs, the stubs are paired at random, and pairs that are loops or
    repeats trade ends with random other pairs until none is left.
    """
    if degree == 2:
        # Connected graphs of degree 2 are cycles; a pairing would rarely hit one.
        order = rng.permutation(n)
        return np.column_stack([order, np.roll(order, -1)])
    if degree > (n - 1) / 2:
        return _complement(n, regular_edges_any(n, n - 1 - degree, rng))
    return regular_edges_any(n, degree, rng)


def regular_edges_any(n: int, degree: int, rng: Generator) -> NDArray[Any]:
    """Pair stubs and repair, for degrees up to half of n; the graph may be disconnected."""
    stubs = rng.permutation(np.repeat(np.arange(n), degree))
    pairs = stubs.reshape(-1, 2)
    while (bad := _bad_pairs(n, pairs)).size:
        good = np.setdiff1d(np.arange(len(pairs)), bad, assume_unique=True)
        size = min(len(bad), len(good))
        if size == 0:
            pairs = rng.permutation(pairs.ravel()).reshape(-1, 2)
            continue
        mine = bad if size == len(bad) else rng.choice(bad, size, replace=False)
        partner = rng.choice(good, size, replace=False)
        pairs = _trade_ends(n, pairs, mine, partner, rng)
    return pairs


def _trade_ends(
    n: int,
    pairs: NDArray[Any],
    mine: NDArray[np.int64],
    partner: NDArray[np.int64],
    rng: Generator,
) -> NDArray[Any]:
    """Let each pair trade one end with its partner wherever both come out as new, simple edges."""
    trial = pairs.copy()
    end = rng.integers(0, 2, len(mine))
    trial[mine, 1] = pairs[partner, end]
    trial[partner, end] = pairs[mine, 1]
    still_bad = np.zeros(len(pairs), dtype=bool)
    still_bad[_bad_pairs(n, trial)] = True
    refused = still_bad[mine] | still_bad[partner]
    for side in (mine[refused], partner[refused]):
        trial[side] = pairs[side]
    return trial


def _bad_pairs(n: int, pairs: NDArray[Any]) -> NDArray[np.int64]:
    """Return the positions of loops and of edges that occurred before."""
    ordered = np.column_stack([pairs.min(axis=1), pairs.max(axis=1)])
    loops = np.flatnonzero(ordered[:, 0] == ordered[:, 1])
    return np.union1d(loops, repeats(edge_keys(n, ordered)))


def _complement(n: int, edges: NDArray[Any]) -> NDArray[np.int64]:
    smaller, larger = edges.min(axis=1), edges.max(axis=1)
    taken = np.zeros(n * (n - 1) // 2, dtype=bool)
    taken[larger * (larger - 1) // 2 + smaller] = True
    return pairs_from_numbers(np.flatnonzero(~taken))
