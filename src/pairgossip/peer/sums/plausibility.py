"""Refuse impossible sums: every member that signs a result has checked that rows can have it.

A member can contribute anything under its mask. Counts that are negative or do not add up, totals
beyond what their rows allow, and values outside their range prove that somebody lied; a sum does
not reveal who. A member can still contribute rows that it does not have.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.bounds import Blocks
from pairgossip.counts.intervals import POSSIBLE
from pairgossip.counts.layouts import find_order_question
from pairgossip.counts.readings import Estimate
from pairgossip.counts.tables import Layout, Sums
from pairgossip.kernels import as_kernel
from pairgossip.peer.protocol.program import Disagreement, Words
from pairgossip.peer.sums.noise import NoiseLaw

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec
    from pairgossip.solvers.moments import GradeMoments

_CHANCE = 1e-9
"""Largest probability that noise alone makes a sum look impossible."""
_ROUNDING = 1e-9
"""Largest rounding error per row, relative to its largest entry, and relative one of a value."""


def check_sums(
    cells: Layout, sums: Sums, rows: tuple[int, int], law: NoiseLaw | None, members: int = 0
) -> None:
    """Raise `Disagreement` if no rows have these sums; ``rows`` are their least and largest number.

    ``members`` is the number of members with rows of every class, group and stratum.
    """
    least, most = rows
    if not least <= sums.n <= most:
        raise Disagreement(
            f"members say that they add {least:,} to {most:,} rows, but counted {sums.n:,.0f}"
        )
    if law is None:
        _check_counts(sums, cells.columns.least, members)
    else:
        _check_noisy_counts(cells, sums, law)


def _check_counts(sums: Sums, least: int, members: int) -> None:
    if any((table.counts < 0).any() for table in sums.tables):
        raise Disagreement("a cell holds a negative number of rows")
    if any(((table.counts > 0) & (table.counts < least)).any() for table in sums.tables):
        raise Disagreement(f"a block holds fewer than {least} rows, which nobody counts")
    for table in sums.tables:
        if table.n != sums.n:
            raise Disagreement(
                f"the cells hold {table.n:,.0f} rows, and members have {sums.n:,.0f}"
            )
        classes = _count_classes(table)
        if (classes != _count_classes(sums.tables[0])).any():
            raise Disagreement("one table holds other rows than another")
        if least > 1 and (classes < least * members).any():
            raise Disagreement(
                f"a class, group or stratum holds fewer rows than {members} members with {least} "
                "or more of each"
            )


def _count_classes(table: Blocks) -> FloatArray:
    return np.asarray(table.by_class.sum(axis=-1))


def _refuse_beyond(values: FloatArray, counts: IntArray, slack: float, name: str) -> None:
    """Refuse sums over the rows of each class beyond those of terms from -1 to 1."""
    if (np.abs(values) > counts[:, None] + slack).any():
        raise Disagreement(f"{name} is beyond what so many rows in their ranges can have")


def _check_noisy_counts(cells: Layout, sums: Sums, law: NoiseLaw) -> None:
    """Refuse counts, and sums of counts, that noise cannot explain."""
    checks = 4 * cells.counts**2  # one for every run of cells, in each of the tables below

    def reach(counts: int) -> float:
        return law.reach(counts, _CHANCE / checks)

    for table in sums.tables:
        counts = table.spread()
        _refuse_beyond_noise(counts, reach(1), reach(counts.size))
        _refuse_beyond_noise(sums.n - counts, reach(1), math.inf)
        if abs(table.n - sums.n) > reach(counts.size):
            raise Disagreement("counts do not add up to the rows, by more than noise")
        apart = np.abs(_count_classes(table) - _count_classes(sums.tables[0]))
        if (apart > reach(2 * counts.size)).any():
            raise Disagreement("one table holds other rows than another, by more than noise")


def _refuse_beyond_noise(counts: FloatArray, each: float, together: float) -> None:
    """Refuse numbers too far below 0 for noisy counts, alone or added up in order."""
    rising = np.cumsum(counts.ravel())
    falls = np.maximum.accumulate(np.append(0.0, rising)) - np.append(0.0, rising)
    if (counts < -each).any() or falls.max() > together:
        raise Disagreement("a count is farther from those of rows than noise takes it")


def check_value(spec: Spec, estimate: Estimate) -> None:
    """Raise `Disagreement` if a value without noise is outside its range or its bracket."""
    if math.isnan(estimate.value):
        return
    question = find_order_question(str(spec.kernel))
    least, most = (-math.inf, math.inf)
    if question is None:
        least, most = POSSIBLE[as_kernel(spec.kernel).interval_scale]
    low, high = estimate.bracket
    if not math.isnan(low):
        least, most = max(low, least), min(high, most)
    slack = _ROUNDING * max(1.0, abs(estimate.value))
    if not least - slack <= estimate.value <= most + slack:
        raise Disagreement(f"the value would be {estimate.value:.6g}, which it cannot be")
    if not math.isnan(estimate.p) and not 0.0 <= estimate.p <= 1.0:
        raise Disagreement(f"p would be {estimate.p:.6g}")


def check_moments(total: Words, layout: GradeMoments, bits: int, rows: int) -> IntArray:
    """Return the number of rows of each class by a sum of moments; refuse impossible moments.

    Features run from -1 to 1, so no total exceeds the number of its rows.
    """
    parts = total.view(np.int64).reshape(layout.grades, -1)
    counts = _whole_counts(parts[:, 0], bits)
    if counts.sum() != rows:
        raise Disagreement(f"classes have {counts.sum():,} rows, and members have {rows:,}")
    means, d = parts[:, 1:] / 2.0**bits, layout.dimension
    slack = _ROUNDING * rows
    _refuse_beyond(means[:, :d], counts, slack, "the sum of a feature")
    _refuse_beyond(means[:, d:], counts, slack, "the sum of a product")
    if any(_is_indefinite(layout, *one, slack) for one in zip(counts.tolist(), means, strict=True)):
        raise Disagreement("some combination of features has a negative variance")
    return counts


def _is_indefinite(layout: GradeMoments, count: int, moments: FloatArray, slack: float) -> bool:
    """Return whether no rows of a class have these sums of features and of their products."""
    d = layout.dimension
    if not layout.full:  # products of two features are not known
        return bool((moments[d:] * count < moments[:d] ** 2 - 4 * slack * count).any())
    matrix = np.zeros((1 + d, 1 + d))
    matrix[0, 0], matrix[0, 1:] = count, moments[:d]
    matrix[1:, 1:][np.triu_indices(d)] = moments[d:]
    return bool(np.linalg.eigvalsh(matrix, UPLO="U")[0] < -(1 + d) * slack)


def check_scores(total: Words, counts: IntArray, bits: int, *, is_smooth: bool) -> None:
    """Raise `Disagreement` if no rows of classes of this size have these sums of their scores.

    They are sums of polynomials from -1 to 1, the first of which is 1, or counts in cells.
    """
    parts = total.view(np.int64).reshape(len(counts), -1)
    if is_smooth:
        slack = _ROUNDING * float(counts.sum())
        _refuse_beyond(parts / 2.0**bits, counts, slack, "the sum of a polynomial of scores")
        in_classes = _whole_counts(parts[:, 0], bits)
    else:
        in_classes = _whole_counts(parts, bits).sum(axis=1)
    if (in_classes != counts).any():
        raise Disagreement("a class has another number of rows than before")


def _whole_counts(numbers: IntArray, bits: int) -> IntArray:
    """Return counts in units of 2^-bits as whole numbers; refuse fractions of a row."""
    if (numbers < 0).any() or (numbers % (1 << bits)).any():
        raise Disagreement("a part of a row, or a negative number of rows")
    return numbers >> bits
