"""U1-gossip (appendix of the paper, after Pelckmans and Suykens): each node its own row mean.

Node k estimates (1/n) sum_l h(x_k, x_l); nothing is averaged between nodes.
"""

from __future__ import annotations

from pairgossip.algorithms.gosta_sync import State, init, update
from pairgossip.algorithms.steps import PairValues, swap
from pairgossip.arrays import PairArray

__all__ = ["State", "init", "step"]


def step(state: State, exchanges: PairArray, h: PairValues) -> State:
    """One iteration: one edge (i, j) swaps, then all nodes update."""
    ((i, j),) = exchanges
    held = swap(state.held, i, j)
    return State(state.t + 1, held, update(state.z, held, state.t + 1, h))
