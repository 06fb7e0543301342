"""Averaging that liars move little: nodes keep pulling toward their own values.

In gossip averaging the sum is kept, so a lie never fades. Here nodes average as in clipped GoSta,
with their own values in place of the kernel: these count 1/N in pick N, and lies are bent by a clip
that falls as fast, on the length of a whole vector of values, each in units of its range. The price
is that the error falls as 1/t instead of geometrically.

How far values are apart is known to all, agreed on beforehand as the features of a sketch are. The
clip leaves room for every node's own values and for the noise of averaging: no honest node is cut
off, but heavy tails make the clip wide.

What did not work: liars keep clips from falling that follow the differences between nodes; trimmed
and clipped sums of what was received last miss the mean of the honest by up to 30 %; clips of
single values cut off rows with a rare value.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.clipping import bend, expected_picks
from pairgossip.arrays import FloatArray, IntArray

CLIP = 10.0
"""The clip in root mean square distances of own values from their mean."""
LARGEST = 10.0 / 3
"""The clip in distances of the farthest own values, where this is wider."""


class State(NamedTuple):
    """What the network carries between exchanges; values are of shape (n, r)."""

    z: FloatArray
    own: FloatArray
    picks: IntArray
    weight: FloatArray
    """One over how often each node is picked, up to a factor."""
    unit: FloatArray
    """The range of each value, shape (1, r)."""
    reach: FloatArray
    """The clip at the first pick, shape (1,)."""


def start(values: FloatArray, weights: FloatArray) -> State:
    """Every node starts from its own values."""
    unit = np.ptp(values, axis=0)
    unit[unit == 0] = 1.0
    squares = (((values - values.mean(axis=0)) / unit) ** 2).sum(axis=1)
    clip = max(CLIP * sqrt(squares.mean()), LARGEST * sqrt(squares.max()))
    picks = np.zeros(len(values), dtype=np.int64)
    return State(values, values, picks, weights, unit[None], np.array([clip]))


def exchange(state: State, i: int, j: int) -> None:
    """One exchange: move toward each other as far as both clips let, pull toward own values."""
    state.picks[i] += 1
    state.picks[j] += 1
    clip = min(own_clip(state, i, j), own_clip(state, j, i))
    square = 0.0
    for c in range(state.z.shape[1]):
        square += ((state.z[j, c] - state.z[i, c]) / (2 * state.unit[0, c])) ** 2
    share = bend(sqrt(square), clip)
    for c in range(state.z.shape[1]):
        move = share * (state.z[j, c] - state.z[i, c]) / 2
        state.z[i, c] += move + (state.own[i, c] - state.z[i, c] - move) / state.picks[i]
        state.z[j, c] += -move + (state.own[j, c] - state.z[j, c] + move) / state.picks[j]


def own_clip(state: State, k: int, other: int) -> float:
    """Return how large a move node k takes for honest."""
    return float(state.reach[0] / expected_picks(state, k, other))


def clip(state: State, k: int, other: int) -> FloatArray:
    """Return the differences, shape (r,), that move node k most, all alike in units of ranges."""
    unit = state.unit[0]
    if state.picks[k] == 0:
        return 0.0 * unit
    return 2 * own_clip(state, k, other) / sqrt(len(unit)) * unit
