"""Noise that members add to counts, each a part, so that the sum of the parts is discrete Laplace.

A member adds the difference of two Polya(1/m, q) draws to every count. Here m is the least number
of honest members, without the one that looks at the sum and knows its own part. The sum of m such
differences is discrete Laplace: k has the probability
(1 - q) / (1 + q) q^|k|. If one row is replaced, no more than two counts of a table change, each by
one, so tables have epsilon-differential privacy with q = exp(-epsilon / 2).

Draws come from the operating system's random source, and are exact: a Polya draw is the first k at
which the probabilities of 0, ..., k add up to more than a uniform number between 0 and 1, which is
drawn with as many bits as necessary. Floating-point numbers decide only where they are far from
wrong; otherwise decimal numbers do, with as many digits as necessary. So the law has none of the
gaps and bumps of floating-point numbers, which could reveal the count (Mironov 2012).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray

Noise = Callable[[int], IntArray]
"""Draws a member's noise for this many counts; a second draw would reveal more."""
_STEPS = 1 << 32
"""Number of steps per unit of epsilon, which is rounded down to a step: toward more noise."""
_TABLE_ERROR = 1e-9
"""Bound on the rounding error of a tabulated probability; a draw this close to the end of a cell
is decided in exact arithmetic."""
_LARGEST_EXPONENT = 45.0
"""Exponent of the smallest tabulated probability, exp(-45); rarer values are computed."""
_SLACK = 10
"""Number of extra decimal digits, which rounding may spoil."""
LEAST_EPSILON, MOST_EPSILON = 1e-3, 100.0


@dataclass(frozen=True)
class NoiseLaw:
    """The law of the noise that every member adds to a count.

    Parameters
    ----------
    epsilon
        The budget of one round.
    cells
        The number of counts that count a row; noise must hide its effect on each.
    honest
        The least number of members that add their part.
    members
        The number of all members.
    """

    epsilon: float
    cells: int
    honest: int
    members: int

    @property
    def _decay(self) -> Fraction:
        """The logarithm of q, without its sign."""
        return Fraction(math.floor(self.epsilon * _STEPS), 2 * self.cells * _STEPS)

    @property
    def variance(self) -> float:
        """The variance of a count's noise if all members add their part."""
        q = math.exp(-self._decay)
        return 2 * self.members / self.honest * q / (1 - q) ** 2

    def reach(self, counts: int, chance: float) -> float:
        """Bound the total noise of this many counts, but for a probability of at most ``chance``.

        This is Chernoff's bound for the difference of two sums of Polya draws.
        """
        decay = float(self._decay)
        tilt = decay * np.linspace(0.01, 0.99, 99)
        both = np.log1p(-np.exp(tilt - decay)) + np.log1p(-np.exp(-tilt - decay))
        growth = counts * self.members / self.honest * (2 * math.log(-math.expm1(-decay)) - both)
        return float(((growth + math.log(2 / chance)) / tilt).min())

    def draw(self, counts: int) -> IntArray:
        """Draw the noise that one member adds to this many counts."""
        return self._draw_polya(counts) - self._draw_polya(counts)

    def _draw_polya(self, counts: int) -> IntArray:
        words, ends = _random_words(counts), self._tabulate()
        shares = words / 2.0**64
        places = np.searchsorted(ends, shares, side="right")
        bounds = np.concatenate([[-np.inf], ends, [np.inf]])
        apart = np.minimum(shares - bounds[places], bounds[places + 1] - shares)
        for at in np.flatnonzero(apart < _TABLE_ERROR):
            places[at] = self._invert(int(words[at]))
        return places

    def _tabulate(self) -> FloatArray:
        """Return the probabilities of at most k, for every k that is not too rare."""
        decay, m = float(self._decay), self.honest
        j = np.arange(1, math.ceil(_LARGEST_EXPONENT / decay) + 1)
        falls = math.exp(-decay) * (m * (j - 1) + 1) / (m * j)
        chances = np.cumprod(np.append((-math.expm1(-decay)) ** (1 / m), falls))
        return np.cumsum(chances)

    def _invert(self, drawn: int) -> int:
        """Return the draw of a number between 0 and 1 that begins with these 64 bits."""
        bits = 64
        while (value := self._find(drawn, bits)) is None:
            drawn, bits = drawn << 64 | int(_random_words(1)[0]), bits + 64
        return value

    def _find(self, drawn: int, bits: int) -> int | None:
        """Return the draw of a number with these bits; None if further bits decide."""
        with localcontext(prec=bits + _SLACK):
            slack = Decimal(10) ** -bits
            share = Decimal(drawn) / 2**bits
            decay, m = self._decay, self.honest
            q = (-Decimal(decay.numerator) / decay.denominator).exp()
            chance = ((1 - q).ln() / m).exp()
            end, k = chance, 0
            while share - slack >= end:
                k += 1
                chance *= q * (m * (k - 1) + 1) / (m * k)
                end += chance
            return k if share + Decimal(1) / 2**bits + slack <= end else None


def _random_words(count: int) -> NDArray[np.uint64]:
    return np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64).copy()
