"""GoSta-async that liars move little: nodes bend the moves that others ask for.

As in GoSta-async nodes swap, average, and fold in a new pair, which counts 1/N at pick N; see
`steps` for how they average. The clip is CLIP typical pulls, the root mean square distance of
the kernel values that a node has seen from its estimate, so it sets its own scale. Every pair is
taken in both orders: a row that is 0 with all others in one of them, such as that of a negative in
an AUC, would know no scale.

Far-off nodes hardly move each other, so an honest one that is far off for once would stay alone,
and one that a liar pulled away would stay with it. So nodes doubt their own estimates. A value
beyond the clip raises the doubt if the one beyond it before came from another partner and agrees
with it; twice as much if it is far nearer to the mean of the kernel values that the node has seen
itself; and if the node has no other partner. A value within the clip lowers it. At DOUBTS a node
takes the value that it was sent. One liar beside an honest neighbor can bring that about only with
values near the node's own mean. It can still move the node step by step while the clip is wide, as
it is for long where tails are heavy: on rings of lognormal rows single nodes end up with its lie.

Lies that stay just inside the clip pass: a liar then counts like a row that is CLIP/2 typical pulls
off, up to three times what the same attack does to plain GoSta. Honest rows that are farther off
are cut off too, so that the limit differs from the statistic where tails are heavy or a class is
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
"""The clip in typical pulls."""
DOUBTS = 7
"""The doubt at which a node gives its estimate up."""
NEARER = 4.0
"""How many times nearer to a node's own mean a value must be to speak against its estimate."""
NOBODY, SEVERAL = -1, -2
"""What stands for a partner before a node has met one, and after it has met two."""


class State(NamedTuple):
    """What the network carries for one component, one entry or row per node."""

    held: IntArray
    z: FloatArray
    picks: IntArray
    mean: FloatArray
    """Of the kernel values that each node has seen."""
    squares: FloatArray
    """Their squared distances from this mean, added up."""
    doubts: IntArray
    far: FloatArray
    """The last value beyond the clip that each node was sent; NaN, which agrees with none."""
    sender: IntArray
    """The node that sent it."""
    partner: IntArray
    """The only node that each has met, NOBODY or SEVERAL."""
    weight: FloatArray
    """One over how often each node is picked, up to a factor."""


def start(n: int, weights: FloatArray) -> State:
    """Every node holds its own observation and has met nobody."""
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
    """One exchange: swap, move toward each other as far as both clips let, fold in new pairs."""
    # Compiled code pays for every look at the state, and for handing it to a function.
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
    """Return how large a move a node takes for honest; 0 before it has seen a second pair.

    ``off`` is how far the mean of the values it has seen is from its estimate.
    """
    return CLIP * sqrt(variance + off * off) / picks if seen > 1 else 0.0


def agree(one: float, other: float, estimate: float) -> bool:
    """Tell whether two values are at most half as far apart as their mean is from an estimate."""
    return abs(one - other) < abs((one + other) / 2 - estimate) / 2


def clip(state: State, k: int, other: int) -> float:
    """Return the difference by which another node, which knows the clip, moves node k most."""
    seen, off = max(state.picks[k], 1), state.mean[k] - state.z[k]
    picks = expected_picks(seen, state.weight[k], state.weight[other])
    return 2 * find_clip(state.squares[k] / seen, off, seen, picks)
