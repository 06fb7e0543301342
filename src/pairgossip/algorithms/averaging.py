"""Gossip averaging (Boyd et al. 2006), of one number or a vector per node, and two faster forms.

The values are there from the start, so the error falls geometrically. Pairwise estimation has to
acquire its terms first, so its error falls as 1/t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.steps import relax
from pairgossip.arrays import FloatArray, IntArray, PairArray


class State(NamedTuple):
    """The state of the network between exchanges."""

    z: FloatArray


def init(values: FloatArray) -> State:
    """Start every node from its own values, shape (n, r)."""
    return State(values.copy())


def step(state: State, exchanges: PairArray, relaxation: float = 0.5) -> State:
    """Make one exchange: the two nodes of the edge take their mean, or go past it."""
    ((i, j),) = exchanges
    return State(relax(state.z, i, j, relaxation))


# The same in place.


class Averages(NamedTuple):
    """The state between exchanges: values of shape (n, r), and the relaxation of their moves."""

    z: FloatArray
    relaxation: FloatArray


_HALF = (0.5,)


def start(values: FloatArray, relaxation: float = 0.5) -> State | Averages:
    """Start every node from its own values, shape (n, r)."""
    return State(values) if relaxation == 0.5 else Averages(values, np.array([relaxation]))


def exchange(state: State | Averages, i: int, j: int) -> None:
    """Make one exchange: the two nodes of the edge take their mean, or go past it."""
    # For a state without relaxation this compiles to a constant, which takes half the time.
    z, relaxation = state.z, getattr(state, "relaxation", _HALF)[0]
    for c in range(z.shape[1]):
        if relaxation == 0.5:
            z[i, c] = z[j, c] = (z[i, c] + z[j, c]) / 2
        else:
            move = relaxation * (z[j, c] - z[i, c])
            z[i, c] += move
            z[j, c] -= move


# Continuized acceleration (Even et al. 2021): a second register, mixed in as time goes by.


class TwoRegisters(NamedTuple):
    """The state of the network between exchanges."""

    z: FloatArray
    momentum: FloatArray
    since: IntArray
    """The exchange of the network up to which each node has mixed its registers."""
    made: int


def start_two_registers(values: FloatArray) -> TwoRegisters:
    """Start both registers of every node from its own values."""
    return TwoRegisters(values.copy(), values.copy(), np.zeros(len(values), dtype=np.int64), 0)


def step_two_registers(
    state: TwoRegisters, exchanges: PairArray, rate: float, gain: float
) -> TwoRegisters:
    """Make one exchange: both nodes mix their registers, average the one and push the other."""
    ((i, j),) = exchanges
    both = np.array([i, j])
    z, momentum, since = state.z.copy(), state.momentum.copy(), state.since.copy()
    share = -np.expm1(-2 * rate * (state.made - since[both])) / 2
    flow = share[:, None] * (momentum[both] - z[both])
    z[both] += flow
    momentum[both] -= flow
    since[both] = state.made
    gap = z[i] - z[j]
    z[both] += np.array([-gap, gap]) / 2
    momentum[both] += np.array([-gap, gap]) * gain
    return TwoRegisters(z, momentum, since, state.made + 1)


# Sums along a spanning tree: up to the root, and the total down again.


class TreeSums(NamedTuple):
    """The state of the network between messages."""

    sums: FloatArray
    counts: IntArray
    """The number of nodes in each sum; nodes know the tree, so these counts do not travel."""
    made: int


def start_tree(values: FloatArray) -> TreeSums:
    """Start every node's sum from its own values."""
    return TreeSums(values.copy(), np.ones(len(values), dtype=np.int64), 0)


def step_tree(state: TreeSums, messages: PairArray) -> TreeSums:
    """Send one message: the first n - 1 go up and are added, the others bring the total down."""
    ((sender, receiver),) = messages
    sums, counts = state.sums.copy(), state.counts.copy()
    if state.made < len(counts) - 1:
        sums[receiver] += sums[sender]
        counts[receiver] += counts[sender]
    else:
        sums[receiver], counts[receiver] = sums[sender], counts[sender]
    return TreeSums(sums, counts, state.made + 1)


def read_tree(state: TreeSums) -> FloatArray:
    """Return the mean over the nodes whose values have arrived, shape (n, r)."""
    return state.sums / state.counts[:, None]
