"""Sums of hinge functions of differences of scores, from counts and sums of scores in bins.

The slope of a hinge function is straight between its kinks: pieces (a + b u) for u < k. A row reads
from the others' bins the number and the sum of the scores beyond its own score plus or minus k.
They are exact for all bins but the one that is cut, whose scores are taken to have a straight
density.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.losses.margins import Margin, Piece
from pairgossip.solvers.polynomials import PairSums

_SIZES = (256, 512, 1024)
"""The numbers of bins to choose from, few enough that nodes agree on one."""
LARGEST_BINS = _SIZES[-1]
_EVEN_POWERS = np.array([1.0, 1 / 2, 1 / 3])
"""Mean powers 0, 1 and 2 of numbers that are spread evenly from 0 to 1."""


class ScoreBins:
    """A sketch of scores: their number in each bin, their sum and the sum of their squares.

    Parameters
    ----------
    phi
        The function of differences, which has pieces.
    low, high
        The range of the scores, divided into bins of equal width.
    order
        The number of bins.
    """

    parts = 3

    def __init__(self, phi: Margin, low: float, high: float, order: int) -> None:
        assert phi.pieces is not None
        self._pieces, self.order = phi.pieces, order
        self._low, self._width = low, max((high - low) / order, 1e-100)

    @property
    def size(self) -> int:
        """The count of numbers averaged per grade."""
        return self.parts * self.order

    def features(self, scores: FloatArray) -> FloatArray:
        """Return the scores in units of bins from the lower end of the range, shape (m,)."""
        return np.clip((scores - self._low) / self._width, 0.0, self.order)

    def add_up(
        self, features: FloatArray, weights: FloatArray, owner: IntArray | None, owners: int
    ) -> FloatArray:
        """Return sums over each owner's rows, shape (owners, size); over all rows without owner."""
        bins = np.minimum(features.astype(np.intp), self.order - 1)
        where = bins if owner is None else owner * self.order + bins
        inside, sums = features - bins, np.empty((owners, self.parts, self.order))
        for power in range(self.parts):
            added = np.bincount(where, weights * inside**power, owners * self.order)
            sums[:, power] = added.reshape(owners, self.order)
        return sums.reshape(owners, -1)

    def read(self, features: FloatArray, others: FloatArray, *, below: bool) -> PairSums:
        """Return the sums over other rows, given their averages, one for all or one per row.

        The sums are of phi(s - s') if the others have lower grades (``below``), else of
        phi(s' - s).
        """
        tails = _BinTails(others.reshape(len(others), len(_EVEN_POWERS), self.order))
        sign = 1.0 if below else -1.0
        values, slopes, bends, errors = np.zeros((4, len(features)))
        for pieces, total in ((self._pieces.values, values), (self._pieces.curvatures, bends)):
            for piece in pieces:
                total += self._sum(piece, features, tails, sign)[0]
        for piece in self._pieces.slopes:
            slope, cut = self._sum(piece, features, tails, sign)
            slopes += slope
            # The slope at the kink, and its change over the bin that is cut.
            errors += cut * (
                abs(piece.constant + piece.linear * piece.kink) + abs(piece.linear) * self._width
            )
        return PairSums(values, slopes, np.maximum(bends, 0.0), errors)

    def read_several(
        self, features: Sequence[FloatArray], others: Sequence[FloatArray], below: Sequence[bool]
    ) -> list[PairSums]:
        """Return the results of `read` for several sets of rows, each with its own others."""
        each = zip(features, others, below, strict=True)
        return [self.read(mine, theirs, below=side) for mine, theirs, side in each]

    def _sum(
        self, piece: Piece, own: FloatArray, tails: _BinTails, sign: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return a piece summed over others with u < kink, and the number of uncertain ones."""
        sums, uncertain = tails.above(own - sign * piece.kink / self._width)
        if sign < 0:  # the others are above, and those up to the kink count
            sums = tails.all - sums
        count, total, squares = sums
        step = self._width * sign  # u = step (own - other)
        first = own * count - total
        second = own * (own * count - 2.0 * total) + squares
        both = piece.linear * step * first + piece.square * step**2 * second
        return piece.constant * count + both, uncertain


class CountBins(ScoreBins):
    """A sketch of scores by their number in each bin alone, as if spread evenly over the bin."""

    parts = 1

    def read(self, features: FloatArray, others: FloatArray, *, below: bool) -> PairSums:
        """Return the sums over other rows, given their averages, one for all or one per row."""
        spread = np.einsum("p,no->npo", _EVEN_POWERS, others).reshape(len(others), -1)
        return super().read(features, spread, below=below)


class _BinTails:
    """The number, the sum and the sum of squares of scores above any point, from their bins.

    The scores of a bin are taken to be spread evenly around their mean, with their variance: a bin
    of one score is cut exactly.
    """

    def __init__(self, bins: FloatArray) -> None:
        count, first, second = bins.transpose(1, 0, 2)
        at, present = np.arange(count.shape[1]), np.where(count > 0, count, 1.0)
        self._mean = first / present
        self._variance = np.maximum(second / present - self._mean**2, 0.0)
        sums = np.stack([count, at * count + first, at * (at * count + 2.0 * first) + second])
        self._above = np.zeros((*sums.shape[:2], sums.shape[2] + 1))
        self._above[..., :-1] = np.cumsum(sums[..., ::-1], axis=-1)[..., ::-1]
        self._count = count

    @property
    def all(self) -> FloatArray:
        """The sums over all scores, shape (3, 1) or (3, m)."""
        return self._above[..., 0]

    def above(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return sums over scores above points, shape (3, m), and the number that may be wrong."""
        bins = self._count.shape[1]
        cut = np.clip(np.floor(points), 0, bins - 1).astype(np.intp)
        row = np.arange(len(points)) if len(self._count) > 1 else np.zeros(1, dtype=np.intp)
        count, mean = self._count[row, cut], self._mean[row, cut]
        variance, at = self._variance[row, cut], points - cut
        share = variance / np.maximum(variance + (at - mean) ** 2, 1e-300)  # Cantelli's bound
        inner = np.minimum(mean, 1.0 - mean)  # the bin holds all of them
        spread = np.maximum(np.minimum(np.sqrt(3.0 * variance), inner), 1e-12)
        end = mean + spread
        start = np.clip(at, mean - spread, end)
        part = count * np.clip((end - at) / (2.0 * spread), 0.0, 1.0)
        first = part * (end + start) / 2.0
        second = part * (
            (end * end + end * start + start * start) / 3.0 + variance - spread**2 / 3.0
        )
        inside = np.stack([part, cut * part + first, cut * (cut * part + 2.0 * first) + second])
        return self._above[:, row, cut + 1] + inside, count * share


def choose_bins(order: int, error: float, tolerance: float) -> int:
    """Return the number of bins to use after ``order`` bins gave slopes with this error."""
    if error <= tolerance:
        return order
    return next((size for size in _SIZES if size > order), order)
