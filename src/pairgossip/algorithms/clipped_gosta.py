"""GoSta-async that liars move little: nodes bend the moves that others ask for.

As in GoSta-async nodes swap, average, and fold in a new pair, which counts 1/N at pick N; see
`clipping` for how they average. The clip is CLIP typical pulls, the root mean square distance of
the kernel values that a node has seen from its estimate, so it sets its own scale. Every pair is
taken in both orders: a row that is 0 with all others in one of them, such as that of a negative in
an AUC, would know no scale.

Far-off nodes hardly move each other, so an honest one that is far off for once would stay alone. A
node that was sent a value beyond the clip DOUBTS times more often than one within it takes the
median of those, which is honest as long as most of its partners are.

Lies that stay just inside the clip pass: a liar then counts like a row that is CLIP/2 typical pulls
off, up to three times what the same attack does to plain GoSta. Honest rows that are farther off
are cut off too, so that the limit differs from the statistic where tails are heavy or a class is
rare.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.clipping import bend, expected_picks
from pairgossip.algorithms.gosta_async import local_update
from pairgossip.algorithms.steps import PairValue, own_observations
from pairgossip.arrays import FloatArray, IntArray

CLIP = 16.0
"""The clip in typical pulls."""
DOUBTS = 7
"""The number of values beyond the clip, less those within it, after which a node trusts them."""


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
    """How many more of the values that each node was sent were beyond the clip than within it."""
    far: FloatArray
    """These values, shape (n, DOUBTS)."""
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
        far=np.zeros((n, DOUBTS)),
        weight=weights,
    )


def exchange(state: State, i: int, j: int, h: PairValue) -> None:
    """One exchange: swap, move toward each other as far as both clips let, fold in new pairs."""
    # Compiled code pays for every look at the state, and for handing it to a function.
    held, z, picks, mean, squares, doubts, far, weight = state
    held[i], held[j] = held[j], held[i]
    clip = np.inf
    for k, other in ((i, j), (j, i)):
        picks[k] += 1
        off = (h(k, held[k]) + h(held[k], k)) / 2 - mean[k]
        mean[k] += off / picks[k]
        squares[k] += off * off * (1 - 1 / picks[k])
        rarer = expected_picks(picks[k], weight[k], weight[other])
        clip = min(clip, find_clip(squares[k] / picks[k], mean[k] - z[k], picks[k], rarer))
    for k, sent in ((i, z[j]), (j, z[i])):
        move = (sent - z[k]) / 2
        trusted = z[k] + move * bend(abs(move), clip)
        if abs(move) <= clip:
            doubts[k] = max(doubts[k] - 1, 0)
        else:
            far[k, doubts[k]] = sent
            doubts[k] += 1
        if doubts[k] == DOUBTS:
            doubts[k] = 0
            trusted = median(far[k])
        z[k] = local_update(trusted, picks[k], (h(k, held[k]) + h(held[k], k)) / 2)


def find_clip(variance: float, off: float, seen: int, picks: float) -> float:
    """Return how large a move a node takes for honest; 0 before it has seen a second pair.

    ``off`` is how far the mean of the values it has seen is from its estimate.
    """
    return CLIP * sqrt(variance + off * off) / picks if seen > 1 else 0.0


def median(values: FloatArray) -> float:
    """Return the middle one of an odd number of values, which is compiled sooner than NumPy's."""
    for value in values:
        below, up_to = 0, 0
        for other in values:
            below += other < value
            up_to += other <= value
        if below <= len(values) // 2 < up_to:
            return float(value)
    return np.nan


def clip(state: State, k: int, other: int) -> float:
    """Return the difference by which another node, which knows the clip, moves node k most."""
    seen, off = max(state.picks[k], 1), state.mean[k] - state.z[k]
    picks = expected_picks(seen, state.weight[k], state.weight[other])
    return 2 * find_clip(state.squares[k] / seen, off, seen, picks)
