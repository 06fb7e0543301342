"""Randomized response on one value out of k: the truth with odds w, any other with odds 1."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.privacy.draws import WORD, Bytes, uniform_below


class Probabilities(NamedTuple):
    """How likely a report is the true cell, and how likely it is one given other cell."""

    same: Fraction
    other: Fraction


class Response(NamedTuple):
    """The k-ary randomized response of given odds."""

    cells: int
    odds: Fraction
    """w = P(y = x) / P(y = any given other), a fraction not above e^epsilon."""

    @property
    def probabilities(self) -> Probabilities:
        """The exact probabilities w/(w + k - 1) and 1/(w + k - 1)."""
        total = self.odds + self.cells - 1
        return Probabilities(self.odds / total, 1 / total)

    def report(self, cells: NDArray[np.int64], draw: Bytes) -> NDArray[np.int64]:
        """Randomize true cells: one exact uniform number decides each report."""
        weight, unit = self.odds.numerator, self.odds.denominator
        # Every other cell owns `unit` of the numbers, the true cell owns the remaining `weight`.
        others = (self.cells - 1) * unit
        assert others < WORD
        high, low = uniform_below(others + weight, len(cells), draw)
        moved = (high == 0) & (low < np.uint64(others))
        index = (low[moved] // np.uint64(unit)).astype(np.int64)
        index += index >= cells[moved]  # skips the true cell
        reports = cells.copy()
        reports[moved] = index
        return reports

    def debias(self, values: FloatArray, axis: int) -> FloatArray:
        """Turn a function of the true cell into one of the report with the same expectation.

        With e_y the report's indicator, v_y = ((w + k - 1) e_y - 1)/(w - 1) has expectation e_x;
        the result at y is the sum over x of v_y(x) values(x), along one axis.
        """
        total = float(self.odds + self.cells - 1)
        gain = float(self.odds - 1)
        return (total * values - values.sum(axis=axis, keepdims=True)) / gain

    def expect(self, values: FloatArray, axis: int) -> FloatArray:
        """Turn a function of the report into its expectation given the true cell: the inverse."""
        same, other = map(float, self.probabilities)
        gap = float((self.odds - 1) / (self.odds + self.cells - 1))
        assert same >= other
        return gap * values + other * values.sum(axis=axis, keepdims=True)
