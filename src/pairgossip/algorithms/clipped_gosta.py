"""GoSta-async in which liars have little effect: nodes bend the moves that others ask for.

As in GoSta-async, nodes swap, average, and fold in a new pair, which counts 1/N at pick N; `steps`
describes how they average. The clip is CLIP typical pulls. A typical pull is the root mean square
distance of the kernel values that a node has seen from its estimate, so the clip needs no scale.
Every pair is taken in both orders: a row whose kernel is 0 with all others in one of them, such as
a negative in an AUC, would otherwise have no scale.

Nodes that are far apart hardly move each other, so an honest node that is far off once would stay
alone, and one that a liar pulled away would stay with the liar. So nodes doubt their own estimates.
A value beyond the clip raises the doubt by 1 if the last such value came from another partner and
agrees with it, or if the node has no other partner. It raises the doubt by 2 if it is far nearer to
the mean of the kernel values that the node has seen itself. A value within the clip lowers the
doubt. At DOUBTS a node takes the value that it was sent. One liar beside an honest neighbor can
bring that about only with values near the node's own mean. It can still move the node step by step
while the clip is wide, which lasts long where tails are heavy: on rings of lognormal rows single
nodes end up with its lie.

Lies that stay just inside the clip pass: a liar then counts like a row that is CLIP/2 typical pulls
off, up to three times the effect of the same attack on plain GoSta. Honest rows that are farther
off are cut off too, so the limit differs from the statistic where tails are heavy or a class is
rare.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.gosta_async import local_update
from pairgossip.algorithms.steps import PairValue, bend, expected_picks, own_observations
from pairgossip.arrays import FloatArray, IntArray

CLIP = 16.0
"""The clip, in typical pulls."""
DOUBTS = 7
"""The doubt at which a node gives up its estimate."""
NEARER = 4.0
"""A value this many times nearer to a node's own mean speaks against the node's estimate."""
NOBODY, SEVERAL = -1, -2
"""Stand for the partner of a node that has met none yet, and of one that has met two."""


class State(NamedTuple):
    """The state of the network for one component, one entry or row per node."""

    held: IntArray
    z: FloatArray
    picks: IntArray
    mean: FloatArray
    """The mean of the kernel values that each node has seen."""
    squares: FloatArray
    """The sum of their squared distances from this mean."""
    doubts: IntArray
    far: FloatArray
    """The last value beyond the clip that each node was sent; at first NaN, equal to nothing."""
    sender: IntArray
    """The node that sent it."""
    partner: IntArray
    """The only node that each node has met, NOBODY or SEVERAL."""
    weight: FloatArray
    """The inverse of the rate at which each node is picked, up to a factor."""


def start(n: int, weights: FloatArray) -> State:
    """Return the state in which every node holds its own observation and has met nobody."""
    return State(
        held=own_observations(n),
        z=np.zeros(n),
        picks=np.zeros(n, dtype=np.int64),
        mean=np.zeros(n),
        squares=np.zeros(n),
        doubts=np.zeros(n, dtype=np.int64),
        far=np.full(n, np.nan),
        sender=np.full(n, NOBODY),
        partner=np.full(n, NOBODY),
        weight=weights,
    )


def exchange(state: State, i: int, j: int, h: PairValue) -> None:
    """Make one exchange: swap, approach as far as both clips let, fold in new pairs."""
    # Compiled code pays for every access to the state, and for passing it to a function.
    held, z, picks, mean, squares, doubts, far, sender, partner, weight = state
    held[i], held[j] = held[j], held[i]
    clip = np.inf
    for k, other in ((i, j), (j, i)):
        picks[k] += 1
        off = (h(k, held[k]) + h(held[k], k)) / 2 - mean[k]
        mean[k] += off / picks[k]
        squares[k] += off * off * (1 - 1 / picks[k])
        rarer = expected_picks(picks[k], weight[k], weight[other])
        clip = min(clip, find_clip(squares[k] / picks[k], mean[k] - z[k], picks[k], rarer))
        partner[k] = other if partner[k] in (NOBODY, other) else SEVERAL
    for k, other, sent in ((i, j, z[j]), (j, i, z[i])):
        move = (sent - z[k]) / 2
        trusted = z[k] + move * bend(abs(move), clip)
        if abs(move) <= clip:
            doubts[k] = max(doubts[k] - 1, 0)
        elif picks[k] > 1 and picks[other] > 1:  # before it has met anybody a node has no estimate
            if NEARER * abs(sent - mean[k]) < abs(z[k] - mean[k]):
                doubts[k] += 2
            elif partner[k] == other or (sender[k] != other and agree(sent, far[k], z[k])):
                doubts[k] += 1
            far[k], sender[k] = sent, other
        if doubts[k] >= DOUBTS:
            doubts[k] = 0
            trusted = sent
        z[k] = local_update(trusted, picks[k], (h(k, held[k]) + h(held[k], k)) / 2)


def find_clip(variance: float, off: float, seen: int, picks: float) -> float:
    """Return the largest move that a node takes for honest; 0 before it has seen a second pair.

    ``off`` is the distance of the mean of the values it has seen from its estimate.
    """
    return CLIP * sqrt(variance + off * off) / picks if seen > 1 else 0.0


def agree(one: float, other: float, estimate: float) -> bool:
    """Return whether two values differ by less than half their mean's distance to ``estimate``."""
    return abs(one - other) < abs((one + other) / 2 - estimate) / 2


def clip(state: State, k: int, other: int) -> float:
    """Return the difference by which a node that knows the clip moves node k most."""
    seen, off = max(state.picks[k], 1), state.mean[k] - state.z[k]
    picks = expected_picks(seen, state.weight[k], state.weight[other])
    return 2 * find_clip(state.squares[k] / seen, off, seen, picks)
