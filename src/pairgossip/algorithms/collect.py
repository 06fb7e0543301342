"""Collect: nodes pass on every row they know until all know all rows, and compute anything.

Learning a row twice changes nothing, so this needs no exactly-once exchange, and it is exact for
any kernel once every row has arrived. Until then a node's estimate is the mean of the values at the
pairs of nodes it knows, scaled as for all nodes. For a V-statistic of one row per node this is the
statistic of the rows it knows; for a U-statistic and for sites of unequal sizes only nearly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.steps import PairValues
from pairgossip.arrays import BoolArray, FloatArray, IntArray, PairArray


class State(NamedTuple):
    """The state of the network between exchanges."""

    known: BoolArray
    """Entry (k, l) is true if node k knows the row of node l, shape (n, n)."""
    values: FloatArray
    """The kernel at all pairs, shape (components, n, n)."""


def init(n: int, components: int) -> State:
    """Return the state in which every node knows its own row only."""
    return State(np.eye(n, dtype=np.bool_), np.full((components, n, n), np.nan))


def step(state: State, exchanges: PairArray, h: PairValues) -> State:
    """Make one exchange: both nodes learn all rows that either knew."""
    ((i, j),) = exchanges
    known = state.known.copy()
    known[i] = known[j] = known[i] | known[j]
    values = state.values
    if np.isnan(values).any():
        n = len(known)
        values = h(*np.divmod(np.arange(n * n), n)).T.reshape(-1, n, n)
    return State(known, values)


def learned(state: State) -> IntArray:
    """Return the number of nodes that know each row, shape (n,)."""
    return np.asarray(state.known.sum(axis=0))


def read(state: State) -> FloatArray:
    """Return the mean over the pairs of the rows that each node knows, shape (n, components)."""
    return means_of_known(state.known.astype(np.float64), state.values)


def means_of_known(known: FloatArray, values: FloatArray) -> FloatArray:
    """Return the mean of the values over the pairs of each node's rows."""
    counts = known.sum(axis=1)
    means = np.tile(values.mean(axis=(1, 2)), (len(known), 1))
    some = np.flatnonzero(counts < len(known))  # the others know all
    sums = [np.einsum("kl,kl->k", known[some] @ component, known[some]) for component in values]
    means[some] = np.stack(sums, axis=1) / counts[some, None] ** 2
    return means
