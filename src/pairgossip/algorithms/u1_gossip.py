"""U1-gossip (appendix of the paper, after Pelckmans and Suykens): estimates of row means.

Node k estimates (1/n) sum_l h(x_k, x_l); nothing is averaged between nodes. With the kernel that
counts smaller observations it is GoRank (Van Elst, Colin and Clemencon 2025).
"""

from __future__ import annotations

import numpy as np

from pairgossip.algorithms import gosta_async
from pairgossip.algorithms.gosta_sync import State, init, update
from pairgossip.algorithms.steps import PairValues, swap
from pairgossip.arrays import PairArray

__all__ = ["State", "init", "step", "step_async"]


def step(state: State, exchanges: PairArray, h: PairValues) -> State:
    """Make one iteration: one edge (i, j) swaps, then all nodes update."""
    ((i, j),) = exchanges
    held = swap(state.held, i, j)
    return State(state.t + 1, held, update(state.z, held, state.t + 1, h))


def step_async(state: gosta_async.State, exchanges: PairArray, h: PairValues) -> gosta_async.State:
    """Make one exchange: swap, then update the two nodes, each by its own count of picks."""
    ((i, j),) = exchanges
    both = np.array([i, j])
    held = swap(state.held, i, j)
    picks, z = state.picks.copy(), state.z.copy()
    picks[both] += 1
    z[both] += (h(both, held[both]) - z[both]) / picks[both, None]
    return gosta_async.State(held, z, picks)
