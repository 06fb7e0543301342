"""Drawing graphs by preferential attachment, many nodes at a time.

A node is chosen in proportion to its degree by choosing uniformly among the ends of all earlier
edges. Ends are numbered: end 2e is the new node of edge e, end 2e + 1 its target. A target is
first drawn as the number of an earlier end; within a batch of new nodes that end may itself be
a target not yet known, and such chains are followed for the whole batch at once.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

_FEWEST_BEFORE_BATCHES = 64


def attached_edges(n: int, m: int, rng: Generator) -> NDArray[np.int64]:
    """Return the edges (new node, target) of a star on m + 1 nodes grown to n nodes."""
    ends = np.empty(2 * m * (n - m), dtype=np.int64)
    ends[0 : 2 * m : 2] = np.arange(1, m + 1)
    ends[1 : 2 * m : 2] = 0
    known = m + 1
    # Few nodes mean many repeated targets: these go one by one, the others in doubling batches.
    one_by_one = min(n, max(2 * m + 2, _FEWEST_BEFORE_BATCHES))
    while known < n:
        batch = 1 if known < one_by_one else min(known, n - known)
        first_end = 2 * m * (known - m)
        last_end = first_end + 2 * m * batch
        ends[first_end:last_end:2] = np.repeat(np.arange(known, known + batch), m)
        targets = (
            _distinct_targets(ends[:first_end], m, rng)
            if batch == 1
            else _batch_targets(ends[:last_end], known, batch, m, rng)
        )
        ends[first_end + 1 : last_end : 2] = targets
        known += batch
    return ends.reshape(-1, 2)


def _distinct_targets(ends: NDArray[np.int64], m: int, rng: Generator) -> NDArray[np.int64]:
    """Choose among the ends until m different nodes have come up."""
    drawn = np.empty(0, dtype=np.int64)
    while True:
        drawn = np.concatenate([drawn, ends[rng.integers(0, len(ends), 2 * m)]])
        firsts = np.sort(np.unique(drawn, return_index=True)[1])
        if len(firsts) >= m:
            return drawn[firsts[:m]]


def _batch_targets(
    ends: NDArray[np.int64], known: int, batch: int, m: int, rng: Generator
) -> NDArray[np.int64]:
    """Choose m targets for each new node, again and again where a node chose one twice."""
    node = np.repeat(np.arange(known, known + batch), m)
    # A node's own edges come after all the ends it may choose from.
    choices = 2 * m * (node - m)
    first_end = 2 * m * (known - m)
    drawn = rng.integers(0, choices)
    while True:
        targets = ends[_known_ends(drawn, first_end)]
        repeated = _repeats_within_rows(targets.reshape(batch, m))
        if repeated.size == 0:
            return targets
        drawn[repeated] = rng.integers(0, choices[repeated])


def _known_ends(drawn: NDArray[np.int64], first_end: int) -> NDArray[np.int64]:
    """Follow targets that are themselves targets of this batch to an end that is known."""
    found = drawn.copy()
    while (unknown := np.flatnonzero((found >= first_end) & (found % 2 == 1))).size:
        # Each round looks up what the earlier rounds found, so that chains halve.
        found[unknown] = found[(found[unknown] - first_end) // 2]
    return found


def _repeats_within_rows(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the flat positions of values that occur earlier in their row."""
    order = np.argsort(rows, axis=1, kind="stable")
    by_value = np.take_along_axis(rows, order, axis=1)
    row, column = np.nonzero(by_value[:, 1:] == by_value[:, :-1])
    positions: NDArray[np.int64] = row * rows.shape[1] + order[row, column + 1]
    return positions
