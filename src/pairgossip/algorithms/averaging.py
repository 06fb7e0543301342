"""Gossip averaging (Boyd et al. 2006): the separable baseline, a mean of one value per node.

The values are there from the start, so the error falls geometrically; pairwise estimation has to
acquire its terms first, and its error falls as 1/t.
"""

from __future__ import annotations

from typing import NamedTuple

from pairgossip.algorithms.steps import average
from pairgossip.arrays import FloatArray, PairArray


class State(NamedTuple):
    """What the network carries between exchanges."""

    z: FloatArray


def init(values: FloatArray) -> State:
    """Every node starts from its own value; ``values`` has shape (n, 1)."""
    return State(values.copy())


def step(state: State, exchanges: PairArray) -> State:
    """One exchange: the two nodes of the edge take their mean."""
    ((i, j),) = exchanges
    return State(average(state.z, i, j))
