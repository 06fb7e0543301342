"""Noise that members add to counts, each a part, so that the sum of the parts is discrete Laplace.

A member adds the difference of two Polya(1/m, q) draws to every count, m the number of members
that are honest at least, besides the one that looks at the sum and knows its own part. The sum of m
such differences is discrete Laplace: k has the probability
(1 - q) / (1 + q) q^|k|. If one row is replaced, no more than two counts of a table change, each by
one, so tables have epsilon-differential privacy with q = exp(-epsilon / 2).

Draws come from the operating system's source, and are exact: floating-point numbers, whose last
bits could tell what was added (Mironov 2012), decide nothing. A geometric draw takes tests of whole
numbers only (Canonne, Kamath and Steinke 2020). A Polya draw is a geometric one, k, that is kept
with the probability prod (m (j - 1) + 1) / (m j) over j = 1, ..., k, a fraction.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import BoolArray, IntArray

Noise = Callable[[str, int], IntArray]
"""Returns what this member adds to the counts of a round, by its name and the number of counts.

The same whenever it is asked for the same round of a generation: a second draw would tell the sum.
"""
_STEPS = 1 << 32
"""Epsilon is rounded down to whole parts of this, which is the side of more noise."""
_CLOSE = 1e-9
"""How far products of floats may be off, and more."""
LEAST_EPSILON, MOST_EPSILON = 1e-3, 100.0
_Unsigned = NDArray[np.uint64]


@dataclass(frozen=True)
class NoiseLaw:
    """What every member adds to a count.

    Parameters
    ----------
    epsilon
        Of one round.
    cells
        In how many counts a row is counted; the effect of each must be hidden.
    honest
        How many members add their part at least.
    """

    epsilon: float
    cells: int
    honest: int

    @property
    def _decay(self) -> tuple[int, int]:
        """The logarithm of q, without its sign, as a fraction."""
        return math.floor(self.epsilon * _STEPS), 2 * self.cells * _STEPS

    def variance(self, members: int) -> float:
        """Return the variance of a count's noise if so many members add their part."""
        numerator, denominator = self._decay
        q = math.exp(-numerator / denominator)
        return 2 * members / self.honest * q / (1 - q) ** 2

    def draw(self, counts: int) -> IntArray:
        """Draw what one member adds to so many counts."""
        return self._draw_polya(counts) - self._draw_polya(counts)

    def _draw_polya(self, counts: int) -> IntArray:
        found = np.zeros(counts, dtype=np.int64)
        left = np.arange(counts)
        while len(left):
            found[left] = _draw_geometric(*self._decay, len(left))
            left = left[~_is_kept(found[left], self.honest)]
        return found


def _draw_geometric(numerator: int, denominator: int, count: int) -> IntArray:
    """Draw k with probabilities that fall by exp(-numerator / denominator) from k to k + 1."""
    below = np.zeros(count, dtype=np.uint64)
    left = np.arange(count)
    while len(left):
        below[left] = _draw_below(_full(denominator, len(left)))
        left = left[~_goes_on(below[left], denominator)]
    rounds, running = np.zeros(count, dtype=np.uint64), np.arange(count)
    while len(running):
        running = running[_goes_on(_full(denominator, len(running)), denominator)]
        rounds[running] += np.uint64(1)
    steps = (below + np.uint64(denominator) * rounds) // np.uint64(numerator)
    return steps.astype(np.int64)


def _goes_on(numerators: _Unsigned, denominator: int) -> BoolArray:
    """Return tests that succeed with the probability exp(-numerator / denominator), at most 1.

    That is how often an even number of further tests succeeds in a row, of which the k-th does so
    with the probability numerator / (k denominator).
    """
    found = np.zeros(len(numerators), dtype=bool)
    running, k = np.arange(len(numerators)), 1
    while len(running):
        words = _draw_below(_full(k * denominator, len(running)))
        passed = words < numerators[running]
        found[running[~passed]] = k % 2 == 1
        running, k = running[passed], k + 1
    return found


def _is_kept(steps: IntArray, m: int) -> BoolArray:
    """Return tests that succeed with the probability prod (m (j - 1) + 1) / (m j), j up to k.

    A product of floats decides unless it is too close to call; then whole numbers do.
    """
    j = np.arange(1, int(steps.max(initial=0)) + 1)
    chances = np.append(1.0, np.cumprod((m * (j - 1) + 1) / (m * j)))[steps]
    words = _random_words(len(steps))
    shares = words / 2.0**64
    kept = shares < chances
    for at in np.flatnonzero(np.abs(shares - chances) < _CLOSE):
        kept[at] = _is_below(int(words[at]), int(steps[at]), m)
    return kept


def _is_below(drawn: int, steps: int, m: int) -> bool:
    """Return whether a number with these first bits is below the product."""
    numerator = math.prod(m * (j - 1) + 1 for j in range(1, steps + 1))
    denominator, bits = m**steps * math.factorial(steps), 64
    while (drawn + 1) * denominator > numerator << bits:
        if drawn * denominator >= numerator << bits:
            return False
        drawn, bits = drawn << 64 | int(_random_words(1)[0]), bits + 64
    return True


def _full(number: int, count: int) -> _Unsigned:
    return np.full(count, number, dtype=np.uint64)


def _draw_below(bounds: _Unsigned) -> _Unsigned:
    """Draw whole numbers from 0 up to these bounds, all equally likely."""
    # Words beyond the last whole multiple of the bound would favor small remainders.
    most = np.uint64(2**64 - 1)
    last = most - (most % bounds + np.uint64(1)) % bounds
    words = _random_words(len(bounds))
    while (again := np.flatnonzero(words > last)).size:
        words[again] = _random_words(len(again))
    return words % bounds


def _random_words(count: int) -> _Unsigned:
    return np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64).copy()
