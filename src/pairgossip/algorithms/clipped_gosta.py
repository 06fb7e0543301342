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
off. Honest rows that are farther off are cut off too, so that the limit differs from the statistic
where tails are heavy or a class is rare.
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
    state.held[i], state.held[j] = state.held[j], state.held[i]
    value_i, value_j = see(state, i, h), see(state, j, h)
    sent_i, sent_j = state.z[i], state.z[j]
    clip = min(own_clip(state, i, j), own_clip(state, j, i))
    receive(state, i, sent_j, clip)
    receive(state, j, sent_i, clip)
    state.z[i] = local_update(state.z[i], state.picks[i], value_i)
    state.z[j] = local_update(state.z[j], state.picks[j], value_j)


def see(state: State, k: int, h: PairValue) -> float:
    """Let a node see the row it holds, and return the kernel of its own and that one."""
    value = (h(k, state.held[k]) + h(state.held[k], k)) / 2
    state.picks[k] += 1
    off = value - state.mean[k]
    state.mean[k] += off / state.picks[k]
    state.squares[k] += off * (value - state.mean[k])
    return value


def receive(state: State, k: int, sent: float, clip: float) -> None:
    """Let node k move toward what another one sent, as far as the clip lets it."""
    move = (sent - state.z[k]) / 2
    state.z[k] += move * bend(abs(move), clip)
    if abs(move) <= clip:
        state.doubts[k] = max(state.doubts[k] - 1, 0)
        return
    state.far[k, state.doubts[k]] = sent
    state.doubts[k] += 1
    if state.doubts[k] == DOUBTS:
        state.doubts[k] = 0
        state.z[k] = np.median(state.far[k])


def own_clip(state: State, k: int, other: int) -> float:
    """Return how large a move node k takes for honest; 0 before it knows a second pair."""
    if state.picks[k] < 2:
        return 0.0
    off = state.mean[k] - state.z[k]
    pull = sqrt(state.squares[k] / state.picks[k] + off * off)
    return CLIP * pull / expected_picks(state, k, other)


def clip(state: State, k: int, other: int) -> float:
    """Return the difference by which another node, which knows the clip, moves node k most."""
    return 2 * own_clip(state, k, other)
